package entity

import (
	"maps"
	"slices"
)

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
