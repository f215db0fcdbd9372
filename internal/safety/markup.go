package safety

import (
	"strings"
	"sync"
	"unicode/utf8"

	"reverie/internal/text"
)

// findLink returns the first address in plain text, "" without one: anything
// with a scheme, www., Markdown links and images, data URIs, and domains that
// are followed by a path, port or query. Names with points in them pass
// (Node.js, v1.2.3, main.go), and so does a bare domain.
func findLink(text string) string { return links().find(text) }

var links = sync.OnceValue(func() *patterns {
	return newPatterns([]pattern{
		newPattern(`(?i)\b[a-z][a-z0-9+.-]{1,15}://\S*`, "://"),
		newPattern(`(?i)\bhttps?:[\\/]\S*`, "http"),
		newPattern(`(?i)\b[a-z0-9-]+ (?:dot|\[dot\]|\(dot\)) (?:com|net|org|io|cn)\b|[a-z0-9]\[\.\][a-z]`, "dot", "[.]"),
		newPattern(`(?i)\bwww[.。][a-z0-9-]+\S*`, "www"),
		newPattern(`(?i)\b(?:javascript|vbscript|data|blob):[^\s,]{0,60}[(;,]\S*`, "javascript:", "vbscript:", "data:", "blob:"),
		newPattern(`(?i)\b(?:mailto|tel|sms|magnet|tg|slack|discord|steam|weixin|mqqapi):[^\s:]+[@?=/0-9]\S*`, "mailto:", "tel:", "sms:", "magnet:", "tg:", "slack:", "discord:", "steam:", "weixin:", "mqqapi:"),
		newPattern(`!?\[[^\]\n]*\]\s?\([^)\n]*\)`, "](", "] ("),
		newPattern(`\[[^\]\n]+\]:\s*\S+[./]\S*`, "]:"),
		newPattern(`(?i)\b(?:[a-z0-9-]+[.。])+(?:`+topLevel+`)(?::[0-9]{2,5}|[/?][^\s。，,]*)`, domainEnds()...),
		newPattern(`\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?::[0-9]{2,5}\b|(?::[0-9]+)?/[^\s0-9]\S*)`, ".0", ".1", ".2", ".3", ".4", ".5", ".6", ".7", ".8", ".9").
			and("0:", "1:", "2:", "3:", "4:", "5:", "6:", "7:", "8:", "9:", "0/", "1/", "2/", "3/", "4/", "5/", "6/", "7/", "8/", "9/"),
	})
})

// domainEnds are the words that make a domain with a path, port or query worth
// a look: .com/ and so on.
func domainEnds() (ends []string) {
	for _, domain := range strings.Split(strings.ReplaceAll(topLevel, "games?", "game|games"), "|") {
		for _, next := range []string{"/", ":", "?"} {
			ends = append(ends, "."+domain+next, "。"+domain+next)
		}
	}
	return ends
}

// topLevel are the domains under which chat links live, without those that are
// better known as file endings (py, rs, md, pl).
const topLevel = `com|net|org|edu|gov|mil|int|info|biz|name|io|ai|co|me|tv|cc|cn|jp|kr|tw|hk|sg|uk|us|eu|de|fr|ru|in|nl|au|ca|br|it|es|ch|se|no|fi|at|be|cz|dk|nz|mx|ar|tr|ua|vn|th|my|id|ph|za|` +
	`app|dev|xyz|top|site|online|shop|store|club|vip|pro|link|live|news|blog|cloud|tech|space|fun|icu|work|life|world|email|page|wiki|art|games?|chat|zone|run|bot|` +
	`gg|ly|to|so|fm|im|gl|gd|is|la|lol|tk|ml|ga|cf|be|ws|su|st|ee|onion|中国|公司|网络|example|test|invalid`

// findMarkup returns the first piece of markup in plain text, "" without one:
// HTML and role tags, the control words of chat templates, role prefixes, code
// fences and headings. Comparisons (a < b), hearts (<3) and generic types
// (List<String>) pass.
func findMarkup(s string) string {
	if m := markup().find(s); m != "" {
		return m
	}
	if !strings.Contains(s, "<") {
		return ""
	}
	for _, m := range tags.FindAllStringSubmatchIndex(s, -1) {
		before, _ := utf8.DecodeLastRuneInString(s[:m[0]])
		name := strings.ToLower(s[m[2]:m[3]])
		if s[m[0]+1] == ' ' && !dangerousTags[name] {
			continue // a < b and b > c
		}
		ends := strings.Contains(s[m[0]:m[2]], "/")
		if text.IsSpaced(before) && !ends && s[m[3]] == '>' && !dangerousTags[name] {
			continue // List<String>
		}
		return s[m[0]:m[1]]
	}
	return ""
}

var markup = sync.OnceValue(func() *patterns {
	const roles = `(?:system|assistant|developer|human|ai)(?: (?:message|prompt|note|override|notice))?`
	const zhRoles = `系统(?:消息|提示词?|指令|通知|设定)?`
	return newPatterns([]pattern{
		newPattern("```|~~~", "```", "~~~"),
		newPattern(`(?i)<!--|<!\[CDATA\[|<!DOCTYPE|<\?(?:xml|php)`, "<!", "<?"),
		newPattern(`<\s?\|[^|<>\n]{1,40}\|\s?>`, "<|", "< |"),
		newPattern(`(?i)\[/?(?:INST|SYS|SYSTEM|ASSISTANT|USER|TOOL|END|BEGIN)\]|<</?SYS>>`, "inst]", "sys]", "system]", "assistant]", "user]", "tool]", "end]", "begin]", "sys>>"),
		newPattern(`^\s*#{1,6}\s`, "# "),
		newPattern(`(?i)#{2,6}\s*(?:system|instructions?|response|user|assistant|human|input|output|prompt|context|task|系统|指令|提示|用户|助手)`, "##"),
		newPattern(`(?i)(?:^|[.。!！?？;；|)\]"”]\s?)["'“*_]{0,2}`+roles+`["'”*_]{0,2}\s?:`, ":").and("system", "assistant", "developer", "human", "ai"),
		newPattern(`(?i)^["'“*_]{0,2}(?:user|bot|助手|用户|开发者|人工智能|`+zhRoles+`)["'”*_]{0,2}\s?:`, ":").and("user", "bot", "助手", "用户", "开发者", "人工智能", "系统"),
		newPattern(`[。!?;]\s?(?:`+zhRoles+`|助手)\s?:`, "系统", "助手"),
		newPattern(`\{\s?["'][^"'{}]{1,60}["']\s?:`, `{`),
		newPattern(`\{\{|\{%|\$\{`, "{{", "{%", "${"),
		newPattern(`(?i)&(?:lt|gt|#x?[0-9a-f]{2,6});`, "&lt", "&gt", "&#"),
	})
})

var tags = text.NewPattern(`(?i)<\s?/?\s?([a-z\p{Han}][a-z0-9\p{Han}_:.-]{0,40})(?:\s[^<>]{0,200})?\s?/?\s?>`)

// dangerousTags are never taken for the argument of a generic type.
var dangerousTags = map[string]bool{
	"script": true, "img": true, "a": true, "iframe": true, "svg": true, "style": true, "br": true, "div": true, "span": true,
	"system": true, "user": true, "assistant": true, "instructions": true, "instruction": true, "prompt": true, "tool": true,
	"memory": true, "memories": true, "data": true, "think": true, "im_start": true, "s": true,
}
