package answer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestFields(t *testing.T) {
	for raw, want := range map[string]string{
		`"m3"`: "m3", `" m3 "`: "m3", `3`: "3", `3.0`: "3", `null`: "", ``: "",
		`3.5`: "error", `true`: "error", `["m3"]`: "error", `1e300`: "error",
	} {
		got, err := Scalar(json.RawMessage(raw))
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("scalar %s: %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]string{
		`0.6`: "0.6", `"0.6"`: "0.6", `1`: "1", `0`: "0",
		`1.01`: "error", `-0.1`: "error", `null`: "error", ``: "error", `"NaN"`: "error", `"Inf"`: "error", `"sure"`: "error", `[0.6]`: "error",
	} {
		f, err := Share(json.RawMessage(raw))
		got := fmt.Sprint(f)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("share %s: %q, want %q", raw, got, want)
		}
	}
	for raw, want := range map[string]string{
		`[{"message":4,"quote":"so"},{"message":"5"}]`: "[{4 so } {5  }]",
		`{"message":4,"quote":null}`:                   "[{4  }]",
		`[4,"5"]`:                                      "[{4  } {5  }]",
		`4`:                                            "[{4  }]",
		`{"message":4,"author":"Lin","quote":"so"}`: "[{4 so Lin}]",
		`[{"message":4,"author":["Lin"]}]`:          "[{4  }]",
		`null`:                                      "[]",
		``:                                          "[]",
		`[{"message":[4]}]`:                         "error",
		`[{"message":4,"quote":5}]`:                 "error",
	} {
		list, err := Citations(json.RawMessage(raw))
		got := fmt.Sprint(list)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("citations %s: %s, want %s", raw, got, want)
		}
	}
}

// FuzzFields: what is read of a field reads the same when it is written plainly, a
// share lies between 0 and 1, and no scalar has more digits than were given.
func FuzzFields(f *testing.F) {
	for _, raw := range []string{`"m3"`, `3.0`, `-0`, `1e15`, `null`, ``, ` 7 `, `"\ud800"`, `"0.6"`, `1`, `"0x1p-2"`, `[{"message":4,"quote":"so"},5,"6"]`, `{"message":null}`, `[]`, `[[1]]`, `"\u0000"`} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		again := func(v any) json.RawMessage {
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		if s, err := Scalar(json.RawMessage(raw)); err == nil {
			if twice, err := Scalar(again(s)); err != nil || twice != s || strings.TrimSpace(s) != s {
				t.Fatalf("scalar %q: %q, and then %q, %v", raw, s, twice, err)
			}
		} else if s != "" {
			t.Fatalf("scalar %q: %q beside %v", raw, s, err)
		}
		if share, err := Share(json.RawMessage(raw)); err == nil {
			if twice, err := Share(again(share)); err != nil || twice != share || share < 0 || share > 1 {
				t.Fatalf("share %q: %v, and then %v, %v", raw, share, twice, err)
			}
		}
		list, err := Citations(json.RawMessage(raw))
		if err != nil {
			if list != nil {
				t.Fatalf("citations %q: %v beside %v", raw, list, err)
			}
			return
		}
		var plain []map[string]string
		for _, c := range list {
			plain = append(plain, map[string]string{"message": c.Message, "quote": c.Quote})
		}
		if twice, err := Citations(again(plain)); err != nil || !slices.Equal(twice, list) {
			t.Fatalf("citations %q: %v, and then %v, %v", raw, list, twice, err)
		}
	})
}
