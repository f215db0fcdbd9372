package ingest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"reverie/internal/ingest"
	"reverie/internal/reverie"
)

// TestStopsAnywhere: whoever reads an export may stop behind any record, and nothing is told any more.
func TestStopsAnywhere(t *testing.T) {
	for path, name := range fixtures(t) {
		f, err := ingest.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, way := range ways(t, path) {
			for most := 1; ; most++ {
				n := 0
				for range f.Read(t.Context(), open(t, way).Source, ingest.ReadOptions{}) {
					if n++; n == most {
						break
					}
				}
				if n < most {
					break
				}
			}
		}
	}
}

// channels is a folder of logs of two channels, in two formats where that is wanted.
func channels(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"#kiln.log": "2026-01-15 20:01:00 <lin> glaze tonight\n2026-01-15 20:02:00 <mia> yes\n",
		"#tea.log": "2026-01-15 21:01:00 <bo> oolong again\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestSecondChatIsRefused: an import that takes one chat only ends with the second, in its own words.
func TestSecondChatIsRefused(t *testing.T) {
	second := errors.New("a second chat")
	seen := 0
	im := ingest.NewImporter(nil, ingest.Options{Group: func(context.Context, string, ingest.Chat) (string, error) {
		if seen++; seen > 1 {
			return "", second
		}
		return "g", nil
	}})
	if _, _, err := im.Input(t.Context(), open(t, channels(t)), ingest.Auto, ingest.ReadOptions{}); !errors.Is(err, second) {
		t.Errorf("%v", err)
	}
	if chats, err := ingest.Chats(t.Context(), open(t, channels(t)), ingest.Auto, ingest.ReadOptions{}, 1); err != nil || len(chats) != 2 {
		t.Errorf("%v, %v", chats, err)
	}
}

// TestInterruptedFolder: an import that is stopped says so, wherever it was, and never that a file is of no format.
func TestInterruptedFolder(t *testing.T) {
	dir := channels(t)
	nested := filepath.Join(dir, "jsonl")
	if err := os.Mkdir(nested, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.jsonl", "b.jsonl"} {
		if err := os.WriteFile(filepath.Join(nested, name), []byte(message(name)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		path  string
		until int // records and stores until it is stopped
	}{"before": {dir, 0}, "whole, at the first chat": {dir, 1}, "whole, later": {dir, 2}, "files, at the first": {nested, 1}, "files, later": {nested, 2}} {
		ctx, stop := context.WithCancel(t.Context())
		calls := 0
		at := func() {
			if calls++; calls > c.until {
				stop()
			}
		}
		if c.until == 0 {
			stop()
		}
		im := ingest.NewImporter(&shelf{}, ingest.Options{OnRead: at, Group: func(context.Context, string, ingest.Chat) (string, error) {
			at()
			return "g", nil
		}})
		in, err := ingest.Open(ctx, c.path, nil)
		if err == nil {
			_, _, err = im.Input(ctx, in, ingest.Auto, ingest.ReadOptions{})
			_ = in.Close()
		}
		if !errors.Is(err, context.Canceled) || errors.Is(err, reverie.ErrInvalid) || errors.Is(err, ingest.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
		stop()
	}
}
