package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// readChat reads the messages of a chat prompt, and returns them as the JSON that
// its hash is of.
func readChat(key string, raw json.RawMessage) (*promptText, string, error) {
	var messages []struct {
		Type    string `json:"type"`
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	if err := json.Unmarshal(raw, &messages); err != nil {
		return nil, "", fmt.Errorf("its messages cannot be read: %w", err)
	}
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var plain []message
	var system []string
	var user *string
	for i, m := range messages {
		switch {
		case m.Type == "placeholder":
			return nil, "", fmt.Errorf("its message %d is a placeholder; write system messages and at most one of the user", i+1)
		case m.Role == "system":
			system = append(system, strings.TrimSpace(m.Content))
		case m.Role == "user" && user == nil:
			user = &m.Content
		default:
			return nil, "", fmt.Errorf("its message %d has role %.20q; write system messages and at most one of the user", i+1, m.Role)
		}
		plain = append(plain, message{m.Role, m.Content})
	}
	if len(system) == 0 {
		return nil, "", errors.New("it has no system message, which is what our text stands in")
	}
	source, err := encode(plain)
	if err != nil {
		return nil, "", fmt.Errorf("its messages cannot be written as JSON: %w", err)
	}
	t, err := parseText(key, cutOptionalHead(strings.Join(system, "\n\n")), user)
	return t, source, err
}
