import type { components } from "./openapi.js";
import type { Sleep } from "./transport.js";
import { encode } from "./transport.js";

/** A message of the chat. */
export interface NewMessage {
  /** The message's id on its platform: sending it again changes nothing. */
  id: string;
  author: string;
  /** The author's id on its platform. */
  author_id?: string | undefined;
  text: string;
  /** When it was sent: RFC 3339, or a Date. */
  sent_at: string | Date;
  role?: "user" | "assistant" | "tool" | undefined;
  session_id?: string | undefined;
  /** The id of the message that it answers. */
  reply_to?: string | undefined;
}

/** A message that was edited. */
export interface EditedMessage {
  id: string;
  text: string;
  edited_at: string | Date;
}

/** A message that was deleted. */
export interface DeletedMessage {
  id: string;
  deleted_at: string | Date;
}

/** What somebody put under a message. It is added to what stands there. */
export interface Reaction {
  emoji: string;
  author_id?: string | undefined;
  /** 0 takes it back. */
  count?: number | undefined;
}

/** Reactions to a message: those that are left out stay as they are. */
export interface ReactedMessage {
  id: string;
  reactions: readonly Reaction[];
}

/** One line of what happens in a chat. */
export type MessageLine = NewMessage | EditedMessage | DeletedMessage | ReactedMessage;

/** Lines in any form: a generator may go on as long as the chat does. */
export type MessageLines = MessageLine | Iterable<MessageLine> | AsyncIterable<MessageLine>;

/** What became of the lines. */
export type Remembered = components["schemas"]["MessagesAdded"];

/** Lines that are sent together. */
export interface Batch {
  body: string;
  lines: number;
}

const maxLines = 1000;
const maxCharacters = 1 << 20;
const maxBad = 20;
const linger = 1000; // milliseconds

const isAsync = (m: object): m is AsyncIterable<MessageLine> => Symbol.asyncIterator in m;
const isSync = (m: object): m is Iterable<MessageLine> => Symbol.iterator in m;

/**
 * batches packs lines into bodies, and takes no further line before its last body was taken. A line that
 * came waits a second for others at most. An abort of the signal throws its reason.
 */
export async function* batches(messages: MessageLines, sleep: Sleep, signal?: AbortSignal): AsyncGenerator<Batch> {
  const packer = new Packer();
  if (!isAsync(messages)) {
    for (const line of isSync(messages) ? messages : [messages]) {
      if (packer.add(line)) yield packer.take();
    }
    if (packer.lines > 0) yield packer.take();
    return;
  }
  const source = messages[Symbol.asyncIterator]();
  const stop = new Stop(signal);
  let next: Promise<IteratorResult<MessageLine>> | undefined;
  let wait = new AbortController();
  let late: Promise<undefined> | undefined; // ends when lines have waited long enough
  try {
    for (;;) {
      next ??= quietly(source.next());
      const got = await Promise.race(late ? [next, late, stop.promise] : [next, stop.promise]);
      if (got !== undefined) next = undefined;
      const full = got !== undefined && !got.done && packer.add(got.value);
      if (full || got === undefined || got.done) {
        wait.abort();
        wait = new AbortController();
        late = undefined;
        if (packer.lines > 0) yield packer.take();
        if (got?.done) return;
      } else {
        late ??= quietly(sleep(linger, wait.signal).then(() => undefined));
      }
    }
  } finally {
    stop.end();
    wait.abort();
    const ended = quietly(Promise.resolve(source.return?.()));
    if (next === undefined) await ended; // a source that waits for a line ends when it gets one
  }
}

/** quietly lets a promise fail that nobody may look at any more. */
function quietly<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** Stop is a promise that fails when a signal aborts. */
class Stop {
  readonly promise: Promise<never>;
  #abort: () => void = () => undefined;
  readonly #signal: AbortSignal | undefined;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    this.promise = quietly(new Promise((_, reject) => (this.#abort = () => reject(signal?.reason))));
    if (signal?.aborted) this.#abort();
    signal?.addEventListener("abort", this.#abort, { once: true });
  }

  end(): void {
    this.#signal?.removeEventListener("abort", this.#abort);
  }
}

class Packer {
  lines = 0;
  #body: string[] = [];
  #characters = 0;

  /** add takes a line in, and tells whether there are enough. */
  add(line: MessageLine): boolean {
    const text = encode(line);
    this.#body.push(text, "\n");
    this.#characters += text.length;
    this.lines++;
    return this.lines >= maxLines || this.#characters >= maxCharacters;
  }

  take(): Batch {
    const batch = { body: this.#body.join(""), lines: this.lines };
    this.#body = [];
    this.#characters = this.lines = 0;
    return batch;
  }
}

/** addUp adds what became of a batch to what became of those before it, of so many lines. */
export function addUp(sum: Remembered, more: Remembered, linesBefore: number): void {
  const into: Record<string, unknown> = { ...sum };
  for (const [name, value] of Object.entries(more)) {
    if (name !== "bad") into[name] = added(into[name], value);
  }
  const bad = (more.bad ?? []).map((b) => ({ ...b, line: b.line + linesBefore }));
  if (sum.bad || bad.length > 0) into["bad"] = [...(sum.bad ?? []), ...bad].slice(0, maxBad);
  Object.assign(sum, into);
}

function added(a: unknown, b: unknown): unknown {
  if (typeof a === "number" && typeof b === "number") return a + b;
  if (typeof a === "boolean" && typeof b === "boolean") return a && b;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return b;
  const sum: Record<string, unknown> = { ...a };
  for (const [name, value] of Object.entries(b)) sum[name] = added(sum[name], value);
  return sum;
}
