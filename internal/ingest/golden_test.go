package ingest_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/ingest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fixtures are the sample exports of testdata, by path, and the format that each is in:
// its name up to the first point or underscore.
func fixtures(t testing.TB) map[string]string {
	t.Helper()
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".golden" && e.Name() != "fuzz" {
			name, _, _ := strings.Cut(strings.TrimSuffix(e.Name(), ext), "_")
			list[filepath.Join("testdata", e.Name())] = name
		}
	}
	return list
}

// ways are the paths by which a fixture can be imported: a folder is packed, too.
func ways(t testing.TB, path string) []string {
	t.Helper()
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return []string{path}
	}
	dir := t.TempDir()
	zipped, tarred := filepath.Join(dir, "export.zip"), filepath.Join(dir, "export.tar.gz")
	var z, g bytes.Buffer
	zw, gw := zip.NewWriter(&z), gzip.NewWriter(&g)
	tw := tar.NewWriter(gw)
	err := errors.Join(zw.AddFS(os.DirFS(path)), tw.AddFS(os.DirFS(path)), zw.Close(), tw.Close(), gw.Close(),
		os.WriteFile(zipped, z.Bytes(), 0o600), os.WriteFile(tarred, g.Bytes(), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return []string{path, zipped, tarred}
}

// golden is what is told of an export: a record or an error a line.
func golden(t testing.TB, in *ingest.Input, f ingest.Format, opts ingest.ReadOptions) string {
	t.Helper()
	var b strings.Builder
	for r, err := range f.Read(t.Context(), in.Source, opts) {
		var line any = r
		if err != nil {
			line = map[string]string{"error": err.Error()}
		}
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	return b.String()
}

// TestEveryFixtureIsKnown: each sample is found to be in its own format and no other,
// however it is packed, and tells the records that are written down.
func TestEveryFixtureIsKnown(t *testing.T) {
	seen := map[string]bool{}
	for path, name := range fixtures(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			seen[name] = true
			for _, way := range ways(t, path) {
				in, err := ingest.Open(t.Context(), way, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
				f, err := ingest.Detect(in.Source)
				if err != nil || f.Name != name {
					t.Fatalf("%s is taken for %q: %v", way, f.Name, err)
				}
				if strings.HasPrefix(filepath.Base(way), "export.") && name == "whatsapp" {
					continue // its name is the chat's
				}
				compare(t, strings.TrimSuffix(path, filepath.Ext(path))+".golden", golden(t, in, f, ingest.ReadOptions{}))
			}
		})
	}
	for _, f := range ingest.Formats() {
		if !seen[f.Name] {
			t.Errorf("testdata holds no sample of %s", f.Name)
		}
	}
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%v; run the tests with -update to write it, and read it", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); err != nil || diff != "" {
		t.Errorf("%s (-want +got), -update rewrites it: %v\n%s", file, err, diff)
	}
}

// TestTruncatedFixtures: whatever an export is cut to, what is told is what stood in the
// whole one, and that something is missing is told. Only a text whose messages have no end
// of their own may be cut within one, which then is the last.
func TestTruncatedFixtures(t *testing.T) {
	for path, name := range fixtures(t) {
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			continue
		}
		whole, err := os.ReadFile(path)
		check(t, err)
		whole = bytes.TrimSpace(whole)
		known := map[string]string{}
		for r := range toldOf(t, name, path, whole) {
			known[r.Message.ID] = r.Message.Text
		}
		text := name == "whatsapp" || name == "irc" || name == "line"
		for cut := len(whole) / 10; cut < len(whole)-1; cut += 1 + len(whole)/25 {
			missing, last := text || whole[cut] == '\n' || whole[cut-1] == '\n', ""
			for r, err := range toldOf(t, name, path, whole[:cut]) {
				if missing = missing || err != nil; err != nil {
					continue
				}
				if last != "" {
					t.Errorf("%s cut at %d: half a message in the middle: %q", path, cut, last)
				}
				if said, ok := known[r.Message.ID]; (!ok || said != r.Message.Text) && !stood(whole, r.Message.Text) && (said != "" || !ok) {
					last = r.Message.Text + " "
				}
			}
			if !missing || last != "" && !text {
				t.Errorf("%s cut at %d of %d bytes: nothing is said to be missing, or half a message %q is told", path, cut, len(whole), last)
			}
		}
	}
}

// stood tells whether all of a text stands in a file: an edit that is cut off leaves it as it
// was before.
func stood(whole []byte, text string) bool {
	quoted, err := json.Marshal(text)
	return err == nil && bytes.Contains(whole, quoted) || bytes.Contains(whole, []byte(text+"\n")) || bytes.Contains(whole, []byte(text+"\r\n"))
}

// TestTruncatedArchives: of an archive that is cut off, what stood whole is told.
func TestTruncatedArchives(t *testing.T) {
	for path := range fixtures(t) {
		all := ways(t, path)
		if len(all) == 1 {
			continue
		}
		packed := all[len(all)-1] // tar.gz
		known, _, _, err := brought(t, packed)
		check(t, err)
		whole, err := os.ReadFile(packed)
		check(t, err)
		for cut := len(whole) / 10; cut < len(whole)-20; cut += 1 + len(whole)/8 {
			chats, bad, _, err := brought(t, write(t, filepath.Base(packed), whole[:cut]))
			if err == nil && len(bad) == 0 {
				t.Errorf("%s cut at %d of %d bytes: nothing is said to be missing", path, cut, len(whole))
			}
			for chat, n := range chats {
				if n > known[chat] && known[chat] > 0 {
					t.Errorf("%s cut at %d: %d messages in %s, of %d", path, cut, n, chat, known[chat])
				}
			}
		}
	}
}

// toldOf is what a format tells of a file.
func toldOf(t *testing.T, format, path string, text []byte) iter.Seq2[ingest.Record, error] {
	t.Helper()
	f, err := ingest.Named(format)
	check(t, err)
	return f.Read(t.Context(), source(t, path, text), ingest.ReadOptions{})
}

// source is a file that holds this.
func source(t *testing.T, path string, text []byte) ingest.Source {
	t.Helper()
	file := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := ingest.Open(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return in.Source
}
