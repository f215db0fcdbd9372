package ingest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"reverie/internal/ingest"
	"reverie/internal/reverie"
)

// everything reads a source to its end: its records, and what is said of it.
func everything(t *testing.T, f ingest.Format, src ingest.Source) (records []ingest.Record, said []string) {
	t.Helper()
	var bad *ingest.Bad
	ended := false
	for r, err := range f.Read(t.Context(), src, ingest.ReadOptions{}) {
		switch {
		case ended:
			t.Fatal("more is told behind the last error")
		case err == nil:
			records = append(records, r)
			continue
		case !errors.As(err, &bad):
			ended = true
		case bad.Reason == "" || bad.Error() == "":
			t.Fatalf("a bad record says too little: %+v", bad)
		}
		said = append(said, err.Error())
	}
	return records, said
}

// readAnything holds a format to what each promises, whatever it is given: it comes to an
// end, tells the same of the same source, and what it tells can be stored, once: to import
// it again changes nothing.
func readAnything(t *testing.T, name string, src ingest.Source) {
	t.Helper()
	f, err := ingest.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	fresh := func() ingest.Source { return src }
	if src.Reader != nil {
		content, err := io.ReadAll(src.Reader)
		if err != nil {
			t.Fatal(err)
		}
		fresh = func() ingest.Source {
			s := src
			s.Reader = bytes.NewReader(content)
			return s
		}
	}
	records, said := everything(t, f, fresh())
	again, saidAgain := everything(t, f, fresh())
	if !reflect.DeepEqual(records, again) || !slices.Equal(said, saidAgain) {
		t.Fatalf("read twice, it tells %+v %q, and %+v %q", records, said, again, saidAgain)
	}
	s := &shelf{keep: true}
	first, second := importAll(t, s, f, fresh()), importAll(t, s, f, fresh())
	if second.New != 0 || second.Known != first.New+first.Known || second.Bad != first.Bad || first.Records != second.Records {
		t.Fatalf("imported twice: %+v, and then %+v", first.Counts, second.Counts)
	}
	if first.Records != first.New+first.Known+first.Bad {
		t.Fatalf("the counts do not add up: %+v, %d bad", first.Counts, first.Bad)
	}
	for _, m := range s.list {
		if again := m; again.Normalize() != nil || !reflect.DeepEqual(again, m) || !utf8.ValidString(m.ID+m.AuthorID+m.Author+m.Text+m.SessionID+m.ReplyTo) || strings.Contains(m.ID+m.Text, "\x00") {
			t.Fatalf("stored: %+v", m)
		}
	}
}

// importAll imports a source, every chat of it into one group.
func importAll(t *testing.T, s *shelf, f ingest.Format, src ingest.Source) ingest.Result {
	t.Helper()
	group := func(_ context.Context, _ string, _ ingest.Chat) (string, error) { return "g", nil }
	im := ingest.NewImporter(s, ingest.Options{Group: group, Now: func() time.Time { return time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC) }})
	_ = im.Read(t.Context(), src, f, ingest.ReadOptions{}) // what came before an error stands
	return im.Result()
}

// FuzzJSONL: besides what holds for each format, a message that was read reads the same
// when it is written plainly, and the order of lines says only which of two of one id
// counts.
func FuzzJSONL(f *testing.F) {
	f.Add(message("a")+"\n"+message("b")+"\n"+message("a"), uint64(1))
	f.Add("["+message("a")+",7,"+message("b")+"]", uint64(2))
	f.Add(`{"id":7,"author_id":9,"role":"tool","text":"\ud83d\ude00 好","sent_at":"2026-01-15T12:01:00.000000999Z","session_id":"s","reply_to":8}`+"\r\n\ufeff"+message("c"), uint64(3))
	f.Add(`{"id":"a","author":"x","text":"\ud83d",`+sent+`}`+"\n{\"id\":\"b\"\n\xff\n", uint64(4))
	jsonl := ingest.JSONL()
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		sure(t, "jsonl", file("x.jsonl", text))
		readAnything(t, "jsonl", file("x.jsonl", text))
		s := &shelf{keep: true}
		importAll(t, s, jsonl, file("x.jsonl", text))
		var lines []string
		for _, m := range s.list {
			line, err := json.Marshal(map[string]any{"id": m.ID, "author_id": m.AuthorID, "author": m.Author, "role": m.Role, "text": m.Text,
				"sent_at": m.SentAt.Format(time.RFC3339Nano), "session_id": m.SessionID, "reply_to": m.ReplyTo})
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(line))
		}
		r := rand.New(rand.NewPCG(seed, 0))
		r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		other := &shelf{keep: true}
		if res := importAll(t, other, jsonl, file("x.jsonl", strings.Join(lines, "\n"))); res.Bad > 0 {
			t.Fatalf("bad when written plainly: %v\n%s", res.BadBy, strings.Join(lines, "\n"))
		}
		byID := func(a, b reverie.Message) int { return strings.Compare(a.ID, b.ID) }
		slices.SortFunc(s.list, byID)
		slices.SortFunc(other.list, byID)
		if !reflect.DeepEqual(s.list, other.list) {
			t.Fatalf("%+v\nin another order %+v", s.list, other.list)
		}
	})
}

