package ingest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestLimited: a file of an archive that is larger than what is read of one is an error,
// and not one that ends there.
func TestLimited(t *testing.T) {
	for size, want := range map[int64]error{10: nil, 11: errLargeEntry} {
		got, err := io.ReadAll(&limited{r: strings.NewReader(strings.Repeat("x", int(size))), left: 10})
		if !errors.Is(err, want) || (err == nil) != (want == nil) || want == nil && int64(len(got)) != size {
			t.Errorf("%d bytes: read %d, %v", size, len(got), err)
		}
	}
}

// TestTarIsHeldInPart: of a tar archive no more is held than may be, also where one file alone is more, and what was
// before it can be read.
func TestTarIsHeldInPart(t *testing.T) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	noise := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	add(t, w, "a.jsonl", []byte("first"))
	for _, name := range []string{"b.jsonl", "c.jsonl"} {
		add(t, w, name, noise)
	}
	packed := &held{most: 1 << 18}
	z := zip.NewWriter(packed)
	files, err := repack(z, tar.NewReader(&archive), packed)
	if !errors.Is(err, errHoldsTooMuch) || files != 2 || packed.Len() > 1<<19 {
		t.Errorf("%d files, %d bytes are held: %v", files, packed.Len(), err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := fs.ReadFile(all, "a.jsonl"); string(text) != "first" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func add(t *testing.T, w *tar.Writer, name string, text []byte) {
	t.Helper()
	err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(text)), Mode: 0o600})
	if _, werr := w.Write(text); err != nil || werr != nil || w.Flush() != nil {
		t.Fatal(err, werr)
	}
}

// TestApart: an archive of one name over and over is told apart in one pass. By the square, these take longer than a
// test may.
func TestApart(t *testing.T) {
	names := make([]string, 200_000)
	for i := range names {
		names[i] = "result.json"
	}
	got := uniqueNames(names)
	seen := map[string]bool{}
	for _, name := range got {
		seen[name] = true
	}
	if len(seen) != len(names) || got[0] != "result.json" || got[1] != "result (2).json" || !seen["result (200000).json"] {
		t.Errorf("%d of %d names are apart: %q", len(seen), len(names), got[:3])
	}
}
