package export_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"reverie/internal/ingest/export"
)

// TestReactions: authors where they are named, a count for the rest, and of what is no reaction nothing.
func TestReactions(t *testing.T) {
	shape := export.Reactions{Emoji: "emoji.name|emoji.code", Count: "n", By: "by.id"}
	for raw, want := range map[string]string{
		``:                              "[] told: false",
		`null`:                          "[] told: true",
		`[]`:                            "[] told: true",
		`7`:                             "[] told: true",
		`[7,null,{"n":2},{"emoji":{}}]`: "[] told: true",
		`[{"emoji":{"name":"+"},"n":3,"by":[{"id":"a"},{"id":7}]}]`:    "[{+  1} {+ 7 1} {+ a 1}] told: true",
		`[{"emoji":{"name":"+"},"n":1,"by":[{"id":"a"},{"id":"b"}]}]`:  "[{+ a 1} {+ b 1}] told: true",
		`[{"emoji":{"name":"","code":"x"}},{"emoji":{"code":"x"}}]`:    "[{x  2}] told: true",
		`[{"emoji":{"name":"+"},"n":0},{"emoji":{"name":"+"},"n":-9}]`: "[] told: true",
		`"[{\"emoji\":{\"name\":\"+\"},\"n\":\"2\"}]"`:                 "[{+  2}] told: true",
		`[{"emoji":{"name":"+\u0000"},"n":2}]`:                         "[] told: true",
		`[{"emoji":{"name":"+"},"n":9999999999}]`:                      "[] told: true",
	} {
		list := shape.Of(json.RawMessage(raw), nil)
		if got := fmt.Sprintf("%v told: %t", list, list != nil); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
	of := export.Reactions{By: "who", Omitted: true}
	if got := fmt.Sprint(of.Of(json.RawMessage(`{":+:":{"who":["a","b"]}}`), nil)); got != "[{:+: a 1} {:+: b 1}]" || of.Of(nil, nil) == nil {
		t.Errorf("an object by emoji: %s", got)
	}
}
