package store

import (
	"context"
	"slices"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

// costsQuery sums calls up in one pass, by all that they are told apart by, and those
// sums four times: in all, by day, by group, by model. Of each part it keeps so many rows
// and one more, the newest days and the dearest of the others.
const costsQuery = `with sums as (
		select (created_at at time zone 'UTC')::date as day, group_id, provider, model, purpose, count(*)
			filter (where outcome <> 'ok') as failed,
			` + spendColumns + `
		from llm_calls where ($1 = '' or group_id = $1) and created_at >= $2::timestamptz and created_at < $3::timestamptz
			group by 1, 2, 3, 4, 5)
	select part, coalesce(to_char(day, 'YYYY-MM-DD'), '') as date, coalesce(group_id, '') as group_id,
		coalesce(provider || '/' || model, '') as model, coalesce(purpose, '') as purpose, failed, calls, input_tokens,
			output_tokens, cost_usd, no
	from (select *, row_number() over (partition by part order by day desc nulls last, cost_usd desc,
		input_tokens + output_tokens desc,
				group_id, provider, model, purpose) as no
		from (select grouping(day, group_id, model) as part, day, group_id, provider, model, purpose,
				coalesce(sum(failed), 0)::bigint as failed, coalesce(sum(calls), 0)::bigint as calls, coalesce(sum(input_tokens),
					0)::bigint as input_tokens,
				coalesce(sum(output_tokens), 0)::bigint as output_tokens, coalesce(sum(cost_usd), 0) as cost_usd
			from sums group by grouping sets ((), (day), (group_id), (provider, model, purpose))) s) ranked
	where no <= $4::int + 1 order by part, no`

// The parts of costsQuery: which columns a row does not group by.
const (
	costDay   = 0b011
	costGroup = 0b101
	costModel = 0b110
	costTotal = 0b111
)

// Costs sums up what models have cost in [since, until), in one pass over the calls. A
// group that is named and not there is reverie.ErrNotFound. Calls of the offline baseline
// cost nothing and are listed all the same.
func (s *Store) Costs(ctx context.Context, q reverie.CostQuery) (reverie.CostsReply, error) {
	var rows []struct {
		Part    int    `db:"part"`
		Date    string `db:"date"`
		GroupID string `db:"group_id"`
		Model   string `db:"model"`
		Purpose string `db:"purpose"`
		Failed  int    `db:"failed"`
		No      int    `db:"no"`
		reverie.Spend
	}
	err := s.db.Run(ctx, pg.Work{What: "sum up what models have cost", ReadOnly: true, Do: func(ctx context.Context,
		t *pg.Tx) error {
		rows = nil
		if q.GroupID != "" {
			if _, err := GetGroup(ctx, t, q.GroupID); err != nil {
				return err
			}
		}
		return t.Select(ctx, &rows, costsQuery, q.GroupID, q.Since, q.Until, q.Limit)
	}})
	reply := reverie.CostsReply{Success: true, GroupID: q.GroupID, Since: q.Since.UTC(), Until: q.Until.UTC(),
		Days: []reverie.Cost{}, Groups: []reverie.Cost{}, Models: []reverie.Cost{}}
	parts := map[int]*[]reverie.Cost{costDay: &reply.Days, costGroup: &reply.Groups, costModel: &reply.Models}
	for _, r := range rows {
		if r.Part == costTotal {
			reply.Total = r.Spend
			continue
		}
		if r.No > q.Limit {
			reply.Cut = true
			continue
		}
		*parts[r.Part] = append(*parts[r.Part], reverie.Cost{Date: r.Date, GroupID: r.GroupID, Model: r.Model,
			Purpose: r.Purpose, Failed: r.Failed, Spend: r.Spend})
	}
	slices.Reverse(reply.Days)
	return reply, err
}
