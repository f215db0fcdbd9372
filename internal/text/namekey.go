package text

import "strings"

// NameKey is the form in which names are looked up: folded, in simplified
// characters, without surrounding space or quotation marks, however many, and the
// signs before it by which somebody is called.
func NameKey(name string) string {
	return strings.TrimRight(strings.TrimLeft(Simplify(Fold(name)), "@"+nameQuotes), nameQuotes)
}

const nameQuotes = "\"'`“”‘’「」『』《》〈〉 "
