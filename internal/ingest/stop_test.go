package ingest_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"reverie/internal/ingest"
	"reverie/internal/reverie"
)

// TestStopsAnywhere: whoever reads an export may stop behind any record or error, and nothing is told any
// more: whether it is whole, breaks in the middle, or the context has ended.
func TestStopsAnywhere(t *testing.T) {
	broken := errors.New("the disk is gone")
	for path, name := range fixtures(t) {
		f, err := ingest.Named(name)
		check(t, err)
		for _, way := range ways(t, path) {
			for _, readable := range []int64{math.MaxInt64, 0, 100, 700, 3000} { // bytes of a file
				for _, end := range []error{broken, context.Canceled} {
					stopAnywhere(t, f, way, readable, end)
				}
			}
		}
	}
}

// stopAnywhere stops behind each thing that is told of an export whose files break behind so many bytes. A
// break that is the end of the context is told last, and once.
func stopAnywhere(t *testing.T, f ingest.Format, path string, readable int64, end error) {
	t.Helper()
	for most := 1; ; most++ {
		ctx, cancel := context.WithCancel(t.Context())
		src := breaking(open(t, path).Source, readable, func() error {
			if errors.Is(end, context.Canceled) {
				cancel()
			}
			return end
		})
		told := 0
		var last error
		f.Read(ctx, src, ingest.ReadOptions{})(func(_ ingest.Record, err error) bool {
			if told++; told > most {
				t.Errorf("%s breaks at %d: %d things are told, and %d were listened to", path, readable, told, most)
			}
			if last != nil && ctx.Err() != nil {
				t.Errorf("%s breaks at %d: something is told behind the end of the context", path, readable)
			}
			if last = nil; errors.Is(err, context.Canceled) {
				last = err
			}
			return told < most
		})
		ended := ctx.Err() != nil
		cancel()
		if t.Failed() || told < most {
			if ended && last == nil {
				t.Errorf("%s breaks at %d: nobody is told that the context has ended", path, readable)
			}
			return
		}
	}
}

// breaking is a source whose files cannot be read beyond so many bytes.
func breaking(src ingest.Source, readable int64, end func() error) ingest.Source {
	cut := func(r io.Reader) io.Reader {
		if readable == math.MaxInt64 {
			return r
		}
		return io.MultiReader(io.LimitReader(r, readable), ending(end))
	}
	if src.Files != nil {
		src.Files = brokenFiles{src.Files, cut}
	} else {
		src.Reader = cut(src.Reader)
	}
	return src
}

// ending is a reader that only ends.
type ending func() error

func (e ending) Read([]byte) (int, error) { return 0, e() }

// brokenFiles are files whose beginnings can be seen, and that break when they are read.
type brokenFiles struct {
	fs.FS
	cut func(io.Reader) io.Reader
}

func (b brokenFiles) Peek(name string) (fs.File, error) { return b.FS.Open(name) }

func (b brokenFiles) Open(name string) (fs.File, error) {
	f, err := b.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return f, err
	}
	return brokenFile{f, b.cut(f)}, nil
}

type brokenFile struct {
	fs.File
	r io.Reader
}

func (f brokenFile) Read(p []byte) (int, error) { return f.r.Read(p) }

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
