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

// A batch is shown the messages that concern its subjects, and not the whole
// chunk: what they wrote, what names them, what they reply to and what replies to
// them, and the message before each of those. So the cost of a chunk grows with
// its messages, and not with messages times people.

// activity is what a chunk shows: its messages, and who and what is active in them.
type activity struct {
	shown    []reverie.Message
	subjects []active // those that are talked of first come first
}

// active is a subject, and the messages that concern it.
type active struct {
	subject
	name string // key of its label, without a number
	core []int  // places in activity.shown, rising
}

// survey finds who and what is active in a chunk: authors, whom they reply to,
// and whoever is named. It gives the participants their labels. Each message of a member
// concerns its author at least, so that none is left out.
func survey(state reverie.EntityState, known *index) (*activity, *participants) {
	v := &surveyor{participants: newParticipants(state.Messages, slices.Concat(state.Replied, state.Namesakes)),
		known: known,
		bears: map[string][]string{}, found: map[string]*active{}, named: map[string][]string{}}
	for _, m := range state.Messages {
		if m.Speaks() {
			v.shown = append(v.shown, m)
		}
	}
	v.replies(state.Replied)
	v.namings()
	v.participants.name(v.known)
	return &activity{shown: v.shown, subjects: v.subjects()}, v.participants
}

// surveyor is a survey under way.
type surveyor struct {
	participants *participants
	known        *index
	shown        []reverie.Message
	bears        map[string][]string // key of a name -> accounts of the chunk that bear it
	found        map[string]*active  // by handle
	named        map[string][]string // key or account, as it was found in a text -> handles
}

// Handles of subjects: an account's id, or the key of a name without one.
const (
	byAccount = "account "
	byName    = "name "
)

// concerns notes that a message concerns a subject.
func (v *surveyor) concerns(handle string, i int) *active {
	a := v.found[handle]
	if a == nil {
		a = &active{}
		v.found[handle] = a
	}
	a.core = append(a.core, i)
	return a
}

// replies notes authors and whom they reply to. What a bot writes concerns
// nobody by itself: it is no evidence.
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

// maxStrangers bounds how many of those that a message calls, and nobody knows,
// are subjects. The others stand in its text all the same.
const maxStrangers = 5

// namings notes whom and what the members' messages name.
func (v *surveyor) namings() {
	keys, accounts := v.known.keys(), slices.Sorted(maps.Keys(v.known.byID))
	for _, id := range v.participants.order {
		for _, key := range v.participants.accounts[id].keys() {
			keys, v.bears[key] = append(keys, key), append(v.bears[key], id)
		}
		accounts = append(accounts, id)
	}
	m := newMentions(keys, accounts)
	for i, message := range v.shown {
		if message.Role != reverie.RoleUser {
			continue
		}
		s := text.Excerpt(message.Text, prompts.MaxText)
		for _, name := range m.find(s) {
			for _, handle := range v.whom(name) {
				v.concerns(handle, i)
			}
		}
		for _, name := range v.strangers(s) {
			if a := v.concerns(byName+text.NameKey(name), i); a.label == "" {
				a.subject = subject{label: name, kind: reverie.EntityPerson}
			}
		}
	}
}

// strangers returns those that a text calls first and nobody knows, each once.
func (v *surveyor) strangers(s string) (list []string) {
	keys := map[string]bool{}
	for _, name := range called(s) {
		key := text.NameKey(name)
		if v.named[key] == nil && !keys[key] && len(list) < maxStrangers {
			keys[key], list = true, append(list, name)
		}
	}
	return list
}

// whom returns the handles of those whom a name or an account may mean. A name
// that too many bear to show them all is a subject of its own: nobody can know
// who is meant.
func (v *surveyor) whom(name string) []string {
	if handles, ok := v.named[name]; ok {
		return handles
	}
	handles := map[string]bool{}
	if v.participants.accounts[name] != nil {
		handles[byAccount+name] = true
	} else if id, ok := v.known.byID[name]; ok {
		handles[v.meet(id)] = true
	}
	if v.bearers(name) > maxShownNamesakes {
		handles[v.crowd(name)] = true
	} else {
		for _, id := range v.bears[name] {
			handles[byAccount+id] = true
		}
		for _, id := range v.known.byKey[name] {
			handles[v.meet(id)] = true
		}
	}
	v.named[name] = slices.Sorted(maps.Keys(handles))
	return v.named[name]
}

