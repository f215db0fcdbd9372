package offline

import (
	"strings"

	"reverie/internal/lazyregexp"
)

// marker is a list of turns of phrase. English ones are matched as whole words,
// Chinese ones anywhere.
type marker struct {
	words  []string // with a space on either side
	dense  []string
	regexp *lazyregexp.Regexp
}

// newMarker reads phrases separated by commas.
func newMarker(english, chinese string, pattern *lazyregexp.Regexp) marker {
	m := marker{regexp: pattern}
	for p := range strings.SplitSeq(english, ",") {
		if p = strings.TrimSpace(p); p != "" {
			m.words = append(m.words, " "+p+" ")
		}
	}
	m.dense = strings.Fields(chinese)
	return m
}

// in tells whether the text holds one of the phrases.
func (m marker) in(t spoken) bool {
	for _, w := range m.words {
		if strings.Contains(t.words, w) {
			return true
		}
	}
	for _, d := range m.dense {
		if strings.Contains(t.folded, d) {
			return true
		}
	}
	return m.regexp != nil && m.regexp.MatchString(t.folded)
}

// spoken is a folded text in the two forms that markers are looked for in.
type spoken struct {
	folded string
	words  string // the tokens, each with a space on either side
}

func speak(folded string) spoken {
	var b strings.Builder
	b.Grow(len(folded) + 8)
	b.WriteByte(' ')
	tokens(folded, func(_ script, token string) {
		b.WriteString(strings.ReplaceAll(token, "’", "'"))
		b.WriteByte(' ')
	})
	return spoken{folded, b.String()}
}

var (
	// marksEnd: something that was so is not so any more.
	marksEnd = newMarker(`no longer, any more, anymore, is over, are over, cancelled, canceled, called off, stopped, gave up, given up,
		quit, discontinued, for good, is dead, scrapped, abolished, done with, ended, no more, dropped`,
		`不再 取消 别再 作废 废除 解散 停办 停了 散了 戒了 退坑 结束了 没了 到此为止 以后不 就不用 黄了`,
		lazyregexp.New(`不(?:办|打|用|去|玩|搞|做|吃|喝|约|开|写|养|租|买|聚|跑|弄|上)[^，。,了]{0,4}了`))
	// marksChange: something takes the place of something else.
	marksChange = newMarker(`moved to, moves to, move to, moving to, switched to, switched from, switching to, changed to, changed from,
		instead, replaced, rescheduled, from now on, is now, are now, we now, migrated, changed my mind`,
		`改成 改到 改为 改用 换成 换到 换为 挪到 移到 调到 变成 从现在起 改在 改放 搬到 改了主意 改主意`, nil)
	// marksPassing: it holds for one day or one time only.
	marksPassing = newMarker(`today, tonight, tomorrow, yesterday, this morning, this afternoon, this evening, this week, this weekend,
		this time, this month, last night, last week, last year, next week, next time, just now, right now, at the moment, for now, in a minute, in a bit, later,
		soon, brb, ago, this once`,
		`今天 今晚 今早 今儿 明天 明早 明晚 明儿 昨天 昨晚 前天 后天 刚才 刚刚 马上 待会 等下 等会 一会儿 这会 这周 本周 下周 上周 这次 上次 下次
		暂时 先不 这个月 下个月 这几天 去年`, nil)
	// marksHedge: it is wished, guessed or asked for, not said.
	marksHedge = newMarker(`if, maybe, might, perhaps, should we, could we, can we, shall we, what if, how about, wish, would be,
		i wonder, wondering, let's, suppose, almost, thinking of, tempted, probably, not sure, i guess, hopefully, guess`,
		`要不 要是 如果 万一 是不是 会不会 能不能 要不要 建议 提议 不如 或许 也许 可能 希望 想要 假如 考虑 听说 差点 好想 不确定 估计 说不定 难道 有没有`, nil)
	// marksJoke: it is not meant.
	marksJoke = newMarker(`lol, lmao, rofl, haha, hahaha, hehe, jk, just kidding, kidding, joking, xd`,
		`哈哈 嘿嘿 嘻嘻 hhh 233 笑死 开玩笑 逗你 狗头 doge 滑稽 瞎说 骗你 🤣 😂 🐶 😜 🙃 😹 /s`, nil)
	// Who speaks, or is spoken to.
	marksSelf = newMarker(`i, i'm, i've, i'll, i'd, me, my, mine, im, ive`, ``, lazyregexp.New(`我(?:[^们]|$)|咱(?:[^们]|$)|俺`))
	marksYou  = newMarker(`you, your, yours, u, ur, you're, you'll, you've`, `你 您`, nil)
)
