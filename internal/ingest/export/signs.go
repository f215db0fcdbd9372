package export

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// Sign says how certainly JSON is of a format, from 1 to 100, if its beginning has values at all of these paths.
// They are separated by spaces, with the syntax of [JSONParts]; a|b is one of two.
type Sign struct {
	Sure  int
	Paths string
}

// At returns the sign relative to each of these paths: "" is the document itself, "messages[]" each message.
func (s Sign) At(places ...string) (signs []Sign) {
	for _, at := range places {
		if at != "" {
			at += "."
		}
		paths := at + strings.NewReplacer(" ", " "+at, "|", "|"+at).Replace(s.Paths)
		signs = append(signs, Sign{s.Sure, paths})
	}
	return signs
}

// Surest returns the highest certainty of the signs that match head; 0 is none. head is the beginning of a
// document, or JSON Lines, of which any complete line may match.
func Surest(head []byte, signs ...Sign) (most int) {
	if first := bytes.TrimSpace(head); len(first) == 0 || first[0] != '{' && first[0] != '[' && !bytes.Contains(head, []byte("\n{")) {
		return 0 // not JSON at all
	}
	var paths []string
	for _, s := range signs {
		paths = append(paths, strings.FieldsFunc(s.Paths, func(c rune) bool { return c == ' ' || c == '|' })...)
	}
	for patterns, more := jsonPatterns(paths), true; more; {
		d := newJSONReader(bytes.NewReader(head), nil)
		d.seen = map[string]bool{}
		err := d.walk(Part{}, patterns)
		for _, s := range signs {
			if s.Sure > most && d.allSeen(s) {
				most = s.Sure
			}
		}
		// Otherwise the head ends inside it.
		more = most == 0 && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)
		if more {
			_, head, more = bytes.Cut(head[min(d.InputOffset(), int64(len(head))):], []byte("\n{"))
			head = append([]byte("{"), head...)
		}
	}
	return most
}

func (d *jsonReader) allSeen(s Sign) bool {
	for path := range strings.FieldsSeq(s.Paths) {
		any := false
		for either := range strings.SplitSeq(path, "|") {
			any = any || d.seen[either]
		}
		if !any {
			return false
		}
	}
	return true
}
