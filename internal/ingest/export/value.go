package export

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Text reads a string, or a number as platforms write ids.
type Text string

func (t *Text) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err == nil {
		*t = Text(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(raw, &n); err != nil {
		return fmt.Errorf("%q is neither a string nor a number", text.Excerpt(string(raw), 40))
	}
	*t = Text(n)
	return nil
}

// Mark is what an export says of a message, such as when it was edited: anything but null, false, 0 and what
// is empty. It is "" where nothing is said.
type Mark string

func (m *Mark) UnmarshalJSON(raw []byte) error {
	switch string(raw) {
	case "null", "false", "0", `""`, `"0"`, "{}", "[]":
		return nil
	}
	of := JSONFieldsOf(raw)
	*m = Mark(cmp.Or(TextOf(raw), TextOf(of["ts"]), TextOf(of["$date"]), "yes"))
	return nil
}

// When is the time that the mark is, nil where it is none.
func (m Mark) When(zone *time.Location) *time.Time {
	at, err := Time(string(m), zone)
	if err != nil {
		return nil
	}
	return &at
}

// Readable says of a value of the wrong type where it stands, not what the type
// is called in this program.
func Readable(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Field == "":
		return fmt.Errorf("the line is a JSON %s, not an object", wrong.Value)
	}
	return fmt.Errorf("%s is a JSON %s", wrong.Field, wrong.Value)
}

// As is what a value is as far as it is of that type; where it is not, it is not there.
func As[T any](raw json.RawMessage) (v T) {
	_ = json.Unmarshal(raw, &v) // see above
	return v
}

// TextOf is a value that is a string or a number, and "" where it is neither.
func TextOf(raw json.RawMessage) string { return string(As[Text](raw)) }

// PlainText reads a string, or the text of an object that has one.
func PlainText(raw json.RawMessage) string {
	if bytes.HasPrefix(raw, []byte("{")) {
		return JSONFieldsOf(raw).Str("text")
	}
	return As[string](raw)
}

// JSONFields is an object whose values may be of any type.
type JSONFields map[string]json.RawMessage

// UnmarshalJSON takes what is no object for an empty one.
func (f *JSONFields) UnmarshalJSON(raw []byte) error {
	*f = JSONFieldsOf(raw)
	return nil
}

func JSONFieldsOf(raw []byte) JSONFields {
	return As[map[string]json.RawMessage](raw)
}

// Str is a string, or "" where there is none.
func (f JSONFields) Str(key string) string {
	return As[string](f[key])
}

// Fields is an object, or an empty one where there is none.
func (f JSONFields) Fields(key string) JSONFields { return JSONFieldsOf(f[key]) }

// List is the objects of an array.
func (f JSONFields) List(key string) []JSONFields {
	return As[[]JSONFields](f[key])
}

// Digit is a digit of any script as one of ours; other letters stay as they are.
func Digit(r rune) rune {
	if r < 0x80 || !unicode.IsDigit(r) {
		return r
	}
	for zero := r; ; zero-- { // the digits of a script stand beside each other, from a zero on
		if r-zero == 9 || !unicode.IsDigit(zero-1) {
			return '0' + r - zero
		}
	}
}

// LastUnix is the last second of the year 9999.
const LastUnix = 253402300799

// unixTime reads seconds since 1970, with a fraction or without.
func unixTime(s string) (time.Time, bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	var nanos int64
	if err == nil && fraction != "" {
		nanos, err = strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	}
	if err != nil || seconds < 0 || nanos < 0 || seconds > LastUnix {
		return time.Time{}, false
	}
	return time.Unix(seconds, nanos).UTC(), true
}

// Time reads a time as exports write it: seconds or milliseconds since 1970, which programs
// mix up (twelve or thirteen digits are milliseconds), RFC 3339, or a date and a time
// by the clock of a zone. What is none, as 0 is, makes a bad record.
func Time(s string, zone *time.Location) (time.Time, error) {
	seconds := s
	whole, _, _ := strings.Cut(s, ".")
	if n := len(whole); n == 12 || n == 13 {
		seconds = whole[:n-3] + "." + whole[n-3:]
	}
	at, ok := unixTime(seconds)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00",
		"2006-01-02 15:04:05Z0700", "2006-01-02 15:04:05 Z07:00", "2006-01-02 15:04:05 Z0700",
		"2006-01-02T15:04:05", time.DateTime, "2006-01-02 15:04"} {
		if !ok {
			var err error
			at, err = time.ParseInLocation(layout, s, zone)
			ok = err == nil
		}
	}
	if !ok || at.Unix() == 0 {
		return time.Time{}, &Bad{Reason: "no time", Err: fmt.Errorf("%q is neither seconds nor milliseconds since 1970, "+
			"nor a date and time such as 2026-01-15T20:01:00+08:00: %w", text.Excerpt(s, 40), reverie.ErrInvalid)}
	}
	return at, nil
}

// rememberedTimes is how many pairs of a time and an author ordinals remembers at
// least: those of the last while of a chat, however long it is.
const rememberedTimes = 1 << 13

