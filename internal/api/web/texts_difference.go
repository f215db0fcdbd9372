package web

// differenceTexts are of the difference between two dates.
var differenceTexts = map[string]wording{
	"difference.title":   {"What changed between two dates", "两个日期之间的变化"},
	"difference.about":   {"Compares what was active when the one date began with what was active when the other did. Without a second date, with now.", "比较两个日期开始时各自生效的记忆；不填第二个日期，则与现在比较。"},
	"difference.from":    {"From", "从"},
	"difference.to":      {"To (optional)", "到（可选）"},
	"difference.compare": {"Compare", "比较"},
	"difference.counts":  {"%d added, %d changed, %d gone, %d as before.", "新增 %d 条，改写 %d 条，消失 %d 条，未变 %d 条。"},
	"difference.passing": {"%d more came and went in between, or changed and changed back.|%d more came and went in between, or changed and changed back.", "另有 %d 条在此期间出现又消失，或改后又改回。"},
	"difference.cut":     {"Only the first of them are shown.", "仅显示前面的部分。"},
	"difference.none":    {"No difference.", "没有变化。"},
	"difference.back":    {"remembered before", "曾经记住"},
	"difference.tags":    {"Tags:", "标签："},

	"different.added":   {"Added", "新增"},
	"different.changed": {"Changed", "改写"},
	"different.gone":    {"Gone", "消失"},
}
