// Package onebot reads logged events of OneBot 11 (go-cqhttp, NapCat, LLOneBot, Lagrange), one per line or as an
// array, and answers to get_group_msg_history and similar calls. One file may contain many groups and private
// chats. Message ids are specific to the implementation. The account itself is a program.
package onebot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format describes OneBot 11 events.
var Format = export.Format{Name: "onebot", Platform: "QQ", Title: "OneBot 11 events, or answers to get_group_msg_history",
	Signs: append(export.Sign{Sure: 90, Paths: "post_type self_id|message_id"}.At(places...),
		export.Sign{Sure: 90, Paths: "message_type message_id sender"}.At(places...)...),
	Tell: func(t *export.Teller, src export.Source) error {
		return t.Held(unwrapped(export.Values(src)), (&reader{names: map[onebotName]string{}}).take)
	}}

// places are the paths of events in documents.
var places = []string{"", "[]", "data", "data.messages[]", "messages[]"}

// onebotName identifies a person in a chat.
type onebotName struct{ chat, user string }

// reader reads the events of one file.
type reader struct {
	names map[onebotName]string // names of authors, for mentions
	ids   export.Ordinals
}

// event is one event. Messages from a history may have no post_type.
type event struct {
	Time        export.Text     `json:"time"` // in seconds
	SelfID      export.Text     `json:"self_id"`
	PostType    export.Text     `json:"post_type"`
	MessageType export.Text     `json:"message_type"`
	SubType     export.Text     `json:"sub_type"`
	NoticeType  export.Text     `json:"notice_type"`
	MessageID   export.Text     `json:"message_id"`
	GroupID     export.Text     `json:"group_id"`
	GroupName   export.Text     `json:"group_name"`
	UserID      export.Text     `json:"user_id"`
	TargetID    export.Text     `json:"target_id"`
	Message     json.RawMessage `json:"message"`
	Raw         export.Text     `json:"raw_message"`
	Sender      struct {
		UserID   export.Text `json:"user_id"`
		Nickname export.Text `json:"nickname"`
		Card     export.Text `json:"card"`
	} `json:"sender"`
	Anonymous export.JSONFields `json:"anonymous"`        // some programs write "" or false for none
	Liked     json.RawMessage   `json:"emoji_likes_list"` // in a history of NapCat
	Likes     json.RawMessage   `json:"likes"`            // in a notice of NapCat or LLOneBot
	IsAdd     json.RawMessage   `json:"is_add"`
	Code      export.Text       `json:"code"` // in a notice of Lagrange
	Operator  export.Text       `json:"operator_id"`
}

// take reads one event and holds it, since it may soon be deleted. Events outside of chats are skipped.
func (o *reader) take(h *export.Hold, part export.Part) error {
	var e event
	if err := part.Decode(&e, "no event"); err != nil {
		return err
	}
	notice := e.PostType == "notice"
	if e.PostType == "meta_event" || e.PostType == "request" || notice && notices[string(e.NoticeType)] == "" {
		return nil
	}
	at, err := export.Time(string(e.Time), time.UTC)
	if err != nil {
		return err
	}
	chat, err := e.chat()
	if err != nil {
		return &export.Bad{Reason: "no chat", Err: err}
	}
	if notice && notices[string(e.NoticeType)] == reacted {
		return e.react(h, export.Record{Chat: chat, Place: part.Place})
	}
	if notice {
		return o.notice(h, e, export.Record{Chat: chat, Place: part.Place, Event: true}, at)
	}
	r := export.Record{Chat: chat, Place: part.Place, Event: e.SubType == "notice", Bot: e.PostType == "message_sent" ||
		e.UserID != "" && e.UserID == e.SelfID}
	r.Reactions = likes.Of(e.Liked, emoji)
	r.Message = reverie.Message{ID: string(e.MessageID), AuthorID: string(cmp.Or(e.UserID, e.Sender.UserID)),
		Author: e.label(), SentAt: at}
	if name := export.TextOf(e.Anonymous["name"]); name != "" {
		r.Message.AuthorID, r.Message.Author = "anonymous-"+cmp.Or(export.TextOf(e.Anonymous["id"]), name), name
	}
	if r.Message.AuthorID == "" {
		return export.Missing("author", "user_id")
	}
	if r.Message.ID == "" || r.Message.ID == "0" {
		r.Message.ID = o.ids.ID(chat.ID, string(e.Time), r.Message.AuthorID)
	}
	if who := (onebotName{chat.ID, r.Message.AuthorID}); len(o.names) < export.MaxNames &&
		len(who.chat)+len(who.user) < reverie.MaxMessageIDLength {
		o.names[who] = export.Shortened(r.Message.Author)
	}
	segments, err := onebotSegments(e.Message, string(e.Raw))
	if err != nil {
		return &export.Bad{Reason: "no message", Err: err}
	}
	said := o.read(chat.ID, segments, 0)
	r.Message.Text, r.Message.ReplyTo = said.text, said.replyTo
	return h.Add(export.HeldRecord{Record: r}, export.Change{})
}

