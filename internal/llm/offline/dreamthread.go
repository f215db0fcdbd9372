package offline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

var (
	// marksState: it is so for a few hours or days.
	marksState = newMarker(`on my way, on his way, on her way, on their way, be late, running late, stuck in, has a cold, have a cold, caught a cold, has a headache, have a headache,
		is sick, am sick, i'm sick, is tired, am tired, i'm tired, is ill, is asleep, having lunch, having dinner, having breakfast, lately, currently, recently, these days`,
		`迟到 在路上 堵车 感冒 发烧 头疼 头痛 生病 加班 午睡 马上 稍后 待会儿 最近 正在吃 在开会`, nil)
	// marksTaste: how somebody wants, likes or does things.
	marksTaste = newMarker(`prefer, prefers, preferred, likes, love, loves, enjoys, hates, dislikes, favourite, favorite, rather than, would rather, i'd rather, can't stand, never eats, never drinks,
		don't eat, doesn't eat, don't drink, doesn't drink, wants short, always wants`,
		`喜欢 偏好 偏爱 更愿意 宁愿 讨厌 受不了 不吃 不喝 习惯用 习惯于`, nil)
	// marksThread: something is still to be done.
	marksThread = newMarker(`has to, have to, had better, needs to, need to, deadline is, is due, are due, promised, promises, plans to, plan to, planning to, intends to, intend to, is going to, are going to, i'm going to,
		we're going to, owes, owe, yet to, to do, todo, will, i'll, we'll, is to, are to, remains to, not yet, hasn't yet, haven't yet, still open`,
		`还要 还得 还需 需要 截止 打算 待办 计划 准备 答应 承诺 尚未 还没 还欠 仍未 得去 有待`, nil)
	marksNoThread = newMarker(`doesn't need, don't need, doesn't have to, don't have to, not going to, no longer, won't, will never, will not, never, always, every, usually`,
		`不需要 不打算 不准备 没打算 不用 不必 无需 不再 没有计划 每周 每天 每月 总是 一直`, nil)
	// marksDone: it has been done, or is not to be done any more.
	marksDone = newMarker(`done, finished, completed, sent, paid, bought, returned, delivered, submitted, booked, fixed, repaired, shipped, published, released, printed, handed in,
		handed over, gave back, given back, brought back, resolved, solved, settled, sorted out, renewed, arrived, launched, wrote, took care, gave up, given up, called off, cancelled, canceled, is over, was over, no longer needed`,
		`已经 完成 办好 办完 办妥 做完 做好 写完 寄了 寄出 寄给 发了 发出 发给 交了 交给 交上 提交 买了 买好 买到 订好 订了 还了 还给 还清 付了 付清 修好 搞定 解决 结束 取消 放弃 不用再 上线了 印好 找到了`, nil)
	marksUndone = newMarker(`not, hasn't, haven't, never, didn't, isn't, wasn't, aren't, weren't, almost, nearly, half, yet, still, begun, started, to be`,
		`没 未 尚 差点 快要 一半 开始 正在`, nil)
)

// opensThread tells whether a statement says that something is still to be done.
func opensThread(t spoken) bool { return marksThread.in(t) && !marksNoThread.in(t) }

// endsThread tells whether a sentence says that something has been done.
func endsThread(t spoken) bool {
	return marksDone.in(t) && !marksUndone.in(t) && !marksHedge.in(t) && !marksThread.in(t) && !isQuestion(t)
}

// How much of what is to be done a sentence must name to say that it was done:
// words, a Han character half of one, and the share of them.
const (
	doneShared = 1.0
	doneShare  = 0.6
)

// closings writes a line for each open thread of earlier dreams of which something
// new says that it is done. The newest says what became of it.
func (l *lookback) closings() {
	l.ends = l.endings()
	for _, it := range l.items {
		if it.Type != typeThread {
			continue
		}
		for _, e := range slices.Backward(l.ends) {
			if !it.task.namedIn(e.words) {
				continue
			}
			content := e.text
			if !lasting(speak(fold(content))) || reverie.CheckStatement(content) != nil || utf8.RuneCountInString(content) > maxClaim {
				content = wasDone(it.Content)
			}
			l.found = append(l.found, insight{Type: typeThread, Content: content, Replace: it.ID, Done: true, Sources: []string{e.id}, Confidence: sureOfThread})
			break
		}
	}
}

