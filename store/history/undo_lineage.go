package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

const (
	// touchedLineages are the lineages that the runs wrote or supported. Their versions before the column
	// first are older than the runs.
	touchedLineages = `
		changed as (
			select m.lineage_id, array_agg(c.memory_id) filter (where c.action in ('delete', 'archive')) as ended,
				min(case when c.action in ('delete', 'archive') then m.version + 1 else m.version end) as first,
				(array_agg(c.run_id order by c.created_at desc, c.change_id desc))[1] as run_id
			from memory_change_log c join memories m on m.group_id = $1 and m.memory_id = c.memory_id
			where c.group_id = $1 and c.run_id = any ($2::uuid[])
			group by m.lineage_id),
		supported as (
			select lineage_id, count(*) filter (where action <> 'delete') as withdrawn, (array_agg(run_id
				order by evidence_no desc))[1] as run_id
			from memory_evidence where group_id = $1 and run_id = any ($2::uuid[]) and withdrawn_at is null
			group by lineage_id),
		touched as (
			select lineage_id, c.lineage_id is not null as changed, c.ended, c.first, coalesce(s.withdrawn, 0) as withdrawn,
				coalesce(c.run_id, s.run_id) as run_id
			from changed c full join supported s using (lineage_id))`

	lockTouchedQuery = `with ` + touchedLineages + `
		select 1 from memories where group_id = $1 and lineage_id in (select lineage_id from touched)
		order by lineage_id, version for update`
)

