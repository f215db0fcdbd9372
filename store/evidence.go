package store

import (
	"context"
	"fmt"
	"time"

	"reverie/internal/reverie"
	"reverie/store/events"
	"reverie/store/pg"
)

// Support of a version with sources repeats none of the messages that it has already, because they are the same each
// time. Otherwise a message is evidence of each version, and of each support, that cites it.
const insertEvidenceQuery = `
	insert into memory_evidence (group_id, evidence_no, run_id, created_at, lineage_id, memory_id, action, message_id, author_id,
		author, quote, sent_at, local_date)
	select $1, ` + events.Number + ` + row_number() over (), $2::uuid, $3::timestamptz, u.lineage_id, u.memory_id, u.action, u.message_id, u.author_id, u.author,
		u.quote, u.sent_at, u.local_date
	from unnest($4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::timestamptz[],
		$12::date[], $13::bool[])
		as u (lineage_id, memory_id, action, message_id, author_id, author, quote, sent_at, local_date, once)
	where not u.once or not exists (select 1 from memory_evidence e where e.group_id = $1
		and e.lineage_id = u.lineage_id and e.message_id = u.message_id and e.action <> 'delete'
			and e.withdrawn_at is null)`

// InsertEvidence writes the evidence of each step. memoryID returns the version to which it belongs. A nil runID means
// a person.
func InsertEvidence(ctx context.Context, t *pg.Tx, groupID string, runID *string, at time.Time, steps []reverie.Step,
	memoryID func(reverie.Step) string) error {
	var rows pg.Columns
	for _, step := range steps {
		action := step.Action
		if action == reverie.ActionArchive { // like that of a delete, it does not support the memory
			action = reverie.ActionDelete
		}
		for _, e := range step.Evidence {
			if _, err := time.Parse(time.DateOnly, e.LocalDate); err != nil {
				return fmt.Errorf("evidence from message %q: local date %q must be YYYY-MM-DD: %w", e.MessageID, e.LocalDate,
					reverie.ErrInvalid)
			}
			rows.Add(step.LineageID, memoryID(step), action, e.MessageID, e.AuthorID, e.Author, e.Quote, e.SentAt,
				e.LocalDate, step.Action == reverie.ActionKeep && len(step.Sources) > 0)
		}
	}
	return rows.Exec(ctx, t, insertEvidenceQuery, groupID, runID, at)
}
