// Package planfile is the form in which a plan of evolve is kept in a file, between asking
// the model and applying what came of it. A file is applied exactly as it was written: it
// carries a seal, a sum with a key of its group that only the database has.
package planfile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"reverie/internal/reverie"
)

// Format is the number of the form of plan files.
const Format = 4

// mark says of a file that it is a plan.
const mark = "plan"

// maxBytes bounds what is read of a file.
const maxBytes = 256 << 20

// File is a plan: the run that applying it makes, and what that rests on.
type File struct {
	Reverie   string      `json:"reverie"` // mark
	Format    int         `json:"format"`
	CreatedAt time.Time   `json:"created_at"`
	Run       reverie.Run `json:"run"`      // its id is the plan's; the window is zero where nothing was pending
	Heads     []Sum       `json:"heads"`    // all memories that may have been before the model
	Messages  []Sum       `json:"messages"` // in the order in which they were sent
	Chunks    []Chunk     `json:"chunks"`
	Seal      string      `json:"seal"`
}

// Sum names a memory or a message that the plan rests on, and what it said.
type Sum struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256"` // see SumOfHead and SumOfMessage
}

// Chunk is what the model answered about some messages, and what comes of it.
type Chunk struct {
	Asked reverie.Chunk `json:"asked"`
	Plan  reverie.Plan  `json:"plan"`
}

// Steps is how many steps a plan has, those that wait for a person included.
func (f *File) Steps() (n int) {
	for _, c := range f.Chunks {
		n += len(c.Plan.Steps) + len(c.Plan.Held)
	}
	return n
}

// Sum names everything that the file says but its seal.
func (f *File) Sum() (string, error) {
	unsealed := *f
	unsealed.Reverie, unsealed.Format, unsealed.Seal = mark, Format, ""
	text, err := json.Marshal(unsealed)
	if err != nil {
		return "", fmt.Errorf("sum up a plan: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// Write writes a plan as one JSON document.
func (f *File) Write(w io.Writer) error {
	f.Reverie, f.Format = mark, Format
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(f)
}

// Read reads a plan as [File.Write] writes it. White space, line ends and a byte order mark
// do not matter. Anything else is [reverie.ErrInvalid].
func Read(in io.Reader) (*File, error) {
	text, err := io.ReadAll(io.LimitReader(bufio.NewReader(in), maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read a plan: %w", err)
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if len(text) > maxBytes {
		return nil, fmt.Errorf("it is longer than %d bytes: %w", maxBytes, reverie.ErrInvalid)
	}
	f := &File{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err = dec.Decode(f) // what is known is read also where something is not
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("the plan is cut off: copy it again, or plan again: %w", reverie.ErrInvalid)
	case f.Reverie != mark:
		return nil, fmt.Errorf("it is not a plan: %w: `reverie plan` writes one", reverie.ErrInvalid)
	case f.Format != Format:
		return nil, fmt.Errorf("the plan is of format %d, and this binary reads %d: %w: plan again", f.Format, Format, reverie.ErrInvalid)
	case err != nil:
		return nil, fmt.Errorf("the plan cannot be read: %w: %w", err, reverie.ErrInvalid)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("something comes after the plan's end: %w", reverie.ErrInvalid)
	}
	if !reverie.IsID(f.Run.ID) || f.Run.GroupID == "" {
		return nil, fmt.Errorf("the plan names no run or no group: %w", reverie.ErrInvalid)
	}
	return f, nil
}

// SumOfHead names a head and what it says, as far as a plan rests on it: kind, status, statement,
// why it is to be judged again, and tags. How strong it is may change meanwhile.
func SumOfHead(h reverie.HeadState) Sum {
	said := []string{h.LineageID, strconv.Itoa(h.Version), string(h.Kind), string(h.Status), h.Statement, h.JudgeAgain}
	return sumOf(h.ID, append(said, h.Tags...)...)
}

// SumOfMessage names a message and what it says: author, role, text and instant, and whether
// it is pending.
func SumOfMessage(m reverie.Message, pending bool) Sum {
	return sumOf(m.ID, m.AuthorID, m.Author, string(m.Role), m.Text, m.SentAt.UTC().Format(time.RFC3339Nano),
		strconv.FormatBool(pending))
}

func sumOf(id string, fields ...string) Sum {
	sum := sha256.New()
	for _, f := range append(fields, id) {
		fmt.Fprintf(sum, "%d:%s", len(f), f)
	}
	return Sum{ID: id, SHA256: hex.EncodeToString(sum.Sum(nil))}
}
