package matrix

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// name is what a person is called: by what the room's events have said so far, or else by
// the id.
func (m *reader) name(id string) string {
	local, _, _ := strings.Cut(strings.TrimPrefix(id, "@"), ":")
	return cmp.Or(m.names[id], local, id)
}

// say reads what the content of a message says. The names of files are not said by anybody.
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
		if r.Message.Text == "" && len(content["url"]) == 0 && len(content["file"]) == 0 { // a kind left out
			r.Message.Text = body
		}
	default:
		r.Message.Text = body
	}
}

// matrixText reads text as polls write it, in its forms old and new.
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

// relate says what a message answers, and which thread it is of. A thread is known by the
// message that it began with.
func (m *reader) relate(relates export.JSONFields, e matrixEvent, r *export.Record) {
	r.Message.ReplyTo = relates.Fields("m.in_reply_to").Str("event_id")
	if relates.Str("rel_type") == "m.thread" {
		r.Message.SessionID = relates.Str("event_id")
		if string(relates["is_falling_back"]) == "true" {
			r.Message.ReplyTo = r.Message.SessionID // what it names is only the one before
		}
	} else if len(e.Unsigned.Fields("m.relations").Fields("m.thread")) > 0 {
		r.Message.SessionID = e.ID
	}
}

// reply takes off the quotation that answers begin with for clients that cannot show them.
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

// mentions writes the names of those whom a message mentions, where it has their ids or
// links to them.
func (m *reader) mentions(content export.JSONFields, body string) string {
	if len(body) > reverie.MaxMessageTextLength {
		return body // it is refused
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
	var ids []string
	_ = json.Unmarshal(content.Fields("m.mentions")["user_ids"], &ids) // of another type it mentions nobody
	var names []string                                                 // one by one, an id within a name would be one as well
	for _, id := range ids[:min(len(ids), 100)] {
		if strings.HasPrefix(id, "@") {
			names = append(names, id, "@"+m.name(id))
		}
	}
	return strings.NewReplacer(names...).Replace(body)
}

// happened says shortly what an event that is no message is about, or nothing.
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
			return "" // another name or picture
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
