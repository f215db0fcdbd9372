import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { NewMessage } from "../src/index.js";
import {
  ConflictError, ForbiddenError, InvalidError, NotFoundError, Reverie, UnauthorizedError, verifyWebhook,
} from "../src/index.js";
import { Fake } from "./fake.js";
import { Server } from "./server.js";

const { url, token } = inject("server");
const reverie = new Reverie({ baseUrl: url, token });
const say = (n: number, text: string, author = "Ann", more: Partial<NewMessage> = {}): NewMessage => ({
  id: `m${n}`, author, author_id: author.toLowerCase(), text, sent_at: new Date(Date.UTC(2026, 0, 1, 0, 0, n)), ...more,
});

const all = async <T>(rows: AsyncIterable<T>): Promise<T[]> => {
  const list: T[] = [];
  for await (const row of rows) list.push(row);
  return list;
};

describe("every operation", () => {
  const g = reverie.inGroup("群/real operations");

  test("of messages, contexts and evolve", async () => {
    const said = ["I live in Oslo.", "We meet on Fridays at 18:00.", "From now on we meet on Mondays.", "I am allergic to nuts."];
    const messages = said.map((text, n) => say(n, text, n % 2 ? "Bob" : "Ann", { session_id: "s1" }));
    expect(await g.remember(messages)).toMatchObject({ success: true, new: 4 });
    expect(await g.remember(messages)).toMatchObject({ success: true, new: 0, known: 4 });
    expect((await all(g.messages({ limit: 3 }))).map((m) => m.id)).toEqual(["m3", "m2", "m1", "m0"]);
    expect((await all(g.messages({ after: "m1", limit: 1 }))).map((m) => m.id)).toEqual(["m2", "m3"]);
    const evolved = await g.evolve();
    expect(evolved).toMatchObject({ status: "succeeded" });
    const context = await g.context({ query: "When do we meet?", session_id: "s1" });
    expect(context.text).toContain("meet on Mondays");
    expect((await g.explain("When do we meet?")).query).toBe("When do we meet?");
    expect((await g.request("get-context", { query: { query: "Oslo" } })).query).toBe("Oslo");
    if (context.usage_id !== undefined) {
      expect(await g.feedback({ usage_id: context.usage_id, response: "On Mondays." })).toMatchObject({ success: true });
    }
    expect((await g.clearSession("s1")).cleared).toBe(4);
    expect((await all(reverie.runs({ group: g.group ?? "" }))).map((r) => r.run_id)).toContain(evolved.run_id);
    const run = await reverie.run(evolved.run_id ?? "");
    expect(run.run.status).toBe("succeeded");
    await expect(reverie.approve(run.run.run_id)).rejects.toBeInstanceOf(ConflictError);
    await expect(reverie.reject(run.run.run_id)).rejects.toBeInstanceOf(ConflictError);
    expect(await reverie.undo(run.run.run_id, { dry_run: true })).toMatchObject({ success: true, dry_run: true });
  });

  test("of memories", async () => {
    const m = await g.addMemory({ statement: "The book club reads Ulysses.", reason: "a test" });
    await expect(g.addMemory({ statement: "The book club reads Ulysses.", reason: "a test" })).rejects.toBeInstanceOf(ConflictError);
    const edited = await reverie.editMemory(m.memory_id, { statement: "The book club reads Dubliners.", reason: "a test" });
    const old = await reverie.editMemory(m.memory_id, { statement: "It reads.", reason: "a test" }).catch((e: unknown) => e);
    expect(old).toMatchObject({ status: 409, problem: { head_id: edited.memory_id } });
    const strong = await reverie.setStrength(edited.memory_id, { strength: 0.9 });
    const gone = await reverie.deleteMemory(strong.memory_id, "a test");
    const back = await reverie.restoreMemory(gone.memory_id, "still a test");
    expect(back).toMatchObject({ status: "active", statement: "The book club reads Dubliners." });
    expect((await reverie.memory(back.memory_id)).success).toBe(true);
    expect((await reverie.history(back.memory_id)).success).toBe(true);
    expect((await reverie.why(back.memory_id)).success).toBe(true);
    expect((await reverie.blame(back.memory_id)).success).toBe(true);
    expect((await g.search("What does the book club read?", { limit: 1 })).results[0]?.statement).toContain("Dubliners");
    expect((await all(g.memories({ limit: 1, kind: "group" }))).map((x) => x.statement)).toContain(back.statement);
    expect((await g.changes({ days: 1 })).changes.length).toBeGreaterThan(0);
    expect((await g.diff({ from: "2026-01-01" })).success).toBe(true);
    const evidence = [{ message_id: "m2", quote: "we meet on Mondays" }];
    expect(await g.propose({ action: "create", statement: "The group meets on Mondays.", reason: "Ann said so.", evidence }))
      .toMatchObject({ success: true });
  });

  test("of groups, people, dreams and costs", async () => {
    expect((await all(reverie.groups())).map((x) => x.group_id)).toContain(g.group);
    expect((await g.getGroup()).group_id).toBe(g.group);
    expect((await g.stats()).success).toBe(true);
    expect(Array.isArray(await all(g.nights()))).toBe(true);
    expect(await all(g.entities())).toEqual([]);
    await expect(g.entity("00000000-0000-0000-0000-000000000000")).rejects.toBeInstanceOf(NotFoundError);
    expect((await g.dreams()).success).toBe(true);
    expect((await reverie.costs()).success).toBe(true);
  });
});

