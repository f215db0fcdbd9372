package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// Auto is the name that lets the content tell the format.
const Auto = "auto"

// Input imports what was opened, in the format of that name or [Auto]. A folder or archive
// may hold several exports: then each file that is one is imported, and the others are
// returned as passed over. One that fails does not stop those behind it, unless Strict is
// set or the context has ended.
func (im *Importer) Input(ctx context.Context, in *Input, format string,
	opts ReadOptions) (formats, passedOver []string, err error) {
	f, err := formatOf(in, format)
	switch {
	case err == nil && in.Files == nil:
		return []string{f.Name}, nil, im.Read(ctx, in.Source, f, opts)
	case err == nil:
		formats, passedOver, err = im.whole(ctx, in, f, format, opts)
		return formats, passedOver, errors.Join(err, in.broken)
	case in.Files == nil || !errors.Is(err, ErrUnknown):
		return nil, nil, err
	}
	names, listErr := export.FileNames(in.Files)
	if listErr != nil {
		return nil, nil, fmt.Errorf("%s: %w", in.Name, listErr)
	}
	formats, passedOver, failed := im.entries(ctx, in, names, format, opts)
	if failed = errors.Join(failed, in.broken); len(formats) == 0 && failed == nil {
		return nil, passedOver, err
	}
	return formats, passedOver, failed
}

// whole imports a folder or archive that is an export as a whole, and then what other
// exports it holds. What lies beside or below the files of the first may belong to it, as a
// text that somebody sent: that is passed over.
func (im *Importer) whole(ctx context.Context, in *Input, f Format, format string,
	opts ReadOptions) (formats, passedOver []string, err error) {
	log := in.Files.(textFiles).log
	log.opened = map[string]bool{}
	err = im.Read(ctx, in.Source, f, opts)
	own := log.opened
	log.opened = nil
	formats = []string{f.Name}
	if ctx.Err() != nil || err != nil && im.opts.Strict || format != Auto && format != "" {
		return formats, nil, err
	}
	names, listErr := export.FileNames(in.Files)
	if listErr != nil {
		return formats, nil, errors.Join(err, listErr)
	}
	folders := map[string]bool{}
	for name := range own {
		folders[path.Dir(name)] = true
	}
	var others []string
	for _, name := range names {
		if own[name] || !mayBeExport(name) {
			continue
		}
		if !within(folders, name) {
			others = append(others, name)
		} else if beside, err := Detect(Source{Name: name, Head: export.HeadOf(in.Files,
			name)}); err == nil && beside.Knows(Source{Name: name, Head: export.HeadOf(in.Files, name)}) >= 80 {
			passedOver = append(passedOver, name)
		}
	}
	more, passed, failed := im.entries(ctx, in, others, format, opts)
	return append(formats, more...), append(passedOver, passed...), errors.Join(err, failed)
}

// within tells whether a file lies in one of these folders, or below.
func within(folders map[string]bool, name string) bool {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if folders[dir] {
			return true
		}
		if dir == "." {
			return false
		}
	}
}

// mayBeExport tells by its name whether a file may be an export, rather than a picture.
func mayBeExport(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case "", ".json", ".jsonl", ".ndjson", ".txt", ".log", ".weechatlog", ".irclog", ".zip", ".gz", ".tgz", ".tar":
		return true
	}
	return false
}

// entries imports files of a folder or archive.
func (im *Importer) entries(ctx context.Context, in *Input, names []string, format string,
	opts ReadOptions) (formats, passedOver []string, failed error) {
	for _, name := range names {
		found, within, err := im.entry(ctx, in, name, format, opts)
		formats, passedOver = append(formats, found...), append(passedOver, within...)
		var packed packedError
		if errors.As(err, &packed) && ctx.Err() == nil {
			err = im.Skip(&Bad{Place: name, Reason: "not unpacked", Err: err})
		}
		var bad *Bad
		if err != nil && len(found) == 0 && ctx.Err() == nil && !errors.As(err, &bad) { // it is no export
			passedOver = append(passedOver, name)
			continue
		}
		failed = errors.Join(failed, err)
		if err != nil && (im.opts.Strict || ctx.Err() != nil) {
			break
		}
	}
	return formats, passedOver, failed
}

// entry imports a file of a folder or archive.
func (im *Importer) entry(ctx context.Context, in *Input, name, format string,
	opts ReadOptions) (formats, passedOver []string, err error) {
	file, err := in.Entry(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if file.Files == nil && len(file.Head) == 0 {
		if _, err := file.Reader.Read(make([]byte, 1)); err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
			return nil, nil, im.Skip(&Bad{Place: name, Reason: "broken file", Err: err})
		}
		return nil, nil, fmt.Errorf("%s is empty: %w", file.Name, ErrUnknown)
	}
	if f, err := formatOf(file, format); err == nil && file.Files == nil && f.Knows(file.Source) == 0 {
		return nil, nil, fmt.Errorf("%s: %w", file.Name, ErrUnknown) // it was only named for the files that are in it
	}
	return im.Input(ctx, file, format, opts)
}

// formatOf finds the format of a source. That of a single file may be named although
// nothing tells that it is in it.
func formatOf(in *Input, name string) (Format, error) {
	if name == Auto || name == "" {
		return Detect(in.Source)
	}
	f, err := Named(name)
	if err == nil && in.Files != nil && f.Knows(in.Source) == 0 {
		return Format{}, fmt.Errorf("%s: nothing in it is in format %s: %w", in.Name, name, ErrUnknown)
	}
	return f, err
}

// Chats tells the chats of what was opened, in order of appearance, and stops when there
// are more than most. It reads all of it, so in has to be opened again for an import.
func Chats(ctx context.Context, in *Input, format string, opts ReadOptions, most int) ([]Chat, error) {
	var list []Chat
	enough := fmt.Errorf("there are more than %d chats: %w", most, reverie.ErrInvalid)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	im := NewImporter(nil, Options{Group: func(_ context.Context, _ string, chat Chat) (string, error) {
		list = append(list, chat)
		if len(list) > most {
			stop()
			return "", enough
		}
		return "any", nil
	}})
	_, _, err := im.Input(ctx, in, format, opts)
	if errors.Is(err, enough) {
		err = nil
	}
	return list, err
}
