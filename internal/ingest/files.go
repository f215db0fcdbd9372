package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
)

// fileParts tells the values of one file of an export, as jsonParts does. What is wrong
// with one of them or with the file is told as a [*Bad], so that the other files can
// follow; only that the context has ended is not.
func fileParts(ctx context.Context, files fs.FS, name string, patterns ...string) iter.Seq2[jsonPart, error] {
	return func(yield func(jsonPart, error) bool) {
		f, err := files.Open(name)
		if err != nil {
			yield(jsonPart{}, &Bad{Place: name, Reason: "broken file", Err: err})
			return
		}
		defer f.Close()
		n := 0
		for part, err := range jsonParts(f, patterns...) {
			n++
			part.Place = fmt.Sprintf("%s, message %d", name, n)
			var bad *Bad
			switch {
			case ctx.Err() != nil:
				yield(part, ctx.Err())
				return
			case errors.As(err, &bad):
				err = &Bad{Place: part.Place, Reason: bad.Reason, Err: bad.Err}
			case err != nil:
				err = &Bad{Place: part.Place, Reason: "broken file", Err: err}
			}
			if !yield(part, err) {
				return
			}
		}
	}
}

// eachPart hands over the values of a file of an export that says what others mean by
// their ids. A file that is not there has none; one that is broken is an error.
func eachPart(files fs.FS, name string, take func(jsonPart), patterns ...string) error {
	f, err := files.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer f.Close()
	for part, err := range jsonParts(f, patterns...) {
		var bad *Bad
		switch {
		case errors.As(err, &bad): // too long to be one
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		default:
			take(part)
		}
	}
	return nil
}

// inArchiveOrder sorts the names of files into the order that they can be read in without
// beginning anew each time: that of a tar archive, and else by name.
func inArchiveOrder(files fs.FS, names []string) {
	slices.Sort(names)
	text, _ := files.(textFiles)
	if tar, ok := text.raw.(*tarFiles); ok {
		slices.SortStableFunc(names, func(a, b string) int { return tar.entries[a].no - tar.entries[b].no })
	}
}
