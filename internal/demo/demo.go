// Package demo has a sample chat of three days, and recorded answers of a model to it.
package demo

import _ "embed"

// The group that the chat goes into, and what a bot in it is asked.
const (
	Group    = "demo"
	Name     = "Saturday Raiders"
	Question = "When do we raid, and what can Kai not eat?"
)

// Dates are those of the chat, in UTC.
var Dates = []string{"2026-11-02", "2026-11-03", "2026-11-04"}

// Chat is the chat, as JSON Lines of messages.
//
//go:embed chat.jsonl
var Chat []byte

// Answers are the recorded answers, by the hashes of their questions.
// Where a question reads otherwise than before, the error of `reverie demo` says its hash.
//
//go:embed answers.jsonl
var Answers []byte
