package offline

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// densePlain puts Chinese words more simply: those that mean nothing here are
// dropped, those of time become the words of timeWords. Longer ones stand first.
var densePlain = densePairs(`
	每天=daily 每日=daily 天天=daily 每晚=daily,evening 每早=daily,morning 每周=weekly 每星期=weekly 每个月=monthly 每月=monthly 每年=yearly
	早上=morning 上午=morning 早晨=morning 清晨=morning 中午=noon 下午=afternoon 傍晚=evening 晚上=evening 夜里=evening 夜晚=evening 晚间=evening
	半夜=midnight 凌晨=midnight 深夜=midnight
	我们群里= 我们群= 咱们群= 本群= 群里的人= 群里= 群友们= 群友= 大伙儿= 大伙= 照例= 约好= 约在= 我们= 咱们= 大家= 一起= 已经= 现在= 目前= 固定= 固定在= 通常= 平时=
	每个=每 每逢=每 逢=每 之前=前 之后=后 以后=后 使用=用 采用=用 必须=须 必需=须 需要= 一定要=须 应该=须 应当=须 不可以=不能 可以=能 举行=开 召开=开
	讨厌=不喜欢,hate 们= 的= 了= 着= 是= 为= 在= 于= 都= 也= 就= 啊= 呢= 吧= 哦= 呀= 嘛=`)

// denseDeniers deny, longer ones first; denseKept hold their characters but deny
// nothing.
var (
	denseDeniers = densePairs(`不再=ended 曾经=ended 不是=wrong 不都=notall 没都=notall 没有=not 禁止=not 不许=not 不准=not 不要=not 不需要=needless 不=not 没=not 别=not 勿=not 莫=not 未=not 无=not 非=not`)
	denseKept    = strings.Fields(`特别 别人 别的 非常 不过 不同 不错 不但 不仅 不管 不少 不久 不断 差不多 无论 未来 没错 级别 性别 分别 区别 告别 个别 别墅 无锡
		无线 为了 因为 认为 成为 作为 目的 存在 是否 了解 除了 为什么 了不起 就业 也许 首都 都市 成都 都江`)
)

// densePair is a word of Chinese and what is read instead.
type densePair struct {
	word  string
	plain []string
}

// densePairs reads pairs of a word and what is read instead, and puts longer
// words first.
func densePairs(list string) []densePair {
	var out []densePair
	for _, p := range strings.Fields(list) {
		word, plain, _ := strings.Cut(p, "=")
		pair := densePair{word: word}
		if plain != "" {
			pair.plain = strings.Split(plain, ",")
		}
		out = append(out, pair)
	}
	slices.SortStableFunc(out, func(a, b densePair) int { return cmp.Compare(len(b.word), len(a.word)) })
	return out
}

// dense reads a run of characters, each a word of its own: what stands between
// them may have been cut out.
func (r *senseReader) dense(run string) {
	for run != "" {
		if n := keptPrefix(run); n > 0 {
			r.characters(run[:n])
			run = run[n:]
			continue
		}
		if p, ok := prefixOf(densePlain, run); ok {
			r.plain(p)
			run = run[len(p.word):]
			continue
		}
		if p, ok := prefixOf(denseDeniers, run); ok {
			r.deny(p.plain[0])
			run = run[len(p.word):]
			continue
		}
		_, n := utf8.DecodeRuneInString(run)
		r.characters(run[:n])
		run = run[n:]
	}
}

// plain reads what stands for a Chinese word.
func (r *senseReader) plain(p densePair) {
	if len(p.plain) == 2 && p.plain[1] == "hate" {
		r.deny("hate")
		r.characters("喜欢")
		return
	}
	for _, w := range p.plain {
		switch _, isTime := timeWords[w]; {
		case isTime:
			r.word(w)
		case strings.HasPrefix(w, "不"):
			r.deny("not")
			r.characters(strings.TrimPrefix(w, "不"))
		default:
			r.characters(w)
		}
	}
}

func (r *senseReader) characters(s string) {
	for _, c := range s {
		r.put(string(c))
	}
}

func keptPrefix(run string) int {
	for _, k := range denseKept {
		if strings.HasPrefix(run, k) {
			return len(k)
		}
	}
	return 0
}

func prefixOf(pairs []densePair, run string) (densePair, bool) {
	for _, p := range pairs {
		if strings.HasPrefix(run, p.word) {
			return p, true
		}
	}
	return densePair{}, false
}
