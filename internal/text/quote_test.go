package text

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestVerifyQuote(t *testing.T) {
	for _, c := range []struct {
		quote, text string
		want        bool
	}{
		{"meet on Friday", "Let's meet on Friday at 8", true},
		{"MEET  on\nfriday", "Let's meet on Friday at 8", true},
		{"ｍｅｅｔ ｏｎ", "Let's meet on Friday", true},
		{"“meet on Friday”", "Let's meet on Friday", true},
		{"「周五聚餐」", "大家週五聚餐吧", true},
		{"周五聚餐", "大家週五聚餐吧", true},
		{"週五聚餐", "大家周五聚餐吧", true},
		{"Let's meet…", "let’s meet on Friday", true},
		{"\"Let's meet...\"", "let’s meet on Friday", true},
		{"\"Let's meet\"...", "let’s meet on Friday", true},
		{"大家周五……", "大家周五聚餐", true},
		{"大家周五。。。", "大家周五聚餐", true},
		{"he said \"yes\"", "And he said “yes” twice", true},
		{"ok", "OK", true},
		{"好", " 好 ", true},
		{"👍", "👍", true},
		{"\"ok\"", "ok", true},
		{"meet\u200bup", "meetup tonight", true},

		{"meet ... Friday", "meet at eight on Friday", false},
		{"meet … Friday", "meet at eight on Friday", false},
		{"meet on Monday", "Let's meet on Friday", false},
		{"ok", "ok then", false},
		{"好的", "好的呀", false},
		{"the", "the end", false},
		{"", "anything", false},
		{"", "", false},
		{"   ", "a   b", false},
		{"...", "wait...", false},
		{"....", "wait.... what", false},
		{"!!!!", "wow!!!!!", false},
		{"\"\"", "he said \"\"", false},
		{"周五不聚餐", "周五聚餐", false},
		{"周五聚餐", "周五不聚餐", false},
		{"meetup", "meet up", false},
	} {
		if got := VerifyQuote(c.quote, c.text); got != c.want {
			t.Errorf("VerifyQuote(%q, %q) = %v", c.quote, c.text, got)
		}
	}
}

func TestExcerpt(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"short", 10, "short"}, {"exactly ten", 11, "exactly ten"}, {"", 5, ""}, {"abc", 0, ""}, {"abc", -1, ""}, {"abc", 1, "…"},
		{"the quick brown fox", 12, "the quick…"}, {"the quick brown fox", 11, "the quick…"}, {"the quick brown fox", 10, "the quick…"},
		{"大家约好周五晚上聚餐", 6, "大家约好周…"},
		{"two\n lines  here", 40, "two lines here"},
		{"supercalifragilistic", 8, "superca…"},
		{"hi 👨‍👩‍👧 family", 6, "hi…"},
		{"cafe\u0301 au lait", 5, "caf…"},
		{"ab👍🏽cd", 4, "ab…"},
		{"bad \xff byte", 20, "bad \uFFFD byte"},
	} {
		if got := Excerpt(c.text, c.n); got != c.want {
			t.Errorf("Excerpt(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("大家约好周五晚上聚餐", 6)
	f.Add("the quick brown fox...", 12)
	f.Add("e\u0301e\u0301e\u0301e\u0301 👨‍👩‍👧", 5)
	f.Add("각각각각각각", 7)
	f.Fuzz(func(t *testing.T, text string, n int) {
		part := Excerpt(text, n)
		if count := utf8.RuneCountInString(part); count > max(n, 0) || !utf8.ValidString(part) || strings.Contains(part, "\n") {
			t.Fatalf("Excerpt(%q, %d) = %q, %d characters", text, n, part, count)
		}
		if nul := strings.ContainsRune(text, 0); Fold(text) != "" && VerifyQuote(text, text) == nul { // no message has one
			t.Fatalf("%q quotes itself: %v", text, nul)
		}
		VerifyQuote(part, text)
		VerifyQuote(text, part)
	})
}

// An excerpt of a message stands as its quote where the model gave none.
func TestExcerptVerifies(t *testing.T) {
	allowed, err := os.ReadFile("../safety/testdata/statement/allowed.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range append(strings.Split(string(allowed), "\n"), "好的好的……那就周五吧", "well... maybe... on Friday... then") {
		for n := 8; n < 40; n += 3 {
			if part := Excerpt(text, n); !VerifyQuote(part, text) && utf8.RuneCountInString(part) > MinQuote {
				t.Errorf("Excerpt(%q, %d) = %q does not verify", text, n, part)
			}
		}
	}
}

func BenchmarkVerifyQuote(b *testing.B) {
	text := strings.Repeat("大家說好以後每週五晚上 8:00 一起打《Overcooked 2》！", 4)
	for b.Loop() {
		VerifyQuote("每周五晚上 8:00", text)
	}
}
