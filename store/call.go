package store

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const callColumns = `group_id, call_id, run_id, purpose, provider, model, input_tokens, output_tokens, cost_usd,
	latency_ms, outcome, created_at`

const recordCallQuery = `insert into llm_calls (` + callColumns + `)
	values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) on conflict (group_id, call_id) do nothing`

// RecordCall writes one request to a model. It fills an empty id and time; the
// same id twice is one row.
func (s *Store) RecordCall(ctx context.Context, c reverie.Call) error {
	if c.ID == "" {
		c.ID = reverie.NewID()
	}
	if c.CreatedAt.IsZero() {
		c.CreatedAt = s.db.Now()
	}
	return s.db.Run(ctx, pg.Work{What: fmt.Sprintf("record a call to %s", c.Model), Prepare: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			_, err := t.Exec(ctx, recordCallQuery, c.GroupID, c.ID, c.RunID, c.Purpose, c.Provider, c.Model,
				c.InputTokens, c.OutputTokens, c.CostUSD, c.Latency.Milliseconds(), c.Outcome, c.CreatedAt)
			return err
		}})
}

func calls(ctx context.Context, t *pg.Tx, groupID, runID string, limit int) ([]reverie.Call, error) {
	var rows []struct {
		reverie.Call
		LatencyMS int64 `db:"latency_ms"`
	}
	err := t.Select(ctx, &rows, `select `+callColumns+` from llm_calls where group_id = $1 and run_id = $2
		order by created_at, call_id
		limit nullif($3::int, 0)`, groupID, runID, limit)
	if err != nil {
		return nil, err
	}
	list := make([]reverie.Call, len(rows))
	for i, r := range rows {
		r.Latency, r.CreatedAt = time.Duration(r.LatencyMS)*time.Millisecond, r.CreatedAt.UTC()
		list[i] = r.Call
	}
	return list, nil
}
