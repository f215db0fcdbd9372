package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
)

// lineageReturn is what taking a run back does to a lineage that the run has touched.
type lineageReturn struct {
	touchedRow
	ends    bool   // its head stops being active
	newID   string // of the version that brings the base back, "" for none
	weakens bool   // its head gets strength and supported in place
	left    string // why it is not brought back to what it was, "" where it is
	stays   bool   // as it is, with all that it rests on

	strength  float64
	supported time.Time
}

// written tells whether anything is written of the lineage.
func (w lineageReturn) written() bool { return w.ends || w.newID != "" || w.weakens }

// goes tells whether the lineage goes back to its base. What others have changed since does
// so by force only.
func (r touchedRow) goes(force bool) bool {
	return r.Changed && (r.Mine && (r.BaseID != nil || r.stands()) || !r.Mine && force && !r.isBack())
}

// unwind decides what becomes of all lineages. It is pure but for the ids of new versions.
func unwind(rows []touchedRow, force bool) (list []lineageReturn) {
	goes := map[string]bool{}
	for _, r := range rows {
		goes[r.LineageID] = r.goes(force)
	}
	free := freeStatements(rows, goes)
	for _, r := range rows {
		w := lineageReturn{touchedRow: r}
		w.strength, w.supported = r.strengthOf()
		switch {
		case goes[r.LineageID] && r.BaseID != nil && (r.Held || free[r.LineageID]):
			w.ends, w.newID = r.stands(), reverie.NewID()
		case goes[r.LineageID] && r.BaseID != nil:
			w.ends, w.left = r.stands(), "another memory says by now what it would say again"
		case goes[r.LineageID]:
			w.ends = true
		case r.Changed && !r.Mine && !r.isBack():
			w.left, w.stays = r.since(), true
		case r.stands():
			w.weakens = (r.Withdrawn > 0 || r.Exact && !r.Changed) && (w.strength != r.Strength ||
				!w.supported.Equal(r.LastSupportedAt))
		}
		list = append(list, w)
	}
	return list
}

// lineagesOf are the lineages of which something is so.
func lineagesOf(list []lineageReturn, is func(lineageReturn) bool) pq.StringArray {
	ids := pq.StringArray{}
	for _, w := range list {
		if is(w) {
			ids = append(ids, w.LineageID)
		}
	}
	return ids
}

// freeStatements tells which of the lineages that go back can say again what they said:
// no other memory that stays says it, and of several that come back with it, the one that
// said it until the runs wrote is first, then a person's, then the oldest. Those that are held
// say nothing.
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

// first compares two of which one that is so comes first.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
