package teams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/pg"
)

const (
	lockLineageQuery = `select 1 from memories where group_id = $1 and lineage_id = $2 order by version for update`

	// This searches each group by its index, because there is none over lineages alone.
	newLineageQuery = `select exists (select 1 from memories where memory_id = $2::uuid) or exists (
			select 1 from groups g cross join lateral (
				select 1 from memories m where m.group_id = g.group_id and m.lineage_id = $2::uuid limit 1) found
			where g.group_id <> $1) as taken,
		(select count(*) from memories where group_id = $1 and version = 1) as has`

	// An unchanged statement keeps its vector.
	insertTeamVersionQuery = `insert into memories (group_id, memory_id, lineage_id, parent_id, kind, statement, version,
		status, tags, strength,
			weight, content_hash, change_summary, created_at, updated_at, said_at, ended_at, said_until,
				last_supported_at, embedding, embedding_model)
		select $1, $2::uuid, $3::uuid, p.memory_id, 'team', $5, coalesce(p.version, 0) + 1, $6::text, $7::text[],
			$8::float8,
			coalesce(p.weight, $9::float8), $10, $11, coalesce(p.created_at, $12::timestamptz), $13::timestamptz,
			$13::timestamptz, case $6::text when 'deprecated' then $13::timestamptz end,
			case $6::text when 'deprecated' then $13::timestamptz end, greatest(p.last_supported_at, $14::timestamptz),
			case when p.statement = $5 then p.embedding end,
			case when p.statement = $5 then p.embedding_model else '' end
		from (select 1) one left join memories p on p.group_id = $1 and p.memory_id = $4::uuid`

	insertOriginQuery = `insert into memory_origins (group_id, memory_id, deployment, origin_memory_id,
		origin_lineage_id, origin_group_id, body, versions, created_at)
		values ($1, $2::uuid, $3, $4::uuid, $5::uuid, $6, $7::jsonb, $8::jsonb, $9::timestamptz)`
)

// PutTeamMemory makes a version the head of a team's memory and returns the resulting memory. The same transaction
// writes the row of the change log and w.Link. The first write to a team creates its tenant. The caller has checked the
// content with [safety.CheckTeamMemory].
//
// If the head is not w.IfVersion, the error is a *reverie.TeamHeadError. It is reverie.ErrConflict if another active
// memory of the team has the statement, or if the id is used elsewhere. A request key that was used for another write
// is reverie.ErrKeyReused. A repeated write with its key returns the first answer. A deletion keeps the statement and
// tags of the version that it ends.
func (s *Teams) PutTeamMemory(ctx context.Context, w reverie.TeamWrite) (m reverie.TeamMemory, err error) {
	versionID := reverie.NewID()
	err = s.db.Run(ctx, pg.Work{
		What: fmt.Sprintf("write memory %s of team %q", w.Memory.ID, w.Team),
		Do: func(ctx context.Context, t *pg.Tx) (err error) {
			m, err = s.writeTeam(ctx, t, w, versionID)
			return err
		},
		Committed: func(ctx context.Context, t *pg.Tx) (bool, error) { return s.teamWritten(ctx, t, w.Team, versionID) },
	})
	if err != nil {
		m = reverie.TeamMemory{}
	}
	return m, err
}

// teamWritten reports whether the transaction that wrote a version was committed.
func (s *Teams) teamWritten(ctx context.Context, t *pg.Tx, team, versionID string) (found bool, err error) {
	if err := s.lockTeam(ctx, t, team); err != nil { // waits for a transaction in progress
		return false, err
	}
	err = t.Get(ctx, &found, `select exists (select 1 from memories where group_id = $1
		and memory_id = $2)`, reverie.TeamGroupID(team), versionID)
	return found, err
}

