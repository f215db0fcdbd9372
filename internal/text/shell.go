package text

import (
	"strings"
)

var plainWord = NewPattern(`^[A-Za-z0-9_.:@%+/=,-]+$`)

// ShellWord is a text as a shell takes it for one word, for commands that are shown to
// people: behind a flag.
func ShellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ShellOperand is a [ShellWord] at the end of a command, where one that begins with a
// dash would be taken for a flag.
func ShellOperand(text string) string {
	if strings.HasPrefix(text, "-") {
		return "-- " + ShellWord(text)
	}
	return ShellWord(text)
}
