package offline

import (
	"time"

	"reverie/internal/reverie"
)

// Limits of one answer. They are tighter than Reverie's own, since this baseline
// knows less than a model: rather too few memories than a list of small talk.
const (
	maxCreates   = 5
	someMemories = 30 // from here fewer creates
	manyMemories = 45
	maxEvidence  = 4
	repeatAfter  = 2 * time.Hour // the same person saying it again counts after this
	changeRatio  = 5             // at most one memory in five is rewritten or deleted at once
	readAtMost   = 1000          // sentences
)

// line is one line of the answer.
type line struct {
	Action    reverie.Action `json:"action"`
	OldID     string         `json:"old_id,omitempty"`
	Statement string         `json:"statement,omitempty"`
	Reason    string         `json:"change_reason,omitempty"`
	Tags      []string       `json:"tags,omitempty"`
	Evidence  []citation     `json:"evidence,omitempty"`
}

// proposer holds one task while it is worked on.
type proposer struct {
	task
	digester
	sentences []sentence
	taken     []bool // sentences that are about a memory: nothing new
}

// propose says what to do: one line for each memory, then the creates.
func propose(t task) []line {
	d := digester{newBag()}
	p := &proposer{task: t, digester: d}
	p.sentences = readSentences(t.messages, d)
	digests := make([]*digest, 0, len(p.sentences)+len(p.memories))
	for i := range p.memories {
		p.memories[i].digest = d.digest(withoutSpeaker(p.memories[i].Statement))
		digests = append(digests, &p.memories[i].digest)
	}
	for i := range p.sentences {
		digests = append(digests, &p.sentences[i].digest)
	}
	dampCommon(digests)
	p.taken = make([]bool, len(p.sentences))
	lines := p.revise(p.sortEvents())
	p.takeRewritten(lines)
	return append(lines, p.create()...)
}

// event is a sentence that means something for a memory.
type event struct {
	sentence int
	verdict  verdict
	tie      tie
}

// sortEvents gives each sentence to the one memory that it is closest to, and
// returns each memory's events in the order of the messages.
func (p *proposer) sortEvents() [][]event {
	events := make([][]event, len(p.memories))
	for i := range p.sentences {
		s := &p.sentences[i]
		best, second, at := event{sentence: i}, 0.0, -1
		for j := range p.memories {
			t := tieOf(s.digest, p.memories[j].digest)
			for _, turn := range s.turns {
				if u := tieOf(turn, p.memories[j].digest); closeness(u) > closeness(t) {
					t = u
				}
			}
			if t.shared == 0 {
				continue
			}
			if t.about() {
				p.taken[i] = true
			}
			if closeness(t) > closeness(best.tie) {
				second, best.tie, at = closeness(best.tie), t, j
			} else {
				second = max(second, closeness(t))
			}
		}
		if at < 0 {
			continue
		}
		best.verdict = judge(s, p.messages[s.message].Author, &p.memories[at], best.tie)
		if best.verdict >= verdictChange && second > 0.9*closeness(best.tie) {
			best.verdict = verdictNone // it may as well mean the other memory
		}
		if best.verdict != verdictNone {
			p.taken[i] = true
			events[at] = append(events[at], best)
		}
	}
	return events
}

func closeness(t tie) float64 { return t.shared * (t.ofA + t.ofB) }

// takeRewritten marks the sentences that the new wordings already cover.
func (p *proposer) takeRewritten(lines []line) {
	for _, l := range lines {
		if l.Action != reverie.ActionUpdate {
			continue
		}
		g := p.digest(l.Statement)
		for i := range p.sentences {
			p.taken[i] = p.taken[i] || tieOf(p.sentences[i].digest, g).about()
		}
	}
}
