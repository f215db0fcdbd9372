// Package batches stores the questions of runs that providers answer in batches.
package batches

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
)

// Batches are the batches of one database.
type Batches struct{ db *pg.DB }

// New returns the batches of a database.
func New(db *pg.DB) *Batches { return &Batches{db} }

const (
	batchColumns = `batch_id, job, model, provider_id, status, questions, tokens, answered, refused, failed, error,
		created_at, sent_at, ended_at`
	questionColumns = `group_id, question_id, run_id, input_sha256, nth, model, purpose, batch_id, status, tries, nonce,
		tokens, max_tokens, system_text, user_text, answer, finish, fault, created_at`

	// A failed question waits again, unless it was tried too often or has waited too long.
	putQuery = `insert into batch_questions as q (` + questionColumns + `)
		values ($1, $2, $3, $4, $5, $6, $7, null, 'waiting', 0, $8, $9, $10, $11, $12, '', '', '', $13)
		on conflict (group_id, run_id, input_sha256, nth) do update set status = 'waiting', batch_id = null,
			nonce = excluded.nonce, system_text = excluded.system_text, user_text = excluded.user_text
		where q.status = 'again' and q.tries < $14 and q.created_at > $15::timestamptz`
	questionQuery = `select ` + questionColumns + ` from batch_questions
		where group_id = $1 and run_id = $2 and input_sha256 = $3 and nth = $4`

	// A question without a batch gets none while it is asked directly.
	withholdQuery = `update batch_questions set status = 'again'
		where group_id = $1 and run_id = $2 and input_sha256 = $3 and nth = $4 and status = 'waiting' and batch_id is null`

	keepQuery = `update batch_questions set status = 'answered', answer = $3, finish = $4
		where group_id = $1 and question_id = $2 and (status = 'again' or status = 'waiting' and batch_id is null)`

	insertBatchQuery = `insert into batches (batch_id, job, model, questions, tokens, created_at, sent_at, holder, held_until)
		values ($1, $2, $3, $4, $5, $6, $6, $7, statement_timestamp() + make_interval(secs => $8))`
	assignQuery = `update batch_questions q set batch_id = $1
		where (group_id, question_id) in (select * from unnest($2::text[], $3::uuid[])) and batch_id is null and status = 'waiting'
			and ` + wanted + `
		returning ` + questionColumns
	// A run that has ended, because a person cancelled or undid it, waits for no answer.
	wanted      = `exists (select 1 from runs r where r.group_id = q.group_id and r.run_id = q.run_id and r.status = 'running')`
	wantedQuery = `select distinct batch_id::text from batch_questions q where batch_id = any ($1::uuid[]) and status = 'waiting'
		and ` + wanted

	claimQuery = `update batches set holder = $2, held_until = statement_timestamp() + make_interval(secs => $3),
			sent_at = coalesce($4::timestamptz, sent_at)
		where group_id = '' and batch_id = $1 and provider_id = '' and ended_at is null
			and (holder = $2 or held_until < statement_timestamp())`
	submittedQuery = `update batches set provider_id = $2,
			status = case status when 'submitting' then 'running' else status end
		where group_id = '' and batch_id = $1 and provider_id = '' and ended_at is null`
	// The provider has the texts of submitted questions.
	blankQuery = `update batch_questions set system_text = '', user_text = ''
		where batch_id = $1 and group_id is not null`
	withdrawQuery = `update batch_questions set batch_id = null where batch_id = $1 and group_id is not null
		and status = 'waiting'`

	ofBatchQuery = `select ` + questionColumns + ` from batch_questions where batch_id = $1
		and status in ('waiting', 'erased') order by group_id, question_id`

	// The id of a call is made of the question's id and the number of the attempt, so that it is never written twice.
	takeQuery = `update batch_questions q set status = $4, answer = $5, finish = $6, fault = $7,
			tries = o.tries + case when $4 = 'again' then 1 else 0 end
		from batch_questions o
		where q.group_id = $1 and q.question_id = $2 and q.batch_id = $3 and q.status in ('waiting', 'erased')
			and o.group_id = $1 and o.question_id = q.question_id
		returning md5(o.question_id::text || '/' || o.tries)::uuid::text as call, o.status = 'erased' as erased`
	countQuery = `update batches set answered = answered + $2, refused = refused + $3, failed = failed + $4
		where group_id = '' and batch_id = $1`

	closeQuery = `update batches set status = $2, error = $3, ended_at = $4
		where group_id = '' and batch_id = $1 and ended_at is null`
	leftQuery = `update batch_questions set status = 'again', tries = tries + $2
		where batch_id = $1 and group_id is not null and status = 'waiting'`
	unansweredQuery = `update batches set failed = failed + $2 where group_id = '' and batch_id = $1`
	forgetQuery     = `delete from batch_questions where batch_id = $1 and group_id is not null and status = 'erased'`

	// Answers are deleted when their run has ended. Questions without a run are deleted when their batch has ended.
	sweepQuery = `delete from batch_questions q using runs r
		where r.group_id = q.group_id and r.run_id = q.run_id and r.job = $1 and r.status <> 'running'
			and (q.batch_id is null or q.status not in ('waiting', 'erased'))`
	sweepBatchesQuery = `delete from batches where group_id = '' and ended_at < $1`
)