// writeTeam is PutTeamMemory within a transaction, for callers that write more. The caller chooses the id of the new
// version, so that it can search for it after a lost commit.
func (s *Teams) writeTeam(ctx context.Context, t *pg.Tx, w reverie.TeamWrite, versionID string) (m reverie.TeamMemory,
	err error) {
	groupID := reverie.TeamGroupID(w.Team)
	if err := s.lockTeam(ctx, t, w.Team); err != nil {
		return m, err
	}
	if answer, err := teamAnswer(ctx, t, groupID, w); answer != nil || err != nil {
		return pg.OrZero(answer), err
	}
	head, err := lockTeamHead(ctx, t, groupID, w)
	if err != nil {
		return m, err
	}
	// A deletion is sent without a statement; the last local one stays.
	if head != nil && w.Memory.Status == reverie.StatusDeprecated {
		w.Memory.Statement, w.Memory.Tags = head.Statement, head.Tags
	}
	w.Memory.Statement = pg.ValidText(w.Memory.Statement)
	if err := noTwin(ctx, t, groupID, w.Memory); err != nil {
		return m, err
	}
	if err := AppendTeam(ctx, s.db, t, groupID, head, w, versionID); err != nil {
		return m, err
	}
	if m, err = headOf(ctx, t, groupID, w.Memory.ID); err != nil {
		return m, err
	}
	if link := w.Link; link != nil {
		link.LineageID, link.LocalID = m.ID, m.VersionID
		if err := s.linkTeam(ctx, t, groupID, *link); err != nil {
			return m, err
		}
	}
	if w.Quotes {
		m.Evidence = w.Memory.Evidence
	}
	return m, s.keepTeamAnswer(ctx, t, groupID, w, m)
}

// lockTeam creates the tenant of a team if there is none, and locks it against other writers until the commit.
func (s *Teams) lockTeam(ctx context.Context, t *pg.Tx, team string) error {
	g := reverie.Group{ID: reverie.TeamGroupID(team), Name: team}
	if err := g.Normalize(); err != nil {
		return err
	}
	if err := t.Exec(ctx, store.EnsureGroupQuery, store.NewGroup(g, s.db.Now())...); err != nil {
		return err
	}
	_, err := store.LockGroup(ctx, t, g.ID)
	return err
}

// lockTeamHead locks the lineage of a write and returns its head, nil for a new lineage. If the head is not the one
// that the write expects, the error is a *reverie.TeamHeadError.
func lockTeamHead(ctx context.Context, t *pg.Tx, groupID string, w reverie.TeamWrite) (*reverie.Memory, error) {
	if err := t.Exec(ctx, lockLineageQuery, groupID, w.Memory.ID); err != nil {
		return nil, err
	}
	head, err := teamHead(ctx, t, groupID, w.Memory.ID)
	switch {
	case errors.Is(err, reverie.ErrNotFound) && w.IfVersion != "":
		return nil, &reverie.TeamHeadError{ID: w.Memory.ID}
	case errors.Is(err, reverie.ErrNotFound):
		return nil, mayBeNew(ctx, t, groupID, w.Memory.ID)
	case err != nil:
		return nil, err
	case head.ID == w.IfVersion:
		return &head, nil
	}
	m, err := teamMemory(ctx, t, head)
	return nil, cmp.Or(err, error(&reverie.TeamHeadError{ID: m.ID, Head: &m}))
}

// mayBeNew refuses an id that is used elsewhere. It also refuses a new memory if the team has too many, including
// deleted ones.
func mayBeNew(ctx context.Context, t *pg.Tx, groupID, id string) error {
	var found struct {
		Taken bool `db:"taken"`
		Has   int  `db:"has"`
	}
	switch err := t.Get(ctx, &found, newLineageQuery, groupID, id); {
	case err != nil:
		return err
	case found.Taken:
		return fmt.Errorf("team memory %s cannot have this id here: give it a new one: %w", id, reverie.ErrConflict)
	case found.Has >= reverie.MaxTeamMemories:
		return fmt.Errorf("the team has %d memories, deleted ones included, the most that it may have: change one of them: %w",
			found.Has, reverie.ErrConflict)
	}
	return nil
}

