package cli

import (
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// TokenEntry is a token as --json shows it.
type TokenEntry struct {
	reverie.Token
	State string `json:"state"`
}

// PrintTokens shows a table of tokens.
func (con *Console) PrintTokens(list []TokenEntry) error {
	if len(list) == 0 {
		return con.Say("no tokens; `reverie token create` makes one\n")
	}
	var t Table
	t.Row("TOKEN", "GROUP", "NAME", "SCOPE", "CREATED", "EXPIRES", "LAST USED", "STATE")
	for _, e := range list {
		group, state := "(all)", e.State
		if e.GroupID != "" {
			group = Visible(text.Excerpt(e.GroupID, 32))
		}
		if state != "good" {
			state = con.Style().Dim(state)
		}
		t.Row(e.ID, group, Visible(e.Name), e.Scope, Stamp(e.CreatedAt), orNever(e.ExpiresAt), orNever(e.LastUsedAt), state)
	}
	return con.Print(t)
}

func orNever(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return Stamp(*at)
}