// PutQuestion stores a question if it is new, and returns its present state. A failed question waits again, unless it
// was tried that often, or was first asked before since.
func (s *Batches) PutQuestion(ctx context.Context, q reverie.BatchQuestion, tries int, since time.Time) (kept reverie.BatchQuestion,
	err error) {
	what := fmt.Sprintf("keep a question of run %s", q.RunID)
	return pg.Run(ctx, s.db, pg.Work{What: what, ByKey: true}, func(ctx context.Context, t *pg.Tx) (reverie.BatchQuestion, error) {
		if err := t.Exec(ctx, putQuery, q.GroupID, q.ID, q.RunID, q.InputSHA256, q.Nth, q.Model, q.Purpose, q.Nonce,
			q.Tokens, q.MaxTokens, pg.ValidText(q.System), pg.ValidText(q.User), s.db.Now(), tries, since); err != nil {
			return q, err
		}
		return pg.Get[reverie.BatchQuestion](ctx, t, questionQuery, q.GroupID, q.RunID, q.InputSHA256, q.Nth)
	})
}

// WithholdQuestion returns the present state of a question, the zero value if it was never put. A question without a
// batch gets none from now on.
func (s *Batches) WithholdQuestion(ctx context.Context, q reverie.BatchQuestion) (kept reverie.BatchQuestion, err error) {
	return pg.Run(ctx, s.db, pg.Work{What: fmt.Sprintf("look for a question of run %s", q.RunID), ByKey: true},
		func(ctx context.Context, t *pg.Tx) (kept reverie.BatchQuestion, err error) {
			key := []any{q.GroupID, q.RunID, q.InputSHA256, q.Nth}
			if err := t.Exec(ctx, withholdQuery, key...); err != nil {
				return kept, err
			}
			list, err := pg.Select[reverie.BatchQuestion](ctx, t, questionQuery, key...)
			if err != nil || len(list) == 0 {
				return kept, err
			}
			return list[0], nil
		})
}

// KeepAnswer stores the answer to a question that was asked directly.
func (s *Batches) KeepAnswer(ctx context.Context, groupID, id, answer, finish string) error {
	return s.db.Exec(ctx, "keep an answer", keepQuery, groupID, id, pg.ValidText(answer), finish)
}

// AssignBatch creates a batch of those questions that are in none, and returns them. If none is left, it creates no
// batch. The holder has the batch for ttl.
func (s *Batches) AssignBatch(ctx context.Context, b reverie.Batch, questions []reverie.BatchQuestion, holder string,
	ttl time.Duration) (list []reverie.BatchQuestion, err error) {
	var groups, ids pq.StringArray
	for _, q := range questions {
		groups, ids = append(groups, q.GroupID), append(ids, q.ID)
	}
	return pg.Run(ctx, s.db, pg.Work{What: "make a batch of questions",
		Committed: func(ctx context.Context, t *pg.Tx) (bool, error) {
			return pg.Get[bool](ctx, t, `select exists (select 1 from batches where group_id = '' and batch_id = $1)`, b.ID)
		}}, func(ctx context.Context, t *pg.Tx) ([]reverie.BatchQuestion, error) {
		list, err := pg.Select[reverie.BatchQuestion](ctx, t, assignQuery, b.ID, groups, ids)
		if err != nil || len(list) == 0 {
			return nil, err
		}
		tokens := 0
		for _, q := range list {
			tokens += q.Tokens
		}
		err = t.Exec(ctx, insertBatchQuery, b.ID, b.Job, b.Model, len(list), tokens, s.db.Now(), holder, ttl.Seconds())
		return list, err
	})
}

