// Starts Koishi with the plugin on a OneBot server, such as NapCat or Lagrange.
import Http from "@koishijs/plugin-http";
import { Context } from "koishi";
import OneBot from "koishi-plugin-adapter-onebot";
import * as memory from "./index.js";

const env = (name: string, otherwise = "") => process.env[name] ?? otherwise;

const app = new Context();
// Their types are of another release of Koishi's.
app.plugin(Http as never);
app.plugin(OneBot as never, {
  selfId: env("ONEBOT_SELF_ID"), protocol: "ws", endpoint: env("ONEBOT_ENDPOINT", "ws://127.0.0.1:3001"),
  token: env("ONEBOT_TOKEN"),
} as never);
app.plugin(memory, new memory.Config({
  baseUrl: env("REVERIE_URL", "http://127.0.0.1:8470"), token: env("REVERIE_TOKEN"),
  model: env("OPENAI_MODEL", "gpt-5-mini"), modelUrl: env("OPENAI_BASE_URL") || undefined,
  modelKey: env("OPENAI_API_KEY"),
}));

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void app.stop().then(() => memory.closed).then(() => process.exit(0)));
}
void app.start();
