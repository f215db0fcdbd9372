package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/archive"
	"reverie/internal/reverie"
)

var update = flag.Bool("update", false, "write the golden file anew")

var created = time.Date(2026, 1, 15, 12, 30, 0, 0, time.UTC)

func record(group string, kind reverie.RecordType, row string, vector ...float32) reverie.Record {
	return reverie.Record{GroupID: group, Type: kind, Row: json.RawMessage(row), Vector: vector}
}

// sample has two groups, and text that JSON and people stumble over.
func sample() []reverie.Record {
	return []reverie.Record{
		record("g1", reverie.RecordGroup, `{"group_id":"g1","name":"茶 <&> \u2028"}`),
		record("g1", reverie.RecordRun, `{"run_id":"r1"}`),
		record("g1", reverie.RecordMemory, `{"memory_id":"m1","statement":"Lin drinks tea"}`, 1, -0.5, math.SmallestNonzeroFloat32),
		record("g1", reverie.RecordMemory, `{"memory_id":"m2","statement":"see https://example.com"}`),
		record("g1", reverie.RecordSource, `{"memory_id":"m2","source_id":"m1"}`),
		record("g1", reverie.RecordTaken, `{"memory_id":"m1"}`),
		record("g1", reverie.RecordUsage, `{"lineage_id":"l1"}`),
		record("g2", reverie.RecordGroup, `{"group_id":"g2"}`),
		record("g2", reverie.RecordMemory, `{"memory_id":"m3","statement":"Mia sings"}`, math.MaxFloat32),
	}
}

// file is an export of the records.
func file(t testing.TB, groups int, records ...reverie.Record) string {
	t.Helper()
	var b bytes.Buffer
	w := archive.NewWriter(&b, created, true)
	err := w.Begin(groups)
	for _, r := range records {
		err = errors.Join(err, w.Write(r))
	}
	if _, end := w.End(); errors.Join(err, end) != nil {
		t.Fatal(err, end)
	}
	return b.String()
}

func read(text string) ([]reverie.Record, error) {
	var got []reverie.Record
	_, _, err := archive.Read(context.Background(), strings.NewReader(text), func(r reverie.Record) error {
		got = append(got, r)
		return nil
	})
	return got, err
}

// TestForm: the form is what it was, and reads back as what was written.
func TestForm(t *testing.T) {
	t.Parallel()
	const golden = "testdata/export.jsonl"
	text := file(t, 2, sample()...)
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got, err := read(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
}

// TestDamage: a file that is not as it was written is refused, wherever it was
// touched, and the error says what is wrong.
func TestDamage(t *testing.T) {
	t.Parallel()
	whole := file(t, 2, sample()...)
	lines := strings.SplitAfter(whole, "\n")
	lines = lines[:len(lines)-1]
	moved := slices.Clone(sample())
	moved[1], moved[2] = moved[2], moved[1]
	for _, c := range []struct{ name, text, words string }{
		{"empty", "", "not an export of memories"},
		{"another file", `{"id":"1","text":"hello"}` + "\n", "not an export of memories"},
		{"newer", strings.Replace(whole, `"version":2`, `"version":3,"colour":"red"`, 1), "version 3"},
		{"older", strings.Replace(whole, `"version":2`, `"version":1`, 1), "version 1"},
		{"one letter", strings.Replace(whole, "Mia sings", "Mia sinks", 1), "changed or damaged"},
		{"line ends", strings.ReplaceAll(whole, "\n", "\r\n"), "line ends"},
		{"a line lost", strings.Join(slices.Delete(slices.Clone(lines), 4, 5), ""), "changed or damaged"},
		{"a line doubled", strings.Join(slices.Insert(slices.Clone(lines), 4, lines[4]), ""), "changed or damaged"},
		{"no end", strings.Join(lines[:len(lines)-1], ""), "cut off"},
		{"two exports", whole + whole, "comes after the last line"},
		{"blank line", strings.Join(slices.Insert(slices.Clone(lines), 4, "\n"), ""), "line 5"},
		{"order of types", file(t, 2, moved...), "line 4: a run record does not belong here"},
		{"order of groups", file(t, 2, append(sample()[7:], sample()[:7]...)...), `group "g1" comes after "g2"`},
		{"no group", file(t, 0, sample()[1]), "does not belong here"},
		{"number of groups", file(t, 3, sample()...), "3 groups"},
		{"unknown type", file(t, 1, sample()[0], record("g1", "song", `{}`)), `"song"`},
		{"no row", file(t, 1, sample()[0], record("g1", reverie.RecordRun, `[]`)), "no row"},
		{"vector of a run", file(t, 1, sample()[0], record("g1", reverie.RecordRun, `{}`, 1)), "no vector"},
		{"half a vector", strings.Replace(whole, `"vector":"`, `"vector":"AA`, 1), "base64"},
	} {
		_, err := read(c.text)
		if !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want one with %q", c.name, err, c.words)
		}
	}
	for n := 0; n < len(whole)-1; n += 13 { // the last line's end is all that may go
		if _, err := read(whole[:n]); !errors.Is(err, reverie.ErrInvalid) {
			t.Fatalf("cut off after %d bytes of %d: %v", n, len(whole), err)
		}
	}
	if _, err := read(strings.TrimSuffix(whole, "\n")); err != nil {
		t.Error(err)
	}
}

