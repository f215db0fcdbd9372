package history

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

const (
	// Rows of the same time are ordered by what they did: the row that made a version comes first.
	lineageChangesQuery = `select ` + store.ChangeColumns + `, coalesce(chunk_no, 0) as chunk_no from memory_change_log
		where group_id = $1 and memory_id = any ($2::uuid[])
		order by created_at, old_id is not distinct from memory_id, change_id`

	lineageEvidenceQuery = `select memory_id, action, run_id, created_at, message_id, author_id, author, quote, sent_at,
			to_char(local_date, 'YYYY-MM-DD') as local_date,
			withdrawn_at is not null as withdrawn
		from memory_evidence where group_id = $1 and lineage_id = $2
		order by created_at, evidence_no`

	// The replacement of a version is another lineage, written at once or after approval by a person.
	decidedQuery = `select ` + store.DecisionColumns + ` from decisions where group_id = $1 and (memory_id = any ($2::uuid[])
			or action in ('DELETE+ADD', 'HOLD') and target_id = any ($2::uuid[]))
		order by created_at, run_id, chunk_no, decision_no`

	runsByIDQuery = `select ` + store.RunColumns + ` from runs where group_id = $1 and run_id = any ($2::uuid[])`

	approvedPlansQuery = `select ` + store.HeldColumns + ` from held_plans
		where group_id = $1 and run_id = any ($2::uuid[]) and status = 'approved'`
)

// evidenceRow is a row of memory_evidence: the evidence of a step.
type evidenceRow struct {
	reverie.Evidence
	MemoryID  string         `db:"memory_id"`
	Action    reverie.Action `db:"action"`
	RunID     *string        `db:"run_id"`
	CreatedAt time.Time      `db:"created_at"`
	Withdrawn bool           `db:"withdrawn"`
}

// lineageChange is a row of the change log with the chunk that wrote it.
type lineageChange struct {
	reverie.Change
	ChunkNo int `db:"chunk_no"`
}

// made reports whether the change made the version that it names. Other changes leave the head as it is, or end it.
func (r lineageChange) made() bool { return r.OldID == nil || *r.OldID != r.MemoryID }

// lineage is what the database has about a lineage, from which a reverie.Why is made.
type lineage struct {
	versions  []reverie.Memory
	changes   []lineageChange
	evidence  []evidenceRow
	decisions []reverie.Decision
	sources   []store.SourceRow // of all versions
	runs      map[string]reverie.Run
	approved  map[approvedStep]bool // what persons approved
}

// approvedStep is what a run did to a version; the action may also be that it made it.
type approvedStep struct {
	runID, memoryID string
	action          reverie.Action
}

// Why returns the history of the lineage that a version, old or new, belongs to, oldest version first. It leaves out
// evidence and sources of undone runs. An empty groupID searches all groups. A version that does not exist, or belongs
// to another group, is reverie.ErrNotFound.
func (h *History) Why(ctx context.Context, groupID, memoryID string) (reverie.Why, error) {
	return h.WhyAt(ctx, groupID, memoryID, reverie.When{})
}

// WhyAt is [History.Why] as of an instant; the zero time means now: see [reverie.Why.AsOf]. In recorded time, each
// version has the strength, weight and last support of that instant.
func (h *History) WhyAt(ctx context.Context, groupID, memoryID string, at reverie.When) (reverie.Why, error) {
	why, err := pg.Read(ctx, h.db, "read what stands behind a memory", func(ctx context.Context,
		t *pg.Tx) (reverie.Why, error) {
		asked, err := store.GetMemory(ctx, t, groupID, memoryID)
		if err != nil {
			return reverie.Why{}, err
		}
		l, err := readLineage(ctx, t, asked.GroupID, asked.LineageID, at)
		if err != nil {
			return reverie.Why{}, err
		}
		why := l.why()
		if why.Resting, err = store.RestingOn(ctx, t, asked.GroupID, asked.LineageID); err != nil {
			return why, err
		}
		counts, err := store.UsageCounts(ctx, t, asked.GroupID, []string{asked.LineageID})
		why.Usage = counts[asked.LineageID]
		return why, err
	})
	if err != nil || at.IsZero() {
		return why, err
	}
	return why.AsOf(at)
}