// chat returns the conversation of an event: a group, or a private chat.
func (e event) chat() (export.Chat, error) {
	private := e.MessageType == "private" || e.MessageType == "" && e.GroupID == ""
	if !private && e.GroupID != "" {
		return export.Chat{ID: string(e.GroupID), Name: string(cmp.Or(e.GroupName, e.GroupID))}, nil
	}
	peer := e.UserID
	if e.PostType == "message_sent" || peer == e.SelfID {
		peer = e.TargetID
	}
	if peer == "" || !private {
		return export.Chat{}, fmt.Errorf("group_id is missing, and so is the other side of a private chat: %w",
			reverie.ErrInvalid)
	}
	c := export.Chat{ID: "private-" + string(peer), Name: string(peer), Private: true}
	if e.Sender.Nickname != "" && cmp.Or(e.Sender.UserID, e.UserID) == peer {
		c.Name = string(e.Sender.Nickname)
	}
	return c, nil
}

// label returns the author's name.
func (e event) label() string {
	for _, s := range []export.Text{e.Sender.Card, e.Sender.Nickname} {
		if name := strings.TrimSpace(string(s)); name != "" {
			return name
		}
	}
	return string(cmp.Or(e.UserID, e.Sender.UserID))
}

// likes are reactions: counted in a history, single in notices.
var likes = export.Reactions{Emoji: "emoji_id", Count: "likes_cnt"}

// emoji converts an id: a code point, or the number of one of QQ's faces.
func emoji(id string) string {
	if n, err := strconv.Atoi(id); err == nil && n >= 0x2000 && n <= unicode.MaxRune {
		return string(rune(n))
	}
	return id
}

// react adds or removes a reaction.
func (e event) react(h *export.Hold, r export.Record) error {
	list := likes.Of(e.Likes, emoji)
	if e.Code != "" {
		list = []reverie.Reaction{{Emoji: emoji(string(e.Code)), Count: 1}}
	}
	for i := range list {
		list[i].AuthorID, list[i].Count = string(cmp.Or(e.Operator, e.UserID)), 1
		if string(e.IsAdd) == "false" || e.SubType == "remove" {
			list[i].Count = 0
		}
	}
	return h.React(r, string(e.MessageID), list...)
}

// reacted marks notices of reactions.
const reacted = "+"

// notices maps notices to descriptions; "-" is none.
var notices = map[string]string{
	"group_recall": "-", "friend_recall": "-", "group_increase": "joined", "group_decrease": "left",
	"group_admin": "became or ceased to be an administrator", "group_ban": "was muted or unmuted",
	"friend_add": "became a friend", "group_msg_emoji_like": reacted, "reaction": reacted,
}

