package history

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// Entities that the run made, named, or wrote claims or evidence about.
	touchedEntities = `select entity_id from entities where group_id = $1 and run_id = $2::uuid
		union select entity_id from entity_names where group_id = $1 and run_id = $2::uuid
		union select entity_id from entity_claims where group_id = $1 and run_id = $2::uuid
		union select entity_id from entity_evidence where group_id = $1 and run_id = $2::uuid
		union select entity_id from entity_change_log where group_id = $1 and run_id = $2::uuid`

	// stillSpeaks is true of evidence v of run r if it supports a claim without the given run, and r is not undone.
	stillSpeaks = `v.withdrawn_at is null and v.run_id is distinct from $2::uuid and r.undone_at is null`

	// Writers of claims, and merges of entities, take the same lock.
	lockTouchedEntitiesQuery = `select 1 from entities where group_id = $1 and (
			entity_id in (` + touchedEntities + `) or merged_into in (` + touchedEntities + `))
		order by entity_id for update`

	// Entities that the run made, with what others have added since. Also entities of runs undone before that were kept
	// because this run had added to them.
	madeEntitiesQuery = `select e.entity_id, e.subject, e.run_id = $2::uuid as own, e.merged_into is not null as merged,
			exists (select 1 from entities m where m.group_id = $1 and m.merged_into = e.entity_id) as joined,
			exists (select 1 from entity_names n left join runs r on r.group_id = $1 and r.run_id = n.run_id
				where n.group_id = $1 and n.entity_id = e.entity_id and n.ended_at is null and n.run_id is distinct from $2::uuid
					and r.undone_at is null)
			or exists (select 1 from entity_claims c left join runs r on r.group_id = $1 and r.run_id = c.run_id
				where c.group_id = $1 and (c.entity_id = e.entity_id or c.target_id = e.entity_id)
					and c.status = 'active' and c.run_id is distinct from $2::uuid and r.undone_at is null) as added,
			exists (select 1 from entity_claims c join entity_evidence v on v.group_id = $1 and v.claim_id = c.claim_id
				left join runs r on r.group_id = $1 and r.run_id = v.run_id
				where c.group_id = $1 and (c.entity_id = e.entity_id or c.target_id = e.entity_id) and c.status = 'active'
					and ` + stillSpeaks + `) as supported
		from entities e where e.group_id = $1 and e.status <> 'withdrawn' and (e.run_id = $2::uuid
			or e.entity_id in (` + touchedEntities + `) and (select r.undone_at from runs r where r.group_id = $1
				and r.run_id = e.run_id) is not null)
		order by e.entity_id`

	namesOfRunQuery = `select name_id, entity_id, name from entity_names
		where group_id = $1 and run_id = $2::uuid and ended_at is null order by created_at, name_id`
)

// Each lineage that the run wrote or supported, with its newest version and its base. The base is the newest version
// before the run's own whose run is not undone. A version that brings back an older one has the run of the older one.
// The evidence of both is counted without the run. A claim that this run only supported may still be active just for
// that support, if the run that wrote it was undone.
var touchedClaimsQuery = `with lineages as (
		select lineage_id, min(version) as first from entity_claims where group_id = $1 and run_id = $2::uuid
			group by lineage_id
		union all
		select e.lineage_id, null from entity_evidence e where e.group_id = $1 and e.run_id = $2::uuid
			and e.withdrawn_at is null
			and not exists (select 1 from entity_claims c where c.group_id = $1 and c.lineage_id = e.lineage_id
				and c.run_id = $2::uuid)
		group by e.lineage_id)
	select l.lineage_id, l.first is not null as written, h.claim_id as head_id, h.version, h.entity_id, h.name, h.value,
		h.strength,
		h.last_supported_at, h.status = 'active' as stands, h.run_id is not distinct from $2::uuid as own,
		hr.undone_at is not null as orphan, hs.dates, hs.last_at, hs.lost, hs.by_run, b.claim_id as base_id,
			coalesce(b.value, '') as base_value, coalesce(b.strength, 0) as base_strength,
		coalesce(b.last_supported_at, h.last_supported_at) as base_supported_at, coalesce(bs.dates, 0) as base_dates,
			bs.last_at as base_last_at,
		h.entity_id::text || h.aspect || h.name_key || h.self || coalesce(b.content_hash, '') as text,
			w.lineage_id as twin_id
	from lineages l
	cross join lateral (select * from entity_claims c where c.group_id = $1 and c.lineage_id = l.lineage_id
		order by c.version desc limit 1) h
	left join runs hr on hr.group_id = $1 and hr.run_id = h.run_id
	left join lateral (select c.* from entity_claims c left join runs r on r.group_id = $1
		and r.run_id = c.run_id
		where c.group_id = $1 and c.lineage_id = l.lineage_id and c.version < coalesce(l.first, h.version)
			and r.undone_at is null
		order by c.version desc limit 1) b on true
	cross join lateral (` + speaksFor("h.claim_id") + `) hs
	left join lateral (` + speaksFor("b.claim_id") + `) bs on true
	left join entity_claims w on w.group_id = $1 and w.entity_id = b.entity_id and w.aspect = b.aspect
		and w.name_key = b.name_key
		and w.self = b.self and w.content_hash = b.content_hash and w.status = 'active' and w.lineage_id <> b.lineage_id
	order by l.lineage_id`

