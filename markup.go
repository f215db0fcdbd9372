package reverie

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// findLink returns the first address in plain text, "" without one: anything
// with a scheme, www., Markdown links and images, data URIs, and domains that
// are followed by a path, port or query. Names with points in them pass
// (Node.js, v1.2.3, main.go), and so does a bare domain.
func findLink(text string) string {
	if !strings.ContainsAny(text, ":/.](\\") {
		return ""
	}
	return links.FindString(text)
}

var links = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`\b[a-z][a-z0-9+.-]{1,15}://\S*`,
	`\bhttps?:[\\/]\S*`,
	`\bwww[.。][a-z0-9-]+\S*`,
	`\b(?:javascript|vbscript|data|blob):[^\s,]{0,60}[(;,]\S*`,
	`\b(?:mailto|tel|sms|magnet|tg|slack|discord|steam|weixin|mqqapi):[^\s:]+[@?=/0-9]\S*`,
	`!?\[[^\]\n]*\]\s?\([^)\n]*\)`,
	`\[[^\]\n]+\]:\s*\S+[./]\S*`,
	`\b(?:[a-z0-9-]+[.。])+(?:` + topLevel + `)(?::[0-9]{2,5}|[/?][^\s。，,]*)`,
	`\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?::[0-9]{2,5}\b|(?::[0-9]+)?/[^\s0-9]\S*)`,
}, "|"))

// topLevel are the domains under which chat links live, without those that are
// better known as file endings (py, rs, md, pl).
const topLevel = `com|net|org|edu|gov|mil|int|info|biz|name|io|ai|co|me|tv|cc|cn|jp|kr|tw|hk|sg|uk|us|eu|de|fr|ru|in|nl|au|ca|br|it|es|ch|se|no|fi|at|be|cz|dk|nz|mx|ar|tr|ua|vn|th|my|id|ph|za|` +
	`app|dev|xyz|top|site|online|shop|store|club|vip|pro|link|live|news|blog|cloud|tech|space|fun|icu|work|life|world|email|page|wiki|art|games?|chat|zone|run|bot|` +
	`gg|ly|to|so|fm|im|gl|gd|is|la|lol|tk|ml|ga|cf|be|ws|su|st|ee|onion|中国|公司|网络`

// findMarkup returns the first piece of markup in plain text, "" without one:
// HTML and role tags, the control words of chat templates, role prefixes, code
// fences and headings. Comparisons (a < b), hearts (<3) and generic types
// (List<String>) pass.
func findMarkup(text string) string {
	if m := markup.FindString(text); m != "" {
		return strings.TrimSpace(m)
	}
	for _, m := range tags.FindAllStringSubmatchIndex(text, -1) {
		before, _ := utf8.DecodeLastRuneInString(text[:m[0]])
		name := strings.ToLower(text[m[2]:m[3]])
		if text[m[0]+1] == ' ' && !dangerousTags[name] {
			continue // a < b and b > c
		}
		if isSpaced(before) && text[m[3]] == '>' && !dangerousTags[name] {
			continue // List<String>
		}
		return text[m[0]:m[1]]
	}
	return ""
}

var markup = regexp.MustCompile(`(?i)` + strings.Join([]string{
	"```|~~~",
	`<!--|<!\[CDATA\[|<!DOCTYPE|<\?(?:xml|php)`,
	`<\s?\|[^|<>\n]{1,40}\|\s?>`,
	`\[/?(?:INST|SYS|SYSTEM|ASSISTANT|USER|TOOL|END|BEGIN)\]|<</?SYS>>`,
	`^\s*#{1,6}\s`,
	`#{2,6}\s*(?:system|instructions?|response|user|assistant|human|input|output|prompt|context|task|系统|指令|提示|用户|助手)`,
	`(?:^|[.。!！?？;；|)\]"”]\s?)["'“*_]{0,2}(?:system|assistant|developer|human|ai)(?: (?:message|prompt|note|override|notice))?["'”*_]{0,2}\s?:`,
	`^["'“*_]{0,2}(?:user|bot|系统(?:消息|提示词?|指令|通知|设定)?|助手|用户|开发者|人工智能)["'”*_]{0,2}\s?:`,
	`[。!?;]\s?(?:系统(?:消息|提示词?|指令|通知|设定)|助手)\s?:`,
	`"role"\s?:\s?"`,
	`\{\{|\{%|\$\{`,
	`&(?:lt|gt|#x?[0-9a-f]{2,6});`,
}, "|"))

var tags = regexp.MustCompile(`(?i)<\s?/?\s?([a-z][a-z0-9_:.-]{0,40})(?:\s[^<>]{0,200})?\s?/?\s?>`)

// dangerousTags are never taken for the argument of a generic type.
var dangerousTags = map[string]bool{
	"script": true, "img": true, "a": true, "iframe": true, "svg": true, "style": true, "br": true, "div": true, "span": true,
	"system": true, "user": true, "assistant": true, "instructions": true, "instruction": true, "prompt": true, "tool": true,
	"memory": true, "memories": true, "data": true, "think": true, "im_start": true, "s": true,
}
