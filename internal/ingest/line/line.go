// Package line reads the text that LINE's "Export chat history" writes, in the language of the app. Each date is a
// line. Each message begins with a line of time, name and text, separated by tabs or by spaces. It has neither ids
// nor a time zone. A chat is identified by its title, people by their names.
package line

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format describes LINE's chat history.
var Format = export.Format{Name: "line", Title: "LINE chat history (txt)", Head: knows,
	Tell: func(t *export.Teller, src export.Source) error {
		ahead, _ := io.ReadAll(io.LimitReader(src.Reader, howFarAhead)) // an error will occur again when it is read
		m, err := mannerOf(ahead, t.DateOrder)
		if err != nil {
			return err
		}
		r := reader{Teller: t, manner: m, chat: chatOf(src.Name, ahead)}
		if !t.Wants(r.chat) {
			return nil
		}
		return export.EachBlock(t, io.MultiReader(bytes.NewReader(ahead), src.Reader), r.begins, r.take)
	}}

// howFarAhead is the number of bytes by which the manner of a text is detected.
const howFarAhead = 4 << 20

var (
	// dateLine matches a line with only a date, with the day of the week before or after it: 2026/01/15(Thu), Thu,
	// 1/15/2026.
	dateLine = text.NewPattern(`^(?:(\p{L}[\p{L}\p{M}]{0,20})[.,]{0,2} )?(\d{1,4})([./-]) ?(\d{1,2})[./-] ?(\d{1,4})\.? *` +
		`[(（]?(?:([\p{L}\p{M}]{1,24})\.?)?[)）]?$`)
	eastern = text.NewPattern(`^(\d{4})[年년] ?(\d{1,2})[月월] ?(\d{1,2})[日일]`)
	// clock matches the beginning of a message: 19:05, 7:05 PM, 午後7:05.
	clock = text.NewPattern(`^(?:([\p{L}]{2,2}) ?)?(\d{1,2}):(\d{2})(?: ?([AaPp]\.?[Mm])\.?)?([\t ])(.*)$`)

	// afternoon says for the words around a time whether they mean the second half of the day.
	afternoon = map[string]bool{"上午": false, "午前": false, "오전": false, "AM": false, "下午": true, "午後": true, "오후": true, "PM": true}

	// placeholder matches what replaces non-text content; in lines with spaces it has no brackets.
	placeholder = text.NewPattern(`^\[[^\[\]\n]{1,24}\]$`)
	bare        = text.NewPattern(`^(?:Photos?|Videos?|Stickers?|Audio|Voice message|File|写真|動画|スタンプ|ボイスメッセージ|照片|圖片|图片|影片|视频|貼圖|贴图|語音訊息|语音信息|` +
		`รูป|รูปภาพ|วิดีโอ|สติกเกอร์|사진|동영상|스티커|음성메시지)$`)
	// happened matches messages of the app that have no author, or only the first word of one.
	happened = text.NewPattern(`(?:joined the (?:group|chat)|left the (?:group|chat)|unsent a message|added .* to the group|` +
		`(?:に|が)?(?:参加|退出|退会|追加|招待)しました|(?:送信|メッセージの送信)を取り消しました|加入(?:了)?(?:該|该)?(?:群|聊天)|離開(?:了)?(?:群|聊天)|退群|` +
		`(?:收回|撤回)(?:了)?(?:一条消息|訊息|消息)|เข้าร่วมกลุ่ม|ออกจากกลุ่ม|ยกเลิกข้อความ|나갔습니다|들어왔습니다|초대했습니다|취소했습니다)[^\n]{0,12}$`)

	titles = text.NewPattern(`^(?:Chat history (?:with|in) (.+)|Chat with (.+)|ประวัติ(?:การ)?(?:แชท|สนทนา)(?:กับ|ในกลุ่ม|ใน)? ?(.+)|(?:与|與)(.+)的聊天(?:记录|記錄|紀錄)|` +
		`(.+)的聊天(?:记录|記錄|紀錄)|(.+?)と?のトーク履歴|(.+?)(?:님과의|와의|과의) (?:대화|채팅).*)$`)
)

// head is a line that begins something: a date, a message, or the preface before the first date.
type head struct {
	kind  byte // 'd', 'm' or 'p'
	date  [3]string
	label string // name of the day of the week
	shape string // separators between the numbers, and position of the label
	at    time.Duration
	tab   bool
	rest  string
}

// split parses a line that begins a date or a message.
func split(s string) (h head, ok bool) {
	s = strings.Trim(s, "\ufeff\u200e\u200f \u00a0\u202f")
	if len(s) < 80 {
		if m := dateLine.FindStringSubmatch(eastern.ReplaceAllString(s, "$1/$2/$3 ")); m != nil {
			return head{kind: 'd', date: [3]string{m[2], m[4], m[5]}, label: strings.ToLower(cmp.Or(m[1], m[6])),
				shape: fmt.Sprint(m[3], m[1] != "", m[6] != "")}, true
		}
	}
	m := clock.FindStringSubmatch(s)
	if m == nil {
		return head{}, false
	}
	hour, _ := strconv.Atoi(m[2]) // two digits at most
	minute, _ := strconv.Atoi(m[3])
	if half := cmp.Or(m[1], strings.ToUpper(strings.ReplaceAll(m[4], ".", ""))); half != "" {
		late, known := afternoon[half]
		if !known || hour > 12 && !late || hour == 0 && m[1] == "" {
			return head{}, false
		}
		if hour %= 12; late {
			hour += 12
		}
	}
	h = head{kind: 'm', at: time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute, tab: m[5] == "\t", rest: m[6]}
	return h, hour < 24 && minute < 60
}

