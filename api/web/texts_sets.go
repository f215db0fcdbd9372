package web

// setTexts are words of sets that memories, people and messages have.
var setTexts = map[string]wording{
	"standing.active":     {"active", "有效"},
	"standing.archived":   {"archived", "已归档"},
	"standing.held":       {"held", "待审"},
	"standing.deprecated": {"superseded or deleted", "已被取代或删除"},
	"standing.all":        {"all", "全部"},

	"kind.all":     {"all", "全部"},
	"kind.group":   {"group", "群组"},
	"kind.session": {"session", "会话"},
	"kind.dream":   {"dream", "梦境"},
	"kind.team":    {"team", "团队"},

	"entity.all":    {"all", "全部"},
	"entity.person": {"person", "人"},
	"entity.bot":    {"bot", "机器人"},
	"entity.thing":  {"thing", "事物"},

	"made.create":  {"Created", "新增，"},
	"made.update":  {"Rewritten", "改写，"},
	"made.restore": {"Restored", "恢复，"},
	"made.undo":    {"Brought back", "还原，"},

	"befell.keep":     {"supported", "得到佐证"},
	"befell.delete":   {"deleted", "删除"},
	"befell.archive":  {"archived", "归档"},
	"befell.strength": {"strength set", "设定强度"},
	"befell.weight":   {"weight set", "设定权重"},
	"befell.undo":     {"taken back", "撤回"},

	"decided.ADD":        {"new, and added", "新事实，已添加"},
	"decided.UPDATE":     {"more on what was known, and put together with it", "对已知内容的补充，已合并"},
	"decided.DELETE+ADD": {"against what was known, and took its place", "与已知内容矛盾，已取而代之"},
	"decided.NONE":       {"known already", "已经知道"},
	"decided.HOLD":       {"held for a person", "留待人工审批"},
	"decided.SKIP":       {"not stored", "未存储"},

	"basis.hash":     {"the very words were known", "原话已有记录"},
	"basis.none":     {"no memory came near enough to be compared", "没有足够相近的记忆可比对"},
	"basis.shown":    {"the model that wrote it had the memories before it", "撰写时模型已看到现有记忆"},
	"basis.compared": {"a model compared it with what comes near it", "模型已与相近记忆比对"},
	"basis.fallback": {"the comparison failed, and the fallback applied", "比对失败，按后备方式处理"},

	"relation.duplicate": {"says the same", "内容相同"},
	"relation.update":    {"same subject", "同一主题"},
	"relation.conflict":  {"contradicts", "相互矛盾"},
	"relation.unrelated": {"unrelated", "无关"},

	"fate.offered":       {"offered", "采用"},
	"fate.repeats":       {"repeats a better one", "与更优者重复"},
	"fate.worthless":     {"a factor is 0", "某因子为 0"},
	"fate.own_summary":   {"sums up this very session", "即本会话的摘要"},
	"fate.beyond_count":  {"beyond the count", "超出条数"},
	"fate.beyond_tokens": {"no room", "空间不足"},
	"fate.not_similar":   {"not similar enough to trigger", "未达触发相似度"},
	"fate.below":         {"not similar enough", "相似度不足"},
	"fate.pending":       {"pending", "待处理"},
	"fate.cited":         {"cited", "被引用"},
	"fate.considered":    {"considered", "已阅"},
	"fate.filtered":      {"filtered", "已过滤"},

	"skipped.first_round":     {"No memories were looked up: nobody has answered in this session yet.", "未查找记忆：本会话尚无回答。"},
	"skipped.query_too_short": {"No memories were looked up: the query is too short.", "未查找记忆：查询太短。"},
	"skipped.no_keyword":      {"No memories were looked up: the query has none of the keywords.", "未查找记忆：查询中没有触发关键词。"},
	"skipped.not_similar":     {"No memories are offered: none comes near enough to trigger them.", "未提供记忆：没有足够相近的记忆。"},
	"skipped.trigger_never":   {"No memories were looked up: the configuration says never.", "未查找记忆：配置为从不查找。"},
	"skipped.no_embeddings":   {"No memories were looked up: no embedding model is configured or reachable.", "未查找记忆：未配置嵌入模型或无法连接。"},

	"dreampart.preference": {"Preferences", "偏好"},
	"dreampart.theme":      {"Themes", "主题"},
	"dreampart.todo":       {"Open threads", "未了之事"},
	"dreampart.done":       {"Closed lately", "近期了结"},
	"dreampart.other":      {"Besides", "其他"},

	"role.assistant": {"bot", "机器人"},
	"role.tool":      {"tool", "工具"},

	"filter.empty":   {"no words", "无文字"},
	"filter.event":   {"an event", "系统事件"},
	"filter.command": {"a command to a bot", "给机器人的命令"},
	"filter.bot":     {"a bot", "机器人消息"},

	"became.create":   {"created", "创建"},
	"became.name":     {"named", "得名"},
	"became.claim":    {"new claim", "新说法"},
	"became.replace":  {"replaced", "更替"},
	"became.merge":    {"merged", "合并"},
	"became.unmerge":  {"separated", "拆分"},
	"became.withdraw": {"withdrawn", "撤回"},

	"held_step.create": {"Would make a new memory.", "将新增一条记忆。"},
	"held_step.update": {"Would give the memory a new version; the old one stays in its history.", "将为记忆写入新版本，旧版本保留在历史中。"},
	"held_step.delete": {"Would delete the memory; it can be restored later.", "将删除这条记忆，之后仍可恢复。"},
	"held_step.keep":   {"Would count as support; the text stays as it is.", "将计为佐证，内容不变。"},
}
