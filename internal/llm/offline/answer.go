package offline

import (
	"bytes"
	"encoding/json"
	"fmt"

	"reverie/internal/text"
)

// writeAnswer writes JSON Lines of at most maxTokens estimated tokens (0: no
// limit); whole is false when it had to be cut off. No lines at all is said by
// the line none.
func writeAnswer[L any](lines []L, none string, maxTokens int) (s string, whole bool) {
	if len(lines) == 0 {
		return none + "\n", true
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	spent := 0
	for _, l := range lines {
		from := b.Len()
		if err := enc.Encode(l); err != nil {
			continue // a line holds strings and numbers only: it cannot fail
		}
		spent += text.EstimateTokens(b.String()[from:])
		if maxTokens > 0 && spent > maxTokens {
			return cutBytes(b.String(), from+(b.Len()-from)/2), false
		}
	}
	return b.String(), true
}

// The reasons, in the two languages of the statements.
type reasonKind uint8

const (
	reasonCreate reasonKind = iota
	reasonChange
	reasonDetail
	reasonEnd
	reasonStale
)

var reasons = map[reasonKind][2]string{
	reasonCreate: {"%d messages of this discussion say so", "这次讨论中有 %d 条消息都这么说"},
	reasonChange: {"the discussion says what holds instead", "讨论中说明了新的情况"},
	reasonDetail: {"the discussion restates it with more detail", "讨论中重申并补充了细节"},
	reasonEnd:    {"the discussion says that it no longer holds", "讨论中说明已不再如此"},
	reasonStale:  {"nothing has supported it for weeks", "已有数周没有消息支持"},
}

func reason(kind reasonKind, statement string, messages int) string {
	text := reasons[kind][0]
	if isDense(statement) {
		text = reasons[kind][1]
	}
	if kind == reasonCreate {
		return fmt.Sprintf(text, messages)
	}
	return text
}

// tagMarks name what a statement is by how it is put, in the order of choice.
var tagMarks = []struct {
	tag  string
	mark marker
}{
	{"rule", newMarker("must, rule, rules, agreed, should, don't, not allowed, forbidden, decided", "规定 规则 约定 说好 必须 不许 禁止 一律 统一 别", nil)},
	{"habit", newMarker("every, always, usually, each, weekly, monthly, tradition, mondays, tuesdays, wednesdays, thursdays, fridays, saturdays, sundays",
		"每周 每天 每月 每个 固定 总是 一直 习惯 惯例", nil)},
	{"preference", newMarker("prefer, prefers, like, likes, love, loves, hate, hates, favourite, favorite, better", "喜欢 讨厌 更好 最好 好用 难用 偏爱", nil)},
	{"plan", newMarker("plan, plans, deadline, going to, will, schedule", "计划 打算 截止 准备 上线", nil)},
}

// tagsOf returns at most one tag.
func tagsOf(t spoken) []string {
	for _, m := range tagMarks {
		if m.mark.in(t) {
			return []string{m.tag}
		}
	}
	return nil
}
