// The plugin as it was built, with Koishi's own mock, a real Reverie, and a model that says what it was told.
import { createRequire } from "node:module";
import type { Context as KoishiContext } from "koishi";
import type { MessageClient } from "@koishijs/plugin-mock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Reverie } from "reverie-memory";
import { Fake, json } from "../../../clients/typescript/test/fake.js";
import { Server } from "../../../clients/typescript/test/server.js";

const require = createRequire(import.meta.url);
const { Context } = require("koishi") as typeof import("koishi");
const mock = (require("@koishijs/plugin-mock") as typeof import("@koishijs/plugin-mock")).default;
const plugin = require("../dist/index.js") as typeof import("../src/index.js");

let server: Server;
let model: Fake;
let app: KoishiContext;
let reverie: Reverie;
let ann: MessageClient;
let open: () => void;
const gate = new Promise<void>((resolve) => (open = resolve)); // holds an answer of the model back

/** answers says what its last system message was. */
const answers = async (seen: { body: string }, response: Parameters<typeof json>[0]) => {
  const { messages } = JSON.parse(seen.body) as { messages: { role: string; content: string }[] };
  const held = messages.at(-1)?.content.includes("Take your time.");
  if (held) await gate;
  const content = held ? "A late answer." : messages.findLast((m) => m.role === "system")?.content ?? "";
  json(response, { id: `c${model.seen.length}`, choices: [{ index: 0, message: { role: "assistant", content } }] });
};

beforeAll(async () => {
  server = await Server.start();
  model = await Fake.start(answers);
  reverie = new Reverie({ baseUrl: server.url, token: server.token, group: "mock-club" });
  app = new Context();
  app.plugin(mock, { selfId: "514" });
  app.plugin(plugin, {
    baseUrl: server.url, token: server.token, model: "fake", modelUrl: `${model.url}/v1`, modelKey: "k",
  });
  await app.start();
  ann = app.mock.client("ann", "club");
});
afterAll(async () => {
  await app?.stop();
  await Promise.all([server?.stop(), model?.stop()]);
});

/** stored waits until Reverie has what was said. */
async function stored(like: RegExp, there = true): Promise<void> {
  await expect.poll(async () => {
    const list: string[] = [];
    for await (const m of reverie.messages()) list.push(`${m.id} ${m.author_id}: ${m.text}`);
    return like.test(list.join("\n"));
  }, { timeout: 20_000 }).toBe(there);
}

describe("in a group", () => {
  test("what people say is remembered, and nothing is answered", async () => {
    await ann.shouldNotReply("I am allergic to nuts.");
    await app.mock.client("bob", "club").shouldNotReply("Hello, I live in Oslo.");
    await stored(/ann: I am allergic to nuts\.\n.*|bob: Hello, I live in Oslo\./);
    await stored(/ann: I am allergic to nuts\./);
  });

  test("who asks the bot gets an answer that knows what was said", async () => {
    const [reply] = await ann.receive(`<at id="514"/> What am I allergic to?`);
    expect(reply).toContain("never an instruction");
    expect(reply).toContain("I am allergic to nuts.");
    await stored(/ann: .*What am I allergic to\?/);
    await stored(/koishi: Between the marks/); // its own answer, as the assistant's
  });

  test("an edit changes, and a deletion removes", async () => {
    const event = { platform: "mock", selfId: "514", user: { id: "bob" }, guild: { id: "club" }, channel: { id: "club", type: 0 } };
    const message = { id: "e1", content: "I live in Bergen.", elements: [] };
    const said = (content: string) => ({ ...message, content, elements: [{ type: "text", attrs: { content }, children: [] }] });
    app.mock.receive({ ...event, type: "message", message: said("I live in Bergen.") } as never);
    await stored(/e1 bob: I live in Bergen\./);
    app.mock.receive({ ...event, type: "message-updated", message: said("I live in Rome.") } as never);
    await stored(/e1 bob: I live in Rome\./);
    app.mock.receive({ ...event, type: "message-updated", message: { ...message, content: undefined } } as never);
    await ann.shouldNotReply("Rome is far.");
    await stored(/ann: Rome is far\./);
    await stored(/e1 bob: I live in Rome\./); // an update without words took none away
    app.mock.receive({ ...event, type: "message-deleted", message } as never);
    await stored(/I live in (Rome|Bergen)/, false);
  });

  test("people are told what is remembered of them, and are forgotten", async () => {
    for (const words of ["forget me", "忘记我"]) { // said to others
      await ann.shouldNotReply(words);
      await stored(new RegExp(`ann: ${words}`));
    }
    await ann.shouldReply(`<at id="514"/> what do you remember of me?`, /^I keep \d+ of your messages/);
    await ann.shouldReply(`<at id="514"/> 你记得我什么？`, /^我保存了你的 \d+ 条消息/);
    await ann.shouldReply("/forget_me", /^I have forgotten you: \d+ messages/);
    await stored(/ann:/, false);
    await stored(/allergic to nuts/, false);
    await stored(/bob: Hello, I live in Oslo\./);
    await ann.shouldReply("/what do you remember of me", "I remember nothing of you.");
    await app.mock.client("bob", "club").shouldReply(`<at id="514"/> 忘记我`, /^我已经忘记你了：永久删除了 \d+ 条消息/);
    await stored(/Oslo/, false);
  });
});

test("who is forgotten before the answer comes leaves no answer behind", async () => {
  const carol = app.mock.client("carol", "club");
  const late = carol.receive(`<at id="514"/> Take your time.`);
  await stored(/carol: .*Take your time\./); // before there is an answer
  await app.mock.client("carol", "club").shouldReply("/forget me", /^I have forgotten you: 1 messages/);
  open();
  expect(await late).toEqual(["A late answer."]);
  await app.mock.client("bob", "club").shouldNotReply("And on.");
  await stored(/bob: And on\./);
  await stored(/late answer|Take your time/, false);
});

test("a bot whose Reverie is away answers all the same", async () => {
  await server.down();
  const [reply] = await ann.receive(`<at id="514"/> Are you there?`);
  expect(reply).toContain("friendly member");
  await ann.shouldReply("/what do you remember of me?", /later/);
});
