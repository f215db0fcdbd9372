package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
)

// Edit makes a person's change to the head of a lineage, with a row in the change log, and returns the new head. It
// takes no lease: it locks the lineage.
//
//   - create makes a memory of the group, and update gives an active head a new text: see
//     [reverie.Words]. Both raise strength and weight to those of an established, new
//     memory. If another active memory has the statement, the error is
//     reverie.ErrConflict and names it.
//   - delete ends an active or held head. A team memory gets a deleted version instead.
//   - restore makes a new version of a head that is not active, supported now. It also
//     raises strength and weight, so that maintenance does not archive it. An erased
//     memory cannot be restored.
//   - strength (0..1) and weight (0..2) set a value of an active head in place; scope sets
//     that of the lineage.
//
// The id of an old version is a *reverie.NotHeadError. A head of another status than above is reverie.ErrConflict, and
// so is restoring a statement that another active memory has. An empty GroupID searches all groups.
func (s *Store) Edit(ctx context.Context, e reverie.Edit) (reverie.Memory, error) {
	what := strings.TrimSpace(fmt.Sprintf("%s memory %s", e.Action, e.MemoryID)) // a create has no id yet
	if err := checkEdit(e); err != nil {
		return reverie.Memory{}, fmt.Errorf("%s: %w", what, err)
	}
	var after reverie.Memory
	err := s.db.Run(ctx, pg.Work{
		What: what,
		Do: func(ctx context.Context, t *pg.Tx) error {
			head, err := editedHead(ctx, t, e)
			if err != nil {
				return err
			}
			at, err := NextTimestamp(ctx, s.db, t, head.GroupID)
			if err != nil {
				return err
			}
			change, err := edit(ctx, t, e, head, at)
			if err != nil {
				return err
			}
			change.ID = reverie.NewID()
			if err := InsertChanges(ctx, t, head.GroupID, nil, 0, at, []reverie.Change{change}); err != nil {
				return err
			}
			if err := decided(ctx, t, e.Action, head, at); err != nil {
				return err
			}
			if e.Action != reverie.ActionScope { // a scope does not change the statement
				_, err = Cascade(ctx, t, head.GroupID, []reverie.Change{change}, nil, at)
			}
			if err == nil {
				after, err = getHead(ctx, t, head.GroupID, head.LineageID)
			}
			return err
		},
	}.Once(e.GroupID))
	if err != nil {
		return reverie.Memory{}, err
	}
	return after, nil
}

func checkEdit(e reverie.Edit) error {
	limit := 1.0
	switch e.Action {
	case reverie.ActionDelete, reverie.ActionRestore, reverie.ActionScope:
		return nil
	case reverie.ActionCreate, reverie.ActionUpdate:
		if e.Author == "" && e.System == "" || (e.Statement == "") != (e.ContentHash == "") {
			return fmt.Errorf("words need an author, and a statement its hash: %w", reverie.ErrInvalid)
		}
		return nil
	case reverie.ActionWeight:
		limit = reverie.MaxWeight
	case reverie.ActionStrength:
	default:
		return fmt.Errorf("a person can add, edit, delete, restore, or set strength, weight or scope: %w", reverie.ErrInvalid)
	}
	if !(e.Value >= 0 && e.Value <= limit) { // also refuses NaN
		return fmt.Errorf("%s %v is not within 0..%v: %w", e.Action, e.Value, limit, reverie.ErrInvalid)
	}
	return nil
}

// editedHead locks and returns the head that an edit changes. For a create it locks the group, so that two creates
// cannot write the same statement.
func editedHead(ctx context.Context, t *pg.Tx, e reverie.Edit) (reverie.Memory, error) {
	if e.Action != reverie.ActionCreate {
		return lockHead(ctx, t, e)
	}
	if _, is := reverie.TeamOf(e.GroupID); is {
		return reverie.Memory{}, fmt.Errorf("%s is a team: write its memories with PUT /v1/team/memories/{id}: %w", e.GroupID,
			reverie.ErrInvalid)
	}
	g, err := LockGroup(ctx, t, e.GroupID)
	return reverie.Memory{GroupID: g.ID, LineageID: reverie.NewID(), Kind: reverie.KindGroup, Tags: []string{},
		Type: reverie.TypeFact}, err
}

