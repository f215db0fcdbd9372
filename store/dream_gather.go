package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	// Sessions nobody knows come behind those that have messages, and behind them what
	// is of no session: null comes last.
	materialQuery = `select ` + headColumns + ` from (select m.*, s.last_at as session_at` + newMaterial + `) m
		order by session_at, case kind when 'session' then session_id end, kind = 'session' and $6 = any (tags) desc,
			created_at, lineage_id`

	// What a dream covers: sessions that its material is of ($6), and those that are
	// fresh, but none of which something else is new than what was chosen: it would
	// not be fresh any more when that is to be dreamt of.
	coveredQuery = `select ` + sessionColumns + ` from sessions c where group_id = $1 and session_id = any (array(
			select unnest($6::text[])
			union all select s.session_id from sessions s where s.group_id = $1 and ` + undreamt + ` and ` + withinDream + `))
			and (cardinality($5::uuid[]) = 0 or not exists (select 1 from memories m
				where m.group_id = $1 and m.session_id = c.session_id and m.session_id <> '' and m.kind = 'session'
					and m.status = 'active'
					and m.memory_id not in (select unnest($5::uuid[])) and ` + dreamtOf + ` is null))
		order by last_at, session_id`

	// What earlier dreams have taken in of the group, and what they have left.
	dreamtQuery = `select ` + headColumns + ` from memories m where group_id = $1 and status = 'active'
		and kind in ('group', 'dream')
			and (kind = 'dream' or ` + dreamtOf + `)
		order by created_at, lineage_id`

	activeQuery = `select count(*) from memories where group_id = $1 and status = 'active'`

	// Of a message that several steps cite, the words that were cited first.
	evidenceOfQuery = `select lineage_id, message_id, author_id, author, quote, sent_at, to_char(local_date,
		'YYYY-MM-DD') as local_date
		from (select distinct on (lineage_id, message_id) * from memory_evidence
			where group_id = $1 and lineage_id = any ($2::uuid[]) and action <> 'delete' and withdrawn_at is null
			order by lineage_id, message_id, evidence_no) e
		order by lineage_id, sent_at, evidence_no`
)

// GatherDream reads what a dream of a group takes in, in one snapshot and at most
// seven statements. An unknown group is reverie.ErrNotFound, and so is an unknown
// session to reach up to, unless the query names the versions.
func (s *Store) GatherDream(ctx context.Context, q reverie.DreamQuery) (reverie.DreamState, error) {
	var state reverie.DreamState
	err := s.db.Run(ctx, pg.Work{
		What:     fmt.Sprintf("gather what group %q has to dream of", q.GroupID),
		ReadOnly: true,
		ByKey:    true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			state = reverie.DreamState{}
			var err error
			if state.Group, err = GetGroup(ctx, t, q.GroupID); err != nil {
				return err
			}
			args, err := dreamArgs(ctx, t, q)
			if err != nil {
				return err
			}
			if state.Signs, err = dreamSigns(ctx, t, args); err != nil {
				return err
			}
			if state.Material, err = headList(ctx, t, materialQuery, append(args, reverie.TagSummary)...); err != nil {
				return err
			}
			if err := t.Select(ctx, &state.Sessions, coveredQuery, append(args, sessionsOf(state.Material))...); err != nil {
				return err
			}
			state.Sessions = utcSessions(state.Sessions)
			if err := t.Get(ctx, &state.Active, activeQuery, q.GroupID); err != nil {
				return err
			}
			return dreamt(ctx, t, &state)
		},
	})
	return state, err
}

// sessionsOf names the sessions that material is of, each once.
func sessionsOf(material []reverie.HeadState) pq.StringArray {
	ids := pq.StringArray{}
	for _, m := range material {
		if m.Kind == reverie.KindSession && m.SessionID != "" {
			ids = append(ids, m.SessionID)
		}
	}
	return slices.Compact(ids) // material is ordered by session
}

// dreamt reads what earlier dreams have taken in and left. Of several narratives,
// since a person has restored one, the latest counts.
func dreamt(ctx context.Context, t *pg.Tx, state *reverie.DreamState) error {
	heads, err := headList(ctx, t, dreamtQuery, state.Group.ID)
	for _, h := range heads {
		switch {
		case h.Kind == reverie.KindGroup:
			state.Known = append(state.Known, h)
		case !slices.Contains(h.Tags, reverie.TagSummary):
			state.Items = append(state.Items, h)
		case state.Narrative == nil || h.UpdatedAt.After(state.Narrative.UpdatedAt):
			state.Narrative = &h
		}
	}
	return err
}

// EvidenceOf is what lineages rest on now, by lineage: the messages of all their
// versions, each once, oldest first. A lineage that rests on none is left out.
func (s *Store) EvidenceOf(ctx context.Context, groupID string, lineageIDs []string) (map[string][]reverie.Evidence,
	error) {
	var found map[string][]reverie.Evidence
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("read what memories of group %q rest on", groupID), ReadOnly: true,
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			var err error
			found, err = evidenceOf(ctx, t, groupID, lineageIDs)
			return err
		}})
	return found, err
}

func evidenceOf(ctx context.Context, t *pg.Tx, groupID string, lineageIDs []string) (map[string][]reverie.Evidence,
	error) {
	var rows []struct {
		evidenceRow
		LineageID string `db:"lineage_id"`
	}
	err := t.Select(ctx, &rows, evidenceOfQuery, groupID, pq.StringArray(lineageIDs))
	found := map[string][]reverie.Evidence{}
	for _, r := range rows {
		found[r.LineageID] = append(found[r.LineageID], r.Evidence)
	}
	return found, err
}
