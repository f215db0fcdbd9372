package history

import (
	"cmp"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
)

// lineageReturn is what taking runs back writes to one lineage.
type lineageReturn struct {
	TouchedRow
	ends    bool   // its head stops being active
	newID   string // of the version that brings the base back, "" for none
	weakens bool   // its head gets strength and supported in place

	strength  float64
	supported time.Time
}

// returns are what taking runs back writes, lineage by lineage, and what it leaves.
type returns struct {
	rows []TouchedRow // all that was touched
	list []lineageReturn
	left []leftLineage
}

// leftLineage is one that is not brought back to what it was.
type leftLineage struct {
	TouchedRow
	reason string
	stays  bool // as it is, with all that it rests on
}

// goes tells whether the lineage goes back to its base. What others have changed since does
// so by force only.
func (r TouchedRow) goes(force bool) bool {
	return r.Changed && (r.Mine && (r.BaseID != nil || r.stands()) || !r.Mine && force && !r.isBack())
}

// unwind decides what becomes of all lineages. It is pure but for the ids of new versions.
func unwind(rows []TouchedRow, force bool) returns {
	res := returns{rows: rows}
	goes := map[string]bool{}
	for _, r := range rows {
		goes[r.LineageID] = r.goes(force)
	}
	free := freeStatements(rows, goes)
	for _, r := range rows {
		w := lineageReturn{TouchedRow: r}
		w.strength, w.supported = r.StrengthOf()
		switch {
		case goes[r.LineageID] && r.BaseID != nil && (r.Held || free[r.LineageID]):
			w.ends, w.newID = r.stands(), reverie.NewID()
		case goes[r.LineageID]:
			if w.ends = r.BaseID == nil || r.stands(); r.BaseID != nil {
				res.left = append(res.left, leftLineage{r, "another memory says by now what it would say again", false})
			}
		case r.Changed && !r.Mine && !r.isBack():
			res.left = append(res.left, leftLineage{r, r.since(), true})
		case r.stands():
			w.weakens = (r.Withdrawn > 0 || r.Exact && !r.Changed) && (w.strength != r.Strength ||
				!w.supported.Equal(r.LastSupportedAt))
		}
		if w.ends || w.newID != "" || w.weakens {
			res.list = append(res.list, w)
		}
	}
	return res
}

// counts are how many lineages are brought back, end, and lose support alone.
func (r returns) counts() (restored, deprecated, weakened int) {
	for _, w := range r.list {
		switch {
		case w.newID != "":
			restored++
		case w.ends:
			deprecated++
		default:
			weakened++
		}
	}
	return restored, deprecated, weakened
}

// stay names the lineages that are left as they are, with all that they rest on.
func (r returns) stay() pq.StringArray {
	ids := pq.StringArray{}
	for _, l := range r.left {
		if l.stays {
			ids = append(ids, l.LineageID)
		}
	}
	return ids
}

// goes names the lineages that say something else than before, or nothing.
func (r returns) goes() pq.StringArray {
	ids := pq.StringArray{}
	for _, w := range r.list {
		if !w.weakens {
			ids = append(ids, w.LineageID)
		}
	}
	return ids
}

// freeStatements tells which of the lineages that go back can say again what they said:
// no other memory that stays says it, and of several that come back with it, the one that
// said it until the runs wrote is first, then a person's, then the oldest. Those that are held
// say nothing.
func freeStatements(rows []TouchedRow, goes map[string]bool) map[string]bool {
	back := slices.DeleteFunc(slices.Clone(rows), func(r TouchedRow) bool {
		return !goes[r.LineageID] ||
			r.BaseID == nil || r.Held
	})
	slices.SortStableFunc(back, func(a, b TouchedRow) int {
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