// noTwin refuses a statement that another active memory of the team has.
func noTwin(ctx context.Context, t *pg.Tx, groupID string, m reverie.TeamMemory) error {
	if m.Status != reverie.StatusActive {
		return nil
	}
	var id string
	err := t.Get(ctx, &id, `select lineage_id from memories where group_id = $1 and kind = 'team' and content_hash = $2
		and status = 'active' and lineage_id <> $3`, groupID, text.ContentHash(m.Statement), m.ID)
	if err == nil {
		return fmt.Errorf("team memory %s is active and says the same: change that one, or delete it first: %w", id,
			reverie.ErrConflict)
	}
	return store.IgnoreNoRows(err)
}

// AppendTeam ends the head, nil for a new lineage, and writes the next version with its evidence, origin and log.
func AppendTeam(ctx context.Context, db *pg.DB, t *pg.Tx, groupID string, head *reverie.Memory, w reverie.TeamWrite,
	versionID string) error {
	at, err := store.NextTimestamp(ctx, db, t, groupID)
	if err != nil {
		return err
	}
	m := w.Memory
	step := reverie.Step{Action: reverie.ActionCreate, LineageID: m.ID, MemoryID: versionID}
	change := reverie.Change{ID: reverie.NewID(), Action: teamAction(head, m.Status), MemoryID: versionID,
		NewStatement: m.Statement, Summary: pg.ValidText(m.ChangeReason), Version: 1}
	known := []reverie.TeamVersion{{VersionID: m.Origin.MemoryID}}
	if head != nil {
		before, err := teamMemory(ctx, t, *head)
		if err != nil {
			return err
		}
		known = append(append(known, before.Versions...), reverie.TeamVersion{VersionID: before.Origin.MemoryID})
		step.Action = reverie.ActionUpdate
		change.OldID, change.OldStatement, change.Version = &head.ID, head.Statement, head.Version+1
		if err := t.Exec(ctx, store.EndTeamHeadQuery, groupID, head.ID, at); err != nil {
			return err
		}
	}
	if change.Action == reverie.ActionDelete {
		change.NewStatement = ""
	}
	if w.Quotes && m.Status == reverie.StatusActive {
		change.Evidence, step.Evidence = m.Evidence, m.Evidence
	}
	if err := t.Exec(ctx, insertTeamVersionQuery, groupID, versionID, m.ID, change.OldID, m.Statement,
		string(m.Status), pq.StringArray(append([]string{}, m.Tags...)), m.Strength, reverie.DefaultWeight,
		text.ContentHash(m.Statement), change.Summary, notAfter(m.CreatedAt, at), at, notAfter(m.UpdatedAt, at)); err != nil {
		return err
	}
	if o := m.Origin; o.Deployment != "" { // a version made here needs no origin
		earlier := append([]reverie.TeamVersion{}, m.Versions...)
		earlier = slices.DeleteFunc(earlier, func(v reverie.TeamVersion) bool {
			return slices.ContainsFunc(known, func(k reverie.TeamVersion) bool { return k.VersionID == v.VersionID })
		})
		if err := t.Exec(ctx, insertOriginQuery, groupID, versionID, pg.ValidText(o.Deployment), o.MemoryID, o.LineageID,
			w.FromGroup, pg.JSON[any]{V: o}, pg.JSON[any]{V: earlier}, db.Now()); err != nil {
			return err
		}
	}
	if err := store.InsertEvidence(ctx, t, groupID, nil, at, []reverie.Step{step}, store.Evidenced); err != nil {
		return err
	}
	return store.InsertChanges(ctx, t, groupID, nil, 0, at, []reverie.Change{change})
}

// teamAction returns what a version does to its lineage.
func teamAction(head *reverie.Memory, status reverie.Status) reverie.Action {
	switch {
	case head == nil:
		return reverie.ActionCreate
	case status == reverie.StatusDeprecated:
		return reverie.ActionDelete
	case head.Status != reverie.StatusActive:
		return reverie.ActionRestore
	}
	return reverie.ActionUpdate
}

// notAfter returns a time, or now if the time is zero or in the future.
func notAfter(at, now time.Time) time.Time {
	if at.IsZero() || at.After(now) {
		return now
	}
	return at
}

