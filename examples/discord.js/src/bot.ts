// A bot of discord.js that remembers what is said, and answers with it.
import type { Message, PartialMessage } from "discord.js";
import { Client, Events, GatewayIntentBits, Partials } from "discord.js";
import type OpenAI from "openai";
import type { NewMessage, Reverie } from "reverie-memory";
import { Memory } from "reverie-memory";

export interface Options {
  reverie: Reverie;
  /** The model that answers; without one the bot only listens. */
  openai?: OpenAI | undefined;
  model: string;
  /** Instead of Discord's address. */
  api?: string | undefined;
}

const persona = "You are a friendly member of this chat. "
  + "Answer in the language of the message, in at most three sentences.";
const longest = 2000; // characters of a message of Discord

/** createBot makes a client that is not logged in yet. Its memory is closed after it. */
export function createBot({ reverie, openai, model, api }: Options): { client: Client; memory: Memory } {
  const memory = new Memory(reverie, { name: "discord.js", onError: (error) => console.warn(String(error)) });
  const client = new Client({
    intents: [
      GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.DirectMessages,
      GatewayIntentBits.MessageContent,
    ],
    partials: [Partials.Message, Partials.Channel], // edits and deletions of messages that it has not seen
    allowedMentions: { parse: [] },
    ...(api !== undefined && { rest: { api } }),
  });

  const listen = async (message: Message): Promise<void> => {
    if (message.author.bot || message.system) return;
    const toBot = !message.inGuild() || (client.user && message.mentions.has(client.user, { ignoreEveryone: true }));
    const said = toReverie(message, client);
    const group = groupOf(message);
    // What people say to each other is no order.
    const wish = toBot || said.text.startsWith("/") ? await memory.privacy(said.text, message.author.id, group) : undefined;
    if (wish) return await reply(message, wish);
    memory.remember(said, group);
    if (!openai || !said.text || !toBot) return;
    const done = await memory.wrap(openai, { group, reply_to: said.id }).chat.completions.create({
      model,
      messages: [{ role: "system", content: persona }, { role: "user", content: `${said.author}: ${said.text}` }],
    });
    await reply(message, done.choices[0]?.message.content ?? "");
  };

  client.on(Events.MessageCreate, (message) => {
    listen(message).catch((error: unknown) => console.error(error));
  });
  client.on(Events.MessageUpdate, (_, message) => {
    // Without a time, a link was unfolded or a thread begun.
    if (message.author?.bot || message.editedAt === null || message.content === null) return;
    memory.remember({ id: message.id, text: plain(message, client), edited_at: message.editedAt }, groupOf(message));
  });
  const deleted = (message: Message | PartialMessage) =>
    memory.remember({ id: message.id, deleted_at: new Date() }, groupOf(message));
  client.on(Events.MessageDelete, deleted);
  client.on(Events.MessageBulkDelete, (messages) => messages.forEach(deleted));
  return { client, memory };
}

async function reply(message: Message, text: string): Promise<void> {
  if (text) await message.reply(text.slice(0, longest));
}

/** groupOf names a channel as `reverie import` does. */
function groupOf(message: Message | PartialMessage): string {
  return `discord-${message.channelId}`;
}

function toReverie(message: Message, client: Client): NewMessage {
  return {
    id: message.id,
    author: message.member?.displayName ?? message.author.displayName,
    author_id: message.author.id,
    text: plain(message, client),
    sent_at: message.createdAt,
    reply_to: message.reference?.messageId,
  };
}

/** plain is what people read of a message, without the mention of the bot at its beginning. */
function plain(message: Message | PartialMessage, client: Client): string {
  const own = client.user && new RegExp(`^<@!?${client.user.id}>\\s*`);
  const words = own ? (message.content ?? "").replace(own, "") : message.content ?? "";
  return words.replace(/<@!?(\d+)>/g, (mention, id: string) => {
    const user = message.mentions.users.get(id);
    return user ? `@${user.displayName}` : mention;
  }).trim();
}