// notice passes on an event in a chat. The deletion of a message also removes its text if it is still held.
func (o *reader) notice(h *export.Hold, e event, r export.Record, at time.Time) error {
	who := string(cmp.Or(e.UserID, "0"))
	r.Message = reverie.Message{ID: o.ids.ID(r.Chat.ID, string(e.Time), string(e.NoticeType)+" "+who), AuthorID: who,
		Author: cmp.Or(o.names[onebotName{r.Chat.ID, who}], who), SentAt: at}
	if what := notices[string(e.NoticeType)]; what != "-" {
		r.Message.Text = r.Message.Author + " " + what
		return h.Add(export.HeldRecord{Record: r}, export.Change{})
	}
	return h.Add(export.HeldRecord{Record: r}, export.Change{ChangeTarget: export.ChangeTarget{Kind: export.ChangeGone,
		ID: string(e.MessageID)}})
}

// unwrapped yields events, and the messages in logged answers.
func unwrapped(parts export.Parts) export.Parts {
	return func(yield func(export.Part, error) bool) {
		for part, err := range parts {
			var answer struct {
				PostType *export.Text      `json:"post_type"`
				ID       *export.Text      `json:"message_id"`
				Data     json.RawMessage   `json:"data"`
				Messages []json.RawMessage `json:"messages"`
			}
			if err != nil || json.Unmarshal(part.Value, &answer) != nil || answer.PostType != nil || answer.ID != nil ||
				answer.Data == nil && answer.Messages == nil {
				if !yield(part, err) {
					return
				}
				continue
			}
			list := answer.Messages
			within := export.JSONFieldsOf(answer.Data)
			switch {
			case within["messages"] != nil:
				list = export.As[[]json.RawMessage](within["messages"])
			case within["message_id"] != nil || within["post_type"] != nil:
				list = []json.RawMessage{answer.Data}
			}
			for i, m := range list {
				if !yield(export.Part{Place: fmt.Sprintf("%s, message %d", part.Place, i+1), Value: m}, nil) {
					return
				}
			}
		}
	}
}

// segment is a piece of a message: a text, a mention, a picture.
type segment struct {
	Type export.Text     `json:"type"`
	Data json.RawMessage `json:"data"`
}

