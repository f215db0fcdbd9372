package export

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"reverie/internal/reverie"
)

// Part is a piece of a file: a line of a text, or one value inside a large JSON document.
type Part struct {
	Place   string          // for people, counting from 1: "line 3", "messages 17", "chats.list 2, messages 17"
	Value   json.RawMessage // as it is in the file; it may be invalid JSON
	Pattern string          // the pattern that it matches, such as "messages[]"
	Index   []int           // in each enclosing array, outermost first, from 0
	Keys    []string        // the key for each * of the pattern, outermost first
}

// Parts yields the pieces of a file. A [*Bad] is one bad piece, and more may follow. Any other error is the last
// element.
type Parts = iter.Seq2[Part, error]

// Decode parses the part as JSON. If it has other types, it is a bad record with that reason.
func (p Part) Decode(into any, reason string) error {
	if err := json.Unmarshal(p.Value, into); err != nil {
		return &Bad{Place: p.Place, Reason: reason, Err: Readable(err)}
	}
	return nil
}

// Need parses a part without which the rest cannot be read.
func (p Part) Need(into any) error {
	if err := json.Unmarshal(p.Value, into); err != nil {
		return fmt.Errorf("%s: %w", p.Place, Readable(err))
	}
	return nil
}

// Lines yields the lines of a text without line ends, including blank ones. A line longer than maxLine is bad. The
// caller may keep the lines.
func Lines(r io.Reader) Parts {
	return func(yield func(Part, error) bool) {
		in := bufio.NewReader(r) // small, since thousands of clients may each have one
		for no := 1; ; no++ {
			text, n, err := readLine(in)
			last := errors.Is(err, io.EOF)
			text = bytes.TrimPrefix(text, byteOrderMark) // of files that somebody concatenated
			l := Part{Place: "line " + strconv.Itoa(no),
				Value: bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))}
			switch {
			case errors.Is(err, errLongLine):
				err = &Bad{Place: l.Place, Reason: "too long", Err: errLongLine}
			case last && n == 0:
				return
			case last:
				err = nil
			case err != nil:
				yield(l, fmt.Errorf("read %s: %w", l.Place, err))
				return
			}
			if !yield(l, err) || last {
				return
			}
		}
	}
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// readLine returns the next line and its size in bytes. It skips a line that is too long, and returns errLongLine.
func readLine(in *bufio.Reader) (line []byte, n int, err error) {
	long := false
	for {
		part, err := in.ReadSlice('\n')
		n += len(part)
		if !long {
			line = append(line, part...)
		}
		if len(line) > maxLine {
			line, long = nil, true
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, n, errors.Join(errLongLine, err)
		}
		return line, n, err
	}
}

// maxLine is the maximum length of a line or record, in bytes.
const maxLine = 4 << 20

var errLongLine = fmt.Errorf("it is longer than %d bytes: %w", maxLine, reverie.ErrInvalid)

// TextLines yields the non-blank lines of a text, trimmed.
func TextLines(r io.Reader) Parts {
	return func(yield func(Part, error) bool) {
		for l, err := range Lines(r) {
			l.Value = bytes.TrimSpace(l.Value)
			if (err != nil || len(l.Value) > 0) && !yield(l, err) {
				return
			}
		}
	}
}

// JSONLines yields the non-blank lines of a text. If the last line ends inside its JSON, the text was cut off, and
// the last error is an io.ErrUnexpectedEOF.
func JSONLines(r io.Reader) Parts {
	return func(yield func(Part, error) bool) {
		var held *Part // a line that ends inside its JSON: the text was cut off, unless more follows
		for l, err := range TextLines(r) {
			if held != nil && !yield(*held, nil) {
				return
			}
			held = nil
			if err == nil && EndsEarly(l.Value) {
				held = &l
			} else if !yield(l, err) {
				return
			}
		}
		if held != nil {
			yield(Part{}, fmt.Errorf("%s: it ends in the middle: %w", held.Place, io.ErrUnexpectedEOF))
		}
	}
}