// touchedQuery reads each touched lineage, with its newest version (head) and the last change of that, the remaining
// evidence, and the edits by persons.
//
// The base is the newest version of a run that is not undone, or of a person, whose text was not erased. A version that
// brings back an older one has the run of the older one, so that it is undone with that run. If the newest state is not
// the runs', the base is a version from before them.
//
// The aim is the version whose strength counts in the end: the base of a lineage that the runs wrote, else the head.
// Evidence of the lineage supports it if it came before the aim was first written, or if it cites a version with the
// same text. The strength before the runs is exact under two conditions. No evidence that still counts came later, and
// no earlier evidence was withdrawn later.
var touchedQuery = `with ` + touchedLineages + `,
	versions as (
		select m.*, t.first, r.undone_at is not null or coalesce(m.run_id = any ($2::uuid[]), false) as undone,
			coalesce(case when m.status in ('active', 'held') then m.run_id = any ($2::uuid[]) else m.memory_id = any (t.ended)
				end, false) as mine
		from memories m join touched t using (lineage_id) left join runs r on r.group_id = $1
			and r.run_id = m.run_id
		where m.group_id = $1),
	heads as (select distinct on (lineage_id) * from versions order by lineage_id, version desc),
	bases as (
		select distinct on (v.lineage_id) v.* from versions v join heads h using (lineage_id)
		where not v.undone and v.statement <> '` + text.Erased + `' and (h.mine or v.first is null
			or v.version < v.first)
		order by v.lineage_id, v.version desc),
	aims as (
		select x.lineage_id, x.memory_id, x.content_hash, x.going, x.lasting, p.value_no, coalesce(p.valid_until,
			x.ended_at) as since,
			coalesce(p.strength, x.strength) as strength, coalesce(p.last_supported_at, x.last_supported_at) as supported_at,
			(select min(o.version) from memories o where o.group_id = $1 and o.lineage_id = x.lineage_id
				and o.content_hash = x.content_hash and o.run_id is not distinct from x.run_id) as origin
		from (
			select b.*, true as going, true as lasting from bases b join touched t using (lineage_id) where t.changed
			union all
			select h.*, false, t.withdrawn > 0 from heads h join touched t using (lineage_id) where not t.changed) x
		left join lateral (select * from memory_values v where v.group_id = $1 and v.memory_id = x.memory_id
			and v.run_id = any ($2::uuid[])
			order by v.value_no limit 1) p on true),
	dates as (
		select e.lineage_id, e.local_date, min(e.created_at) as known_at, max(e.created_at) as last_at,
			max(e.sent_at) as sent_at
		from memory_evidence e join aims x using (lineage_id) join memories o on o.group_id = $1
			and o.memory_id = e.memory_id
		where e.group_id = $1 and e.action <> 'delete' and e.withdrawn_at is null and (e.run_id is null
			or e.run_id <> all ($2::uuid[]))
			and (o.version <= x.origin or o.content_hash = x.content_hash)
			and not (x.going and ` + undoneRun("e") + `)
		group by e.lineage_id, e.local_date),
	edits as (
		select m.lineage_id, max(m.updated_at) filter (where c.action <> 'strength') as restored_at,
			max(c.created_at) filter (where c.strength is not null) as set_at,
			(array_agg(c.strength order by c.created_at desc, c.change_id desc)
				filter (where c.strength is not null))[1] as strength
		from memory_change_log c join memories m on m.group_id = $1 and m.memory_id = c.memory_id
		where c.group_id = $1 and (c.action in ('restore', 'strength')
			or c.action in ('create', 'update') and c.run_id is null and m.author <> '')
		group by m.lineage_id),
	exact as (
		select x.* from aims x left join edits e using (lineage_id)
		where x.since is not null and (e.set_at is null or e.set_at < x.since)
			and not exists (select 1 from dates d where d.lineage_id = x.lineage_id and d.last_at > x.since)
			and not exists (select 1 from memory_evidence v where v.group_id = $1 and v.lineage_id = x.lineage_id
				and v.action <> 'delete'
				and v.created_at < x.since and (v.withdrawn_at > x.since
					or x.going and v.withdrawn_at is null and v.run_id <> all ($2::uuid[]) and ` + undoneRun("v") + `))
			and (x.lasting or not exists (select 1 from memory_values n where n.group_id = $1 and n.memory_id = x.memory_id
				and n.value_no > x.value_no and n.run_id <> all ($2::uuid[])))),
	last as (
		select distinct on (m.lineage_id) m.lineage_id, c.action, c.run_id, c.undone_run_id
		from memory_change_log c join memories m on m.group_id = $1 and m.memory_id = c.memory_id
		where c.group_id = $1 and m.lineage_id in (select lineage_id from touched) and c.action not in ('strength',
			'weight', 'scope')
			and (c.action <> 'undo' or c.new_statement = '' or c.old_id is distinct from c.memory_id)
		order by m.lineage_id, c.created_at desc, c.change_id desc),
	support as (
		select d.lineage_id, count(*) filter (where e.set_at is null or d.known_at > e.set_at) as dates,
			max(d.sent_at) as sent_at
		from dates d left join edits e using (lineage_id)
		group by d.lineage_id)
	select t.lineage_id, h.status = 'held' or coalesce(q.held, false) as held, t.changed, t.withdrawn,
		t.run_id, h.mine,
		h.memory_id as head_id, h.run_id as head_run_id, h.version, h.status, h.statement, h.tags, h.strength,
			h.last_supported_at,
		coalesce(h.memory_id = any (t.ended), false) as ended, coalesce(l.action, '') as last_action,
			l.run_id as last_run_id, l.undone_run_id,
		b.memory_id as base_id, coalesce(b.statement, '') as base_statement, coalesce(b.content_hash, '') as base_hash,
		coalesce(b.kind, '') as base_kind, b.tags as base_tags, b.run_id is null as by_person,
		coalesce(b.version = t.first - 1, false) as just_before,
		coalesce(b.strength, 0) as base_strength, coalesce(b.last_supported_at, h.last_supported_at) as base_supported_at,
		x.lineage_id is not null as exact, coalesce(x.strength, 0) as exact_strength, coalesce(x.supported_at,
			h.last_supported_at) as exact_supported_at,
		e.strength as set_strength, coalesce(s.dates, 0) as dates, greatest(s.sent_at, e.restored_at) as supported_at,
		w.lineage_id as twin_id,
		exists (select 1 from memory_evidence v where v.group_id = $1 and v.lineage_id = t.lineage_id
			and v.action <> 'delete'
			and v.withdrawn_at is not null) as shaken,
		exists (select 1 from memory_evidence v where v.group_id = $1 and v.lineage_id = t.lineage_id
			and v.run_id = any ($2::uuid[])
			and v.withdrawn_at is not null) or exists (
			select 1 from memory_change_log c join memories m on m.group_id = $1 and m.memory_id = c.memory_id
			where c.group_id = $1 and c.undone_run_id = any ($2::uuid[]) and m.lineage_id = t.lineage_id) as settled
	from touched t
	join heads h using (lineage_id)
	left join bases b using (lineage_id)
	left join edits e using (lineage_id)
	left join last l using (lineage_id)
	left join support s using (lineage_id)
	left join exact x using (lineage_id)
	left join rejudgements q on q.group_id = $1 and q.lineage_id = t.lineage_id and (q.run_id = any ($2::uuid[])
		or ` + undoneRun("q") + `)
	left join memories w on w.group_id = $1 and w.kind = b.kind and w.content_hash = b.content_hash
		and w.status = 'active'
		and w.lineage_id <> t.lineage_id
	order by t.lineage_id`

// undoneRun is true of a row whose run is undone.
func undoneRun(row string) string {
	return `(select r.undone_at from runs r where r.group_id = $1 and r.run_id = ` + row + `.run_id) is not null`
}

