package store_test

import (
	"encoding/json"
	"fmt"
	stdmaps "maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/store/pgtest"
)

// No method of the store returns a row of a group other than the one that it is asked
// for, or changes one. Each is called for one group, with ids that another group has, too,
// and with ids that only a third one has; after it nothing of theirs may have been
// returned, nor be otherwise than before. That the call does anything at all shows in what
// it returns, or changes, for the group it names. And it must return the same as while
// there was no other group: numbers tell of rows, too.
//
// A method that this test does not know fails it. Then add it to calls in
// isolation_calls_test.go, and to numbers if no text of the group is in what it returns;
// or to ofAllGroups, with the reason why it is about no one group.
func TestNoMethodReachesAnotherGroup(t *testing.T) {
	pgtest.OnOneServer(t, "rows are seeded without what they refer to")
	w := newIsolated(t)
	known := methodsOf(reflect.TypeFor[parts]())
	for name := range known {
		if calls[name] == nil && ofAllGroups[name] == "" {
			t.Errorf("Store.%s is not known here: see the comment of this test", name)
		}
	}
	names, alone := slices.Sorted(stdmaps.Keys(calls)), map[string]string{}
	before := w.state()
	for _, name := range names {
		if !known[name] || ofAllGroups[name] != "" {
			t.Errorf("Store.%s is gone, or of all groups", name)
		}
		for _, ids := range []string{home, far} {
			_, results := w.try(name, ids, before)
			alone[name+ids] = told(results)
		}
	}
	w.seed(twin)
	w.seed(far)
	before = w.state()
	for _, table := range slices.Sorted(stdmaps.Keys(w.tables)) {
		if before[home][table] == "" || before[twin][table] == "" || before[far][table] == "" {
			t.Errorf("table %s has no row of each group", table)
		}
	}
	for _, name := range names {
		for _, ids := range []string{home, far} {
			did, results := w.try(name, ids, before)
			if ids == home && !did && !numbers[name] {
				t.Errorf("%s neither returned nor changed anything of its own group, so nothing is shown: %s", name, told(results))
			}
			if got := told(results); got != alone[name+ids] {
				t.Errorf("%s with ids of %s returned, beside what it did while there was no other group:\n%s", name, ids, cmp.Diff(alone[name+ids], got))
			}
		}
	}
}

// A method that forgets the group is found out: by what it returns, and by what it changes.
func TestLeaksAreFound(t *testing.T) {
	pgtest.OnOneServer(t, "rows are seeded without what they refer to")
	w := newIsolated(t)
	w.seed(twin)
	w.seed(far)
	before := w.state()
	for name, leak := range map[string]func(a asked) []any{
		"reads by id alone": func(a asked) []any {
			return r(w.firstText(`select statement from memories where memory_id = $1 order by group_id desc`, a.mem))
		},
		"reads by the far id": func(a asked) []any {
			return r(w.firstText(`select statement from memories where memory_id = $1`, seedID(a.mem).of(far)))
		},
		"changes by id alone": func(a asked) []any {
			return r(w.db.Exec(`update memories set weight = 0.5 where memory_id = $1`, a.mem))
		},
		"writes into another group":   func(a asked) []any { return r(w.db.Exec(`insert into groups (group_id) values ('b-twin2')`)) },
		"deletes what is of nobody's": func(a asked) []any { return r(w.db.Exec(`delete from message_uses where message_id = $1`, a.msg)) },
	} {
		results := leak(w.asking(home))
		found := leaks(name, results, before, w.state())
		if len(found) == 0 {
			t.Errorf("%s: not found out", name)
		}
		for _, g := range []string{home, twin, far} {
			w.seed(g)
		}
		_, err := w.db.Exec(`delete from groups where group_id = 'b-twin2'`)
		check(t, err)
		before = w.state()
	}
}

// try calls a method with the ids of a group, and tells whether it did anything for home.
func (w *isolated) try(name, ids string, before map[string]map[string]string) (did bool, results []any) {
	w.t.Helper()
	results = calls[name](w.asking(ids))
	after := w.state()
	for _, leak := range leaks(name, results, before, after) {
		w.t.Errorf("with ids of %s, %s", ids, leak)
	}
	texts(reflect.ValueOf(results), 0, func(s string) { did = did || strings.Contains(s, home+"'s ") })
	for _, own := range []string{home, homeTeam} {
		var changed []string
		for table := range w.tables {
			if before[own][table] != after[own][table] {
				changed = append(changed, table)
			}
		}
		if len(changed) > 0 {
			did = true
			w.seedTables(own, changed)
			before[own] = w.state()[own] // rows are numbered anew
		}
	}
	return did, results
}

// fresh is what differs from call to call: ids that are made for it, and the server's clock.
var fresh = regexp.MustCompile(`0[0-9a-f]{7}-[0-9a-f]{4}-7[0-9a-f-]{21}|"evidence_no":[0-9]+|evidence [0-9]+|"ExpiresAt":"[^"]*"|"[^"]*T[0-9:.]+Z"`)

// told is what a call returned, as text, without what is fresh.
func told(results []any) string {
	var b strings.Builder
	for _, result := range results {
		if err, ok := result.(error); ok {
			result = err.Error()
		}
		text, err := json.Marshal(result)
		fmt.Fprintln(&b, string(text), err)
	}
	return fresh.ReplaceAllString(b.String(), "…")
}

// leaks are what a call has given away of groups other than home, or changed of them.
func leaks(name string, results []any, before, after map[string]map[string]string) (found []string) {
	look := func(s string) {
		for _, other := range []string{twin, far} {
			if strings.Contains(s, other) {
				found = append(found, name+" returns "+s)
			}
		}
	}
	for _, result := range results {
		if err, ok := result.(error); ok {
			look(err.Error())
		}
		texts(reflect.ValueOf(result), 0, look)
	}
	for group := range after {
		for table, sum := range after[group] {
			if group != home && group != homeTeam && before[group][table] != sum {
				found = append(found, name+" changes "+table+" of "+group)
			}
		}
	}
	for group := range before {
		for table := range before[group] {
			if group != home && group != homeTeam && after[group][table] == "" {
				found = append(found, name+" deletes all "+table+" of "+group)
			}
		}
	}
	return found
}

func (w *isolated) firstText(query string, args ...any) (s string, err error) {
	err = w.db.QueryRow(query, args...).Scan(&s)
	return s, err
}

func methodsOf(t reflect.Type) map[string]bool {
	found := map[string]bool{}
	for i := range t.NumMethod() {
		found[t.Method(i).Name] = true
	}
	return found
}

// r is what a call returned.
func r(results ...any) []any { return results }
