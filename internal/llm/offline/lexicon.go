package offline

import (
	_ "embed"
	"slices"
	"sync"

	"reverie/internal/text"
)

//go:embed words.toml
var wordsFile string

// lexicon is the word lists of the model; words.toml explains them.
type lexicon struct {
	StopWords text.WordSet `toml:"stop_words"`
	Fillers   text.WordSet `toml:"fillers"`
	Particles string       `toml:"particles"`
	Ends      cues         `toml:"ends"`
	Rules     cues         `toml:"rules"`
	Remember  []string     `toml:"remember"`
	Unsure    cues         `toml:"unsure"`
	Selves    cues         `toml:"selves"`
}

// words returns the lexicon, which is parsed at first use.
var words = sync.OnceValue(func() lexicon { return text.ReadTOML[lexicon](wordsFile) })

// cues are words and phrases to search in a text: as whole words in scripts with spaces, anywhere in others.
type cues []string

// in reports whether a text contains one of the cues.
func (c cues) in(said string) bool {
	folded := text.Fold(said)
	return slices.ContainsFunc(c, func(cue string) bool { return len(text.Places(folded, cue)) > 0 })
}
