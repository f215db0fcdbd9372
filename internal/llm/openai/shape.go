package openai

import (
	"encoding/json"

	"reverie/internal/llm"
	"reverie/internal/llm/answer"
)

// shape holds the fields that restrict an answer to its form. No server rejects the fields of another one.
type shape struct {
	Format     *format     `json:"response_format,omitempty"`
	Grammar    string      `json:"grammar,omitempty"`            // llama.cpp
	Structured *structured `json:"structured_outputs,omitempty"` // vLLM
}

type format struct {
	Type   string `json:"type"`
	Schema struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

type structured struct {
	Grammar string `json:"grammar"`
}

// preface is the grammar rule of the line with which answers of a batch begin.
const preface = `"{\"nonce\":" space "\"" [0-9A-Za-z_-]{1,64} "\"}"`

// shapeOf returns the restriction of an answer. There is none for an unknown prompt. There is also none for a batch
// answer that would have to be one object, since a line precedes it.
func shapeOf(lines llm.Lines, req llm.Request) (s shape) {
	form, found := answer.FormOf(req.Prompt)
	batch := req.Tier == llm.TierBatch
	switch {
	case !found:
	case lines == llm.LinesGrammar && batch:
		s.Grammar = form.Grammar(preface)
	case lines == llm.LinesGrammar:
		s.Grammar = form.Grammar("")
	case lines == llm.LinesSchema && !batch:
		s.Format = &format{Type: "json_schema"}
		s.Format.Schema.Name, s.Format.Schema.Schema = "lines", form.Schema()
	}
	if s.Grammar != "" {
		s.Structured = &structured{s.Grammar}
	}
	return s
}
