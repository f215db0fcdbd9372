package safety

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"reverie/internal/text"
)

// hostileTexts are what somebody repeats to keep the rules busy.
var hostileTexts = []string{
	"4111 1111 1111 1111 ", "4", "1-", "GB82 WEST 1234 ", "+86 138", "(", "[[", "<a", "</", "{\"", "\"", "'a' ", "`", "~", "～", "@", "@a", "a@b", "a@b.",
	".", "a.", "a,", ",", "́", "é̀", " ", "x  ", "\n", "http://a", "a://b:", "key=", "password is ", "pin ", "口令是", "中", "中 ", "“中", "aGVsbG8gd29ybGQ",
	"deadbeef ", "01010101 ", "\\u4e2d", "%41", "👨‍👩‍👧", "‍", "🏴\U000E0061", "\U000E0061", "-----BEGIN PRIVATE KEY-----", "eyJhbGciOi", "[secret:", "[pii:email]",
	"abandon ", "ignore all ", "the assistant must ", "i g n o r e ", "_", "|", "Ａ", "١", "\xff",
}

// hostileMixes are texts that do not repeat themselves, or whose halves do: n bytes or so.
var hostileMixes = map[string]func(n int) string{
	"numbers":       func(n int) string { return counted(n, " ") },
	"ids":           func(n int) string { return counted(n, "@a.b ") },
	"a word, marks": func(n int) string { return strings.Repeat("a", n/2) + strings.Repeat(",", n/2) },
	"open, closed":  func(n int) string { return strings.Repeat("“‘", n/12) + strings.Repeat("”’", n/12) },
	"a flag":        func(n int) string { return "🏴" + strings.Repeat("\U000E0061", n/4) },
	"marks, words":  func(n int) string { return strings.Repeat("-*_ ", n/8) + strings.Repeat("令牌", n/12) },
}

func counted(n int, by string) string {
	var b strings.Builder
	for i := 100; b.Len() < n; i++ {
		b.WriteString(strconv.Itoa(i) + by)
	}
	return b.String()
}

// textRules are all that reads a text of any length; statementRules see what [text.Normalize]
// has left, as [CheckSummary] gives it them.
var textRules = map[string]func(s string){
	"mask": func(s string) { Privacy{}.Mask(s) },
	"scan": func(s string) { Scan(s) },
	"statements": func(s string) {
		s = text.Normalize(s)
		for _, r := range refusals {
			r.find(s)
		}
	},
	"quotes":    func(s string) { text.VerifyQuote(s[:len(s)/2]+"x", s) },
	"visible":   func(s string) { text.Visible(s) },
	"hashes":    func(s string) { text.ContentHash(s) },
	"excerpts":  func(s string) { text.Excerpt(s, len(s)/3) },
	"figures":   func(s string) { text.Figures(text.Simplify(text.Fold(s))) },
	"negations": func(s string) { text.Negations(text.Simplify(text.Fold(s))) },
	"names":     func(s string) { text.NameKey(s); text.Scripts(s); text.Places(s, "a") },
	"tokens":    func(s string) { text.EstimateTokens(s) },
	"erasure": func(s string) {
		t := text.NewTraces("u12345", []string{"Ann", "a b"}, []string{s[:len(s)/2], s}, []string{"Ann Lee"}, func(string) bool { return false })
		t.Redact(s + s[:len(s)/3])
		t.Hear(s)
	},
}

// Every rule takes time that grows as the text does, and no faster. Of a small and a large
// text the shortest time of several counts, and it is measured on until it is good enough:
// what grows by the square never is. REVERIE_TEST_LONG=1 goes up to 1 MB.
func TestRulesAreLinear(t *testing.T) {
	texts := map[string]func(n int) string{}
	for _, s := range hostileTexts {
		texts[strconv.Quote(s)] = func(n int) string { return strings.Repeat(s, n/len(s)) }
	}
	for name, f := range hostileMixes {
		texts[name] = f
	}
	sizes := []int{16 << 10}
	if os.Getenv("REVERIE_TEST_LONG") != "" {
		sizes = append(sizes, 64<<10, 256<<10)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for name, rule := range textRules {
		for what, make := range texts {
			for _, n := range sizes {
				// What grows faster because it no longer fits a cache does so once.
				growth := growthOf(rule, make(n), make(4*n))
				if growth > 1.5 && growth < 3 {
					growth = min(growth, growthOf(rule, make(4*n), make(16*n)))
				}
				if growth > 1.5 {
					t.Errorf("%s over %s: a byte of %d KB takes %.1f times as long as one of %d KB", name, what, n>>8, growth, n>>10)
				}
			}
			runtime.GC()
		}
	}
}

// growthOf is by how much more time a byte takes in the large text than in the small one, which
// is a fourth of it. It is this thread's own time: what else the machine does counts little.
func growthOf(rule func(string), small, large string) float64 {
	least, most := time.Hour, time.Hour
	for round := range 16 {
		least = min(least, threadTime(func() {
			for range 4 {
				rule(small)
			}
		}))
		most = min(most, threadTime(func() { rule(large) }))
		if growth := float64(most) / float64(least); growth <= 1.5 || round == 3 && growth > 3 {
			break
		}
		if round%4 == 3 {
			runtime.GC()
		}
	}
	return float64(most) / float64(least)
}

func threadTime(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadClock()
	f()
	return threadClock() - start
}

func threadClock() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		panic(err)
	}
	return time.Duration(now.Nano())
}