func readLineage(ctx context.Context, t *pg.Tx, groupID, lineageID string, at reverie.When) (lineage, error) {
	l := lineage{runs: map[string]reverie.Run{}, approved: map[approvedStep]bool{}}
	query, args := store.LineageQuery, []any{groupID, lineageID}
	if at.Recorded && !at.IsZero() {
		query, args = store.LineageAtQuery, append(args, at.At)
	}
	if err := t.Select(ctx, &l.versions, query, args...); err != nil {
		return l, err
	}
	var ids, runIDs pq.StringArray
	for _, v := range l.versions {
		ids = append(ids, v.ID)
	}
	if err := t.Select(ctx, &l.changes, lineageChangesQuery, groupID, ids); err != nil {
		return l, err
	}
	if err := t.Select(ctx, &l.evidence, lineageEvidenceQuery, groupID, lineageID); err != nil {
		return l, err
	}
	if err := t.Select(ctx, &l.decisions, decidedQuery, groupID, ids); err != nil {
		return l, err
	}
	sources, err := store.SourcesOf(ctx, t, groupID, []string{lineageID})
	if err != nil {
		return l, err
	}
	l.sources = sources[lineageID]
	for _, c := range l.changes {
		if c.RunID != nil {
			runIDs = append(runIDs, *c.RunID)
		}
	}
	for _, d := range l.decisions { // support has no row in the change log
		runIDs = append(runIDs, d.RunID)
	}
	var runs []reverie.Run
	if err := t.Select(ctx, &runs, runsByIDQuery, groupID, runIDs); err != nil {
		return l, err
	}
	for _, run := range runs {
		l.runs[run.ID] = run
	}
	return l, l.readApproved(ctx, t, groupID, runIDs)
}

// readApproved reads which held steps of the runs persons approved.
func (l *lineage) readApproved(ctx context.Context, t *pg.Tx, groupID string, runIDs pq.StringArray) error {
	plans, err := pg.Select[reverie.HeldPlan](ctx, t, approvedPlansQuery, groupID, runIDs)
	for _, plan := range plans {
		for _, st := range plan.Steps {
			l.approved[approvedStep{plan.RunID, cmp.Or(st.MemoryID, st.Head.MemoryID), st.Action}] = true
		}
	}
	return err
}

// why sorts the rows by version.
func (l lineage) why() reverie.Why {
	why := reverie.Why{Versions: make([]reverie.WhyVersion, len(l.versions))}
	at := make(map[string]*reverie.WhyVersion, len(l.versions))
	for i, v := range l.versions {
		if why.Memory = v; i == 0 {
			why.Since = v.SaidAt
		}
		why.Versions[i] = reverie.WhyVersion{Memory: why.Memory, Reason: v.ChangeSummary, Evidence: []reverie.Evidence{},
			Decisions: []reverie.Decision{}, Later: []reverie.WhyLater{}}
		at[v.ID] = &why.Versions[i]
	}
	for _, r := range l.changes {
		v := at[r.MemoryID]
		if r.made() {
			v.Action, v.Reason, v.ChunkNo, v.UndoneRunID = r.Action, r.Summary, r.ChunkNo, pg.OrZero(r.UndoneRunID)
			v.Approved = l.approved[approvedStep{pg.OrZero(r.RunID), r.MemoryID, r.Action}]
			if run, ok := l.runs[pg.OrZero(r.RunID)]; ok {
				v.Run = &run
			}
			continue
		}
		v.Later = append(v.Later, reverie.WhyLater{Action: r.Action, Reason: r.Summary, RunID: pg.OrZero(r.RunID),
			UndoneRunID: pg.OrZero(r.UndoneRunID), Evidence: r.Evidence, At: r.CreatedAt,
			Ends: r.NewStatement == ""})
	}
	for _, e := range l.evidence {
		addEvidence(at[e.MemoryID], e)
	}
	for _, r := range l.sources {
		at[r.OfID].Sources = append(at[r.OfID].Sources, r.SourceMemory)
	}
	for _, decision := range l.decisions {
		decision.UndoneAt = l.runs[decision.RunID].UndoneAt
		v := at[decision.MemoryID]
		if v == nil { // of another lineage: it replaced the target, if the target was deleted for it
			v = at[decision.TargetID]
			if !slices.ContainsFunc(v.Later, func(w reverie.WhyLater) bool {
				return w.Action == reverie.ActionDelete &&
					w.RunID == decision.RunID
			}) {
				continue
			}
		}
		v.Decisions = append(v.Decisions, decision)
	}
	for _, v := range why.Versions {
		for i, w := range v.Later {
			v.Later[i].Approved = l.approved[approvedStep{w.RunID, v.Memory.ID, w.Action}]
		}
		slices.SortStableFunc(v.Later, func(a, b reverie.WhyLater) int { return a.At.Compare(b.At) })
	}
	return why
}

// addEvidence adds a piece of evidence to its version, or to the later support by a run. The evidence of a deletion
// belongs to its row of the change log.
func addEvidence(v *reverie.WhyVersion, e evidenceRow) {
	switch made := e.Action == reverie.ActionCreate || e.Action == reverie.ActionUpdate; {
	case made && e.Withdrawn:
		v.Withdrawn = append(v.Withdrawn, e.Evidence)
	case made:
		v.Evidence = append(v.Evidence, e.Evidence)
	case e.Action == reverie.ActionKeep && !e.Withdrawn:
		run := pg.OrZero(e.RunID)
		i := slices.IndexFunc(v.Later, func(w reverie.WhyLater) bool {
			return w.Action == reverie.ActionKeep &&
				w.RunID == run
		})
		if i < 0 {
			i = len(v.Later)
			v.Later = append(v.Later, reverie.WhyLater{Action: reverie.ActionKeep, RunID: run, At: e.CreatedAt})
		}
		v.Later[i].Evidence = append(v.Later[i].Evidence, e.Evidence)
	}
}
