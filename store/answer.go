package store

import (
	"context"
	"fmt"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	answersQuery = `select input_sha256, answer from answers where group_id = $1 and run_id = $2 and purpose = $3`

	saveAnswerQuery = `insert into answers (group_id, run_id, input_sha256, purpose, answer, created_at)
		values ($1, $2, $3, $4, $5, $6) on conflict (group_id, run_id, input_sha256) do nothing`

	// What a run has adopted is with it: those before it that have ended need it no
	// longer. Its own stay until a third run goes on with it, which knows of it by its
	// chunk.
	adoptAnswersQuery = `with dropped as (
			delete from answers d using answers a
			where a.group_id = $1 and a.run_id = $2::uuid and d.group_id = $1 and d.input_sha256 = a.input_sha256
				and d.run_id = any (array(select r.run_id from runs f join runs r on r.group_id = f.group_id and r.job = f.job
					where f.group_id = $1 and f.run_id = $2::uuid and r.run_id not in ($2::uuid, $3::uuid)
						and r.status in ('deferred', 'failed'))))
		insert into answers (group_id, run_id, input_sha256, purpose, answer, created_at)
		select group_id, $3::uuid, input_sha256, purpose, answer, $4 from answers where group_id = $1 and run_id = $2::uuid
		on conflict (group_id, run_id, input_sha256) do nothing`
)

// Answers returns the answers of one purpose that are kept of a run, by the hash
// of their question.
func (s *Store) Answers(ctx context.Context, groupID, runID, purpose string) (map[string]string, error) {
	var rows []struct {
		Input  string `db:"input_sha256"`
		Answer string `db:"answer"`
	}
	err := s.db.Run(ctx, pg.Work{What: fmt.Sprintf("read the answers of run %s", runID), ReadOnly: true, ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			rows = nil
			return t.Select(ctx, &rows, answersQuery, groupID, runID, purpose)
		}})
	if err != nil {
		return nil, err
	}
	found := make(map[string]string, len(rows))
	for _, r := range rows {
		found[r.Input] = r.Answer
	}
	return found, nil
}

// SaveAnswer keeps what a model said in a run, before anything is made of it. Of
// several answers to one question the first stays. NUL and bytes that are no
// UTF-8 become U+FFFD. An unknown run is reverie.ErrNotFound; once another holder
// has taken the lease the error is reverie.ErrLeaseLost, and nothing is written.
func (s *Store) SaveAnswer(ctx context.Context, lease reverie.Lease, a reverie.Answer) error {
	what := fmt.Sprintf("keep an answer of run %s", a.RunID)
	if a.GroupID != lease.GroupID {
		return fmt.Errorf("%s: the lease is group %q's: %w", what, lease.GroupID, reverie.ErrInvalid)
	}
	return s.db.Run(ctx, pg.Work{
		What:  what,
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if err := Fence(ctx, t, lease); err != nil {
				return err
			}
			_, err := t.Exec(ctx, saveAnswerQuery, a.GroupID, a.RunID, a.InputSHA256, a.Purpose, pg.ValidText(a.Text),
				s.db.Now())
			return err
		},
	})
}

// AdoptAnswers keeps all answers of a run for another one as well, which goes on with
// what that has begun: whoever continues the other in turn finds them with it. Answers
// that the other one has stay; those of earlier runs that were deferred or failed go,
// where the first has them too: a chain of runs keeps each answer twice. An unknown run to keep them for is reverie.ErrNotFound
// where there are any; once another holder has taken the lease the error is
// reverie.ErrLeaseLost, and nothing is written.
func (s *Store) AdoptAnswers(ctx context.Context, lease reverie.Lease, groupID, from, to string) error {
	what := fmt.Sprintf("keep the answers of run %s for run %s", from, to)
	if groupID != lease.GroupID {
		return fmt.Errorf("%s: the lease is group %q's: %w", what, lease.GroupID, reverie.ErrInvalid)
	}
	return s.db.Run(ctx, pg.Work{
		What:  what,
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if err := Fence(ctx, t, lease); err != nil {
				return err
			}
			return s.adoptAnswers(ctx, t, groupID, from, to)
		},
	})
}

// adoptAnswers is [Store.AdoptAnswers] in a transaction that holds the lease.
func (s *Store) adoptAnswers(ctx context.Context, t *pg.Tx, groupID, from, to string) error {
	_, err := t.Exec(ctx, adoptAnswersQuery, groupID, from, to, s.db.Now())
	return err
}