// FuzzOpen: whatever a file is, it is opened or refused; the files of an archive have
// names within it, each one of its own, and each can be read or says why not.
func FuzzOpen(f *testing.F) {
	for _, list := range [][]entry{{{"a/1.txt", "one"}, {"b.txt", "two"}}, {{"../out.txt", "x"}, {"/abs", "y"}, {"abs", "z"}}, {{"a", "x"}, {"a/b", "y"}, {"a", "again"}}} {
		f.Add(zipOf(f, list...))
		f.Add(tarOf(f, list...))
	}
	f.Add([]byte("\x1f\x8b\x08"))
	f.Add([]byte("plain\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		in, err := ingest.Open(t.Context(), write(t, "x", content), nil)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		defer in.Close()
		if (in.Files == nil) == (in.Reader == nil) {
			t.Fatal("it is neither a file nor an archive, or both")
		}
		if in.Reader != nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(in.Reader, 1<<20))
			return
		}
		seen := map[string]bool{}
		_ = fs.WalkDir(in.Files, ".", func(path string, d fs.DirEntry, err error) error {
			if !fs.ValidPath(path) || seen[path] {
				t.Fatalf("the name %q, seen before: %v", path, seen[path])
			}
			seen[path] = true
			if err != nil || d.IsDir() {
				return err
			}
			file, err := in.Files.Open(path)
			if err != nil {
				return nil
			}
			_, _ = io.Copy(io.Discard, io.LimitReader(file, 1<<20))
			return file.Close()
		})
		if _, err := fs.Stat(in.Files, "../x"); err == nil {
			t.Fatal("a file outside of the archive")
		}
	})
}

// FuzzEncodings: text is the same however it is written, where that can be told: as UTF-8
// with or without a mark, as UTF-16 with one, and from a stream as from a file.
func FuzzEncodings(f *testing.F) {
	f.Add("[20:01] <老赵> 周四晚上我来烧窑，记得带釉料。\n")
	f.Add("20:01 <Inès> déjà vu\r\nplain\n")
	f.Add("😀\ufeff\n")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\r") || packedText(text) {
			return
		}
		written := map[string]string{"UTF-8": text, "with a mark": "\ufeff" + text}
		for name, order := range map[string]unicode.Endianness{"little": unicode.LittleEndian, "big": unicode.BigEndian} {
			utf16, err := unicode.UTF16(order, unicode.UseBOM).NewEncoder().String(text)
			if err != nil {
				t.Fatal(err)
			}
			written[name] = utf16
		}
		for name, raw := range written {
			want := strings.TrimPrefix(text, "\ufeff")
			if name != "UTF-8" {
				want = text
			}
			stream, err := ingest.Open(t.Context(), "-", strings.NewReader(raw))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, err := io.ReadAll(stream.Reader)
			if err != nil || string(got) != want {
				t.Fatalf("%s: %q, %v, want %q", name, got, err, want)
			}
			if head := string(stream.Head); !strings.HasPrefix(want, head) && !strings.HasPrefix(head, want) {
				t.Fatalf("%s: the head is %q of %q", name, head, want)
			}
		}
		if gbk, err := simplifiedchinese.GB18030.NewEncoder().String(text); err == nil { // a guess, which may be wrong, and must be text
			if stream, err := ingest.Open(t.Context(), "-", strings.NewReader(gbk)); err == nil {
				if _, err := io.ReadAll(stream.Reader); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// packedText tells a text that begins as archives do.
func packedText(text string) bool {
	return slices.ContainsFunc([]string{"PK", "7z", "Rar!", "\x1f"}, func(sign string) bool { return strings.HasPrefix(text, sign) }) || len(text) > 250 && strings.Contains(text, "ustar")
}