// FuzzRead: whatever a file holds, reading it ends, and what is read without an
// error reads the same when it is written again.
func FuzzRead(f *testing.F) {
	f.Add(file(f, 2, sample()...))
	f.Add("{}\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := read(text)
		if err != nil {
			return
		}
		groups := 0
		for _, r := range got {
			if r.Type == reverie.RecordGroup {
				groups++
			}
		}
		again, err := read(file(t, groups, got...))
		if err != nil || len(again) != len(got) {
			t.Fatalf("%d records, then %d and %v", len(got), len(again), err)
		}
	})
}

// base is a store that notes what it is handed.
type base struct {
	calls   []string
	most    int // records at once
	bytes   int // at once
	known   map[string]bool
	failing int // the write that fails, from 1
	writes  int
}

func (b *base) CompareRecords(_ context.Context, group string, list []reverie.Record) (reverie.RecordResult, error) {
	b.calls = append(b.calls, fmt.Sprintf("compare %s %d", group, len(list)))
	return b.take(list, false), nil
}

var errKilled = errors.New("killed")

func (b *base) WriteRecords(_ context.Context, group string, list []reverie.Record) (reverie.RecordResult, error) {
	if b.writes++; b.writes == b.failing {
		return reverie.RecordResult{}, errKilled
	}
	b.calls = append(b.calls, fmt.Sprintf("write %s %d", group, len(list)))
	return b.take(list, true), nil
}

func (b *base) take(list []reverie.Record, write bool) reverie.RecordResult {
	if b.known == nil {
		b.known = map[string]bool{}
	}
	size := 0
	res := reverie.RecordResult{Counts: map[reverie.RecordType]reverie.RecordCount{}}
	for _, r := range list {
		size += len(r.Row) + 4*len(r.Vector)
		c, key := res.Counts[r.Type], r.GroupID+string(r.Row)
		if b.known[key] {
			c.Known++
		} else {
			c.New++
		}
		res.Counts[r.Type] = c
		b.known[key] = b.known[key] || write
	}
	b.most, b.bytes = max(b.most, len(list)), max(b.bytes, size)
	return res
}

