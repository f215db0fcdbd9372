package safety

import (
	"encoding/base64"
	"strings"

	"reverie/internal/text"
)

// discordStarts are the first four characters that a bot token can have: it
// begins with the base64 of its id, which is a row of digits.
func discordStarts() (starts []string) {
	const digits = "0123456789"
	for _, a := range digits {
		for _, b := range digits {
			for _, c := range digits {
				starts = append(starts, strings.ToLower(base64.StdEncoding.EncodeToString([]byte{byte(a), byte(b), byte(c)})))
			}
		}
	}
	return starts
}

// portAndPath is what stands behind a host rather than an account.
var portAndPath = text.NewPattern(`^[0-9]{0,5}/`)

// credentials tells the base64 of a name, a colon and a password from a word after basic.
func credentials(value string) bool {
	plain, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		plain, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	}
	if err != nil || !strings.Contains(string(plain), ":") {
		return false
	}
	for _, c := range plain {
		if c < 0x20 || c == 0x7f {
			return false
		}
	}
	return true
}

// commandPassword refuses ports, paths and variables behind -p.
func commandPassword(value string) bool {
	return notPlaceholder(value) && !strings.ContainsAny(value[:1], "/.-") &&
		(len(value) > 5 || strings.Trim(value, "0123456789") != "")
}

// pairPassword tells a password behind an account and a slash from a path or a package: it
// has letters, digits and a mark.
func pairPassword(value string) bool {
	return farPassword(value) && hasDigit(value) &&
		strings.ContainsAny(value, "@#$!^&*") && !strings.ContainsAny(value, "?=") &&
		!packageVersion.MatchString(value) && len(FindPII(value)) == 0
}

var packageVersion = text.NewPattern(`^[a-z][a-z0-9._-]*@[v^~]?(?:[0-9]{1,2}|[0-9]+(?:\.[0-9A-Za-z-]+)+)$`)

func hasDigit(value string) bool {
	for i := range len(value) {
		if charClass(value[i]) == digitClass {
			return true
		}
	}
	return false
}

// doorCode tells the code of a lock from a number of doors.
func doorCode(value string) bool { return len(value) >= 4 || value[len(value)-1] == '#' }
