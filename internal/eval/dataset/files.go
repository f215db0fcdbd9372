package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"reverie/internal/reverie"
)

// mostFaults are told of a data set; the rest is likely the same.
const mostFaults = 10

// files are those of a data set. What is wrong with them is collected.
type files struct {
	dir    string
	faults []error
	left   int // faults that are not told
}

// err is what is wrong.
func (f *files) err() error {
	if f.left > 0 {
		f.faults = append(f.faults, fmt.Errorf("and %d more like these: %w", f.left, reverie.ErrInvalid))
	}
	return errors.Join(f.faults...)
}

func (f *files) wrong(at, format string, args ...any) {
	if len(f.faults) == mostFaults {
		f.left++
		return
	}
	f.faults = append(f.faults, fmt.Errorf("%s: %s: %w", at, fmt.Sprintf(format, args...), reverie.ErrInvalid))
}

// find returns the files of the first pattern that any match. The folder may be the file itself.
func (f *files) find(what string, patterns ...string) []string {
	info, err := os.Stat(f.dir)
	if err != nil {
		f.wrong(f.dir, "%v: name the folder with %s", errors.Unwrap(err), what)
		return nil
	}
	if !info.IsDir() {
		return []string{f.dir}
	}
	for _, p := range patterns {
		if found, _ := filepath.Glob(filepath.Join(f.dir, filepath.FromSlash(p))); len(found) > 0 {
			return found
		}
	}
	f.wrong(f.dir, "there is no %s in it: it needs %s", strings.Join(patterns, ", and no "), what)
	return nil
}

// record is one object of a file, and where it stands.
type record struct {
	raw  []byte
	file string
	line int // of its first character
}

// at is where an offset of the record is.
func (r record) at(offset int64) string {
	offset = min(max(offset, 0), int64(len(r.raw)))
	return fmt.Sprintf("%s:%d", r.file, r.line+bytes.Count(r.raw[:offset], []byte("\n")))
}

// records reads the values of a JSON array or of JSON Lines.
func (f *files) records(file string) (list []record) {
	data, err := os.ReadFile(file)
	if err != nil {
		f.wrong(file, "%v", errors.Unwrap(err))
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	whole := record{raw: data, file: file, line: 1}
	if bytes.HasPrefix(data, []byte("version https://git-lfs")) {
		f.wrong(whole.at(0), "this is a pointer of Git LFS, not the data: run `git lfs pull` where it was cloned")
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	array := bytes.HasPrefix(bytes.TrimSpace(data), []byte("["))
	if array {
		_, err = d.Token()
	}
	for err == nil && (!array || d.More()) {
		var raw json.RawMessage
		if err = d.Decode(&raw); err != nil {
			break
		}
		start := d.InputOffset() - int64(len(raw))
		list = append(list, record{raw, file, 1 + bytes.Count(data[:start], []byte("\n"))})
	}
	if array && err == nil {
		_, err = d.Token()
	}
	ended := errors.Is(err, io.EOF)
	switch {
	case ended && array || errors.Is(err, io.ErrUnexpectedEOF):
		f.wrong(whole.at(d.InputOffset()), "the file ends in the middle: fetch it again")
		return nil
	case err != nil && !ended:
		f.wrong(whole.at(offsetOf(err, d.InputOffset())), "this is not JSON: %v: fetch the file again", err)
		return nil
	case len(list) == 0:
		f.wrong(whole.at(0), "there is nothing in it: fetch the file again, or remove it")
	}
	return list
}

// offsetOf is where an error of encoding/json is, or another place where it does not say.
func offsetOf(err error, otherwise int64) int64 {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return syntax.Offset
	case errors.As(err, &kind):
		return kind.Offset
	}
	return otherwise
}

// decode reads a record into a shape. Fields that it does not know are passed over.
func decode[T any](f *files, r record) (v T, ok bool) {
	if err := json.Unmarshal(r.raw, &v); err != nil {
		f.wrong(r.at(offsetOf(err, 0)), "%s", strings.TrimPrefix(err.Error(), "json: "))
		return v, false
	}
	return v, true
}

// need tells whether a field is there, which the format wants.
func (f *files) need(r record, of, field string, there bool) bool {
	if !there {
		f.wrong(r.at(0), "%s has no %q: is this the format that --dataset names?", of, field)
	}
	return there
}

// plain is a value of JSON as text: benchmarks write some answers as numbers or lists.
type plain string

// UnmarshalJSON takes a string as it is, a list as its parts, and all else as it is written.
func (p *plain) UnmarshalJSON(raw []byte) error {
	var s string
	var list []plain
	switch {
	case json.Unmarshal(raw, &s) == nil:
		*p = plain(s)
	case json.Unmarshal(raw, &list) == nil:
		parts := make([]string, len(list))
		for i, e := range list {
			parts[i] = string(e)
		}
		*p = plain(strings.Join(parts, ", "))
	default:
		*p = plain(raw)
	}
	return nil
}
