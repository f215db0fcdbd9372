package export

import (
	"cmp"
	"encoding/json"
	"html"
	"maps"
	"slices"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

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
