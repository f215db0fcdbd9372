package ingest_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"reverie/internal/ingest"

	"golang.org/x/sys/unix"
)

const waChat = "31/12/2025, 18:04 - Mira: hi\n31/12/2025, 18:05 - Jo: yo\n"

// entry is a file of an archive.
type entry struct{ name, text string }

func zipOf(t testing.TB, list ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	zw := zip.NewWriter(&b)
	for _, e := range list {
		w, err := zw.Create(e.name)
		check(t, err)
		_, err = io.WriteString(w, e.text)
		check(t, err)
	}
	check(t, zw.Close())
	return b.Bytes()
}

func tarOf(t testing.TB, list ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for _, e := range list {
		h := &tar.Header{Name: e.name, Size: int64(len(e.text)), Mode: 0o600}
		if link, ok := strings.CutPrefix(e.text, "-> "); ok {
			h.Typeflag, h.Linkname, h.Size, e.text = tar.TypeSymlink, link, 0, ""
		}
		check(t, tw.WriteHeader(h))
		_, err := io.WriteString(tw, e.text)
		check(t, err)
	}
	check(t, tw.Close())
	return b.Bytes()
}

// brought is what an import of a file brings: how many messages each chat has, the
// reasons of bad records, what is passed over, and why it ends early.
func brought(t *testing.T, path string) (chats map[string]int, bad, passedOver []string, err error) {
	t.Helper()
	in, err := ingest.Open(t.Context(), path, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	defer in.Close()
	im := ingest.NewImporter(nil, ingest.Options{OnBad: func(b *ingest.Bad) { bad = append(bad, b.Place+": "+b.Reason) },
		Group: func(_ context.Context, format string, c ingest.Chat) (string, error) { return format + " " + c.ID, nil }})
	_, passedOver, err = im.Input(t.Context(), in, ingest.Auto, ingest.ReadOptions{})
	chats = map[string]int{}
	for _, g := range im.Result().Groups {
		chats[g.GroupID] += g.Records
	}
	return chats, bad, passedOver, err
}

// TestHostileArchives: whatever is packed, and however broken it is, nothing of it is lost
// without a word, and nothing outside of it is read.
func TestHostileArchives(t *testing.T) {
	locked := zipOf(t, entry{"_chat.txt", waChat})
	for _, sign := range []string{"PK\x03\x04", "PK\x01\x02"} { // what the archive says of the file, in both places
		at := bytes.Index(locked, []byte(sign)) + map[string]int{"PK\x03\x04": 6, "PK\x01\x02": 8}[sign]
		locked[at] |= 1
	}
	overlapping := overlap(zipOf(t, entry{"_chat.txt", strings.Repeat(waChat, 100)}), 200)
	flipped := zipOf(t, entry{"_chat.txt", waChat})
	flipped[30+len("_chat.txt")] ^= 0xff
	long := strings.Repeat(waChat, 200)
	two := tarOf(t, entry{"a/_chat.txt", long}, entry{"b/_chat.txt", long})
	for name, c := range map[string]struct {
		content []byte
		chats   map[string]int
		bad     []string
		passed  []string
		err     string
	}{
		"x.zip of two of a name":      {content: zipOf(t, entry{"a.jsonl", message("1")}, entry{"a.jsonl", message("2")}), chats: map[string]int{"jsonl ": 2}},
		"x.zip of two chats":          {content: zipOf(t, entry{"_chat.txt", waChat}, entry{"_chat.txt", waChat}), chats: map[string]int{"whatsapp x.zip of two chats": 4}},
		"x.zip of a file in a file":   {content: zipOf(t, entry{"a", waChat}, entry{"a/_chat.txt", waChat}), chats: map[string]int{"whatsapp a": 4}},
		"x.zip of paths out":          {content: zipOf(t, entry{"../../_chat.txt", waChat}, entry{"/abs/_chat.txt", waChat}, entry{`a\b\_chat.txt`, waChat}), chats: map[string]int{"whatsapp x.zip of paths out": 2, "whatsapp abs": 2, "whatsapp b": 2}},
		"x.zip of nothing":            {content: zipOf(t), err: "not a chat export"},
		"x.zip of no export":          {content: zipOf(t, entry{"a.txt", "hello"}, entry{"b.jpg", "\xff\xd8"}), passed: []string{"a.txt", "b.jpg"}, err: "not a chat export"},
		"x.zip with a password":       {content: locked, err: "protected by a password"},
		"x.zip whose files overlap":   {content: overlapping, err: "overlap"},
		"x.zip that is broken":        {content: flipped, bad: []string{"_chat.txt: broken file"}, err: "not a chat export"},
		"x.zip cut off":               {content: flipped[:len(flipped)-9], err: "get the whole file"},
		"x.zip in a zip":              {content: zipOf(t, entry{"in.zip", string(locked)}), bad: []string{"in.zip: not readable"}, err: "not a chat export"},
		"x.tar with a link":           {content: tarOf(t, entry{"_chat.txt", "-> /etc/hostname"}, entry{"b/_chat.txt", waChat}), chats: map[string]int{"whatsapp b": 2}},
		"x.tar of two of a name":      {content: tarOf(t, entry{"a.jsonl", message("1")}, entry{"a.jsonl", message("2")}), chats: map[string]int{"jsonl ": 2}},
		"x.tar of paths out":          {content: tarOf(t, entry{"../../_chat.txt", waChat}), chats: map[string]int{"whatsapp x.tar of paths out": 2}},
		"x.tar cut in a file":         {content: two[:len(long)+2048], chats: map[string]int{"whatsapp a": 400, "whatsapp b": 34}, err: "behind its 2 files"},
		"x.tar cut in a head":         {content: two[:512+(len(long)+511)/512*512+100], chats: map[string]int{"whatsapp a": 400}, err: "behind its 1 files"},
		"x.json.gz cut off":           {content: zipped(t, discordFile(discordMessages(900)))[:2000], chats: map[string]int{"discord 2": -1}, err: "unexpected EOF"},
		"x.json of depth":             {content: []byte(discordFile(discordMessages(1) + `,{"id":"x","y":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + "}," + discordMessages(1))), chats: map[string]int{"discord 2": 1}, err: "exceeded max depth"},
		"x.json of depth without end": {content: []byte(strings.TrimSuffix(discordFile(discordMessages(1)+`,{"id":"x","y":`), `],"messageCount":1}`) + strings.Repeat("[", 9_000)), chats: map[string]int{"discord 2": 1}, err: "ends in the middle"},
		"x.txt of zeros":              {content: make([]byte, 1000), err: "not a chat export"},
	} {
		chats, bad, passed, err := brought(t, write(t, name, c.content))
		if n := chats["discord 2"]; c.chats["discord 2"] < 0 && n > 0 && n < 900 {
			chats["discord 2"] = -1 // some of them
		}
		if fmt.Sprint(chats) != fmt.Sprint(c.chats) || !slices.Equal(bad, c.bad) || !slices.Equal(passed, c.passed) ||
			(err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, bad %q, passed over %q, %v", name, chats, bad, passed, err)
		}
	}
}

// TestManyOfAName: an archive of one name over and over is imported as any other. By the square of their
// number, this takes longer than a test may.
func TestManyOfAName(t *testing.T) {
	list := make([]entry, 30_000)
	for i := range list {
		list[i] = entry{"a.png", "x"}
		if i%100 == 0 {
			list[i] = entry{"a.jsonl", message(strconv.Itoa(i))}
		}
	}
	chats, bad, passed, err := brought(t, write(t, "same.zip", zipOf(t, list...)))
	if fmt.Sprint(chats) != "map[jsonl :300]" || len(bad) > 0 || len(passed) != 29_700 || err != nil {
		t.Errorf("%v, bad %q, passed over %d, %v", chats, bad, len(passed), err)
	}
}

// TestMixedUnclear: a file of a folder that cannot be told apart is not passed over in silence.
func TestMixedUnclear(t *testing.T) {
	dir := packed(t, fstest.MapFS{"WhatsApp Chat with Jo.txt": {Data: []byte(waChat)}, "b.txt": {Data: []byte("\x89\xfe\xfd\xf0 \xa4\xfb\xf1")}})
	chats, bad, passed, err := brought(t, dir)
	if fmt.Sprint(chats) != "map[whatsapp Jo:2]" || !slices.Equal(bad, []string{"b.txt: not readable"}) || len(passed) > 0 || err != nil {
		t.Errorf("%v, bad %q, passed over %q, %v", chats, bad, passed, err)
	}
}

// overlap names the only file of an archive n times: as many files, of the same bytes.
func overlap(archive []byte, n int) []byte {
	at := bytes.Index(archive, []byte("PK\x01\x02"))
	end := bytes.Index(archive, []byte("PK\x05\x06"))
	directory, tail := bytes.Repeat(archive[at:end], n), bytes.Clone(archive[end:])
	binary.LittleEndian.PutUint16(tail[8:], uint16(n))
	binary.LittleEndian.PutUint16(tail[10:], uint16(n))
	binary.LittleEndian.PutUint32(tail[12:], uint32(len(directory)))
	return slices.Concat(archive[:at], directory, tail)
}

// TestPipesInAFolder: nothing waits for what a pipe or a link to one in a folder never says.
func TestPipesInAFolder(t *testing.T) {
	dir := t.TempDir()
	check(t, errors.Join(os.Mkdir(filepath.Join(dir, "b"), 0o700), os.WriteFile(filepath.Join(dir, "b", "_chat.txt"), []byte(waChat), 0o600)))
	for _, name := range []string{"messages.json", "users.json", "result.json", "channels.json", "_chat.txt", "a.jsonl", "b/message_1.json", "pipe"} {
		check(t, unix.Mkfifo(filepath.Join(dir, name), 0o600))
	}
	check(t, os.Symlink("pipe", filepath.Join(dir, "export.json")))
	chats, _, _, err := brought(t, dir)
	if fmt.Sprint(chats) != "map[whatsapp b:2]" || err != nil {
		t.Errorf("%v, %v", chats, err)
	}
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	check(t, errors.Join(err, w.Close()))
	return b.Bytes()
}

func discordMessages(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"id":"%d","type":"Default","timestamp":"2026-01-15T12:00:00Z","content":"tide %x","author":{"id":"7","name":"arlo"}}`, i+1, i*i*7919))
	}
	return strings.Join(list, ",")
}

// TestMixedFolder: a folder that holds an export in one format and others beside it brings
// all of them in; what was sent in one of them is named.
func TestMixedFolder(t *testing.T) {
	sent := strings.TrimSuffix(waChat, "\n") + "\n31/12/2025, 18:06 - Jo: old chat.json (file attached)\n"
	list := []entry{
		{"#lathe.log", "2026-01-15 10:11:12 <mira> hi\n"}, {"a.jpg", "x"}, {"discord/a.json", discordFile(discordMessages(3))}, {"lost.zip", "PK\x03\x04"}, {"notes.txt", "hello"},
		{"old.zip", string(zipOf(t, entry{"WhatsApp Chat with Jo.txt", waChat}))}, {"phone/_chat.txt", sent}, {"phone/media/a.txt", "hello"},
		{"phone/old chat.json", discordFile(discordMessages(1))}, {"phone/t.json", strings.Replace(discordFile(discordMessages(4)), `"id":"2"`, `"id":"5"`, 1)},
	}
	dir := fstest.MapFS{}
	for _, e := range list {
		dir[e.name] = &fstest.MapFile{Data: []byte(e.text)}
	}
	list = slices.DeleteFunc(list, func(e entry) bool { return path.Ext(e.name) == ".zip" }) // no archive in an archive
	want := map[string]int{"whatsapp phone": 3, "discord 2": 3, "discord 5": 4, "irc #lathe": 1}
	for _, from := range []string{packed(t, dir), write(t, "x.zip", zipOf(t, list...)), write(t, "x.tar", tarOf(t, list...))} {
		lost := []string(nil)
		if delete(want, "whatsapp Jo"); path.Ext(from) == "" {
			want["whatsapp Jo"], lost = 2, []string{"lost.zip: not readable"}
		}
		chats, bad, passed, err := brought(t, from)
		if fmt.Sprint(chats) != fmt.Sprint(want) || !slices.Equal(bad, lost) || !slices.Equal(passed, []string{"phone/old chat.json", "notes.txt", "phone/media/a.txt"}) || err != nil {
			t.Errorf("%s: %v, bad %q, passed over %q, %v", from, chats, bad, passed, err)
		}
	}
}

// TestHostileValues: what cannot be stored is told as bad, and the rest comes in.
func TestHostileValues(t *testing.T) {
	line := func(id, at, text string) string {
		return `{"id":"` + id + `","type":"Default","timestamp":"` + at + `","content":"` + text + `","author":{"id":"7","name":"a` + strings.Repeat("é", 400) + `"}}`
	}
	const noon = "2026-01-15T12:00:00Z"
	chats, bad, _, err := brought(t, write(t, "x.json", []byte(discordFile(strings.Join([]string{
		line("1", "0001-01-01T00:00:00+23:59", "x"), line("2", "9999-12-31T23:59:59-23:59", "x"), line("3", "-2026-01-15T12:00:00Z", "x"), line("4", "1969-12-31T23:59:59Z", "x"), line("5", "2026-02-30T12:00:00Z", "x"),
		line(strings.Repeat("9", 600), noon, "x"), line(`a\u0000b`, noon, "x"), line("8", noon, `NUL \u0000, half \ud800`), line("8", noon, "the same id"), line("9", noon, strings.Repeat("x", 1<<20+1)), line("10", noon, "\xff\xfe"),
	}, ",")))))
	want := []string{"messages 1: sent_at is missing or out of range", "messages 2: sent_at is missing or out of range", "messages 3: no time", "messages 4: sent_at is missing or out of range", "messages 5: no time",
		"messages 6: id is longer than 512 bytes", "messages 7: id holds a NUL or invalid UTF-8", "messages 10: text is longer than 1048576 bytes"}
	if err != nil || chats["discord 2"] != 3 || !slices.Equal(bad, want) {
		t.Errorf("%v, bad %q, %v", chats, bad, err)
	}
}
