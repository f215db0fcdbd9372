// Package qqchat reads what QQChatExporter writes: one JSON file a chat, or a folder or
// zip with a manifest and chunks of JSON Lines; and the text that QQ's own client writes,
// see [qqText]. Ids of messages and of people are QQ's own. A file does not always say
// which chat it is: then its name may, as the tool gave it (group_660066_…), and else the
// chat's name stands for it.
package qqchat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format is what the package reads.
var Format = export.Format{Name: "qq",
	Title: "QQChatExporter, JSON (one file, or a folder or zip of chunks); text of QQ itself", Knows: knows, Read: read}

func knows(src export.Source) int {
	if src.Files != nil {
		if len(manifests(src.Files)) > 0 {
			return 90
		}
		return 0
	}
	if knowsText(src.Head) {
		return 90
	}
	return knowsHead(src.Head)
}

// knowsHead tells a file with a chat in it, a manifest, and a chunk by itself.
func knowsHead(head []byte) int {
	var made export.Text
	seen := map[string]bool{}
	for part, err := range export.JSONParts(bytes.NewReader(head), "metadata.name", "metadata.exportTime",
		"metadata.version", "chatInfo", "chunked", "chunkInfo", "statistics",
		"sender.uid", "content.text", "content.elements", "recalled", "isRecalled", "messages") {
		if err != nil { // the head ends in the middle
			break
		}
		seen[strings.Split(part.Pattern, ".")[0]], seen[part.Pattern] = true, true
		if part.Pattern == "metadata.name" {
			_ = json.Unmarshal(part.Value, &made) // of another type it is none of ours
		}
	}
	switch {
	case strings.Contains(string(made), "QQChatExporter"):
		return 95
	case seen["chatInfo"] && (seen["statistics"] || seen["chunked"]) && (made != "" || seen["metadata"]):
		return 80
	case seen["sender.uid"] && (seen["content.text"] || seen["content.elements"]) &&
		(seen["recalled"] || seen["isRecalled"]):
		return 70
	}
	return 0
}

// manifests finds the manifests of a folder or archive.
func manifests(files fs.FS) []string {
	return export.KnownFiles(files, []string{"manifest.json"}, func(head []byte) bool { return knowsHead(head) >= 80 })
}

func read(ctx context.Context, src export.Source, opts export.ReadOptions) iter.Seq2[export.Record, error] {
	return func(yield func(export.Record, error) bool) {
		q := &reader{ctx: ctx, opts: opts, yield: yield, name: src.Name, again: src.Again}
		if src.Files == nil && knowsText(src.Head) {
			if err := (&qqText{ctx: ctx, opts: opts, yield: yield}).file(src.Reader); err != nil {
				yield(export.Record{}, err)
			}
			return
		}
		if src.Files == nil {
			_ = q.file(src.Reader, src.Head)
			return
		}
		for _, name := range manifests(src.Files) {
			q = &reader{ctx: ctx, opts: opts, yield: yield, name: path.Base(path.Dir(path.Join(src.Name, name)))}
			if !q.folder(src.Files, name) {
				return
			}
		}
	}
}

// reader reads one chat.
type reader struct {
	ctx   context.Context
	opts  export.ReadOptions
	yield func(export.Record, error) bool
	name  string // of the file or folder
	again func() (io.ReadCloser, error)
	chat  export.Chat
	known bool // which chat it is
	ids   export.Ordinals
}

// file tells the messages of a single file, and whether anybody listens on.
func (q *reader) file(r io.Reader, head []byte) bool {
	if knowsHead(head) == 70 { // a chunk by itself
		q.known = true
		return q.parts("", export.JSONLines(r))
	}
	return q.parts("", export.JSONParts(r, "chatInfo", "messages[]", "chunks[].chatInfo", "chunks[].messages[]"))
}

// parts tells the messages among parts of a file.
func (q *reader) parts(file string, parts iter.Seq2[export.JSONPart, error]) bool {
	for part, err := range parts {
		if err == nil {
			err = q.ctx.Err()
		}
		if file != "" {
			part.Place = file + ", " + part.Place
		}
		var r export.Record
		var bad *export.Bad
		switch {
		case errors.As(err, &bad) && file != "":
			err = &export.Bad{Place: file + ", " + bad.Place, Reason: bad.Reason, Err: bad.Err}
		case bad != nil: // one that cannot be read
		case err != nil && file != "" && q.ctx.Err() == nil: // the other files can be read
			err = &export.Bad{Place: file, Reason: "broken file", Err: err}
		case err != nil:
			q.yield(export.Record{}, err)
			return false
		case strings.HasSuffix(part.Pattern, "chatInfo"):
			q.info(part.Value)
			continue
		default:
			if err = q.begin(); err != nil {
				q.yield(export.Record{}, err)
				return false
			}
			if !q.opts.Wants(q.chat) {
				return true
			}
			r, err = q.record(part)
		}
		if !q.yield(r, err) {
			return false
		}
	}
	return true
}

