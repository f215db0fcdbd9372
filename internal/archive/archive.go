// Package archive is the form in which memories travel between databases: JSON
// Lines, written and read as a stream.
//
// The first line is a [Header]. Then, group by group in the order of their ids,
// come records of the types in [reverie.RecordTypes] and in that order, each with
// the columns of its row by name:
//
//	{"type":"memory","row":{"memory_id":"…","statement":"…",…},"vector":"…"}
//
// A vector is its float32 values, little-endian, in base64. The last line counts
// the records of each type and has the SHA-256 of all bytes before it, so that a
// file which was cut off, changed or damaged is known as such before anything is
// made of it.
package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"time"

	"reverie/internal/reverie"
)

const (
	// Format is the name of the form.
	Format = "reverie-memories"
	// Version is the version of the form that is written, and read.
	Version = 2
)

// The types of the first and the last line.
const (
	typeHeader = "header"
	typeEnd    = "end"
)

// maxLine bounds one line, in bytes.
const maxLine = 64 << 20

// Header is the first line: what the file is and holds.
type Header struct {
	Type      string    `json:"type"` // header
	Format    string    `json:"format"`
	Version   int       `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	Groups    int       `json:"groups"`
	Vectors   bool      `json:"vectors"` // versions come with those that they have
}

// Summary says what a file holds.
type Summary struct {
	Records map[reverie.RecordType]int `json:"records"`
	SHA256  string                     `json:"sha256"` // of all lines but the last
}

// end is the last line.
type end struct {
	Type string `json:"type"` // end
	Summary
}

// line is every other line.
type line struct {
	Type   reverie.RecordType `json:"type"`
	Row    json.RawMessage    `json:"row"`
	Vector []byte             `json:"vector,omitempty"` // float32 values, little-endian
}

// anyLine is a line of either kind, to be read at once.
type anyLine struct {
	line
	Summary
}

// Writer writes an export. Begin comes first, End last.
type Writer struct {
	out     *bufio.Writer
	sum     hash.Hash // of all that was written
	header  Header
	counts  map[reverie.RecordType]int
	scratch bytes.Buffer
}

// NewWriter writes to out an export that is created now, with vectors or without.
func NewWriter(out io.Writer, now time.Time, vectors bool) *Writer {
	return &Writer{out: bufio.NewWriterSize(out, 1<<16), sum: sha256.New(), counts: map[reverie.RecordType]int{},
		header: Header{Type: typeHeader, Format: Format, Version: Version, CreatedAt: now.UTC().Truncate(time.Second),
			Vectors: vectors}}
}

// Begin writes the first line of an export of so many groups.
func (w *Writer) Begin(groups int) error {
	w.header.Groups = groups
	return w.write(w.header)
}

// Write writes a record.
func (w *Writer) Write(r reverie.Record) error {
	w.counts[r.Type]++
	vector, err := binary.Append(nil, binary.LittleEndian, r.Vector)
	if err == nil {
		err = w.write(line{Type: r.Type, Row: r.Row, Vector: vector})
	}
	if err != nil {
		return fmt.Errorf("write a %s record of group %q: %w", r.Type, r.GroupID, err)
	}
	return nil
}

// End writes the last line, and says what was written.
func (w *Writer) End() (Summary, error) {
	s := Summary{Records: w.counts, SHA256: hex.EncodeToString(w.sum.Sum(nil))}
	if err := w.write(end{Type: typeEnd, Summary: s}); err != nil {
		return s, err
	}
	return s, w.out.Flush()
}

// write writes v as one line.
func (w *Writer) write(v any) error {
	w.scratch.Reset()
	enc := json.NewEncoder(&w.scratch)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	if w.scratch.Len() > maxLine {
		return fmt.Errorf("it would be a line of %d bytes, and no line may have more than %d: %w", w.scratch.Len(), maxLine,
			reverie.ErrInvalid)
	}
	w.sum.Write(w.scratch.Bytes())
	_, err := w.out.Write(w.scratch.Bytes())
	return err
}

// Read reads an export, and hands each record to each. It fails where the file is
// not one, is of a newer form, was cut off, or is not as it was written: what was
// handed out until then may be wrong, so whoever writes reads a file once before.
// Such errors are reverie.ErrInvalid and name the line.
func Read(ctx context.Context, in io.Reader, each func(reverie.Record) error) (Header, Summary, error) {
	r := &reader{in: bufio.NewScanner(in), sum: sha256.New(), counts: map[reverie.RecordType]int{}}
	r.in.Buffer(nil, maxLine+1)
	r.in.Split(wholeLines)
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
	in     *bufio.Scanner
	no     int       // of the last line, from 1
	sum    hash.Hash // of the lines before the last one
	counts map[reverie.RecordType]int
	group  string // whose records come now
	rank   int    // of the last record's type among RecordTypes
}

// wholeLines splits a text into lines with their ends.
func wholeLines(data []byte, atEnd bool) (advance int, token []byte, err error) {
	n := bytes.IndexByte(data, '\n') + 1
	if n == 0 && atEnd {
		n = len(data)
	}
	if n == 0 {
		return 0, nil, nil
	}
	return n, data[:n], nil
}

// next returns a line with its end, io.EOF after the last one. It is there until the next one is.
func (r *reader) next() ([]byte, error) {
	if r.in.Scan() {
		r.no++
		return r.in.Bytes(), nil
	}
	switch err := r.in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d is longer than %d bytes: %w", r.no+1, maxLine, reverie.ErrInvalid)
	case err != nil:
		return nil, fmt.Errorf("read line %d: %w", r.no+1, err)
	}
	return nil, io.EOF
}

// begin reads the first line. Of a newer form it may have more than we know.
func (r *reader) begin() (Header, error) {
	var h Header
	text, err := r.next()
	if err != nil && !errors.Is(err, io.EOF) {
		return h, err
	}
	if err := json.Unmarshal(text, &h); err != nil || h.Type != typeHeader || h.Format != Format || h.Version < 1 {
		return h, fmt.Errorf("it is not an export of memories of Reverie; --group takes in what another system exported: %w", reverie.ErrInvalid)
	}
	if h.Version != Version {
		return h, fmt.Errorf("it is of version %d, and this binary reads %d; import it with one of its time, and export it again: %w",
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
	if !bytes.HasPrefix(bytes.TrimSpace(l.Row), []byte("{")) {
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
	if len(l.Vector) == 0 {
		return rec, nil
	}
	if l.Type != reverie.RecordMemory {
		return rec, fmt.Errorf("a %s record has no vector: %w", l.Type, reverie.ErrInvalid)
	}
	rec.Vector = make([]float32, len(l.Vector)/4)
	if n, err := binary.Decode(l.Vector, binary.LittleEndian, rec.Vector); err != nil || n != len(l.Vector) {
		return rec, fmt.Errorf("its vector is no list of float32 values: %w", reverie.ErrInvalid)
	}
	return rec, nil
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
