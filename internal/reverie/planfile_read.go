package reverie

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"reverie/internal/lazyregexp"
	"reverie/internal/text"
)

// Bounds of a plan in a file.
const (
	maxPlanLine  = 4 << 20 // bytes of a line: the longest is what a model answered
	maxPlanLines = 100_000
)

// ReadPlan reads a plan as [PlanFile.Write] writes it, and as people save it: a byte order
// mark, line ends of Windows and empty lines do not matter. Everything else must be as it
// should: unknown fields, fields said twice, lines of no known type, lines in the wrong
// place or a missing end are [ErrInvalid], by the number of the line.
func ReadPlan(in io.Reader) (*PlanFile, error) {
	r := &planReader{in: bufio.NewReaderSize(in, 1<<16), file: &PlanFile{}, seen: map[string]int{}}
	for !r.ended {
		text, err := r.next()
		if err == nil {
			err = r.line(text)
		}
		switch {
		case errors.Is(err, io.EOF) && r.no == 0:
			return nil, fmt.Errorf("the plan is empty: %w: `reverie plan` writes one", ErrInvalid)
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("the plan ends after line %d without its last line, {\"type\":\"end\"}: %w: it was cut off; copy it again, or plan again", r.no, ErrInvalid)
		case err != nil:
			return nil, fmt.Errorf("line %d of the plan: %w", r.no, err)
		}
	}
	if _, err := r.next(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("line %d of the plan comes after its end: %w", r.no, ErrInvalid)
	}
	if err := r.placed(); err != nil {
		return nil, err
	}
	var err error
	if r.file.Sum, err = r.file.sum(); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	r.file.Edited = r.file.Sum != r.file.SHA256
	return r.file, nil
}

// planReader is how far a plan has been read.
type planReader struct {
	in    *bufio.Reader
	no    int // of the last line, from 1
	file  *PlanFile
	seen  map[string]int // what may come once -> its line
	ended bool
}

// next returns the next line that is not empty, io.EOF after the last.
func (r *planReader) next() ([]byte, error) {
	for {
		var text []byte
		for {
			part, err := r.in.ReadSlice('\n')
			if text = append(text, part...); len(text) > maxPlanLine {
				r.no++
				return nil, fmt.Errorf("it is longer than %d bytes: %w", maxPlanLine, ErrInvalid)
			}
			if err == nil || errors.Is(err, io.EOF) {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return nil, err
			}
		}
		if len(text) == 0 {
			return nil, io.EOF
		}
		if r.no++; r.no > maxPlanLines {
			return nil, fmt.Errorf("a plan has %d lines at most: %w", maxPlanLines, ErrInvalid)
		}
		if r.no == 1 {
			text = bytes.TrimPrefix(text, []byte("\uFEFF"))
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			return text, nil
		}
	}
}

// line takes up one line.
func (r *planReader) line(body []byte) error {
	f := r.file
	if f.Reverie == "" {
		return r.header(body)
	}
	var is struct {
		Type string `json:"type"`
	}
	if err := checkObject(body); err != nil {
		return err
	}
	if err := json.Unmarshal(body, &is); err != nil {
		return fmt.Errorf("its type is no text: %w", ErrInvalid)
	}
	switch is.Type {
	case planHead:
		h, err := readPlanLine[PlanHead](body)
		f.Heads = append(f.Heads, h)
		return cmp.Or(err, r.head(h))
	case planMessage, planContext:
		m, err := readPlanLine[PlanMessage](body)
		f.Messages = append(f.Messages, m)
		return cmp.Or(err, r.message(m))
	case planChunk:
		c, err := readPlanLine[PlanChunk](body)
		switch {
		case err != nil:
		case !isCount(c.No) || c.No < 1 || len(f.Chunks) > 0 && f.Chunks[len(f.Chunks)-1].No >= c.No:
			err = fmt.Errorf("chunk %d: chunks count up from 1: %w", c.No, ErrInvalid)
		case !isCount(c.Compared) || c.InputSHA256 != "" && !isSum(c.InputSHA256):
			err = fmt.Errorf("compared is a count, and input_sha256 is 64 hexadecimal digits: %w", ErrInvalid)
		}
		f.Chunks = append(f.Chunks, c)
		return err
	case planStep:
		s, err := readPlanLine[PlanStep](body)
		s.Line = r.no
		return cmp.Or(err, r.step(s))
	case planRefusal:
		refusal, err := readPlanLine[PlanRefusal](body)
		c, cerr := r.chunk(refusal.Chunk)
		if err = cmp.Or(err, cerr); err == nil && !isCount(refusal.Line) {
			err = fmt.Errorf("line is that of an answer: %w", ErrInvalid)
		}
		if err == nil {
			c.Refusals = append(c.Refusals, refusal)
		}
		return err
	case planDecision:
		d, err := readPlanLine[PlanDecision](body)
		d.Line = r.no
		c, cerr := r.chunk(d.Chunk)
		if err = cmp.Or(err, cerr, r.decision(d)); err == nil {
			c.Decisions = append(c.Decisions, d)
		}
		return err
	case planEnd:
		_, err := readPlanLine[struct {
			Type string `json:"type"`
		}](body)
		r.ended = true
		return err
	}
	return fmt.Errorf("%q is no type of line that a plan has: %w", text.Excerpt(is.Type, 20), ErrInvalid)
}

