package recall

import (
	"slices"
	"testing"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// A fact that names somebody else stays where it is, however short that name is.
func TestFactsOfThemselves(t *testing.T) {
	of := reverie.SharedFacts{GroupID: "g2"}
	for name, who := range map[string]string{"Lin": "lin", "小敏": "lin", "K": "", "敏": "min", "Mia": "mia"} {
		of.Names = append(of.Names, reverie.EntityName{EntityID: who, Name: name, Key: text.NameKey(name)})
	}
	var want []string
	for statement, ok := range map[string]bool{
		"Lin likes figs": true, "Lin likes kites": true, "小敏喜欢茶": true, // a letter of a word, or of a longer name, is no name
		"Lin is in love with K": false, "lin与敏结婚": false, "Lin met Mia": false, "likes figs": false, "K likes figs": false,
	} {
		of.Facts = append(of.Facts, reverie.SharedFact{MemoryID: statement, Statement: statement, EntityID: "lin"})
		if ok {
			want = append(want, statement)
		}
	}
	got := ofThemselves(of)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("of themselves are %q, want %q", got, want)
	}
}
