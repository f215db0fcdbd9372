package lines

import (
	"encoding/json"
	"fmt"
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
		`[{"message":4,"quote":"so"},{"message":"5"}]`: "[{4 so} {5 }]",
		`{"message":4,"quote":null}`:                   "[{4 }]",
		`[4,"5"]`:                                      "[{4 } {5 }]",
		`4`:                                            "[{4 }]",
		`null`:                                         "[]",
		``:                                             "[]",
		`[{"message":[4]}]`:                            "error",
		`[{"message":4,"quote":5}]`:                    "error",
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
