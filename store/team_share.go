package store

import (
	"context"
	"errors"
	"fmt"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// sharedQuery finds the memory of a team that a group's memory was made into.
const sharedQuery = `select m.lineage_id, m.memory_id, o.origin_memory_id from memory_origins o
	join memories m on m.group_id = o.group_id and m.memory_id = o.memory_id
	where o.group_id = $1 and o.origin_lineage_id = $2::uuid and o.origin_group_id = $3
	order by m.version desc, m.updated_at desc limit 1`

// sharedEvidenceQuery are the words that a memory rests on, the newest that may travel.
const sharedEvidenceQuery = `select message_id, author_id, author, quote, sent_at, local_date::text as local_date
	from (
		select distinct on (message_id, quote) * from memory_evidence
		where group_id = $1 and lineage_id = $2::uuid and action <> 'delete' and withdrawn_at is null and quote <> ''
		order by message_id, quote, evidence_no) e
	order by sent_at desc, evidence_no limit $3`

// originQuery says what a version of a group's memory was made by and from.
const originQuery = `select coalesce(r.job, '') as job, coalesce(r.model, '') as model, coalesce(r.prompt_version,
	'') as prompt_version,
		(select count(distinct e.message_id) from memory_evidence e where e.group_id = m.group_id
			and e.lineage_id = m.lineage_id
			and e.action <> 'delete' and e.withdrawn_at is null) as messages
	from memories m left join runs r on r.group_id = m.group_id and r.run_id = m.run_id
	where m.group_id = $1 and m.memory_id = $2::uuid`

// ShareMemory makes a version of a group's memory the head of a team's memory: of the one
// that an earlier version of it was made into, or of a new one. What it rests on stays
// behind and is counted, unless share.Quotes has it come along. Where this version was
// shared before, nothing is written, and shared is false. Where the team has changed or
// deleted what was shared, that is a *reverie.TeamSharedError, unless share.Overwrite.
// Other errors are those of PutTeamMemory.
func (s *Store) ShareMemory(ctx context.Context, share reverie.TeamShare) (m reverie.TeamMemory, shared bool,
	err error) {
	from := share.Memory
	groupID := reverie.TeamGroupID(share.Team)
	versionID, lineageID := reverie.NewID(), reverie.NewID()
	err = s.db.Run(ctx, pg.Work{
		What: fmt.Sprintf("share memory %s with team %q", from.ID, share.Team),
		Do: func(ctx context.Context, t *pg.Tx) error {
			m, shared = reverie.TeamMemory{}, false
			if err := s.lockTeam(ctx, t, share.Team); err != nil {
				return err
			}
			w := reverie.TeamWrite{Team: share.Team, FromGroup: from.GroupID, Memory: reverie.TeamMemory{ID: lineageID,
				Statement: from.Statement,
				Status:    reverie.StatusActive, Tags: from.Tags, Strength: from.Strength, CreatedAt: from.CreatedAt,
				UpdatedAt:    from.LastSupportedAt,
				ChangeReason: share.Reason}}
			var before struct {
				LineageID string `db:"lineage_id"`
				ID        string `db:"memory_id"`
				VersionID string `db:"origin_memory_id"`
			}
			switch err := t.Get(ctx, &before, sharedQuery, groupID, from.LineageID, from.GroupID); {
			case IgnoreNoRows(err) != nil:
				return err
			case err == nil:
				head, err := teamHead(ctx, t, groupID, before.LineageID)
				if err != nil {
					return err
				}
				if before.VersionID == from.ID && head.Status == reverie.StatusActive {
					m, err = teamMemory(ctx, t, head)
					return err
				}
				if (head.ID != before.ID || head.Status != reverie.StatusActive) && !share.Overwrite {
					written, err := teamMemory(ctx, t, head)
					return errors.Join(err, &reverie.TeamSharedError{Head: written})
				}
				w.Memory.ID, w.IfVersion = head.LineageID, head.ID
			}
			var err error
			if w.Memory.Origin, err = originOf(ctx, t, from); err != nil {
				return err
			}
			if w.Quotes = share.Quotes; w.Quotes {
				if w.Memory.Evidence, err = sharedEvidence(ctx, t, from); err != nil {
					return err
				}
			}
			shared = true
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

// originOf says where a version of a group's memory was made, without a word that names
// the group, a person or a message.
func originOf(ctx context.Context, t *pg.Tx, m reverie.Memory) (reverie.Origin, error) {
	origin := reverie.Origin{MemoryID: m.ID, LineageID: m.LineageID, Version: m.Version, MadeAt: m.UpdatedAt}
	if err := t.Get(ctx, &origin, originQuery, m.GroupID, m.ID); err != nil {
		return origin, pg.NotFoundIfEmpty(err, "memory %s", m.ID)
	}
	err := t.Get(ctx, &origin.Deployment, deploymentQuery)
	return origin, err
}

// TeamMemoryOf returns the memory of a team that a version, or a lineage, is; and the
// group id of its team. What is no team's is reverie.ErrNotFound.
func (s *Store) TeamMemoryOf(ctx context.Context, team, id string) (m reverie.TeamMemory, of string, err error) {
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
		head, err := teamHead(ctx, t, found.GroupID, found.LineageID)
		if err != nil {
			return err
		}
		m, err = teamMemory(ctx, t, head)
		return err
	}})
	return m, of, err
}

// sharedEvidence are the words that a memory rests on.
func sharedEvidence(ctx context.Context, t *pg.Tx, m reverie.Memory) ([]reverie.Evidence, error) {
	list := []reverie.Evidence{}
	err := t.Select(ctx, &list, sharedEvidenceQuery, m.GroupID, m.LineageID, reverie.MaxTeamEvidence)
	return list, err
}
