package web

// costTexts are of the page of costs.
var costTexts = map[string]wording{
	"cost.title":        {"Cost", "费用"},
	"cost.days":         {"Days", "天数"},
	"cost.last":         {"last %d days", "最近 %d 天"},
	"cost.total":        {"Together", "合计"},
	"cost.chart":        {"USD by day", "每日美元"},
	"cost.chart_tokens": {"Tokens by day", "每日 Token"},
	"cost.free":         {"Nothing of this was charged: the models are offline, or their prices are not in [llm] prices. The picture shows tokens.", "没有产生费用：使用离线模型，或 [llm] prices 中没有其价格。图中显示 Token 数。"},
	"cost.desc":         {"From %s on the left to %s on the right, in UTC. The table of days below has the same numbers.", "左起 %s，右至 %s（UTC）。下方的每日表格列有同样的数字。"},
	"cost.day":          {"%d call, %s tokens, %s USD|%d calls, %s tokens, %s USD", "%d 次调用，%s token，%s 美元"},
	"cost.by_day":       {"By day", "按日"},
	"cost.by_group":     {"By group", "按群组"},
	"cost.by_model":     {"By model", "按模型"},
	"cost.date":         {"Date", "日期"},
	"cost.calls":        {"Calls", "调用"},
	"cost.failed":       {"Failed", "失败"},
	"cost.in":           {"Tokens in", "输入 Token"},
	"cost.out":          {"Tokens out", "输出 Token"},
	"cost.usd":          {"USD", "美元"},
	"cost.none":         {"No model was asked in this time.", "这段时间没有调用模型。"},
}
