package offline

import (
	_ "embed"
	"strings"
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
	Denials   cues         `toml:"denials"`
	Figures   cues         `toml:"figures"`
	LeadIns   []string     `toml:"lead_ins"`
	Selves    cues         `toml:"selves"`
}

// words returns the lexicon, which is parsed at first use.
var words = sync.OnceValue(func() lexicon { return text.ReadTOML[lexicon](wordsFile) })

// cues are words and phrases to search in a text: as whole words in scripts with spaces, anywhere in others.
type cues []string

// in returns the cues that occur in a sentence.
func (c cues) in(s sentence) []string {
	var found []string
	for _, cue := range c {
		if isASCII(cue) && strings.Contains(s.spaced, " "+cue+" ") || !isASCII(cue) && strings.Contains(s.folded, cue) {
			found = append(found, cue)
		}
	}
	return found
}
