// Package teams stores the memories that deployments share, whichever deployment wrote them. Each memory has one head.
package teams

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

// Teams reads and writes the memories of teams.
type Teams struct{ db *pg.DB }

// New returns the teams of a database.
func New(db *pg.DB) *Teams { return &Teams{db} }

const (
	teamHeadsQuery = `select distinct on (lineage_id) ` + store.MemoryColumns + ` from memories
		where group_id = $1 and kind = 'team' and lineage_id > $2::uuid
		order by lineage_id, version desc limit $3`

	teamHeadQuery = `select ` + store.MemoryColumns + ` from memories
		where group_id = $1 and kind = 'team' and lineage_id = $2::uuid order by version desc limit 1`

	// The newest versions of each lineage, oldest first, with their origins.
	teamVersionsQuery = `select v.* from unnest($2::uuid[]) as l (id) cross join lateral (
			select m.lineage_id, m.memory_id, m.version, m.updated_at, o.body as origin, o.versions as earlier
			from memories m left join memory_origins o on o.group_id = $1 and o.memory_id = m.memory_id
			where m.group_id = $1 and m.lineage_id = l.id order by m.version desc limit $3) v
		order by v.lineage_id, v.version`

	teamEvidenceQuery = `select memory_id, message_id, author_id, author, quote, sent_at, local_date::text as local_date
		from memory_evidence where group_id = $1 and memory_id = any ($2::uuid[]) and action <> 'delete'
			and withdrawn_at is null
		order by memory_id, evidence_no`

	deploymentQuery = `select deployment_id::text from deployments where group_id = ''`
)

// TeamMemories returns a page of a team's memories, including deleted ones, by lineage id. Each is its newest version,
// without quotes. An unknown team is reverie.ErrNotFound.
func (s *Teams) TeamMemories(ctx context.Context, groupID, after string, limit int) ([]reverie.TeamMemory, error) {
	if after == "" {
		after = store.ZeroID
	}
	what := fmt.Sprintf("list the memories of %q", groupID)
	return pg.Read(ctx, s.db, what, func(ctx context.Context, t *pg.Tx) ([]reverie.TeamMemory, error) {
		if _, err := store.GetGroup(ctx, t, groupID); err != nil {
			return nil, err
		}
		if !reverie.IsID(after) {
			return nil, fmt.Errorf("after %q is not the id of a memory: %w", after, reverie.ErrInvalid)
		}
		heads, err := pg.Select[reverie.Memory](ctx, t, teamHeadsQuery, groupID, after, limit)
		if err != nil {
			return nil, err
		}
		return TeamMemories(ctx, t, groupID, heads)
	})
}

// TeamMemory returns the newest version of a team's memory, deleted or not, without quotes. An unknown id is
// reverie.ErrNotFound.
func (s *Teams) TeamMemory(ctx context.Context, groupID, lineageID string) (reverie.TeamMemory, error) {
	return pg.Read(ctx, s.db, "read a team's memory", func(ctx context.Context, t *pg.Tx) (reverie.TeamMemory, error) {
		return headOf(ctx, t, groupID, lineageID)
	})
}

// TeamEvidence adds the quotes to memories of a team. Callers use it only if [team] quotes allows quotes to be shared.
func (s *Teams) TeamEvidence(ctx context.Context, groupID string, list []reverie.TeamMemory) error {
	return s.db.Run(ctx, pg.Work{What: "read what a team's memories rest on", ReadOnly: true,
		Do: func(ctx context.Context, t *pg.Tx) error { return FillTeamEvidence(ctx, t, groupID, list) }})
}

// FillTeamEvidence is TeamEvidence within a transaction.
func FillTeamEvidence(ctx context.Context, t *pg.Tx, groupID string, list []reverie.TeamMemory) error {
	ids := make(pq.StringArray, len(list))
	for i, m := range list {
		ids[i] = m.VersionID
	}
	var rows []struct {
		reverie.Evidence
		MemoryID string `db:"memory_id"`
	}
	err := t.Select(ctx, &rows, teamEvidenceQuery, groupID, ids)
	found := map[string][]reverie.Evidence{}
	for _, r := range rows {
		if len(found[r.MemoryID]) < reverie.MaxTeamEvidence {
			found[r.MemoryID] = append(found[r.MemoryID], r.Evidence)
		}
	}
	for i, m := range list {
		list[i].Evidence = found[m.VersionID]
	}
	return err
}

