package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// spendColumns are those of reverie.Spend, summed over llm_calls.
const spendColumns = `count(*) as calls, coalesce(sum(input_tokens), 0) as input_tokens,
	coalesce(sum(output_tokens), 0) as output_tokens, coalesce(sum(cost_usd), 0) as cost_usd`

// SpendSince sums up the calls to models since an instant, over all groups. Those
// of the offline baseline and of recordings are left out: nothing is spent on them.
func (s *Store) SpendSince(ctx context.Context, since time.Time) (reverie.Spend, error) {
	var spend reverie.Spend
	err := s.db.Run(asLogin(ctx), pg.Work{What: "sum up what was spent", ReadOnly: true, Do: func(ctx context.Context,
		t *pg.Tx) error {
		return t.Get(ctx, &spend, `select `+spendColumns+` from llm_calls
			where created_at >= $1::timestamptz and provider not in ('offline', 'recorded')`, pg.OrMinusInfinity(since))
	}})
	return spend, err
}

// LastAsked returns the group that a model was last asked about for a purpose, "" for
// none: a fan-out that a budget cuts short goes on behind it the next time.
func (s *Store) LastAsked(ctx context.Context, purpose string) (groupID string, err error) {
	err = s.db.Run(asLogin(ctx), pg.Work{What: "look for the group that was worked on last", ReadOnly: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			groupID = ""
			err := t.Get(ctx, &groupID, `select group_id from llm_calls where purpose = $1 order by created_at desc,
			call_id desc limit 1`, purpose)
			if errors.Is(err, sql.ErrNoRows) {
				return nil
			}
			return err
		}})
	return groupID, err
}

const meanOutputQuery = `select coalesce(avg(output_tokens), 0)::float8 as tokens, count(*) as calls
	from (select output_tokens from llm_calls where purpose = $1 and model = $2 and outcome = 'ok'
		order by created_at desc limit 200) latest`

// MeanOutput returns how many tokens a model answered with on average, in the
// latest calls for a purpose that went well, at most 200, and how many calls that
// rests on. The model is named as in llm_calls, without its provider.
func (s *Store) MeanOutput(ctx context.Context, purpose, model string) (tokens float64, calls int, err error) {
	var row struct {
		Tokens float64 `db:"tokens"`
		Calls  int     `db:"calls"`
	}
	err = s.db.Run(asLogin(ctx), pg.Work{What: fmt.Sprintf("look at earlier answers of %s", model), ReadOnly: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			return t.Get(ctx, &row, meanOutputQuery, purpose, model)
		}})
	return row.Tokens, row.Calls, err
}
