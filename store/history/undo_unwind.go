package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
)

// lineageReturn is what an undo does to a touched lineage.
type lineageReturn struct {
	touchedRow
	ends    bool   // its head ends
	newID   string // id of the version that brings the base back, "" for none
	weakens bool   // the strength and support of its head change in place
	left    string // why the base does not come back, "" where it does
	stays   bool   // it is left as it is, with its evidence

	strength  float64
	supported time.Time
}

// written reports whether the undo writes to the lineage.
func (w lineageReturn) written() bool { return w.ends || w.newID != "" || w.weakens }

// goesBack reports whether the lineage goes back to its base. If others have changed it since, that needs force.
func (r touchedRow) goesBack(force bool) bool {
	return r.Changed && (r.Mine && (r.BaseID != nil || r.isLive()) || !r.Mine && force && !r.isBack())
}

// unwind decides the new state of all lineages. It is pure except for the ids of new versions.
func unwind(rows []touchedRow, force bool) (list []lineageReturn) {
	goes := map[string]bool{}
	for _, r := range rows {
		goes[r.LineageID] = r.goesBack(force)
	}
	free := freeStatements(rows, goes)
	for _, r := range rows {
		w := lineageReturn{touchedRow: r}
		w.strength, w.supported = r.strengthOf()
		switch {
		case goes[r.LineageID] && r.BaseID != nil && (r.Held || free[r.LineageID]):
			w.ends, w.newID = r.isLive(), reverie.NewID()
		case goes[r.LineageID] && r.BaseID != nil:
			w.ends, w.left = r.isLive(), "another memory says by now what it would say again"
		case goes[r.LineageID]:
			w.ends = true
		case r.Changed && !r.Mine && !r.isBack():
			w.left, w.stays = r.since(), true
		case r.isLive():
			w.weakens = (r.Withdrawn > 0 || r.Exact && !r.Changed) && (w.strength != r.Strength ||
				!w.supported.Equal(r.LastSupportedAt))
		}
		list = append(list, w)
	}
	return list
}

// lineagesOf returns the lineages that satisfy is.
func lineagesOf(list []lineageReturn, is func(lineageReturn) bool) pq.StringArray {
	ids := pq.StringArray{}
	for _, w := range list {
		if is(w) {
			ids = append(ids, w.LineageID)
		}
	}
	return ids
}

// freeStatements returns the returning lineages whose former statement is free: no memory that stays has it. If several
// lineages would have the same statement, the one whose base is just before the runs comes first, then one by a person,
// then the oldest. Held lineages have no active statement.
func freeStatements(rows []touchedRow, goes map[string]bool) map[string]bool {
	back := slices.DeleteFunc(slices.Clone(rows), func(r touchedRow) bool {
		return !goes[r.LineageID] ||
			r.BaseID == nil || r.Held
	})
	slices.SortStableFunc(back, func(a, b touchedRow) int {
		return cmp.Or(first(a.JustBefore, b.JustBefore), first(a.ByPerson, b.ByPerson), cmp.Compare(a.LineageID, b.LineageID))
	})
	free, taken := map[string]bool{}, map[string]bool{}
	for _, r := range back {
		text := r.BaseKind + "\x00" + r.BaseHash
		if (r.TwinID == nil || goes[*r.TwinID]) && !taken[text] {
			free[r.LineageID], taken[text] = true, true
		}
	}
	return free
}

// first orders a before b if only a is true.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