// ClaimBatch gives a batch to a holder for ttl, to look for it or to send it. It returns false if another process has
// it.
func (s *Batches) ClaimBatch(ctx context.Context, id, holder string, ttl time.Duration, send bool) (is bool, err error) {
	var sent *time.Time
	if send {
		sent = new(s.db.Now())
	}
	return s.changes(ctx, "claim a batch", claimQuery, id, holder, ttl.Seconds(), sent)
}

func (s *Batches) changes(ctx context.Context, what, query string, args ...any) (is bool, err error) {
	return pg.Run(ctx, s.db, pg.Work{What: what}, func(ctx context.Context, t *pg.Tx) (bool, error) {
		n, err := t.ExecRows(ctx, query, args...)
		return n > 0, err
	})
}

// BatchSubmitted stores the provider's id of a batch, and deletes the texts of its questions.
func (s *Batches) BatchSubmitted(ctx context.Context, id, providerID string) error {
	return s.all(ctx, "note that a batch was handed in", id, submittedQuery, []any{id, providerID}, blankQuery)
}

// WithdrawBatch ends a batch that was not accepted. Its questions are in no batch again.
func (s *Batches) WithdrawBatch(ctx context.Context, id string) error {
	return s.all(ctx, "take a batch back", id, `delete from batches where group_id = '' and batch_id = $1`, []any{id},
		forgetQuery, withdrawQuery)
}

// all changes a batch, and then its questions.
func (s *Batches) all(ctx context.Context, what, id, query string, args []any, then ...string) error {
	return s.db.Run(ctx, pg.Work{What: what, Do: func(ctx context.Context, t *pg.Tx) error {
		if err := t.Exec(ctx, query, args...); err != nil {
			return err
		}
		for _, query := range then {
			if err := t.Exec(ctx, query, id); err != nil {
				return err
			}
		}
		return nil
	}})
}

// BatchQuestions returns the questions of a batch that have no answer yet.
func (s *Batches) BatchQuestions(ctx context.Context, id string) (list []reverie.BatchQuestion, err error) {
	return pg.QueryAll[reverie.BatchQuestion](ctx, s.db, "read the questions of a batch", ofBatchQuery, id)
}

// TakeAnswer stores the outcome of a question of a batch with the row of the call, in one transaction. taken is false
// if the question no longer waits; then nothing changes.
func (s *Batches) TakeAnswer(ctx context.Context, id string, a reverie.BatchAnswer) (taken bool, err error) {
	q := a.Question
	var row struct {
		Call   string
		Erased bool
	}
	return pg.Run(ctx, s.db, pg.Work{What: "take an answer", ByKey: true}, func(ctx context.Context, t *pg.Tx) (bool, error) {
		err := t.Get(ctx, &row, takeQuery, q.GroupID, q.ID, id, q.Status, pg.ValidText(q.Answer), q.Finish, q.Fault)
		if err := pg.NotFoundIfEmpty(err, "question %s", q.ID); err != nil {
			if errors.Is(err, reverie.ErrNotFound) {
				return false, nil
			}
			return false, err
		}
		if row.Erased {
			if err := t.Exec(ctx, `delete from batch_questions where group_id = $1 and question_id = $2`, q.GroupID,
				q.ID); err != nil {
				return false, err
			}
		}
		if a.Call != nil {
			a.Call.ID = row.Call
			if err := store.InsertCall(ctx, t, *a.Call); err != nil {
				return false, err
			}
		}
		count := func(is bool) int {
			if is {
				return 1
			}
			return 0
		}
		err = t.Exec(ctx, countQuery, id, count(q.Status == reverie.QuestionAnswered), count(a.Refused),
			count(!a.Refused && q.Status != reverie.QuestionAnswered))
		return true, err
	})
}

