// Package matrix reads what Element's "Export chat" writes as JSON, and events from a server: one per line, an
// array, or the answer to /messages or /sync. Ids are those of the events and rooms. A message that was soon edited
// or redacted is yielded in its final form, see [export.Hold].
package matrix

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format describes exports of Matrix.
var Format = export.Format{
	Name: "matrix", Platform: "Matrix",
	Title:  "Matrix: Element's JSON export (or its zip), or events of a room",
	Signs:  signs,
	Folder: func(files fs.FS) int { return export.Surest(export.HeadOf(files, file(files)), signs...) },
	Tell:   tell,
}

var (
	roomID = text.NewPattern(`"room_id"\s*:\s*"(![^"\\]+)"`)
)

var signs = append(export.Sign{Sure: 90, Paths: "event_id origin_server_ts sender"}.At(append(places, "", "[]", "rooms.join.*.state.events[]")...),
	export.Sign{Sure: 95, Paths: "room_name|export_date|room_creator messages"})

// places are the paths of events in documents.
var places = []string{"messages[]", "chunk[]", "events[]", "timeline[]", "timeline.events[]", "events_before[]",
	"event", "events_after[]", "rooms.join.*.timeline.events[]", "rooms.leave.*.timeline.events[]"}

// file finds the export in an Element archive, which also has the attachments. An archive with other JSON documents
// is not one.
func file(files fs.FS) string {
	var found []string
	for _, pattern := range []string{"*.json", "*/*.json"} {
		all, _ := fs.Glob(files, pattern) // the pattern is valid
		if found = append(found, all...); len(found) > 0 {
			break
		}
	}
	if len(found) == 1 && path.Base(found[0]) == "export.json" {
		return found[0]
	}
	return ""
}

func tell(t *export.Teller, src export.Source) error {
	if src.Files != nil {
		name := file(src.Files)
		f, err := src.Files.Open(name)
		if err != nil {
			return fmt.Errorf("open %s: %w", name, err)
		}
		defer f.Close()
		src.Reader, src.Head = f, export.HeadOf(src.Files, name)
	}
	m := reader{names: map[string]string{}, rooms: map[string]string{}, reactions: map[string]reaction{}}
	if found := roomID.FindSubmatch(src.Head); found != nil {
		m.room = string(found[1])
	}
	return t.Held(parts(src), m.take)
}

// parts yields the events, and the room's name if it is outside of them.
func parts(src export.Source) export.Parts {
	if export.Surest(src.Head, export.Sign{Sure: 1, Paths: "event_id"}.At("", "[]")...) > 0 {
		return export.Values(src)
	}
	return export.JSONParts(src.Reader, append([]string{"room_name"}, places...)...)
}

type reader struct {
	room  string            // for events that do not name their room
	named string            // the room's name in the export
	names map[string]string // names of people, by id
	rooms map[string]string // names of rooms, by their ids

	reactions map[string]reaction // by event id, for redacted reactions
}

type reaction struct {
	to string // message id
	reverie.Reaction
}

// matrixEvent is one event.
type matrixEvent struct {
	Type     string            `json:"type"`
	ID       string            `json:"event_id"`
	Room     string            `json:"room_id"`
	Sender   string            `json:"sender"`
	Time     json.Number       `json:"origin_server_ts"` // in milliseconds
	StateKey string            `json:"state_key"`
	Redacts  string            `json:"redacts"`
	Content  export.JSONFields `json:"content"`
	Unsigned export.JSONFields `json:"unsigned"`

	at int64
}

// take reads one part of the document and adds it to the hold.
func (m *reader) take(h *export.Hold, part export.Part) error {
	if part.Pattern == "room_name" {
		m.named = export.As[string](part.Value)
		return nil
	}
	var e matrixEvent
	if err := part.Decode(&e, "no event"); err != nil {
		return err
	}
	if f, err := e.Time.Float64(); err == nil { // some programs write 1.7e12
		e.Time = json.Number(strconv.FormatFloat(f, 'f', -1, 64))
	}
	at, err := export.Time(string(e.Time), time.UTC)
	if err := export.Needs(e.ID, err, e.Sender); err != nil {
		return err
	}
	chat := export.Chat{ID: cmp.Or(e.Room, m.room, m.named)}
	if len(part.Keys) > 0 {
		chat.ID = part.Keys[0]
	}
	if chat.ID == "" {
		return export.Missing("room", "room_id")
	}
	m.learn(e, chat.ID)
	chat.Name = cmp.Or(m.named, m.rooms[chat.ID], chat.ID)
	e.at = at.UnixMilli()
	r := export.HeldRecord{Record: export.Record{Chat: chat, Place: part.Place}}
	r.Message = reverie.Message{ID: e.ID, AuthorID: e.Sender, Author: m.name(e.Sender),
		SentAt: at}
	if m.named != "" { // Element writes all later changes into a message
		r.Reactions = []reverie.Reaction{}
	}
	of := m.reacts(e)
	if err := h.React(r.Record, of.to, of.Reaction); err != nil {
		return err
	}
	c, err := m.read(e, &r)
	if err != nil {
		return &export.Bad{Reason: "not decrypted", Err: err}
	}
	return h.Add(r, c)
}

