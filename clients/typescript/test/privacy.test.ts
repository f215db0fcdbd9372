import { afterEach, beforeEach, expect, test } from "vitest";
import { Memory, Reverie } from "../src/index.js";
import { wishOf } from "../src/privacy.js";
import { Fake, json, problem } from "./fake.js";

let fake: Fake;
let memory: Memory;

beforeEach(async () => {
  fake = await Fake.start((_, response) => json(response, {}));
  memory = new Memory(new Reverie({ baseUrl: fake.url, retries: 0 }), { flushAtExit: 0 });
});
afterEach(async () => {
  await memory.close(0);
  await fake.stop();
});

test.each([
  ["What do you remember of me?", "show en"], ["@rev what do you know about me", "show en"], ["/my_memories@rev_bot", "show en"],
  ["Forget me!", "forget en"], ["/forget_me", "forget en"], ["please forget about me.", "forget en"],
  ["你记得我什么？", "show zh"], ["你还记得我吗", "show zh"], ["你记得关于我的什么事", "show zh"], ["忘记我", "forget zh"],
  ["请把我忘了吧！", "forget zh"], ["don't forget me", ""], ["forget me not", ""], ["Forget me, he said.", ""], ["别忘了我", ""],
  ["what do you remember of Ann?", ""], ["", ""],
])("%s", (text, want) => {
  const wish = wishOf(text);
  expect(wish ? `${wish.what} ${wish.language}` : "").toBe(want);
});

test("what is remembered is listed", async () => {
  const memories = Array.from({ length: 25 }, (_, n) => ({ statement: `thing ${n}` }));
  fake.answer((_, response) => json(response, { messages: 3, total: 25, memories }));
  const text = await memory.privacy("What do you remember of me?", "u1", "g1");
  expect(text).toMatch(/^I keep 3 of your messages, and remember 25 things[^]*thing 19\n… and 5 more\./);
  expect(await memory.privacy("When do we meet?", "u1", "g1")).toBeUndefined();
});

test("forgetting waits for what was said, and does not happen without", async () => {
  fake.answer((_, response) => json(response, { success: true, new: 1, known: 0, bad_count: 0, messages: 2, erased: 1 }));
  memory.remember({ id: "1", author: "Ann", author_id: "u1", text: "x", sent_at: new Date() }, "g1");
  expect(await memory.privacy("forget me", "u1", "g1")).toMatch(/^I have forgotten you: 2 messages, with my answers, and 1 memories/);
  expect(fake.seen.map((s) => s.url.split("/").at(-1))).toEqual(["messages", "forget"]);
  fake.answer((seen, response) => seen.url.endsWith("/messages") ? problem(response, 503, "away") : json(response, {}));
  memory = new Memory(memory.reverie, { flushAtExit: 100 });
  memory.remember({ id: "2", author: "Ann", author_id: "u1", text: "x", sent_at: new Date() }, "g1");
  expect(await memory.privacy("忘记我", "u1", "g1")).toBe("我现在做不到，什么都没有改变。请稍后再试。");
  expect(fake.seen.some((s) => s.url.endsWith("/forget"))).toBe(false);
});

test.each([[404, "I remember nothing of you."], [409, "nothing has changed"], [500, "nothing has changed"]])(
  "a server that says %i", async (status, want) => {
    fake.answer((_, response) => problem(response, status, "no"));
    expect(await memory.privacy("forget me", "u1", "g1")).toContain(want);
  });
