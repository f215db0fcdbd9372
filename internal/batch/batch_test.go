package batch_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/batch"
	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/store/erase"
)

// end is what a story comes to without batches.
type end struct {
	account []string
	paid    float64
	asked   []string
}

// directly tells a story in a database of its own, without batches.
func directly(t *testing.T, tell func(*world)) (e end) {
	t.Helper()
	t.Run("directly", func(t *testing.T) {
		w := newWorld(t)
		tell(w)
		w.directly()
		e = end{w.account(), w.paid(), slices.Sorted(slices.Values(w.provider.direct))}
	})
	return e
}

// same compares the end of batches with that of asking directly.
func (w *world) same(want end) {
	w.Helper()
	if got := w.account(); !slices.Equal(got, want.account) {
		w.Errorf("\ngot  %q\nwant %q", got, want.account)
	}
}

// once tells whether each question was asked and paid for once, in batches and at half the
// price.
func (w *world) once(want end) {
	w.Helper()
	if asked := slices.Sorted(slices.Values(w.provider.asked)); !slices.Equal(asked, want.asked) || len(w.provider.direct) > 0 {
		w.Errorf("%d questions in batches, and %d directly; without batches %d", len(asked), len(w.provider.direct), len(want.asked))
	}
	if got := w.paid(); math.Abs(got-want.paid/2) > 1e-9 || got == 0 {
		w.Errorf("paid %v, directly %v", got, want.paid)
	}
}

// In batches the groups come to the same end as directly.
func TestSameEndAsDirectly(t *testing.T) {
	want := directly(t, (*world).tell)
	w := newWorld(t)
	w.tell()
	s := w.inBatches()
	w.same(want)
	w.once(want)
	if s.Done != 3 || s.Deferred != 0 || s.Failed != 0 || s.Windows != 9 {
		t.Errorf("summary %+v", s)
	}
	w.want(`select distinct status from runs`, "succeeded")
	w.want(`select distinct tier from llm_calls`, "batch")
	w.want(`select 'x' from batch_questions where system_text <> '' or user_text <> ''`)
	if w.waves > 9 { // a chunk has 2, and there are 4; the last finds nothing to ask
		t.Errorf("%d waves", w.waves)
	}
}

// Whatever call a process dies before, or after, the next one goes on: the end is the same,
// and nothing is asked or paid for twice.
func TestKilledAnywhere(t *testing.T) {
	tell := func(w *world) {
		w.say("g1", 2, "note tea g1 likes tea.")
		w.say("g1", 1, "note tea g1 likes green tea.")
		w.say("g2", 1, "note bus g2 goes by bus.")
	}
	want := directly(t, tell)
	var calls []string
	t.Run("alive", func(t *testing.T) {
		w := newWorld(t)
		tell(w)
		l := &life{left: -1}
		if _, err := w.process(l).run(); err != nil {
			t.Fatal(err)
		}
		w.same(want)
		w.once(want)
		calls = l.calls
	})
	for n, call := range calls {
		thorough := os.Getenv("REVERIE_TEST_THOROUGH") != ""
		first, last := !slices.Contains(calls[:n], call), !slices.Contains(calls[n+1:], call)
		if !first && !last && !thorough { // the first and the last of each sort
			continue
		}
		for _, after := range []bool{false, true} {
			if after && !first && !thorough { // the last one once: the first has shown both sides of the call
				continue
			}
			t.Run(fmt.Sprint(n, call, after), func(t *testing.T) {
				w := newWorld(t)
				tell(w)
				l := &life{left: n, after: after}
				_, err := w.process(l).run()
				if !l.dead {
					t.Fatalf("it lives: %v", err)
				}
				w.clock.Advance(reverie.LeaseTTL)
				w.inBatches()
				w.same(want)
				w.once(want)
				if t.Failed() {
					t.Log(l.calls)
				}
			})
		}
	}
}

