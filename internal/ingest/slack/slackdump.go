package slack

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"reverie/internal/ingest/export"
)

// Dump describes slackdump's files: its dumps, one JSON file per conversation, and its archives of recorded chunks,
// JSON Lines in .json.gz or .jsonl.gz.
var Dump = export.Format{
	Name:   "slackdump",
	Title:  "slackdump: dump or archive of chunks, but not SQLite",
	Signs:  dumpSigns,
	Folder: knowsDump,
	Tell: func(t *export.Teller, src export.Source) error {
		return (&dumpReader{reader: newReader(t), chats: map[string]export.Chat{}}).tell(src)
	},
}

var (
	dumped = export.Sign{Sure: 95, Paths: "channel_id name messages[].ts"}
	chunks = export.Sign{Sure: 95, Paths: "t ts id m[].ts"}
	// beside are the signs of chunks without messages.
	beside    = []export.Sign{{Sure: 90, Paths: "t ts u[].id"}, {Sure: 90, Paths: "t ts ch[].id"}, {Sure: 90, Paths: "t ts ci.id"}}
	dumpSigns = append([]export.Sign{dumped, chunks}, beside...)
)

// conversations finds the files of an archive or of dumps; those with users come first.
func conversations(files fs.FS) []string {
	list := export.KnownFiles(files, []string{".json", ".json.gz", ".jsonl.gz", ".jsonl"}, func(head []byte) bool {
		plain, _ := io.ReadAll(unzipped(bytes.NewReader(head))) // it is cut off
		return export.Surest(plain, dumpSigns...) > 0
	})
	rank := map[string]int{"users.json.gz": -2, "channels.json.gz": -1}
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(rank[path.Base(a)], rank[path.Base(b)]) })
	return list
}

// knowsDump accepts a folder as a whole if its files depend on each other for names.
func knowsDump(files fs.FS) int {
	for _, name := range conversations(files) {
		_, err := fs.Stat(files, path.Join(path.Dir(name), "users.json"))
		if err == nil || path.Ext(name) == ".gz" {
			return 92
		}
	}
	return 0
}

// unzipped returns the content of a file, compressed or not.
func unzipped(r io.Reader) io.Reader {
	in := bufio.NewReader(r)
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		if z, err := gzip.NewReader(in); err == nil {
			return z
		}
	}
	return in
}

func (r *dumpReader) tell(src export.Source) error {
	if src.Files == nil {
		return r.file(src.Head, src.Reader)
	}
	for _, name := range conversations(src.Files) {
		// Dumps may have a separate file with the list of users.
		_ = export.EachPart(src.Files, path.Join(path.Dir(name), "users.json"), r.user, "[]")
		err := r.File(src.Files, name, func(f io.Reader) error {
			in := bufio.NewReaderSize(unzipped(f), export.HeadSize)
			head, _ := in.Peek(export.HeadSize) // an error will occur again when it is read
			return r.file(head, in)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

type dumpReader struct {
	*reader
	chats map[string]export.Chat
}

func (r *dumpReader) file(head []byte, in io.Reader) error {
	if export.Surest(head, dumped) > 0 {
		return r.dump(export.JSONParts(in, "channel_id", "name", "messages[]"))
	}
	return r.Each(export.JSONLines(in), r.chunk)
}

func (r *dumpReader) named(id string) export.Chat {
	if c, known := r.chats[id]; known {
		return c
	}
	return export.Chat{ID: id, Name: id}
}

// dump passes on a conversation in one document.
func (r *dumpReader) dump(parts export.Parts) error {
	var id, name string
	return r.Each(parts, func(part export.Part) error {
		switch part.Pattern {
		case "channel_id":
			id = export.TextOf(part.Value)
			return nil
		case "name":
			name = export.TextOf(part.Value)
			return nil
		}
		if id == "" {
			return r.NoChat(part.Place, "channel_id")
		}
		return r.message(export.Chat{ID: id, Name: export.Shortened(cmp.Or(name, r.named(id).Name))}, part)
	})
}

// message passes on a message, and the replies that a dump nests in it.
func (r *dumpReader) message(chat export.Chat, part export.Part) error {
	err := r.SkipBad(part.Place, r.record(chat, part))
	if err != nil {
		return err
	}
	answers := export.As[[]json.RawMessage](export.JSONFieldsOf(part.Value)["slackdump_thread_replies"])
	return r.all(chat, part.Place+", answers", answers)
}

func (r *dumpReader) all(chat export.Chat, within string, messages []json.RawMessage) error {
	for i, raw := range messages {
		part := export.Part{Place: fmt.Sprintf("%s %d", within, i+1), Value: raw}
		if err := r.SkipBad(part.Place, r.record(chat, part)); err != nil {
			return err
		}
	}
	return nil
}

// chunk handles one recorded answer of Slack's API: messages of a channel or thread, users, channels.
func (r *dumpReader) chunk(part export.Part) error {
	var c struct {
		Type     export.Text       `json:"t"`
		Channel  export.Text       `json:"id"`
		Info     json.RawMessage   `json:"ci"`
		Messages []json.RawMessage `json:"m"`
		Users    []json.RawMessage `json:"u"`
		Channels []json.RawMessage `json:"ch"`
	}
	if err := part.Decode(&c, "no chunk"); err != nil {
		return err
	}
	if c.Type == "" {
		return export.Missing("type", "t")
	}
	for _, u := range c.Users {
		r.user(export.Part{Value: u})
	}
	if c.Info != nil {
		c.Channels = append(c.Channels, c.Info)
	}
	for _, raw := range c.Channels {
		if chat, _ := r.reader.chat(export.Part{Value: raw}); chat.ID != "" && len(r.chats) < export.MaxNames {
			r.chats[chat.ID] = chat
		}
	}
	const messages, thread = "0", "1"
	if len(c.Messages) == 0 || c.Type != messages && c.Type != thread {
		return nil
	}
	chat := r.named(string(c.Channel))
	if chat.ID == "" {
		return export.Missing("chat", "id")
	}
	return r.all(chat, part.Place+", messages", c.Messages)
}
