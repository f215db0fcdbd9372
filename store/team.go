package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	teamHeadsQuery = `select distinct on (lineage_id) ` + MemoryColumns + ` from memories
		where group_id = $1 and kind = 'team' and lineage_id > $2::uuid
		order by lineage_id, version desc limit $3`

	teamHeadQuery = `select ` + MemoryColumns + ` from memories
		where group_id = $1 and kind = 'team' and lineage_id = $2::uuid order by version desc limit 1`

	// The newest versions of each lineage, oldest first, with where they come from.
	teamVersionsQuery = `select v.* from unnest($2::uuid[]) as l (id) cross join lateral (
			select m.lineage_id, m.memory_id, m.version, m.updated_at, o.body as origin, o.versions as earlier
			from memories m left join memory_origins o on o.group_id = m.group_id and o.memory_id = m.memory_id
			where m.group_id = $1 and m.lineage_id = l.id order by m.version desc limit $3) v
		order by v.lineage_id, v.version`

	teamEvidenceQuery = `select memory_id, message_id, author_id, author, quote, sent_at, local_date::text as local_date
		from memory_evidence where group_id = $1 and memory_id = any ($2::uuid[]) and action <> 'delete'
			and withdrawn_at is null
		order by memory_id, evidence_no`

	deploymentQuery = `select deployment_id::text from deployments`
)

// TeamMemories returns a page of a team's memories, deleted ones included, by lineage id:
// the newest version of each, without the words that it rests on. An unknown team is
// reverie.ErrNotFound.
func (s *Store) TeamMemories(ctx context.Context, groupID, after string, limit int) ([]reverie.TeamMemory, error) {
	if after == "" {
		after = ZeroID
	}
	var list []reverie.TeamMemory
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("list the memories of %q", groupID), ReadOnly: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if _, err := GetGroup(ctx, t, groupID); err != nil {
				return err
			}
			if !reverie.IsID(after) {
				return fmt.Errorf("after %q is no id of a memory: %w", after, reverie.ErrInvalid)
			}
			var rows []MemoryRow
			if err := t.Select(ctx, &rows, teamHeadsQuery, groupID, after, limit); err != nil {
				return err
			}
			var err error
			list, err = TeamMemories(ctx, t, groupID, rows)
			return err
		}})
	return list, err
}

// TeamMemory returns the newest version of a team's memory, deleted or not, without the
// words that it rests on; reverie.ErrNotFound where the team has none of that id.
func (s *Store) TeamMemory(ctx context.Context, groupID, lineageID string) (reverie.TeamMemory, error) {
	var m reverie.TeamMemory
	err := s.db.Run(ctx, pg.Work{What: "read a team's memory", ReadOnly: true, Do: func(ctx context.Context,
		t *pg.Tx) error {
		head, err := teamHead(ctx, t, groupID, lineageID)
		if err != nil {
			return err
		}
		m, err = teamMemory(ctx, t, head)
		return err
	}})
	return m, err
}

// TeamEvidence fills in the words that memories of a team rest on. It is for where
// [team] quotes lets them travel.
func (s *Store) TeamEvidence(ctx context.Context, groupID string, list []reverie.TeamMemory) error {
	ids := make(pq.StringArray, len(list))
	for i, m := range list {
		ids[i] = m.VersionID
	}
	var found map[string][]reverie.Evidence
	err := s.db.Run(ctx, pg.Work{What: "read what a team's memories rest on", ReadOnly: true,
		Do: func(ctx context.Context, t *pg.Tx) (err error) {
			found, err = TeamEvidence(ctx, t, groupID, ids)
			return err
		}})
	for i, m := range list {
		list[i].Evidence = found[m.VersionID]
	}
	return err
}

// TeamEvidence are the words that versions rest on, by version.
func TeamEvidence(ctx context.Context, t *pg.Tx, groupID string, ids pq.StringArray) (map[string][]reverie.Evidence,
	error) {
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
	return found, err
}

func teamHead(ctx context.Context, t *pg.Tx, groupID, lineageID string) (MemoryRow, error) {
	var head MemoryRow
	if !reverie.IsID(lineageID) {
		return head, fmt.Errorf("team memory %q: %w", lineageID, reverie.ErrNotFound)
	}
	err := t.Get(ctx, &head, teamHeadQuery, groupID, lineageID)
	return head, pg.NotFoundIfEmpty(err, "team memory %s", lineageID)
}

func teamMemory(ctx context.Context, t *pg.Tx, head MemoryRow) (reverie.TeamMemory, error) {
	list, err := TeamMemories(ctx, t, head.GroupID, []MemoryRow{head})
	if err != nil {
		return reverie.TeamMemory{}, err
	}
	return list[0], nil
}

// TeamMemories are heads as they travel.
func TeamMemories(ctx context.Context, t *pg.Tx, groupID string, heads []MemoryRow) ([]reverie.TeamMemory, error) {
	list := make([]reverie.TeamMemory, len(heads))
	if len(heads) == 0 {
		return list, nil
	}
	var here string
	if err := t.Get(ctx, &here, deploymentQuery); err != nil {
		return nil, fmt.Errorf("read what this deployment is called: %w", err)
	}
	ids := make(pq.StringArray, len(heads))
	for i, h := range heads {
		ids[i] = h.LineageID
	}
	var rows []teamVersionRow
	if err := t.Select(ctx, &rows, teamVersionsQuery, groupID, ids, reverie.MaxTeamVersions+1); err != nil {
		return nil, err
	}
	versions := map[string][]teamVersionRow{}
	for _, r := range rows {
		versions[r.LineageID] = append(versions[r.LineageID], r)
	}
	for i, h := range heads {
		m := h.memory()
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

// teamVersionRow is a version with where it comes from.
type teamVersionRow struct {
	LineageID string                         `db:"lineage_id"`
	ID        string                         `db:"memory_id"`
	Version   int                            `db:"version"`
	UpdatedAt time.Time                      `db:"updated_at"`
	Origin    pg.JSON[*reverie.Origin]       `db:"origin"`
	Earlier   pg.JSON[[]reverie.TeamVersion] `db:"earlier"`
}

// origin is where the version was made: here, unless it says otherwise.
func (r teamVersionRow) origin(here string) reverie.Origin {
	if o := r.Origin.V; o != nil {
		return *o
	}
	return reverie.Origin{Deployment: here, MemoryID: r.ID, LineageID: r.LineageID, Version: r.Version,
		MadeAt: r.UpdatedAt}
}

// provenance tells from the versions of a lineage where the newest was made, and which
// were made before it, each once whatever way it came.
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