// reacts returns the reaction that an event adds or removes.
func (m *reader) reacts(e matrixEvent) reaction {
	relates := e.Content.Fields("m.relates_to")
	of := reaction{relates.Str("event_id"), reverie.Reaction{Emoji: relates.Str("key"), AuthorID: e.Sender, Count: 1}}
	switch {
	case e.Type == "m.room.redaction":
		of = m.reactions[e.redacted()]
		of.Count = 0
	case e.Type != "m.reaction":
		return reaction{}
	case e.Unsigned["redacted_because"] != nil:
		of.Count = 0
	case len(m.reactions) < export.MaxNames:
		m.reactions[e.ID] = of
	}
	return of
}

// redacted returns the id of the event that a redaction removes.
func (e matrixEvent) redacted() string { return cmp.Or(e.Redacts, e.Content.Str("redacts")) }

// learn records names.
func (m *reader) learn(e matrixEvent, room string) {
	switch {
	case e.Type == "m.room.name" && len(m.rooms) < export.MaxNames:
		m.rooms[room] = export.Shortened(e.Content.Str("name"))
	case e.Type == "m.room.member" && e.Content.Str("membership") == "join" && e.Content.Str("displayname") != "" &&
		len(m.names) < export.MaxNames:
		m.names[cmp.Or(e.StateKey, e.Sender)] = export.Shortened(e.Content.Str("displayname"))
	}
}

var errNotDecrypted = errors.New("the event is encrypted; export from a client that has its keys")

// read sets the record of an event, and returns its change of another one.
func (m *reader) read(e matrixEvent, r *export.HeldRecord) (export.Change, error) {
	relates := e.Content.Fields("m.relates_to")
	target := relates.Str("event_id")
	switch {
	case e.Type == "m.room.redaction":
		r.Event = true
		return export.Change{ChangeTarget: export.ChangeTarget{Kind: export.ChangeGone, ID: e.redacted()}, At: e.at}, nil
	case len(e.Content) == 0 || len(e.Unsigned.Fields("redacted_because")) > 0:
		r.Event, r.Gone = true, e.Unsigned["redacted_because"] != nil || e.Unsigned["redacted_by"] != nil
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
		r.At = export.As[int64](newest["origin_server_ts"])
	}
	if relates.Str("rel_type") == "m.thread" {
		return export.Change{ChangeTarget: export.ChangeTarget{Kind: export.ChangeThread, ID: target}, At: e.at}, nil
	}
	return export.Change{}, nil
}

// said are the event types that somebody wrote.
var said = map[string]bool{"m.room.message": true, "m.sticker": true, "m.poll.start": true,
	"org.matrix.msc3381.poll.start": true}

// name returns a person's name from the room's events so far, otherwise the id.
func (m *reader) name(id string) string {
	local, _, _ := strings.Cut(strings.TrimPrefix(id, "@"), ":")
	return cmp.Or(m.names[id], local, id)
}

// say sets the text of a message. File names do not count as text.
func (m *reader) say(content export.JSONFields, r *export.Record) {
	body := m.mentions(content, m.reply(content, content.Str("body")))
	r.Message.Text = ""
	switch content.Str("msgtype") {
	case "m.image", "m.file", "m.audio", "m.video":
		if name := content.Str("filename"); name != "" && name != content.Str("body") {
			r.Message.Text = body
		}
	case "m.location":
	case "m.key.verification.request":
		r.Event = true
	case "m.emote":
		if r.Message.Text = body; body != "" {
			r.Message.Text = r.Message.Author + " " + body
		}
	case "m.notice", "m.server_notice":
		r.Bot, r.Message.Text = true, body
	case "": // a sticker, a poll
		for _, key := range []string{"m.poll", "m.poll.start", "org.matrix.msc3381.poll.start"} {
			poll := content.Fields(key)
			var answers []string
			for _, a := range poll.List("answers") {
				answers = append(answers, matrixText(a))
			}
			r.Message.Text = cmp.Or(r.Message.Text, export.PollText(matrixText(poll.Fields("question")), answers))
		}
		if r.Message.Text == "" && len(content["url"]) == 0 && len(content["file"]) == 0 { // the kind is missing
			r.Message.Text = body
		}
	default:
		r.Message.Text = body
	}
}

