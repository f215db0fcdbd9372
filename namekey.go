package reverie

import "strings"

// NameKey is the form in which names are looked up: folded, in simplified
// characters, without surrounding space or quotation marks and a leading @.
func NameKey(name string) string {
	key := strings.TrimSpace(Simplify(Fold(name)))
	key = strings.TrimPrefix(strings.Trim(key, nameQuotes), "@")
	return strings.TrimSpace(strings.Trim(key, nameQuotes))
}

const nameQuotes = "\"'`“”‘’「」『』《》〈〉 "
