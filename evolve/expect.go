package evolve

import (
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/prompts"
)

// Expectation is what evolving a window is thought to take, before any of it is
// read: for asking somebody whether to go on.
type Expectation struct {
	limits  Limits
	base    int // tokens of a question without messages
	message int // tokens of a message without its text
}

// Expect prepares estimates for groups of a language: the prompt is rendered for
// a group that remembers as much as it should.
func (p *Pipeline) Expect(language string) (Expectation, error) {
	at := time.Date(2026, 1, 15, 20, 0, 0, 0, time.UTC)
	v := views{loc: time.UTC}
	user := prompts.EvolveUser{WindowUntil: at.Format(time.RFC3339)}
	for i := range p.Limits.Target {
		user.ExistingMemories = append(user.ExistingMemories, v.memory(i, reverie.HeadState{Memory: reverie.Memory{
			Statement: "The group meets every Friday at eight in the reading room", Version: 1, Strength: 0.5,
			CreatedAt: at, UpdatedAt: at, LastSupportedAt: at}}, false))
	}
	system := prompts.EvolveSystem{Active: p.Limits.Target, Shown: p.Limits.Target, Target: p.Limits.Target,
		MaxCreates: p.Limits.MaxCreates, MaxStatement: reverie.MaxStatement, StaleDays: int(p.Limits.StaleAfter.Hours() / 24)}
	question, err := p.Prompts.Evolve(prompts.Language(language, nil), system, user)
	if err != nil {
		return Expectation{}, fmt.Errorf("estimate the prompt: %w", err)
	}
	return Expectation{limits: p.Limits, base: text.EstimateTokens(question.System) + text.EstimateTokens(question.User),
		message: prompts.Tokens(v.message(100, reverie.Message{Author: "Somebody", Role: reverie.RoleUser, SentAt: at}))}, nil
}

// Window estimates the calls and the input tokens of a window with these
// messages. Bytes beyond the characters tell Chinese, of which a character is
// most of a token, from English, of which it is a fifth.
func (e Expectation) Window(load reverie.WindowLoad) (calls, input int) {
	if load.Messages == 0 {
		return 0, 0
	}
	wide := min((load.Bytes-load.Characters)/2, load.Characters)
	texts := (wide*84+(load.Characters-wide)*22)/100 + load.Messages*e.message
	room := max(e.limits.MaxInputTokens-e.base, e.message)
	calls = max(ceil(texts, room), ceil(load.Messages, e.limits.MaxMessages))
	return calls, calls*e.base + texts
}

func ceil(n, by int) int { return (n + by - 1) / by }
