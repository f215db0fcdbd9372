package store

import (
	"cmp"
	"slices"
	"time"

	"reverie"
)

const (
	// touchedLineages are the lineages that the runs wrote or supported, and those that
	// were archived since the first of them began, of the kind that evolve compares with.
	touchedLineages = `
		changed as (
			select m.lineage_id, array_agg(c.memory_id) filter (where c.action = 'delete') as deleted
			from memory_change_log c join memories m on m.group_id = c.group_id and m.memory_id = c.memory_id
			where c.group_id = $1 and c.run_id = any ($2::uuid[])
			group by m.lineage_id),
		supported as (
			select lineage_id, count(*) filter (where action <> 'delete') as withdrawn
			from memory_evidence where group_id = $1 and run_id = any ($2::uuid[])
			group by lineage_id),
		archived as (
			select lineage_id from memories m
			where group_id = $1 and kind = 'group' and status = 'archived'
				and ended_at >= (select min(started_at) from runs where group_id = $1 and run_id = any ($2::uuid[]))
				and not exists (select 1 from memories n where n.group_id = $1 and n.lineage_id = m.lineage_id and n.version > m.version)),
		touched as (
			select lineage_id, c.lineage_id is not null as changed, c.deleted, coalesce(s.withdrawn, 0) as withdrawn,
				a.lineage_id is not null as archived
			from changed c full join supported s using (lineage_id) full join archived a using (lineage_id))`

	lockTouchedQuery = `with ` + touchedLineages + `
		select 1 from memories where group_id = $1 and lineage_id in (select lineage_id from touched)
		order by lineage_id, version for update`

	// Of each touched lineage: its newest version, the newest one that no run made
	// which is or was taken back and that still says something, what evidence is left, and what persons set. A
	// version that brings back an older one has that one's run, so that it goes
	// when that run goes.
	touchedQuery = `with ` + touchedLineages + `,
		versions as (
			select m.*, r.undone_at is not null or coalesce(m.run_id = any ($2::uuid[]), false) as undone
			from memories m left join runs r on r.group_id = m.group_id and r.run_id = m.run_id
			where m.group_id = $1 and m.lineage_id in (select lineage_id from touched)),
		heads as (select distinct on (lineage_id) * from versions order by lineage_id, version desc),
		bases as (select distinct on (lineage_id) * from versions where not undone and statement <> '` + reverie.Erased + `' order by lineage_id, version desc),
		dates as (
			select lineage_id, local_date, min(created_at) as known_at, max(sent_at) as sent_at
			from memory_evidence
			where group_id = $1 and action <> 'delete' and withdrawn_at is null
				and lineage_id in (select lineage_id from touched) and (run_id is null or run_id <> all ($2::uuid[]))
			group by lineage_id, local_date),
		edits as (
			select m.lineage_id, max(m.updated_at) filter (where c.action = 'restore') as restored_at,
				max(c.created_at) filter (where c.strength is not null) as set_at,
				(array_agg(c.strength order by c.created_at desc, c.change_id desc) filter (where c.strength is not null))[1] as strength
			from memory_change_log c join memories m on m.group_id = c.group_id and m.memory_id = c.memory_id
			where c.group_id = $1 and c.action in ('restore', 'strength')
			group by m.lineage_id),
		support as (
			select d.lineage_id, count(*) filter (where e.set_at is null or d.known_at > e.set_at) as dates, max(d.sent_at) as sent_at
			from dates d left join edits e using (lineage_id)
			group by d.lineage_id)
		select t.lineage_id, h.status = 'held' or coalesce(q.held, false) as held, coalesce(t.changed, false) as changed, coalesce(t.withdrawn, 0) as withdrawn, t.archived, h.memory_id as head_id, h.version, h.status, h.statement, h.strength,
			h.last_supported_at, coalesce(h.memory_id = any (t.deleted), false) as deleted,
			b.memory_id as base_id, coalesce(b.statement, '') as base_statement, coalesce(b.content_hash, '') as base_hash,
			coalesce(b.kind, '') as base_kind, b.run_id is null as by_person,
			coalesce(b.strength, 0) as base_strength, coalesce(b.last_supported_at, h.last_supported_at) as base_supported_at,
			e.strength as set_strength, coalesce(s.dates, 0) as dates, greatest(s.sent_at, e.restored_at) as supported_at,
			e.set_at, w.lineage_id as twin_id
		from touched t
		join heads h using (lineage_id)
		left join bases b using (lineage_id)
		left join edits e using (lineage_id)
		left join support s using (lineage_id)
		left join rejudgements q on q.group_id = $1 and q.lineage_id = t.lineage_id and q.run_id = any ($2::uuid[])
		left join memories w on w.group_id = $1 and w.kind = b.kind and w.content_hash = b.content_hash and w.status = 'active'
			and w.lineage_id <> t.lineage_id
		order by t.lineage_id`
)

