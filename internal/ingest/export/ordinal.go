package export

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// rememberedTimes is how many pairs of a time and an author ordinals remembers at
// least: those of the last while of a chat, however long it is.
const rememberedTimes = 1 << 13

// Ordinals makes ids for the messages of a chat whose platform gives them none. An id
// stands for the chat, the time as it is written, the author, and which of the
// author's messages of that time it is, so that a longer export of the same chat
// gives the same ones. The zero value is ready.
type Ordinals struct{ Now, Before map[[2]string]int }

// ID is that of the next message of a time and author.
func (o *Ordinals) ID(chat, at, author string) string {
	key := [2]string{at, author}
	n := max(o.Now[key], o.Before[key]) + 1
	if o.Now == nil || len(o.Now) >= rememberedTimes {
		o.Now, o.Before = map[[2]string]int{}, o.Now
	}
	o.Now[key] = n
	sum := sha256.Sum256([]byte(strings.Join([]string{chat, at, author, strconv.Itoa(n)}, "\x00")))
	return hex.EncodeToString(sum[:16])
}
