package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"reverie/internal/reverie"
	"reverie/internal/safety"
)

// Store takes records in.
type Store interface {
	// CompareRecords says which records of one group are new, and refuses those that
	// are there with other content, or that it cannot keep. It writes nothing.
	CompareRecords(ctx context.Context, groupID string, records []reverie.Record) (reverie.RecordResult, error)
	// WriteRecords writes, in one transaction, those that are not there yet.
	WriteRecords(ctx context.Context, groupID string, records []reverie.Record) (reverie.RecordResult, error)
}

// How much is handed to the store at once.
const (
	batchRecords = 500
	batchBytes   = 2 << 20
)

// Options of an import.
type Options struct {
	DryRun bool // say what would be written
	Strict bool // refuse a file with statements that would be refused today
	// Secrets takes in statements that hold what looks like a secret; without it, a file
	// that has any is refused.
	Secrets bool
	Privacy safety.Privacy // personal data is never masked here, and refused where it says so
	// OnRefused is told of each such statement, while the file is read the first time.
	OnRefused func(groupID, memoryID string, err error)
}

// Result says what an import did, or would do.
type Result struct {
	Header
	Summary
	reverie.RecordResult
	Refused int // statements that would be refused today
	Secret  int // of these, for a secret
}

// Import reads an export into a store. It reads the file up to three times: first
// to see that it is whole, then to hold it to what the store has and can keep, and
// only then to write, in batches. What is there already stays as it is, so that an
// import that was stopped half-way is continued by the same again, and one that is
// repeated changes nothing. A record that is there with other content fails the
// import before anything is written.
func Import(ctx context.Context, file io.ReadSeeker, to Store, opts Options) (Result, error) {
	var res Result
	var err error
	res.Header, res.Summary, err = pass(ctx, file, func(r reverie.Record) error { return res.check(r, opts) })
	if err != nil {
		return res, err
	}
	if opts.Strict && res.Refused > 0 {
		return res, fmt.Errorf("%d statements would be refused today, and none may be; nothing was written: %w",
			res.Refused, reverie.ErrInvalid)
	}
	if !opts.Secrets && res.Secret > 0 {
		return res, fmt.Errorf("%d statements hold what looks like a secret; nothing was written: %w", res.Secret,
			reverie.ErrInvalid)
	}
	if res.RecordResult, err = inBatches(ctx, file, to.CompareRecords); err != nil {
		return res, fmt.Errorf("nothing was written: %w", err)
	}
	if opts.DryRun || res.written() == 0 {
		return res, nil
	}
	if res.RecordResult, err = inBatches(ctx, file, to.WriteRecords); err != nil {
		return res, fmt.Errorf("%d records were written before this; the same import goes on from there: %w", res.written(),
			err)
	}
	return res, nil
}

// written is how many records were new.
func (r Result) written() int {
	n := 0
	for _, c := range r.Counts {
		n += c.New
	}
	return n
}

// check holds the statement of a memory to the rules of today.
func (r *Result) check(rec reverie.Record, opts Options) error {
	if rec.Type != reverie.RecordMemory {
		return nil
	}
	var m struct {
		ID        string `json:"memory_id"`
		Statement string `json:"statement"`
	}
	if err := json.Unmarshal(rec.Row, &m); err != nil {
		return fmt.Errorf("read a memory of group %q: %w: %w", rec.GroupID, err, reverie.ErrInvalid)
	}
	if _, err := opts.Privacy.Statement(m.Statement); err != nil {
		r.Refused++
		if broken := (*safety.StatementError)(nil); errors.As(err, &broken) && broken.Rule == safety.RuleSecret {
			r.Secret++
		}
		if opts.OnRefused != nil {
			opts.OnRefused(rec.GroupID, m.ID, err)
		}
	}
	return nil
}

// pass reads the file from its beginning.
func pass(ctx context.Context, file io.ReadSeeker, each func(reverie.Record) error) (Header, Summary, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return Header{}, Summary{}, fmt.Errorf("go back to the beginning of the file: %w", err)
	}
	return Read(ctx, file, each)
}

// inBatches hands on the records of a file, many of one group at once, and adds up what came of them.
func inBatches(ctx context.Context, file io.ReadSeeker, hand func(context.Context, string, []reverie.Record) (
	reverie.RecordResult, error)) (result reverie.RecordResult, err error) {
	var records []reverie.Record
	bytes := 0
	flush := func() error {
		if len(records) == 0 {
			return nil
		}
		res, err := hand(ctx, records[0].GroupID, records)
		if err != nil {
			return err
		}
		result.Add(res)
		clear(records) // or their rows would live as long as the import
		records, bytes = records[:0], 0
		return nil
	}
	_, _, err = pass(ctx, file, func(r reverie.Record) error {
		if len(records) > 0 && records[0].GroupID != r.GroupID {
			if err := flush(); err != nil {
				return err
			}
		}
		bytes += len(r.Row) + 4*len(r.Vector)
		if records = append(records, r); len(records) < batchRecords && bytes < batchBytes {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	return result, err
}
