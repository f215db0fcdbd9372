package recall_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"reverie/internal/llm"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// BenchmarkQueryCache tells which share of a stream of queries finds its vector in
// the cache: 20,000 queries of one group about 600 matters, some far more often
// than others, each asked in the ways in which people write the same thing. What
// no fold can know, such as other words, is another matter here.
//
//	go test -run '^$' -bench QueryCache -benchtime 1x ./internal/recall
func BenchmarkQueryCache(b *testing.B) {
	const queries = 20_000
	matters := questions()
	for b.Loop() {
		s := pgtest.New(b)
		if _, err := s.EnsureGroup(b.Context(), reverie.Group{ID: "g1"}); err != nil {
			b.Fatal(err)
		}
		asked := &hashed{dims: 8}
		vectors := llm.NewEmbeddings(asked, llm.Account{Provider: "test", Model: "bench"}, llm.EmbeddingOptions{Dims: 8, Explicit: true, Cache: s})
		r := (&fullHouse{Store: s, vectors: vectors}).recaller(nil)
		rng := rand.New(rand.NewPCG(11, 11))
		zipf := rand.NewZipf(rng, 1.05, 8, uint64(len(matters)-1))
		distinct := map[string]bool{}
		for range queries {
			query := written(rng, matters[zipf.Uint64()])
			distinct[query] = true
			if _, err := r.Context(b.Context(), recall.ContextRequest{GroupID: "g1", Query: query}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(100*float64(queries-asked.texts)/queries, "%hits")
		b.ReportMetric(100*float64(queries-len(distinct))/queries, "%hits-unfolded")
		b.ReportMetric(float64(asked.texts), "embedded")
	}
}

// questions are 600 different ones, in Chinese and English.
func questions() (list []string) {
	people := []string{"Lin", "Bo", "Aunt Mei", "the landlord", "our team", "小明", "王老师", "外婆", "隔壁的猫", "项目组"}
	english := []string{"what does %s like to eat", "when is %s coming back", "where did %s put the keys", "is %s allergic to anything",
		"what did %s decide about the trip", "how much did %s pay for the tickets", "who is %s meeting on Friday", "why was %s late last time",
		"which book is %s reading", "what is %s working on now", "does %s still play badminton", "when is the birthday of %s",
		"what did I promise %s", "how old is %s", "what should I bring for %s", "did %s finish the report", "what's the plan of %s for May",
		"where does %s live", "what was the last thing %s asked me", "how does %s take coffee", "what shoe size has %s", "is %s free on Sunday",
		"which train did %s take", "what's the name of the dog of %s", "who introduced me to %s", "what music does %s like",
		"remind me what %s said about money", "has %s ever been to Chengdu", "what colour did %s choose", "what is the phone number of %s"}
	chinese := []string{"%s喜欢吃什么", "%s什么时候回来", "%s把钥匙放在哪里了", "%s对什么过敏", "关于旅行%s是怎么决定的", "%s买票花了多少钱",
		"%s周五要见谁", "%s上次为什么迟到", "%s在看哪本书", "%s现在在忙什么", "%s还打羽毛球吗", "%s的生日是哪天", "我答应过%s什么事",
		"%s今年多大了", "去看%s要带点什么", "%s的报告写完没有", "%s五月份有什么安排", "%s住在哪儿", "%s上次问了我什么", "%s喝咖啡加糖吗",
		"%s穿多大的鞋", "%s周日有空吗", "%s坐的是哪趟车", "%s的狗叫什么名字", "是谁介绍我认识%s的", "%s爱听什么音乐", "%s说过钱的事没有",
		"%s去过成都吗", "%s选了什么颜色", "%s的电话是多少"}
	for i, person := range people {
		for n := range english {
			list = append(list, fmt.Sprintf(english[n], person), fmt.Sprintf(chinese[(n+i)%len(chinese)], person))
		}
	}
	rand.New(rand.NewPCG(5, 5)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// written is a question as somebody types it.
func written(r *rand.Rand, question string) string {
	han := strings.ContainsFunc(question, func(c rune) bool { return unicode.Is(unicode.Han, c) })
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	if r.IntN(10) == 0 { // politely
		if han {
			question = pick("请问", "请问一下，", "你好，", "麻烦问一下，", "问一下", "想问下") + question
		} else {
			question = pick("please ", "Hi, ", "hey ", "can you tell me ", "could you tell me ", "Please, ") + question
		}
	}
	switch r.IntN(12) {
	case 0:
		question = strings.ToUpper(question)
	case 1, 2, 3, 4:
		first, size := utf8.DecodeRuneInString(question)
		question = string(unicode.ToUpper(first)) + question[size:]
	case 5:
		question = widened(question)
	}
	if r.IntN(8) == 0 {
		question = strings.Replace(question, " ", pick("  ", "\u00a0", "\t", "\u3000"), 1)
	}
	switch {
	case r.IntN(3) == 0:
		question += pick("", " ", "\n")
	case han:
		question += pick("？", "?", "？？", "。", "呢？", "～", "！")
	default:
		question += pick("?", "??", " ?", "?!", ".", "...", "!")
	}
	if r.IntN(20) == 0 {
		question += pick(" thanks", " 谢谢", " Thanks!", "谢谢啦", " pls", " 🙏")
	}
	return question
}

// widened writes letters and digits as wide as Chinese characters.
func widened(s string) string {
	return strings.Map(func(c rune) rune {
		if c > ' ' && c < 0x7f {
			return c + 0xfee0
		}
		return c
	}, s)
}
