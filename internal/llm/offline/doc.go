// Package offline is a model without a model: deterministic, with no network
// and no key. It serves to try Reverie, to run its tests, and as the baseline
// that a real model has to beat. It is never chosen silently.
//
// Its embeddings hash words and character n-grams, so they know spelling, not
// meaning: two ways of saying the same thing in other words, or in another
// language, are strangers to it.
//
// Its generation is extractive: what it says is a sentence that somebody wrote, at
// most with who wrote it. It goes by the word lists of words.toml, in English and
// Chinese, and finds little:
//
//   - memory_evolve: sentences that two people say, or one on two occasions; rules
//     "from now on"; what somebody asks to be remembered; the end of a memory
//     ("no longer"), or a rule in its place, where a sentence plainly matches it.
//   - memory_compare: the same words, but for articles, are a duplicate; all else is
//     unrelated.
//   - impression_observe and session_extract: what people say of themselves in the
//     plain ways that words.toml lists ("I am allergic to", "我住在").
//   - the summaries of session_extract and session_summarize: the longest sentence
//     of each message, the shortest left out where room is short.
//   - dream: facts that are a preference or say what is to be done, words that
//     several sessions have in common, and the summaries' first sentences.
package offline
