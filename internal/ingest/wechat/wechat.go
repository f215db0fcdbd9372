// Package wechat reads JSON exports of WeChat by WeFlow and echotrace, one chat per file. A chat is identified by
// its wxid, which ends in @chatroom for a group, and people by theirs. Message ids are the server's if the file has
// them, otherwise the exporting computer's number with the time.
package wechat

import (
	"cmp"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format describes exports of WeChat.
var Format = export.Format{
	Name: "wechat", Platform: "WeChat",
	Title: "WeChat: JSON of WeFlow or echotrace",
	Signs: []export.Sign{{Sure: 95, Paths: "weflow session.wxid"}, {Sure: 95, Paths: "session.wxid messages[].senderUsername"},
		{Sure: 80, Paths: "session.wxid session.displayName|session.nickname"}},
	Tell: func(t *export.Teller, src export.Source) error {
		r := reader{Teller: t}
		return t.Each(export.JSONParts(src.Reader, "session", "messages[]"), r.take)
	},
}

type reader struct {
	*export.Teller
	chat export.Chat
}

func (r *reader) take(part export.Part) error {
	if part.Pattern == "session" {
		s := export.JSONFieldsOf(part.Value)
		r.chat.ID = export.TextOf(s["wxid"])
		r.chat.Name = export.Shortened(cmp.Or(s.Str("displayName"), s.Str("remark"), s.Str("nickname"), r.chat.ID))
		return nil
	}
	if r.chat.ID == "" {
		return r.NoChat(part.Place, "session")
	}
	if !r.Wants(r.chat) {
		return export.ErrEnoughRead
	}
	return r.record(part)
}

type message struct {
	ServerID export.Text `json:"platformMessageId"`
	LocalID  export.Text `json:"localId"`
	ReplyTo  export.Text `json:"replyToMessageId"`
	Time     export.Text `json:"createTime"`
	Type     export.Text `json:"type"`
	Content  export.Text `json:"content"`
	IsSend   export.Text `json:"isSend"` // 1 if the account itself sent it
	Sender   export.Text `json:"senderUsername"`
	Name     export.Text `json:"senderDisplayName"`
}

// record reads one message.
func (r *reader) record(part export.Part) error {
	var m message
	if err := part.Decode(&m, "no message"); err != nil {
		return err
	}
	at, err := export.Time(string(m.Time), time.UTC)
	if unset(m.ServerID) {
		m.ServerID = ""
	}
	if err := export.Needs(string(cmp.Or(m.ServerID, m.LocalID)), err, "somebody"); err != nil {
		return err
	}
	id, sender := m.ServerID, string(m.Sender)
	if id == "" { // numbers restart in each of the computer's databases
		id = m.LocalID + "-" + m.Time
	}
	group := strings.HasSuffix(r.chat.ID, "@chatroom")
	nobody := sender == "" && m.IsSend != "1" && group || strings.HasSuffix(sender, "@chatroom")
	if sender == "" && m.IsSend == "1" {
		sender = "self"
	}
	rec := export.Record{Chat: r.chat, Place: part.Place, Event: nobody || events[string(m.Type)], Gone: m.Type == "撤回消息"}
	rec.Message = reverie.Message{ID: string(id), AuthorID: cmp.Or(sender, r.chat.ID), SentAt: at,
		Author: cmp.Or(string(m.Name), sender, r.chat.Name), Text: said(string(m.Type), strings.TrimSpace(string(m.Content)))}
	if !unset(m.ReplyTo) {
		rec.Message.ReplyTo = string(m.ReplyTo)
	}
	return r.Tell(rec)
}

func unset(id export.Text) bool { return id == "" || id == "0" }

// events are the kinds that nobody wrote.
var events = map[string]bool{"系统消息": true, "撤回消息": true, "通话消息": true, "语音通话": true, "红包卡片": true, "转账卡片": true, "拍一拍消息": true, "拍一拍": true}

// label matches what the exporters write before the text of a card: [链接], [语音转文字].
var label = text.NewPattern(`^\[[^\[\]\n]{1,12}\]\s*`)

// said returns the text of a message of a kind.
func said(kind, content string) string {
	switch kind {
	case "文本消息":
		return export.UnlessPlaceholder(content)
	case "引用消息":
		return export.UnlessPlaceholder(export.QuotedReply.ReplaceAllString(content, ""))
	case "聊天记录合并转发":
		if content = label.ReplaceAllString(content, ""); content == "" {
			return ""
		}
		return export.Forwarded("", content)
	case "卡片式链接", "图文消息", "小程序分享", "视频号直播卡片", "音乐卡片", "链接消息":
		return label.ReplaceAllString(content, "")
	case "图片消息", "语音消息", "视频消息", "文件消息", "动画表情", "名片消息", "位置消息":
		return export.Caption(label.ReplaceAllString(content, ""))
	}
	return export.UnlessPlaceholder(label.ReplaceAllString(content, ""))
}
