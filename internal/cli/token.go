package cli

import "reverie/internal/reverie"

// TokenEntry is the JSON of a token.
type TokenEntry struct {
	reverie.Token
	State string `json:"state"`
}

// PrintTokens shows a table of tokens.
func (con *Console) PrintTokens(list []TokenEntry) error {
	if len(list) == 0 {
		return con.Say("no tokens; `reverie token create` creates one\n")
	}
	return con.Page("tokens", list)
}
