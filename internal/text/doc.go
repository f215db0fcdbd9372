// Package text compares and measures texts: one form for texts that look alike, hashes of statements, quotes,
// tokens, names, dates, keywords, and traces of a person. It knows nothing of memories, and imports no other
// package of this module.
package text
