// A Koishi plugin that remembers what is said, and answers with it.
import type { Context, Session } from "koishi";
import { h, Schema } from "koishi";
import OpenAI from "openai";
import type { NewMessage } from "reverie-memory";
import { Memory, Reverie } from "reverie-memory";

export const name = "reverie-memory";

export interface Config {
  /** Where Reverie is, and its token. */
  baseUrl: string;
  token?: string;
  /** The model that answers, and where it is; without a key the bot only listens. */
  model: string;
  modelUrl?: string;
  modelKey?: string;
}

export const Config: Schema<Config> = Schema.object({
  baseUrl: Schema.string().default("http://127.0.0.1:8470"),
  token: Schema.string().role("secret"),
  model: Schema.string().default("gpt-5-mini"),
  modelUrl: Schema.string(),
  modelKey: Schema.string().role("secret"),
});

/** When what was queued is sent: Koishi does not wait for it. */
export let closed: Promise<unknown> = Promise.resolve();

const persona = "You are a friendly member of this chat. "
  + "Answer in the language of the message, in at most three sentences.";

export function apply(ctx: Context, config: Config): void {
  const reverie = new Reverie({ baseUrl: config.baseUrl, token: config.token });
  const memory = new Memory(reverie, { name: "koishi", onError: (error) => ctx.logger(name).warn(String(error)) });
  const openai = config.modelKey ? new OpenAI({ apiKey: config.modelKey, baseURL: config.modelUrl }) : undefined;

  // Commands do not come here, so no command is remembered.
  ctx.middleware(async (session, next) => {
    const message = messageOf(session);
    const group = groupOf(session);
    const { appel, content, prefix } = session.stripped;
    const toBot = session.isDirect || appel;
    // What people say to each other is no order.
    const spokenTo = toBot || prefix || content.startsWith("/");
    const wish = spokenTo ? await memory.privacy(content, session.userId ?? "", group) : undefined;
    if (wish) return h.text(wish);
    memory.remember(message, group);
    if (!openai || !message.text || !toBot) return next();
    const done = await memory.wrap(openai, { group, reply_to: message.id }).chat.completions.create({
      model: config.model,
      messages: [
        { role: "system", content: persona }, { role: "user", content: `${message.author}: ${message.text}` },
      ],
    });
    return h.text(done.choices[0]?.message.content ?? "");
  });

  ctx.on("message-updated", (session) => {
    const text = plain(session.elements ?? []);
    if (!text) return; // not the words have changed
    memory.remember({ id: idOf(session), text, edited_at: new Date() }, groupOf(session));
  });
  ctx.on("message-deleted", (session) => {
    memory.remember({ id: idOf(session), deleted_at: new Date() }, groupOf(session));
  });

  ctx.on("dispose", () => void (closed = memory.close()));
}

/** groupOf names a chat as `reverie import` does: by its platform and id. */
function groupOf(session: Session): string {
  return `${session.platform}-${session.channelId?.replace(/^private:/, "private-")}`;
}

function idOf(session: Session): string {
  return session.messageId ?? "";
}

function messageOf(session: Session): NewMessage {
  return {
    id: idOf(session),
    author: session.author?.nick || session.username || session.userId || "",
    author_id: session.userId,
    text: plain(session.elements ?? []),
    sent_at: new Date(session.timestamp || Date.now()),
    reply_to: session.quote?.id,
  };
}

/** plain is what people read of a message. */
function plain(elements: h[]): string {
  return elements.map(({ type, attrs, children }) => {
    if (type === "text") return String(attrs["content"]);
    if (type === "at") return `@${attrs["name"] ?? attrs["id"]} `;
    return type === "br" ? "\n" : plain(children);
  }).join("").trim();
}
