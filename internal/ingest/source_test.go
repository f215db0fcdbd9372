package ingest_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	koreanEUC "golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"

	"reverie/internal/ingest"
	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

func write(t testing.TB, name string, text []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func open(t testing.TB, path string) *ingest.Input {
	t.Helper()
	in, err := ingest.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return in
}

// TestEncodings: text comes as UTF-8, whatever it was written in, from a file, a gz file,
// a stream and an archive alike.
func TestEncodings(t *testing.T) {
	chinese := strings.Repeat("[20:01] <老赵> 周四晚上我来烧窑，记得带釉料。\n", 30)
	korean := strings.Repeat("2025년 3월 4일 오후 8:01, 민수 : 목요일 저녁에 가마를 굽자. 유약 가져와, 하하.\n", 30)
	french := strings.Repeat("20:01 <Inès> déjà vu à la forêt, où l'été fût bref\n", 30)
	utf16 := func(e unicode.Endianness, b unicode.BOMPolicy) encoding.Encoding { return unicode.UTF16(e, b) }
	for name, c := range map[string]struct {
		text string
		in   encoding.Encoding
	}{
		"UTF-8":               {chinese, encoding.Nop},
		"UTF-8 with a mark":   {chinese, unicode.UTF8BOM},
		"UTF-16 LE":           {chinese, utf16(unicode.LittleEndian, unicode.ExpectBOM)},
		"UTF-16 BE":           {french, utf16(unicode.BigEndian, unicode.ExpectBOM)},
		"GB18030":             {chinese, simplifiedchinese.GB18030},
		"GB18030, long":       {strings.Repeat(chinese, 100), simplifiedchinese.GB18030},
		"GBK in JSON":         {`{"text":"` + strings.ReplaceAll(chinese, "\n", " ") + `"}`, simplifiedchinese.GBK},
		"EUC-KR":              {korean, koreanEUC.EUCKR},
		"Latin-1":             {french, charmap.ISO8859_1},
		"Windows":             {french + "“€ 5 …”\n", charmap.Windows1252},
		"plain":               {"plain\n", encoding.Nop},
		"nothing":             {"", encoding.Nop},
		"cut within a letter": {strings.Repeat("x", 64<<10-1) + "é", encoding.Nop},
	} {
		raw, err := c.in.NewEncoder().String(c.text)
		if err != nil {
			t.Fatal(err)
		}
		var gz, zipped bytes.Buffer
		gw, zw := gzip.NewWriter(&gz), zip.NewWriter(&zipped)
		entry, err := zw.Create("a/chat.txt")
		for _, w := range []io.Writer{gw, entry} {
			_, werr := io.WriteString(w, raw)
			err = errors.Join(err, werr)
		}
		if err := errors.Join(err, gw.Close(), zw.Close()); err != nil {
			t.Fatal(err)
		}
		stream, err := ingest.Open(t.Context(), "-", strings.NewReader(raw))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		file := open(t, write(t, "chat.txt", []byte(raw)))
		entryFile, err := open(t, write(t, "chat.zip", zipped.Bytes())).Files.Open("a/chat.txt")
		if err != nil {
			t.Fatal(err)
		}
		defer entryFile.Close()
		for way, r := range map[string]io.Reader{"stream": stream.Reader, "file": file.Reader, "gz": open(t, write(t, "chat.gz", gz.Bytes())).Reader, "zip": entryFile} {
			if got, err := io.ReadAll(r); err != nil || string(got) != c.text {
				t.Errorf("%s from a %s: %v, %d bytes %.60q, want %d bytes %.60q", name, way, err, len(got), got, len(c.text), c.text)
			}
		}
		if want := c.text[:min(len(c.text), ingest.HeadSize)]; !strings.HasPrefix(want, string(file.Head)) || len(file.Head) < min(len(want), 1000) {
			t.Errorf("%s: the head is %.60q", name, file.Head)
		}
	}
}

// TestUnreadable: what cannot be read says so, and what to do.
func TestUnreadable(t *testing.T) {
	big5, err := traditionalchinese.Big5.NewEncoder().String(strings.Repeat("週四晚上我來燒窯，記得帶釉料\n", 30))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ content, want string }{
		"Big5":           {big5, "iconv"},
		"7z":             {"7z\xbc\xaf\x27\x1c", "unpack it first"},
		"rar":            {"Rar!\x1a\x07", "unpack it first"},
		"a broken zip":   {"PK\x03\x04 and no more", "archive"},
		"a broken gz":    {"\x1f\x8b\x08", "gz"},
		"a zip's stream": {"-PK\x03\x04", "save it"},
	} {
		var err error
		if stream, ok := strings.CutPrefix(c.content, "-"); ok {
			_, err = ingest.Open(t.Context(), "-", strings.NewReader(stream))
		} else {
			_, err = ingest.Open(t.Context(), write(t, "x", []byte(c.content)), nil)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ingest.Open(t.Context(), "/no/such/file", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	// A few bad bytes are not another encoding: they stay, for the format to see.
	text := strings.Repeat("déjà vu\n", 50) + "caf\xe9\n"
	if got, err := io.ReadAll(open(t, write(t, "x", []byte(text))).Reader); err != nil || string(got) != text {
		t.Errorf("%v, %.40q", err, got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	in, err := ingest.Open(ctx, write(t, "x", bytes.Repeat([]byte("line\n"), 1<<20)), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cancel()
	if _, err := io.Copy(io.Discard, in.Reader); !errors.Is(err, context.Canceled) {
		t.Errorf("read on after the end: %v", err)
	}
}

// TestArchives: a folder, a zip and a tar are the same files, in any order of opening; an
// archive cannot reach out of itself.
func TestArchives(t *testing.T) {
	files := fstest.MapFS{"a/1.txt": {Data: []byte("one")}, "a/2.txt": {Data: []byte("two")}, "b.txt": {Data: []byte("three")}}
	for path, want := range map[string][]string{packed(t, files): {"three", "one", "two", "one"}} {
		for _, way := range append(ways(t, path), tarred(t, path)) {
			in := open(t, way)
			if err := fstest.TestFS(in.Files, "a/1.txt", "a/2.txt", "b.txt"); err != nil {
				t.Errorf("%s: %v", way, err)
			}
			first, err := in.Files.Open("a/2.txt") // and left open beside the others
			if err != nil {
				t.Fatal(err)
			}
			for i, name := range []string{"b.txt", "a/1.txt", "a/2.txt", "a/1.txt"} {
				if got, err := fs.ReadFile(in.Files, name); err != nil || string(got) != want[i] {
					t.Errorf("%s: %s is %q, %v", way, name, got, err)
				}
			}
			if got, err := io.ReadAll(first); err != nil || string(got) != "two" {
				t.Errorf("%s: the first is %q, %v", way, got, err)
			}
			check(t, first.Close())
			if in.BytesRead() == 0 || in.Size == 0 {
				t.Errorf("%s: read %d of %d bytes", way, in.BytesRead(), in.Size)
			}
		}
	}
	var z bytes.Buffer
	zw := zip.NewWriter(&z)
	var tb bytes.Buffer
	tw := tar.NewWriter(&tb)
	gbk, err := simplifiedchinese.GBK.NewEncoder().String("与老赵的聊天.txt")
	check(t, err)
	for _, name := range []string{"../out.txt", "/abs.txt", gbk, "in.txt"} {
		w, err := zw.CreateHeader(&zip.FileHeader{Name: name, NonUTF8: true})
		check(t, err)
		_, err = io.WriteString(w, "text")
		check(t, errors.Join(err, tw.WriteHeader(&tar.Header{Name: name, Size: 4, Mode: 0o600, Format: tar.FormatGNU})))
		_, err = io.WriteString(tw, "text")
		check(t, err)
	}
	check(t, errors.Join(zw.Close(), tw.Close()))
	for _, path := range []string{write(t, "x.zip", z.Bytes()), write(t, "x.tar", tb.Bytes())} {
		in := open(t, path)
		var names []string
		check(t, fs.WalkDir(in.Files, ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				names = append(names, name)
			}
			return err
		}))
		if !slices.Contains(names, "in.txt") || !slices.Contains(names, "与老赵的聊天.txt") || slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "..") }) {
			t.Errorf("%s holds %q", path, names)
		}
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// packed writes files into a folder.
func packed(t testing.TB, files fs.FS) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "files")
	check(t, os.CopyFS(dir, files))
	return dir
}

// tarred is a folder as a tar file that is not compressed.
func tarred(t testing.TB, dir string) string {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	check(t, errors.Join(tw.AddFS(os.DirFS(dir)), tw.Close()))
	return write(t, "export.tar", b.Bytes())
}

// TestFolderOfExports: a folder that is no export as a whole is gone through, archives in
// it too; what is none is passed over, and one that fails does not stop the others.
func TestFolderOfExports(t *testing.T) {
	var z bytes.Buffer
	zw := zip.NewWriter(&z)
	w, err := zw.Create("deep/chat.jsonl")
	check(t, err)
	_, err = io.WriteString(w, message("zipped"))
	check(t, errors.Join(err, zw.Close()))
	dir := packed(t, fstest.MapFS{
		"1.jsonl": {Data: []byte(message("a") + "\n" + message("b"))}, "2.jsonl": {Data: []byte(message("c") + "\nbad\n" + message("d"))},
		"3.zip": {Data: z.Bytes()}, "photo.jpg": {Data: []byte("\xff\xd8\xff\xe0\x00\x10JFIF")}, "__MACOSX/._1.jsonl": {Data: []byte(message("x"))}, "empty.txt": {},
	})
	for format, passed := range map[string][]string{ingest.Auto: {"empty.txt", "photo.jpg"}, "jsonl": {"empty.txt", "photo.jpg"}} {
		s := &shelf{keep: true}
		im := ingest.NewImporter(s, ingest.Options{Group: func(context.Context, string, ingest.Chat) (string, error) { return "g", nil }})
		formats, passedOver, err := im.Input(t.Context(), open(t, dir), format, ingest.ReadOptions{})
		var ids []string
		for _, m := range s.list {
			ids = append(ids, m.ID)
		}
		if err != nil || !slices.Equal(ids, []string{"a", "b", "c", "d", "zipped"}) || !slices.Equal(passedOver, passed) || len(formats) != 3 || im.Result().Bad != 1 {
			t.Errorf("%s: stored %q of %q, passed over %q, %+v, %v", format, ids, formats, passedOver, im.Result(), err)
		}
	}
	im := ingest.NewImporter(&shelf{}, ingest.Options{})
	if _, _, err := im.Input(t.Context(), open(t, packed(t, fstest.MapFS{"a.txt": {Data: []byte("hello")}})), ingest.Auto, ingest.ReadOptions{}); !errors.Is(err, ingest.ErrUnknown) {
		t.Errorf("nothing known: %v", err)
	}
	if _, err := ingest.Named("teletext"); !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), "jsonl") {
		t.Errorf("%v", err)
	}
}