// matrixText returns the text of a poll, in its old and new forms.
func matrixText(f export.JSONFields) string {
	for _, key := range []string{"m.text", "org.matrix.msc1767.text", "body"} {
		if s := f.Str(key); s != "" {
			return s
		}
		for _, one := range f.List(key) {
			if s := one.Str("body"); s != "" {
				return s
			}
		}
	}
	return ""
}

// relate sets which message is answered, and which thread it belongs to. The id of a thread is its first message.
func (m *reader) relate(relates export.JSONFields, e matrixEvent, r *export.Record) {
	r.Message.ReplyTo = relates.Fields("m.in_reply_to").Str("event_id")
	if relates.Str("rel_type") == "m.thread" {
		r.Message.SessionID = relates.Str("event_id")
		if string(relates["is_falling_back"]) == "true" {
			r.Message.ReplyTo = r.Message.SessionID // it names only the previous message
		}
	} else if len(e.Unsigned.Fields("m.relations").Fields("m.thread")) > 0 {
		r.Message.SessionID = e.ID
	}
}

// reply removes the quotation that precedes a reply for clients without replies.
func (m *reader) reply(content export.JSONFields, body string) string {
	if content.Fields("m.relates_to").Fields("m.in_reply_to").Str("event_id") == "" ||
		!strings.HasPrefix(body, "> <@") && !strings.HasPrefix(body, "> * <@") {
		return body
	}
	for strings.HasPrefix(body, ">") {
		_, body, _ = strings.Cut(body, "\n")
	}
	return strings.TrimPrefix(body, "\n")
}

var (
	matrixPill = text.NewPattern(`\[([^\[\]\n]{1,200})\]\(<?https://matrix\.to/#/(?:@|%40)[^()\s]{1,300}\)`)
	matrixLink = text.NewPattern(`https://matrix\.to/#/((?:@|%40)[^\s()?<>]{1,300})(?:\?[^\s()<>]*)?`)
)

// mentions replaces ids of mentioned people, and links to them, by their names.
func (m *reader) mentions(content export.JSONFields, body string) string {
	if len(body) > reverie.MaxMessageTextLength {
		return body // too long: it will be refused
	}
	body = matrixPill.ReplaceAllStringFunc(body, func(pill string) string {
		return "@" + strings.TrimPrefix(matrixPill.FindStringSubmatch(pill)[1], "@")
	})
	body = matrixLink.ReplaceAllStringFunc(body, func(link string) string {
		id, err := url.PathUnescape(matrixLink.FindStringSubmatch(link)[1])
		if err != nil {
			return link
		}
		return "@" + m.name(id)
	})
	ids := export.As[[]string](content.Fields("m.mentions")["user_ids"])
	var names []string // sorted, since an id may contain another one
	for _, id := range ids[:min(len(ids), 100)] {
		if strings.HasPrefix(id, "@") {
			names = append(names, id, "@"+m.name(id))
		}
	}
	return strings.NewReplacer(names...).Replace(body)
}

// happened returns a short description of an event that is not a message, "" if none.
func (m *reader) happened(e matrixEvent) string {
	switch e.Type {
	case "m.room.name":
		return "named the room " + e.Content.Str("name")
	case "m.room.topic":
		return "set the topic: " + e.Content.Str("topic")
	case "m.room.member":
		before := cmp.Or(e.Unsigned.Fields("prev_content").Str("membership"), "leave")
		switch now := e.Content.Str("membership"); {
		case now == before:
			return "" // a changed name or picture
		case now == "join":
			return "joined"
		case now == "leave" && e.StateKey == e.Sender:
			return "left"
		case now == "leave":
			return "removed " + m.name(e.StateKey)
		case now == "invite":
			return "invited " + m.name(e.StateKey)
		case now == "ban":
			return "banned " + m.name(e.StateKey)
		}
	}
	return ""
}
