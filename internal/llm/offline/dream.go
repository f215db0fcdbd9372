package offline

import (
	"cmp"
	"errors"
	"slices"

	"reverie/internal/reverie"
)

// lookback is the dream prompt's user part, as far as it is read here, and what has
// been found in it so far.
type lookback struct {
	items    []earlier
	sessions []dreamSession
	matters  []matter // facts of sessions, in order, each session's summary before them; then memories of the group
	ends     []ending // sentences of the matters that say that something was done
	found    []insight
}

// earlier is what an earlier dream left.
type earlier struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Content string `json:"content"`
	sense   sense
	task    bagOfWords
}

// dreamSession is what is new of one session.
type dreamSession struct {
	ID      string `json:"id"`
	Summary string `json:"summary"`
	Facts   []struct {
		ID        string   `json:"id"`
		Type      factType `json:"type"`
		Statement string   `json:"statement"`
	} `json:"facts"`
}

// matter is what a handle stands for: the summary or a fact of a session, or a
// memory of the group.
type matter struct {
	id      string
	text    string
	sort    factType // of a fact; typeSummary for a summary
	session int      // index; noSession for a memory of the group
	fresh   bool     // new since the last dream
	spoken  spoken
}

const noSession = -1

// insight is one line of the answer.
type insight struct {
	Type       string   `json:"type"`
	Content    string   `json:"content,omitempty"` // "" where it keeps an item
	Replace    string   `json:"replace,omitempty"`
	Done       bool     `json:"done,omitempty"`
	Keep       bool     `json:"keep,omitempty"` // the item stays as it is, and is borne out
	Sources    []string `json:"sources,omitempty"`
	Confidence float64  `json:"confidence,omitempty"`
	sense      sense
}

// How sure it is of an insight.
const (
	sureOfSeveral = 0.95 // that several sources say
	sureOfTyped   = 0.9  // that extraction found to be one already
	sureOfThread  = 0.8  // that has the words of an open thread, or of its end
	sureOfTaste   = 0.75 // that has the words of a taste
)

// maxInsights is how many new items an answer has at most, the surest; readInsights how
// many are looked at, so that a long list costs no more than a conversation.
const (
	maxInsights  = 10
	readInsights = 120
)

// readLookback reads the user part of the dream prompt about material.
func readLookback(q question) (*lookback, error) {
	l := &lookback{}
	var memories []struct {
		ID        string `json:"id"`
		Statement string `json:"statement"`
		New       bool   `json:"new"`
	}
	if err := errors.Join(q.read("dream_items", &l.items), q.read("dream_sessions", &l.sessions), q.read("group_memories", &memories)); err != nil {
		return nil, err
	}
	for i := range l.items {
		l.items[i].sense, l.items[i].task = readSense(l.items[i].Content), taskWords(l.items[i].Content)
	}
	for i, s := range l.sessions {
		l.matter(matter{id: s.ID, text: s.Summary, sort: typeSummary, session: i, fresh: true})
		for _, f := range s.Facts {
			l.matter(matter{id: f.ID, text: f.Statement, sort: f.Type, session: i, fresh: true})
		}
	}
	for _, m := range memories {
		l.matter(matter{id: m.ID, text: m.Statement, session: noSession, fresh: m.New})
	}
	return l, nil
}

// matter takes what can be cited and is no order to whoever reads it.
func (l *lookback) matter(m matter) {
	if m.id == "" || m.text == "" || reverie.CheckStatement(m.text) != nil {
		return
	}
	m.spoken = speak(fold(m.text))
	l.matters = append(l.matters, m)
}

// lines are the narrative, then the items, the surest first.
func (l *lookback) lines() []insight {
	l.closings()
	for i, m := range l.matters {
		if m.session == noSession || m.sort == typeSummary || !lasting(m.spoken) || len(l.found) == readInsights {
			continue
		}
		switch opens := opensThread(m.spoken); {
		case m.sort == typePreference, !opens && m.sort != typeProject && marksTaste.in(m.spoken):
			sure := sureOfTaste
			if m.sort == typePreference {
				sure = sureOfTyped
			}
			l.take(insight{Type: typeTaste, Content: m.text, Sources: []string{m.id}, Confidence: sure})
		case opens && !l.doneLater(i):
			l.take(insight{Type: typeThread, Content: m.text, Sources: []string{m.id}, Confidence: sureOfThread})
		}
	}
	l.support()
	names := l.people()
	l.keep(names)
	for _, t := range l.topics(names) {
		l.take(t)
	}
	return append([]insight{l.narrative()}, surest(l.found)...)
}

