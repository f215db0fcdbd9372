package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"reverie/internal/reverie"
)

// find returns the files that match the first pattern with matches. dir may be the file itself.
func find(dir, what string, patterns ...string) ([]string, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w: name the folder with %s", dir, errors.Unwrap(err), reverie.ErrInvalid, what)
	}
	if !info.IsDir() {
		return []string{dir}, nil
	}
	for _, p := range patterns {
		if found, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(p))); len(found) > 0 {
			return found, nil
		}
	}
	return nil, fmt.Errorf("%s: there is no %s in it: it needs %s: %w", dir, strings.Join(patterns, ", and no "), what, reverie.ErrInvalid)
}

// record is one object of a file, with its position.
type record struct {
	raw  []byte
	file string
	no   int    // from 1
	line int    // of its first character
	name string // for people
}

// wrong returns an error at an offset of the record.
func (r record) wrong(offset int64, format string, args ...any) error {
	offset = min(max(offset, 0), int64(len(r.raw)))
	line := r.line + bytes.Count(r.raw[:offset], []byte("\n"))
	return fmt.Errorf("%s:%d: %s: %w", r.file, line, fmt.Sprintf(format, args...), reverie.ErrInvalid)
}

// need refuses a record without a required field; fields are names, each followed by its value. of names the part
// of the record that has them; "" is the record.
func (r record) need(of string, fields ...any) error {
	for i := 0; i < len(fields); i += 2 {
		if v := reflect.ValueOf(fields[i+1]); v.IsZero() || v.Kind() == reflect.Map && v.Len() == 0 || v.Kind() == reflect.Slice && v.Len() == 0 {
			return r.wrong(0, "%s has no %q: is this the format that --dataset names?", r.name+of, fields[i])
		}
	}
	return nil
}

// each decodes the elements of JSON arrays or of JSON Lines. It ignores unknown fields.
func each[T any](files []string, take func(record, T) error) error {
	for _, file := range files {
		list, err := records(file)
		if err != nil {
			return err
		}
		for _, r := range list {
			var v T
			if err := json.Unmarshal(r.raw, &v); err != nil {
				return r.wrong(offsetOf(err, 0), "%s", strings.TrimPrefix(err.Error(), "json: "))
			}
			if err := take(r, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func records(file string) (list []record, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", file, errors.Unwrap(err), reverie.ErrInvalid)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	whole := record{raw: data, file: file, line: 1}
	if bytes.HasPrefix(data, []byte("version https://git-lfs")) {
		return nil, whole.wrong(0, "this is a pointer of Git LFS, not the data: run `git lfs pull` where it was cloned")
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
		list = append(list, record{raw: raw, file: file, no: len(list) + 1, line: 1 + bytes.Count(data[:start], []byte("\n"))})
	}
	if array && err == nil {
		_, err = d.Token()
	}
	ended := errors.Is(err, io.EOF)
	switch {
	case ended && array || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, whole.wrong(d.InputOffset(), "the file ends in the middle: fetch it again")
	case err != nil && !ended:
		return nil, whole.wrong(offsetOf(err, d.InputOffset()), "this is not JSON: %v: fetch the file again", err)
	case len(list) == 0:
		return nil, whole.wrong(0, "there is nothing in it: fetch the file again, or remove it")
	}
	return list, nil
}

// offsetOf returns the offset in an error of encoding/json, or otherwise.
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

// plain is a JSON value as text: benchmarks write some answers as numbers or lists.
type plain string

// UnmarshalJSON keeps a string, joins a list, and keeps the JSON of other values.
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
