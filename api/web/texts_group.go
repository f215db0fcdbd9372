package web

// groupTexts are of the list of groups and of a group's timeline.
var groupTexts = map[string]wording{
	"groups.title":    {"Groups", "群组"},
	"groups.search":   {"Group id", "群号"},
	"groups.find":     {"Find", "查找"},
	"groups.near":     {"No group has the id %q. These are those that follow it.", "没有群号为 %q 的群。以下是排在其后的群。"},
	"groups.all":      {"All groups", "全部群组"},
	"groups.group":    {"Group", "群"},
	"groups.state":    {"State", "状态"},
	"groups.memories": {"Memories", "记忆"},
	"groups.pending":  {"Pending messages", "待处理消息"},
	"groups.last":     {"Last run", "最近运行"},
	"groups.never":    {"never", "从未"},
	"groups.none":     {"There are no groups yet. A group begins with its messages:", "还没有群组。导入消息后即可看到："},
}
