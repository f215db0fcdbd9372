// A bot of discord.js that remembers what is said, and answers with it.
import type { Message, PartialMessage } from "discord.js";
import { Client, Events, GatewayIntentBits, Partials } from "discord.js";
import type OpenAI from "openai";
import type { NewMessage, Reverie } from "reverie-memory";
import { Memory } from "reverie-memory";
import type { Privacy } from "./privacy.js";
import { asked, describe, words } from "./privacy.js";

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
  const memory = new Memory(reverie, { onError: (error) => console.warn(String(error)) });
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
    const text = plain(message, client);
    // What people say to each other is no order.
    const privacy = toBot || text.startsWith("/") ? asked(text) : undefined;
    if (privacy) return await reply(message, await answerPrivately(message, privacy));
    const said = toReverie(message, client);
    const group = groupOf(message);
    memory.remember(said, group); // at once: an edit or a "forget me" may come before the answer
    if (!openai || !said.text || !toBot) return;
    const remembering = memory.wrap(openai, { group, answer: (text) => answerTo(said, text) });
    const done = await remembering.chat.completions.create({
      model,
      messages: [{ role: "system", content: persona }, { role: "user", content: `${said.author}: ${said.text}` }],
    });
    await reply(message, done.choices[0]?.message.content ?? "");
  };

  const answerPrivately = async (message: Message, { about, language }: Privacy): Promise<string> => {
    const group = groupOf(message);
    try {
      if (about === "forget") return words[language].forgotten((await memory.forget(message.author.id, group)).messages);
      await memory.flush();
      return describe(await reverie.whatAbout(message.author.id, { group }), language);
    } catch (error) {
      console.warn(String(error));
      return words[language].failed;
    }
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

function answerTo(said: NewMessage, text: string): NewMessage {
  const name = "discord.js";
  return {
    id: crypto.randomUUID(), author: name, author_id: name, role: "assistant", text, sent_at: new Date(),
    reply_to: said.id,
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
