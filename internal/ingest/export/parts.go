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

// Part is a piece of a file: a line of a text, or one value from inside a large JSON document.
type Part struct {
	Place   string          // for people, counting from 1: "line 3", "messages 17", "chats.list 2, messages 17"
	Value   json.RawMessage // as it stands; whether it is sound JSON, reading it tells
	Pattern string          // the pattern that it fits, such as "messages[]"
	Index   []int           // of each array on the way, outermost first, counting from 0
	Keys    []string        // what stood for each * of the pattern, outermost first
}

// Parts are the pieces of a file. Of what is wrong with one of them a [*Bad] tells, and the next ones
// follow. Any other error is the last.
type Parts = iter.Seq2[Part, error]

// Decode reads the part as JSON. Where it is of other types it is a bad record of that reason.
func (p Part) Decode(into any, reason string) error {
	if err := json.Unmarshal(p.Value, into); err != nil {
		return &Bad{Place: p.Place, Reason: reason, Err: Readable(err)}
	}
	return nil
}

// Need reads the part as JSON where nothing can be read without it.
func (p Part) Need(into any) error {
	if err := json.Unmarshal(p.Value, into); err != nil {
		return fmt.Errorf("%s: %w", p.Place, Readable(err))
	}
	return nil
}

// Lines tells the lines of a text without their ends, blank ones too. One that is longer than maxLine
// is bad. A line is the listener's to keep.
func Lines(r io.Reader) Parts {
	return func(yield func(Part, error) bool) {
		in := bufio.NewReader(r) // a small one: thousands of clients may have one each
		for no := 1; ; no++ {
			text, n, err := readLine(in)
			last := errors.Is(err, io.EOF)
			text = bytes.TrimPrefix(text, byteOrderMark) // of files that somebody put behind each other
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

// readLine returns the next line and how many bytes it took. One that is too
// long is passed over to its end, with errLongLine.
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

// maxLine is how long one line, or one record, is at most, in bytes.
const maxLine = 4 << 20

var errLongLine = fmt.Errorf("it is longer than %d bytes: %w", maxLine, reverie.ErrInvalid)

// TextLines tells the lines of a text that are not blank, without white space around them.
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

// JSONLines tells the lines of a text that are not blank. A last line that ends in the middle of its
// JSON is the last error, an io.ErrUnexpectedEOF: there the text was cut off.
func JSONLines(r io.Reader) Parts {
	return func(yield func(Part, error) bool) {
		var held *Part // one that ends in the middle: cut off, unless more follows
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

// EndsEarly tells whether a text is the beginning of a JSON value, and not all of it.
func EndsEarly(text []byte) bool {
	if last := text[len(text)-1]; last == '}' && json.Valid(text) {
		return false
	}
	var value json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(text)).Decode(&value), io.ErrUnexpectedEOF)
}

// JSONParts tells the values of a JSON document that fit one of the patterns, in the
// order of the document and whatever the order of keys. A pattern is a path: "meta",
// "data.messages[]" (each element of the array), "[]" (of the document itself),
// "rooms.*.events[]" (whatever the key). A value inside another one that fits is not told
// by itself. Everything else is passed over, and only the value at hand is held.
//
// A value longer than maxLine is bad. After any other error the document cannot be read on: it
// ends too early (io.ErrUnexpectedEOF), is no JSON (ErrNoJSON), holds a value longer than
// maxHeld, or its reader failed.
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

// JSONDocuments tells the JSON documents of a text, one behind the other with nothing but
// white space between them: a line each, or over several lines.
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

// Values tells the JSON values of a file, whatever they stand in: an array, a line each, or one behind
// the other.
func Values(src Source) Parts {
	head := bytes.TrimSpace(src.Head)
	first, _, more := bytes.Cut(head, []byte("\n"))
	switch {
	case bytes.HasPrefix(head, []byte("[")):
		return JSONParts(src.Reader, "[]")
	case !more || json.Valid(first) || !EndsEarly(first): // a broken line is one, too
		return JSONLines(src.Reader)
	}
	return JSONDocuments(src.Reader)
}

// jsonPattern is what of a pattern lies below the value at hand.
type jsonPattern struct {
	name  string
	steps []string // keys, "*" or "[]"
}

// jsonPatterns reads patterns.
func jsonPatterns(patterns []string) []jsonPattern {
	list := make([]jsonPattern, len(patterns))
	for i, p := range patterns {
		list[i] = jsonPattern{name: p, steps: strings.FieldsFunc(strings.ReplaceAll(p, "[]", ".[]"),
			func(c rune) bool { return c == '.' })}
	}
	return list
}

// below returns the patterns whose next step is this one, and whether a * stood for it.
func below(live []jsonPattern, step string) (fit []jsonPattern, star bool) {
	for _, p := range live {
		any := p.steps[0] == "*" && step != "[]"
		if any || p.steps[0] == step {
			fit, star = append(fit, jsonPattern{p.name, p.steps[1:]}), star || any
		}
	}
	return fit, star
}

// Why a JSON document is not read on.
var (
	ErrNoJSON  = errors.New("it is not JSON")
	errStopped = errors.New("nobody listens any more")
)

// maxHeld is how long a value is at most that is read at all, in bytes.
const maxHeld = 4 * maxLine

// jsonReader reads a JSON document value by value.
type jsonReader struct {
	*jsontext.Decoder
	in    *heldReader
	yield func(Part, error) bool
	seen  map[string]bool // patterns that fit are noted, and nothing is told; nil where it is
	place string          // of the value at hand, for people
}

func newJSONReader(r io.Reader, yield func(Part, error) bool) *jsonReader {
	in := &heldReader{r: r}
	return &jsonReader{Decoder: jsontext.NewDecoder(in, jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true)), in: in, yield: yield}
}

// heldReader fails when more than maxHeld bytes are read for one value.
type heldReader struct {
	r    io.Reader
	held int // since the value before
}

func (h *heldReader) Read(p []byte) (int, error) {
	if h.held > maxHeld {
		return 0, fmt.Errorf("a value is longer than %d bytes: %w", maxHeld, reverie.ErrInvalid)
	}
	n, err := h.r.Read(p)
	h.held += n
	return n, err
}

// skip passes over the value that comes next.
func (d *jsonReader) skip() error {
	for depth := d.StackDepth(); ; {
		d.in.held = 0
		if _, err := d.ReadToken(); err != nil || d.StackDepth() <= depth {
			return err
		}
	}
}

// walk tells what fits the live patterns in the value that comes next.
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

// note notes the patterns that fit, and returns the others.
func (d *jsonReader) note(live []jsonPattern) (rest []jsonPattern) {
	for _, p := range live {
		if d.seen[p.name] = d.seen[p.name] || len(p.steps) == 0; len(p.steps) > 0 {
			rest = append(rest, p)
		}
	}
	return rest
}

// element and member say for people where a value stands.
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

// tell tells the value that comes next.
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

// tellError tells why the document is not read on, if anybody still listens.
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
