package entity

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/prompts"
)

// A batch shows only the messages that concern its subjects, not the whole chunk. These are the subjects' own messages,
// those that name them, both sides of their replies, and the message before each. So the cost of a chunk grows with its
// messages, and not with messages times people.

// activity is what a chunk shows: its messages, and who and what is active in them.
type activity struct {
	shown    []reverie.Message
	subjects []active // those mentioned first come first
}

// active is a subject with the messages that concern it.
type active struct {
	subject
	core []int // indexes in activity.shown, ascending
}

// batch is one question: some subjects, and the messages that concern them.
type batch struct {
	no       int
	subjects []active
	core     []int             // messages that concern the subjects: indexes in activity.shown, ascending
	messages []reverie.Message // core with the messages before; numbered from 1 in the question
}

// survey finds who and what is active in a chunk: authors, those they reply to, and known entities that are named. It
// gives the participants their labels. A message of a member concerns at least its author, so no message is left out.
func survey(state reverie.EntityState, known *index) (*activity, *participants) {
	v := &surveyor{participants: newParticipants(state.Messages, slices.Concat(state.Replied, state.Namesakes)),
		known: known, found: map[string]*active{}}
	for _, m := range state.Messages {
		if m.Speaks() {
			v.shown = append(v.shown, m)
		}
	}
	v.replies(state.Replied)
	v.mentions()
	v.participants.name(v.known)
	return &activity{shown: v.shown, subjects: v.subjects()}, v.participants
}

// surveyor is a survey in progress.
type surveyor struct {
	participants *participants
	known        *index
	shown        []reverie.Message
	found        map[string]*active // by handle
}

// A handle identifies a subject: by the id of an account, or by the key of a name without an account.
const (
	byAccount = "account "
	byName    = "name "
)

// concerns notes that a message concerns a subject.
func (v *surveyor) concerns(handle string, i int) {
	if v.found[handle] == nil {
		v.found[handle] = &active{}
	}
	v.found[handle].core = append(v.found[handle].core, i)
}

// replies notes the authors, and those they reply to. A bot's message concerns nobody by itself, because it is no
// evidence.
func (v *surveyor) replies(replied []reverie.Message) {
	place, author := map[string]int{}, map[string]string{}
	for _, m := range replied {
		author[m.ID] = m.AuthorID
	}
	for i, m := range v.shown {
		place[m.ID], author[m.ID] = i, m.AuthorID
	}
	for i, m := range v.shown {
		if m.Role != reverie.RoleUser {
			continue
		}
		v.concerns(byAccount+m.AuthorID, i)
		if to := author[m.ReplyTo]; m.ReplyTo != "" && v.participants.accounts[to] != nil {
			v.concerns(byAccount+to, i)
		}
		if j, ok := place[m.ReplyTo]; ok {
			v.concerns(byAccount+m.AuthorID, j)
		}
	}
}

// mentions notes whom and what the members' messages name. A name of more than maxShownNamesakes bearers concerns none
// of them, because it does not tell who is meant.
func (v *surveyor) mentions() {
	bears := map[string][]string{} // key of a name -> accounts of the chunk with that name
	for _, id := range v.participants.order {
		for _, key := range v.participants.accounts[id].keys() {
			bears[key] = append(bears[key], id)
		}
	}
	m := newMentions(slices.Concat(slices.Sorted(maps.Keys(v.known.byKey)), slices.Sorted(maps.Keys(bears))),
		slices.Concat(slices.Sorted(maps.Keys(v.known.byID)), v.participants.order))
	for i, message := range v.shown {
		if message.Role != reverie.RoleUser {
			continue
		}
		for _, name := range m.find(text.Excerpt(message.Text, prompts.MaxText)) {
			if v.participants.accounts[name] != nil {
				v.concerns(byAccount+name, i)
			} else if id, ok := v.known.byID[name]; ok {
				v.concerns(v.handleOf(id), i)
			}
			if len(bears[name]) > maxShownNamesakes || len(v.known.byKey[name]) > maxShownNamesakes {
				continue
			}
			for _, id := range bears[name] {
				v.concerns(byAccount+id, i)
			}
			for _, id := range v.known.byKey[name] {
				v.concerns(v.handleOf(id), i)
			}
		}
	}
}

// handleOf returns the handle of a named entity: by its account, which joins the participants, or by its name.
func (v *surveyor) handleOf(entityID string) string {
	e := v.known.entries[entityID]
	for _, id := range e.accounts {
		if v.participants.accounts[id] != nil {
			return byAccount + id
		}
	}
	if len(e.accounts) > 0 {
		a := v.participants.add(e.accounts[0], e.kind)
		for _, name := range e.names {
			a.addName(name)
		}
		return byAccount + a.id
	}
	handle := byName + text.NameKey(e.names[0])
	a := v.found[handle]
	switch {
	case a == nil:
		v.found[handle] = &active{subject: subject{label: e.names[0], kind: e.kind, entityID: entityID}}
	case a.entityID != entityID: // two entities have this name: the model must decide
		a.entityID = ""
	}
	return handle
}

