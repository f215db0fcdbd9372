// What a bot says to people who ask what it remembers of them.
import type { ReplyOf } from "reverie-memory";

/** Words of the two languages that this bot speaks. */
export const words = {
  en: {
    nothing: "I remember nothing of you here.",
    some: (messages: number) => `I have ${messages} of your messages. What I remember of you here:`,
    forgotten: (messages: number) =>
      `I have forgotten you: ${messages} messages, and what rested on them. What you say from now on is remembered again.`,
    failed: "I cannot look it up now. Ask me again later, please.",
  },
  zh: {
    nothing: "我在这里没有记住你的任何事。",
    some: (messages: number) => `我存有你的 ${messages} 条消息。我在这里记得的关于你的事：`,
    forgotten: (messages: number) => `我已经忘记你：${messages} 条消息，以及由它们而来的记忆。你以后说的话会重新被记住。`,
    failed: "现在查不到，请稍后再问我。",
  },
};

export type Language = keyof typeof words;

/** What somebody asks of the bot. */
export interface Privacy {
  about: "memories" | "forget";
  language: Language;
}

/** describe lists what is remembered of somebody. */
export function describe(about: ReplyOf<"get-author-memories">, language: Language): string {
  const { nothing, some } = words[language];
  if (about.messages === 0 && about.memories.length === 0) return nothing;
  return [some(about.messages), ...about.memories.map((m) => `- ${m.statement}`)].join("\n");
}

const questions: [RegExp, "memories" | "forget", Language][] = [
  [/^what do you remember of me[?.]?$/i, "memories", "en"],
  [/^forget me[.!]?$/i, "forget", "en"],
  [/^你记得我什么[?？]?$/, "memories", "zh"],
  [/^忘记我[。！!]?$/, "forget", "zh"],
];

/** asked tells what a message asks of the bot: what is remembered of its author, or to be forgotten. */
export function asked(text: string): Privacy | undefined {
  const words = text.replace(/^\//, "").replaceAll("_", " ").trim();
  const [, about, language] = questions.find(([question]) => question.test(words)) ?? [];
  return about && language && { about, language };
}