// The types of items, as the prompt names them.
const (
	typeTaste  = string(reverie.DreamPreference)
	typeTheme  = string(reverie.DreamTheme)
	typeThread = string(reverie.DreamTodo)
)

// surest are the items that an answer has room for. What becomes of items of earlier
// dreams always has.
func surest(found []insight) []insight {
	slices.SortStableFunc(found, func(a, b insight) int { return cmp.Compare(b.Confidence, a.Confidence) })
	room := maxInsights
	return slices.DeleteFunc(found, func(f insight) bool {
		if f.Replace == "" {
			room--
		}
		return f.Replace == "" && room < 0
	})
}

// lasting tells whether a statement may mean something in a month.
func lasting(t spoken) bool {
	return !marksPassing.in(t) && !marksState.in(t) && !marksJoke.in(t) && !isQuestion(t)
}

// take adds an item, or what it adds to one that was found before. What an earlier
// dream says already is left out; what changes it, takes its place.
func (l *lookback) take(f insight) {
	f.sense = readSense(f.Content)
	for _, it := range l.items {
		switch f.against(it) {
		case reverie.RelationUnrelated:
			continue
		case reverie.RelationDuplicate:
			return
		}
		if it.Type != f.Type || l.closed(it.ID) {
			return
		}
		f.Replace = it.ID
	}
	l.found = merge(l.found, f)
}

// against says how an item stands to one of an earlier dream. Two threads are one
// where they name the same that is to be done, by another day perhaps.
func (f insight) against(it earlier) reverie.Relation {
	relation := relate(f.sense, it.sense)
	if relation != reverie.RelationUnrelated || f.Type != typeThread || it.Type != typeThread {
		return relation
	}
	task := taskWords(f.Content)
	switch {
	case !task.namedIn(it.task) || !it.task.namedIn(task):
		return reverie.RelationUnrelated
	case agree(slotsOf(f.Content), slotsOf(it.Content)):
		return reverie.RelationDuplicate
	}
	return reverie.RelationConflict
}

// slotsOf are the days, times and numbers of a statement.
func slotsOf(statement string) []slot {
	slots, _ := cutSlots(fold(statement))
	return slots
}

// closed tells whether an item of an earlier dream has been closed.
func (l *lookback) closed(id string) bool {
	return slices.ContainsFunc(l.found, func(f insight) bool { return f.Done && f.Replace == id })
}

// merge adds an item to others. What says the same adds its sources to the one that
// is there; what changes it, or replaces the same item of an earlier dream, takes its
// place, unless it counts for less.
func merge(found []insight, f insight) []insight {
	for i := range found {
		old := &found[i]
		again := f.Replace != "" && f.Replace == old.Replace
		if again && f.weight() != old.weight() {
			if old.weight() > f.weight() {
				f, *old = *old, f
			}
			f.Sources = addSources(old.Sources, f.Sources)
			*old = f
			return found
		}
		if !again && (f.Keep || old.Keep || f.Type != old.Type || f.Done || old.Done || f.Replace != "" && old.Replace != "") {
			continue
		}
		relation := relate(f.sense, old.sense)
		if relation == reverie.RelationUnrelated && !again {
			continue
		}
		if relation != reverie.RelationConflict {
			f.Sources, f.Confidence = addSources(old.Sources, f.Sources), max(old.Confidence, f.Confidence, sureOfSeveral)
		}
		if relation == reverie.RelationDuplicate && f.Done == old.Done {
			f.Content, f.sense = old.Content, old.sense
		}
		f.Replace = cmp.Or(f.Replace, old.Replace)
		*old = f
		return found
	}
	return append(found, f)
}

// weight orders what becomes of one item: its end counts for more than new words, and
// those for more than that it was borne out.
func (f insight) weight() int {
	switch {
	case f.Done:
		return 2
	case f.Keep:
		return 0
	}
	return 1
}

// maxSources is how many sources an item names.
const maxSources = 8

// addSources adds sources, each once.
func addSources(to, more []string) []string {
	for _, s := range more {
		if !slices.Contains(to, s) && len(to) < maxSources {
			to = append(to, s)
		}
	}
	return to
}

// support adds the memories of the group that say the same as an item.
func (l *lookback) support() {
	for _, m := range l.matters {
		if m.session != noSession {
			continue
		}
		s := readSense(m.text)
		for i := range l.found {
			f := &l.found[i]
			if f.Done {
				continue
			}
			if relation := relate(f.sense, s); relation == reverie.RelationDuplicate || relation == reverie.RelationUpdate {
				f.Sources, f.Confidence = addSources(f.Sources, []string{m.id}), sureOfSeveral
			}
		}
	}
}
