package offline

import (
	"bytes"
	"encoding/json"

	"reverie/internal/text"
)

// writeAnswer writes JSON Lines of at most maxTokens estimated tokens (0: no
// limit); whole is false when it had to be cut off. No lines at all is said by
// the line none.
func writeAnswer[L any](lines []L, none string, maxTokens int) (s string, whole bool) {
	if len(lines) == 0 {
		return none + "\n", true
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	spent := 0
	for _, l := range lines {
		from := b.Len()
		if err := enc.Encode(l); err != nil {
			continue // a line holds strings and numbers only: it cannot fail
		}
		spent += text.EstimateTokens(b.String()[from:])
		if maxTokens > 0 && spent > maxTokens {
			return cutBytes(b.String(), from+(b.Len()-from)/2), false
		}
	}
	return b.String(), true
}
