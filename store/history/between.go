package history

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/pg"
)

// A change with the same old and new version ended the version, or left it as it is.
const betweenStepsQuery = `select c.memory_id, c.old_id is not distinct from c.memory_id as ends, c.action,
		c.change_summary, c.run_id, c.undone_run_id,
			c.created_at, coalesce(r.job, '') as job
		from memory_change_log c left join runs r on r.group_id = $1 and r.run_id = coalesce(c.run_id,
			c.undone_run_id)
		where c.group_id = $1 and c.memory_id = any ($2::uuid[]) and (c.old_id is distinct from c.memory_id
			or c.new_statement = '')
		order by c.created_at, c.change_id`

// betweenQueries returns the queries that compare two instants, in chat time or in recorded time. The first counts the
// memories that were active at the first instant. The second reads the lineages in which a version began or ended in
// between: their versions of that time, and those at its beginning.
func betweenQueries(recorded bool) (active, versions string) {
	began, ended, born := "updated_at", "ended_at", "m.created_at"
	if !recorded {
		began, ended = "said_at", "said_until"
		born = "(select min(f.said_at) from memories f where f.group_id = $1 and f.lineage_id = m.lineage_id)"
	}
	by := strings.NewReplacer("{began}", began, "{ended}", ended, "{born}", born)
	return by.Replace(`select count(*) from memories where group_id = $1 and ($2 = '' or kind = $2)
			and {began} <= $3::timestamptz and (status = 'active' or {ended} > $3) and statement <> '` + text.Erased + `'`),
		by.Replace(`select ` + store.MemoryColumns + `, {born} as born from memories m
			where group_id = $1 and statement <> '` + text.Erased + `'
				and {began} <= $4::timestamptz and ({ended} is null or {ended} > $3::timestamptz or {began} > $3)
				and lineage_id in (select lineage_id from memories where group_id = $1 and ($2 = '' or kind = $2)
					and ({began} > $3 and {began} <= $4 or {ended} > $3 and {ended} <= $4))
			order by born, lineage_id, version`)
}

// betweenStep is a row of the change log, as a comparison needs it.
type betweenStep struct {
	MemoryID    string         `db:"memory_id"`
	Ends        bool           `db:"ends"`
	Action      reverie.Action `db:"action"`
	Summary     string         `db:"change_summary"`
	RunID       *string        `db:"run_id"`
	UndoneRunID *string        `db:"undone_run_id"`
	CreatedAt   time.Time      `db:"created_at"`
	Job         reverie.Job    `db:"job"`
}

// bornMemory is a version, with the time at which its lineage began.
type bornMemory struct {
	reverie.Memory
	Born time.Time `db:"born"`
}

// Between reads, in one snapshot, what a comparison of two instants needs. Erased memories belong to no instant. An
// unknown group is reverie.ErrNotFound.
func (h *History) Between(ctx context.Context, q reverie.BetweenQuery) (reverie.Between, error) {
	what := fmt.Sprintf("compare the memories of group %q at two instants", q.GroupID)
	return pg.Read(ctx, h.db, what, func(ctx context.Context, t *pg.Tx) (reverie.Between, error) {
		b := reverie.Between{BetweenQuery: q}
		if _, err := store.GetGroup(ctx, t, q.GroupID); err != nil {
			return b, err
		}
		active, versions := betweenQueries(q.Recorded)
		err := t.Get(ctx, &b.Active, active, q.GroupID, string(q.Kind), q.To)
		if err != nil {
			return b, err
		}
		rows, err := pg.Select[bornMemory](ctx, t, versions, q.GroupID, string(q.Kind), q.From, q.To)
		if err != nil {
			return b, err
		}
		ids := make(pq.StringArray, len(rows))
		for i, m := range rows {
			ids[i] = m.ID
			b.Versions = append(b.Versions, m.Memory)
		}
		log, err := pg.Select[betweenStep](ctx, t, betweenStepsQuery, q.GroupID, ids)
		b.Made, b.Ended = stepsOf(b.Versions, log)
		for i, m := range rows {
			if b.Versions[i].CreatedAt = m.Born; !q.Recorded {
				b.Versions[i] = b.Versions[i].OnChat()
			}
		}
		return b, err
	})
}

// stepsOf returns the steps that made versions and the steps that ended them, by version id. A step that ended a
// version after it had stopped being active ended a held version.
func stepsOf(versions []reverie.Memory, log []betweenStep) (made, ended map[string]reverie.DiffStep) {
	made, ended = map[string]reverie.DiffStep{}, map[string]reverie.DiffStep{}
	at := make(map[string]*time.Time, len(versions))
	for _, m := range versions {
		at[m.ID] = m.EndedAt
	}
	for _, r := range log {
		step := reverie.DiffStep{Action: r.Action, Reason: r.Summary, RunID: pg.OrZero(r.RunID), Job: r.Job,
			UndoneRunID: pg.OrZero(r.UndoneRunID)}
		switch end := at[r.MemoryID]; {
		case !r.Ends:
			made[r.MemoryID] = step
		case end != nil && reverie.OneChange(*end, r.CreatedAt):
			ended[r.MemoryID] = step
		}
	}
	return made, ended
}

// HistoryAt returns the versions of a lineage that existed at an instant, oldest first; the zero time means now. Each has
// the status, strength, weight and last support of that instant. Its errors are those of [History.WhyAt].
func (h *History) HistoryAt(ctx context.Context, groupID, memoryID string, at reverie.When) ([]reverie.Memory, error) {
	why, err := h.WhyAt(ctx, groupID, memoryID, at)
	list := make([]reverie.Memory, len(why.Versions))
	for i, v := range why.Versions {
		list[i] = v.Memory
	}
	return list, err
}
