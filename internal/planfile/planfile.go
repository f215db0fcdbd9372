// Package planfile is the file format of an evolve plan, between asking the model and applying the result. A file
// is applied exactly as written. It carries a seal: a checksum with a key of its group that only the database
// knows.
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

// Format is the version of the file format.
const Format = 4

// mark identifies a file as a plan.
const mark = "plan"

// maxBytes bounds the size of a file that is read.
const maxBytes = 256 << 20

// File is a plan: the run that applying it creates, and the state that it rests on.
type File struct {
	Reverie   string      `json:"reverie"` // mark
	Format    int         `json:"format"`
	CreatedAt time.Time   `json:"created_at"`
	Run       reverie.Run `json:"run"`      // its id is the plan's; the window is zero if nothing was pending
	Heads     []Sum       `json:"heads"`    // all memories that the model may have seen
	Messages  []Sum       `json:"messages"` // in the order of sending
	Chunks    []Chunk     `json:"chunks"`
	Seal      string      `json:"seal"`
}

// Sum identifies a memory or message that the plan rests on, and its content.
type Sum struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256"` // see SumOfHead and SumOfMessage
}

// Chunk is the model's answer about some messages, and the plan made from it.
type Chunk struct {
	Asked reverie.Chunk `json:"asked"`
	Plan  reverie.Plan  `json:"plan"`
}

// Steps returns the number of steps of the plan, including held ones.
func (f *File) Steps() (n int) {
	for _, c := range f.Chunks {
		n += len(c.Plan.Steps) + len(c.Plan.Held)
	}
	return n
}

// Sum returns the hash of the file without its seal.
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

// Read reads a plan written by [File.Write]. White space, line ends and a byte order mark may differ. Anything else
// is [reverie.ErrInvalid].
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
	err = dec.Decode(f) // fills the known fields even if there is an unknown one
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

// SumOfHead identifies a head and the content that a plan rests on: kind, status, statement, reason to judge it
// again, and tags. Its strength may change meanwhile.
func SumOfHead(h reverie.HeadState) Sum {
	said := []string{h.LineageID, strconv.Itoa(h.Version), string(h.Kind), string(h.Status), h.Statement, h.JudgeAgain}
	return sumOf(h.ID, append(said, h.Tags...)...)
}

// SumOfMessage identifies a message and its content: author, role, text, time, and whether it is pending.
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
