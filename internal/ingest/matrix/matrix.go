// Package matrix reads what Element writes under "Export chat" as JSON, and events as a
// server hands them out: one a line, an array, or the answer to /messages or /sync. Ids
// are those of the events and rooms. A message that was edited or taken back soon after
// it was sent is told as it was in the end, see [export.Hold].
package matrix

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
	"strconv"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format is what the package reads.
var Format = export.Format{
	Name:  "matrix",
	Title: "Matrix: Element's export as JSON (or the zip with it), or events of a room",
	Knows: knows,
	Read:  read,
}

var (
	matrixExport = text.NewPattern(`"(room_name|export_date|room_creator)"\s*:`)
	list         = text.NewPattern(`"(messages|chunk|events)"\s*:\s*\[`)
	eventID      = text.NewPattern(`"event_id"\s*:\s*"`)
	matrixTime   = text.NewPattern(`"origin_server_ts"\s*:\s*\d`)
	sender       = text.NewPattern(`"sender"\s*:\s*"@`)
	roomID       = text.NewPattern(`"room_id"\s*:\s*"(![^"\\]+)"`)
	noneYet      = text.NewPattern(`"messages"\s*:\s*\[\s*\]`)
)

func knows(src export.Source) int {
	head := src.Head
	if src.Files != nil {
		head = export.HeadOf(src.Files, file(src.Files))
	}
	head = bytes.TrimSpace(head)
	events := eventID.Match(head) && matrixTime.Match(head) && sender.Match(head)
	switch {
	case !bytes.HasPrefix(head, []byte("{")) && !bytes.HasPrefix(head, []byte("[")):
		return 0
	case matrixExport.Match(head) && list.Match(head) && (events || noneYet.Match(head)):
		return 95
	case events:
		return 90
	}
	return 0
}

// file is the export within an archive of Element's, which has the attachments
// beside. With other documents beside it, it is no such archive.
func file(files fs.FS) string {
	var found []string
	for _, pattern := range []string{"*.json", "*/*.json"} {
		all, _ := fs.Glob(files, pattern) // the pattern is sound
		if found = append(found, all...); len(found) > 0 {
			break
		}
	}
	if len(found) == 1 && path.Base(found[0]) == "export.json" {
		return found[0]
	}
	return ""
}

func read(ctx context.Context, src export.Source, opts export.ReadOptions) iter.Seq2[export.Record, error] {
	return func(yield func(export.Record, error) bool) {
		in, head := src.Reader, src.Head
		if src.Files != nil {
			name := file(src.Files)
			f, err := src.Files.Open(name)
			if err != nil {
				yield(export.Record{}, fmt.Errorf("open %s: %w", name, err))
				return
			}
			defer f.Close()
			in, head = f, export.HeadOf(src.Files, name)
		}
		m := reader{names: map[string]string{}, rooms: map[string]string{}}
		if found := roomID.FindSubmatch(head); found != nil {
			m.room = string(found[1])
		}
		export.TellHeld(ctx, opts, parts(in, head), yield, m.take)
	}
}

// parts tells the events, and the room's name where it stands outside of them.
func parts(in io.Reader, head []byte) iter.Seq2[export.JSONPart, error] {
	head = bytes.TrimSpace(head)
	if bytes.HasPrefix(head, []byte("[")) {
		return export.JSONParts(in, "[]")
	}
	first, _, _ := bytes.Cut(head, []byte("\n"))
	if line := export.JSONFieldsOf(first); line.Str("event_id") != "" || line.Fields("source").Str("event_id") != "" {
		return export.JSONLines(in)
	}
	for _, err := range export.JSONParts(bytes.NewReader(head), "event_id") { // a document an event
		if err == nil {
			return export.JSONDocuments(in)
		}
	}
	return export.JSONParts(in, "room_name", "messages[]", "chunk[]", "events[]", "timeline[]", "timeline.events[]",
		"events_before[]", "event", "events_after[]",
		"rooms.join.*.timeline.events[]", "rooms.leave.*.timeline.events[]")
}

type reader struct {
	room  string            // of events that do not say theirs
	named string            // the room, by the export
	names map[string]string // of people, by their ids
	rooms map[string]string // names of rooms, by their ids
}

// matrixEvent is one event.
type matrixEvent struct {
	Type     string            `json:"type"`
	ID       string            `json:"event_id"`
	Room     string            `json:"room_id"`
	Sender   string            `json:"sender"`
	User     string            `json:"user_id"`          // the same, in what older clients have decrypted
	Time     json.Number       `json:"origin_server_ts"` // in milliseconds
	StateKey string            `json:"state_key"`
	Redacts  string            `json:"redacts"`
	Content  export.JSONFields `json:"content"`
	Unsigned export.JSONFields `json:"unsigned"`

	at int64
}