func teamHead(ctx context.Context, t *pg.Tx, groupID, lineageID string) (reverie.Memory, error) {
	var head reverie.Memory
	if !reverie.IsID(lineageID) {
		return head, fmt.Errorf("team memory %q: %w", lineageID, reverie.ErrNotFound)
	}
	err := t.Get(ctx, &head, teamHeadQuery, groupID, lineageID)
	return head, pg.NotFoundIfEmpty(err, "team memory %s", lineageID)
}

// headOf returns the newest version of a team's memory as it is sent.
func headOf(ctx context.Context, t *pg.Tx, groupID, lineageID string) (reverie.TeamMemory, error) {
	head, err := teamHead(ctx, t, groupID, lineageID)
	if err != nil {
		return reverie.TeamMemory{}, err
	}
	return teamMemory(ctx, t, head)
}

func teamMemory(ctx context.Context, t *pg.Tx, head reverie.Memory) (reverie.TeamMemory, error) {
	list, err := TeamMemories(ctx, t, head.GroupID, []reverie.Memory{head})
	if err != nil {
		return reverie.TeamMemory{}, err
	}
	return list[0], nil
}

// TeamMemories converts heads to the form in which they are sent.
func TeamMemories(ctx context.Context, t *pg.Tx, groupID string, heads []reverie.Memory) ([]reverie.TeamMemory, error) {
	list := make([]reverie.TeamMemory, len(heads))
	if len(heads) == 0 {
		return list, nil
	}
	here, err := pg.Get[string](ctx, t, deploymentQuery)
	if err != nil {
		return nil, fmt.Errorf("read what this deployment is called: %w", err)
	}
	ids := make(pq.StringArray, len(heads))
	for i, h := range heads {
		ids[i] = h.LineageID
	}
	rows, err := pg.Select[teamVersionRow](ctx, t, teamVersionsQuery, groupID, ids, reverie.MaxTeamVersions+1)
	if err != nil {
		return nil, err
	}
	versions := map[string][]teamVersionRow{}
	for _, r := range rows {
		versions[r.LineageID] = append(versions[r.LineageID], r)
	}
	for i, m := range heads {
		status := reverie.StatusDeprecated
		if m.Status == reverie.StatusActive {
			status = m.Status
		}
		list[i] = reverie.TeamMemory{ID: m.LineageID, VersionID: m.ID, Version: m.Version, Statement: m.Statement,
			Status: status, Tags: m.Tags,
			Strength: m.Strength, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, ChangeReason: m.ChangeSummary}
		list[i].Origin, list[i].Versions = provenance(here, versions[m.LineageID])
	}
	return list, nil
}

// teamVersionRow is a version with its origin.
type teamVersionRow struct {
	LineageID string                         `db:"lineage_id"`
	ID        string                         `db:"memory_id"`
	Version   int                            `db:"version"`
	UpdatedAt time.Time                      `db:"updated_at"`
	Origin    pg.JSON[*reverie.Origin]       `db:"origin"`
	Earlier   pg.JSON[[]reverie.TeamVersion] `db:"earlier"`
}

// origin returns where the version was made: here, unless the row names another deployment.
func (r teamVersionRow) origin(here string) reverie.Origin {
	if o := r.Origin.V; o != nil {
		return *o
	}
	return reverie.Origin{Deployment: here, MemoryID: r.ID, LineageID: r.LineageID, Version: r.Version,
		MadeAt: r.UpdatedAt}
}

