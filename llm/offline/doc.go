// Package offline is a model without a model: deterministic, with no network
// and no key. It serves to try Reverie, to run its tests, and as the baseline
// that a real model has to beat. It is called what it is and never chosen
// silently.
//
// Its embeddings hash words and character n-grams, so they know spelling, not
// meaning: two ways of saying the same thing in other words, or in another
// language, are strangers to it. Its generation is extractive: a statement is
// always a sentence that somebody wrote, at most preceded by who wrote it. It
// notices what people repeat, what restates or changes a memory, and what they
// call off; it understands nothing.
package offline
