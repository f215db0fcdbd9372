package recall

import (
	"slices"
	"strings"
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// stems are the stems of words.
func stems(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[stem(w)] = true
	}
	return set
}

// emptyWords say nothing about what an answer was made from; commonWords little:
// they stand in answers about anything.
var (
	emptyWords = wordSet(`
a an the this that these those there here it its it's he she they them his her hers their theirs him we us our ours you your yours u i i'm i've
i'll i'd me my mine am is are was were be been being do does did doing done have has had having will would shall should can could may might must
so too very just only also even still yet than then as at by for from in into of off on onto or out over to up with about after before and but if
because while when where who whom whose which what why how all any both each few more most other some such own same once ever always usually often
already now really quite pretty well ok okay yes yeah oh hey hi hello thanks thank please let lets let's one thing things something anything
someone somebody everyone everybody that's there's what's you're they're we're you'll we'll he's she's says said say via per every since until
during between through however sure again them's i'd it'll they'll isn't mr mrs ms dr etc eg ie am pm`)

	commonWords = stems(`
able above across act actual add afternoon ago ahead air allow almost along although always among amount answer anyway apart app area around arrive ask
attention autumn available back balance base basic become begin behind believe below beside best better big bit black blue body book bottom box break
breakfast brief bring build bus button buy call care careful carry case cause chance change check child children choose city clean clear close cold
come common company condition connect consider contain control cook cool copy correct cost couple cover create current cut daily damage dark date day
deal decide deep deliver depend design despite detail different dinner direct distance draw drink drive drop dry due early easily easy eat edge effect
eight either else empty end energy enjoy enough enter equal error even event exact example exercise expect experience explain extra eye face fact fall
family fast feel field file fill final find fine finish fire first fit five fix flat floor focus folder follow food foot force forget form forward four
free fresh friend front full future gain general gentle get give go goal good great green ground group grow guess guide habit half hand happen hard
head hear heavy height help high hit hold hole home hope hot hour house idea important include increase inside instead interest issue item job join
keep key kid kind know large last late later layer lead learn least leave left less level lie life lift light like limit line link list little live
load local lock long look lose lot love low lunch machine main make man manage many mark match material matter maybe meal mean measure meet meeting
member memory mention message middle mile mind minute miss mix mode moment money month morning mostly move much name natural near necessary need never
new next nice night nine no none nor normal note notice number object offer office often old online only open option order outside own pack page pair
paper park part party pass past pattern pay people perhaps person pick piece place plain plan plate play plus point position possible post power
practice practise prepare press previous price print probably problem process produce product project proper protect provide public pull push put
quality question quick quiet range rate rather reach read ready real reason recent record red reduce regular relax remain remember remove repeat
replace request require rest result return rich rid right rise road room rule run safe same sample save say scale school score screen search season
seat second section see seem select sell send sense separate serve service session set seven several share sheet shop short show side sign similar
simple single site six size skill sleep slow small smooth soft solid soon sort sound source space speak special spend spot spread spring stand standard
start state stay step stick stop store story street strength strong structure study style subject success suggest suit summer support surface system
table take task taste teach team tell temperature ten term test text theme thick thin thing think third though three time tip title today together
tomorrow tool top topic total touch town track train travel treat trip trouble true try turn two type under unite update upper us user usual value
version view visit wait walk wall want warm wash watch water way week weekend weight white wide wind window winter wish without woman word work world
worth write wrong year yesterday young`)

	// negators deny the words that follow them, in the sense that matters here:
	// what is avoided is not what is had.
	negators = wordSet(`not no never none don't doesn't didn't won't can't cannot isn't aren't wasn't weren't haven't hasn't hadn't shouldn't
wouldn't couldn't dont without avoid avoids avoiding hate hates hated dislike dislikes allergic intolerant refuses refuse
nothing nobody neither nor stopped quit except skip skipped skips forbidden banned sick`)

	// resumers take a negation back: "don't forget the meeting" is about a meeting
	// that takes place.
	resumers = wordSet(`forget miss worry hesitate only just until unless than doubt wonder`)

	// exceptions have a "but" behind them deny: "anything but peanuts".
	exceptions = wordSet(`anything everything anyone everyone anybody everybody anywhere all`)
)

