package ingest

import (
	"context"
	"errors"
	"fmt"

	"reverie"
)

// Auto is the name that lets the content tell the format.
const Auto = "auto"

// Input imports what was opened, in the format of that name or [Auto]. A folder or archive
// that is no export as a whole may hold several: then each file that is one is imported,
// and the others are returned as passed over. One that fails does not stop those behind
// it, unless Strict is set or the context has ended.
func (im *Importer) Input(ctx context.Context, in *Input, format string, opts ReadOptions) (formats, passedOver []string, err error) {
	f, err := formatOf(in, format)
	switch {
	case err == nil:
		return []string{f.Name}, nil, im.Read(ctx, in.Source, f, opts)
	case in.Files == nil || !errors.Is(err, ErrUnknown):
		return nil, nil, err
	}
	names, listErr := fileNames(in.Files)
	if listErr != nil {
		return nil, nil, fmt.Errorf("%s: %w", in.Name, listErr)
	}
	var failed error
	for _, name := range names {
		found, within, err := im.entry(ctx, in, name, format, opts)
		formats, passedOver = append(formats, found...), append(passedOver, within...)
		if err != nil && len(found) == 0 && ctx.Err() == nil { // it is no export
			passedOver = append(passedOver, name)
			continue
		}
		failed = errors.Join(failed, err)
		if err != nil && (im.opts.Strict || ctx.Err() != nil) {
			break
		}
	}
	if len(formats) == 0 && failed == nil {
		return nil, passedOver, err
	}
	return formats, passedOver, failed
}

// entry imports a file of a folder or archive.
func (im *Importer) entry(ctx context.Context, in *Input, name, format string, opts ReadOptions) (formats, passedOver []string, err error) {
	file, err := in.Entry(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if file.Files == nil && len(file.Head) == 0 {
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
