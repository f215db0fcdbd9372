// The bot as it is started, on a fake OneBot.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import { WebSocketServer } from "ws";
import { Fake, json, problem } from "../../../clients/typescript/test/fake.js";

test("what a OneBot tells comes to Reverie, also at the end of the process", async () => {
  const onebot = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await once(onebot, "listening");
  const { port } = onebot.address() as { port: number };
  const reverie = await Fake.start((_, response) => json(response, { success: true, new: 1, known: 0, bad_count: 0 }));
  const bot = spawn(process.execPath, [fileURLToPath(new URL("../dist/main.js", import.meta.url))], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { PATH: process.env["PATH"], ONEBOT_ENDPOINT: `ws://127.0.0.1:${port}`, ONEBOT_SELF_ID: "10001", REVERIE_URL: reverie.url },
  });
  const [socket] = await once(onebot, "connection") as [WebSocket];
  socket.on("message", (data: Buffer) => {
    const { action, echo } = JSON.parse(data.toString()) as { action: string; echo: number };
    const reply = action === "get_login_info" ? { user_id: 10001, nickname: "Rev" } : {};
    socket.send(JSON.stringify({ status: "ok", retcode: 0, data: reply, echo }));
  });
  const event = { time: 1_768_480_200, self_id: 10001 };
  socket.send(JSON.stringify({ ...event, post_type: "meta_event", meta_event_type: "lifecycle", sub_type: "connect" }));
  socket.send(JSON.stringify({
    ...event, post_type: "message", message_type: "group", sub_type: "normal", message_id: 42, group_id: 7, user_id: 501,
    message: [{ type: "text", data: { text: "I live in Oslo." } }], raw_message: "I live in Oslo.", font: 0,
    sender: { user_id: 501, nickname: "Ann", card: "" },
  }));
  await expect.poll(() => reverie.seen.length, { timeout: 30_000 }).toBe(1);
  expect(reverie.seen[0]?.url).toBe("/v1/groups/onebot-7/messages");
  expect(JSON.parse(reverie.seen[0]?.body ?? "")).toEqual({
    id: "42", author: "Ann", author_id: "501", text: "I live in Oslo.", sent_at: "2026-01-15T12:30:00.000Z",
  });
  socket.send(JSON.stringify({
    ...event, post_type: "message", message_type: "private", sub_type: "friend", message_id: 43, user_id: 7,
    message: [{ type: "text", data: { text: "I live in Rome." } }], raw_message: "I live in Rome.", font: 0,
    sender: { user_id: 7, nickname: "Bob" },
  }));
  await expect.poll(() => reverie.seen.length, { timeout: 30_000 }).toBe(2);
  expect(reverie.seen[1]?.url).toBe("/v1/groups/onebot-private-7/messages"); // not those of the group 7
  reverie.answer((_, response) => problem(response, 503, "away"));
  socket.send(JSON.stringify({
    ...event, post_type: "message", message_type: "group", sub_type: "normal", message_id: 44, group_id: 7, user_id: 501,
    message: [{ type: "text", data: { text: "The end." } }], raw_message: "The end.", font: 0, sender: { user_id: 501, nickname: "Ann" },
  }));
  await expect.poll(() => reverie.seen.length, { timeout: 30_000 }).toBeGreaterThan(0);
  reverie.answer((_, response) => json(response, { success: true, new: 1, known: 0, bad_count: 0 }));
  bot.kill("SIGTERM");
  expect(await once(bot, "exit")).toEqual([0, null]);
  expect(reverie.seen.map((s) => s.body).join("")).toContain("The end.");
  onebot.close();
  await reverie.stop();
});