// subjects returns the subjects in the order of the first message that concerns them. Subjects of one name are
// adjacent.
func (v *surveyor) subjects() []active {
	first := map[string]int{} // name -> first message that concerns a bearer of that name
	list := make([]active, 0, len(v.found))
	for _, handle := range slices.Sorted(maps.Keys(v.found)) {
		a := v.found[handle]
		if id, ok := strings.CutPrefix(handle, byAccount); ok {
			account := v.participants.accounts[id]
			a.subject = subject{label: account.label, kind: account.kind, account: id, entityID: v.known.byID[id]}
		}
		slices.Sort(a.core)
		a.core = slices.Compact(a.core)
		name := withoutNumber(a.label)
		if at, ok := first[name]; !ok || a.core[0] < at {
			first[name] = a.core[0]
		}
		list = append(list, *a)
	}
	slices.SortStableFunc(list, func(a, b active) int {
		x, y := withoutNumber(a.label), withoutNumber(b.label)
		return cmp.Or(cmp.Compare(first[x], first[y]), cmp.Compare(x, y), cmp.Compare(a.core[0], b.core[0]))
	})
	return list
}

// withoutNumber returns a label without the number that distinguishes namesakes.
func withoutNumber(label string) string {
	if at := strings.LastIndexByte(label, '#'); at > 0 && strings.Trim(label[at+1:], "0123456789") == "" {
		label = label[:at]
	}
	return text.NameKey(label)
}

// contextGap is the largest gap to a message before that is still shown as context.
const contextGap = time.Hour

// price is the cost of the parts of a question, in tokens.
type price struct {
	budget  int              // for subjects and messages together
	message []int            // by index in activity.shown
	subject func(active) int // with what is known about it
}

// pack divides an activity into batches of at most maxSubjects subjects within the budget. Each subject is in a batch
// with all messages that concern it. If it has too many, it is in several batches with consecutive parts of them. A
// message that exceeds the budget alone is a batch of its own.
func (sc *activity) pack(maxSubjects int, p price) (batches []*batch) {
	var members []active
	in, cost := map[int]bool{}, 0
	adds := func(a active) int {
		more := p.subject(a)
		for _, i := range a.core {
			if !in[i] {
				more += p.message[i]
			}
		}
		return more
	}
	fill := func() {
		if len(members) > 0 {
			batches = append(batches, sc.batch(members, slices.Sorted(maps.Keys(in)), p.budget-cost, p.message))
		}
		members, in, cost = nil, map[int]bool{}, 0
	}
	for _, a := range sc.subjects {
		if len(members) == maxSubjects || cost+adds(a) > p.budget {
			fill()
		}
		more := adds(a)
		if more > p.budget { // too much even for an empty batch
			for _, part := range parts(a.core, p.budget-p.subject(a), p.message) {
				batches = append(batches, sc.batch([]active{a}, part, 0, p.message))
			}
			continue
		}
		members, cost = append(members, a), cost+more
		for _, i := range a.core {
			in[i] = true
		}
	}
	fill()
	return batches
}

// parts cuts messages into consecutive parts that cost at most budget each, or contain a single message.
func parts(core []int, budget int, message []int) [][]int {
	var list [][]int
	cost, start := 0, 0
	for n, i := range core {
		if n > start && cost+message[i] > budget {
			list = append(list, core[start:n])
			cost, start = 0, n
		}
		cost += message[i]
	}
	return append(list, core[start:])
}

// batch makes a batch of subjects and messages. It adds the message before each of those, while tokens are left and the
// gap is small enough.
func (sc *activity) batch(subjects []active, core []int, left int, message []int) *batch {
	b := &batch{subjects: subjects, core: core}
	last := -1 // the index of the last shown message
	for _, i := range core {
		before := i - 1
		if before > last && left >= 0 && message[before] <= left &&
			sc.shown[i].SentAt.Sub(sc.shown[before].SentAt) <= contextGap {
			b.messages = append(b.messages, sc.shown[before])
			left -= message[before]
		}
		b.messages = append(b.messages, sc.shown[i])
		last = i
	}
	return b
}

// halve divides a batch whose answer was cut off: by its subjects, then by its messages, without context. It returns
// nil where nothing is left to divide.
func (sc *activity) halve(b *batch) []*batch {
	bare := func(subjects []active, core []int) *batch { return sc.batch(subjects, core, -1, nil) }
	if n := len(b.subjects) / 2; n > 0 {
		var halves []*batch
		for _, half := range [][]active{b.subjects[:n], b.subjects[n:]} {
			core := slices.DeleteFunc(slices.Clone(b.core), func(i int) bool {
				return !slices.ContainsFunc(half, func(a active) bool { return slices.Contains(a.core, i) })
			})
			halves = append(halves, bare(half, core))
		}
		return halves
	}
	if m := len(b.core) / 2; m > 0 {
		return []*batch{bare(b.subjects, b.core[:m]), bare(b.subjects, b.core[m:])}
	}
	if len(b.messages) > len(b.core) {
		return []*batch{bare(b.subjects, b.core)}
	}
	return nil
}
