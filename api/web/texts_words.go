package web

// wordTexts are words of sets: what the rest of the product calls them is what comes
// after the dot.
var wordTexts = map[string]wording{
	"scope.read":  {"read", "只读"},
	"scope.write": {"write", "可写"},
	"scope.admin": {"admin", "管理"},

	"state.active": {"active", "正常"},
	"state.paused": {"paused", "已暂停"},
	"state.parked": {"parked", "已搁置"},

	"status.running":   {"running", "进行中"},
	"status.succeeded": {"succeeded", "成功"},
	"status.held":      {"held", "待审"},
	"status.deferred":  {"deferred", "已推迟"},
	"status.failed":    {"failed", "失败"},
	"status.rejected":  {"rejected", "已驳回"},

	"job.evolve":     {"evolve", "演进"},
	"job.impression": {"impression", "印象"},
	"job.extract":    {"extract", "提取"},
	"job.dream":      {"dream", "做梦"},
	"job.maintain":   {"maintain", "维护"},

	"action.keep":     {"keep", "保留"},
	"action.update":   {"update", "更新"},
	"action.create":   {"create", "新增"},
	"action.delete":   {"delete", "删除"},
	"action.restore":  {"restore", "恢复"},
	"action.archive":  {"archive", "归档"},
	"action.strength": {"strength", "强度"},
	"action.weight":   {"weight", "权重"},
	"action.undo":     {"undo", "撤回"},
}