// header reads the first line. Of a newer form it may have more than is known.
func (r *planReader) header(text []byte) error {
	var is struct {
		Reverie string `json:"reverie"`
		Format  int    `json:"format"`
	}
	if err := checkObject(text); err != nil || json.Unmarshal(text, &is) != nil || is.Reverie != planMark {
		return fmt.Errorf("it is not the first line of a plan: %w: `reverie plan` writes them", ErrInvalid)
	}
	if is.Format != PlanFormat {
		return fmt.Errorf("the plan is of format %d, and this binary reads %d: %w: plan again", is.Format, PlanFormat, ErrInvalid)
	}
	h, err := readPlanLine[PlanHeader](text)
	switch {
	case err != nil:
	case !isLowerID(h.PlanID), h.RunID != "" && !isLowerID(h.RunID):
		err = fmt.Errorf("plan_id and run_id are UUIDs in lower case: %w", ErrInvalid)
	case h.GroupID == "":
		err = fmt.Errorf("it names no group: %w", ErrInvalid)
	case !isSum(h.SHA256):
		err = fmt.Errorf("sha256 is 64 hexadecimal digits: %w", ErrInvalid)
	case h.Until.Before(h.Since) || !h.Since.IsZero() && h.Since.Year() < 1970 || h.Until.Year() > 9999 || !isCount(h.Days):
		err = fmt.Errorf("since and until are no window, or days is none: %w", ErrInvalid)
	}
	r.file.PlanHeader = h
	return err
}

// once refuses what comes a second time.
func (r *planReader) once(what, name string) error {
	if before, again := r.seen[what+name]; again {
		return fmt.Errorf("%s %s stands in line %d already: %w", what, text.Excerpt(name, 60), before, ErrInvalid)
	}
	r.seen[what+name] = r.no
	return nil
}

func (r *planReader) head(h PlanHead) error {
	if !isLowerID(h.MemoryID) || !isLowerID(h.LineageID) || h.Version < 1 || !isSum(h.SHA256) {
		return fmt.Errorf("a head has the ids of a version and its lineage, a version from 1 and a sha256: %w", ErrInvalid)
	}
	return cmp.Or(r.once("the head ", h.MemoryID), r.once("the lineage ", h.LineageID))
}

func (r *planReader) message(m PlanMessage) error {
	pending := m.Type == planMessage
	if m.MessageID == "" || !isSum(m.SHA256) || (m.Chunk > 0) != pending || m.Chunk < 0 {
		return fmt.Errorf("a message has its id, a sha256 and, save for context, its chunk: %w", ErrInvalid)
	}
	if m.Outcome != "" && (!pending || !slices.Contains([]Outcome{OutcomeCited, OutcomeConsidered, OutcomeFiltered}, m.Outcome)) {
		return fmt.Errorf("%q is no outcome of it: %w", m.Outcome, ErrInvalid)
	}
	return r.once("the message ", m.MessageID)
}

// chunk is the one under way, to which lines belong until the next begins.
func (r *planReader) chunk(no int) (*PlanChunk, error) {
	if n := len(r.file.Chunks); n > 0 && r.file.Chunks[n-1].No == no {
		return &r.file.Chunks[n-1], nil
	}
	return nil, fmt.Errorf("it stands outside of its chunk, %d: %w", no, ErrInvalid)
}

