// Package onebot reads events of OneBot 11 (go-cqhttp, NapCat, LLOneBot, Lagrange) as
// programs write them down, one a line or an array of them, and answers to
// get_group_msg_history and its like. One file may hold many groups and private chats. A
// message's id is what the implementation gave it, which another one would not. The
// account itself is a program.
package onebot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// Format is what the package reads.
var Format = export.Format{Name: "onebot", Title: "OneBot 11 events, or answers to get_group_msg_history",
	Knows: knows, Read: read}

// answers are where an answer of the API has its messages.
var answers = []string{"data.messages[]", "messages[]"}

func knows(src export.Source) int {
	if src.Files != nil {
		return 0
	}
	if sure := sureOfLog(bytes.TrimSpace(src.Head)); sure > 0 {
		return sure
	}
	keys := []string{"post_type", "self_id", "message_type", "message_id", "sender.user_id", "sender.nickname"}
	seen := map[string]bool{}
	patterns := append([]string{"retcode"}, keys...)
	for _, at := range append([]string{"[]", "data"}, answers...) {
		for _, key := range keys {
			patterns = append(patterns, at+"."+key)
		}
	}
	for part, err := range export.JSONParts(bytes.NewReader(src.Head), patterns...) {
		if err != nil { // the head, or its first line, ends
			break
		}
		at := part.Pattern
		for _, key := range keys {
			if strings.HasSuffix(at, key) {
				at = key
			}
		}
		seen[at] = true
	}
	sender := seen["sender.user_id"] || seen["sender.nickname"]
	switch {
	case seen["post_type"] && (seen["self_id"] || seen["message_id"]),
		seen["message_type"] && seen["message_id"] && sender:
		return 90
	case seen["retcode"] && seen["message_id"] && sender:
		return 80
	}
	return 0
}

func read(ctx context.Context, src export.Source, opts export.ReadOptions) iter.Seq2[export.Record, error] {
	return func(yield func(export.Record, error) bool) {
		o := reader{names: map[onebotName]string{}}
		export.TellHeld(ctx, opts, onebotParts(src), yield, o.take)
	}
}

// names is how many people are remembered by name at most.
const names = 1 << 16

// onebotName is somebody in a chat.
type onebotName struct{ chat, user string }

// reader reads the events of one file.
type reader struct {
	names map[onebotName]string // of those who wrote, for mentions
	ids   export.Ordinals
}

// event is one event. A message of a history may lack post_type.
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
	GuildID     export.Text     `json:"guild_id"`
	ChannelID   export.Text     `json:"channel_id"`
	UserID      export.Text     `json:"user_id"`
	TargetID    export.Text     `json:"target_id"`
	Message     json.RawMessage `json:"message"`
	Raw         export.Text     `json:"raw_message"`
	Sender      struct {
		UserID   export.Text `json:"user_id"`
		Nickname export.Text `json:"nickname"`
		Card     export.Text `json:"card"`
	} `json:"sender"`
	Anonymous *struct {
		ID   export.Text `json:"id"`
		Name export.Text `json:"name"`
	} `json:"anonymous"`
}