// Characters and phrases of Chinese, the same.
const (
	emptyHan  = "的了吧吗呢啊呀嘛哦噢呗哈嗯我你您他她它们咱是就都也还很这那着把被在和跟与及又个么之于而其所以从到对给让向为得地每再可会能要想请用去来上下里有或才更最太种些该按"
	deniedHan = "不没别勿莫无未"
)

// classHan is what a Han character does to the characters around it.
type classHan byte

const (
	saysNothing classHan = 1 + iota
	deniesHan
	figureHan // a number or weekday may begin with it
)

// classesHan holds the characters that do anything.
var classesHan = func() map[rune]classHan {
	classes := map[rune]classHan{}
	for class, characters := range map[classHan]string{saysNothing: emptyHan, deniesHan: deniedHan, figureHan: "周星礼零〇一二两三四五六七八九十百千万"} {
		for _, c := range characters {
			classes[c] = class
		}
	}
	return classes
}()

// idleHan takes out phrases that carry nothing, longer ones first; those with a
// character of denial deny nothing.
var idleHan = strings.NewReplacer(pairs(`
为什么不 为何不 何不 干嘛不 怎么不 少不了 免不了 离不开 说不定 忍不住 巴不得 不止 不光 不只 不禁 不由得 不愧 没错 没事 别急 别担心 别客气 为什么 怎么样 的时候 有时候 差不多 没关系 没问题 不用担心 不要忘 不要错过 不得不 无论 不一定 不管 不但 不仅 不过 不错 不同 不少 不如 不妨 不断 不论 别忘 别的 特别 分别 区别 级别 类别 性别 别墅 个别 告别 未来 未必 但是 因为 所以 如果 然后 现在 以后 之后 之前 已经 以前 一直 一般 基本 其实 反正 应该 我们 咱们 你们 他们 大家 这个 那个 这样 那样 这么 那么 一下 一样 一起 一点 一些
什么 怎么 可以 觉得 感觉 还是 就是 比较 时候 开始 起来 出来 所有 有人 有点 真的 确实 只要 只有 继续 需要 能够 或者 以及 并且 而且 通常 建议 推荐 适合 进行 左右 大约 大概 主要 非常 十分 千万 万一 统一 第一 一定 负责
`)...)

func pairs(phrases string) []string {
	var out []string
	for _, p := range strings.Fields(phrases) {
		out = append(out, p, " ")
	}
	return out
}

// commonHan are pairs of characters that stand in answers about anything.
var commonHan = wordSet(`
知道 记得 抱歉 意思 时间 今天 明天 昨天 晚上 早上 上午 中午 下午 周末 平时 一天 几天 今年 明年 去年 每天 小时 分钟 开会 工作 学习 生活 公司 团队 群里 朋友 孩子 老师 学生 家里 回家 城市 地方 地点 附近 问题 办法 方法 方式
情况 内容 东西 事情 结果 原因 目的 计划 安排 准备 选择 考虑 注意 提醒 提前 开始 结束 完成 使用 检查 修改 增加 减少 提高 保持 避免 影响 增长 支持 提供 参加 联系 通知 讨论 分享 交流 简单 方便 重要 主要
不同 容易 合适 常见 适当 好吃 便宜 喜欢 习惯 爱看 打算 希望 想法 选项 价格 费用 预算 晚饭 午饭 吃饭 做饭 出门 出发 到家 休息 睡觉 锻炼 运动 天气 手机 电脑 数据 系统 文件 页面 功能 程序 软件 服务 测试
多少 左右 以内 以上 以下 之间 之内 部分 全部 每次 每人 一次 两次 三次 一个 两个 三个 第二 最后 最好 先后 同时 另外 其他 其中 包括 根据 按照 通过 由于 为了 关于 对于 能力 经验 过程 阶段 步骤 特点 优点
缺点 质量 数量 程度 范围 标准 要求 条件 环境 效果 作用 水平 速度 机会 关系 信息 资料 目标 重点 基础 技巧 思路 整体 具体 详细 清楚 明确 稳定 安全 快速 直接 完全 充分 保证 确保 确认 发现 解决 处理 实现
设置 调整 控制 管理 记录 整理 总结 分析 练习 坚持 尝试 放松 缓解 改善 加强 利用 选用 搭配 准时 按时 定期 首先 其次 接着 同样 尤其 相关 对应 各种 多种 一种 两种 有些 更多 逐渐 逐步 马上 随时 长期 短期
期间 当天 例如 比如 至少 最多 保存 运行 操作 执行 方面 变化 经常 往往 一周 一年 几个 每周 每月 每年 周三 表达 观察 温度 重新 单独 整个`)

