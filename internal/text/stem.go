package text

import "strings"

// Stem removes the most common endings of English words, so that "meetings", "meeting" and "meet" have the same
// form. It is rough on purpose: forms are only compared, never shown.
func Stem(word string) string {
	if len(word) <= 3 {
		return word
	}
	word = strings.TrimSuffix(strings.TrimSuffix(word, "'s"), "’s")
	word = singular(word)
	switch n := len(word); {
	case n > 5 && strings.HasSuffix(word, "ing"):
		word = undouble(word[:n-3])
	case n > 4 && strings.HasSuffix(word, "ed"):
		word = undouble(word[:n-2])
	}
	if len(word) > 3 {
		word = strings.TrimSuffix(word, "e")
	}
	return word
}

func singular(word string) string {
	n := len(word)
	switch {
	case n > 4 && strings.HasSuffix(word, "ies"):
		return word[:n-3] + "y"
	case n > 4 && hasAnySuffix(word, "sses", "shes", "ches", "xes"):
		return word[:n-2]
	case n > 3 && strings.HasSuffix(word, "s") && !hasAnySuffix(word, "ss", "us", "is"):
		return word[:n-1]
	}
	return word
}

// undouble turns "runn" of "running" into "run".
func undouble(s string) string {
	n := len(s)
	if n > 3 && s[n-1] == s[n-2] && !strings.ContainsRune("aeiouls", rune(s[n-1])) {
		return s[:n-1]
	}
	return s
}

func hasAnySuffix(s string, suffixes ...string) bool {
	for _, x := range suffixes {
		if strings.HasSuffix(s, x) {
			return true
		}
	}
	return false
}
