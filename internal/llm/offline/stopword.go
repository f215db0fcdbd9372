package offline

import "strings"

// stopWords are English words that say little about a text's subject. Negations
// are here as well: they are looked for by themselves.
var stopWords = wordSet(`
a an the this that these those there here it its it's he she they them his her their theirs him we us our ours you
your yours u ur i i'm i've i'll i'd me my mine am is are was were be been being do does did doing done don't doesn't
didn't have has had having haven't hasn't will would won't wouldn't shall should can could can't couldn't may might
must not no nor so too very just only also even still yet than then as at by for from in into of off on onto or out
over to up with about after before and but if because while when where which who whom what why how all any both each
few more most other some such own same again once ever never always usually often already now really quite pretty
actually basically maybe perhaps well ok okay yeah yes yep nope oh hey hi hello thanks thank please lol get gets got
getting go goes going went come comes make makes made let let's lets say says said think thinks know knows see want
wants like one thing things stuff lot lots bit kind sort guys guy everyone everybody someone anyone something anything
we're we've we'll you're they're that's there's what's isn't aren't wasn't gonna wanna im dont via per am pm every
`)

// particles are Han characters that say nothing by themselves.
var particles = runeSet("的了吧吗呢啊呀嘛哦噢呗哈嗯我你他她它们咱是就都也还很这那着把被在和跟又个么")

// densePhrases are words of Chinese, beyond the particles, that say little about
// a text's subject. Longer ones stand first: the first that fits is taken.
var densePhrases = strings.Fields(`
为什么 怎么样 的时候 有时候 不过 但是 因为 所以 如果 然后 现在 以后 之后 已经 以前 之前 一直 一般 基本 其实 反正 应该
我们 咱们 你们 他们 大家 群里 这个 那个 这样 那样 这么 那么 一个 一下 一样 一起 一点 什么 怎么 可以 觉得 知道 感觉 还是
每个 每次 每周 每天 每月 总是 老是 都是 就是 比较 时候 开始 起来 出来 没有 所有 有人 有点 真的 确实 只要 只有 继续 定在 放在 约在 负责
`)

func wordSet(words string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

func runeSet(runes string) map[rune]bool {
	set := make(map[rune]bool)
	for _, r := range runes {
		set[r] = true
	}
	return set
}
