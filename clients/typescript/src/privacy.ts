// What a bot answers people who ask what it remembers of them, or want to be forgotten.
import { NotFoundError } from "./errors.js";
import type { Memory } from "./middleware.js";

const listed = 20; // memories of an answer

const texts = {
  en: {
    nothing: "I remember nothing of you.",
    show: (messages: number, total: number) =>
      `I keep ${messages} of your messages, and remember ${total} things from you or about you.`,
    more: (n: number) => `… and ${n} more.`,
    how: "Write “forget me”, and I erase all of it for good.",
    forgot: (messages: number, memories: number) =>
      `I have forgotten you: ${messages} messages, with my answers, and ${memories} memories are erased.`,
    failed: "I cannot do that at the moment, and nothing has changed. Please ask again later.",
  },
  zh: {
    nothing: "我没有关于你的记忆。",
    show: (messages: number, total: number) => `我保存了你的 ${messages} 条消息，记得 ${total} 件你说过的或与你有关的事。`,
    more: (n: number) => `……还有 ${n} 件。`,
    how: "对我说“忘记我”，我就会永久删除这一切。",
    forgot: (messages: number, memories: number) =>
      `我已经忘记你了：永久删除了 ${messages} 条消息（包括我的回答）和 ${memories} 条记忆。`,
    failed: "我现在做不到，什么都没有改变。请稍后再试。",
  },
};

export interface Wish {
  what: "show" | "forget";
  language: keyof typeof texts;
}

// Whole messages, without marks and the name of a bot.
const wishes: [Wish, RegExp][] = [
  [{ what: "show", language: "en" }, /^((please )?what do you (still )?(remember|know) (of|about) me|(show )?my memories)$/],
  [{ what: "forget", language: "en" }, /^(please )?forget (all )?(about )?me$/],
  [
    { what: "show", language: "zh" },
    /^((请问)?你?(还|都)*(记得|记住了?|知道)(关于)?我(的)?(什么|哪些|些什么|哪些事|什么事)?吗?|我的记忆)$/,
  ],
  [{ what: "forget", language: "zh" }, /^((请)?你?(忘记|忘掉|忘了)我(吧)?|(请)?你?把我(忘了|忘掉|忘记)(吧)?)$/],
];

/** wishOf is what a message wants, if it is nothing but that wish. */
export function wishOf(text: string): Wish | undefined {
  const plain = text.normalize("NFKC").toLowerCase().replace(/@\S+/g, " ");
  const words = (plain.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).join(" ");
  return wishes.find(([, pattern]) => pattern.test(words))?.[0];
}

export const failed = (wish: Wish): string => texts[wish.language].failed;

/** fulfil does what a person wants, and says what was done. */
export async function fulfil(memory: Memory, wish: Wish, author: string, group?: string): Promise<string> {
  const say = texts[wish.language];
  try {
    if (wish.what === "forget") {
      const receipt = await memory.forget(author, group);
      return say.forgot(receipt.messages, receipt.erased);
    }
    const { messages, total, memories } = await memory.reverie.whatAbout(author, { group });
    if (messages === 0 && memories.length === 0) return say.nothing;
    const lines = [say.show(messages, total), ...memories.slice(0, listed).map((m) => `- ${m.statement}`)];
    if (total > listed) lines.push(say.more(total - listed));
    return [...lines, say.how].join("\n");
  } catch (error) {
    if (error instanceof NotFoundError) return say.nothing; // nothing has been said in the group
    throw error;
  }
}
