import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { MessageLine, ReverieOptions } from "../src/index.js";
import {
  ConflictError, ConnectionError, ForbiddenError, InvalidError, NotFoundError, ProblemError, RateLimitError, Reverie,
  ReverieError, ServerError, TimeoutError, UnauthorizedError,
} from "../src/index.js";
import type { Seen } from "./fake.js";
import { Fake, json, problem } from "./fake.js";
import { freePort } from "./server.js";

let fake: Fake;
let slept: number[] = [];

beforeEach(async () => {
  fake = await Fake.start((_, response) => json(response, {})); // a late request of another test goes nowhere
  slept = [];
});
afterEach(() => {
  vi.useRealTimers();
  return fake.stop();
});

function client(options: Partial<ReverieOptions> = {}): Reverie {
  const sleep = async (ms: number, signal?: AbortSignal) => {
    signal?.throwIfAborted();
    slept.push(ms);
  };
  return new Reverie({ baseUrl: fake.url, token: "rv_t", group: "g1", sleep, ...options });
}

/** failing answers so often as it should, and then does what it should. */
function failing(times: number, fail: (response: ServerResponse) => void, then: unknown = {}) {
  return (_: Seen, response: ServerResponse) => (fake.seen.length <= times ? fail(response) : json(response, then));
}

const message = (n: number): MessageLine =>
  ({ id: `m${n}`, author: "Ann", author_id: "u1", text: `text ${n}`, sent_at: new Date(Date.UTC(2026, 0, 1, 0, 0, n)) });

const stored = (seen: Seen) => {
  const lines = seen.body.split("\n").length - 1;
  return { success: true, group_id: "g1", new: lines, known: 0, bad_count: 0, filtered: { empty: 1 } };
};

describe("requests", () => {
  test("token, path, query and body are as the route wants them", async () => {
    fake.answer((_, response) => json(response, { success: true }));
    await client({ baseUrl: `${fake.url}/prefix/` }).search("when & where?", { limit: 3 }, { group: "a/b c" });
    await client().inGroup("群/🐉").context("hello");
    await client().request("clear-session", { path: { session_id: "s/1", group_id: "g2" } });
    expect(fake.seen.map((s) => `${s.method} ${s.url}`)).toEqual([
      "GET /prefix/memory/search/a%2Fb%20c?limit=3&q=when+%26+where%3F",
      "POST /v1/groups/%E7%BE%A4%2F%F0%9F%90%89/context",
      "DELETE /v1/groups/g2/sessions/s%2F1/buffer",
    ]);
    expect(fake.seen[0]?.headers.authorization).toBe("Bearer rv_t");
    expect(fake.seen[1]?.body).toBe(`{"query":"hello"}`);
  });

  test("a missing group is said before anything is sent", async () => {
    fake.answer((_, response) => json(response, {}));
    await expect(new Reverie({ baseUrl: fake.url }).stats()).rejects.toThrow("give new Reverie, or the call, a group");
    expect(fake.seen).toEqual([]);
  });

  test("so is an id that would be a step in the path", async () => {
    fake.answer((_, response) => json(response, {}));
    await expect(client().inGroup("..").context("hello")).rejects.toThrow("group_id .. cannot stand in an address");
    expect(fake.seen).toEqual([]);
  });

  test("a baseUrl that is none is said at once", () => {
    expect(() => client({ baseUrl: "ftp://x" })).toThrow("no http or https address");
  });

  test("a team's memory is written under one key, however often", async () => {
    fake.answer(failing(1, (r) => problem(r, 503, "away"), { memory_id: "x" }));
    await client().putTeamMemory("t1", { statement: "s" } as never, "new", { team: "ops" });
    const keys = fake.seen.map((s) => s.headers["idempotency-key"]);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(keys[1]).toBe(keys[0]);
    expect(fake.seen[0]?.headers["if-none-match"]).toBe("*");
  });

  test("a redirect is not followed", async () => {
    fake.answer((_, response) => void response.writeHead(301, { location: "https://elsewhere.example/" }).end());
    await expect(client().stats()).rejects.toThrow("use https://elsewhere.example/ as baseUrl");
  });

  test.each(["<html>", "", "null", "[]", `{"cut":`])("an answer that is no object is an error: %s", async (text) => {
    fake.answer((_, response) => void response.end(text));
    await expect(client().stats()).rejects.toThrow(ReverieError);
    await expect(client().stats()).rejects.toThrow("no object of JSON");
  });

  test("half a surrogate pair is no reason to refuse a text", async () => {
    fake.answer((seen, response) => json(response, stored(seen)));
    await client().remember({ ...message(1), text: "cut \ud83d" } as MessageLine);
    await client().context("cut \ud83d").catch(() => undefined);
    expect(fake.seen.map((s) => (JSON.parse(s.body) as { text?: string; query?: string }).text ?? "cut \ufffd"))
      .toEqual(["cut \ufffd", "cut \ufffd"]);
    expect(fake.seen[1]?.body).toBe(`{"query":"cut \ufffd"}`);
  });
});

