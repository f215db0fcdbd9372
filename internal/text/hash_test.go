package text

import (
	"strings"
	"testing"
	"unicode"
)

// Each line is one statement in several spellings.
var sameStatements = [][]string{
	{"Lunch is at 12.", "lunch is at 12", "  LUNCH  is at 12 ", "“Lunch is at 12”", "Lunch is at 12!", "Ｌｕｎｃｈ is at １２。"},
	{"用 Go。", "用go", "用Go", "用 ＧＯ ！", "「用Go」"},
	{"大家周五聚餐", "大家周五聚餐。", "大家 周五 聚餐", "大家，周五聚餐！", "大家週五聚餐", "大\u200b家周五聚餐"},
	{"買3個蘋果", "买 3 个苹果", "买３个苹果"},
	{"Half price: 50%", "half price 50 %", "Half price, 50％"},
	{"We're late", "we’re late", "We're late..."},
	{"The range is 3–5", "the range is 3-5", "The range is 3 - 5"},
	{"Meet at 3:00", "meet at 3：00."},
	{"周一~周五上班", "周一～周五上班"},
	{"Alice said hello, world", "Alice said: hello world", "Alice said (hello) world"},
	{"It is 25 °C", "it is 25℃", "It is 25°C."},
	{"5½ cups", "5 1/2 cups", "5 ½ cups"},
	{"Hello — world", "hello world", "Hello—— world", "hello...world"},
	{"I love pho\u0301", "i love phó"},
	{"气温 - 5 度", "气温-5度", "气温 –5度。", "气温 − 5 度"},
	{"门票一百、二十元", "门票一百，二十元"},
	{"小林不是，去北京", "小林不是。去北京！"},
	{"- lunch is at noon", "lunch is at noon"},
	{"小林没有去北京，大家周五聚餐", "小林没有去北京大家周五聚餐。"},
	{"the board is 5' long", "the board is 5′ long", "The board is 5’ long."},
	{"the screen is 5\"", "the screen is 5″", "the screen is 5”", "“the screen is 5″.”"},
	{"He said \"it is 5\" and left", "he said it is 5 and left", "He said 'it is 5' and left", "he said “it is 5” and left", "he said ‘it is 5’ and left"},
	{"'it is 5', not \"6\"", "it is 5 not 6"},
}

// Each line holds statements that must all differ.
var differentStatements = [][]string{
	{"Alice writes C", "Alice writes C#", "Alice writes C++", "Alice writes C+"},
	{"price 3.5", "price 35", "price 3 5", "price 3,5", "price 3:5", "price 3/5", "price 3-5", "price -3 5", "price 3..5", "price .35"},
	{"it is 5 outside", "it is -5 outside", "it is −5% outside", "it is ±5 outside", "it is ~5 outside"},
	{"温度是5度", "温度是-5度", "温度是5.5度", "温度是55度"},
	{"Tax is 50", "Tax is 50%", "Tax is 50‰", "Tax is $50", "Tax is 50€", "Tax is 50°"},
	{"at 3:00", "at 300", "at 30", "at 3 00"},
	{"take 1/2", "take 12", "take 1 2", "take ½2"},
	{"now here", "nowhere"},
	{"周三开会", "周四开会", "周三不开会", "周三、周四开会", "周三-周四开会"},
	{"周三、五开会", "周三五点开会"},
	{"members like tea", "members don't like tea", "members dislike tea", "members do not like tea"},
	{"大家不去", "大家去", "大家没去", "大家不，去"},
	{"No smoking is allowed", "No, smoking is allowed", "smoking is allowed"},
	{"were here", "we're here"},
	{"its red", "it's red"},
	{"blood type A", "blood type A+", "blood type A-"},
	{"uses .NET", "uses NET"},
	{"10² people", "102 people", "10 2 people"},
	{"group ① 2", "group 12"},
	{"a == b", "a != b", "a = b"},
	{"loves 🍎", "loves 🍊", "loves"},
	{"第1，2组", "第12组"},
	{"run with --force", "run with force"},
	{"main.go", "maingo"},
	{"!!!", "???"},
	{"snake_case", "snakecase"},
	{"a<b", "a>b", "a b"},
	{"1,000", "1000 ", "1.000"},
	{"5 degrees", "- 5 degrees", "5 - degrees 5"},
	{"气温5度", "气温 - 5 度", "气温 5 - 5 度"},
	{"气温五度", "气温 - 五度"},
	{"he owes $5", "he owes -$5", "he owes - .5"},
	{"门票一百、二十元", "门票一百二十元"},
	{"孩子十、五岁", "孩子十五岁"},
	{"二，三十人", "二三十人", "二三，十人"},
	{"三·五公里", "三五公里"},
	{"小林没有，去北京", "小林没有去北京"},
	{"小林不是，去北京", "小林不是去北京"},
	{"小林不要、去北京", "小林不要去北京"},
	{"小林不行。去北京", "小林不行去北京"},
	{"Lin cannot, go home", "Lin cannot go home"},
	{"小林not, 去北京", "小林not 去北京"},
	{"Lin can't, go home", "Lin can’t go home"},
	{"Lin won't, go home", "Lin won't go home"},
	{"the board is 5 long", "the board is 5' long", "the board is 5\" long", "the board is 5'5\" long", "the board is 55 long"},
	{"屏幕5", "屏幕5′", "屏幕5″", "屏幕5°"},
	{"他说“是5”", "他说“是5′”", "他说“是5″”"},
	{"甭去", "甭，去", "去"}, {"莫去", "莫，去", "莫要，去", "莫要去"}, {"毋去", "毋。去"}, {"冇去", "冇，去"}, {"唔去", "唔，去"},
	{"1㏤", "15日", "1 15日"},
	{"1㋄", "15月"},
	{"1㍝", "15点"},
}

