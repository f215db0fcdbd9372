package offline

import (
	"encoding/json"
	"errors"
	"fmt"
)

// errUnknownPrompt refuses what this package cannot do: it answers six kinds
// of question only, told apart by the keys of the user part.
var errUnknownPrompt = errors.New("the offline baseline answers six prompts only, by the keys of their JSON object: memory_evolve (new_discussions), " +
	"memory_compare (fact, candidates), impression_observe (subjects, messages), session_extract (session_turns, known_facts), session_summarize (older_turns) and dream (dream_items, dream_sessions or dream_parts); configure a real model for anything else")

// question is the user part of a prompt, by its top keys. A key that is missing
// is nil, one that is null is not.
type question map[string]json.RawMessage

// answer reads the user part of any prompt that is known here and answers it;
// whole is false when the answer had to be cut off at maxTokens.
func answer(user string, maxTokens int) (text string, whole bool, err error) {
	var q question
	if err := json.Unmarshal([]byte(user), &q); err != nil {
		return "", false, fmt.Errorf("%w: %w", errUnknownPrompt, err)
	}
	switch {
	case q["new_discussions"] != nil:
		t, err := readTask(q)
		if err != nil {
			return "", false, err
		}
		text, whole = writeAnswer(propose(t), `{"action":"none"}`, maxTokens)
	case q["fact"] != nil && q["candidates"] != nil:
		c, err := readComparison(q)
		if err != nil {
			return "", false, err
		}
		text, whole = writeAnswer(c.verdicts(), `{"none":true}`, maxTokens)
	case q["subjects"] != nil && q["messages"] != nil:
		o, err := readObservation(q)
		if err != nil {
			return "", false, err
		}
		text, whole = writeAnswer(o.lines(), `{"none":true}`, maxTokens)
	case q["session_turns"] != nil && q["known_facts"] != nil:
		e, err := readExtraction(q)
		if err != nil {
			return "", false, err
		}
		text, whole = writeAnswer(e.lines(), "", maxTokens)
	case q["older_turns"] != nil:
		s, err := summarize(q)
		if err != nil {
			return "", false, err
		}
		text, whole = writeAnswer([]summary{s}, "", maxTokens)
	case q["dream_parts"] != nil:
		c, err := readCombination(q)
		if err != nil {
			return "", false, err
		}
		text, whole = writeAnswer(c.lines(), "", maxTokens)
	case q["dream_items"] != nil:
		l, err := readLookback(q)
		if err != nil {
			return "", false, err
		}
		text, whole = writeAnswer(l.lines(), "", maxTokens)
	default:
		return "", false, errUnknownPrompt
	}
	return text, whole, nil
}

// read decodes one key into to. A key that is missing or null leaves it as it
// is.
func (q question) read(key string, to any) error {
	if q[key] == nil {
		return nil
	}
	if err := json.Unmarshal(q[key], to); err != nil {
		return fmt.Errorf("%w: %s: %w", errUnknownPrompt, key, err)
	}
	return nil
}