// CloseBatch ends a batch. Its unanswered questions have failed, and tries is added to their attempts. It returns their
// number.
func (s *Batches) CloseBatch(ctx context.Context, id string, status reverie.BatchStatus, why string, tries int) (n int,
	err error) {
	return pg.Run(ctx, s.db, pg.Work{What: "end a batch"}, func(ctx context.Context, t *pg.Tx) (int, error) {
		if err := t.Exec(ctx, closeQuery, id, status, pg.ValidText(why), s.db.Now()); err != nil {
			return 0, err
		}
		left, err := t.ExecRows(ctx, leftQuery, id, tries)
		if err != nil {
			return 0, err
		}
		if err = t.Exec(ctx, unansweredQuery, id, left); err != nil {
			return 0, err
		}
		err = t.Exec(ctx, forgetQuery, id)
		return int(left), err
	})
}

// CancellingBatch notes that a batch must be cancelled. It returns false for a batch that has ended.
func (s *Batches) CancellingBatch(ctx context.Context, id string) (is bool, err error) {
	return s.changes(ctx, "note that a batch is cancelled", `update batches set status = 'cancelling'
		where group_id = '' and batch_id = $1 and ended_at is null`, id)
}

// BatchesOut returns the unfinished batches of a job, or of all jobs if job is "", oldest first.
func (s *Batches) BatchesOut(ctx context.Context, job reverie.Job) ([]reverie.Batch, error) {
	return pg.QueryAll[reverie.Batch](ctx, s.db, "list the batches that are out", `select `+batchColumns+` from batches
		where group_id = '' and ($1 = '' or job = $1) and ended_at is null order by created_at, batch_id`, string(job))
}

// WantedBatches returns those of the batches that have a question for which a run still waits.
func (s *Batches) WantedBatches(ctx context.Context, ids []string) ([]string, error) {
	return pg.QueryAll[string](ctx, s.db, "look who waits for batches", wantedQuery, pq.StringArray(ids))
}

// Out counts the submitted questions to one model for one purpose.
type Out struct {
	Model     string // provider/model
	Purpose   string
	Questions int
	Tokens    int // estimated
}

// QuestionsOut counts the submitted questions of all batches.
func (s *Batches) QuestionsOut(ctx context.Context) ([]Out, error) {
	return pg.QueryAll[Out](ctx, s.db, "sum up what is out in batches", `select model, purpose, count(*) as questions, sum(tokens) as tokens
		from batch_questions where batch_id is not null and status in ('waiting', 'erased') group by model, purpose`)
}

// ListBatches returns the newest batches.
func (s *Batches) ListBatches(ctx context.Context, limit int) ([]reverie.Batch, error) {
	return pg.QueryAll[reverie.Batch](ctx, s.db, "list batches", `select `+batchColumns+` from batches
		where group_id = '' order by created_at desc, batch_id desc limit $1`, limit)
}

// GetBatch returns one batch, or reverie.ErrNotFound.
func (s *Batches) GetBatch(ctx context.Context, id string) (b reverie.Batch, err error) {
	if !reverie.IsID(id) {
		return b, fmt.Errorf("batch %q: %w", id, reverie.ErrNotFound)
	}
	err = s.db.QueryRow(ctx, "read a batch", &b, `select `+batchColumns+` from batches where group_id = '' and batch_id = $1`, id)
	return b, pg.NotFoundIfEmpty(err, "batch %s", id)
}

// KnownBatches returns the providers' ids of all batches.
func (s *Batches) KnownBatches(ctx context.Context) ([]string, error) {
	return pg.QueryAll[string](ctx, s.db, "list the ids of batches", `select provider_id from batches
		where group_id = '' and provider_id <> ''`)
}

// SweepBatches deletes questions that no run of a job waits for, and batches that ended before a time.
func (s *Batches) SweepBatches(ctx context.Context, job reverie.Job, before time.Time) error {
	return s.db.Run(ctx, pg.Work{What: "forget the questions of batches", Do: func(ctx context.Context, t *pg.Tx) error {
		if err := t.Exec(ctx, sweepQuery, string(job)); err != nil {
			return err
		}
		err := t.Exec(ctx, sweepBatchesQuery, before)
		return err
	}})
}
