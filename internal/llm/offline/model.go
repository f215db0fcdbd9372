// Package offline is a deterministic replacement for a model, without network and key. It is for trying Reverie,
// for its tests, and as the baseline that a real model has to beat. Reverie never chooses it silently.
//
// Its embeddings hash words and character n-grams. They know spelling, not meaning: the same thing said in other
// words or in another language is not similar.
//
// Its generation is extractive: it returns sentences that somebody wrote, at most with the author's name. It uses
// the word lists of words.toml, in English and Chinese, and finds little:
//
//   - memory_evolve: sentences that two people say, or one on two occasions; rules
//     "from now on"; what somebody asks to be remembered; the end of a memory
//     ("no longer"), or a rule that replaces it, if a sentence plainly matches it.
//   - memory_compare: the same words, except for articles, are a duplicate; all else is
//     unrelated.
//
// It does not answer questions about sessions, dreams and people, which need a model.
package offline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	texts "reverie/internal/text"
)

// Versions of what this package computes. They change whenever the same input would give another result, so that
// stored vectors are never mixed.
const (
	EmbeddingModel  = "offline-ngram-v1"
	GenerationModel = "offline-extractive-v3"
	provider        = "offline"
)

// Calibration is the calibration of the vectors, measured by this package's tests. It belongs to the model: with
// another one, other memories are compared, so recorded answers no longer fit their questions.
var Calibration = reverie.Calibration{Floor: 0.05, Ceiling: 0.80}

// DefaultDims is the default width of vectors.
const DefaultDims = 1536

// Model is both a [llm.Generator] and a [llm.Embedder]. It is safe for concurrent use.
type Model struct{ dims int }

var (
	_ llm.Generator = (*Model)(nil)
	_ llm.Embedder  = (*Model)(nil)
)

// New returns a model whose vectors have dims dimensions, DefaultDims if dims is not positive.
func New(dims int) *Model {
	if dims <= 0 {
		dims = DefaultDims
	}
	return &Model{dims: dims}
}

// Generate answers the user part of the prompts memory_evolve and memory_compare with JSON Lines; it ignores the
// system part. Any other input is an [*llm.Error] with FaultBadRequest. The usage is estimated.
func (m *Model) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return llm.Response{}, &llm.Error{Provider: provider, Fault: llm.FaultTimeout, Err: err}
	}
	s, whole, err := answer(req.User, req.MaxTokens)
	if err != nil {
		return llm.Response{}, &llm.Error{Provider: provider, Fault: llm.FaultBadRequest, Err: err}
	}
	resp := llm.Response{Text: s, Finish: llm.FinishStop, Usage: llm.Usage{
		InputTokens:  texts.EstimateTokens(req.System) + texts.EstimateTokens(req.User),
		OutputTokens: texts.EstimateTokens(s),
	}}
	if !whole {
		resp.Finish = llm.FinishLength
	}
	return resp, nil
}

// Embed returns one vector of length one for each text, in order. It fails only
// when ctx has ended.
func (m *Model) Embed(ctx context.Context, list []string) ([][]float32, llm.Usage, error) {
	vectors := make([][]float32, len(list))
	var usage llm.Usage
	for i, s := range list {
		if err := ctx.Err(); err != nil {
			return nil, usage, &llm.Error{Provider: provider, Fault: llm.FaultTimeout, Err: err}
		}
		vectors[i] = m.vector(s)
		usage.InputTokens += texts.EstimateTokens(s)
	}
	return vectors, usage, nil
}

// errUnknownPrompt refuses other prompts. Prompts are recognised by the keys of the user part.
var errUnknownPrompt = errors.New("the offline baseline answers two prompts only, by the keys of their JSON object: " +
	"memory_evolve (new_discussions) and memory_compare (fact, candidates); configure a real model for anything else")

// answer answers the user part of a prompt; whole is false if the answer was cut off at maxTokens.
func answer(user string, maxTokens int) (text string, whole bool, err error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal([]byte(user), &keys); err != nil {
		return "", false, fmt.Errorf("%w: %w", errUnknownPrompt, err)
	}
	has := func(key string) bool { return keys[key] != nil }
	switch {
	case has("new_discussions"):
		return lines(evolve, user, `{"action":"none"}`, maxTokens)
	case has("fact") && has("candidates"):
		return lines(compare, user, `{"none":true}`, maxTokens)
	}
	return "", false, errUnknownPrompt
}

// lines answers a question with JSON Lines of at most maxTokens estimated tokens (0: no limit). An answer without
// lines is the line none.
func lines[Q, L any](of func(Q) []L, user, none string, maxTokens int) (text string, whole bool, err error) {
	var q Q
	if err := json.Unmarshal([]byte(user), &q); err != nil {
		return "", false, fmt.Errorf("%w: %w", errUnknownPrompt, err)
	}
	list := of(q)
	if len(list) == 0 {
		return none + "\n", true, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	spent := 0
	for _, l := range list {
		from := b.Len()
		if err := enc.Encode(l); err != nil {
			return "", false, err
		}
		spent += texts.EstimateTokens(b.String()[from:])
		if maxTokens > 0 && spent > maxTokens {
			return cutBytes(b.String(), from+(b.Len()-from)/2), false, nil
		}
	}
	return b.String(), true, nil
}
