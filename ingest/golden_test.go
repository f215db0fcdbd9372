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
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/ingest"
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

// TestTruncatedFixtures: whatever an export is cut to, it is told that something is
// missing, or nothing but whole records; what is told is what stood in the whole one.
func TestTruncatedFixtures(t *testing.T) {
	for path, name := range fixtures(t) {
		info, err := os.Stat(path)
		if err != nil || info.IsDir() || filepath.Ext(path) != ".json" {
			continue
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := ingest.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]bool{}
		for r := range f.Read(t.Context(), source(t, path, whole), ingest.ReadOptions{}) {
			known[r.Message.ID+"\x00"+r.Message.Text] = true
		}
		whole = bytes.TrimSpace(whole)
		for cut := len(whole) / 2; cut < len(whole)-1; cut += 1 + len(whole)/40 {
			complete := true
			for r, err := range f.Read(t.Context(), source(t, path, whole[:cut]), ingest.ReadOptions{}) {
				var bad *ingest.Bad
				if err != nil && !errors.As(err, &bad) {
					complete = false
				} else if err == nil && !known[r.Message.ID+"\x00"+r.Message.Text] {
					t.Errorf("%s cut at %d: half a message %+v", path, cut, r)
				}
			}
			if complete {
				t.Errorf("%s cut at %d of %d bytes: nothing is said to be missing", path, cut, len(whole))
			}
		}
	}
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