// provenance returns, from the versions of a lineage, where the newest was made, and which versions came before it,
// each once.
func provenance(here string, rows []teamVersionRow) (reverie.Origin, []reverie.TeamVersion) {
	origin := rows[len(rows)-1].origin(here)
	list, known := []reverie.TeamVersion{}, map[string]bool{origin.MemoryID: true}
	add := func(v reverie.TeamVersion) {
		if !known[v.VersionID] {
			known[v.VersionID] = true
			list = append(list, v)
		}
	}
	for i, r := range rows {
		for _, v := range r.Earlier.V {
			add(v)
		}
		if i < len(rows)-1 {
			o := r.origin(here)
			add(reverie.TeamVersion{VersionID: o.MemoryID, Version: o.Version, Deployment: o.Deployment, UpdatedAt: o.MadeAt})
		}
	}
	return origin, list[max(0, len(list)-reverie.MaxTeamVersions):]
}

const (
	conflictsQuery = `select conflict_id, remote, lineage_id, local_id, theirs, created_at from team_conflicts
		where group_id = $1 and status = 'open' order by created_at, conflict_id`

	saveConflictQuery = `insert into team_conflicts (group_id, conflict_id, remote, lineage_id, local_id, remote_id,
		theirs, status, created_at)
		values ($1, $2::uuid, $3, $4::uuid, $5::uuid, $6::uuid, $7::jsonb, 'open', $8::timestamptz)
		on conflict (group_id, remote, lineage_id) where status = 'open' do update
		set local_id = excluded.local_id, remote_id = excluded.remote_id, theirs = excluded.theirs`
)

// TeamConflicts returns the open conflicts of a team, oldest first, with the present local versions.
func (s *Teams) TeamConflicts(ctx context.Context, team string) ([]reverie.TeamConflict, error) {
	what := fmt.Sprintf("list the conflicts of team %q", team)
	return pg.Read(ctx, s.db, what, func(ctx context.Context, t *pg.Tx) ([]reverie.TeamConflict, error) {
		list, err := openConflicts(ctx, t, reverie.TeamGroupID(team))
		for i := 0; i < len(list) && err == nil; i++ {
			list[i].Ours, err = headOf(ctx, t, reverie.TeamGroupID(team), list[i].LineageID)
		}
		return list, err
	})
}

func openConflicts(ctx context.Context, t *pg.Tx, groupID string) ([]reverie.TeamConflict, error) {
	list := []reverie.TeamConflict{}
	err := t.Select(ctx, &list, conflictsQuery, groupID)
	for i := range list {
		list[i].Team, _ = reverie.TeamOf(groupID)
	}
	return list, err
}

// SaveTeamConflict stores the version of another deployment as a conflict, until a person resolves it. It renews an
// open conflict of the same memory and deployment. The caller has checked the content with [safety.CheckTeamMemory].
func (s *Teams) SaveTeamConflict(ctx context.Context, c reverie.TeamConflict) error {
	id, groupID := reverie.NewID(), reverie.TeamGroupID(c.Team)
	return s.db.Run(ctx, pg.Work{What: fmt.Sprintf("keep both versions of memory %s of team %q", c.LineageID, c.Team),
		Do: func(ctx context.Context, t *pg.Tx) error {
			return t.Exec(ctx, saveConflictQuery, groupID, id, c.Remote, c.LineageID, c.LocalID, c.Theirs.VersionID,
				pg.JSON[any]{V: c.Theirs}, s.db.Now())
		}})
}

// Limits of the stored answers to writes with a key: how long a client may repeat a request, and how many a team has.
const (
	keepTeamRequests = 7 * 24 * time.Hour
	maxTeamRequests  = 10_000
)

const (
	teamRequestQuery = `select body_sha256, answer from team_requests where group_id = $1 and request_key = $2`

	insertTeamRequestQuery = `insert into team_requests (group_id, request_key, body_sha256, lineage_id, answer,
		created_at)
		values ($1, $2, $3, $4::uuid, $5::jsonb, $6::timestamptz)`

	pruneTeamRequestsQuery = `delete from team_requests where group_id = $1 and created_at < greatest($2::timestamptz, (
		select created_at from team_requests where group_id = $1 order by created_at desc offset $3 limit 1))`
)