// touchedRow is a lineage that the undone runs wrote or supported.
type touchedRow struct {
	LineageID string  `db:"lineage_id"`
	Changed   bool    `db:"changed"`   // the runs wrote it, and did not only support it
	Settled   bool    `db:"settled"`   // an earlier undo of these runs has changed it
	Withdrawn int     `db:"withdrawn"` // how much of its evidence is theirs
	Shaken    bool    `db:"shaken"`    // some of its evidence was withdrawn before
	RunID     *string `db:"run_id"`    // the last of the runs that wrote or supported it
	Mine      bool    `db:"mine"`      // its newest state is theirs
	Ended     bool    `db:"ended"`     // one of them ended the newest version

	Held bool `db:"held"` // it must be judged again, or had to be when they judged it

	HeadID          string         `db:"head_id"` // the newest version, whatever its status
	Version         int            `db:"version"`
	Status          reverie.Status `db:"status"`
	Statement       string         `db:"statement"`
	Tags            pq.StringArray `db:"tags"`
	Strength        float64        `db:"strength"`
	LastSupportedAt time.Time      `db:"last_supported_at"`

	LastAction reverie.Action `db:"last_action"`   // the last change of the newest version
	LastRunID  *string        `db:"last_run_id"`   // the run of that change, nil for a person and for an undo
	UndoneID   *string        `db:"undone_run_id"` // the run that was undone by that change
	HeadRunID  *string        `db:"head_run_id"`   // the run of the newest version, nil for a person

	BaseID          *string        `db:"base_id"` // the version to go back to, nil if there is none
	BaseStatement   string         `db:"base_statement"`
	BaseHash        string         `db:"base_hash"`
	BaseKind        string         `db:"base_kind"`
	BaseTags        pq.StringArray `db:"base_tags"`
	BaseStrength    float64        `db:"base_strength"`
	BaseSupportedAt time.Time      `db:"base_supported_at"`
	ByPerson        bool           `db:"by_person"`   // a person wrote the base
	JustBefore      bool           `db:"just_before"` // the base is the version just before theirs

	Exact            bool      `db:"exact"` // its strength before the runs is stored, and still valid
	ExactStrength    float64   `db:"exact_strength"`
	ExactSupportedAt time.Time `db:"exact_supported_at"`

	SetStrength *float64   `db:"set_strength"` // last set by a person, or by a restore
	Dates       int        `db:"dates"`        // dates of the remaining evidence since then
	SupportedAt *time.Time `db:"supported_at"` // of the remaining evidence, or of a restore
	TwinID      *string    `db:"twin_id"`      // another lineage that now has the statement of the base
}

// isLive reports whether the newest version is active or held.
func (r touchedRow) isLive() bool {
	return r.Status == reverie.StatusActive || r.Status == reverie.StatusHeld
}

// isBack reports whether the lineage has its former state already.
func (r touchedRow) isBack() bool {
	if r.BaseID == nil || !r.isLive() {
		return r.BaseID == nil && !r.isLive()
	}
	return r.Status == reverie.StatusActive && r.Statement == r.BaseStatement && slices.Equal(r.Tags, r.BaseTags)
}

// strengthOf returns the strength and the time of support without the runs' evidence. If the values before the runs are
// known, it returns those. If no evidence is withdrawn, it returns the stored values.
// Otherwise it computes the strength anew from the remaining evidence: it begins with a tentative memory, or with the
// last value that a person set, and reinforces it for each later date.
func (r touchedRow) strengthOf() (float64, time.Time) {
	switch {
	case r.Exact:
		return r.ExactStrength, r.ExactSupportedAt
	case r.Withdrawn == 0 && !r.Shaken:
		return r.BaseStrength, r.BaseSupportedAt
	}
	return reverie.StrengthLeft(r.Dates, r.SetStrength, r.SupportedAt, r.BaseSupportedAt)
}

// since says what others have done last to the lineage. If that was an undo, it names the run or the person of the
// present version.
func (r touchedRow) since() string {
	did := map[reverie.Action]string{reverie.ActionDelete: "deleted", reverie.ActionRestore: "restored",
		reverie.ActionArchive: "archived"}[r.LastAction]
	if did == "" {
		did = "changed"
	}
	by := r.LastRunID
	if r.LastAction == reverie.ActionUndo {
		if !r.isLive() && r.UndoneID != nil {
			return fmt.Sprintf("it ended since, when run %s was undone", *r.UndoneID)
		}
		by = r.HeadRunID
		if by == nil {
			did = "restored"
		}
	}
	if by != nil {
		return fmt.Sprintf("run %s has %s it since", *by, did)
	}
	return "a person " + did + " it since"
}