func (r *planReader) step(s PlanStep) error {
	c, err := r.chunk(s.Chunk)
	if err != nil {
		return err
	}
	c.Steps = append(c.Steps, s)
	bad := func(why string) error { return fmt.Errorf("%s: %w", why, ErrInvalid) }
	switch writes := s.Action == ActionCreate || s.Action == ActionUpdate; {
	case !writes && s.Action != ActionDelete && s.Action != ActionKeep:
		return bad(fmt.Sprintf("%q is no action of a plan: create, update, delete and keep are", text.Excerpt(string(s.Action), 20)))
	case (s.Action == ActionCreate) != (s.MemoryID == ""):
		return bad("a create names no memory_id, and every other action one")
	case writes == (s.Statement == ""):
		return bad("a create and an update have a statement, and no other action has one")
	case s.Action != ActionCreate && s.Replaces != "":
		return bad("only a create takes the place of a memory")
	case s.As != "" && (!writes || !planLabels.MatchString(s.As)):
		return bad("as names what a create or an update writes: n1, n2, and so on")
	}
	if s.As != "" {
		err = r.once("the name ", s.As)
	}
	for _, e := range s.Evidence {
		err = cmp.Or(err, r.once(fmt.Sprintf("in the step of line %d the message ", r.no), e.MessageID))
	}
	return err
}

func (r *planReader) decision(d PlanDecision) error {
	actions := []DecisionAction{DecisionAdd, DecisionUpdate, DecisionReplace, DecisionNone, DecisionSkip, DecisionHold}
	if d.No < 1 || !isCount(d.No) || !isCount(d.Calls) || !slices.Contains(actions, d.Action) || !slices.Contains([]Basis{BasisHash, BasisNone, BasisShown, BasisCompared, BasisFallback}, d.Basis) {
		return fmt.Errorf("it is no decision: %w", ErrInvalid)
	}
	return r.once(fmt.Sprintf("in chunk %d the decision ", d.Chunk), fmt.Sprint(d.No))
}

// placed refuses messages of chunks that are not there.
func (r *planReader) placed() error {
	for _, m := range r.file.Messages {
		if m.Chunk > 0 && r.file.Chunk(m.Chunk) == nil {
			return fmt.Errorf("the plan has message %q in chunk %d, and no such chunk: %w", text.Excerpt(m.MessageID, 60), m.Chunk, ErrInvalid)
		}
	}
	return nil
}

var planLabels = lazyregexp.New(`^n[1-9][0-9]{0,5}$`)

// isCount tells whether a number can be one of things that a plan has.
func isCount(n int) bool { return n >= 0 && n <= maxPlanLines }

func isLowerID(s string) bool { return IsID(s) && s == strings.ToLower(s) }

func isSum(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32 && s == strings.ToLower(s)
}

// readPlanLine reads a line whose names of fields have been checked.
func readPlanLine[T any](text []byte) (T, error) {
	var l T
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return l, fmt.Errorf("%w: %w", err, ErrInvalid)
	}
	return l, nil
}

// checkObject refuses what is not exactly one JSON object in UTF-8, and one in which a
// field is said twice, or in letters that only resemble its name.
func checkObject(text []byte) error {
	if !utf8.Valid(text) {
		return fmt.Errorf("it is no text in UTF-8: %w", ErrInvalid)
	}
	if text[0] != '{' || !json.Valid(text) {
		return fmt.Errorf("it is not one JSON object: %w", ErrInvalid)
	}
	return checkNames(json.NewDecoder(bytes.NewReader(text)))
}

// checkNames reads a value of valid JSON.
func checkNames(dec *json.Decoder) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	if text, is := token.(string); is && strings.ContainsRune(text, 0) {
		return fmt.Errorf("it has a character NUL, which nothing that is stored has: %w", ErrInvalid)
	}
	open, nested := token.(json.Delim)
	if !nested {
		return nil
	}
	said := map[string]bool{}
	for dec.More() {
		if open == '{' {
			name, err := dec.Token()
			if err != nil {
				return err
			}
			s, _ := name.(string)
			if said[s] || !fieldNames.MatchString(s) {
				return fmt.Errorf("the field %q is said twice, or is none that a plan has: %w", text.Excerpt(s, 30), ErrInvalid)
			}
			said[s] = true
		}
		if err := checkNames(dec); err != nil {
			return err
		}
	}
	_, err = dec.Token()
	return err
}

var fieldNames = lazyregexp.New(`^[a-z0-9_]+$`)