describe("errors of the server", () => {
  test("are those of their status", async () => {
    await expect(reverie.inGroup("nobody's").stats()).rejects.toBeInstanceOf(NotFoundError);
    await expect(new Reverie({ baseUrl: url, token: "wrong" }).costs()).rejects.toBeInstanceOf(UnauthorizedError);
    const invalid = await reverie.inGroup("g").search("", { limit: 1000 }).catch((e: unknown) => e);
    expect(invalid).toBeInstanceOf(InvalidError);
    expect((invalid as InvalidError).errors.map((e) => e.location)).toContain("query.limit");
    expect((invalid as InvalidError).requestId).toMatch(/^[0-9a-f-]{36}$/);
    await expect(reverie.inGroup("bad").remember({ id: "x" } as never)).rejects.toBeInstanceOf(InvalidError);
    const some = await reverie.inGroup("some").remember([say(1, "good"), { id: "2", text: "no time" } as never]);
    expect(some).toMatchObject({ success: false, new: 1, bad_count: 1, bad: [{ line: 2 }] });
  });

  test("10,000 messages come in, and an abort stops them", async () => {
    const many = reverie.inGroup("many");
    async function* source() {
      for (let n = 0; n < 10_000; n++) yield say(n, `message ${n} 🐉`);
    }
    expect(await many.remember(source())).toMatchObject({ success: true, new: 10_000, bad_count: 0 });
    const ids = (await all(many.messages({ limit: 200 }))).map((m) => m.id);
    expect(ids).toEqual(Array.from({ length: 10_000 }, (_, n) => `m${9_999 - n}`));
    const stop = new AbortController();
    async function* endless() {
      for (let n = 0; ; n++) {
        if (n === 2500) stop.abort(new Error("enough"));
        yield say(n, "again");
      }
    }
    await expect(many.remember(endless(), { signal: stop.signal })).rejects.toThrow("enough");
  });
});