// onebotSegments parses a message: an array of pieces, or a string of CQ codes; raw replaces a missing one.
func onebotSegments(message json.RawMessage, raw string) ([]segment, error) {
	message = bytes.TrimSpace(message)
	var list []segment
	var err error
	switch {
	case len(message) == 0 || string(message) == "null" || string(message) == `""`:
		return cqSegments(raw), nil
	case message[0] == '"':
		var s string
		err = json.Unmarshal(message, &s)
		list = cqSegments(s)
	default:
		err = json.Unmarshal(message, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("message is neither a string nor an array of segments: %w: %w", export.Readable(err),
			reverie.ErrInvalid)
	}
	return list, nil
}

var (
	cqCode     = text.NewPattern(`\[CQ:([A-Za-z0-9_.-]+)((?:,[^,=\]]+=[^,\]]*)*)\]`)
	cqUnescape = strings.NewReplacer("&#91;", "[", "&#93;", "]", "&#44;", ",", "&amp;", "&")
)

// cqSegments parses a string of CQ codes. Incomplete codes are text.
func cqSegments(s string) []segment {
	var list []segment
	add := func(kind string, data map[string]string) {
		raw, _ := json.Marshal(data) // a map of strings can always be encoded
		list = append(list, segment{Type: export.Text(kind), Data: raw})
	}
	at := 0
	for _, m := range cqCode.FindAllStringSubmatchIndex(s, -1) {
		if before := s[at:m[0]]; before != "" {
			add("text", map[string]string{"text": cqUnescape.Replace(before)})
		}
		data := map[string]string{}
		for pair := range strings.SplitSeq(strings.TrimPrefix(s[m[4]:m[5]], ","), ",") {
			if key, value, ok := strings.Cut(pair, "="); ok {
				data[strings.TrimSpace(key)] = cqUnescape.Replace(value)
			}
		}
		add(s[m[2]:m[3]], data)
		at = m[1]
	}
	if rest := s[at:]; rest != "" {
		add("text", map[string]string{"text": cqUnescape.Replace(rest)})
	}
	return list
}

// onebotData are the values of a segment. The standard makes all of them strings; many implementations write
// numbers and objects.
type onebotData struct {
	ID       export.Text     `json:"id"`
	Text     export.Text     `json:"text"`
	QQ       export.Text     `json:"qq"`
	Name     export.Text     `json:"name"`
	Title    export.Text     `json:"title"`
	URL      export.Text     `json:"url"`
	UserID   export.Text     `json:"user_id"`
	Nickname export.Text     `json:"nickname"`
	Content  json.RawMessage `json:"content"`
	Data     json.RawMessage `json:"data"`
	Raw      struct {
		FaceText export.Text `json:"faceText"` // of NapCat
	} `json:"raw"`
}

// label returns the name of the author of a forwarded message.
func (d onebotData) label() string { return string(cmp.Or(d.Nickname, d.Name, d.UserID)) }

// onebotSaid is the text of a message, and what it replies to.
type onebotSaid struct{ text, replyTo string }

// onebotDepth is the maximum depth of nested forwarded messages.
const onebotDepth = 4

// read converts the pieces of a message. Pictures, files and stickers have no text.
func (o *reader) read(chat string, segments []segment, depth int) onebotSaid {
	var b strings.Builder
	var said onebotSaid
	for _, s := range segments {
		var d onebotData
		if json.Unmarshal(s.Data, &d) != nil { // with an unknown structure
			continue
		}
		switch s.Type {
		case "text":
			b.WriteString(string(d.Text))
		case "at":
			b.WriteString("@" + o.called(chat, d))
		case "face":
			if name := strings.Trim(string(d.Raw.FaceText), "/[] "); name != "" {
				b.WriteString(":" + name + ":")
			}
		case "reply":
			said.replyTo = string(d.ID)
		case "markdown":
			b.WriteString(export.TextOf(d.Content))
		case "share", "music", "location":
			b.WriteString(export.JoinLines(string(d.Title), export.TextOf(d.Content), string(d.URL)))
		case "json":
			b.WriteString(export.CardText(d.Data))
		case "forward":
			b.WriteString(o.forwarded(chat, d, depth))
		case "node":
			b.WriteString(o.passedOn(chat, d.label(), d.Content, "", depth))
		}
	}
	said.text = strings.TrimSpace(b.String())
	return said
}

// called returns the name of a mentioned person.
func (o *reader) called(chat string, d onebotData) string {
	if d.QQ == "all" {
		return cmp.Or(strings.TrimPrefix(string(d.Name), "@"), "all")
	}
	return cmp.Or(strings.TrimPrefix(string(d.Name), "@"), o.names[onebotName{chat, string(d.QQ)}], string(d.QQ))
}

// forwarded returns the text of forwarded messages, one per line: nodes of go-cqhttp, or events.
func (o *reader) forwarded(chat string, d onebotData, depth int) string {
	var lines []string
	for _, node := range export.As[[]struct {
		Data onebotData `json:"data"`
		event
	}](d.Content) {
		if node.Data.Content != nil {
			lines = append(lines, o.passedOn(chat, node.Data.label(), node.Data.Content, "", depth))
		} else {
			lines = append(lines, o.passedOn(chat, node.label(), node.Message, string(node.Raw), depth))
		}
	}
	return export.JoinLines(lines...)
}

func (o *reader) passedOn(chat, author string, message json.RawMessage, raw string, depth int) string {
	segments, err := onebotSegments(message, raw)
	if err != nil || depth == onebotDepth {
		return ""
	}
	if said := o.read(chat, segments, depth+1).text; said != "" {
		return export.Forwarded(author, said)
	}
	return ""
}
