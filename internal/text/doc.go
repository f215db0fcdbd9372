// Package text compares and measures texts: one form for what looks alike, hashes of what
// a statement says, quotes, tokens, names, dates, keywords, and the traces of a person. It
// knows nothing of memories, and imports no other package of ours.
package text