// EndsEarly reports whether a text is an incomplete JSON value.
func EndsEarly(text []byte) bool {
	if last := text[len(text)-1]; last == '}' && json.Valid(text) {
		return false
	}
	var value json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(text)).Decode(&value), io.ErrUnexpectedEOF)
}

// JSONParts yields the values of a JSON document that match one of the patterns, in the order of the document. A
// pattern is a path: "meta", "data.messages[]" (each element of the array), "[]" (of the document itself),
// "rooms.*.events[]" (any key). A matching value inside another one is not yielded separately. Other values are
// skipped; only the current value is held in memory.
//
// A value longer than maxLine is bad. After any other error the document cannot be read further: it ends too early
// (io.ErrUnexpectedEOF), is not JSON (ErrNoJSON), contains a value longer than maxHeld, or its reader failed.
func JSONParts(r io.Reader, patterns ...string) Parts {
	return func(yield func(Part, error) bool) {
		d := newJSONReader(r, yield)
		err := d.walk(Part{}, jsonPatterns(patterns))
		if err == nil {
			if _, err = d.ReadToken(); errors.Is(err, io.EOF) {
				return
			}
			err = cmp.Or(err, fmt.Errorf("there is more after the end of the document: %w", ErrNoJSON))
		}
		d.tellError(err)
	}
}

// JSONDocuments yields consecutive JSON documents, separated by white space only: each on one or several lines.
func JSONDocuments(r io.Reader) Parts {
	return func(yield func(Part, error) bool) {
		d := newJSONReader(r, yield)
		for n := 1; ; n++ {
			if err := d.tell(Part{Place: element("", n)}); err != nil {
				if !errors.Is(err, io.EOF) {
					d.tellError(err)
				}
				return
			}
		}
	}
}

// Values yields the JSON values of a file: the elements of an array, one per line, or consecutive documents.
func Values(src Source) Parts {
	head := bytes.TrimSpace(src.Head)
	first, _, more := bytes.Cut(head, []byte("\n"))
	switch {
	case bytes.HasPrefix(head, []byte("[")):
		return JSONParts(src.Reader, "[]")
	case !more || json.Valid(first) || !EndsEarly(first): // a broken line counts as one, too
		return JSONLines(src.Reader)
	}
	return JSONDocuments(src.Reader)
}

// jsonPattern is the rest of a pattern below the current value.
type jsonPattern struct {
	name  string
	steps []string // keys, "*" or "[]"
}

// jsonPatterns parses patterns.
func jsonPatterns(patterns []string) []jsonPattern {
	list := make([]jsonPattern, len(patterns))
	for i, p := range patterns {
		list[i] = jsonPattern{name: p, steps: strings.FieldsFunc(strings.ReplaceAll(p, "[]", ".[]"),
			func(c rune) bool { return c == '.' })}
	}
	return list
}

// below returns the patterns whose next step is this one, and whether a * matched it.
func below(live []jsonPattern, step string) (fit []jsonPattern, star bool) {
	for _, p := range live {
		any := p.steps[0] == "*" && step != "[]"
		if any || p.steps[0] == step {
			fit, star = append(fit, jsonPattern{p.name, p.steps[1:]}), star || any
		}
	}
	return fit, star
}

// Why a JSON document is not read further.
var (
	ErrNoJSON  = errors.New("it is not JSON")
	errStopped = errors.New("nobody listens any more")
)

// maxHeld is the maximum length of a value that is read at all, in bytes.
const maxHeld = 4 * maxLine

// jsonReader reads a JSON document value by value.
type jsonReader struct {
	*jsontext.Decoder
	in    *heldReader
	yield func(Part, error) bool
	seen  map[string]bool // if not nil, matching patterns are recorded here and nothing is yielded
	place string          // place of the current value, for people
}

