package eval

import "testing"

// TestBuiltIn: the scenarios in the program can be played, are small, and are in both languages.
func TestBuiltIn(t *testing.T) {
	list, err := BuiltIn()
	if err != nil || len(list) != 3 {
		t.Fatalf("%d scenarios, %v", len(list), err)
	}
	languages := map[string]bool{}
	for _, s := range list {
		languages[s.Language] = true
		if len(s.Messages) > 10 || len(s.Expects) == 0 || len(s.Answers) == 0 {
			t.Errorf("%s has %d messages, %d facts and %d answers", s.Name, len(s.Messages), len(s.Expects), len(s.Answers))
		}
	}
	if !languages["en"] || !languages["zh"] {
		t.Errorf("languages are %v", languages)
	}
}