describe("errors", () => {
  test.each([
    [400, InvalidError], [401, UnauthorizedError], [403, ForbiddenError], [404, NotFoundError], [409, ConflictError],
    [412, ConflictError], [413, InvalidError], [415, InvalidError], [422, InvalidError], [428, ConflictError],
    [429, RateLimitError], [500, ServerError], [502, ServerError], [503, ServerError], [504, ServerError], [418, ProblemError],
  ])("%i", async (status, kind) => {
    const more = { head_id: "h1", instance: "r1", errors: [{ location: "query.limit", message: "too large" }] };
    fake.answer((_, response) => problem(response, status, "it is so", {}, more));
    const error = await client({ retries: 0 }).stats().catch((e: unknown) => e);
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({
      status, detail: "it is so", requestId: "r1", problem: { head_id: "h1" }, errors: more.errors,
      message: `GET /v1/groups/g1/stats: ${status} it is so (query.limit: too large)`,
    });
  });

  test("what stands between is told from the server", async () => {
    fake.answer((_, response) => void response.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad"));
    await expect(client({ retries: 0 }).stats()).rejects.toMatchObject({ fromServer: false, status: 502 });
  });
});

describe("retries", () => {
  test("back off, and end with the answer", async () => {
    fake.answer(failing(3, (r) => problem(r, 503, "stopping"), { ok: 1 }));
    expect(await client().stats()).toEqual({ ok: 1 });
    expect(slept).toHaveLength(3);
    for (const [i, ms] of slept.entries()) {
      expect(ms).toBeGreaterThanOrEqual(125 * 2 ** i);
      expect(ms).toBeLessThanOrEqual(250 * 2 ** i);
    }
  });

  test("wait as long as Retry-After says, in seconds or as a date", async () => {
    fake.answer(failing(1, (r) => problem(r, 429, "slow down", { "retry-after": "7" })));
    await client().addMemory({ statement: "s" } as never); // not even this was done
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 0, 1, 12, 0, 0) });
    fake.answer(failing(1, (r) => problem(r, 409, "busy", { "retry-after": "Thu, 01 Jan 2026 12:00:09 GMT" })));
    await client().evolve();
    expect(slept).toEqual([7000, 9000]);
  });

  test("fail where the server asks for more time than there is", async () => {
    fake.answer((_, response) => problem(response, 503, "the model is away", { "retry-after": "600" }));
    await expect(client().stats()).rejects.toMatchObject({ retryAfter: 600_000 });
    expect(fake.seen).toHaveLength(1);
  });

  test("end after so many", async () => {
    fake.answer((_, response) => problem(response, 503, "away"));
    await expect(client({ retries: 2 }).stats()).rejects.toBeInstanceOf(ServerError);
    expect(fake.seen).toHaveLength(3);
  });

  test.each([
    ["a 503", (r: ServerResponse) => problem(r, 503, "away")],
    ["a broken connection", (r: ServerResponse) => void r.destroy()],
  ])("do not repeat after %s what may have been done", async (_, fail) => {
    fake.answer(failing(1, fail, { success: true, changes: [] }));
    await expect(client().addMemory({ statement: "s" } as never)).rejects.toBeInstanceOf(ReverieError);
    expect(fake.seen).toHaveLength(1);
    fake.answer(failing(1, fail, { success: true, changes: [] }));
    await client().evolve();
    await client().feedback({ response: "r", usage_id: "u" });
    expect(fake.seen).toHaveLength(3);
  });

  test.each([500, 502, 504])("do not repeat a %i of the server's own", async (status) => {
    fake.answer((_, response) => problem(response, status, "useless"));
    await expect(client().evolve()).rejects.toBeInstanceOf(ServerError);
    expect(fake.seen).toHaveLength(1);
  });

  test("repeat anything where nobody listened", async () => {
    const port = await freePort();
    const away = client({ baseUrl: `http://127.0.0.1:${port}`, retries: 3 });
    const error = await away.addMemory({ statement: "s" } as never).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ unsent: true });
    expect(slept).toHaveLength(3);
  });
});

