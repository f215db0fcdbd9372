import type { Reverie } from "./client.js";
import { ProblemError } from "./errors.js";
import type { MessageLine } from "./messages.js";
import type { BodyOf } from "./operations.js";
import type { Sleep } from "./transport.js";
import { sleep } from "./transport.js";

/** Something to tell Reverie. */
export type Item = { group: string | undefined } & ({ line: MessageLine } | { feedback: BodyOf<"give-feedback"> });

export interface QueueCounts {
  /** Items that Reverie has taken. */
  sent: number;
  /** Items that were dropped: there were too many, no time was left, or Reverie failed at them again and again. */
  dropped: number;
  /** Items that Reverie refused. */
  refused: number;
  /** Items that still wait. */
  pending: number;
}

const most = 500; // lines sent together
const mostFaults = 8; // after so many faults of the server, a line of the batch may be why
const firstDelay = 500; // milliseconds
const lastDelay = 30_000;

/** Queue sends items in order, and keeps so many while Reverie is away. Then the oldest are dropped. */
export class Queue {
  readonly #counts = { sent: 0, dropped: 0, refused: 0 };
  #waiting: Item[] = [];
  #sending: Item[] = [];
  #worker: Promise<void> | undefined;
  #delay = 0;
  #most = most;
  #faults = 0;
  #stop = new AbortController();
  #wake: () => void = () => undefined;

  constructor(
    readonly reverie: Reverie,
    readonly size: number,
    readonly timeout: number, // milliseconds of one attempt
    readonly onError: (error: unknown) => void,
  ) {}

  get counts(): QueueCounts {
    return { ...this.#counts, pending: this.#waiting.length + this.#sending.length };
  }

  add(item: Item): void {
    this.#waiting.push(item);
    while (this.#waiting.length > 0 && this.#waiting.length + this.#sending.length > this.size) {
      this.#waiting.shift();
      this.#counts.dropped++;
    }
    this.#start();
  }

  /** flush waits until nothing is left, or the time is over. */
  async flush(timeout: number, wait: Sleep = sleep): Promise<QueueCounts> {
    const over = new AbortController();
    const late = wait(timeout, over.signal).catch(() => undefined);
    this.#start();
    this.#delay = 0; // who is in a hurry waits for the first delays
    this.#wake();
    await Promise.race([this.#worker, late]);
    over.abort();
    return this.counts;
  }

  /** close drops what is left. */
  async close(): Promise<void> {
    this.#counts.dropped += this.#waiting.length;
    this.#waiting = [];
    this.#stop.abort();
    this.#stop = new AbortController();
    this.#wake();
    await this.#worker;
  }

  #start(): void {
    this.#worker ??= this.#work(this.#stop.signal).finally(() => {
      this.#worker = undefined;
      if (this.#waiting.length > 0) this.#start();
    });
  }

  async #work(signal: AbortSignal): Promise<void> {
    await Promise.resolve(); // what is told in one go is sent in one
    while (this.#waiting.length > 0) {
      this.#take();
      try {
        await this.#send(this.#sending, signal);
        this.#counts.sent += this.#sending.length;
        this.#delay = 0;
        if (this.#most === most) this.#faults = 0;
        this.#most = Math.min(most, 2 * this.#most);
      } catch (error) {
        this.#failed(error, signal);
      }
      this.#sending = [];
      if (this.#delay > 0 && this.#waiting.length > 0) await this.#pause();
    }
  }

  /** #take takes feedback, or all lines of one group that come next. */
  #take(): void {
    const [first] = this.#waiting;
    const together = this.#waiting.findIndex((i) => !("line" in i) || i.group !== first?.group);
    const n = first && "line" in first ? (together < 0 ? this.#waiting.length : together) : 1;
    this.#sending = this.#waiting.splice(0, Math.min(n, this.#most));
  }

  async #send(items: Item[], signal: AbortSignal): Promise<void> {
    const options = { group: items[0]?.group, signal, retries: 0, timeout: this.timeout };
    const [first] = items;
    if (first && "feedback" in first) {
      await this.reverie.feedback(first.feedback, options);
      return;
    }
    const lines = items.flatMap((i) => ("line" in i ? [i.line] : []));
    const { bad, bad_count } = await this.reverie.remember(lines, options);
    this.#counts.sent -= bad_count;
    this.#counts.refused += bad_count;
    for (const { line, reason } of bad ?? []) {
      this.#tell(new Error(`Reverie refused a message (${JSON.stringify(items[line - 1])}): ${reason}`));
    }
  }

  #failed(error: unknown, signal: AbortSignal): void {
    if (signal.aborted) {
      this.#counts.dropped += this.#sending.length;
      return;
    }
    this.#tell(error);
    if (isLasting(error)) {
      this.#counts.refused += this.#sending.length;
      return;
    }
    if (this.#isToBlame(error)) {
      this.#counts.dropped++;
      return;
    }
    this.#waiting.unshift(...this.#sending);
    this.#delay = Math.min(lastDelay, this.#delay * 2 || firstDelay);
  }

  /** #isToBlame tells whether the one item that was sent makes the server fail. Of several, fewer are sent next. */
  #isToBlame(error: unknown): boolean {
    if (!(error instanceof ProblemError) || error.status !== 500 || ++this.#faults < mostFaults) return false;
    this.#most = Math.ceil(this.#sending.length / 2);
    if (this.#sending.length > 1) return false;
    this.#faults = 0;
    return true;
  }

  #tell(error: unknown): void {
    try {
      this.onError(error);
    } catch {
      // It is the bot's, and no reason to stop.
    }
  }

  /** #pause waits for the next attempt, and keeps no process alive. */
  async #pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#delay);
      timer.unref();
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** isLasting tells whether the same would fail again. */
function isLasting(error: unknown): boolean {
  if (error instanceof ProblemError) {
    return error.status < 500 && error.status !== 429 && error.retryAfter === undefined;
  }
  return !(error instanceof Error) || error instanceof TypeError;
}
