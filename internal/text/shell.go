package text

import (
	"strings"
)

var plainWord = NewPattern(`^[A-Za-z0-9_.:@%+/=,-]+$`)

// ShellWord quotes a text as one word for a shell, to be shown in a command after a flag.
func ShellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// ShellOperand is [ShellWord] for an operand: there, a text that begins with a dash would be a flag.
func ShellOperand(text string) string {
	if strings.HasPrefix(text, "-") {
		return "-- " + ShellWord(text)
	}
	return ShellWord(text)
}
