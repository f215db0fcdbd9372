package offline

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"reverie/internal/lazyregexp"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// topic is a word, or two that stand together, that sessions come back to.
type topic struct {
	text    string   // as it was first written
	key     string   // its words in one form
	weight  float64  // in words, a Han character half of one
	sources []string // one of each session
	last    int      // session that it was last seen in
	score   float64
}

// Bounds of themes.
const (
	maxThemes    = 3
	minThemeWord = 4 // letters
	maxThemeHan  = 6 // characters
)

// themeFiller are words of reports and plans, which every summary has.
var themeFiller = wordSet(`asked ask asks answered answer answers says said told wanted wants want wished decided decide agreed planned plans plan planning discussed
	talked spoke mentioned explained suggested proposed helped help helps users user assistant session sessions group member members bot everyone people someone somebody
	needs need needed prefers prefer likes like loves hates short long open still later first last next today about several their there then wrote works work working
	working uses used using moved gave given sent done finished started begun book thanks good great really question questions information`)

// themeHan cuts the same out of Chinese text.
var themeHan = pairsWithSpace(strings.Fields(`用户 助手 会话 机器人 成员 希望 想要 需要 打算 准备 计划 决定 讨论 提到 询问 建议 确认 喜欢 最近 问题 内容 事情
	时间 东西 方便 完成 回答 推荐 介绍 表示 认为 觉得 正在 开始 结束 更愿意 不喜欢 讨厌 帮忙 请求 要求 解决 没了结 还要 还得 今年 明年`), densePhrases, marksPassing.dense, marksState.dense)

// subjectHan is who a Chinese sentence is about, as far as what follows shows it.
var subjectHan = lazyregexp.New(`^(\p{Han}{2,3}?)(?:说|问|回答|询问|希望|想|打算|喜欢|讨厌|提到|建议|决定|确认|表示|准备|需要|还|把|已经|觉得|正在|答应|不|更|住|搬|请|也|会|要|有|今|昨|明|聊)`)

// topics are the themes: what the summaries and facts of at least two sessions
// name, that which most of them do first.
func (l *lookback) topics(names people) []insight {
	var themed []topic // by earlier dreams
	for _, it := range l.items {
		if it.Type == typeTheme {
			themed = append(themed, topicsIn(themeOf(it.Content), names)...)
		}
	}
	byKey := map[string]*topic{}
	var order []*topic
	for _, m := range l.matters {
		if m.session == noSession {
			continue
		}
		for _, t := range topicsIn(m.text, names) {
			known := byKey[t.key]
			if known == nil {
				known = &t
				known.last = noSession
				byKey[t.key], order = known, append(order, known)
			}
			if known.last != m.session {
				known.last, known.sources = m.session, append(known.sources, m.id)
			}
		}
	}
	order = slices.DeleteFunc(order, func(t *topic) bool {
		return len(t.sources) < 2 || slices.ContainsFunc(themed, func(o topic) bool { return o.overlaps(t) })
	})
	for _, t := range order {
		if t.score = float64(len(t.sources)); t.weight > 1 {
			t.score++
		}
	}
	slices.SortStableFunc(order, func(a, b *topic) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.weight, a.weight), cmp.Compare(len(b.text), len(a.text)))
	})
	var chosen []*topic
	var out []insight
	for _, t := range order {
		if len(out) == maxThemes || l.told(t) || slices.ContainsFunc(chosen, func(c *topic) bool { return c.overlaps(t) }) {
			continue
		}
		if f := t.insight(); reverie.CheckStatement(f.Content) == nil && lasting(speak(fold(f.Content))) {
			chosen, out = append(chosen, t), append(out, f)
		}
	}
	return out
}

// told tells whether an item that was found rests on all that the topic does.
func (l *lookback) told(t *topic) bool {
	return slices.ContainsFunc(l.found, func(f insight) bool {
		return !slices.ContainsFunc(t.sources, func(s string) bool { return !slices.Contains(f.Sources, s) })
	})
}

// What stands before the topic of a theme.
const (
	themeWords = "Several sessions come back to "
	themeDense = "好几次会话都谈到"
)

// themeOf is what a theme is about.
func themeOf(content string) string {
	return strings.TrimPrefix(strings.TrimPrefix(content, themeWords), themeDense)
}