// speaksFor counts the dates of the messages that support a claim, without the given run and undone runs.
func speaksFor(claim string) string {
	return `select count(distinct v.local_date) filter (where ` + stillSpeaks + `) as dates, max(v.sent_at)
		filter (where ` + stillSpeaks + `) as last_at,
			coalesce((array_agg(v.run_id::text order by v.evidence_no desc) filter (where ` + stillSpeaks + `
				and v.run_id is not null))[1], '') as by_run,
			count(*) filter (where v.run_id = $2::uuid) as lost
		from entity_evidence v left join runs r on r.group_id = $1 and r.run_id = v.run_id
		where v.group_id = $1 and v.claim_id = ` + claim + ` and v.withdrawn_at is null`
}

// touchedClaim is a lineage of claims that the run wrote or supported.
type touchedClaim struct {
	LineageID string `db:"lineage_id"`
	Written   bool   `db:"written"` // the run wrote a version, and did not only support one

	HeadID          string     `db:"head_id"` // the newest version
	Version         int        `db:"version"`
	EntityID        string     `db:"entity_id"`
	Name            string     `db:"name"`
	Value           string     `db:"value"`
	Strength        float64    `db:"strength"`
	LastSupportedAt time.Time  `db:"last_supported_at"`
	Stands          bool       `db:"stands"` // it is active
	Own             bool       `db:"own"`    // the run wrote the newest version
	Orphan          bool       `db:"orphan"` // the run that wrote the newest version is undone
	Dates           int        `db:"dates"`  // dates on which other runs have supported it
	By              string     `db:"by_run"` // the last of those runs
	LastAt          *time.Time `db:"last_at"`
	Lost            int        `db:"lost"` // messages by which this run has supported it

	BaseID          *string    `db:"base_id"` // the version before the run's, nil if there is none
	BaseValue       string     `db:"base_value"`
	BaseStrength    float64    `db:"base_strength"`
	BaseSupportedAt time.Time  `db:"base_supported_at"`
	BaseDates       int        `db:"base_dates"`
	BaseLastAt      *time.Time `db:"base_last_at"`
	Text            string     `db:"text"` // two active claims may not have the same text
	TwinID          *string    `db:"twin_id"`
}

func (c touchedClaim) words(value string) string {
	return reverie.Claim{Name: c.Name, Value: value}.Text()
}

// madeEntity is an entity that the run made.
type madeEntity struct {
	ID      string `db:"entity_id"`
	Subject string `db:"subject"`
	Own     bool   `db:"own"`       // this run made it, not a run undone before
	Merged  bool   `db:"merged"`    // a person has merged it into another
	Joined  bool   `db:"joined"`    // a person has merged others into it
	Added   bool   `db:"added"`     // another run has named it, or wrote a claim about it
	Said    bool   `db:"supported"` // another run has supported a claim about it
}

// entityUndo is what the undo of a run changes in people and things.
type entityUndo struct {
	groupID, runID string
	reason         string
	at             time.Time

	gone    pq.StringArray       // entities to withdraw
	names   []reverie.EntityName // names to end
	list    []claimReturn
	settled pq.StringArray // lineages whose evidence from the run is withdrawn
	left    []reverie.UndoLeft
}

// claimReturn is the new state of a claim without the run's evidence.
type claimReturn struct {
	touchedClaim
	ends      bool
	newID     string // id of the version that brings the base back, "" for none
	strength  float64
	supported time.Time
}

