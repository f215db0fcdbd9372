package offline

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

//go:embed words.toml
var wordsFile []byte

// lexicon is the words that the model goes by, as words.toml explains them.
type lexicon struct {
	stopWords map[string]bool
	particles map[rune]bool
	fillers   map[string]bool

	Ends     cues     `toml:"ends"`
	Rules    cues     `toml:"rules"`
	Remember []string `toml:"remember"`
	Unsure   cues     `toml:"unsure"`
	Denials  cues     `toml:"denials"`
	Figures  cues     `toml:"figures"`
	LeadIns  []string `toml:"lead_ins"`
	Selves   cues     `toml:"selves"`
	Todos    cues     `toml:"todos"`
	Sayings  []saying `toml:"sayings"`
}

// saying is one way to say something of oneself.
type saying struct {
	Says       string   `toml:"says"`
	Type       factType `toml:"type"`
	Feature    string   `toml:"feature"`
	Impression string   `toml:"impression"`
}

// words returns the lexicon, which is read when it is first needed.
var words = sync.OnceValue(func() *lexicon {
	var file struct {
		lexicon
		StopWords string `toml:"stop_words"`
		Particles string `toml:"particles"`
		Fillers   string `toml:"fillers"`
	}
	if err := toml.Unmarshal(wordsFile, &file); err != nil {
		panic("offline: words.toml: " + err.Error()) // embedded, and read by every test
	}
	l := file.lexicon
	for _, list := range []cues{l.Ends, l.Rules, l.Unsure, l.Denials, l.Figures, l.Selves, l.Todos} {
		list.pad()
	}
	l.stopWords, l.fillers, l.particles = set(file.StopWords), set(file.Fillers), map[rune]bool{}
	for _, r := range file.Particles {
		l.particles[r] = true
	}
	return &l
})

func set(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

// cues are words and phrases to be found in a text: in scripts with spaces as whole
// words, in others anywhere.
type cues []string

// pad puts spaces around the cues that are found as whole words.
func (c cues) pad() {
	for i, cue := range c {
		if isASCII(cue) {
			c[i] = " " + cue + " "
		}
	}
}

// in returns those of the cues that a sentence holds.
func (c cues) in(s sentence) []string {
	var found []string
	for _, cue := range c {
		text := s.folded
		if isASCII(cue) {
			text = s.spaced
		}
		if strings.Contains(text, cue) {
			found = append(found, cue)
		}
	}
	return found
}
