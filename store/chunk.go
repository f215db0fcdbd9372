package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const chunkColumns = `group_id, run_id, chunk_no, input_sha256, message_ids, memory_ids, questions, answer, status,
	refusals, created_at`

type chunkRow struct {
	GroupID     string         `db:"group_id"`
	RunID       string         `db:"run_id"`
	No          int            `db:"chunk_no"`
	InputSHA256 string         `db:"input_sha256"`
	MessageIDs  pq.StringArray `db:"message_ids"`
	MemoryIDs   pq.StringArray `db:"memory_ids"`
	Questions   pq.Int64Array  `db:"questions"`
	Answer      string         `db:"answer"`
	Status      string         `db:"status"`
	Refusals    []byte         `db:"refusals"`
	CreatedAt   time.Time      `db:"created_at"`
}

func (r chunkRow) chunk() (reverie.Chunk, error) {
	c := reverie.Chunk{GroupID: r.GroupID, RunID: r.RunID, No: r.No, InputSHA256: r.InputSHA256,
		MessageIDs: r.MessageIDs, Answer: r.Answer, Status: reverie.ChunkStatus(r.Status), CreatedAt: r.CreatedAt.UTC()}
	if len(r.MemoryIDs) > 0 {
		c.MemoryIDs = r.MemoryIDs
	}
	for _, n := range r.Questions {
		c.Questions = append(c.Questions, int(n))
	}
	if err := json.Unmarshal(r.Refusals, &c.Refusals); err != nil {
		return c, fmt.Errorf("read the refusals of chunk %d of run %s: %w", r.No, r.RunID, err)
	}
	return c, nil
}

func chunks(ctx context.Context, t *pg.Tx, groupID, runID string, limit int) ([]reverie.Chunk, error) {
	var rows []chunkRow
	err := t.Select(ctx, &rows, `select `+chunkColumns+` from run_chunks where group_id = $1 and run_id = $2
		order by chunk_no limit nullif($3::int, 0)`, groupID, runID, limit)
	if err != nil {
		return nil, err
	}
	list := make([]reverie.Chunk, len(rows))
	for i, r := range rows {
		if list[i], err = r.chunk(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// refusalsJSON writes refusals as a JSON array, never null. They repeat parts of
// what a model wrote.
func refusalsJSON(list []reverie.Refusal) (string, error) {
	clean := make([]reverie.Refusal, len(list))
	for i, r := range list {
		r.Action, r.Handle, r.Detail = pg.ValidText(r.Action), pg.ValidText(r.Handle), pg.ValidText(r.Detail)
		clean[i] = r
	}
	return pg.JSONText(clean)
}

const saveChunkQuery = `with saved as (
			insert into run_chunks as c (` + chunkColumns + `)
			values ($1, $2, $3, $4, $5::text[], $6::uuid[], $7::int[], $8, $9, $10::jsonb, $11)
			on conflict (group_id, run_id, chunk_no) do update set input_sha256 = excluded.input_sha256,
				message_ids = excluded.message_ids, memory_ids = excluded.memory_ids, questions = excluded.questions,
					answer = excluded.answer,
				status = excluded.status, refusals = excluded.refusals
			where c.status not in ('applied', 'held')
			returning 1)
		update runs set stats = case when $12::int = 0 then stats else stats || jsonb_build_object('limit', $12::int) end
		where group_id = $1 and run_id = $2 and exists (select 1 from saved)`

// SaveChunk writes a chunk as it stands, over what was saved of it before, and
// its limit into the run's stats. In
// its answer, NUL and bytes that are no UTF-8 become U+FFFD. A
// chunk that has been applied or held is consumed and stays as it is:
// reverie.ErrConflict.
func (s *Store) SaveChunk(ctx context.Context, lease reverie.Lease, c reverie.Chunk) error {
	return s.db.Run(ctx, pg.Work{
		What:  fmt.Sprintf("save chunk %d of run %s", c.No, c.RunID),
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if err := Fence(ctx, t, lease); err != nil {
				return err
			}
			return s.saveChunk(ctx, t, lease, c)
		},
	})
}

// saveChunk is [Store.SaveChunk] in a transaction that holds the lease.
func (s *Store) saveChunk(ctx context.Context, t *pg.Tx, lease reverie.Lease, c reverie.Chunk) error {
	refusals, err := refusalsJSON(c.Refusals)
	if err != nil {
		return err
	}
	messageIDs, memoryIDs := append(pq.StringArray{}, c.MessageIDs...), append(pq.StringArray{},
		c.MemoryIDs...) // never null
	questions := make(pq.Int64Array, len(c.Questions))
	for i, n := range c.Questions {
		questions[i] = int64(n)
	}
	n, err := t.Exec(ctx, saveChunkQuery, lease.GroupID, c.RunID, c.No, c.InputSHA256, messageIDs, memoryIDs, questions,
		pg.ValidText(c.Answer),
		string(c.Status), refusals, s.db.Now(), c.Limit)
	if err == nil && n == 0 {
		return fmt.Errorf("it is applied already: %w", reverie.ErrConflict)
	}
	return err
}