// wasDone says in plain words that a thread is closed.
func wasDone(content string) string {
	if isDense(content) {
		return string([]rune("已经办完：" + content)[:min(utf8.RuneCountInString(content)+5, reverie.MaxStatement)])
	}
	return string([]rune("Done: " + content)[:min(utf8.RuneCountInString(content)+6, reverie.MaxStatement)])
}

// ending is a sentence that says that something was done.
type ending struct {
	id, text string
	matter   int // index
	words    bagOfWords
}

// endings are the sentences of new material that say that something was done.
func (l *lookback) endings() []ending {
	var out []ending
	for i, m := range l.matters {
		if !m.fresh || !marksDone.in(m.spoken) {
			continue
		}
		for _, text := range splitSentences(m.text) {
			if endsThread(speak(fold(text))) {
				out = append(out, ending{m.id, text, i, taskWords(text)})
			}
		}
	}
	return out
}

// doneLater tells whether what a fact says is to be done is done, as something says
// that came later.
func (l *lookback) doneLater(fact int) bool {
	task := taskWords(l.matters[fact].text)
	return slices.ContainsFunc(l.ends, func(e ending) bool {
		return e.matter > fact && l.matters[e.matter].session != noSession && task.namedIn(e.words)
	})
}

// bagOfWords are the words of a statement that name what is to be done, in one
// form, with what they weigh.
type bagOfWords map[string]float64

// namedIn tells whether a sentence names most of it.
func (b bagOfWords) namedIn(sentence bagOfWords) bool {
	var all, common float64
	for w, weight := range b {
		all += weight
		if sentence[w] > 0 {
			common += weight
		}
	}
	return common >= doneShared && common >= doneShare*all
}

// taskFiller are words that say that something is to be done, or was, and not what.
var taskFiller = wordSet(`need needs has have had to still yet promised promises promise plans plan planned planning intends intend going will be is todo done
	finished completed finally now open owes owe by until before on january february march april may june july august september october november december`)

// irregular verbs are what people do with what they had to do.
var irregular = map[string]string{"sent": "send", "paid": "pay", "bought": "buy", "wrote": "write", "written": "write", "brought": "bring", "gave": "give", "given": "give",
	"took": "take", "taken": "take", "made": "make", "told": "tell", "found": "find", "sold": "sell", "built": "build", "met": "meet", "got": "get", "held": "hold", "left": "leave", "read": "read", "drew": "draw", "drawn": "draw"}

// taskHan are Chinese words and characters that say that something is to be done,
// or was.
var (
	taskHan      = strings.NewReplacer(pairsWithSpace(marksThread.dense, []string{"已经", "完成", "办好", "办完", "办妥", "搞定", "之前", "终于", "必须"})...)
	taskHanFills = runeSet("完好出掉清给要得去过到年月日号前")
)

func pairsWithSpace(lists ...[]string) []string {
	var pairs []string
	for _, list := range lists {
		for _, p := range list {
			pairs = append(pairs, p, " ")
		}
	}
	return pairs
}

// taskWords reads what a statement says is to be done, or was. Who does it is left
// out where it stands first, as names do.
func taskWords(statement string) bagOfWords {
	said := strings.TrimSpace(withoutSpeaker(statement))
	if first, rest, ok := strings.Cut(said, " "); ok && first != "" && unicode.IsUpper([]rune(first)[0]) {
		said = rest
	}
	_, rest := cutSlots(fold(said))
	words := bagOfWords{}
	tokens(taskHan.Replace(text.Simplify(rest)), func(kind script, token string) {
		switch {
		case kind == scriptDense:
			for _, r := range token {
				if !particles[r] && !taskHanFills[r] {
					words[string(r)] = 0.5
				}
			}
		case taskFiller[token] || stopWords[token]:
		case irregular[token] != "":
			words[stem(irregular[token])] = 1
		default:
			words[stem(token)] = 1
		}
	})
	return words
}
