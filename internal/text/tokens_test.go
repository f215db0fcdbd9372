package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Chat lines with the number of tokens that a public vocabulary of 200k entries
// (o200k) makes of them.
var tokenSamples = []struct {
	text string
	want int
}{
	{"The group meets on Fridays at noon, and Bob brings a cake for everyone who shows up early.", 20},
	{"hey guys are we still on for tonight? i can't make it before 8 lol", 17},
	{"I think we should refactor the authentication middleware before shipping the new microservice architecture.", 17},
	{"Reminder: standup moved to 9:45 tomorrow because the conference room is being repainted :)", 20},
	{"@carol could you review PR #482 when you get a chance? it touches the billing code", 20},
	{"[12:30] <alice> anyone know how to fix libc6 dependency on ubuntu 22.04? apt-get -f install says unmet deps", 31},
	{"大家说好以后每周五晚上八点一起打游戏，输的人请喝奶茶，小王负责订位。", 26},
	{"哈哈哈哈哈哈笑死我了，你昨天怎么没来啊？我们等了你半个小时呢", 22},
	{"今天晚上吃啥？我想吃火锅，要不要去海底捞？人均一百二左右吧", 25},
	{"大家說好以後每週五晚上八點一起打遊戲，輸的人請喝奶茶", 22},
	{"周末有人一起去爬山吗？天气预报说周六晴，周日可能下雨。", 24},
	{"我觉得还是原来那家店好吃，新开的那家又贵又不好吃，服务态度也一般，下次还是去老地方吧。", 33},
	{"我用 Go 写了一个 API，部署在 Kubernetes 上，延迟大概 20ms 左右", 22},
	{"今日は天気がいいから散歩しましょう。カフェで待ち合わせね！", 19},
	{"오늘 저녁에 뭐 먹을까요? 저는 김치찌개가 좋아요", 17},
	{"😂😂😂 that's hilarious 🎉👍🏽", 10},
	{"https://github.com/golang/go/issues/12345?foo=bar&baz=9f86d081884c7d659a2feaa0c55ad015", 37},
	{`{"id":12,"time":"2026-01-15T20:01:00+08:00","author":"小王","text":"今天晚上吃火锅吗？"}`, 39},
	{"2024-01-15 20:30:45 138-1234-5678 1234567890", 25},
	{`func main() { fmt.Println("hello, world"); for i := 0; i < 10; i++ { total += i } }`, 30},
	{"Привет, как дела? Мы встречаемся в пятницу вечером у метро.", 17},
	{"Ça va très bien, merci ! On se retrouve à la fête vendredi soir près de l'école.", 20},
	{"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 43},
}

func TestEstimateTokens(t *testing.T) {
	for _, s := range tokenSamples {
		got := EstimateTokens(s.text)
		if ratio := float64(got) / float64(s.want); ratio < 0.75 || ratio > 1.25 {
			t.Errorf("%q: %d, want %d within a quarter", s.text, got, s.want)
		}
	}
	if EstimateTokens("") != 0 || EstimateTokens("ok") != 1 {
		t.Errorf("empty %d, ok %d", EstimateTokens(""), EstimateTokens("ok"))
	}
}

// The estimate of a long text is near the sum of its parts, and grows with it.
func TestEstimateTokensAddsUp(t *testing.T) {
	for _, s := range tokenSamples {
		one, many := EstimateTokens(s.text), EstimateTokens(strings.Repeat(s.text+"\n", 50))
		if many < 45*one || many > 60*one {
			t.Errorf("%q: once %d, fifty times %d", s.text, one, many)
		}
	}
}

func TestEstimateTokensAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { EstimateTokens(tokenSamples[6].text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzEstimateTokens(f *testing.F) {
	for _, s := range tokenSamples {
		f.Add(s.text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := EstimateTokens(s)
		if n < 0 || n > 3*utf8.RuneCountInString(s) || s != "" && EstimateTokens(s+s) < n {
			t.Fatalf("EstimateTokens(%q) = %d, doubled %d", s, n, EstimateTokens(s+s))
		}
	})
}

func BenchmarkEstimateTokens(b *testing.B) {
	text := strings.Repeat("The group meets on Fridays, bring snacks! 大家周五聚餐，小王订位。\n", 100)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		EstimateTokens(text)
	}
}