// TestImport: everything is compared before anything is written; stopped half-way,
// the same goes on; done, it changes nothing.
func TestImport(t *testing.T) {
	t.Parallel()
	in := strings.NewReader(file(t, 2, sample()...))
	var refused []string
	opts := archive.Options{OnRefused: func(group, id string, err error) { refused = append(refused, group+" "+id) }}
	b := &base{failing: 2}
	if _, err := archive.Import(t.Context(), in, b, opts); !errors.Is(err, errKilled) || !strings.Contains(err.Error(), "7 records were written") {
		t.Errorf("error %v", err)
	}
	want := []string{"compare g1 7", "compare g2 2", "write g1 7"}
	if diff := cmp.Diff(want, b.calls); diff != "" {
		t.Error(diff)
	}
	res, err := archive.Import(t.Context(), in, b, opts)
	if c := res.Counts[reverie.RecordMemory]; err != nil || c != (reverie.RecordCount{New: 1, Known: 2}) || res.Refused != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	b.calls = nil
	if res, err = archive.Import(t.Context(), in, b, opts); err != nil || res.Counts[reverie.RecordGroup] != (reverie.RecordCount{Known: 2}) {
		t.Errorf("%+v, %v", res, err)
	}
	if diff := cmp.Diff([]string{"compare g1 7", "compare g2 2"}, b.calls); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"g1 m2", "g1 m2", "g1 m2"}, refused); diff != "" {
		t.Error(diff)
	}
}

// TestImportWritesNothing where it only looks, or refuses.
func TestImportWritesNothing(t *testing.T) {
	t.Parallel()
	whole := file(t, 2, sample()...)
	secret := file(t, 2, append(sample(), record("g2", reverie.RecordMemory, `{"memory_id":"m4","statement":"The wifi password is hunter2"}`))...)
	for _, c := range []struct {
		name, text string
		opts       archive.Options
		kind       error
		calls      int
	}{
		{"dry run", whole, archive.Options{DryRun: true}, nil, 2},
		{"strict", whole, archive.Options{Strict: true}, reverie.ErrInvalid, 0},
		{"a secret", secret, archive.Options{}, reverie.ErrInvalid, 0},
		{"a secret that is allowed", secret, archive.Options{DryRun: true, Secrets: true}, nil, 2},
		{"damaged", strings.Replace(whole, "Mia", "Lea", 1), archive.Options{}, reverie.ErrInvalid, 0},
		{"cut off", whole[:len(whole)-100], archive.Options{}, reverie.ErrInvalid, 0},
	} {
		b := &base{}
		_, err := archive.Import(t.Context(), strings.NewReader(c.text), b, c.opts)
		if !errors.Is(err, c.kind) || len(b.calls) != c.calls || b.writes > 0 {
			t.Errorf("%s: %v after %q", c.name, err, b.calls)
		}
	}
}

// TestImportIsBounded: however long a file is, little of it is held at once.
func TestImportIsBounded(t *testing.T) {
	t.Parallel()
	var long bytes.Buffer
	w := archive.NewWriter(&long, created, true)
	vector := make([]float32, 2048)
	vector[0] = 1
	err := errors.Join(w.Begin(1), w.Write(sample()[0]))
	for i := range 1200 {
		err = errors.Join(err, w.Write(record("g1", reverie.RecordRun, fmt.Sprintf(`{"run_id":"%d"}`, i))))
	}
	for i := range 300 {
		err = errors.Join(err, w.Write(record("g1", reverie.RecordMemory, fmt.Sprintf(`{"memory_id":"%d","statement":"Lin has cup %d"}`, i, i), vector...)))
	}
	if _, end := w.End(); err != nil || end != nil {
		t.Fatal(err, end)
	}
	b := &base{}
	res, err := archive.Import(t.Context(), bytes.NewReader(long.Bytes()), b, archive.Options{})
	if err != nil || res.Counts[reverie.RecordMemory].New != 300 || res.Counts[reverie.RecordRun].New != 1200 {
		t.Fatalf("%+v, %v", res.Counts, err)
	}
	if b.most > 500 || b.bytes > 3<<20 || long.Len() < 3<<20 {
		t.Errorf("%d records and %d bytes at once, of a file of %d", b.most, b.bytes, long.Len())
	}
}

// TestReadStops when its context ends, or whoever takes the records has enough.
func TestReadStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, _, err := archive.Read(ctx, strings.NewReader(file(t, 2, sample()...)), func(reverie.Record) error {
		if n++; n == 2 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || n != 2 {
		t.Errorf("%v after %d records", err, n)
	}
	if _, _, err := archive.Read(t.Context(), strings.NewReader(file(t, 2, sample()...)), func(reverie.Record) error { return io.ErrShortWrite }); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
}
