package history

import (
	"context"
	"maps"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	activeSetQuery = `select lineage_id, statement, 'active' as status, tags from memories where group_id = $1
		and status = 'active'`

	// The active memories at an instant, by the times of their versions.
	activeSetThenQuery = `select lineage_id, statement, 'active' as status, tags from memories
		where group_id = $1 and updated_at <= $2::timestamptz and (status = 'active' or ended_at > $2)`

	// Just before the first change of a run; null if it changed nothing.
	beforeRunQuery = `select min(created_at) - interval '1 microsecond' from memory_change_log where group_id = $1
		and run_id = $2`
)

// rememberedThen returns the active memories of a group: now, and just before a run wrote.
func rememberedThen(ctx context.Context, t *pg.Tx, run reverie.Run) (now, was []reverie.Memory, err error) {
	var then *time.Time
	if err := t.Get(ctx, &then, beforeRunQuery, run.GroupID, run.ID); err != nil {
		return nil, nil, err
	}
	if now, err = activeSet(ctx, t, activeSetQuery, run.GroupID); err != nil || then == nil {
		return now, now, err
	}
	was, err = activeSet(ctx, t, activeSetThenQuery, run.GroupID, *then)
	return now, was, err
}

func activeSet(ctx context.Context, t *pg.Tx, query string, args ...any) ([]reverie.Memory, error) {
	var rows []reverie.Memory
	err := t.Select(ctx, &rows, query, args...)
	return rows, err
}

// explain says why memories differ from before the run. Memories that the run did not touch were changed by others.
func explain(list []lineageReturn, was, is []reverie.Memory, result *reverie.Undone) {
	touched := map[string]lineageReturn{}
	for _, w := range list {
		touched[w.LineageID] = w
	}
	then, now := byLineage(was), byLineage(is)
	all := maps.Clone(then)
	maps.Copy(all, now)
	for _, lineage := range slices.Sorted(maps.Keys(all)) {
		w := touched[lineage]
		switch {
		case then[lineage] == now[lineage] || w.left != "":
		case !w.Changed:
			result.Others++
		case w.newID != "" && w.Held:
			result.Left = append(result.Left, reverie.UndoLeft{MemoryID: w.newID, Statement: w.BaseStatement,
				Reason: "it waits to be judged again"})
		default:
			result.Left = append(result.Left, reverie.UndoLeft{MemoryID: w.HeadID, Statement: w.Statement,
				Reason: "what it said before the run has since been undone or erased"})
		}
	}
}

// byLineage maps the lineages of active memories to a hash of what they say.
func byLineage(active []reverie.Memory) map[string]string {
	says := map[string]string{}
	for _, m := range active {
		says[m.LineageID] = reverie.ActiveSHA256([]reverie.Memory{m})
	}
	return says
}