// teamAnswer returns the answer that an earlier write with the same key had, nil if there was none.
func teamAnswer(ctx context.Context, t *pg.Tx, groupID string, w reverie.TeamWrite) (*reverie.TeamMemory, error) {
	if w.RequestKey == "" {
		return nil, nil
	}
	var before struct {
		BodySHA256 string                      `db:"body_sha256"`
		Answer     pg.JSON[reverie.TeamMemory] `db:"answer"`
	}
	err := t.Get(ctx, &before, teamRequestQuery, groupID, w.RequestKey)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	case before.BodySHA256 != w.BodySHA256:
		return nil, reverie.ErrKeyReused
	}
	return &before.Answer.V, nil
}

// keepTeamAnswer stores the answer to a write with a key, and deletes old ones.
func (s *Teams) keepTeamAnswer(ctx context.Context, t *pg.Tx, groupID string, w reverie.TeamWrite,
	m reverie.TeamMemory) error {
	if w.RequestKey == "" {
		return nil
	}
	at := s.db.Now()
	if err := t.Exec(ctx, pruneTeamRequestsQuery, groupID, at.Add(-keepTeamRequests), maxTeamRequests-2); err != nil {
		return err
	}
	return t.Exec(ctx, insertTeamRequestQuery, groupID, w.RequestKey, w.BodySHA256, m.ID, pg.JSON[any]{V: m}, at)
}

// sharedQuery finds the team memory that a group's memory was shared as.
const sharedQuery = `select m.lineage_id, m.memory_id, o.origin_memory_id from memory_origins o
	join memories m on m.group_id = $1 and m.memory_id = o.memory_id
	where o.group_id = $1 and o.origin_lineage_id = $2::uuid and o.origin_group_id = $3
	order by m.version desc, m.updated_at desc limit 1`

// sharedEvidenceQuery reads the evidence of a memory that may be shared, newest first.
const sharedEvidenceQuery = `select message_id, author_id, author, quote, sent_at, local_date::text as local_date
	from (
		select distinct on (message_id, quote) * from memory_evidence
		where group_id = $1 and lineage_id = $2::uuid and action <> 'delete' and withdrawn_at is null and quote <> ''
		order by message_id, quote, evidence_no) e
	order by sent_at desc, evidence_no limit $3`

// originQuery reads who made a version of a group's memory, and from what.
const originQuery = `select (select deployment_id::text from deployments where group_id = '') as deployment,
		coalesce(r.job, '') as job, coalesce(r.model, '') as model, coalesce(r.prompt_version, '') as prompt_version,
		(select count(distinct e.message_id) from memory_evidence e where e.group_id = $1
			and e.lineage_id = m.lineage_id
			and e.action <> 'delete' and e.withdrawn_at is null) as messages
	from memories m left join runs r on r.group_id = $1 and r.run_id = m.run_id
	where m.group_id = $1 and m.memory_id = $2::uuid`

// ShareMemory makes a version of a group's memory the head of a team memory: of the one that an earlier version was
// shared as, or of a new one. Its evidence is only counted, unless share.Quotes includes it. If this version was shared
// before, nothing is written, and shared is false. If the team has changed or deleted the memory since, that is
// reverie.ErrConflict, unless share.Overwrite is set. Other errors are those of PutTeamMemory.
func (s *Teams) ShareMemory(ctx context.Context, share reverie.TeamShare) (m reverie.TeamMemory, shared bool,
	err error) {
	from := share.Memory
	versionID, lineageID := reverie.NewID(), reverie.NewID()
	err = s.db.Run(ctx, pg.Work{
		What: fmt.Sprintf("share memory %s with team %q", from.ID, share.Team),
		Do: func(ctx context.Context, t *pg.Tx) (err error) {
			if err := s.lockTeam(ctx, t, share.Team); err != nil {
				return err
			}
			var same bool
			m, same, err = sharedBefore(ctx, t, share)
			if shared = !same; err != nil || same {
				return err
			}
			w := reverie.TeamWrite{Team: share.Team, FromGroup: from.GroupID, Quotes: share.Quotes, IfVersion: m.VersionID,
				Memory: reverie.TeamMemory{ID: cmp.Or(m.ID, lineageID), Statement: from.Statement, Status: reverie.StatusActive,
					Tags: from.Tags, Strength: from.Strength, CreatedAt: from.CreatedAt, UpdatedAt: from.LastSupportedAt,
					ChangeReason: share.Reason}}
			if err := fillOrigin(ctx, t, from, &w); err != nil {
				return err
			}
			m, err = s.writeTeam(ctx, t, w, versionID)
			return err
		},
		Committed: func(ctx context.Context, t *pg.Tx) (bool, error) {
			if !shared {
				return true, nil
			}
			return s.teamWritten(ctx, t, share.Team, versionID)
		},
	})
	return m, shared, err
}

