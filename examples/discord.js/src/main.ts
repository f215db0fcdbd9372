import OpenAI from "openai";
import { Reverie } from "reverie-memory";
import { createBot } from "./bot.js";

const { DISCORD_TOKEN, DISCORD_API, REVERIE_URL, REVERIE_TOKEN, OPENAI_API_KEY, OPENAI_MODEL } = process.env;
if (!DISCORD_TOKEN) throw new Error("DISCORD_TOKEN is not set: take it from your application's page at Discord");

const { client, memory } = createBot({
  reverie: new Reverie({ baseUrl: REVERIE_URL ?? "http://127.0.0.1:8470", token: REVERIE_TOKEN }),
  openai: OPENAI_API_KEY ? new OpenAI() : undefined,
  model: OPENAI_MODEL ?? "gpt-5-mini",
  api: DISCORD_API,
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void client.destroy().then(() => memory.close()).then(() => process.exit(0)));
}
await client.login(DISCORD_TOKEN);