// named is a name of a file or folder as the tool gives it: whose chat, and when it was
// exported.
var named = text.NewPattern(`(?:^|_)(\d{5,12}|u_[A-Za-z0-9_-]{10,40}?)_\d{8}_\d{6}`)

// info takes down which chat it is.
func (q *reader) info(value json.RawMessage) {
	var c struct {
		Name    export.Text `json:"name"`
		Type    export.Text `json:"type"`
		PeerUin export.Text `json:"peerUin"`
		PeerUID export.Text `json:"peerUid"`
		Group   export.Text `json:"groupCode"`
	}
	if q.known || json.Unmarshal(value, &c) != nil {
		return
	}
	if c.PeerUin == "0" {
		c.PeerUin = ""
	}
	id := cmp.Or(c.Group, c.PeerUin, c.PeerUID)
	if found := named.FindStringSubmatch(path.Base(strings.ReplaceAll(q.name, `\`, "/"))); id == "" && found != nil {
		id = export.Text(found[1])
	}
	if id = cmp.Or(id, c.Name); id != "" && c.Type != "group" && c.Type != "" { // numbers of groups and of people overlap
		id = c.Type + "-" + id
	}
	q.chat, q.known = export.Chat{ID: string(id), Name: string(cmp.Or(c.Name, id))}, true
}

// begin makes sure, before the first message, that it is known which chat it is of.
func (q *reader) begin() error {
	if q.known {
		return nil
	}
	if q.again == nil {
		return fmt.Errorf("which chat it is (chatInfo) must stand in front of the messages, for a stream is read once; "+
			"save it, and name the file: %w", reverie.ErrInvalid)
	}
	f, err := q.again()
	if err != nil {
		return err
	}
	defer f.Close()
	for part, err := range export.JSONParts(f, "chatInfo") {
		if err != nil { // the messages before that are read all the same
			break
		}
		q.info(part.Value)
	}
	q.known = true // or else nothing says it
	return q.ctx.Err()
}

// qqManifest lists the chunks of a chat.
type qqManifest struct {
	Info    json.RawMessage `json:"chatInfo"`
	Chunked struct {
		Dir    string `json:"chunksDir"`
		Chunks []struct {
			Path string `json:"relativePath"`
			File string `json:"file"`
			Name string `json:"fileName"`
		} `json:"chunks"`
	} `json:"chunked"`
}

// folder tells the messages of a manifest's chunks, and whether anybody listens on. One
// that is not there is told as a [*Bad].
func (q *reader) folder(files fs.FS, manifest string) bool {
	var m qqManifest
	err := export.EachPart(files, manifest, func(part export.JSONPart) {
		switch part.Pattern {
		case "chatInfo":
			m.Info = part.Value
		default:
			_ = json.Unmarshal(part.Value, &m.Chunked) // else its files are found by their names
		}
	}, "chatInfo", "chunked")
	if err != nil {
		q.yield(export.Record{}, err)
		return false
	}
	q.info(m.Info)
	q.known = true
	for _, name := range m.chunks(files, path.Dir(manifest)) {
		f, err := files.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s names it, and it is not there; export the chat again: %w", manifest, fs.ErrNotExist)
		}
		if err != nil {
			if !q.yield(export.Record{}, &export.Bad{Place: name, Reason: "no chunk", Err: err}) {
				return false
			}
			continue
		}
		more := q.parts(name, export.JSONLines(f))
		if _ = f.Close(); !more { // it was only read
			return false
		}
	}
	return true
}

// chunks are the paths of the chunks, in order. A path that leads out of the folder names
// nothing.
func (m qqManifest) chunks(files fs.FS, root string) (names []string) {
	dir := cmp.Or(m.Chunked.Dir, "chunks")
	for _, c := range m.Chunked.Chunks {
		name := cmp.Or(c.Path, c.File)
		if name == "" && c.Name != "" {
			name = path.Join(dir, c.Name)
		}
		full := path.Join(root, strings.ReplaceAll(name, `\`, "/"))
		if name != "" && fs.ValidPath(full) && strings.HasPrefix(full, strings.TrimPrefix(root+"/", "./")) {
			names = append(names, full)
		}
	}
	if len(names) == 0 {
		names, _ = fs.Glob(files, path.Join(root, "chunks",
			"*.jsonl")) // the pattern is sound but for odd folders, which have none
	}
	return names
}