// sharedBefore returns the present team memory that an earlier version of a group's memory was shared as, the zero
// value if there is none. same reports whether it was made from this very version. If the team has changed it since,
// that is an error unless the share may overwrite it.
func sharedBefore(ctx context.Context, t *pg.Tx, share reverie.TeamShare) (head reverie.TeamMemory, same bool,
	err error) {
	groupID := reverie.TeamGroupID(share.Team)
	var before struct {
		LineageID string `db:"lineage_id"`
		ID        string `db:"memory_id"`
		VersionID string `db:"origin_memory_id"`
	}
	err = t.Get(ctx, &before, sharedQuery, groupID, share.Memory.LineageID, share.Memory.GroupID)
	if err != nil {
		return head, false, store.IgnoreNoRows(err)
	}
	if head, err = headOf(ctx, t, groupID, before.LineageID); err != nil {
		return head, false, err
	}
	what := fmt.Sprintf("now says %q (version %d)", head.Statement, head.Version)
	switch active := head.Status == reverie.StatusActive; {
	case before.VersionID == share.Memory.ID && active:
		return head, true, nil
	case head.VersionID == before.ID && active, share.Overwrite:
		return head, false, nil
	case !active:
		what = fmt.Sprintf("was deleted (version %d; it said %q)", head.Version, head.Statement)
	}
	return head, false, fmt.Errorf("team memory %s, into which this one was shared, %s: --overwrite replaces it with "+
		"this one: %w", head.ID, what, reverie.ErrConflict)
}

// fillOrigin sets the origin of a version of a group's memory, without naming the group, a person or a message. It adds
// the evidence if the write says so.
func fillOrigin(ctx context.Context, t *pg.Tx, m reverie.Memory, w *reverie.TeamWrite) error {
	w.Memory.Origin = reverie.Origin{MemoryID: m.ID, LineageID: m.LineageID, Version: m.Version, MadeAt: m.UpdatedAt}
	if err := t.Get(ctx, &w.Memory.Origin, originQuery, m.GroupID, m.ID); err != nil {
		return pg.NotFoundIfEmpty(err, "memory %s", m.ID)
	}
	if !w.Quotes {
		return nil
	}
	return t.Select(ctx, &w.Memory.Evidence, sharedEvidenceQuery, m.GroupID, m.LineageID, reverie.MaxTeamEvidence)
}

// TeamMemoryOf returns the team memory with that version or lineage id, and the group id of its team. The id of another
// memory is reverie.ErrNotFound.
func (s *Teams) TeamMemoryOf(ctx context.Context, team, id string) (m reverie.TeamMemory, of string, err error) {
	err = s.db.Run(ctx, pg.Work{What: "read a team's memory", ReadOnly: true, Do: func(ctx context.Context,
		t *pg.Tx) error {
		var found struct {
			GroupID   string `db:"group_id"`
			LineageID string `db:"lineage_id"`
		}
		groupID := ""
		if team != "" {
			groupID = reverie.TeamGroupID(team)
		}
		if !reverie.IsID(id) {
			return fmt.Errorf("memory %q of a team: %w", id, reverie.ErrNotFound)
		}
		err := t.Get(ctx, &found, `select m.group_id, m.lineage_id from groups g join memories m on m.group_id = g.group_id
			where starts_with(g.group_id, 'team:') and ($1 = '' or g.group_id = $1) and m.kind = 'team'
				and (m.memory_id = $2::uuid or m.lineage_id = $2::uuid)
			limit 1`, groupID, id)
		if err != nil {
			return pg.NotFoundIfEmpty(err, "memory %s of a team", id)
		}
		of, _ = reverie.TeamOf(found.GroupID)
		m, err = headOf(ctx, t, found.GroupID, found.LineageID)
		return err
	}})
	return m, of, err
}
