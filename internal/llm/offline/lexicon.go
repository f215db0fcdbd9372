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
	ends      cues
	rules     cues
	remember  []string
	unsure    cues
	denials   cues
	figures   cues
	leadIns   []string
	selves    cues
	todos     cues
	sayings   []saying
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
		StopWords string   `toml:"stop_words"`
		Particles string   `toml:"particles"`
		Fillers   string   `toml:"fillers"`
		Ends      []string `toml:"ends"`
		Rules     []string `toml:"rules"`
		Remember  []string `toml:"remember"`
		Unsure    []string `toml:"unsure"`
		Denials   []string `toml:"denials"`
		Figures   []string `toml:"figures"`
		LeadIns   []string `toml:"lead_ins"`
		Selves    []string `toml:"selves"`
		Todos     []string `toml:"todos"`
		Sayings   []saying `toml:"sayings"`
	}
	if err := toml.Unmarshal(wordsFile, &file); err != nil {
		panic("offline: words.toml: " + err.Error()) // embedded, and read by every test
	}
	l := &lexicon{stopWords: map[string]bool{}, particles: map[rune]bool{},
		fillers: map[string]bool{}, remember: file.Remember,
		leadIns: file.LeadIns, sayings: file.Sayings, ends: newCues(file.Ends), rules: newCues(file.Rules),
		unsure: newCues(file.Unsure), denials: newCues(file.Denials), figures: newCues(file.Figures),
		selves: newCues(file.Selves), todos: newCues(file.Todos)}
	for _, w := range strings.Fields(file.StopWords) {
		l.stopWords[w] = true
	}
	for _, w := range strings.Fields(file.Fillers) {
		l.fillers[w] = true
	}
	for _, r := range file.Particles {
		l.particles[r] = true
	}
	return l
})

// cues are words and phrases to be found in a text: in scripts with spaces as whole
// words, in others anywhere.
type cues struct{ spaced, dense []string }

func newCues(list []string) cues {
	var c cues
	for _, cue := range list {
		if isASCII(cue) {
			c.spaced = append(c.spaced, " "+cue+" ")
		} else {
			c.dense = append(c.dense, cue)
		}
	}
	return c
}

// in returns those of the cues that a sentence holds.
func (c cues) in(s sentence) []string {
	var found []string
	for _, cue := range c.spaced {
		if strings.Contains(s.spaced, cue) {
			found = append(found, cue)
		}
	}
	for _, cue := range c.dense {
		if strings.Contains(s.folded, cue) {
			found = append(found, cue)
		}
	}
	return found
}