// Answers under another question's key, without a nonce, twice, or out of order never reach
// a group that they are not of. Those that are refused are asked again in the next wave,
// and directly in the one after that.
func TestSwappedAndMissingNonces(t *testing.T) {
	want := directly(t, (*world).tell)
	for name, spoil := range map[string]func(n int, list []llm.BatchAnswer) []llm.BatchAnswer{
		"swapped once": func(n int, list []llm.BatchAnswer) []llm.BatchAnswer {
			if n == 1 {
				list[0].ID, list[1].ID = list[1].ID, list[0].ID
			}
			return list
		},
		"always swapped": func(_ int, list []llm.BatchAnswer) []llm.BatchAnswer {
			ids := []string{}
			for _, a := range list {
				ids = append(ids, a.ID)
			}
			for i := range list {
				list[i].ID = ids[(i+1)%len(ids)]
			}
			return list
		},
		"without": func(_ int, list []llm.BatchAnswer) []llm.BatchAnswer {
			for i := range list {
				_, list[i].Response.Text, _ = strings.Cut(list[i].Response.Text, "\n")
			}
			return list
		},
		"twice, backwards, and others": func(_ int, list []llm.BatchAnswer) []llm.BatchAnswer {
			list = append(list, list...)
			slices.Reverse(list)
			return append([]llm.BatchAnswer{{ID: "unknown"}, {ID: ""}}, list...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.tell()
			seen := 0
			w.provider.answer = func(b *handedIn) []llm.BatchAnswer {
				seen++
				list := answersTo(b)
				if len(list) == 1 && strings.HasSuffix(name, "swapped") {
					list[0].Response.Text = `{"nonce":"another"}` + "\n{}"
					return list
				}
				return spoil(seen, list)
			}
			w.inBatches()
			memories := func(account []string) []string {
				return slices.DeleteFunc(slices.Clone(account), func(row string) bool { return strings.Contains(row, "|ok|") || strings.Contains(row, "nonce|") })
			}
			if got := w.account(); !slices.Equal(memories(got), memories(want.account)) {
				t.Errorf("\ngot  %q\nwant %q", got, want.account)
			}
			refused := w.rows(`select sum(refused)::text from batches`)[0]
			if w.want(`select count(*)::text from llm_calls where outcome = 'refused_nonce'`, refused); (refused == "0") != strings.HasPrefix(name, "twice") {
				t.Errorf("%s were refused", refused)
			}
			switch name {
			case "swapped once":
				if len(w.provider.direct) != 0 || len(w.provider.asked) != len(want.asked)+2 {
					t.Errorf("%d directly, %d in batches", len(w.provider.direct), len(w.provider.asked))
				}
			case "always swapped", "without":
				if !slices.Equal(slices.Sorted(slices.Values(w.provider.direct)), want.asked) || len(w.provider.asked) != 2*len(want.asked) {
					t.Errorf("%d directly, %d in batches, want %d and twice that", len(w.provider.direct), len(w.provider.asked), len(want.asked))
				}
			default:
				w.once(want)
			}
		})
	}
}

// What has come is used also where a batch expires; the rest is asked in the next wave.
func TestExpiredHalfWay(t *testing.T) {
	want := directly(t, (*world).tell)
	w := newWorld(t)
	w.tell()
	looks := map[string]int{}
	w.provider.state = func(b *handedIn) (llm.BatchState, error) {
		if looks[b.id]++; looks[b.id] < 3 {
			return llm.BatchState{Phase: llm.BatchRunning}, nil
		}
		return llm.BatchState{Phase: llm.BatchExpired}, nil
	}
	w.provider.answer = func(b *handedIn) []llm.BatchAnswer {
		list := answersTo(b)
		for i := 1; i < len(list); i++ {
			list[i] = llm.BatchAnswer{ID: list[i].ID, Err: &llm.Error{Provider: "test", Fault: llm.FaultTimeout}}
		}
		return list
	}
	w.inBatches()
	if got := w.rows(`select statement from memories where status = 'active' order by 1`); len(got) != 12 {
		t.Errorf("remembered: %q", got)
	}
	paid := w.rows(`select count(*)::text from llm_calls where outcome = 'ok'`)
	if paid[0] != fmt.Sprint(len(want.asked)) {
		t.Errorf("%s answers paid for, want %d", paid, len(want.asked))
	}
	w.want(`select distinct status from batches`, "expired")
}

// A batch that is not answered by the deadline is cancelled, what it has answered by then
// is used, and the rest is asked directly.
func TestDeadline(t *testing.T) {
	want := directly(t, (*world).tell)
	w := newWorld(t)
	w.tell()
	w.provider.state = func(*handedIn) (llm.BatchState, error) { return llm.BatchState{Phase: llm.BatchRunning}, nil }
	w.provider.answer = func(b *handedIn) []llm.BatchAnswer { return answersTo(b)[:1] }
	w.inBatches()
	if got := w.rows(`select count(*)::text from llm_calls where outcome = 'ok'`)[0]; got != fmt.Sprint(len(want.asked)) {
		t.Errorf("%s answers paid for, want %d", got, len(want.asked))
	}
	w.want(`select distinct status from batches`, "cancelled")
	if len(w.provider.direct) == 0 {
		t.Error("nothing was asked directly")
	}
}

