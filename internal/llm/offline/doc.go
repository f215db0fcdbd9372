// Package offline is a model without a model: deterministic, with no network
// and no key. It serves to try Reverie, to run its tests, and as the baseline
// that a real model has to beat. It is called what it is and never chosen
// silently.
//
// Its embeddings hash words and character n-grams, so they know spelling, not
// meaning: two ways of saying the same thing in other words, or in another
// language, are strangers to it. Its generation answers six prompts, told
// apart by the keys of their data, and any other is refused:
//
//   - memory_evolve. It is extractive: a statement is always a sentence that
//     somebody wrote, at most preceded by who wrote it. It notices what people
//     repeat, what restates or changes a memory, and what they call off.
//   - memory_compare. A fact is a duplicate where it has the memory's words, with
//     equal numbers, days, times, names and negations; an update where it has all
//     of them and more; a conflict where nothing but a number, day, time or
//     negation differs; else it is unrelated, however alike the two sound.
//   - impression_observe. It takes down what people say of themselves, and of
//     others by name, in a few dozen plain turns of phrase: where they live, what
//     they do, what they are called, like, or are allergic to. Questions, guesses,
//     jokes and whatever is put in another way say nothing to it.
//   - session_extract. Facts are sentences in which a user says something of
//     himself or herself in those turns of phrase, or with words of taste, work or
//     a project, in the user's mouth. The summary lists what was asked, the latest
//     last.
//   - session_summarize. The same list, with how each answer began.
//   - dream. The narrative is sentences of the summaries. Preferences and open threads
//     are facts that have the words of a taste, or of something that is still to be
//     done; a theme is a word, or two, that several sessions have in common. A thread
//     is closed where something new has the words of an end and most of its own. Of
//     parts, those that say the same are merged.
//
// It understands nothing.
package offline
