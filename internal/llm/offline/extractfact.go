package offline

import (
	"slices"
	"strings"
	"unicode/utf8"

	"reverie/internal/lazyregexp"
	"reverie/internal/reverie"
)

// How sure it is of what somebody says in a way that is known here, and of what
// only has the words of it.
const (
	sureOfClaim = 0.9
	sureOfMark  = 0.7
)

var (
	marksOurs = newMarker(`we, we're, we've, our, ours, us`, `我们 咱们`, nil)
	// marksRequest: something is asked for, not told.
	marksRequest = newMarker(`please, pls, can you, could you, help me, tell me, show me, give me, i need to know, i want to know, i'd like to know`,
		`请 帮我 帮忙 麻烦 给我 告诉我 教我 替我 想知道 想问 求助`, lazyregexp.New(
			`^\W*(?:(?:ok|okay|now|then|so|and|also|next|great|thanks|thank you)[,.!]? )*(?:write|translate|explain|fix|give|show|tell|help|make|create|summari[sz]e|rewrite|shorten|add|`+
				`remove|change|list|find|search|compare|suggest|recommend|check|draft|generate|convert|calculate|use|try|remember|forget|stop|let's)\b`+
				`|^(?:那|再|现在|接着|然后|顺便)*(?:帮|把|别|不要|翻译|解释|写|改|总结|列|推荐|查|生成|算|画|比较|记住|忘)`))
	// marksTrouble: what is told is the question of the moment.
	marksTrouble = lazyregexp.New(`(?i)\b(?:my|our) (?:(?:only|main|real|next|first|last|other|current) )?(?:problem|question|issue|error|idea|guess|point|concern|fault|bad|turn|goal here)\b|` +
		`(?:我们?的?)(?:问题|意思|想法|错|疑问|猜测)`)

	marksPreference = newMarker(`i prefer, i'd rather, i'd prefer, i would rather, we prefer, my favourite, my favorite, i always, i never, i usually, i can't stand, i don't like, i hate, our preference`,
		`更愿意 更喜欢 偏好 偏爱 宁愿 习惯用 习惯了 从来不 从不 不喜欢 最喜欢 讨厌 受不了`, nil)
	marksProject = newMarker(`working on, i'm building, we're building, i'm developing, we're developing, i'm writing, we're writing, i'm preparing, we're preparing, i'm migrating, we're migrating, deadline, milestone,
		my project, our project, my thesis, my dissertation, my paper, my novel, my startup, our startup, launch, launches, release date, ships in, goes live`,
		`项目 截止 上线 在做 正在写 在写 在开发 正在开发 在筹备 筹备 毕业论文 我的论文 课题 里程碑 交稿 发布日期 发版`, nil)
	marksFact = newMarker(`we use, i use, we run, i run, we have, i have a, i have an, i have two, i have three, i own, i work, we work, i study, our team, my team, our company, my company, i speak, i teach`,
		`我们用 我用 我们公司 我们团队 我们组 我们有 我有 我在 我学`, lazyregexp.New(`\b(?:my|our) (?:[a-z]+ ){1,3}(?:is|are|has|runs|lives|works)\b|我们?的?[^，,。]{1,8}(?:是|有|叫|在)`))
)

// Bounds of a fact that is told by its words alone.
const (
	minFactWords   = 3.0
	minFactContent = 1.5
)

// finding reads one sentence of a message. Where it asks or speaks to the
// assistant, its clauses are read one by one: "I live in Lisbon, can you name a
// café?"
func (e *extraction) finding(message int, text string) (finding, bool) {
	s := readSentence(message, text, e.digester)
	if s.noise || s.hedges || s.jokes || marksHearsay.in(s.spoken) || strings.ContainsAny(text, "\"“”「」『』") {
		return finding{}, false
	}
	if f, ok := e.clause(s); ok {
		return f, true
	}
	for _, clause := range clauseAt.Split(text, -1) {
		if clause = strings.TrimSpace(clause); clause == "" || clause == text || reports.MatchString(clause) || isNoise(clause) {
			continue
		}
		if f, ok := e.clause(readSentence(message, clause, e.digester)); ok {
			return f, true
		}
	}
	return finding{}, false
}

// clause words a sentence as a fact, if it is one.
func (e *extraction) clause(s sentence) (finding, bool) {
	author := e.messages[s.message].Author
	text := strings.Join(strings.Fields(s.text), " ")
	text = trimEnd(strings.TrimSpace(text[len(leadIn.FindString(text)):]))
	ours := marksOurs.in(s.spoken)
	if s.asks || !s.self && !ours || marksYou.in(s.spoken) || requests(text) || marksTrouble.MatchString(text) || dangler.MatchString(text) ||
		utf8.RuneCountInString(text) > maxClaim || unbalanced(text) {
		return finding{}, false
	}
	f := finding{author: author, words: &s}
	if f.Type, f.claim, f.Confidence = e.sort(s, text, author); f.Type == "" {
		return finding{}, false
	}
	content, ok := attribute(baseName(author), text)
	if !ok || reverie.CheckStatement(content) != nil {
		return finding{}, false
	}
	f.Content, f.sense = content, readSense(content)
	f.Tags = slices.DeleteFunc(tagsOf(s.spoken), func(tag string) bool { return tag == string(f.Type) })
	return f, true
}

// requests tells whether a clause of a text asks for something.
func requests(text string) bool {
	return slices.ContainsFunc(clauseAt.Split(text, -1), func(clause string) bool { return marksRequest.in(speak(fold(clause))) })
}

// sort says what sort of fact a text is, "" for none, what it claims, and how
// sure that is. What holds today only is none.
func (e *extraction) sort(s sentence, text, author string) (factType, claim, float64) {
	for _, clause := range clausesOf(text) {
		subject, c := e.claimIn(clause, author)
		if c.key == "" || subject != author || s.passing && c.text != "" {
			continue
		}
		kind := typeFact
		if c.aspect == reverie.AspectImpression && marksLiking.in(speak(fold(clause))) {
			kind = typePreference
		}
		return kind, c, sureOfClaim
	}
	project := marksProject.in(s.spoken)
	if countWords(text) < minFactWords || s.weight < minFactContent || s.passing && !project {
		return "", claim{}, 0
	}
	switch {
	case project:
		return typeProject, claim{}, sureOfMark
	case marksPreference.in(s.spoken):
		return typePreference, claim{}, sureOfMark
	case marksFact.in(s.spoken):
		return typeFact, claim{}, sureOfMark
	}
	return "", claim{}, 0
}

// marksLiking: what is said of oneself is a taste.
var marksLiking = newMarker(`like, likes, love, loves, enjoy, enjoys, prefer, prefers, hate, hates, dislike, dislikes, don't eat, don't drink, don't like, stand, never`,
	`喜欢 爱 讨厌 受不了 不吃 不喝 不抽 不用`, nil)
