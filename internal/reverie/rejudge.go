package reverie

import "strings"

// What a memory rests on that changed, and what befell that: together why the memory is
// judged again.
const (
	RestsOnMemory   = "a memory that it rests on "
	RestsOnMessages = "a memory that rests on the same messages "

	WasUpdated   = "was updated"
	WasDeleted   = "was deleted"
	WasTakenBack = "was taken back"
)

// judgeReasons are the reasons in Chinese.
var judgeReasons = []struct{ english, chinese string }{
	{RestsOnMemory + WasUpdated, "它所依据的一条记忆已更新"},
	{RestsOnMemory + WasDeleted, "它所依据的一条记忆已删除"},
	{RestsOnMemory + WasTakenBack, "它所依据的一条记忆已撤销"},
	{RestsOnMessages + WasUpdated, "与它依据相同消息的一条记忆已更新"},
	{RestsOnMessages + WasDeleted, "与它依据相同消息的一条记忆已删除"},
	{"evidence erased", "它的依据已被抹除"},
}

// JudgeReasonChinese says in Chinese why a memory is judged again. The words of memories
// in it stay as they are.
func JudgeReasonChinese(reason string) string {
	for _, r := range judgeReasons {
		if rest, ok := strings.CutPrefix(reason, r.english); ok && (rest == "" || strings.HasPrefix(rest, ": ")) {
			return r.chinese + strings.Replace(rest, ": ", "：", 1)
		}
	}
	return reason
}