// take reads one part of the document and gives what it says to the hold.
func (m *reader) take(h *export.Hold, part export.JSONPart) error {
	if part.Pattern == "room_name" {
		_ = json.Unmarshal(part.Value, &m.named) // of another type it is no name
		return nil
	}
	bad := func(reason string, err error) error { return &export.Bad{Place: part.Place, Reason: reason, Err: err} }
	var e matrixEvent
	value, room := unwrapped(part.Value)
	if err := json.Unmarshal(value, &e); err != nil {
		return bad("no event", export.Readable(err))
	}
	e.Room = cmp.Or(e.Room, room)
	e.Sender = cmp.Or(e.Sender, e.User)
	millis, err := strconv.ParseInt(string(e.Time), 10, 64)
	if f, ferr := e.Time.Float64(); err != nil && ferr == nil && f >= 0 &&
		f <= export.LastUnix*1000 { // as programs write it that know no integers
		millis, err = int64(f), nil
	}
	switch {
	case e.ID == "":
		return bad("no id", fmt.Errorf("event_id is missing: %w", reverie.ErrInvalid))
	case err != nil || millis < 0 || millis > export.LastUnix*1000:
		return bad("no time", fmt.Errorf("origin_server_ts %q is no time in milliseconds since 1970: %w",
			text.Excerpt(string(e.Time), 40), reverie.ErrInvalid))
	case e.Sender == "":
		return bad("no author", fmt.Errorf("sender is missing: %w", reverie.ErrInvalid))
	}
	chat := export.Chat{ID: cmp.Or(e.Room, m.room, m.named)}
	if len(part.Keys) > 0 {
		chat.ID = part.Keys[0]
	}
	if chat.ID == "" {
		return bad("no room", fmt.Errorf("room_id is missing: %w", reverie.ErrInvalid))
	}
	m.learn(e, chat.ID)
	chat.Name = cmp.Or(m.named, m.rooms[chat.ID], chat.ID)
	e.at = millis
	r := export.HeldRecord{Record: export.Record{Chat: chat, Place: part.Place}}
	r.Message = reverie.Message{ID: e.ID, AuthorID: e.Sender, Author: m.name(e.Sender), Role: reverie.RoleUser,
		SentAt: time.UnixMilli(millis).UTC()}
	c, err := m.read(e, &r)
	if err != nil {
		return bad("not decrypted", err)
	}
	return h.Add(r, c)
}

// unwrapped takes an event out of what clients of the command line wrap around it,
// with the room that they name beside.
func unwrapped(raw json.RawMessage) (event json.RawMessage, room string) {
	if !bytes.Contains(raw, []byte(`"source"`)) {
		return raw, ""
	}
	outer := export.JSONFieldsOf(raw)
	if outer.Fields("source").Str("event_id") == "" || len(outer["content"]) > 0 {
		return raw, ""
	}
	return outer["source"], cmp.Or(outer.Fields("room").Str("room_id"), outer.Str("room_id"),
		outer.Str("room_display_name"))
}

// learn remembers names.
func (m *reader) learn(e matrixEvent, room string) {
	switch {
	case e.Type == "m.room.name" && len(m.rooms) < export.MaxNames:
		m.rooms[room] = export.Shortened(e.Content.Str("name"))
	case e.Type == "m.room.member" && e.Content.Str("membership") == "join" && e.Content.Str("displayname") != "" &&
		len(m.names) < export.MaxNames:
		m.names[cmp.Or(e.StateKey, e.Sender)] = export.Shortened(e.Content.Str("displayname"))
	}
}

var errNotDecrypted = errors.New("the event is encrypted; export it where its keys are")

// read reads what an event says into its record, and what it changes of another one.
func (m *reader) read(e matrixEvent, r *export.HeldRecord) (export.Change, error) {
	relates := e.Content.Fields("m.relates_to")
	target := relates.Str("event_id")
	switch {
	case e.Type == "m.room.redaction":
		r.Event = true
		return export.Change{ChangeTarget: export.ChangeTarget{Kind: export.ChangeGone,
			ID: cmp.Or(e.Redacts, e.Content.Str("redacts"))}, At: e.at}, nil
	case len(e.Content) == 0 || len(e.Unsigned.Fields("redacted_because")) > 0:
		r.Event = true
		return export.Change{}, nil
	case e.Type == "m.room.encrypted" || e.Content.Str("msgtype") == "m.bad.encrypted":
		return export.Change{}, errNotDecrypted
	case !said[e.Type]:
		r.Event, r.Message.Text = true, m.happened(e)
		return export.Change{}, nil
	case relates.Str("rel_type") == "m.replace" && target != "":
		edited := r.Record
		m.say(e.Content.Fields("m.new_content"), &edited)
		r.Event = true
		return export.Change{
			ChangeTarget: export.ChangeTarget{Kind: export.ChangeEdit, ID: target, By: e.Sender},
			Text:         edited.Message.Text,
			At:           e.at,
		}, nil
	}
	m.say(e.Content, &r.Record)
	m.relate(relates, e, &r.Record)
	newest := e.Unsigned.Fields("m.relations").Fields("m.replace")
	if content := newest.Fields("content").Fields("m.new_content"); len(content) > 0 {
		m.say(content, &r.Record)
		_ = json.Unmarshal(newest["origin_server_ts"], &r.Edited) // of another type it is not known
	}
	if relates.Str("rel_type") == "m.thread" {
		return export.Change{ChangeTarget: export.ChangeTarget{Kind: export.ChangeThread, ID: target}, At: e.at}, nil
	}
	return export.Change{}, nil
}

// said are the events that are somebody's words.
var said = map[string]bool{"m.room.message": true, "m.sticker": true, "m.poll.start": true,
	"org.matrix.msc3381.poll.start": true}
