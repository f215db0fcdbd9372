package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// told is what JSONParts says of a document, a line each.
func told(r io.Reader, patterns ...string) (list []string, err error) {
	for part, failed := range JSONParts(r, patterns...) {
		var bad *Bad
		switch {
		case errors.As(failed, &bad):
			list = append(list, bad.Place+": "+bad.Reason)
		case failed != nil:
			err = failed
		default:
			list = append(list, fmt.Sprintf("%s %v %v %s", part.Place, part.Index, part.Keys, part.Value))
		}
	}
	return list, err
}

// TestJSONParts finds values by their path, whatever the order of keys and however the
// document comes in.
func TestJSONParts(t *testing.T) {
	for name, c := range map[string]struct {
		doc, patterns string
		want          []string
		err           error
	}{
		"keys behind the array": {`{"messages":[{"a":1},{"b":[2]}],"meta":{"x":{}}}`, "meta messages[]",
			[]string{`messages 1 [0] [] {"a":1}`, `messages 2 [1] [] {"b":[2]}`, `meta [] [] {"x":{}}`}, nil},
		"the document's own": {`[1,"]",{"a":"\\\""}]`, "[]", []string{`element 1 [0] [] 1`, `element 2 [1] [] "]"`, `element 3 [2] [] {"a":"\\\""}`}, nil},
		"nested": {`{"chats":{"list":[{"name":"A","messages":[1]},{"messages":[2,3]}]}}`, "chats.list[].name chats.list[].messages[]",
			[]string{`chats.list 1, name [0] [] "A"`, `chats.list 1, messages 1 [0 0] [] 1`, `chats.list 2, messages 1 [1 0] [] 2`, `chats.list 2, messages 2 [1 1] [] 3`}, nil},
		"any key":      {`{"rooms":{"!a":{"events":[1]},"!b":{"events":[2]}}}`, "rooms.*.events[]", []string{`rooms.!a.events 1 [0] [!a] 1`, `rooms.!b.events 1 [0] [!b] 2`}, nil},
		"other shapes": {`{"messages":null,"data":[1],"x":{"messages":[1]}}`, "messages[] data.messages[]", nil, nil},
		"white space":  {" \r\n\t{ \"a\" :\n1 , \"b\" : [ ] }\n", "a b[]", []string{`a [] [] 1`}, nil},
		"empty keys":   {`{"":1,"a":2}`, "a", []string{`a [] [] 2`}, nil},
		"same key":     {`{"a":1,"a":2}`, "a", []string{`a [] [] 1`, `a [] [] 2`}, nil},
		"a word":       {`null`, "a", nil, nil},

		"nothing":               {"  ", "a", nil, io.ErrUnexpectedEOF},
		"cut in a value":        {`{"a":[1,{"b":"x`, "a[]", []string{`a 1 [0] [] 1`}, io.ErrUnexpectedEOF},
		"cut behind a value":    {`{"a":[1,2`, "a[]", []string{`a 1 [0] [] 1`, `a 2 [1] [] 2`}, io.ErrUnexpectedEOF},
		"cut within a skipped":  {`{"x":{"y":[`, "a[]", nil, io.ErrUnexpectedEOF},
		"no JSON":               {`hello`, "a", nil, ErrNoJSON},
		"a comma more":          {`{"a":[1,2,]}`, "a[]", []string{`a 1 [0] [] 1`, `a 2 [1] [] 2`}, ErrNoJSON},
		"no comma":              {`{"a":[1 2]}`, "a[]", []string{`a 1 [0] [] 1`}, ErrNoJSON},
		"no colon":              {`{"a" 1}`, "a", nil, ErrNoJSON},
		"no key":                {`{1:2}`, "a", nil, ErrNoJSON},
		"more behind":           {`{"a":1} {"a":2}`, "a", []string{`a [] [] 1`}, ErrNoJSON},
		"a bracket too many":    {`{"a":]}`, "a", nil, ErrNoJSON},
		"a value that is a dot": {`{"a":,}`, "a", nil, ErrNoJSON},
	} {
		for way, wrap := range map[string]func(io.Reader) io.Reader{"": func(r io.Reader) io.Reader { return r }, ", byte by byte": iotest.OneByteReader, ", with the end": iotest.DataErrReader} {
			got, err := told(wrap(strings.NewReader(c.doc)), strings.Fields(c.patterns)...)
			if diff := cmp.Diff(c.want, got); diff != "" || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("%s%s: error %v, want %v (-want +got):\n%s", name, way, err, c.err, diff)
			}
		}
	}
}

// TestJSONPartsHolds: one value is held at a time; one that is too long is passed over,
// and so is what nobody asked for, however large or deep.
func TestJSONPartsHolds(t *testing.T) {
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	long := `"` + strings.Repeat("x", maxLine) + `"`
	got, err := told(strings.NewReader(`{"skip":`+deep+`,"all":[`+long+","+long+`,`+long+`,`+long+`,`+long+`],"a":[1,`+long+`,2],"more":`+long+`}`), "a[]")
	want := []string{`a 1 [0] [] 1`, `a 2: too long`, `a 3 [2] [] 2`}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	var place string
	for part := range JSONParts(strings.NewReader(`{"a":[1,2,3]}`), "a[]") {
		place = part.Place
		break // nothing is told to one who has stopped listening
	}
	if place != "a 1" {
		t.Errorf("the first is %q", place)
	}
	if _, err := told(strings.NewReader(`{"a":[1,"`+strings.Repeat("x", 2*maxHeld)+`"]}`), "a[]"); !errors.Is(err, reverie.ErrInvalid) {
		t.Errorf("a value that is too long to be held: %v", err)
	}
	broken := errors.New("the disk is broken")
	if _, err := told(io.MultiReader(strings.NewReader(`{"a":[1,`), iotest.ErrReader(broken)), "a[]"); !errors.Is(err, broken) || !strings.Contains(err.Error(), "byte 7") {
		t.Errorf("error %v", err)
	}
}

// FuzzJSONParts: of sound JSON it tells what encoding/json finds; of anything else it may
// say what it likes, and ends.
func FuzzJSONParts(f *testing.F) {
	for _, doc := range []string{`{"a":[1,"x",{"y":[]}],"b":null}`, `[]`, `{"a":[[[`, `{"a":{}}`, "{\"a\":[\"\\u00e9\xff\"]}"} {
		f.Add([]byte(doc), uint64(1))
	}
	f.Fuzz(func(t *testing.T, doc []byte, seed uint64) {
		var got []string
		var failed error
		r := rand.New(rand.NewPCG(seed, seed))
		for part, err := range JSONParts(randomReader{strings.NewReader(string(doc)), r}, "a[]") {
			if failed = err; err == nil {
				got = append(got, string(part.Value))
			}
		}
		var whole map[string]json.RawMessage
		if !json.Valid(doc) || json.Unmarshal(doc, &whole) != nil || strings.Count(string(doc), `"a"`) != 1 || failed != nil {
			return
		}
		var want []json.RawMessage
		if json.Unmarshal(whole["a"], &want) == nil && len(want) != len(got) {
			t.Errorf("%q: %d elements, want %d", doc, len(got), len(want))
		}
	})
}

// randomReader reads in pieces of random size.
type randomReader struct {
	io.Reader
	r *rand.Rand
}

func (r randomReader) Read(p []byte) (int, error) {
	return r.Reader.Read(p[:min(len(p), 1+r.r.IntN(8))])
}