// insight says that sessions come back to it.
func (t *topic) insight() insight {
	content := themeWords + t.text
	if isDense(t.text) {
		content = themeDense + t.text
	}
	sure := min(0.6+0.05*float64(len(t.sources)), sureOfThread)
	return insight{Type: typeTheme, Content: content, Sources: t.sources[:min(len(t.sources), maxSources)], Confidence: sure}
}

// overlaps tells whether two topics have a word, or two Han characters, in common.
func (t *topic) overlaps(o *topic) bool {
	a, b := strings.Fields(t.key), strings.Fields(o.key)
	for _, w := range a {
		for _, v := range b {
			if w == v || isDense(w) && isDense(v) && sharesPair(w, v) {
				return true
			}
		}
	}
	return false
}

func sharesPair(a, b string) bool {
	runes := []rune(a)
	for i := 0; i+1 < len(runes); i++ {
		if strings.Contains(b, string(runes[i:i+2])) {
			return true
		}
	}
	return false
}

// people are who speaks, or whom sentences are about: they recur wherever they
// are, and are no theme.
type people struct {
	words map[string]bool
	cut   *strings.Replacer // Chinese names, and what says nothing of a subject
}

// people reads the names in the material.
func (l *lookback) people() people {
	names, lower := map[string]bool{}, map[string]bool{}
	for _, m := range l.matters {
		tokens(m.text, func(_ script, token string) {
			if unicode.IsLower([]rune(token)[0]) {
				lower[token] = true
			}
		})
		if name := speaker(m.text); name != "" {
			names[fold(name)] = true
		}
		for _, sentence := range splitSentences(m.text) {
			if name := subjectHan.FindStringSubmatch(sentence); name != nil {
				names[name[1]] = true
			}
			first := true
			tokens(sentence, func(_ script, token string) {
				if first && unicode.IsUpper([]rune(token)[0]) {
					names[fold(token)] = true
				}
				first = false
			})
		}
	}
	for word := range lower {
		delete(names, word)
	}
	var dense []string
	for name := range names {
		if r, _ := utf8.DecodeRuneInString(name); scriptOf(r) == scriptDense {
			dense = append(dense, name)
		}
	}
	slices.SortFunc(dense, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) // the first that fits is taken
	return people{names, strings.NewReplacer(append(pairsWithSpace(dense), themeHan...)...)}
}

// betweenClauses is what no topic reaches across.
func betweenClauses(r rune) bool {
	return unicode.IsPunct(r) && r != '\'' && r != '’' && r != '-' && r != '#' || unicode.IsControl(r) || unicode.Is(unicode.Sm, r) && r != '+'
}

// topicsIn are the topics that a text names, each once.
func topicsIn(s string, names people) []topic {
	seen := map[string]bool{}
	var out []topic
	add := func(t topic) {
		if !seen[t.key] {
			seen[t.key] = true
			out = append(out, t)
		}
	}
	for clause := range strings.FieldsFuncSeq(withoutSpeaker(s), betweenClauses) {
		var before string // the word before, "" where it says nothing
		tokens(names.cut.Replace(clause), func(kind script, token string) {
			word := fold(token)
			if kind == scriptDense {
				hanTopics(text.Simplify(token), add)
			}
			if kind != scriptWord || utf8.RuneCountInString(word) < minThemeWord || stopWords[word] || markerWords[word] || themeFiller[word] || names.words[word] {
				before = ""
				return
			}
			if unicode.IsUpper([]rune(token)[0]) {
				word = token
			}
			add(topic{text: word, key: stem(fold(word)), weight: 1})
			if before != "" {
				add(topic{text: before + " " + word, key: stem(fold(before)) + " " + stem(fold(word)), weight: 2})
			}
			before = word
		})
	}
	return out
}

// hanTopics are the pieces of two and more characters of a run, cut where a
// character says nothing.
func hanTopics(run string, add func(topic)) {
	for part := range strings.FieldsFuncSeq(run, func(r rune) bool {
		return particles[r] || denseNegations[r] || strings.ContainsRune("说问答讲想要会能去到给从对与或等为以及", r)
	}) {
		runes := []rune(part)
		if len(runes) == 2 && strings.ContainsRune("小老阿", runes[0]) { // somebody's name
			continue
		}
		for from := range runes {
			for to := from + 2; to <= min(len(runes), from+maxThemeHan); to++ {
				piece := string(runes[from:to])
				add(topic{text: piece, key: piece, weight: float64(to-from) / 2})
			}
		}
	}
}
