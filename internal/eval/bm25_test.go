package eval

import (
	"math"
	"slices"
	"testing"

	"reverie/internal/reverie"
)

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                      nil,
		"!? …":                  nil,
		"Anna's Cat, 3.5 kg":    {"anna's", "cat", "3.5", "kg"},
		"打羽毛球":                  {"打羽", "羽毛", "毛球"},
		"我 去":                   {"我", "去"},
		"用Go写代码":                {"用", "go", "写代", "代码"},
		"每週四，晚上":                {"每周", "周四", "晚上"},
		"naïve Ｇｏ":              {"naïve", "go"},
		"球！":                    {"球"},
		"release-notes v2 👍 用球": {"release", "notes", "v2", "用球"},
	} {
		if got := words(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestBM25 compares with values computed by hand: three messages of 2, 4 and 3 words,
// mean 3.
func TestBM25(t *testing.T) {
	user := func(id, text string) reverie.Message {
		return reverie.Message{ID: id, Role: reverie.RoleUser, Text: text}
	}
	b := newBM25([]reverie.Message{user("a", "red apple"), user("b", "red red green pear"), user("c", "blue plum tart"),
		{ID: "tool", Role: reverie.RoleTool, Text: "red red red"}})
	// idf(red) = ln(1 + (3-2+0.5)/(2+0.5)) = ln 1.6, idf(apple) = ln(1 + 2.5/1.5) = ln 2.6667
	// a: norm 1.2(0.25+0.75*2/3) = 0.9; b: norm 1.2(0.25+0.75*4/3) = 1.5
	for _, c := range []struct {
		query string
		doc   int
		want  float64
	}{
		{"red", 0, math.Log(1.6) * 2.2 / 1.9},
		{"red", 1, math.Log(1.6) * 4.4 / 3.5},
		{"red", 2, 0},
		{"apple", 0, math.Log(8.0/3) * 2.2 / 1.9},
		{"red apple", 0, (math.Log(1.6) + math.Log(8.0/3)) * 2.2 / 1.9},
		{"violet", 0, 0},
	} {
		if got := b.score(words(c.query), c.doc); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%q in message %d: %v, want %v", c.query, c.doc, got, c.want)
		}
	}
	for query, want := range map[string][]string{
		"Red apple?": {"a", "b"}, "red red": {"b", "a"}, "plum": {"c"}, "nothing": nil, "": nil,
	} {
		if got := b.search(query, 5); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	if got := b.search("red plum", 1); len(got) != 1 {
		t.Errorf("the best one of three: %q", got)
	}
	if got := newBM25(nil).search("red", 5); got != nil {
		t.Errorf("in nothing: %q", got)
	}
}