describe("timeouts and cancellation", () => {
  test("an answer that does not come is a TimeoutError", async () => {
    fake.answer(() => undefined);
    let sent = 0; // which need not arrive within the time
    const counting: typeof fetch = (...args) => (sent++, fetch(...args));
    await expect(client({ fetch: counting }).stats({ timeout: 20, retries: 1 })).rejects.toBeInstanceOf(TimeoutError);
    expect(sent).toBe(2);
  });

  test("a fetch that does not hear of the abort is not waited for", async () => {
    const deaf = () => new Promise<Response>(() => undefined);
    await expect(client({ fetch: deaf }).stats({ timeout: 20, retries: 0 })).rejects.toBeInstanceOf(TimeoutError);
  });

  test("so is one that breaks off in the middle", async () => {
    fake.answer((_, response) => void response.writeHead(200, { "content-type": "application/json" }).write("{"));
    await expect(client().stats({ timeout: 20, retries: 0 })).rejects.toBeInstanceOf(TimeoutError);
  });

  test("an abort ends a request, and is thrown as it is", async () => {
    const stop = new AbortController();
    const reason = new Error("enough");
    fake.answer(() => stop.abort(reason));
    await expect(client().stats({ signal: stop.signal })).rejects.toBe(reason);
    await expect(client().stats({ signal: stop.signal })).rejects.toBe(reason); // and begins none
    expect(fake.seen).toHaveLength(1);
  });

  test("an abort ends the wait for the next attempt", async () => {
    const stop = new AbortController();
    fake.answer((_, response) => {
      problem(response, 503, "away", { "retry-after": "9" });
      setImmediate(() => stop.abort());
    });
    const real = new Reverie({ baseUrl: fake.url, group: "g1" });
    await expect(real.stats({ signal: stop.signal })).rejects.toHaveProperty("name", "AbortError");
  });

  test("an abort ends a stream that waits for messages, and its source", async () => {
    const stop = new AbortController();
    let ended = false;
    const source: AsyncIterable<MessageLine> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => stop.abort(new Error("enough"))),
        return: async () => {
          ended = true;
          return { done: true, value: undefined };
        },
      }),
    };
    await expect(client().remember(source, { signal: stop.signal })).rejects.toThrow("enough");
    expect(ended).toBe(true);
  });
});