describe("a server of one's own", () => {
  let server: Server;
  beforeAll(async () => {
    server = await Server.start();
  });
  afterAll(() => server?.stop());

  test("may restart while messages come in", async () => {
    const client = new Reverie({ baseUrl: server.url, token: server.token, group: "g1", retries: 20 });
    let restarted: Promise<void> | undefined;
    async function* source() {
      for (let n = 0; n < 5000; n++) {
        if (n === 1500) await server.down("SIGKILL");
        if (n === 1501) restarted = server.up();
        yield say(n, `message ${n}`);
      }
    }
    const sum = await client.remember(source());
    await restarted;
    expect(sum).toMatchObject({ success: true, bad_count: 0 });
    expect(sum.new + sum.known).toBe(5000);
    expect(await all(client.messages())).toHaveLength(5000);
  });

  test("shares the memories of a team", async () => {
    await server.reverie("team", "create", "ops");
    const client = new Reverie({ baseUrl: server.url, token: server.token });
    const [id, team] = ["01a22147-ce01-7e98-bc3a-79ff14b49a3d", { team: "ops" }] as const;
    const one = { statement: "Deploys are on Tuesdays.", strength: 0.5 };
    const made = await client.putTeamMemory(id, one, "new", team);
    await expect(client.putTeamMemory(id, one, "new", team)).rejects.toMatchObject({ status: 412, problem: { current: { id } } });
    const next = await client.putTeamMemory(id, { ...one, statement: "Deploys are on Mondays." }, made.version_id, team);
    expect(await client.teamMemory(id, team)).toMatchObject({ version: 2, version_id: next.version_id });
    expect((await all(client.teamMemories(team))).map((m) => m.statement)).toEqual(["Deploys are on Mondays."]);
  });

  test("lets a token do what its scope says", async () => {
    const reads = await server.reverie("token", "create", "g1", "--scope", "read");
    const client = new Reverie({ baseUrl: server.url, token: reads, group: "g1" });
    expect((await client.getGroup()).group_id).toBe("g1");
    await expect(client.remember(say(1, "hi"))).rejects.toBeInstanceOf(ForbiddenError);
    await expect(client.stats({ group: "g2" })).rejects.toBeInstanceOf(NotFoundError);
  });
});

describe("what becomes of messages and people", () => {
  const g = reverie.inGroup("g-live");

  test("edits, deletions and reactions", async () => {
    await g.remember([say(1, "I live in Oslo."), say(2, "I live in Bergen.", "Bob"), say(3, "Hello.")]);
    await g.editMessage("m1", { text: "I live in Rome.", edited_at: new Date(Date.UTC(2026, 0, 2)) });
    await g.deleteMessage("m2");
    await g.react("m3", [{ emoji: "👍", author_id: "bob", count: 1 }]);
    const texts = (await all(g.messages())).map((m) => m.text).join("|");
    expect(texts).toContain("I live in Rome.");
    expect(texts).not.toMatch(/Oslo|Bergen/);
    const again = [{ id: "m1", text: "I live in Paris.", edited_at: new Date(Date.UTC(2026, 0, 3)) },
      { id: "m3", deleted_at: new Date(Date.UTC(2026, 0, 3)) }];
    expect(await g.remember(again)).toMatchObject({ success: true, bad_count: 0 });
  });

  test("what is remembered of a person, and forgetting them", async () => {
    const p = reverie.inGroup("g-privacy");
    await p.remember([say(1, "I am allergic to nuts."), say(2, "Me too!", "Bob")]);
    await p.evolve();
    expect(JSON.stringify(await p.whatAbout("ann"))).toContain("ann");
    await p.forget("ann", { dryRun: true });
    expect((await all(p.messages())).map((m) => m.author)).toContain("Ann");
    await p.forget("ann");
    await p.forget("ann");
    expect(JSON.stringify([await all(p.messages()), await all(p.memories({ status: "all" }))])).not.toMatch(/nuts/);
  });

  test("webhooks", async () => {
    const receiver = await Fake.start((_, response) => void response.writeHead(204).end());
    const hooked = reverie.inGroup("g-hooks");
    await hooked.remember(say(1, "Hello."));
    const hook = await reverie.addWebhook({ url: receiver.url, group_id: "g-hooks", events: ["memory.created"] });
    expect((await reverie.webhooks()).webhooks.map((w) => w.webhook_id)).toEqual([hook.webhook_id]);
    const heard = () => receiver.seen.map((s) => verifyWebhook(s.headers, s.body, hook.secret ?? ""));
    expect(await reverie.testWebhook(hook.webhook_id)).toMatchObject({ success: true, http_status: 204 });
    expect(heard()).toMatchObject([{ type: "webhook.test" }]);
    const made = await hooked.addMemory({ statement: "Ann says hello.", reason: "a test" });
    await expect.poll(() => heard().at(-1), { timeout: 30_000 })
      .toMatchObject({ type: "memory.created", data: { group_id: "g-hooks", memory_id: made.memory_id } });
    expect(await reverie.replayWebhook(hook.webhook_id, "2026-01-01")).toMatchObject({ success: true, events: 1 });
    await reverie.deleteWebhook(hook.webhook_id);
    await expect(reverie.deleteWebhook(hook.webhook_id)).rejects.toBeInstanceOf(NotFoundError);
    await receiver.stop();
  });
});
