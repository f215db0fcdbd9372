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

// Text is a string, or a number, since platforms write ids as either.
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

// Mark is an optional property of a message, such as when it was edited. null, false, 0 and empty values become "".
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

// When returns the mark as a time, nil if it is not one.
func (m Mark) When(zone *time.Location) *time.Time {
	at, err := Time(string(m), zone)
	if err != nil {
		return nil
	}
	return &at
}

// Readable describes a value of the wrong type by its place, without the names of this program's types.
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

// As returns a value if it has that type, otherwise the zero value.
func As[T any](raw json.RawMessage) (v T) {
	_ = json.Unmarshal(raw, &v) // an error leaves the zero value
	return v
}

// TextOf returns a string or number, "" for other values.
func TextOf(raw json.RawMessage) string { return string(As[Text](raw)) }

// PlainText returns a string, or the text of an object that has one.
func PlainText(raw json.RawMessage) string {
	if bytes.HasPrefix(raw, []byte("{")) {
		return JSONFieldsOf(raw).Str("text")
	}
	return As[string](raw)
}

// JSONFields is an object with values of any type.
type JSONFields map[string]json.RawMessage

// UnmarshalJSON turns a value that is not an object into an empty one.
func (f *JSONFields) UnmarshalJSON(raw []byte) error {
	*f = JSONFieldsOf(raw)
	return nil
}

func JSONFieldsOf(raw []byte) JSONFields {
	return As[map[string]json.RawMessage](raw)
}

// Str returns a string, or "" if there is none.
func (f JSONFields) Str(key string) string {
	return As[string](f[key])
}

// Fields returns an object, or an empty one if there is none.
func (f JSONFields) Fields(key string) JSONFields { return JSONFieldsOf(f[key]) }

// List returns the objects of an array.
func (f JSONFields) List(key string) []JSONFields {
	return As[[]JSONFields](f[key])
}

// Digit converts a digit of any script to ASCII; other characters stay unchanged.
func Digit(r rune) rune {
	if r < 0x80 || !unicode.IsDigit(r) {
		return r
	}
	for zero := r; ; zero-- { // the digits of a script are consecutive, from its zero on
		if r-zero == 9 || !unicode.IsDigit(zero-1) {
			return '0' + r - zero
		}
	}
}

// LastUnix is the last second of the year 9999.
const LastUnix = 253402300799

// unixTime parses seconds since 1970, with or without a fraction.
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

// Time parses a time of an export: seconds or milliseconds since 1970, RFC 3339, or a date and a time in the zone.
// Programs confuse seconds and milliseconds, so twelve or thirteen digits are milliseconds. An invalid time, such
// as 0, makes the record bad.
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

// rememberedTimes is the minimum number of pairs of time and author that ordinals remember: those of the latest
// part of a chat.
const rememberedTimes = 1 << 13

// Ordinals generates ids for messages of platforms without ids. An id depends on the chat, the time as written, the
// author, and the number of the message among the author's of that time. So a longer export of the same chat gives
// the same ids. The zero value is ready.
type Ordinals struct{ Now, Before map[[2]string]int }

// ID returns the id of the next message of a time and author.
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

// Forwarded marks a text by another author; author is "" if unknown.
func Forwarded(author, text string) string {
	if author == "" {
		return "[forwarded] " + text
	}
	return "[forwarded from " + author + "] " + text
}

// JoinLines joins non-empty lines.
func JoinLines(lines ...string) string {
	var out []string
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// PollText returns the question and the choices of a poll.
func PollText(question string, answers []string) string {
	lines := []string{question}
	for _, a := range answers {
		if a = strings.TrimSpace(a); a != "" {
			lines = append(lines, "- "+a)
		}
	}
	return JoinLines(lines...)
}

// Shortened cuts a name to its maximum stored length.
func Shortened(s string) string {
	if len(s) <= reverie.MaxMessageIDLength {
		return s
	}
	return strings.ToValidUTF8(s[:reverie.MaxMessageIDLength], "")
}

// MaxNames bounds the number of names learned from messages.
const MaxNames = 100_000

// Placeholder matches what exporters of chats write instead of non-text content: [图片], [表情178], [Image:
// a.png], [语音 7秒].
var Placeholder = text.NewPattern(`(?i)\[(?:图片|照片|闪照|动画表情|商城表情|表情包|表情|贴纸|语音|视频|短视频|文件|位置|地理位置|名片|卡片|小程序|链接|分享|转发|聊天记录|合并转发|JSON|XML|Markdown|音乐|` +
	`image|picture|photo|sticker|emoji|gif|voice|audio|video|file|attachment|location|contact|link|share|forward|card)` +
	`(?:消息| message)?(?:\d+|[:：]? *(?:[^\[\]\n]|\[[^\[\]\n]*\])*)?\]`)

var (
	// QuotedReply matches what exporters write before a reply: [回复 Lin: what she said].
	QuotedReply = text.NewPattern(`^\s*\[(?:回复|引用)[^\n]*\]\s*`)

	// FileName matches a text that only names a file: its name, path or address.
	fileName = text.NewPattern(`(?i)^(?:[a-z][a-z0-9+.-]*://\S*|data:\S*|[/\\]\S*|[^\n]{1,200}\.[a-z0-9]{1,5})$`)
)

// WithoutPlaceholders removes all placeholders from a text.
func WithoutPlaceholders(s string) string {
	if !strings.Contains(s, "[") {
		return strings.TrimSpace(s)
	}
	return strings.TrimSpace(Placeholder.ReplaceAllString(s, ""))
}

// UnlessPlaceholder returns a text unchanged, or "" if it is a single placeholder.
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

// longPlaceholder is the maximum length of a placeholder that is the whole text, in bytes.
const longPlaceholder = 1 << 10

// Caption returns the text of an attachment, "" if it is only a file name.
func Caption(s string) string {
	if s = WithoutPlaceholders(s); fileName.MatchString(s) {
		return ""
	}
	return s
}

// CardText returns the text of a QQ card (a link, a mini program): its title, description and target. The card is
// JSON, or a string of it.
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
	for _, kind := range slices.Sorted(maps.Keys(card.Meta)) { // usually there is one
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
