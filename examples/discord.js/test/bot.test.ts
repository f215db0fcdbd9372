// The bot as it is started, with a fake Discord, a real Reverie, and a model that says what it was told.
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Reverie } from "reverie-memory";
import { Fake, json } from "../../../clients/typescript/test/fake.js";
import { Server } from "../../../clients/typescript/test/server.js";
import { bot, channel, Discord, guild, message, user } from "./discord.js";

const ann = user("501", "Ann");
const bob = user("502", "Bob");

let server: Server;
let model: Fake;
let discord: Discord;
let process_: ChildProcess;
let reverie: Reverie;
let open: () => void;
const gate = new Promise<void>((resolve) => (open = resolve)); // holds an answer of the model back

beforeAll(async () => {
  server = await Server.start();
  discord = await Discord.start();
  model = await Fake.start(async (seen, response) => {
    const { messages } = JSON.parse(seen.body) as { messages: { role: string; content: string }[] };
    const held = messages.at(-1)?.content.includes("Take your time.");
    if (held) await gate;
    const content = held ? "A late answer." : messages.findLast((m) => m.role === "system")?.content ?? "";
    json(response, { id: `c${model.seen.length}`, choices: [{ index: 0, message: { role: "assistant", content } }] });
  });
  reverie = new Reverie({ baseUrl: server.url, token: server.token, group: `discord-${channel}` });
  process_ = spawn(process.execPath, [fileURLToPath(new URL("../dist/main.js", import.meta.url))], {
    stdio: ["ignore", "inherit", "inherit"],
    env: {
      PATH: process.env["PATH"], DISCORD_TOKEN: "t.t.t", DISCORD_API: discord.api, REVERIE_URL: server.url,
      REVERIE_TOKEN: server.token, OPENAI_API_KEY: "k", OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_MODEL: "fake",
    },
  });
  await discord.ready;
});
afterAll(async () => {
  if (process_?.exitCode === null && process_.kill()) await once(process_, "exit");
  await Promise.all([discord?.stop(), server?.stop(), model?.stop()]);
});

/** stored waits until Reverie has what was said, or has it no more. */
async function stored(like: RegExp, there = true): Promise<void> {
  await expect.poll(async () => {
    const list: string[] = [];
    try {
      for await (const m of reverie.messages()) list.push(`${m.id} ${m.author_id}: ${m.text}`);
    } catch {
      return false; // there is no such group yet
    }
    return like.test(list.join("\n"));
  }, { timeout: 20_000 }).toBe(there);
}

/** says plays a message, and waits for the bot's answer. */
async function asks(author: object, content: string, more: object = {}): Promise<string> {
  const before = discord.sent.length;
  discord.dispatch("MESSAGE_CREATE", message(author, content, more));
  await expect.poll(() => discord.sent.length, { timeout: 20_000 }).toBe(before + 1);
  return discord.sent.at(-1) ?? "";
}

test("what people say is remembered, and nothing is answered", async () => {
  const first = message(ann, "I am allergic to nuts.");
  discord.dispatch("MESSAGE_CREATE", first);
  const reference = { message_id: first.id, channel_id: channel, guild_id: guild };
  const reply = message(bob, "Hello <@501>, I live in Oslo.", { mentions: [ann], message_reference: reference });
  discord.dispatch("MESSAGE_CREATE", reply);
  discord.dispatch("MESSAGE_CREATE", message({ ...bob, id: "503", bot: true }, "I am a machine."));
  await stored(/501: I am allergic to nuts\./);
  await stored(/502: Hello @Ann, I live in Oslo\./);
  await stored(/machine/, false);
  expect(discord.sent).toEqual([]);
});

test("who mentions the bot gets an answer that knows what was said", async () => {
  const reply = await asks(ann, `<@900> What am I allergic to?`, { mentions: [bot] });
  expect(reply).toContain("never an instruction");
  expect(reply).toContain("I am allergic to nuts.");
  await stored(/501: What am I allergic to\?/);
  await stored(/discord\.js: Between the marks/); // its own answer, as the assistant's
});

test("an edit changes, and a deletion removes", async () => {
  const said = message(bob, "I live in Bergen.");
  discord.dispatch("MESSAGE_CREATE", said);
  await stored(/502: I live in Bergen\./);
  const edited_timestamp = "2026-01-15T12:31:00.000000+00:00";
  discord.dispatch("MESSAGE_UPDATE", { ...said, content: "I live in Rome.", edited_timestamp });
  await stored(/502: I live in Rome\./);
  discord.dispatch("MESSAGE_DELETE", { id: said.id, channel_id: channel, guild_id: guild });
  await stored(/Rome|Bergen/, false);
  const more = [message(bob, "One."), message(bob, "Two.")];
  for (const m of more) discord.dispatch("MESSAGE_CREATE", m);
  await stored(/Two\./);
  discord.dispatch("MESSAGE_DELETE_BULK", { ids: more.map((m) => m.id), channel_id: channel, guild_id: guild });
  await stored(/One\.|Two\./, false);
});

test("people are told what is remembered of them, and are forgotten", async () => {
  const before = discord.sent.length;
  discord.dispatch("MESSAGE_CREATE", message(bob, "forget me")); // said to others
  await stored(/502: forget me/);
  expect(discord.sent).toHaveLength(before);
  const toBot = { mentions: [bot] };
  expect(await asks(ann, "<@900> What do you remember of me?", toBot)).toMatch(/^I keep \d+ of your messages/);
  expect(await asks(ann, "<@900> 你记得我什么？", toBot)).toMatch(/^我保存了你的 \d+ 条消息/);
  expect(await asks(ann, "/forget_me")).toMatch(/^I have forgotten you: \d+ messages/);
  await stored(/501:|allergic to nuts/, false);
  await stored(/502: .*I live in Oslo\./);
  expect(await asks(ann, "/what do you remember of me")).toBe("I remember nothing of you.");
  expect(await asks(bob, "<@900> 忘记我", toBot)).toMatch(/^我已经忘记你了：永久删除了 \d+ 条消息/);
  await stored(/Oslo/, false);
});

test("who is forgotten before the answer comes leaves no answer behind", async () => {
  const carol = user("504", "Carol");
  discord.dispatch("MESSAGE_CREATE", message(carol, "<@900> Take your time.", { mentions: [bot] }));
  await stored(/504: Take your time\./); // before there is an answer
  expect(await asks(carol, "/forget me")).toMatch(/^I have forgotten you: 1 messages/);
  const before = discord.sent.length;
  open();
  await expect.poll(() => discord.sent.length, { timeout: 20_000 }).toBe(before + 1);
  expect(discord.sent.at(-1)).toBe("A late answer.");
  discord.dispatch("MESSAGE_CREATE", message(bob, "And on."));
  await stored(/502: And on\./);
  await stored(/late answer|Take your time/, false);
});

test("a bot whose Reverie is away answers, and one that ends sends the rest", async () => {
  await server.down();
  expect(await asks(ann, "<@900> Are you there?", { mentions: [bot] })).toContain("friendly member");
  expect(await asks(ann, "/forget me")).toMatch(/later/);
  await server.up();
  process_.kill("SIGTERM");
  expect(await once(process_, "exit")).toEqual([0, null]);
  await stored(/501: Are you there\?/);
});
