package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"

	"reverie/internal/reverie"
)

// Read reads an export, and hands each record to each. It fails where the file is
// not one, is of a newer form, was cut off, or is not as it was written: what was
// handed out until then may be wrong, so whoever writes reads a file once before.
// Such errors are reverie.ErrInvalid and name the line.
func Read(ctx context.Context, in io.Reader, each func(reverie.Record) error) (Header, Summary, error) {
	r := &reader{in: bufio.NewReaderSize(in, 1<<16), sum: sha256.New(), counts: map[reverie.RecordType]int{}}
	header, err := r.begin()
	if err != nil {
		return header, Summary{}, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return header, Summary{}, err
		}
		text, err := r.next()
		if errors.Is(err, io.EOF) {
			return header, Summary{}, fmt.Errorf("it ends after line %d, without the line that closes an export: it was cut off; export or copy it again: %w", r.no, reverie.ErrInvalid)
		}
		if err != nil {
			return header, Summary{}, err
		}
		l, err := parse(text)
		if err != nil {
			return header, Summary{}, fmt.Errorf("line %d: %w", r.no, err)
		}
		if l.Type == typeEnd {
			s, err := r.end(header, l.Summary)
			return header, s, err
		}
		rec, err := r.record(l.line)
		if err != nil {
			return header, Summary{}, fmt.Errorf("line %d: %w", r.no, err)
		}
		r.sum.Write(text)
		if err := each(rec); err != nil {
			return header, Summary{}, err
		}
	}
}

// reader is how far a file has been read.
type reader struct {
	in     *bufio.Reader
	no     int       // of the last line, from 1
	sum    hash.Hash // of the lines before the last one
	counts map[reverie.RecordType]int
	group  string // whose records come now
	rank   int    // of the last record's type among RecordTypes
}

// next returns a line with its end, io.EOF after the last one.
func (r *reader) next() ([]byte, error) {
	var text []byte
	for {
		part, err := r.in.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case len(text) > maxLine:
			return nil, fmt.Errorf("line %d is longer than %d bytes: %w", r.no+1, maxLine, reverie.ErrInvalid)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == nil, errors.Is(err, io.EOF) && len(text) > 0:
			r.no++
			return text, nil
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		}
		return nil, fmt.Errorf("read line %d: %w", r.no+1, err)
	}
}

// begin reads the first line. Of a newer form it may have more than we know.
func (r *reader) begin() (Header, error) {
	var h Header
	text, err := r.next()
	if err != nil && !errors.Is(err, io.EOF) {
		return h, err
	}
	if err := json.Unmarshal(text, &h); err != nil || h.Type != typeHeader || h.Format != Format || h.Version < 1 {
		return h, fmt.Errorf("it is no export of memories: its first line is not that of one; `reverie memory export` writes them: %w", reverie.ErrInvalid)
	}
	if h.Version > Version {
		return h, fmt.Errorf("it is of version %d, and this binary reads %d at most; import it with a newer one: %w",
			h.Version, Version, reverie.ErrInvalid)
	}
	r.sum.Write(text)
	return h, nil
}

// parse reads a line after the first.
func parse(text []byte) (anyLine, error) {
	var l anyLine
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return l, fmt.Errorf("it is not what an export has there (%w); the file was cut off or damaged: %w", err,
			reverie.ErrInvalid)
	}
	return l, nil
}

// record makes a record of a line, and checks that it stands where it may.
func (r *reader) record(l line) (reverie.Record, error) {
	rec := reverie.Record{Type: l.Type, Row: l.Row}
	rank := slices.Index(reverie.RecordTypes, l.Type)
	if rank < 0 {
		return rec, fmt.Errorf("%q is no type of record: %w", l.Type, reverie.ErrInvalid)
	}
	if row := bytes.TrimSpace(l.Row); len(row) == 0 || row[0] != '{' {
		return rec, fmt.Errorf("the %s record has no row: %w", l.Type, reverie.ErrInvalid)
	}
	if l.Type == reverie.RecordGroup {
		var g struct {
			ID string `json:"group_id"`
		}
		if err := json.Unmarshal(l.Row, &g); err != nil || g.ID <= r.group {
			return rec, fmt.Errorf("group %q comes after %q: groups stand in the order of their ids, each once: %w", g.ID,
				r.group, reverie.ErrInvalid)
		}
		r.group, r.rank = g.ID, 0
	}
	if r.group == "" || rank < r.rank {
		return rec, fmt.Errorf("a %s record does not belong here: %w", l.Type, reverie.ErrInvalid)
	}
	r.rank, rec.GroupID = rank, r.group
	r.counts[l.Type]++
	var err error
	if l.Vector != "" {
		if l.Type != reverie.RecordMemory {
			return rec, fmt.Errorf("a %s record has no vector: %w", l.Type, reverie.ErrInvalid)
		}
		rec.Vector, err = decodeVector(l.Vector)
	}
	return rec, err
}

// end compares what was read with what the last line says of it.
func (r *reader) end(h Header, e Summary) (Summary, error) {
	s := Summary{Records: r.counts, SHA256: hex.EncodeToString(r.sum.Sum(nil))}
	switch {
	case e.SHA256 != s.SHA256:
		return s, fmt.Errorf("its SHA-256 is %.12s…, and its last line says %.12s…: it was changed or damaged after it was written (line ends count too); export or copy it again: %w",
			s.SHA256, e.SHA256, reverie.ErrInvalid)
	case !maps.Equal(e.Records, r.counts), h.Groups != r.counts[reverie.RecordGroup]:
		return s, fmt.Errorf("it holds %v records, and says that there are %v in %d groups: %w", r.counts, e.Records,
			h.Groups, reverie.ErrInvalid)
	}
	if _, err := r.next(); !errors.Is(err, io.EOF) {
		return s, fmt.Errorf("line %d comes after the last line of the export: %w", r.no, reverie.ErrInvalid)
	}
	return s, nil
}
