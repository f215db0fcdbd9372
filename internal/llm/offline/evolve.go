package offline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
	texts "reverie/internal/text"
)

// Limits of one answer: it prefers too few memories to a list of small talk.
const (
	maxCreates  = 5
	repeatAfter = 2 * time.Hour // a repetition by the same person counts after this time
	changeRatio = 5             // at most one memory in five is updated or deleted at once
)

// memory is a memory of the group.
type memory struct {
	ID        string `json:"id"`
	Statement string `json:"statement"`
	Stale     string `json:"stale"`
	Held      bool   `json:"held"` // it stays only if it is quoted
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
	memories  []memory
	sentences []sentence
	fresh     map[int]bool // ids of the new messages
	taken     []bool       // sentences about a memory, which are not new
}

// evolve answers memory_evolve: one line for each memory, then new ones.
func evolve(q struct {
	Memories []memory  `json:"existing_memories"`
	Earlier  []message `json:"earlier_discussions"`
	New      []message `json:"new_discussions"`
}) []evolveLine {
	e := evolution{memories: q.Memories, fresh: map[int]bool{}}
	for _, m := range q.New {
		e.fresh[m.ID] = true
	}
	e.sentences = readMessages(append(q.Earlier, q.New...))
	e.taken = make([]bool, len(e.sentences))
	lines := e.revise()
	return append(lines, e.create()...)
}

// cite quotes sentences. It returns no evidence unless one is from a new message.
func (e *evolution) cite(sentences []sentence) []citation {
	out := cite(sentences)
	if !slices.ContainsFunc(out, func(c citation) bool { return e.fresh[c.Message] }) {
		return nil
	}
	return out
}