// Ordinals makes ids for the messages of a chat whose platform gives them none. An id
// stands for the chat, the time as it is written, the author, and which of the
// author's messages of that time it is, so that a longer export of the same chat
// gives the same ones. The zero value is ready.
type Ordinals struct{ Now, Before map[[2]string]int }

// ID is that of the next message of a time and author.
func (o *Ordinals) ID(chat, at, author string) string {
	key := [2]string{at, author}
	n := max(o.Now[key], o.Before[key]) + 1
	if o.Now == nil || len(o.Now) >= rememberedTimes {
		o.Now, o.Before = map[[2]string]int{}, o.Now
	}
	o.Now[key] = n
	sum := sha256.Sum256([]byte(strings.Join([]string{chat, at, author, strconv.Itoa(n)}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// Forwarded marks a text that somebody else wrote; author is "" where it is not known.
func Forwarded(author, text string) string {
	if author == "" {
		return "[forwarded] " + text
	}
	return "[forwarded from " + author + "] " + text
}

// JoinLines puts lines below each other, without the empty ones.
func JoinLines(lines ...string) string {
	var out []string
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// PollText is what a poll asks, and the answers that it offers.
func PollText(question string, answers []string) string {
	lines := []string{question}
	for _, a := range answers {
		if a = strings.TrimSpace(a); a != "" {
			lines = append(lines, "- "+a)
		}
	}
	return JoinLines(lines...)
}

// Shortened cuts a name to what is stored of one.
func Shortened(s string) string {
	if len(s) <= reverie.MaxMessageIDLength {
		return s
	}
	return strings.ToValidUTF8(s[:reverie.MaxMessageIDLength], "")
}

// MaxNames bounds how many names are learned from messages.
const MaxNames = 100_000

// Placeholder is what exporters of chats put in the place of what is no text: [图片],
// [表情178], [Image: a.png], [语音 7秒].
var Placeholder = text.NewPattern(`(?i)\[(?:图片|照片|闪照|动画表情|商城表情|表情包|表情|贴纸|语音|视频|短视频|文件|位置|地理位置|名片|卡片|小程序|链接|分享|转发|聊天记录|合并转发|JSON|XML|Markdown|音乐|` +
	`image|picture|photo|sticker|emoji|gif|voice|audio|video|file|attachment|location|contact|link|share|forward|card)` +
	`(?:消息| message)?(?:\d+|[:：]? *(?:[^\[\]\n]|\[[^\[\]\n]*\])*)?\]`)

var (
	// quotedReply is what exporters put in front of an answer: [回复 Lin: what she said].
	QuotedReply = text.NewPattern(`^\s*\[(?:回复|引用)[^\n]*\]\s*`)

	// fileName is a text that only names a file: its name, path or address.
	fileName = text.NewPattern(`(?i)^(?:[a-z][a-z0-9+.-]*://\S*|data:\S*|[/\\]\S*|[^\n]{1,200}\.[a-z0-9]{1,5})$`)
)

// WithoutPlaceholders takes them out of a text wherever they stand.
func WithoutPlaceholders(s string) string {
	if !strings.Contains(s, "[") {
		return strings.TrimSpace(s)
	}
	return strings.TrimSpace(Placeholder.ReplaceAllString(s, ""))
}

// UnlessPlaceholder returns a text that somebody wrote as it is, and "" where all of it is
// one placeholder.
func UnlessPlaceholder(s string) string {
	all := strings.TrimSpace(s)
	if len(all) > longPlaceholder || !strings.HasPrefix(all, "[") || !strings.HasSuffix(all, "]") {
		return s
	}
	if at := Placeholder.FindStringIndex(all); at != nil && at[0] == 0 && at[1] == len(all) {
		return ""
	}
	return s
}

// longPlaceholder is how long a placeholder is at most that stands by itself, in bytes.
const longPlaceholder = 1 << 10

// Caption is what is said with an attachment, other than which file it is.
func Caption(s string) string {
	if s = WithoutPlaceholders(s); fileName.MatchString(s) {
		return ""
	}
	return s
}

// CardText is what a card of QQ says (a link, a mini program): its title, its description
// and where it leads. The card is JSON, or a string of it.
func CardText(raw json.RawMessage) string {
	if s := TextOf(raw); s != "" {
		raw = json.RawMessage(html.UnescapeString(s))
	}
	var card struct {
		Meta map[string]json.RawMessage `json:"meta"`
	}
	if json.Unmarshal(raw, &card) != nil {
		return ""
	}
	for _, kind := range slices.Sorted(maps.Keys(card.Meta)) { // there is one as a rule
		var m struct {
			Title   Text `json:"title"`
			Desc    Text `json:"desc"`
			JumpURL Text `json:"jumpUrl"`
			DocURL  Text `json:"qqdocurl"`
			Address Text `json:"address"`
		}
		if json.Unmarshal(card.Meta[kind], &m) == nil && m.Title+m.Desc+m.Address != "" {
			return JoinLines(string(m.Title), string(m.Desc), string(m.Address), string(cmp.Or(m.DocURL, m.JumpURL)))
		}
	}
	return ""
}
