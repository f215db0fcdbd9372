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
	stopWords, fillers map[string]bool
	particles          map[rune]bool

	StopWordList string   `toml:"stop_words"`
	FillerList   string   `toml:"fillers"`
	ParticleList string   `toml:"particles"`
	Ends         cues     `toml:"ends"`
	Rules        cues     `toml:"rules"`
	Remember     []string `toml:"remember"`
	Unsure       cues     `toml:"unsure"`
	Denials      cues     `toml:"denials"`
	Figures      cues     `toml:"figures"`
	LeadIns      []string `toml:"lead_ins"`
	Selves       cues     `toml:"selves"`
}

// words returns the lexicon, which is read when it is first needed.
var words = sync.OnceValue(func() *lexicon {
	var l lexicon
	if err := toml.Unmarshal(wordsFile, &l); err != nil {
		panic("offline: words.toml: " + err.Error()) // embedded, and read by every test
	}
	l.stopWords, l.fillers = set(strings.Fields(l.StopWordList)), set(strings.Fields(l.FillerList))
	l.particles = set([]rune(l.ParticleList))
	return &l
})

func set[E comparable](list []E) map[E]bool {
	out := map[E]bool{}
	for _, e := range list {
		out[e] = true
	}
	return out
}

// cues are words and phrases to be found in a text: in scripts with spaces as whole
// words, in others anywhere.
type cues []string

// in returns those of the cues that a sentence holds.
func (c cues) in(s sentence) []string {
	var found []string
	for _, cue := range c {
		if isASCII(cue) && strings.Contains(s.spaced, " "+cue+" ") || !isASCII(cue) && strings.Contains(s.folded, cue) {
			found = append(found, cue)
		}
	}
	return found
}