func TestContentHashSame(t *testing.T) {
	for _, line := range sameStatements {
		for _, s := range line[1:] {
			if ContentHash(s) != ContentHash(line[0]) {
				t.Errorf("%q (%q) and %q (%q) should be the same", s, canonical(s), line[0], canonical(line[0]))
			}
		}
	}
}

func TestContentHashDifferent(t *testing.T) {
	for _, line := range differentStatements {
		seen := map[string]string{}
		for _, s := range line {
			h := ContentHash(s)
			if other, ok := seen[h]; ok {
				t.Errorf("%q and %q should differ: both are %q", s, other, canonical(s))
			}
			seen[h] = s
		}
	}
}

// What is stored depends on these values: if they change, the version must too.
func TestContentHashIsStable(t *testing.T) {
	for s, want := range map[string]string{
		"用go":               "v1:4bfc0940102591019bfad59bd47ea22a1cd83c54c516c18233cab9a19c96d28c",
		"lunch is at 12.30": "v1:69ad97a05fcd007ef99fe39adc5ddd61415524ff0e11482d66917af136c26613",
	} {
		if got := ContentHash(s); got != want {
			t.Errorf("ContentHash(%q) = %s, want %s", s, got, want)
		}
	}
}

func FuzzContentHash(f *testing.F) {
	f.Add("¼\x80\xe4")
	for _, group := range [][][]string{sameStatements, differentStatements} {
		for _, line := range group {
			for _, s := range line {
				f.Add(s)
			}
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		h := ContentHash(s)
		if !strings.HasPrefix(h, "v1:") || len(h) != 3+64 {
			t.Fatalf("ContentHash(%q) = %q", s, h)
		}
		for _, same := range []string{" " + s + " ", strings.ToValidUTF8(s, "\uFFFD")} {
			if ContentHash(same) != h {
				t.Fatalf("%q and %q differ: %q, %q", s, same, canonical(s), canonical(same))
			}
		}
		if figures(s) != figures(canonical(s)) && !strings.ContainsFunc(s, isSmallFigure) {
			t.Fatalf("%q lost figures: %q", s, canonical(s))
		}
	})
}

// FuzzSameHash: two statements have one hash if and only if they have one canonical
// form, and summaries if and only if they are, besides, of one session: nothing moves
// from the one into the other. And whatever stands around them, a number with another
// sign or unit is another, and so is what is denied.
func FuzzSameHash(f *testing.F) {
	for _, line := range sameStatements {
		f.Add("s1", line[0], "s1", line[1])
	}
	for _, line := range differentStatements {
		f.Add("s1", line[0], "s2", line[1])
	}
	f.Add("a\x00b", "c", "a", "b\x00c")
	f.Add("ab", "c", "a", "bc")
	f.Fuzz(func(t *testing.T, session1, statement1, session2, statement2 string) {
		same := canonical(statement1) == canonical(statement2)
		if got := ContentHash(statement1) == ContentHash(statement2); got != same {
			t.Fatalf("%q and %q: one hash %v, one form %v", statement1, statement2, got, same)
		}
		same = same && session1 == session2
		if got := SummaryHash(session1, statement1) == SummaryHash(session2, statement2); got != same {
			t.Fatalf("%q of %q and %q of %q: one hash %v", statement1, session1, statement2, session2, got)
		}
		if SummaryHash(session1, statement1) == ContentHash(statement2) {
			t.Fatalf("the summary %q of %q is the statement %q", statement1, session1, statement2)
		}
		before, after := saying(statement1), saying(statement2)
		for _, line := range apart {
			seen := map[string]string{}
			for _, say := range line {
				s := before + " " + say + " " + after
				if other, ok := seen[ContentHash(s)]; ok {
					t.Fatalf("%q and %q are one: %q", s, other, canonical(s))
				}
				seen[ContentHash(s)] = s
			}
		}
		if folded := Fold(statement1); !strings.ContainsFunc(statement1, isSmallFigure) && ContentHash(Simplify(folded)) != ContentHash(statement1) {
			t.Fatalf("%q is another statement folded: %q and %q", statement1, canonical(statement1), canonical(Simplify(folded)))
		}
	})
}

// Each line holds what is not the same between the same words.
var apart = [][]string{
	{"5", "-5", "+5", "±5", "~5", "<5", ">5", "$5", "€5", "5€", "5%", "5‰", "5°", "5'", "5\"", "5℉", "5-", "5+", "#5", "§5", "5#", "0.5", ".5", "5²", "5:5", "5-5", "5'5", "5/5", "5,5", "5m", "5米"},
	{"去", "不去", "没去", "别去", "甭去", "莫去", "不，去", "没，去", "别，去", "甭，去", "莫，去"},
	{"go", "not go", "no go", "never go", "cannot go", "can't go", "not, go", "no, go", "never, go", "cannot, go", "can't, go"},
}

// saying is the words and figures of a text, and what parts sentences: no sign or quote
// that could belong to what stands beside it.
func saying(s string) string {
	return strings.Map(func(r rune) rune {
		if IsWord(r) || unicode.IsMark(r) || unicode.IsSpace(r) || strings.ContainsRune(",;!?，。！？、；", r) {
			return r
		}
		return -1
	}, s)
}

// figures are the ASCII digits of the folded text.
func figures(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, Fold(s))
}

func BenchmarkContentHash(b *testing.B) {
	const s = "大家說好以後每週五晚上 8:00 一起打《Overcooked 2》，輸的人請喝 50% 糖的奶茶。"
	b.ReportAllocs()
	for b.Loop() {
		ContentHash(s)
	}
}
