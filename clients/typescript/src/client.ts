import type { ProblemError } from "./errors.js";
import { InvalidError } from "./errors.js";
import type { MessageLines, Reaction, Remembered } from "./messages.js";
import { addUp, batches } from "./messages.js";
import type { components } from "./openapi.js";
import type { BodyOf, InputOf, OperationId, QueryOf, ReplyOf } from "./operations.js";
import { allRoutes, isIdempotent } from "./operations.js";
import type { Answer, CallOptions, Query, TransportOptions } from "./transport.js";
import { encode, Transport } from "./transport.js";

type Schemas = components["schemas"];

export interface ReverieOptions extends TransportOptions {
  /** The group that calls are about, unless they name another. */
  group?: string | undefined;
}

/** What can be said of a call about a group. */
export interface GroupOptions extends CallOptions {
  /** Instead of the client's. */
  group?: string | undefined;
}

/** What came of an evolve. */
export interface Evolved {
  group_id: string;
  /** Left out where there was nothing to do. */
  run_id?: string | undefined;
  status?: Schemas["Run"]["status"] | undefined;
  stats: Schemas["EvolveReply"]["stats"] | Schemas["Run"]["stats"];
  changes: Schemas["ChangeReply"][];
  error?: string | undefined;
}

interface Request {
  path?: Record<string, string | undefined> | undefined;
  query?: Query | undefined;
  headers?: Record<string, string | undefined> | undefined;
  body?: unknown;
}

const longTimeout = 90_000; // milliseconds of calls that take their time
const longCalls: readonly OperationId[] = ["add-messages", "evolve-group", "forget-author", "approve-run", "undo-run"];
const pollFirst = 500; // milliseconds
const pollLast = 5000;

/**
 * Reverie is a client of a Reverie server. Methods throw a ReverieError, or the reason of an
 * aborted signal.
 */
export class Reverie {
  readonly group: string | undefined;
  readonly #transport: Transport;

  constructor(options: ReverieOptions, transport = new Transport(options)) {
    this.group = options.group;
    this.#transport = transport;
  }

