package cli

import (
	"bytes"
	"encoding/json"
	"testing"
)

// JSON says what it is given, in characters that leave a terminal alone.
func TestJSONLeavesTerminalsAlone(t *testing.T) {
	const said = "a\x1b[31m \u009b2J \u202ex\u2066 \x7f é 猫 <&> \U000e0061"
	const want = `"a\u001b[31m \u009b2J \u202ex\u2066 \u007f é 猫 <&> ` + "\U000e0061\"\n"
	for name, print := range map[string]func(*bytes.Buffer) error{
		"indented": func(b *bytes.Buffer) error { return (&Console{Stdout: b}).WriteJSON(said) },
		"a line":   func(b *bytes.Buffer) error { return (&Console{Stdout: b}).WriteJSONLine(said) },
	} {
		var b bytes.Buffer
		var read string
		if err := print(&b); err != nil || b.String() != want || json.Unmarshal(b.Bytes(), &read) != nil || read != said {
			t.Errorf("%s: %q, %v; read %q", name, b.String(), err, read)
		}
	}
}

// Fields are those of whatever list of a reply has them, be another empty.
func TestFieldsOfLists(t *testing.T) {
	reply := map[string]any{"calls": []any{}, "changes": []any{map[string]any{"action": "create", "version": 1}}}
	for field, want := range map[string]string{"action": `[{"action":"create"}]`, "cost": `[]`} {
		got, err := pick(reply, []string{field})
		if text, jsonErr := json.Marshal(got); err != nil || jsonErr != nil || string(text) != want {
			t.Errorf("%s: %s, %v, %v", field, text, err, jsonErr)
		}
	}
}