// aversionsHan make all of their clause something that is avoided.
var aversionsHan = wordSet(`过敏 讨厌 忌口 反感 拒绝 戒了 避开`)

// How answers say that they know nothing: who does not, and what.
var (
	refusers = phrases(`i do, i can, i could, i'm, i am, i have, i was not, nobody, no information`)
	refusals = phrases(`don't know, do not know, don't have any, don't have that, don't have this, don't have enough, don't have access, don't have information, i do not have,
		don't recall, do not recall, don't remember, do not remember, don't see any, can't recall, can't remember, can't say, can't tell, can't find, can't answer, cannot recall,
		cannot remember, cannot say, cannot tell, cannot find, cannot answer, couldn't find, could not find, not sure, not aware, unaware, not able, unable, no idea, no information,
		no record, have no way, no details, no data, no memory of, no knowledge, no note, have nothing, has told me, was not told`)
	refusersHan = strings.Fields(`我 抱歉 对不起 不好意思 遗憾 暂时 目前 这里`)
	refusalsHan = strings.Fields(`不知道 不清楚 不了解 不确定 不记得 没有相关 没有任何 没有记录 没有这 没有关于 没有查到 没有找到 没有办法 没有资料 没有信息 没记录 无法 没法 无从得知 查不到 找不到`)
)

func phrases(list string) []string {
	var out []string
	for p := range strings.SplitSeq(list, ",") {
		out = append(out, strings.TrimSpace(p))
	}
	return out
}

// refuses tells whether a sentence only says that something is not known.
func refuses(sentence string) bool {
	if containsAny(sentence, refusersHan) && containsAny(sentence, refusalsHan) {
		return true
	}
	if !strings.ContainsAny(sentence, "iIN") { // saves lowering a text without English
		return false
	}
	sentence = strings.ToLower(sentence)
	return containsAny(sentence, refusers) && containsAny(sentence, refusals)
}

func containsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

// stem cuts the endings that English words change most. The form is only compared.
func stem(word string) string {
	word = strings.TrimSuffix(word, "'s")
	n := len(word)
	switch {
	case n <= 3:
		return word
	case n > 4 && strings.HasSuffix(word, "ies"), n > 4 && strings.HasSuffix(word, "ied"):
		return word[:n-3] + "y"
	case n > 4 && (strings.HasSuffix(word, "sses") || strings.HasSuffix(word, "shes") || strings.HasSuffix(word, "ches") || strings.HasSuffix(word, "xes")):
		word = word[:n-2]
	case strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us") && !strings.HasSuffix(word, "is"):
		word = word[:n-1]
	}
	switch n = len(word); {
	case n > 5 && strings.HasSuffix(word, "ing"):
		word = undouble(word[:n-3])
	case n > 4 && strings.HasSuffix(word, "ed"):
		word = undouble(word[:n-2])
	}
	if len(word) > 3 {
		word = strings.TrimSuffix(word, "e")
	}
	return word
}

// undouble turns "runn" of "running" into "run".
func undouble(s string) string {
	if n := len(s); n > 3 && s[n-1] == s[n-2] && !strings.ContainsRune("aeiouls", rune(s[n-1])) {
		return s[:n-1]
	}
	return s
}