describe("messages", () => {
  test("10,000 from a generator go in batches, and are added up", async () => {
    fake.answer((seen, response) => json(response, stored(seen)));
    async function* source() {
      for (let n = 0; n < 10_000; n++) yield message(n);
    }
    const sum = await client({ sleep: () => new Promise(() => undefined) }).remember(source());
    expect(sum).toEqual({ success: true, group_id: "g1", new: 10_000, known: 0, bad_count: 0, filtered: { empty: 10 } });
    expect(fake.seen).toHaveLength(10);
    const ids = fake.seen.flatMap((s) => s.body.trim().split("\n").map((line) => (JSON.parse(line) as { id: string }).id));
    expect(ids).toEqual(Array.from({ length: 10_000 }, (_, n) => `m${n}`));
    expect(fake.seen[0]?.headers["content-type"]).toBe("application/x-ndjson");
  });

  test("no message is taken while a batch is under way", async () => {
    let taken = 0;
    const takenThen: number[] = [];
    fake.answer((seen, response) => {
      takenThen.push(taken);
      json(response, stored(seen));
    });
    function* source() {
      for (; taken < 2500; ) yield message(taken++);
    }
    await client().remember(source());
    expect(takenThen).toEqual([1000, 2000, 2500]);
  });

  test("large ones go in smaller batches", async () => {
    fake.answer((seen, response) => json(response, stored(seen)));
    const text = "x".repeat(600_000);
    await client().remember([0, 1, 2].map((n) => ({ ...message(n), text }) as MessageLine));
    expect(fake.seen.map((s) => stored(s).new)).toEqual([2, 1]);
  });

  test("one that comes slowly does not wait for others for ever", async () => {
    let release = () => {};
    const second = new Promise<void>((resolve) => (release = resolve));
    fake.answer((seen, response) => {
      json(response, stored(seen));
      release();
    });
    async function* source() {
      yield message(0);
      await second; // which comes only if the first was sent
      yield message(1);
    }
    expect((await client().remember(source())).new).toBe(2);
    expect(fake.seen).toHaveLength(2);
  });

  test("a source that fails sends what came before, at most, and its error is thrown", async () => {
    fake.answer((seen, response) => json(response, stored(seen)));
    async function* source() {
      yield message(0);
      throw new Error("the chat is gone");
    }
    await expect(client().remember(source())).rejects.toThrow("the chat is gone");
  });

  test("edits, deletions and reactions are lines, too", async () => {
    fake.answer((seen, response) => json(response, stored(seen)));
    const at = new Date("2026-01-02T03:04:05Z");
    await client().remember([{ id: "1", text: "new", edited_at: at }, { id: "2", deleted_at: at }]);
    await client().react("3", [{ emoji: "👍", author_id: "u1", count: 1 }]);
    expect(fake.seen.map((s) => s.body).join("")).toBe(
      `{"id":"1","text":"new","edited_at":"2026-01-02T03:04:05.000Z"}\n{"id":"2","deleted_at":"2026-01-02T03:04:05.000Z"}\n`
      + `{"id":"3","reactions":[{"emoji":"👍","author_id":"u1","count":1}]}\n`);
  });

  test("bad lines are counted over all batches, and do not keep the others out", async () => {
    fake.answer((seen, response) => {
      if (fake.seen.length === 2) {
        return problem(response, 422, "not one line", {}, { errors: [{ location: "body.line 7", message: "bad" }] });
      }
      json(response, { ...stored(seen), success: false, new: 999, bad_count: 1, bad: [{ line: 3, reason: "worse" }] });
    });
    const sum = await client().remember(Array.from({ length: 2000 }, (_, n) => message(n)));
    expect(sum).toMatchObject({
      success: false, new: 999, bad_count: 1001, bad: [{ line: 3, reason: "worse" }, { line: 1007, reason: "bad" }],
    });
  });

  test("nothing but bad lines is an error, and so is a bad group", async () => {
    fake.answer((_, response) =>
      problem(response, 422, "not one line", {}, { errors: [{ location: "body.line 1", message: "bad" }] }));
    await expect(client().remember(message(0))).rejects.toBeInstanceOf(InvalidError);
    fake.answer((_, response) => problem(response, 422, "the group's id is too long"));
    await expect(client().remember(message(0))).rejects.toThrow("too long");
  });

  test("none is nothing to send", async () => {
    fake.answer((seen, response) => json(response, stored(seen)));
    expect((await client().remember([])).new).toBe(0);
    expect(fake.seen).toEqual([]);
  });
});

describe("pages", () => {
  test("are followed by offset, as long as somebody reads", async () => {
    fake.answer((seen, response) => {
      const offset = Number(new URL(seen.url, fake.url).searchParams.get("offset") ?? 0);
      const memories = Array.from({ length: Math.min(200, 450 - offset) }, (_, n) => ({ memory_id: `${offset + n}` }));
      json(response, { success: true, group_id: "g1", total: 450, memories });
    });
    const ids: string[] = [];
    for await (const memory of client().memories({ status: "all" })) ids.push(memory.memory_id);
    expect(ids).toEqual(Array.from({ length: 450 }, (_, n) => `${n}`));
    expect(fake.seen.map((s) => s.url)).toEqual([
      "/memory/list/g1?limit=200&status=all", "/memory/list/g1?limit=200&status=all&offset=200",
      "/memory/list/g1?limit=200&status=all&offset=400",
    ]);
    fake.seen.length = 0;
    for await (const _ of client().memories()) break;
    expect(fake.seen).toHaveLength(1);
  });

  test("of messages go back in time, or on from one", async () => {
    fake.answer((seen, response) => {
      const query = new URL(seen.url, fake.url).searchParams;
      const end = Number(query.get("before") ?? 7);
      const from = query.has("after") ? Number(query.get("after")) + 1 : Math.max(0, end - 3);
      const to = query.has("after") ? Math.min(7, from + 3) : end;
      const messages = Array.from({ length: to - from }, (_, n) => ({ id: `${from + n}` }));
      json(response, { success: true, group_id: "g1", messages, older: from > 0, newer: to < 7 });
    });
    const ids = async (query?: { after: string }) => {
      const list: string[] = [];
      for await (const m of client().messages(query)) list.push(m.id);
      return list.join("");
    };
    expect(await ids()).toBe("6543210");
    expect(await ids({ after: "1" })).toBe("23456");
  });

  test("of runs, groups, nights and teams are followed by what they say", async () => {
    fake.answer((seen, response) => {
      const first = !/after=|before=/.test(seen.url);
      const row = { run_id: first ? "1" : "2", group_id: "g", memory_id: "m" };
      const more = first ? { more: true, next: "n1" } : { more: false };
      json(response, { success: true, runs: [row], groups: [row], nights: [row], memories: [row], ...more });
    });
    for (const rows of [client().runs(), client().groups(), client().nights(), client().teamMemories()]) {
      let n = 0;
      for await (const _ of rows as AsyncIterable<unknown>) n++;
      expect(n).toBe(2);
    }
    expect(fake.seen.filter((s) => /after=n1|before=n1|before=1/.test(s.url))).toHaveLength(4);
  });
});