// revise returns the line of each memory. It changes no more memories than may be applied without a person.
func (e *evolution) revise() []evolveLine {
	var lines []evolveLine
	left := max(2, len(e.memories)/changeRatio)
	if len(e.memories) <= 2 {
		left = len(e.memories) - 1
	}
	for _, m := range e.memories {
		if m.ID == "" || m.Statement == "" {
			continue
		}
		l, changes := e.judge(m)
		if changes && !m.Held {
			if left--; left < 0 {
				l = evolveLine{Action: reverie.ActionKeep, OldID: m.ID}
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// judge compares one memory with the messages. The last sentence that ends or replaces it decides; a sentence that
// says the same supports it.
func (e *evolution) judge(m memory) (l evolveLine, changes bool) {
	known := readSentence(unattributed(m.Statement))
	var support []sentence
	var turn *sentence
	ends, spokenOf := false, false
	for i := range e.sentences {
		s := &e.sentences[i]
		if !s.sure || s.self && !strings.HasPrefix(m.Statement, s.message.Author) || !about(*s, known) {
			continue
		}
		e.taken[i], spokenOf = true, true
		switch {
		case len(words().Ends.in(*s)) > 0 && len(words().Ends.in(known)) == 0:
			turn, ends = s, true
		case len(words().Rules.in(*s)) > 0 && !same(*s, known):
			turn, ends = s, false
		case supports(*s, known):
			support = append(support, *s)
		}
	}
	l = evolveLine{Action: reverie.ActionKeep, OldID: m.ID, Evidence: e.cite(support)}
	if turn != nil {
		if evidence := e.cite([]sentence{*turn}); evidence != nil {
			return e.turned(m, *turn, ends, evidence)
		}
	}
	switch {
	case m.Stale != "" && !spokenOf:
		return evolveLine{Action: reverie.ActionDelete, OldID: m.ID, Reason: reasonStale.of(m.Statement)}, true
	case l.Evidence != nil && m.Held && texts.ContentHash(support[0].text) != texts.ContentHash(m.Statement):
		if text, ok := support[0].statement(); ok {
			return evolveLine{Action: reverie.ActionUpdate, OldID: m.ID, Statement: text, Evidence: l.Evidence,
				Reason: reasonRestated.of(text)}, true
		}
	}
	return l, false
}

// turned returns the line of a memory that a sentence ends or replaces.
func (e *evolution) turned(m memory, s sentence, ends bool, evidence []citation) (evolveLine, bool) {
	l := evolveLine{Action: reverie.ActionDelete, OldID: m.ID, Evidence: evidence,
		Reason: reasonEnd.of(m.Statement)}
	if ends {
		return l, true
	}
	text, ok := s.statement()
	if !ok || texts.ContentHash(text) == texts.ContentHash(m.Statement) {
		return evolveLine{Action: reverie.ActionKeep, OldID: m.ID}, false
	}
	l.Action, l.Statement, l.Reason = reverie.ActionUpdate, text, reasonRule.of(text)
	return l, true
}

// candidate is a possible memory, with the sentences that say it.
type candidate struct {
	text   string
	typ    reverie.Type // "" if unknown
	reason reason
	tags   []string
	proof  []sentence
}

// create proposes what somebody asked to be remembered, what holds from now on, and what two people say, or one on
// two occasions. It prefers those with the most sentences.
func (e *evolution) create() []evolveLine {
	var found []candidate
	for i, s := range e.sentences {
		if e.taken[i] || !s.sure {
			continue
		}
		c, ok := e.candidate(s)
		if ok && !slices.ContainsFunc(found, func(o candidate) bool { return about(o.proof[0], s) }) {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(len(b.proof), len(a.proof)) })
	var lines []evolveLine
	for _, c := range found[:min(len(found), maxCreates, max(0, reverie.MaxActive-len(e.memories)))] {
		if evidence := e.cite(c.proof); evidence != nil {
			lines = append(lines, evolveLine{Action: reverie.ActionCreate, Statement: c.text, Type: c.typ, Tags: c.tags,
				Evidence: evidence, Reason: c.reason.of(c.text)})
		}
	}
	return lines
}

func (e *evolution) candidate(s sentence) (candidate, bool) {
	c := candidate{proof: append([]sentence{s}, e.repeats(s)...), reason: reasonRepeated}
	if rest := remembered(s.text); rest != "" {
		t := readSentence(rest)
		t.message = s.message
		text, ok := t.statement()
		c.text, c.reason = text, reasonAsked
		return c, ok
	}
	if len(words().Rules.in(s)) > 0 {
		c.typ, c.reason, c.tags = reverie.TypeRule, reasonRule, []string{"rule"}
	}
	text, ok := s.statement()
	c.text = text
	return c, ok && (len(c.proof) > 1 || c.reason == reasonRule && !s.self)
}

// repeats returns the sentences that say the same: by others, or by the author hours later. Two people who each
// speak of themselves do not say the same, and an exact copy is a paste.
func (e *evolution) repeats(s sentence) []sentence {
	var out []sentence
	for _, o := range e.sentences {
		by := o.message.Author == s.message.Author
		apart := o.message.sentAt().Sub(s.message.sentAt()).Abs()
		if o.message == s.message || !o.sure || strings.EqualFold(o.text, s.text) ||
			by && apart < repeatAfter || !by && s.self && o.self {
			continue
		}
		if same(s, o) {
			out = append(out, o)
		}
	}
	return out
}

// remembered returns what somebody asks to be remembered, "" if nothing.
func remembered(text string) string {
	text = bare(text)
	for _, cue := range words().Remember {
		if len(text) > len(cue) && strings.EqualFold(text[:len(cue)], cue) {
			return strings.TrimLeft(text[len(cue):], " ,，:：")
		}
	}
	return ""
}

// unattributed returns a statement without the name before "says:".
func unattributed(statement string) string {
	for _, mark := range []string{" says: ", "说："} {
		if name, rest, ok := strings.Cut(statement, mark); ok && plainName(name) {
			return rest
		}
	}
	return statement
}

// reason is the reason of a line, in English and in Chinese.
type reason [2]string

var (
	reasonRepeated = reason{"it is said more than once", "不止一次说到"}
	reasonAsked    = reason{"somebody asks that it be remembered", "有人请求记住"}
	reasonRule     = reason{"it is said to hold from now on", "说明以后如此"}
	reasonEnd      = reason{"it is said to hold no longer", "说明已不再如此"}
	reasonRestated = reason{"this is what is left of it", "现有的消息这样说"}
	reasonStale    = reason{"nothing has supported it for weeks", "已有数周没有消息支持"}
)

// of returns the reason in the language of a statement.
func (r reason) of(statement string) string {
	if isDense(statement) {
		return r[1]
	}
	return r[0]
}
