package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

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

// each decodes the elements of JSON arrays or of JSON Lines. It ignores unknown fields. no counts them from 1.
func each[T any](files []string, take func(file string, no int, v T) error) error {
	for _, file := range files {
		if no, err := eachOf(file, take); err != nil {
			return fmt.Errorf("%s: record %d: %w; is this a whole file of the format that --dataset names?: %w", file, no,
				err, reverie.ErrInvalid)
		}
	}
	return nil
}

func eachOf[T any](file string, take func(file string, no int, v T) error) (no int, err error) {
	data, err := os.ReadFile(file)
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	d := json.NewDecoder(bytes.NewReader(data))
	array := bytes.HasPrefix(bytes.TrimSpace(data), []byte("["))
	if array {
		_, err = d.Token()
	}
	for no = 1; err == nil && (no == 1 || d.More()); no++ {
		var v T
		if err = d.Decode(&v); err == nil {
			err = take(file, no, v)
		}
		if err != nil {
			return no, err
		}
	}
	if array && err == nil { // a file that is cut off has no closing bracket
		_, err = d.Token()
	}
	return no, err
}

// need refuses a part of a record without a required field; fields are names, each followed by its value.
func need(of string, fields ...any) error {
	for i := 0; i < len(fields); i += 2 {
		if v := reflect.ValueOf(fields[i+1]); v.IsZero() || (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0 {
			return fmt.Errorf("%s has no %q", of, fields[i])
		}
	}
	return nil
}

// timeOf parses a date of a record.
func timeOf(field, layout, written string) (time.Time, error) {
	at, err := time.Parse(layout, written)
	if err != nil {
		err = fmt.Errorf("%s is %q, and not like %q", field, written, layout)
	}
	return at, err
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