  /** inGroup is this client with another group. */
  inGroup(group: string): Reverie {
    return new Reverie({ baseUrl: "", group }, this.#transport);
  }

  /** request calls any operation of the OpenAPI document, by its name. */
  async request<Id extends OperationId>(id: Id, input: InputOf<Id>, options?: GroupOptions): Promise<ReplyOf<Id>> {
    return (await this.#send(id, input as Request, options)).data as ReplyOf<Id>;
  }

  #send(id: OperationId, { path, query, headers, body }: Request, options: GroupOptions = {}): Promise<Answer> {
    const [method, template] = allRoutes[id];
    const raw = id === "add-messages";
    const key = id === "put-team-memory" ? { "Idempotency-Key": crypto.randomUUID() } : {};
    return this.#transport.send({
      method, query,
      path: this.#path(template, path ?? {}, options),
      headers: { ...key, ...headers },
      body: body === undefined ? undefined : raw ? String(body) : encode(body),
      contentType: raw ? "application/x-ndjson" : undefined,
      idempotent: isIdempotent(id),
      timeout: longCalls.includes(id) ? longTimeout : undefined,
    }, options);
  }

  #path(template: string, given: Record<string, string | undefined>, options: GroupOptions): string {
    return template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = given[name] ?? (name === "group_id" ? options.group ?? this.group : undefined);
      if (!value) {
        const where = name === "group_id" ? "give new Reverie, or the call, a group" : `${template} needs it`;
        throw new TypeError(`${name} is missing: ${where}`);
      }
      // Addresses take these for steps in the path, also percent-encoded.
      if (value === "." || value === "..") throw new TypeError(`${name} ${value} cannot stand in an address`);
      return encodeURIComponent(value);
    });
  }

  /** #rows yields the rows of all pages; `next` says which query has the next page. */
  async *#rows<Id extends OperationId, Row>(
    id: Id,
    query: QueryOf<Id> | undefined,
    options: GroupOptions | undefined,
    rows: (page: ReplyOf<Id>) => Row[],
    next: (page: ReplyOf<Id>, seen: number) => Query | undefined,
  ): AsyncGenerator<Row, void, undefined> {
    let more: Query | undefined = { limit: allRoutes[id][2], ...(query as Query | undefined) };
    let seen = Number(more["offset"] ?? 0);
    while (more) {
      const page: ReplyOf<Id> = await this.request(id, { query: more } as unknown as InputOf<Id>, options);
      const list = rows(page);
      yield* list;
      seen += list.length;
      const following: Query | undefined = list.length > 0 ? next(page, seen) : undefined;
      more = following && { ...more, ...following };
    }
  }

  // Messages

  /**
   * remember stores messages, and edits, deletions and reactions of them: one, an array, a generator, or a
   * stream that goes on as long as the chat does. They are sent in batches, each again until it is stored.
   * Lines that cannot be taken are in `bad`. It throws if not one could.
   */
  async remember(messages: MessageLines, options?: GroupOptions): Promise<Remembered> {
    const path = { group_id: options?.group ?? this.group ?? "" };
    const sum: Remembered = { success: true, group_id: path.group_id, new: 0, known: 0, bad_count: 0 };
    let lines = 0;
    let refused: ProblemError | undefined;
    for await (const batch of batches(messages, this.#transport.sleep, options?.signal)) {
      try {
        addUp(sum, await this.request("add-messages", { path, body: batch.body }, options), lines);
      } catch (error) {
        const bad = badLines(error);
        if (!bad) throw error;
        refused ??= error as ProblemError;
        addUp(sum, { success: false, group_id: path.group_id, new: 0, known: 0, bad, bad_count: batch.lines }, lines);
      }
      lines += batch.lines;
    }
    if (refused && sum.bad_count === lines) throw refused;
    return sum;
  }

  /** messages yields messages: the newest first, or those after one, the oldest first. */
  async *messages(
    query?: QueryOf<"list-messages">, options?: GroupOptions,
  ): AsyncGenerator<Schemas["ConversationMessage"], void, undefined> {
    const forward = query?.after !== undefined;
    yield* this.#rows("list-messages", query, options,
      (page) => (forward ? page.messages : page.messages.toReversed()),
      (page) => forward
        ? page.newer ? { after: page.messages.at(-1)?.id } : undefined
        : page.older ? { before: page.messages[0]?.id } : undefined);
  }

  /** editMessage gives a message its new text. */
  editMessage(messageId: string, edit: { text: string; edited_at?: string | Date }, options?: GroupOptions) {
    const at = edit.edited_at instanceof Date ? edit.edited_at.toISOString() : edit.edited_at;
    const body = at === undefined ? { text: edit.text } : { text: edit.text, edited_at: at };
    return this.request("edit-message", { path: { message_id: messageId }, body }, options);
  }

  /** deleteMessage removes a message, and what rests on it alone is judged again. */
  deleteMessage(messageId: string, options?: GroupOptions) {
    return this.request("delete-message", { path: { message_id: messageId } }, options);
  }

  /** react adds reactions to those that a message has. Only a count of 0 takes one back. */
  react(messageId: string, reactions: readonly Reaction[], options?: GroupOptions): Promise<Remembered> {
    return this.remember({ id: messageId, reactions }, options);
  }

  /** clearSession forgets the short-term memory of a session. */
  clearSession(sessionId: string, options?: GroupOptions) {
    return this.request("clear-session", { path: { session_id: sessionId } }, options);
  }

  // What a bot asks for

  /** context is what a bot should know for its next turn: `text` is ready to stand in a prompt. */
  context(query: string | BodyOf<"make-context">, options?: GroupOptions) {
    return this.request("make-context", { body: typeof query === "string" ? { query } : query }, options);
  }

  /** explain makes a context, and says of each memory what it scored and why. */
  explain(query: string | BodyOf<"explain-context">, options?: GroupOptions) {
    return this.request("explain-context", { body: typeof query === "string" ? { query } : query }, options);
  }

  /** feedback says what the bot answered, so that memories which were used count for more. */
  feedback(body: BodyOf<"give-feedback">, options?: GroupOptions) {
    return this.request("give-feedback", { body }, options);
  }

  /** search finds the memories nearest to a question. */
  search(q: string, query?: Omit<QueryOf<"search-memories">, "q">, options?: GroupOptions) {
    return this.request("search-memories", { query: { ...query, q } }, options);
  }

  // Memories

  /** memories yields the memories of a group, the oldest first. */
  memories(query?: QueryOf<"list-memories">, options?: GroupOptions) {
    return this.#rows("list-memories", query, options, (page) => page.memories,
      (page, seen) => (seen < page.total ? { offset: seen } : undefined));
  }

  /** memory shows a memory and the messages that it rests on. */
  memory(memoryId: string, options?: CallOptions) {
    return this.request("get-memory", { path: { memory_id: memoryId } }, options);
  }

  /** history shows all versions of a memory. */
  history(memoryId: string, query?: QueryOf<"get-memory-history">, options?: CallOptions) {
    return this.request("get-memory-history", { path: { memory_id: memoryId }, query }, options);
  }

  /** why explains each version of a memory. */
  why(memoryId: string, options?: CallOptions) {
    return this.request("get-memory-why", { path: { memory_id: memoryId } }, options);
  }

  /** blame traces each word of a memory. */
  blame(memoryId: string, query?: QueryOf<"get-memory-blame">, options?: CallOptions) {
    return this.request("get-memory-blame", { path: { memory_id: memoryId }, query }, options);
  }

  /** changes shows what has changed lately. */
  changes(query?: QueryOf<"list-changes">, options?: GroupOptions) {
    return this.request("list-changes", { query }, options);
  }

  /** diff says how the memories of two instants differ. */
  diff(query: QueryOf<"get-memory-diff">, options?: GroupOptions) {
    return this.request("get-memory-diff", { query }, options);
  }

  /** addMemory writes a memory by hand. */
  addMemory(memory: BodyOf<"add-memory">, options?: GroupOptions) {
    return this.request("add-memory", { body: memory }, options);
  }

  /** editMemory makes a new version of a memory. */
  editMemory(memoryId: string, edit: BodyOf<"edit-memory">, options?: CallOptions) {
    return this.request("edit-memory", { path: { memory_id: memoryId }, body: edit }, options);
  }

  /** deleteMemory ends a memory; it can be restored. */
  deleteMemory(memoryId: string, reason?: string, options?: CallOptions) {
    return this.request("delete-memory", { path: { memory_id: memoryId }, query: reason ? { reason } : {} }, options);
  }

  /** restoreMemory brings a memory back. */
  restoreMemory(memoryId: string, reason?: string, options?: CallOptions) {
    return this.request("restore-memory", { path: { memory_id: memoryId }, query: reason ? { reason } : {} }, options);
  }

  /** setStrength says how well supported a memory is, from 0 to 1. */
  setStrength(memoryId: string, body: BodyOf<"set-memory-strength">, options?: CallOptions) {
    return this.request("set-memory-strength", { path: { memory_id: memoryId }, body }, options);
  }

  /** propose proposes a memory; a person decides. */
  propose(proposal: BodyOf<"propose-memory">, options?: GroupOptions) {
    return this.request("propose-memory", { body: proposal }, options);
  }

  // People and things

  /** entities yields people and things. */
  entities(query?: QueryOf<"list-entities">, options?: GroupOptions) {
    return this.#rows("list-entities", query, options, (page) => page.entities,
      (page, seen) => (seen < page.total ? { offset: seen } : undefined));
  }

  /** entity shows one of them. */
  entity(entityId: string, options?: GroupOptions) {
    return this.request("get-entity", { path: { entity_id: entityId } }, options);
  }

  /** linkEntity says that two entities of two groups are one person. */
  linkEntity(entityId: string, to: BodyOf<"link-entity">, options?: GroupOptions) {
    return this.request("link-entity", { path: { entity_id: entityId }, body: to }, options);
  }

  /** unlinkEntity takes that back. */
  unlinkEntity(entityId: string, from: BodyOf<"unlink-entity">, options?: GroupOptions) {
    return this.request("unlink-entity", { path: { entity_id: entityId }, body: from }, options);
  }

  /** whatAbout is all that is remembered of and from a person, by their id on the platform. */
  async whatAbout(authorId: string, options?: GroupOptions): Promise<ReplyOf<"get-author-memories">> {
    const limit = allRoutes["get-author-memories"][2];
    const page = (offset: number) => this.request("get-author-memories",
      { path: { author_id: authorId }, query: offset > 0 ? { limit, offset } : { limit } }, options);
    const reply = await page(0);
    for (let more = reply; more.memories.length > 0 && reply.memories.length < reply.total;) {
      more = await page(reply.memories.length);
      reply.memories.push(...more.memories);
    }
    return reply;
  }

  /**
   * forget erases a person from a group: their messages, and what rests on them. Names to keep are words
   * that stay in what others say.
   */
  forget(authorId: string, options?: GroupOptions & { dryRun?: boolean; keepNames?: string[] }) {
    const { dryRun = false, keepNames } = options ?? {};
    const body = keepNames ? { dry_run: dryRun, keep_names: keepNames } : { dry_run: dryRun };
    return this.request("forget-author", { path: { author_id: authorId }, body }, options);
  }

  /** dreams shows what a group dreamt. */
  dreams(options?: GroupOptions) {
    return this.request("get-dream", {}, options);
  }

  // Groups

  /** groups yields the groups that the token may see. */
  groups(query?: QueryOf<"list-groups">, options?: CallOptions) {
    return this.#rows("list-groups", query, options, (page) => page.groups,
      (page) => (page.next ? { after: page.next } : undefined));
  }

  /** getGroup shows a group. */
  getGroup(options?: GroupOptions) {
    return this.request("get-group", {}, options);
  }

  /** stats counts what a group has. */
  stats(options?: GroupOptions) {
    return this.request("get-group-stats", {}, options);
  }

  /** nights yields the nights of a group, the newest first. */
  nights(query?: QueryOf<"list-nights">, options?: GroupOptions) {
    return this.#rows("list-nights", query, options, (page) => page.nights,
      (page) => (page.next ? { before: page.next } : undefined));
  }

  /** costs sums what models cost. */
  costs(query?: QueryOf<"get-costs">, options?: CallOptions) {
    return this.request("get-costs", { query }, options);
  }

  // Runs

  /** evolve takes a group's pending messages in, and waits until that is done. */
  async evolve(query?: QueryOf<"evolve-group">, options?: GroupOptions): Promise<Evolved> {
    let pause = pollFirst;
    for (;;) {
      const answer = await this.#send("evolve-group", { query }, options);
      const reply = answer.data as ReplyOf<"evolve-group">;
      if (answer.status !== 202) return reply as Schemas["EvolveReply"];
      const runId = reply.run_id;
      if (runId) return await this.#runEnded(runId, pause, options);
      await this.#transport.sleep(pause, options?.signal); // it has not begun: ask again, which joins it
      pause = Math.min(2 * pause, pollLast);
    }
  }

  async #runEnded(runId: string, pause: number, options?: GroupOptions): Promise<Evolved> {
    for (;;) {
      const { run, changes } = await this.run(runId, options);
      if (run.status !== "running") {
        const { group_id, run_id, status, stats, error } = run;
        return { group_id, run_id, status, stats, changes, error };
      }
      await this.#transport.sleep(pause, options?.signal);
      pause = Math.min(2 * pause, pollLast);
    }
  }

  /** runs yields runs, the newest first. */
  runs(query?: QueryOf<"list-runs">, options?: CallOptions) {
    return this.#rows("list-runs", query, options, (page) => page.runs,
      (page) => (page.more ? { before: page.runs.at(-1)?.run_id } : undefined));
  }

  /** run shows a run. */
  run(runId: string, options?: CallOptions) {
    return this.request("get-run", { path: { run_id: runId } }, options);
  }

  /** approve applies what a run holds for review. */
  approve(runId: string, body: BodyOf<"approve-run"> = {}, options?: CallOptions) {
    return this.request("approve-run", { path: { run_id: runId }, body }, options);
  }

  /** reject drops what a run holds for review. */
  reject(runId: string, body: BodyOf<"reject-run"> = {}, options?: CallOptions) {
    return this.request("reject-run", { path: { run_id: runId }, body }, options);
  }

  /** undo undoes a run. Ask with dry_run first, then send the before_sha256 that it returns. */
  undo(runId: string, body: BodyOf<"undo-run">, options?: CallOptions) {
    return this.request("undo-run", { path: { run_id: runId }, body }, options);
  }

  // Teams

  /** teamMemories yields the memories of a team. */
  teamMemories(query?: QueryOf<"list-team-memories">, options?: CallOptions) {
    return this.#rows("list-team-memories", query, options, (page) => page.memories,
      (page) => (page.next ? { after: page.next } : undefined));
  }

  /** teamMemory shows one of them. */
  teamMemory(id: string, query?: QueryOf<"get-team-memory">, options?: CallOptions) {
    return this.request("get-team-memory", { path: { id }, query }, options);
  }

  /** putTeamMemory writes one: "new", or in place of the version_id that was read. */
  putTeamMemory(
    id: string, body: BodyOf<"put-team-memory">, inPlaceOf: "new" | (string & {}),
    query?: QueryOf<"put-team-memory">, options?: CallOptions,
  ) {
    const headers = inPlaceOf === "new" ? { "If-None-Match": "*" as const } : { "If-Match": `"${inPlaceOf}"` };
    return this.request("put-team-memory", { path: { id }, query, headers, body }, options);
  }

  // Webhooks

  /** webhooks lists the addresses that are told of changes. */
  webhooks(options?: CallOptions) {
    return this.request("list-webhooks", {}, options);
  }

  /** addWebhook adds one. Its secret is told once. */
  addWebhook(webhook: BodyOf<"add-webhook">, options?: CallOptions) {
    return this.request("add-webhook", { body: webhook }, options);
  }

  /** deleteWebhook removes one. */
  deleteWebhook(id: string, options?: CallOptions) {
    return this.request("delete-webhook", { path: { id } }, options);
  }

  /** testWebhook sends it an event by hand. */
  testWebhook(id: string, options?: CallOptions) {
    return this.request("test-webhook", { path: { id } }, options);
  }

  /** replayWebhook sends it events again: those since an instant or a date, or since one of them. */
  replayWebhook(id: string, from: string | Date, options?: CallOptions) {
    const body = { from: from instanceof Date ? from.toISOString() : from };
    return this.request("replay-webhook", { path: { id }, body }, options);
  }
}

/** badLines reads an answer that says of each line why it could not be taken. */
function badLines(error: unknown): Schemas["BadLine"][] | undefined {
  if (!(error instanceof InvalidError) || error.status !== 422) return undefined;
  const bad = error.errors.flatMap(({ location, message }) => {
    const line = location?.match(/^body\.line (\d+)$/)?.[1];
    return line ? [{ line: Number(line), reason: message }] : [];
  });
  return bad.length > 0 ? bad : undefined;
}