const (
	teamLinksQuery = `select remote, lineage_id, local_id, remote_id, body_sha256, synced_at from team_links
		where group_id = $1 and remote = $2`

	linkTeamQuery = `insert into team_links (group_id, remote, lineage_id, local_id, remote_id, body_sha256, synced_at)
		values ($1, $2, $3::uuid, $4::uuid, $5::uuid, $6, $7::timestamptz)
		on conflict (group_id, remote, lineage_id) do update
		set local_id = excluded.local_id, remote_id = excluded.remote_id, body_sha256 = excluded.body_sha256,
			synced_at = excluded.synced_at`

	settleConflictQuery = `update team_conflicts set status = 'settled', resolution = $4, settled_at = $5::timestamptz
		where group_id = $1 and remote = $2 and lineage_id = $3::uuid and status = 'open'`
)

// Deployment returns the id of this database among the deployments that share memories.
func (s *Teams) Deployment(ctx context.Context) (id string, err error) {
	err = s.db.QueryRow(ctx, "read what this deployment is called", &id, deploymentQuery)
	return id, err
}

// TeamStates returns all memories of a team by id, including deleted ones, with their state towards another deployment.
// With quotes it includes the evidence. It returns none for a team that does not exist yet.
func (s *Teams) TeamStates(ctx context.Context, team, remote string, quotes bool) ([]reverie.TeamState, error) {
	groupID := reverie.TeamGroupID(team)
	what := fmt.Sprintf("read how team %q stands", team)
	return pg.Read(ctx, s.db, what, func(ctx context.Context, t *pg.Tx) ([]reverie.TeamState, error) {
		heads, err := pg.Select[reverie.Memory](ctx, t, teamHeadsQuery, groupID, store.ZeroID, math.MaxInt32)
		if err != nil {
			return nil, err
		}
		memories, err := TeamMemories(ctx, t, groupID, heads)
		if err == nil && quotes {
			err = FillTeamEvidence(ctx, t, groupID, memories)
		}
		if err != nil {
			return nil, err
		}
		list := make([]reverie.TeamState, len(heads))
		for i, m := range memories {
			held := heads[i].Status == reverie.StatusHeld || heads[i].Status == reverie.StatusArchived
			list[i] = reverie.TeamState{TeamMemory: m, Held: held}
		}
		return list, fillStates(ctx, t, groupID, remote, list)
	})
}

// fillStates adds the links and conflicts with the remote.
func fillStates(ctx context.Context, t *pg.Tx, groupID, remote string, list []reverie.TeamState) error {
	links, err := pg.Select[reverie.TeamLink](ctx, t, teamLinksQuery, groupID, remote)
	if err != nil {
		return err
	}
	open, err := pg.Select[string](ctx, t, `select lineage_id from team_conflicts
		where group_id = $1 and remote = $2 and status = 'open'`, groupID, remote)
	byID := make(map[string]*reverie.TeamLink, len(links))
	for i := range links {
		byID[links[i].LineageID] = &links[i]
	}
	for i, m := range list {
		list[i].Link, list[i].InConflict = byID[m.ID], slices.Contains(open, m.ID)
	}
	return err
}

// LinkTeamMemory stores which version is now common with another deployment, and settles an open conflict with it. The
// version must be one of the team's.
func (s *Teams) LinkTeamMemory(ctx context.Context, team string, l reverie.TeamLink) error {
	return s.db.Run(ctx, pg.Work{What: fmt.Sprintf("note that memory %s of team %q is synced", l.LineageID, team),
		Do: func(ctx context.Context, t *pg.Tx) error {
			return s.linkTeam(ctx, t, reverie.TeamGroupID(team), l)
		}})
}

func (s *Teams) linkTeam(ctx context.Context, t *pg.Tx, groupID string, l reverie.TeamLink) error {
	at := s.db.Now()
	if err := t.Exec(ctx, linkTeamQuery, groupID, l.Remote, l.LineageID, l.LocalID, l.RemoteID, l.Digest,
		at); err != nil {
		return err
	}
	return t.Exec(ctx, settleConflictQuery, groupID, l.Remote, l.LineageID, l.Resolution, at)
}
