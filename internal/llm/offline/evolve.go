package offline

import (
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
	texts "reverie/internal/text"
)

const (
	maxCreates  = 5             // of one answer: it prefers too few memories to a list of small talk
	repeatAfter = 2 * time.Hour // a repetition by the same person counts after this time
)

// memory is a memory of the group.
type memory struct {
	ID        string `json:"id"`
	Statement string `json:"statement"`
	Stale     string `json:"stale"`
}

// evolveLine is one line of the answer to memory_evolve.
type evolveLine struct {
	Action    reverie.Action `json:"action"`
	OldID     string         `json:"old_id,omitempty"`
	Statement string         `json:"statement,omitempty"`
	Type      reverie.Type   `json:"type,omitempty"`
	Reason    string         `json:"change_reason,omitempty"`
	Tags      []string       `json:"tags,omitempty"`
	Evidence  []citation     `json:"evidence,omitempty"`
}

// evolution is the user part of memory_evolve, with the state of the answer.
type evolution struct {
	sentences []sentence
	fresh     map[int]bool // ids of the new messages
	taken     []bool       // sentences that say what is known, or proposed
}

// evolve answers memory_evolve: one line for each memory, then new ones.
func evolve(q struct {
	Memories []memory  `json:"existing_memories"`
	Earlier  []message `json:"earlier_discussions"`
	New      []message `json:"new_discussions"`
}) (lines []evolveLine) {
	e := evolution{fresh: map[int]bool{}, sentences: readMessages(append(q.Earlier, q.New...))}
	for _, m := range q.New {
		e.fresh[m.ID] = true
	}
	e.taken = make([]bool, len(e.sentences))
	for _, m := range q.Memories {
		if m.ID != "" && m.Statement != "" {
			lines = append(lines, e.judge(m))
		}
	}
	room := min(maxCreates, max(0, reverie.MaxActive-len(q.Memories)))
	for i := 0; i < len(e.sentences) && room > 0; i++ {
		if l, ok := e.propose(i); ok {
			lines, room = append(lines, l), room-1
		}
	}
	return lines
}

// judge compares one memory with the messages. The last sentence about it that ends it, or makes a rule, decides. Else
// sentences that say the same support it, and it is deleted if it is stale and nobody says it.
func (e *evolution) judge(m memory) evolveLine {
	known, l := readSentence(m.Statement), evolveLine{Action: reverie.ActionKeep, OldID: m.ID}
	for i, s := range e.sentences {
		ends, rule := words().Ends.in(s.text), words().Rules.in(s.text)
		if !ends && !rule || !s.about(known) || texts.ContentHash(s.text) == texts.ContentHash(m.Statement) {
			continue
		}
		e.taken[i] = true
		turn := evolveLine{Action: reverie.ActionDelete, OldID: m.ID, Reason: "it is said to hold no longer", Evidence: e.cite([]sentence{s})}
		if says, ok := s.statement(); !ends && ok {
			turn.Action, turn.Statement, turn.Reason = reverie.ActionUpdate, says, "it is said to hold from now on"
		} else if !ends {
			continue
		}
		if turn.Evidence != nil {
			l = turn
		}
	}
	if l.Action != reverie.ActionKeep {
		return l
	}
	if l.Evidence = e.cite(e.take(known)); l.Evidence == nil && m.Stale != "" {
		l.Action, l.Reason = reverie.ActionDelete, "nothing has supported it for weeks"
	}
	return l
}

// take returns the sentences that say the same, and takes them.
func (e *evolution) take(s sentence) (list []sentence) {
	for i, o := range e.sentences {
		if s.alike(o) {
			e.taken[i] = true
			list = append(list, o)
		}
	}
	return list
}

// propose makes a memory of what somebody asked to be remembered, of what holds from now on, and of what two people
// say, or one on two occasions.
func (e *evolution) propose(i int) (l evolveLine, ok bool) {
	s := e.sentences[i]
	l = evolveLine{Action: reverie.ActionCreate, Reason: "it is said more than once"}
	if rest, asked := cutCue(s.text, words().Remember); asked {
		l.Reason, s = "somebody asks that it be remembered", readSentence(rest)
		s.message = e.sentences[i].message
	} else if words().Rules.in(s.text) {
		l.Reason, l.Type, l.Tags = "it is said to hold from now on", reverie.TypeRule, []string{"rule"}
	} else if !slices.ContainsFunc(e.sentences, s.repeats) {
		return l, false
	}
	if l.Statement, ok = s.statement(); !ok || e.taken[i] {
		return l, false
	}
	others := slices.DeleteFunc(e.take(s), func(o sentence) bool { return !s.repeats(o) })
	l.Evidence = e.cite(append([]sentence{e.sentences[i]}, others...))
	return l, l.Evidence != nil
}

// cite quotes sentences, one per message and at most four. It returns no evidence unless one is from a new message.
func (e *evolution) cite(sentences []sentence) (list []citation) {
	fresh := false
	for _, s := range sentences {
		quote := s.quote()
		seen := slices.ContainsFunc(list, func(c citation) bool { return c.Message == s.message.ID })
		if quote != "" && !seen && len(list) < 4 {
			list, fresh = append(list, citation{s.message.ID, quote}), fresh || e.fresh[s.message.ID]
		}
	}
	if !fresh {
		return nil
	}
	return list
}

// cutCue returns a text without the cue at its beginning.
func cutCue(text string, cues []string) (rest string, found bool) {
	for _, cue := range cues {
		if len(text) > len(cue) && strings.EqualFold(text[:len(cue)], cue) {
			return strings.TrimLeft(text[len(cue):], " ,，:："), true
		}
	}
	return text, false
}