// lockHead locks the lineage of a version and returns its present head. A version that is not the head is an error.
func lockHead(ctx context.Context, t *pg.Tx, e reverie.Edit) (reverie.Memory, error) {
	asked, err := GetMemory(ctx, t, e.GroupID, e.MemoryID)
	if err != nil {
		return reverie.Memory{}, err
	}
	if err := t.Exec(ctx, `select 1 from memories where group_id = $1 and lineage_id = $2 order by version
		for update`,
		asked.GroupID, asked.LineageID); err != nil {
		return reverie.Memory{}, err
	}
	// Read again: while waiting for the lock, a newer version may have been written.
	head, err := getHead(ctx, t, asked.GroupID, asked.LineageID)
	if err != nil {
		return reverie.Memory{}, err
	}
	if head.ID != asked.ID {
		return reverie.Memory{}, &reverie.NotHeadError{MemoryID: asked.ID, Head: reverie.Head{MemoryID: head.ID,
			Version: head.Version}}
	}
	return head, nil
}

func edit(ctx context.Context, t *pg.Tx, e reverie.Edit, head reverie.Memory, at time.Time) (reverie.Change, error) {
	if e.Action == reverie.ActionCreate || e.Action == reverie.ActionUpdate {
		return write(ctx, t, e, head, at)
	}
	c := reverie.Change{Action: e.Action, MemoryID: head.ID, OldID: &head.ID, OldStatement: head.Statement,
		NewStatement: head.Statement, Summary: e.Reason, Version: head.Version}
	switch active, held := head.Status == reverie.StatusActive, head.Status == reverie.StatusHeld; {
	case active && e.Action == reverie.ActionRestore:
		return c, fmt.Errorf("it is active already; there is nothing to restore: %w", reverie.ErrConflict)
	case !active && e.Action != reverie.ActionRestore && e.Action != reverie.ActionScope && !(held && e.Action == reverie.ActionDelete):
		return c, fmt.Errorf("it is %s; restore it first: %w", head.Status, reverie.ErrConflict)
	case e.Action == reverie.ActionRestore && head.Statement == text.Erased:
		return c, fmt.Errorf("what it said was erased (reverie erase), and no version of it is kept; import its messages again to have it learnt anew: %w", reverie.ErrConflict)
	}
	var err error
	switch e.Action {
	case reverie.ActionDelete:
		c.NewStatement = ""
		if head.Kind == reverie.KindTeam { // other deployments must learn of it by a version
			c.MemoryID, c.Version = reverie.NewID(), head.Version+1
			return c, bury(ctx, t, head, c.MemoryID, e.Reason, at)
		}
		err = endHead(ctx, t, head, reverie.StatusDeprecated, at)
	case reverie.ActionRestore:
		c.MemoryID, c.Version = reverie.NewID(), head.Version+1
		if err = restore(ctx, t, head, c.MemoryID, e.Reason, at); err == nil {
			err = endHead(ctx, t, head, reverie.StatusSuperseded, at) // a new version replaces it
		}
	case reverie.ActionScope:
		c.Summary = fmt.Sprintf("scope %s: %s", e.Reach, e.Reason)
		if err = reverie.CheckReach(e.Reach, head); err == nil {
			err = t.Exec(ctx, `insert into memory_scopes (group_id, lineage_id, scope, set_at) values ($1, $2, $3, $4)
				on conflict (group_id, lineage_id) do update set scope = excluded.scope, set_at = excluded.set_at`,
				head.GroupID, head.LineageID, string(e.Reach), at)
		}
	case reverie.ActionStrength, reverie.ActionWeight:
		old := head.Strength
		if e.Action == reverie.ActionWeight {
			old = head.Weight
		}
		c.Summary = ValueSummary(e, old)
		if err = keepValues(ctx, t, head.GroupID, head.ID, at); err == nil {
			err = t.Exec(ctx, `update memories set `+string(e.Action)+` = $3::float8 where group_id = $1 and memory_id = $2`,
				head.GroupID, head.ID, e.Value)
		}
	}
	return c, err
}