// bearers counts who bears a name: those that are known by it, and accounts of the
// chunk that are none of them.
func (v *surveyor) bearers(key string) int {
	known := v.known.byKey[key]
	n := len(known)
	for _, id := range v.bears[key] {
		if !slices.Contains(known, v.known.byID[id]) {
			n++
		}
	}
	return n
}

// crowd returns the handle of a name that many bear.
func (v *surveyor) crowd(key string) string {
	handle := byName + key
	if a := v.found[handle]; a != nil {
		a.entityID = ""
		return handle
	}
	kind, names := reverie.EntityPerson, []string(nil)
	for _, id := range v.bears[key] {
		names = append(names, v.participants.accounts[id].names...)
	}
	if known := v.known.byKey[key]; len(names) == 0 {
		kind, names = v.known.entries[known[0]].kind, v.known.entries[known[0]].names
	}
	at := slices.IndexFunc(names, func(name string) bool { return text.NameKey(name) == key })
	v.found[handle] = &active{subject: subject{label: names[at], kind: kind}}
	return handle
}

// meet returns the handle of an entity that is named: its account, which joins
// the participants where it does not write here, or its name.
func (v *surveyor) meet(entityID string) string {
	e := v.known.entries[entityID]
	for _, id := range e.accounts {
		if v.participants.accounts[id] != nil {
			return byAccount + id
		}
	}
	if len(e.accounts) > 0 {
		a := v.participants.add(e.accounts[0], e.kind)
		for _, name := range e.names {
			a.goesBy(name)
		}
		return byAccount + a.id
	}
	name := append(slices.Clip(e.names), "")[0]
	handle := byName + text.NameKey(name)
	a := v.found[handle]
	switch {
	case a == nil:
		v.found[handle] = &active{subject: subject{label: name, kind: e.kind, entityID: entityID}}
	case a.entityID != entityID: // two of one name: which is meant is not for the code to say
		a.entityID = ""
	}
	return handle
}

// subjects returns who was found, by the first message that concerns them; those
// of one name stay side by side.
func (v *surveyor) subjects() []active {
	first := map[string]int{} // name -> first message that concerns one of that name
	list := make([]active, 0, len(v.found))
	for _, handle := range slices.Sorted(maps.Keys(v.found)) {
		a := v.found[handle]
		if id, ok := strings.CutPrefix(handle, byAccount); ok {
			account := v.participants.accounts[id]
			a.subject = subject{label: account.label, kind: account.kind, account: id, entityID: v.known.byID[id]}
		}
		slices.Sort(a.core)
		a.core = slices.Compact(a.core)
		a.name = bare(a.label)
		if at, ok := first[a.name]; !ok || a.core[0] < at {
			first[a.name] = a.core[0]
		}
		list = append(list, *a)
	}
	slices.SortStableFunc(list, func(a, b active) int {
		return cmp.Or(cmp.Compare(first[a.name], first[b.name]), cmp.Compare(a.name, b.name),
			cmp.Compare(a.core[0], b.core[0]))
	})
	return list
}

// bare is a label without the number that tells it from others of its name.
func bare(label string) string {
	if at := strings.LastIndexByte(label, '#'); at > 0 && strings.Trim(label[at+1:], "0123456789") == "" {
		label = label[:at]
	}
	return text.NameKey(label)
}

// contextGap is how far back the message before another still belongs to it.
const contextGap = time.Hour

// task is a batch to be asked about, and how it can be made smaller.
type task struct {
	batch
	members []active
	core    []int // the messages that concern them, as places in activity.shown, rising
	padded  bool  // messages before those are shown too
}

// price is what the parts of a question cost, in tokens.
type price struct {
	budget  int              // of subjects and messages together
	message []int            // by place in activity.shown
	subject func(active) int // with what is known of it
}

// pack divides an activity into batches of at most maxSubjects within the budget.
// Each subject is in a batch with every message that concerns it; one with too
// many for a batch is in several, with consecutive parts of them. A message that
// alone exceeds the budget is a batch of its own. Those of one name are not
// parted where a batch can hold them.
func (sc *activity) pack(maxSubjects int, p price) []*task {
	b := &packer{activity: sc, price: p, in: map[int]bool{}}
	for _, namesakes := range sc.clusters() {
		units := [][]active{namesakes}
		if len(namesakes) > maxSubjects || b.more(namesakes, nil) > p.budget {
			units = slices.Collect(slices.Chunk(namesakes, 1))
		}
		for _, unit := range units {
			if alone := b.more(unit, nil); alone > p.budget {
				b.close()
				for _, part := range parts(unit[0].core, p.budget-p.subject(unit[0]), p.message) {
					b.tasks = append(b.tasks, sc.task(unit, part, 0, p.message))
				}
				continue
			}
			if len(b.members)+len(unit) > maxSubjects || b.cost+b.more(unit, b.in) > p.budget {
				b.close()
			}
			b.add(unit)
		}
	}
	b.close()
	return b.tasks
}