describe("evolve", () => {
  test("waits for a run that takes longer", async () => {
    let looks = 0;
    fake.answer((seen, response) => {
      if (seen.method === "POST") {
        const begun = fake.seen.length > 1;
        const reply = { success: true, group_id: "g1", status: "running", ...(begun && { run_id: "r1" }) };
        return json(response, reply, 202, begun ? { location: "/v1/runs/r1" } : {});
      }
      const status = ++looks < 3 ? "running" : "held";
      json(response, { run: { group_id: "g1", run_id: "r1", status, stats: { created: 2 } }, changes: [{ memory_id: "m" }] });
    });
    expect(await client().evolve({ days: 1 })).toEqual({
      group_id: "g1", run_id: "r1", status: "held", stats: { created: 2 }, changes: [{ memory_id: "m" }], error: undefined,
    });
    expect(fake.seen.map((s) => `${s.method} ${s.url}`)).toEqual([
      "POST /memory/evolve/g1?days=1", "POST /memory/evolve/g1?days=1", "GET /v1/runs/r1", "GET /v1/runs/r1", "GET /v1/runs/r1",
    ]);
    expect(slept).toEqual([500, 1000, 2000]);
  });
});

describe("routes that are new", () => {
  test("tell all about a person", async () => {
    fake.answer(({ url }, response) => {
      const at = Number(new URL(url, fake.url).searchParams.get("offset") ?? 0);
      const memories = Array.from({ length: Math.min(200, 450 - at) }, (_, n) => ({ n: at + n }));
      json(response, { success: true, total: 450, memories });
    });
    const { memories } = await client().whatAbout("u1");
    expect(memories).toEqual(Array.from({ length: 450 }, (_, n) => ({ n })));
  });

  test("have methods", async () => {
    fake.answer((_, response) => json(response, { success: true, memories: [], total: 0 }));
    const c = client();
    await c.editMessage("m/1", { text: "new", edited_at: new Date("2026-01-02T03:04:05Z") });
    await c.deleteMessage("m/1");
    await c.whatAbout("u/1");
    await c.forget("u/1", { dryRun: true });
    await c.forget("u/1");
    await c.linkEntity("e1", { group_id: "g2", entity_id: "e2" });
    await c.unlinkEntity("e1", { group_id: "g2", entity_id: "e2" });
    await c.webhooks();
    await c.addWebhook({ url: "https://bot.example/hook", events: ["memory.created"] });
    await c.deleteWebhook("w1");
    await c.testWebhook("w1");
    await c.replayWebhook("w1", new Date("2026-01-02T03:04:05Z"));
    expect(fake.seen.map((s) => `${s.method} ${s.url} ${s.body}`.trim())).toEqual([
      `PATCH /v1/groups/g1/messages/m%2F1 {"text":"new","edited_at":"2026-01-02T03:04:05.000Z"}`,
      "DELETE /v1/groups/g1/messages/m%2F1",
      "GET /v1/groups/g1/authors/u%2F1/memories?limit=200",
      `POST /v1/groups/g1/authors/u%2F1/forget {"dry_run":true}`,
      `POST /v1/groups/g1/authors/u%2F1/forget {"dry_run":false}`,
      `POST /v1/groups/g1/entities/e1/link {"group_id":"g2","entity_id":"e2"}`,
      `DELETE /v1/groups/g1/entities/e1/link {"group_id":"g2","entity_id":"e2"}`,
      "GET /v1/webhooks",
      `POST /v1/webhooks {"url":"https://bot.example/hook","events":["memory.created"]}`,
      "DELETE /v1/webhooks/w1",
      "POST /v1/webhooks/w1/test",
      `POST /v1/webhooks/w1/replay {"from":"2026-01-02T03:04:05.000Z"}`,
    ]);
  });
});