// take reads one event and holds it, for it may be taken back soon. What is nothing of a
// chat is passed over.
func (o *reader) take(h *export.Hold, part export.JSONPart) error {
	var e event
	if err := json.Unmarshal(part.Value, &e); err != nil {
		return &export.Bad{Place: part.Place, Reason: "no event", Err: export.Readable(err)}
	}
	notice := e.PostType == "notice"
	if e.PostType == "meta_event" || e.PostType == "request" || notice && notices[string(e.NoticeType)] == "" {
		return nil
	}
	at, err := export.LooseTime(string(e.Time))
	if err != nil {
		return &export.Bad{Place: part.Place, Reason: "no time", Err: err}
	}
	chat, err := e.chat()
	if err != nil {
		return &export.Bad{Place: part.Place, Reason: "no chat", Err: err}
	}
	if notice {
		return o.notice(h, e, export.Record{Chat: chat, Place: part.Place, Event: true}, at)
	}
	r := export.Record{Chat: chat, Place: part.Place, Event: e.SubType == "notice", Bot: e.PostType == "message_sent" ||
		e.UserID != "" && e.UserID == e.SelfID}
	r.Message = reverie.Message{ID: string(e.MessageID), AuthorID: string(cmp.Or(e.UserID, e.Sender.UserID)),
		Author: e.label(), Role: reverie.RoleUser, SentAt: at}
	if a := e.Anonymous; a != nil && a.Name != "" {
		r.Message.AuthorID, r.Message.Author = "anonymous-"+string(cmp.Or(a.ID, a.Name)), string(a.Name)
	}
	if r.Message.AuthorID == "" {
		return &export.Bad{Place: part.Place, Reason: "no author",
			Err: fmt.Errorf("user_id is missing: %w", reverie.ErrInvalid)}
	}
	if r.Message.ID == "" || r.Message.ID == "0" {
		r.Message.ID = o.ids.ID(chat.ID, string(e.Time), r.Message.AuthorID)
	}
	if who := (onebotName{chat.ID, r.Message.AuthorID}); len(o.names) < names &&
		len(who.chat)+len(who.user) < reverie.MaxMessageIDLength {
		o.names[who] = export.Shortened(r.Message.Author)
	}
	segments, err := onebotSegments(e.Message, string(e.Raw))
	if err != nil {
		return &export.Bad{Place: part.Place, Reason: "no message", Err: err}
	}
	said := o.read(chat.ID, segments, 0)
	r.Message.Text, r.Message.ReplyTo = said.text, said.replyTo
	return h.Add(export.HeldRecord{Record: r}, export.Change{})
}

// chat says which conversation an event is of: a group, or the private chat with somebody.
func (e event) chat() (export.Chat, error) {
	if e.GuildID != "" && e.ChannelID != "" {
		return export.Chat{ID: "guild-" + string(e.GuildID+"-"+e.ChannelID),
			Name: string(cmp.Or(e.GroupName, e.ChannelID))}, nil
	}
	private := e.MessageType == "private" || e.MessageType == "" && e.GroupID == ""
	if !private && e.GroupID != "" {
		return export.Chat{ID: string(e.GroupID), Name: string(cmp.Or(e.GroupName, e.GroupID))}, nil
	}
	peer := e.UserID
	if e.PostType == "message_sent" || peer == e.SelfID {
		peer = e.TargetID
	}
	if peer == "" || !private {
		return export.Chat{}, fmt.Errorf("neither group_id nor the other side of a private chat is there: %w",
			reverie.ErrInvalid)
	}
	c := export.Chat{ID: "private-" + string(peer), Name: string(peer)}
	if e.Sender.Nickname != "" && cmp.Or(e.Sender.UserID, e.UserID) == peer {
		c.Name = string(e.Sender.Nickname)
	}
	return c, nil
}

// label is how the author is called.
func (e event) label() string {
	for _, s := range []export.Text{e.Sender.Card, e.Sender.Nickname} {
		if name := strings.TrimSpace(string(s)); name != "" {
			return name
		}
	}
	return string(cmp.Or(e.UserID, e.Sender.UserID))
}

// notices are the notices that are told, and what they say; "-" is nothing.
var notices = map[string]string{
	"group_recall": "-", "friend_recall": "-", "group_increase": "joined", "group_decrease": "left",
	"group_admin": "became or ceased to be an administrator", "group_ban": "was muted or unmuted",
	"friend_add": "became a friend",
}

// notice tells what happened in a chat. What takes a message back takes its text, too,
// where it is held yet.
func (o *reader) notice(h *export.Hold, e event, r export.Record, at time.Time) error {
	who := string(cmp.Or(e.UserID, "0"))
	r.Message = reverie.Message{ID: o.ids.ID(r.Chat.ID, string(e.Time), string(e.NoticeType)+" "+who), AuthorID: who,
		Author: who, Role: reverie.RoleUser, SentAt: at}
	if name := o.names[onebotName{r.Chat.ID, who}]; name != "" {
		r.Message.Author = name
	}
	if what := notices[string(e.NoticeType)]; what != "-" {
		r.Message.Text = r.Message.Author + " " + what
		return h.Add(export.HeldRecord{Record: r}, export.Change{})
	}
	return h.Add(export.HeldRecord{Record: r}, export.Change{ChangeTarget: export.ChangeTarget{Kind: export.ChangeGone,
		ID: string(e.MessageID)}})
}
