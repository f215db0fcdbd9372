package offline

import (
	"encoding/json"
	"errors"
	"fmt"
)

// errUnknownPrompt refuses what this package cannot do. Questions are told apart by the
// keys of the user part.
var errUnknownPrompt = errors.New("the offline baseline answers six prompts only, by the keys of their JSON object: " +
	"memory_evolve (new_discussions), memory_compare (fact, candidates), impression_observe (subjects, messages), " +
	"session_extract (session_turns, known_facts), session_summarize (older_turns) and dream (dream_items, " +
	"dream_sessions or dream_parts); configure a real model for anything else")

// question is the user part of a prompt, by its top keys.
type question map[string]json.RawMessage

// answer reads the user part of a prompt and answers it; whole is false when the answer
// had to be cut off at maxTokens.
func answer(user string, maxTokens int) (text string, whole bool, err error) {
	var q question
	if err := json.Unmarshal([]byte(user), &q); err != nil {
		return "", false, fmt.Errorf("%w: %w", errUnknownPrompt, err)
	}
	switch {
	case q["new_discussions"] != nil:
		return lines(evolve, q, `{"action":"none"}`, maxTokens)
	case q["fact"] != nil && q["candidates"] != nil:
		return lines(compare, q, `{"none":true}`, maxTokens)
	case q["subjects"] != nil && q["messages"] != nil:
		return lines(observe, q, `{"none":true}`, maxTokens)
	case q["session_turns"] != nil && q["known_facts"] != nil:
		return lines(extract, q, "", maxTokens)
	case q["older_turns"] != nil:
		return lines(summarize, q, "", maxTokens)
	case q["dream_parts"] != nil:
		return lines(combine, q, "", maxTokens)
	case q["dream_items"] != nil:
		return lines(dream, q, "", maxTokens)
	}
	return "", false, errUnknownPrompt
}

// lines answers a question with JSON Lines; none stands for no lines at all.
func lines[L any](of func(question) ([]L, error), q question, none string, maxTokens int) (string, bool, error) {
	list, err := of(q)
	if err != nil {
		return "", false, err
	}
	text, whole := writeAnswer(list, none, maxTokens)
	return text, whole, nil
}

// read decodes one key into to. A key that is missing leaves it as it is.
func (q question) read(key string, to any) error {
	if q[key] == nil {
		return nil
	}
	if err := json.Unmarshal(q[key], to); err != nil {
		return fmt.Errorf("%w: %s: %w", errUnknownPrompt, key, err)
	}
	return nil
}