func newJSONReader(r io.Reader, yield func(Part, error) bool) *jsonReader {
	in := &heldReader{r: r}
	return &jsonReader{Decoder: jsontext.NewDecoder(in, jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true)), in: in, yield: yield}
}

// heldReader fails when more than maxHeld bytes are read for one value.
type heldReader struct {
	r    io.Reader
	held int // bytes since the previous value
}

func (h *heldReader) Read(p []byte) (int, error) {
	if h.held > maxHeld {
		return 0, fmt.Errorf("a value is longer than %d bytes: %w", maxHeld, reverie.ErrInvalid)
	}
	n, err := h.r.Read(p)
	h.held += n
	return n, err
}

// skip skips the next value.
func (d *jsonReader) skip() error {
	for depth := d.StackDepth(); ; {
		d.in.held = 0
		if _, err := d.ReadToken(); err != nil || d.StackDepth() <= depth {
			return err
		}
	}
}

// walk yields the matches of the live patterns in the next value.
func (d *jsonReader) walk(at Part, live []jsonPattern) error {
	d.place = at.Place
	for _, p := range live {
		if len(p.steps) == 0 && d.seen == nil {
			at.Pattern = p.name
			return d.tell(at)
		}
	}
	if d.seen != nil {
		live = d.note(live)
	}
	kind := d.PeekKind()
	if len(live) == 0 || kind != '{' && kind != '[' {
		return d.skip()
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	within, _ := below(live, "[]")
	for n := 0; d.PeekKind() != ']' && d.PeekKind() != '}'; n++ {
		in := at
		if kind == '[' {
			in.Place, in.Index = element(at.Place, n+1), append(slices.Clip(at.Index), n)
		} else {
			name, err := d.ReadToken()
			if err != nil {
				return err
			}
			var star bool
			key := name.String()
			if within, star = below(live, key); star {
				in.Keys = append(slices.Clip(at.Keys), key)
			}
			in.Place = member(at, key)
		}
		if err := d.walk(in, within); err != nil {
			return err
		}
	}
	d.place = at.Place
	_, err := d.ReadToken()
	return err
}

// note records the matching patterns, and returns the others.
func (d *jsonReader) note(live []jsonPattern) (rest []jsonPattern) {
	for _, p := range live {
		if d.seen[p.name] = d.seen[p.name] || len(p.steps) == 0; len(p.steps) > 0 {
			rest = append(rest, p)
		}
	}
	return rest
}

// element and member describe the place of a value for people.
func element(of string, n int) string {
	if of == "" {
		return "element " + strconv.Itoa(n)
	}
	return of + " " + strconv.Itoa(n)
}

func member(of Part, key string) string {
	switch {
	case of.Place == "":
		return key
	case len(of.Index) > 0 && strings.HasSuffix(of.Place, " "+strconv.Itoa(of.Index[len(of.Index)-1]+1)):
		return of.Place + ", " + key
	}
	return of.Place + "." + key
}

// tell yields the next value.
func (d *jsonReader) tell(part Part) error {
	d.place, d.in.held = part.Place, 0
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	var bad error
	if part.Value = json.RawMessage(bytes.Clone(value)); len(value) > maxLine {
		part.Value, bad = nil, &Bad{Place: part.Place, Reason: "too long", Err: errLongLine}
	}
	if !d.yield(part, bad) {
		return errStopped
	}
	return nil
}

// tellError yields why the document is not read further, unless the reader has stopped.
func (d *jsonReader) tellError(err error) {
	where := fmt.Sprintf("byte %d", d.InputOffset())
	if d.place != "" {
		where += ", in " + d.place
	}
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, errStopped):
		return
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%s: it ends in the middle: %w", where, io.ErrUnexpectedEOF)
	case errors.As(err, &syntax):
		err = fmt.Errorf("%s: %w: %w", where, ErrNoJSON, syntax.Err)
	default:
		err = fmt.Errorf("%s: %w", where, err)
	}
	d.yield(Part{}, err)
}
