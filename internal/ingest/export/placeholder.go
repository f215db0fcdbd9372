package export

import (
	"strings"

	"reverie/internal/text"
)

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
