package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie"
)

const insertEvidenceQuery = `
	insert into memory_evidence (group_id, run_id, created_at, lineage_id, memory_id, action, message_id, author_id, author, quote, sent_at, local_date)
	select $1, $2::uuid, $3::timestamptz, u.* from unnest($4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[],
		$10::text[], $11::timestamptz[], $12::date[]) as u (lineage_id, memory_id, action, message_id)
	where u.action not in ('keep', 'update') or not exists (select 1 from memory_evidence e where e.group_id = $1
		and e.lineage_id = u.lineage_id and e.message_id = u.message_id and e.action <> 'delete' and e.withdrawn_at is null)`

// insertEvidence writes what each step rests on, but for the messages that its lineage
// rests on already. memoryID names the version that a step's evidence belongs to.
func insertEvidence(ctx context.Context, t *tx, groupID, runID string, at time.Time, steps []reverie.Step, memoryID func(reverie.Step) string) error {
	columns := make([]pq.StringArray, 9)
	for _, step := range steps {
		for _, e := range step.Evidence {
			if _, err := time.Parse(time.DateOnly, e.LocalDate); err != nil {
				return fmt.Errorf("evidence from message %q: local date %q must be YYYY-MM-DD: %w", e.MessageID, e.LocalDate, reverie.ErrInvalid)
			}
			for i, v := range []string{step.LineageID, memoryID(step), string(step.Action), e.MessageID, e.AuthorID, e.Author,
				e.Quote, timestamp(e.SentAt), e.LocalDate} {
				columns[i] = append(columns[i], v)
			}
		}
	}
	if len(columns[0]) == 0 {
		return nil
	}
	args := []any{groupID, runID, at}
	for _, c := range columns {
		args = append(args, c)
	}
	_, err := t.exec(ctx, insertEvidenceQuery, args...)
	return err
}