// touchedRow is a lineage that runs wrote or supported which are taken back, or that
// was archived since.
type touchedRow struct {
	LineageID string `db:"lineage_id"`
	Changed   bool   `db:"changed"`   // the runs wrote it, and did not only support it
	Withdrawn int    `db:"withdrawn"` // evidence of theirs that supported it
	Deleted   bool   `db:"deleted"`   // the newest version was ended by one of them

	Archived bool `db:"archived"` // the newest version was archived since
	Held     bool `db:"held"`     // it waits to be judged again, or did when they judged it

	HeadID          string         `db:"head_id"` // the newest version, whatever its status
	Version         int            `db:"version"`
	Status          reverie.Status `db:"status"`
	Statement       string         `db:"statement"`
	Strength        float64        `db:"strength"`
	LastSupportedAt time.Time      `db:"last_supported_at"`

	BaseID          *string   `db:"base_id"` // the newest version that is not theirs, nil if there is none
	BaseStatement   string    `db:"base_statement"`
	BaseHash        string    `db:"base_hash"`
	BaseKind        string    `db:"base_kind"`
	BaseStrength    float64   `db:"base_strength"`
	BaseSupportedAt time.Time `db:"base_supported_at"`
	ByPerson        bool      `db:"by_person"` // the base is a person's

	SetStrength *float64   `db:"set_strength"` // by a person, last, or lifted by restoring
	Dates       int        `db:"dates"`        // of the evidence that is left, since then
	SupportedAt *time.Time `db:"supported_at"` // by the evidence that is left, or by being restored
	SetAt       *time.Time `db:"set_at"`
	TwinID      *string    `db:"twin_id"` // another lineage that says now what the base says
}

// stands tells whether the newest version is the lineage's head, recalled or held.
func (r touchedRow) stands() bool {
	return r.Status == reverie.StatusActive || r.Status == reverie.StatusHeld
}

// comesBack tells whether the runs changed what the lineage says, or it was archived
// since, and no person has decided on it since.
func (r touchedRow) comesBack() bool {
	return r.BaseID != nil && (r.Deleted || r.Archived || r.stands() && *r.BaseID != r.HeadID)
}

// anew tells whether strength is computed anew: evidence goes, or, of what was
// archived, evidence or a person tells what it was before it decayed.
func (r touchedRow) anew() bool {
	return r.Withdrawn > 0 || r.Archived && (r.Dates > 0 || r.SetStrength != nil)
}

// strengthOf is a lineage's strength and time of support once the runs' evidence
// is withdrawn. Supports raise strength in place, so that what it was before
// them is not stored; it is computed anew, as the steps of all evidence that is
// left: from a tentative memory's, or from what a person set last, on to each
// date of evidence that came after. Where no evidence goes, and nothing was archived,
// what is stored is right.
func (r touchedRow) strengthOf() (float64, time.Time) {
	if !r.anew() {
		return r.BaseStrength, r.BaseSupportedAt
	}
	strength := reverie.Reinforce(reverie.TentativeStrength, r.Dates-1)
	if r.SetStrength != nil {
		strength = reverie.Reinforce(*r.SetStrength, r.Dates)
	}
	if r.SupportedAt == nil {
		return strength, r.BaseSupportedAt
	}
	return strength, *r.SupportedAt
}

// lineageReturn is what a rewind writes to one lineage.
type lineageReturn struct {
	touchedRow
	ends    bool   // its head stops being active
	newID   string // of the version that brings the base back, "" for none
	weakens bool   // its head gets strength and supported in place

	strength  float64
	supported time.Time
}

// unwind decides what becomes of each lineage, and counts it. It is pure but for
// the ids of new versions.
func unwind(rows []touchedRow, result *reverie.Rewound) []lineageReturn {
	free := freeStatements(rows)
	var list []lineageReturn
	for _, r := range rows {
		w := lineageReturn{touchedRow: r}
		w.strength, w.supported = r.strengthOf()
		skip := ""
		switch {
		case r.comesBack() && (r.Held || free[r.LineageID]):
			w.ends, w.newID = r.stands(), reverie.NewID()
			result.Restored++
		case r.comesBack():
			skip = "another memory says by now what it would say again"
			w.ends = r.stands()
		case r.BaseID == nil && (r.stands() || r.Archived):
			w.ends = true
		case r.stands():
			w.weakens = r.Withdrawn > 0 && (w.strength != r.Strength || !w.supported.Equal(r.LastSupportedAt))
			if r.Changed {
				skip = "a person restored it since"
				result.Kept++
			}
		case r.Deleted: // born and gone within the runs
		case r.Status == reverie.StatusArchived:
			skip = "it is archived, and stays so"
		default:
			skip = "a person deleted it since; its messages may bring it up again"
			result.Kept++
		}
		if skip != "" {
			result.Skipped = append(result.Skipped, reverie.RewindSkip{MemoryID: r.HeadID, Statement: r.Statement, Reason: skip})
		}
		if w.ends && w.newID == "" {
			result.Deprecated++
		}
		if w.weakens {
			result.Weakened++
		}
		if w.ends || w.newID != "" || w.weakens {
			list = append(list, w)
		}
	}
	return list
}

// freeStatements tells which lineages can say again what they said: no other
// memory that stays says it, and of several that come back with it, a person's
// is first, then the oldest. Those that are held say nothing.
func freeStatements(rows []touchedRow) map[string]bool {
	leaves := map[string]bool{}
	for _, r := range rows {
		leaves[r.LineageID] = r.comesBack() || r.BaseID == nil
	}
	back := slices.DeleteFunc(slices.Clone(rows), func(r touchedRow) bool { return !r.comesBack() || r.Held })
	slices.SortStableFunc(back, func(a, b touchedRow) int {
		if a.ByPerson != b.ByPerson {
			if a.ByPerson {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.LineageID, b.LineageID)
	})
	free, taken := map[string]bool{}, map[string]bool{}
	for _, r := range back {
		text := r.BaseKind + "\x00" + r.BaseHash
		if (r.TwinID == nil || leaves[*r.TwinID]) && !taken[text] {
			free[r.LineageID], taken[text] = true, true
		}
	}
	return free
}
