package memories_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reverie/internal/ingest/memories"
)

var update = flag.Bool("update", false, "write the golden files anew")

// noon is when the exports are read.
var noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// TestRead reads an export of each system, and compares what was found with what is written down.
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, name := range files {
		if strings.HasSuffix(name, ".golden") {
			continue
		}
		read++
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for m, err := range memories.Read(f, true) {
			if err != nil {
				fmt.Fprintf(&got, "error: %v\n", err)
				continue
			}
			said := "-"
			if !m.SaidAt.IsZero() {
				said = m.SaidAt.UTC().Format(time.RFC3339)
			}
			fmt.Fprintf(&got, "%s\t%s\t%s\t%s\t%s\t%v\tended %v\n", m.Place, m.System, m.ID, m.Statement, said, m.Tags, !m.Ends.IsZero() && m.Ends.Before(noon))
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		golden := name + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got.String(), want)
		}
	}
	if read < 7 {
		t.Errorf("only %d exports were read", read)
	}
}

// TestReadBroken: of an export that is cut off, what stands before the cut is told, and then the error.
func TestReadBroken(t *testing.T) {
	text, err := os.ReadFile("testdata/mem0.json")
	if err != nil {
		t.Fatal(err)
	}
	cut := strings.Index(string(text), "6d1e")
	found, failed := 0, 0
	for _, err := range memories.Read(strings.NewReader(string(text[:cut])), true) {
		if err != nil {
			failed++
		} else {
			found++
		}
	}
	if found != 2 || failed != 1 {
		t.Errorf("%d found and %d errors; want 2 and 1", found, failed)
	}
}

// TestReadNoList: what is no list by its name, or no text, holds no memory.
func TestReadNoList(t *testing.T) {
	for text, list := range map[string]bool{"package main\n\nfunc main() {}\n": false, "\x7fELF\x02\x00\x00\nabc\n": true} {
		for m, err := range memories.Read(strings.NewReader(text), list) {
			t.Errorf("of %q: %+v, %v", text, m, err)
		}
	}
}

// FuzzRead: no text makes reading panic, and no memory is empty.
func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.*")
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		for m, err := range memories.Read(strings.NewReader(text), true) {
			if err == nil && (m.Statement == "" || m.System == "") {
				t.Errorf("%+v of %q", m, text)
			}
		}
	})
}
