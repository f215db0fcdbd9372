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
	"job.propose":    {"propose", "提议"},
	"job.maintain":   {"maintain", "维护"},

	"purpose.evolve":    {"evolve", "演进"},
	"purpose.observe":   {"observe", "观察人物"},
	"purpose.extract":   {"extract", "提取"},
	"purpose.summarize": {"summarize", "摘要"},
	"purpose.dream":     {"dream", "做梦"},
	"purpose.compare":   {"compare", "比对"},
	"purpose.embed":     {"embed", "嵌入"},
	"purpose.search":    {"search", "检索"},
	"purpose.feedback":  {"feedback", "反馈"},
	"purpose.doctor":    {"doctor", "自检"},

	"outcome.ok":           {"ok", "成功"},
	"outcome.truncated":    {"truncated", "被截断"},
	"outcome.refused":      {"refused", "被拒答"},
	"outcome.other":        {"other", "其他"},
	"outcome.rate_limited": {"rate limited", "被限速"},
	"outcome.server_error": {"server error", "服务器错误"},
	"outcome.timeout":      {"timeout", "超时"},
	"outcome.network":      {"network", "网络错误"},
	"outcome.unauthorized": {"unauthorized", "未授权"},
	"outcome.not_found":    {"not found", "找不到模型"},
	"outcome.too_large":    {"too large", "超出长度"},
	"outcome.bad_request":  {"bad request", "请求无效"},
	"outcome.unrecorded":   {"unrecorded", "未录制"},
	"outcome.canceled":     {"canceled", "已取消"},

	"action.keep":     {"keep", "保留"},
	"action.update":   {"update", "更新"},
	"action.create":   {"create", "新增"},
	"action.delete":   {"delete", "删除"},
	"action.restore":  {"restore", "恢复"},
	"action.archive":  {"archive", "归档"},
	"action.strength": {"strength", "强度"},
	"action.weight":   {"weight", "权重"},
	"action.undo":     {"undo", "撤回"},
	"action.hold":     {"hold", "搁置"},
}