// A provider that lets no more be out at a time is handed in less.
func TestSmallerBatches(t *testing.T) {
	want := directly(t, (*world).tell)
	for name, set := range map[string]func(w *world, out *int){
		"limits": func(w *world, _ *int) { w.provider.limits = llm.BatchLimits{Questions: 2} },
		"bytes":  func(w *world, _ *int) { w.provider.limits = llm.BatchLimits{Bytes: 1} },
		"tokens": func(w *world, _ *int) { w.options = func(o *batch.Options) { o.Tokens = 1 } },
		"refused": func(w *world, _ *int) {
			w.provider.submit = func(_ llm.BatchSubmission, questions []llm.BatchQuestion) error {
				if len(questions) > 1 {
					return &llm.Error{Provider: "test", Fault: llm.FaultTooLarge}
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.tell()
			set(w, new(int))
			w.inBatches()
			w.same(want)
			w.once(want)
			if name == "limits" {
				w.want(`select max(questions)::text from batches`, "2")
			} else {
				w.want(`select max(questions)::text from batches`, "1")
			}
		})
	}
}

// The reply to a submission is lost, or it never reached the provider: the batch is looked
// for, and handed in again only where there is none.
func TestLostReply(t *testing.T) {
	want := directly(t, (*world).tell)
	for _, reached := range []bool{false, true} {
		t.Run(fmt.Sprint(reached), func(t *testing.T) {
			w := newWorld(t)
			w.tell()
			w.provider.lose = func(n int) (bool, bool) { return n%2 == 1, reached }
			w.inBatches()
			w.same(want)
			w.once(want)
		})
	}
}

// What is out counts against the budget. What is beyond it is not handed in, what has come
// is used, and the rest stays pending.
func TestBudget(t *testing.T) {
	w := newWorld(t)
	w.tell()
	w.budget = llm.NewBudget(llm.Limits{Calls: 5}, nil)
	s, err := w.process(&life{left: -1}).run()
	if spent := new(*reverie.BudgetError); !errors.As(err, spent) {
		t.Fatal(err)
	}
	if len(w.provider.asked) != 5 || s.Deferred != 3 {
		t.Errorf("%d questions, %+v", len(w.provider.asked), s)
	}
	w.want(`select count(*)::text from llm_calls`, "5")
	w.budget = nil
	w.inBatches()
	w.want(`select distinct status from runs`, "succeeded")
}

// A person changes a memory while a batch is out: the question whose memories moved is
// asked again, and what the person wrote stands.
func TestMemoryMovesMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.say("g1", 2, "note tea g1 likes tea.")
	w.inBatches()
	w.say("g1", 1, "note bus g1 goes by bus.")
	asked := len(w.provider.asked)
	moved := false
	w.provider.state = func(*handedIn) (llm.BatchState, error) {
		if !moved {
			moved = true
			w.exec(`update memories set statement = 'tea g1 likes coffee.', content_hash = 'other' where group_id = 'g1'`)
		}
		return llm.BatchState{Phase: llm.BatchEnded}, nil
	}
	w.inBatches()
	if n := len(w.provider.asked) - asked; n != 2 {
		t.Errorf("%d questions", n)
	}
	w.want(`select statement from memories where status = 'active' order by 1`, "bus g1 goes by bus.", "tea g1 likes coffee.")
	w.want(`select distinct status from runs`, "succeeded")
}

// Somebody is erased while a batch is out: nothing of them comes back with it, what it costs
// is written down, and the rest of the group is asked about anew.
func TestErasedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.say("g1", 1, "note tea Lin likes tea.", "note bus Maya goes by bus.")
	w.say("g2", 1, "note tea Lin likes tea.")
	erased := false
	w.provider.state = func(*handedIn) (llm.BatchState, error) {
		if !erased {
			erased = true
			lease := must(w.store.AcquireLease(t.Context(), "g1", reverie.LeaseGroup, "a person", time.Minute))(t)
			must(erase.New(w.store.DB()).Erase(t.Context(), lease, reverie.EraseQuery{GroupID: "g1", AuthorID: "lin"}))(t)
			if err := w.store.ReleaseLease(t.Context(), lease); err != nil {
				t.Error(err)
			}
		}
		return llm.BatchState{Phase: llm.BatchEnded}, nil
	}
	w.inBatches()
	w.want(`select group_id || statement from memories where status = 'active' order by 1`, "g1bus Maya goes by bus.", "g2tea Lin likes tea.")
	w.want(`select group_id || count(*) from llm_calls group by group_id order by 1`, "g12", "g21")
	w.want(`select 'x' from batch_questions where group_id = 'g1' and (answer || system_text || user_text) like '%tea%'`)
	w.want(`select 'x' from batch_questions where status = 'erased'`)
}

// A provider that takes no batches for as long as a question may wait is asked directly, and
// so is one whose batches fail again and again for want of room.
func TestNoRoomForADay(t *testing.T) {
	for name, full := range map[string]func(w *world){
		"at once": func(w *world) {
			w.provider.submit = func(llm.BatchSubmission, []llm.BatchQuestion) error {
				return &llm.Error{Provider: "test", Fault: llm.FaultRateLimited}
			}
		},
		"later": func(w *world) {
			w.provider.state = func(*handedIn) (llm.BatchState, error) {
				return llm.BatchState{Phase: llm.BatchFailed, Fault: llm.FaultRateLimited, Err: "too many tokens"}, nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.say("g1", 1, "note tea g1 likes tea.")
			w.options = func(o *batch.Options) { o.Deadline, o.Poll = time.Hour, 20*time.Minute }
			full(w)
			w.inBatches()
			w.want(`select tier || count(*) from llm_calls group by tier`, "standard1")
			if waited := w.clock.Since(noon); waited < time.Hour {
				t.Errorf("asked directly after %v", waited)
			}
		})
	}
}