// happened reports whether a line with spaces is an event, not a message.
func (h head) happened() bool { return happened.MatchString(h.rest[max(0, len(h.rest)-96):]) }

// knows looks for LINE's own first line, or for a date followed by a message.
func knows(head []byte) int {
	dated, lines := false, 0
	for l := range bytes.Lines(head) {
		s := strings.TrimSpace(export.UTF8Line(bytes.TrimRight(l, "\r\n")))
		if s == "" {
			continue
		}
		if lines++; lines == 1 && strings.HasPrefix(s, "[LINE]") {
			return 95
		}
		h, ok := split(s)
		switch {
		case ok && dated && h.kind == 'm' && h.tab && strings.Contains(h.rest, "\t"):
			return 90
		case ok && dated && h.kind == 'm' && !h.tab && strings.Contains(h.rest, " ") && !strings.ContainsAny(h.rest[:1], "<*[-"):
			return 70
		case dated && h.kind != 'd', lines > 4:
			return 0
		}
		dated = ok && h.kind == 'd'
	}
	return 0
}

// chatOf returns the chat of a text: by its first line, otherwise by the file's name.
func chatOf(name string, ahead []byte) export.Chat {
	first, _, _ := bytes.Cut(ahead, []byte("\n"))
	title, ok := strings.CutPrefix(strings.TrimSpace(export.UTF8Line(first)), "[LINE]")
	if !ok && !strings.HasPrefix(title, "Chat history ") {
		title = strings.TrimPrefix(export.Title(name), "[LINE]")
	}
	title = strings.TrimSpace(title)
	if m := titles.FindStringSubmatch(title); m != nil {
		title = strings.Trim(strings.Join(m[1:], ""), ` "`)
	}
	title = cmp.Or(title, "chat")
	return export.Chat{ID: title, Name: export.Shortened(title)}
}

type reader struct {
	*export.Teller
	manner
	chat  export.Chat
	ids   export.Ordinals
	day   time.Time // of the current messages, in UTC
	dated bool      // a date has been read
	blank bool      // the previous line is blank
}

// begins returns what a line begins. It rejects dates inside messages: they have another form, or another day of
// the week in the middle of a text.
func (r *reader) begins(s string) (head, bool) {
	separate := r.blank || !r.dated
	r.blank = strings.TrimSpace(s) == ""
	switch h, ok := split(s); {
	case ok && h.kind == 'd' && h.shape == r.shape && r.right(h, separate):
		r.dated = true
		return h, true
	case ok && h.kind == 'm' && h.tab == r.tab:
		return h, true
	}
	return head{kind: 'p'}, !r.dated && !r.blank
}

func (r *reader) take(b export.Block[head]) error {
	switch b.Head.kind {
	case 'p':
		return nil
	case 'd':
		r.day, _ = export.Day(b.Head.date, r.order)
		return nil
	}
	if r.day.IsZero() {
		return &export.Bad{Reason: "no time", Err: fmt.Errorf("there is no date before it: %w", reverie.ErrInvalid)}
	}
	author, said := r.author(b.Head)
	said = strings.TrimRight(strings.Join(append([]string{said}, b.Lines...), "\n"), " \n")
	if strings.Contains(said, "\n") && strings.HasPrefix(said, `"`) && strings.HasSuffix(said, `"`) {
		said = strings.ReplaceAll(said[1:len(said)-1], `""`, `"`)
	}
	wall := r.day.Add(b.Head.at)
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, r.Zone)
	rec := export.Record{Chat: r.chat, Place: b.Place, Event: author == "" || strings.HasPrefix(said, "☎")}
	rec.Message = reverie.Message{ID: r.ids.ID(r.chat.ID, wall.Format(time.DateTime), author), SentAt: at,
		AuthorID: cmp.Or(author, r.chat.ID), Author: cmp.Or(author, r.chat.Name), Text: said}
	if !rec.Event && (placeholder.MatchString(said) || !r.tab && bare.MatchString(said)) {
		rec.Message.Text = ""
	} else if !rec.Event {
		rec.Message.Text = export.UnlessPlaceholder(said)
	}
	return r.Tell(rec)
}

// author splits a message's line. Messages of the app itself have no author.
func (m manner) author(h head) (author, said string) {
	if h.tab {
		author, said, ok := strings.Cut(h.rest, "\t")
		if !ok {
			return "", h.rest
		}
		return strings.TrimSpace(author), said
	}
	author, said, ok := strings.Cut(h.rest, " ")
	for ok && m.longer[author] != "" && strings.HasPrefix(said+" ", m.longer[author]+" ") {
		author, said = author+" "+m.longer[author], strings.TrimPrefix(said[len(m.longer[author]):], " ")
	}
	if h.happened() || !ok {
		return "", h.rest
	}
	return author, said
}