// endHead ends a head now, unless it has ended before.
func endHead(ctx context.Context, t *pg.Tx, head reverie.Memory, becomes reverie.Status, at time.Time) error {
	return t.Exec(ctx, `update memories set status = $4, ended_at = coalesce(ended_at, $3::timestamptz),
			said_until = coalesce(said_until, $3::timestamptz)
		where group_id = $1 and memory_id = $2`, head.GroupID, head.ID, at, string(becomes))
}

// ValueSummary describes the old and the new value, which the statements do not show.
func ValueSummary(e reverie.Edit, old float64) string {
	s := fmt.Sprintf("%s %.2f -> %.2f", e.Action, old, e.Value)
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// restore makes a new active version with head's text, unless another active memory has the statement.
func restore(ctx context.Context, t *pg.Tx, head reverie.Memory, newID, reason string, at time.Time) error {
	twin, err := twinOf(ctx, t, head.GroupID, head.Kind, head.ContentHash)
	if err != nil {
		return err
	}
	if twin != "" {
		return fmt.Errorf("memory %s is active and says the same; delete that one first: %w", twin, reverie.ErrConflict)
	}
	return appendVersion(ctx, t, head, newID, reason, reverie.StatusActive, at)
}

// appendVersion makes a new version with head's text: an active one that is supported now, or a deleted one.
func appendVersion(ctx context.Context, t *pg.Tx, head reverie.Memory, newID, reason string, status reverie.Status,
	at time.Time) error {
	err := t.Exec(ctx, `insert into memories (group_id, memory_id, lineage_id, parent_id, kind, session_id,
			statement, version, status, tags, strength, weight, content_hash, embedding, embedding_model, change_summary,
			created_at, updated_at, said_at, ended_at, said_until, last_supported_at, author, type, due_on)
		select group_id, $3::uuid, lineage_id, memory_id, kind, session_id, statement, version + 1, $8, tags,
			case when w.lives then greatest(strength, $6::float8) else strength end,
			case when w.lives then greatest(weight, $7::float8) else weight end,
			content_hash, embedding, embedding_model, $4, created_at, $5::timestamptz, $5::timestamptz,
			case when not w.lives then $5::timestamptz end, case when not w.lives then $5::timestamptz end,
			case when w.lives then greatest(last_supported_at, $5::timestamptz) else last_supported_at end,
			author, type, due_on
		from memories cross join (select $8 = 'active' as lives) w where group_id = $1 and memory_id = $2`,
		head.GroupID, head.ID, newID, reason, at, reverie.EstablishedStrength, reverie.DefaultWeight, string(status))
	return err
}

// EndTeamHeadQuery ends the head of a team memory that a new version replaces.
const EndTeamHeadQuery = `update memories set status = 'superseded', ended_at = coalesce(ended_at, $3::timestamptz),
			said_until = coalesce(said_until, $3::timestamptz)
		where group_id = $1 and memory_id = $2`

// bury makes a new, deleted version with head's text.
func bury(ctx context.Context, t *pg.Tx, head reverie.Memory, newID, reason string, at time.Time) error {
	if err := t.Exec(ctx, EndTeamHeadQuery, head.GroupID, head.ID, at); err != nil {
		return err
	}
	return appendVersion(ctx, t, head, newID, reason, reverie.StatusDeprecated, at)
}

// twinOf returns the id of the active memory of a kind with a statement, "" if there is none.
func twinOf(ctx context.Context, t *pg.Tx, groupID string, kind reverie.Kind, hash string) (id string, err error) {
	err = t.Get(ctx, &id, `select memory_id from memories
		where group_id = $1 and kind = $2 and content_hash = $3 and status = 'active'`, groupID, string(kind), hash)
	return id, IgnoreNoRows(err)
}
