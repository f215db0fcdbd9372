package text

import (
	"strings"
)

// A negation is looked for after the words that only look like one have been
// taken out.
var (
	notNegated = strings.NewReplacer("不错", " ", "不过", " ", "不仅", " ", "不但", " ", "不光", " ", "不只", " ",
		"不管", " ", "不论", " ",
		"差不多", " ", "对不起", " ", "不少", " ", "不断", " ", "不久", " ", "不得不", " ", "不一会", " ", "没关系",
		" ", "没错", " ", "没问题", " ",
		"未来", " ", "特别", " ", "别人", " ", "别的", " ", "分别", " ", "区别", " ", "级别", " ", "性别", " ", "类别",
		" ", "告别", " ", "别墅", " ",
		"无论", " ", "无锡", " ", "无聊", " ", "无数", " ", "非常", " ", "除非", " ", "非洲", " ", "是非", " ", "非得",
		" ",
		"not only", " ", "no doubt", " ", "no matter", " ")
	negated = NewPattern(`[不没别未勿无非]|停止|取消|戒了|戒掉|拒绝|禁止|讨厌` +
		`|\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot` +
		`|stopped|stops|quit|cancell?ed|refuses|refused|banned|forbidden` +
		`|hardly|barely|rarely|seldom|unable|dislikes?|disliked|hates?|hated` +
		`|(?:ca|do|does|did|wo|is|are|was)nt)\b|n['’]t\b`)
)

// Negations returns what denies something in folded, simplified text.
func Negations(text string) (list []Detail) {
	for _, word := range negated.FindAllString(notNegated.Replace(text), -1) {
		list = append(list, Detail{Kind: Negation, Text: word})
	}
	return list
}
