package export

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"reverie/internal/reverie"
)

// TestPartsStopAnywhere: each way to cut a file into parts tells nothing more once nobody listens, whatever
// the file is and wherever it breaks.
func TestPartsStopAnywhere(t *testing.T) {
	broken := errors.New("the disk is gone")
	ways := map[string]func(io.Reader) Parts{"lines": Lines, "text lines": TextLines, "JSON lines": JSONLines,
		"JSON documents": JSONDocuments, "an array": func(r io.Reader) Parts { return JSONParts(r, "[]") },
		"several patterns": func(r io.Reader) Parts { return JSONParts(r, "a", "b[]", "*.c[]") },
		"values": func(r io.Reader) Parts {
			head, _ := io.ReadAll(io.LimitReader(r, 64))
			return Values(Source{Head: head, Reader: io.MultiReader(strings.NewReader(string(head)), r)})
		}}
	for name, way := range ways {
		for _, text := range []string{"", "\n \n", "{\"a\":1}\n{\"a\":\n{\"b\":[1]}\n{\"x\"", `[1,{"a":2},"x"]`, `[1,`, `[1] 2`, `{"a":1,"b":[1,2],"d":{"c":[3,4`,
			`{"a":1,"b":[1,2],"d":{"c":[3,4]}}`, "not JSON\nat all", strings.Repeat("x", maxLine+1) + "\n2", `["` + strings.Repeat("x", maxLine) + `",2]`} {
			for end, last := range map[string]error{"ends": io.EOF, "breaks": broken} {
				for most := 1; ; most++ {
					told := 0
					way(io.MultiReader(strings.NewReader(text), iotest.ErrReader(last)))(func(Part, error) bool {
						if told++; told > most {
							t.Errorf("%s of %.40q, which %s: part %d is told behind the end", name, text, end, told)
						}
						return told < most
					})
					if told < most || t.Failed() {
						break
					}
				}
			}
		}
	}
}

// TestCancelledRead: a format that does not mind the context, and finds nothing any more, has not come to the end.
func TestCancelledRead(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	f := Format{Name: "x", Tell: func(t *Teller, _ Source) error {
		stop()
		return t.Tell(Record{Message: reverie.Message{ID: "1"}})
	}}
	var said []error
	for _, err := range f.Read(ctx, Source{}, ReadOptions{}) {
		said = append(said, err)
	}
	if len(said) != 2 || said[0] != nil || !errors.Is(said[1], context.Canceled) {
		t.Errorf("told %v", said)
	}
}
