package impression

import (
	"maps"
	"slices"
)

// task is a batch to be asked about, and how it can be made smaller.
type task struct {
	batch
	members []active
	core    []int // the messages that concern them, as places in scene.shown, rising
	padded  bool  // messages before those are shown too
}

// price is what the parts of a question cost, in tokens.
type price struct {
	budget  int              // of subjects and messages together
	message []int            // by place in scene.shown
	subject func(active) int // with what is known of it
}

// pack divides a scene into batches of at most maxSubjects within the budget.
// Each subject is in a batch with every message that concerns it; one with too
// many for a batch is in several, with consecutive parts of them. A message that
// alone exceeds the budget is a batch of its own.
func (sc *scene) pack(maxSubjects int, p price) []*task {
	var tasks []*task
	var members []active
	cost, in := 0, map[int]bool{}
	closeBatch := func() {
		if len(members) > 0 {
			tasks = append(tasks, sc.task(members, slices.Sorted(maps.Keys(in)), p.budget-cost, p.message))
		}
		members, cost, in = nil, 0, map[int]bool{}
	}
	for _, a := range sc.subjects {
		own := p.subject(a)
		alone, more := own, own
		for _, i := range a.core {
			alone += p.message[i]
			if !in[i] {
				more += p.message[i]
			}
		}
		if alone > p.budget {
			closeBatch()
			for _, part := range parts(a.core, p.budget-own, p.message) {
				tasks = append(tasks, sc.task([]active{a}, part, 0, p.message))
			}
			continue
		}
		if len(members) == maxSubjects || cost+more > p.budget {
			closeBatch()
			more = alone
		}
		members, cost = append(members, a), cost+more
		for _, i := range a.core {
			in[i] = true
		}
	}
	closeBatch()
	return tasks
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
func (sc *scene) task(members []active, core []int, left int, message []int) *task {
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

// halve divides a task whose answer was cut off: by its subjects, then by its
// messages, without what stands around them. It returns nil where nothing is
// left to divide.
func (sc *scene) halve(t *task) []*task {
	bare := func(members []active, core []int) *task {
		return sc.task(members, core, -1, make([]int, len(sc.shown)))
	}
	switch n, m := len(t.members), len(t.core); {
	case n > 1:
		var halves []*task
		for _, half := range [][]active{t.members[:n/2], t.members[n/2:]} {
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
	case t.padded:
		return []*task{bare(t.members, t.core)}
	default:
		return nil
	}
}
