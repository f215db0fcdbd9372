// A Discord of loopback: the gateway plays events as they are recorded, and REST keeps what the bot sends.
import type { WebSocket } from "ws";
import { WebSocketServer } from "ws";
import type { Seen } from "../../../clients/typescript/test/fake.js";
import { Fake, json } from "../../../clients/typescript/test/fake.js";

export const bot = { id: "900", username: "rev", discriminator: "0", global_name: "Rev", avatar: null, bot: true };
export const guild = "100";
export const channel = "200";

let ids = 1_300_000_000_000_000_000n;
const nextId = () => String((ids += 1_000_000_000n));

/** user is somebody of the guild. */
export function user(id: string, name: string) {
  return { id, username: name.toLowerCase(), discriminator: "0", global_name: name, avatar: null };
}

export class Discord {
  readonly sent: string[] = [];
  /** The bot has logged in. */
  readonly ready: Promise<void>;
  #identified: () => void = () => undefined;
  #socket: WebSocket | undefined;
  #sequence = 0;

  private constructor(readonly rest: Fake, readonly gateway: WebSocketServer) {
    this.ready = new Promise((resolve) => (this.#identified = resolve));
    gateway.on("connection", (socket) => {
      this.#socket = socket;
      this.#send(socket, { op: 10, d: { heartbeat_interval: 41_250 } });
      socket.on("message", (data: Buffer) => this.#hear(socket, JSON.parse(data.toString()) as { op: number }));
    });
  }

  static async start(): Promise<Discord> {
    const gateway = new WebSocketServer({ host: "127.0.0.1", port: 0 });
    await new Promise((resolve) => gateway.once("listening", resolve));
    const { port } = gateway.address() as { port: number };
    const rest = await Fake.start((seen, response) => {
      if (seen.url.endsWith("/gateway/bot")) {
        const limit = { total: 1000, remaining: 1000, reset_after: 0, max_concurrency: 1 };
        return json(response, { url: `ws://127.0.0.1:${port}`, shards: 1, session_start_limit: limit });
      }
      const content = discord.#keep(seen);
      json(response, message(bot, content));
    });
    const discord = new Discord(rest, gateway);
    return discord;
  }

  get api(): string {
    return `${this.rest.url}/api`;
  }

  #keep(seen: Seen): string {
    const { content } = JSON.parse(seen.body) as { content: string };
    this.sent.push(content);
    return content;
  }

  #hear(socket: WebSocket, { op }: { op: number }): void {
    if (op === 1) this.#send(socket, { op: 11 });
    if (op !== 2) return;
    const ready = {
      v: 10, user: bot, guilds: [{ id: guild, unavailable: true }], session_id: "s", resume_gateway_url: "ws://127.0.0.1:9",
      shard: [0, 1], application: { id: bot.id, flags: 0 },
    };
    this.dispatch("READY", ready);
    this.dispatch("GUILD_CREATE", {
      id: guild, name: "Club", owner_id: "1", roles: [{ id: guild, name: "@everyone", permissions: "0", position: 0, colors: {} }],
      emojis: [], stickers: [], features: [], members: [], presences: [], voice_states: [], threads: [], stage_instances: [],
      guild_scheduled_events: [], soundboard_sounds: [], member_count: 3, large: false, unavailable: false, premium_tier: 0,
      preferred_locale: "en-US", afk_timeout: 300, system_channel_flags: 0,
      channels: [{ id: channel, type: 0, name: "general", position: 0, permission_overwrites: [] }],
    });
    this.#identified();
  }

  /** dispatch plays an event of the gateway. */
  dispatch(t: string, d: unknown): void {
    if (this.#socket) this.#send(this.#socket, { op: 0, s: ++this.#sequence, t, d });
  }

  #send(socket: WebSocket, packet: unknown): void {
    socket.send(JSON.stringify(packet));
  }

  async stop(): Promise<void> {
    for (const socket of this.gateway.clients) socket.terminate();
    await new Promise((resolve) => this.gateway.close(resolve));
    await this.rest.stop();
  }
}

/** message is a message as Discord tells of it. */
export function message(author: object, content: string, more: object = {}) {
  return {
    id: nextId(), channel_id: channel, guild_id: guild, author, content, timestamp: "2026-01-15T12:30:00.000000+00:00",
    edited_timestamp: null, tts: false, mention_everyone: false, mentions: [], mention_roles: [], attachments: [], embeds: [],
    pinned: false, type: 0, member: { roles: [], joined_at: "2020-01-01T00:00:00.000000+00:00", deaf: false, mute: false, flags: 0 },
    ...more,
  };
}
