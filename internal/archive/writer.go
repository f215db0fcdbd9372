package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"time"

	"reverie/internal/reverie"
)

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
	if err := w.write(line{Type: r.Type, Row: r.Row, Vector: encodeVector(r.Vector)}); err != nil {
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