// chatFormat tells n messages of chats in turn.
func chatFormat(chats, n int) ingest.Format {
	return ingest.Format{Name: "test", Tell: func(t *export.Teller, _ ingest.Source) error {
		for i := range n {
			c := ingest.Chat{ID: fmt.Sprint(i % chats), Name: fmt.Sprint("Chat ", i%chats)}
			err := t.Tell(ingest.Record{Chat: c, Place: fmt.Sprint("record ", i), Message: reverie.Message{ID: fmt.Sprint(i), Author: "Lin", Text: "hi\x00\xff", SentAt: noon}})
			if err != nil {
				return err
			}
		}
		return nil
	}}
}

// TestChatsOfLogs: to stop at the second chat stops whoever tells the chats.
func TestChatsOfLogs(t *testing.T) {
	log := []byte("2026-01-15 10:11:12 <mira> hi\n2026-01-15 10:11:13 <jo> yo\n")
	for _, auto := range []string{ingest.Auto, "irc"} {
		dir := packed(t, fstest.MapFS{"a/#lathe.log": {Data: log}, "b/#pump.log": {Data: log}, "c/#kiln.log": {Data: log}})
		chats, err := ingest.Chats(t.Context(), open(t, dir), auto, ingest.ReadOptions{}, 1)
		if err != nil || len(chats) != 2 {
			t.Errorf("%v, %v", chats, err)
		}
	}
}