// clusters are the subjects, those of one name together.
func (sc *activity) clusters() (list [][]active) {
	for i, a := range sc.subjects {
		if i > 0 && a.name == sc.subjects[i-1].name {
			list[len(list)-1] = append(list[len(list)-1], a)
			continue
		}
		list = append(list, []active{a})
	}
	return list
}

// packer fills one batch after the other.
type packer struct {
	*activity
	price
	tasks   []*task
	members []active // of the batch that is being filled
	in      map[int]bool
	cost    int
}

// more is what some subjects add to a batch that holds messages already.
func (b *packer) more(unit []active, in map[int]bool) int {
	cost, seen := 0, map[int]bool{}
	for _, a := range unit {
		cost += b.subject(a)
		for _, i := range a.core {
			if !in[i] && !seen[i] {
				seen[i] = true
				cost += b.message[i]
			}
		}
	}
	return cost
}

func (b *packer) add(unit []active) {
	b.cost += b.more(unit, b.in)
	for _, a := range unit {
		b.members = append(b.members, a)
		for _, i := range a.core {
			b.in[i] = true
		}
	}
}

func (b *packer) close() {
	if len(b.members) > 0 {
		b.tasks = append(b.tasks, b.task(b.members, slices.Sorted(maps.Keys(b.in)), b.budget-b.cost, b.message))
	}
	b.members, b.in, b.cost = nil, map[int]bool{}, 0
}

// parts cuts messages into consecutive parts that cost at most budget each, or
// hold a single message.
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

// task makes a batch of some subjects and messages, and of the message before
// each of those as far as the tokens left allow and it still belongs to it.
func (sc *activity) task(members []active, core []int, left int, message []int) *task {
	t := &task{members: members, core: core}
	for _, a := range members {
		t.subjects = append(t.subjects, a.subject)
	}
	last := -1 // the place shown last
	for _, i := range core {
		before := i - 1
		if before > last && message[before] <= left && sc.shown[i].SentAt.Sub(sc.shown[before].SentAt) <= contextGap {
			t.messages, t.padded = append(t.messages, sc.shown[before]), true
			left -= message[before]
		}
		t.messages = append(t.messages, sc.shown[i])
		last = i
	}
	return t
}

// halve divides a task whose answer was cut off: by its subjects, where those of
// one name stay together, then by its messages, without what stands around them,
// and those of one name only when a single message is left. It returns nil where
// nothing is left to divide.
func (sc *activity) halve(t *task) []*task {
	bare := func(members []active, core []int) *task {
		return sc.task(members, core, -1, make([]int, len(sc.shown)))
	}
	n, m := t.middle(), len(t.core)
	switch {
	case n > 0:
		var halves []*task
		for _, half := range [][]active{t.members[:n], t.members[n:]} {
			concern := map[int]bool{}
			for _, a := range half {
				for _, i := range a.core {
					concern[i] = true
				}
			}
			core := slices.DeleteFunc(slices.Clone(t.core), func(i int) bool { return !concern[i] })
			halves = append(halves, bare(half, core))
		}
		return halves
	case m > 1:
		return []*task{bare(t.members, t.core[:m/2]), bare(t.members, t.core[m/2:])}
	case len(t.members) > 1:
		n = len(t.members) / 2
		return []*task{bare(t.members[:n], t.core), bare(t.members[n:], t.core)}
	case t.padded:
		return []*task{bare(t.members, t.core)}
	default:
		return nil
	}
}

// middle returns where the members of a task can be parted, as near to the middle
// as those of one name allow, and 0 where they all are of one.
func (t *task) middle() (best int) {
	half := len(t.members) / 2
	for n := 1; n < len(t.members); n++ {
		if t.members[n].name != t.members[n-1].name && (best == 0 || max(half-n, n-half) < max(half-best, best-half)) {
			best = n
		}
	}
	return best
}
