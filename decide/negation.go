package decide

import (
	"regexp"
	"strings"
)

// A negation is looked for after the words that only look like one have been
// taken out.
var (
	notNegated = strings.NewReplacer("不错", " ", "不过", " ", "不仅", " ", "不但", " ", "不光", " ", "不只", " ", "不管", " ", "不论", " ",
		"差不多", " ", "对不起", " ", "不少", " ", "不断", " ", "不久", " ", "不得不", " ", "不一会", " ", "没关系", " ", "没错", " ", "没问题", " ",
		"无论", " ", "未来", " ", "特别", " ", "别人", " ", "别的", " ", "分别", " ", "区别", " ", "级别", " ", "性别", " ", "类别", " ", "告别", " ", "别墅", " ",
		"not only", " ", "no doubt", " ", "no matter", " ")
	negated = regexp.MustCompile(`[不没别未勿]|并非|绝非|从无|毫无|停止|取消|戒了|戒掉|拒绝|禁止` +
		`|\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|stopped|stops|quit|cancell?ed|refuses|refused|banned|forbidden)\b|n['’]t\b`)
)

// negation returns what denies something in folded, simplified text, "" if
// nothing does.
func negation(text string) string {
	return negated.FindString(notNegated.Replace(text))
}