// undoEntities undoes what a run of the impression job did to a group's people and things. It is part of the
// transaction that undoes the run. Nothing is deleted:
//
//   - Claims that the run wrote end. Claims that it replaced come back as new versions, with
//     the strength of the messages that still support them. Claims that it only supported
//     lose that support.
//   - Names that it added end. Entities that it made are withdrawn: no search finds them.
//   - Observations that it settled are pending again; those that it left pending expire.
//
// Its messages stay used: see requeueObserved.
//
// What others have changed since is kept and listed: a claim that another run has replaced or supported, and an entity
// that another run has added to or supported, or that a person has merged. A supported claim gets the strength of the
// other support. A kept entity keeps its names. With q.Force these are undone, too. Otherwise the undo of the other run
// also undoes what was kept for it. A former claim does not come back if no message supports it any more. A repeated
// undo finds nothing to do.
func (h *History) undoEntities(ctx context.Context, t *pg.Tx, q reverie.UndoQuery, run reverie.Run, at time.Time,
	result *reverie.Undone) error {
	u := &entityUndo{groupID: q.GroupID, runID: run.ID, reason: cmp.Or(q.Reason, fmt.Sprintf("undo of run %s", run.ID)),
		at: at}
	if err := t.Exec(ctx, lockTouchedEntitiesQuery, q.GroupID, run.ID); err != nil {
		return err
	}
	made, err := pg.Select[madeEntity](ctx, t, madeEntitiesQuery, q.GroupID, run.ID)
	if err != nil {
		return err
	}
	stays := u.withdraw(made, q.Force)
	names, err := pg.Select[reverie.EntityName](ctx, t, namesOfRunQuery, q.GroupID, run.ID)
	if err != nil {
		return err
	}
	for _, n := range names {
		if !stays[n.EntityID] {
			u.names = append(u.names, n)
		}
	}
	rows, err := pg.Select[touchedClaim](ctx, t, touchedClaimsQuery, q.GroupID, run.ID)
	if err != nil {
		return err
	}
	u.claims(rows, q.Force)
	result.Left = append(result.Left, u.left...)
	result.Entities += len(u.touched())
	return u.write(ctx, t)
}

// withdraw decides which of the entities that the run made are withdrawn, and lists those that stay.
func (u *entityUndo) withdraw(made []madeEntity, force bool) (stays map[string]bool) {
	stays = map[string]bool{}
	for _, e := range made {
		why := ""
		switch {
		case force && e.Own:
		case e.Merged:
			why = "a person has made it part of another since"
		case e.Joined:
			why = "a person has made others part of it since"
		case e.Added:
			why = "another run has added to it since"
		case e.Said:
			why = "another run has supported what is said of it since"
		}
		if why == "" {
			u.gone = append(u.gone, e.ID)
			continue
		}
		if !e.Own { // the undo of its own run has listed it already
			continue
		}
		stays[e.ID] = true
		u.left = append(u.left, reverie.UndoLeft{EntityID: e.ID, Statement: e.Subject, Reason: why})
	}
	return stays
}

// claims decides the new state of each lineage.
func (u *entityUndo) claims(rows []touchedClaim, force bool) {
	leaves, taken := map[string]bool{}, map[string]bool{}
	for _, c := range rows {
		leaves[c.LineageID] = c.leaves(force)
	}
	for _, c := range rows {
		tell := func(why string) {
			u.left = append(u.left, reverie.UndoLeft{EntityID: c.EntityID, Statement: c.words(c.Value), Reason: why})
		}
		if c.Written && c.Stands && !c.Own && !force {
			tell("another run has replaced what was said since")
			continue
		}
		u.settled = append(u.settled, c.LineageID)
		r := c.without(c.Dates, c.LastAt, c.Strength, c.LastSupportedAt)
		r.ends = leaves[c.LineageID]
		switch {
		case !c.Stands: // it has ended already
			continue
		case !r.ends:
			if c.Written {
				tell(c.supporter() + " has supported it since")
			}
			if c.Lost == 0 {
				continue
			}
		case c.BaseID == nil:
		case c.BaseDates == 0:
			tell("nobody speaks any more for what was said before")
		case c.TwinID != nil && !leaves[*c.TwinID] || taken[c.Text]:
			tell("another claim says by now what it would say again")
		default:
			taken[c.Text] = true
			r = c.without(c.BaseDates, c.BaseLastAt, c.BaseStrength, c.BaseSupportedAt)
			r.ends, r.newID = true, reverie.NewID()
		}
		u.list = append(u.list, r)
	}
}

// leaves reports whether the undo ends the active claim. A claim of the run ends unless others have supported it. A
// claim whose run was undone before ends with the last run that supported it.
func (c touchedClaim) leaves(force bool) bool {
	switch {
	case !c.Stands:
		return false
	case c.Written:
		return force || c.Own && c.Dates == 0
	}
	return c.Orphan && c.Lost > 0 && c.Dates == 0
}

func (c touchedClaim) supporter() string {
	if c.By == "" {
		return "somebody else"
	}
	return "run " + c.By
}

// without returns a claim with the strength that its other messages give, by the number of their dates. Without such
// messages it keeps its strength.
func (c touchedClaim) without(dates int, last *time.Time, strength float64, supported time.Time) claimReturn {
	r := claimReturn{touchedClaim: c, strength: strength, supported: supported}
	if dates > 0 && last != nil {
		r.strength, r.supported = reverie.Reinforce(reverie.TentativeStrength, dates-1), *last
	}
	return r
}

// touched returns the entities that the undo changes.
func (u *entityUndo) touched() map[string]bool {
	ids := map[string]bool{}
	for _, id := range u.gone {
		ids[id] = true
	}
	for _, n := range u.names {
		ids[n.EntityID] = true
	}
	for _, c := range u.list {
		ids[c.EntityID] = true
	}
	return ids
}
