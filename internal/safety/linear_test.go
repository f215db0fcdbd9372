package safety

import (
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
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
	"deadbeef ", "01010101 ", "\\u4e2d", "%41", "👨\u200d👩\u200d👧", "\u200d", "🏴\U000E0061", "\U000E0061", "-----BEGIN PRIVATE KEY-----", "eyJhbGciOi", "[secret:", "[pii:email]",
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

// Every rule takes time that grows as the text does, and no faster. Only what grows faster over
// two spans of lengths fails: caches and collectors do so over one. By default each rule reads a
// third of the texts, of 2 and 16 KB, and may take 2.5 times as long a byte: the square would be eight
// times. REVERIE_TEST_LONG=1 takes all, of up to 1 MB, and half as much again.
func TestRulesAreLinear(t *testing.T) {
	texts := map[string]func(n int) string{}
	for _, s := range hostileTexts {
		texts[strconv.Quote(s)] = func(n int) string { return strings.Repeat(s, n/len(s)) }
	}
	maps.Copy(texts, hostileMixes)
	// A collection in the middle of a rule would count as its time.
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(512 << 20))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	sizes, every, most := []int{2 << 10}, 3, 3.5 // the square gives 8
	if os.Getenv("REVERIE_TEST_LONG") != "" {
		sizes, every, most = []int{16 << 10, 64 << 10, 128 << 10}, 1, 1.5
	}
	for r, name := range slices.Sorted(maps.Keys(textRules)) {
		rule := textRules[name]
		for i, what := range slices.Sorted(maps.Keys(texts)) {
			if (i+r)%every != 0 {
				continue
			}
			for _, n := range sizes {
				text := texts[what]
				growth := growthOf(rule, text(n), text(span*n), most)
				if growth > most && growthOf(rule, text(2*n), text(2*span*n), most) > most {
					t.Errorf("%s over %s: a byte of %d KB takes %.1f times as long as one of %d KB", name, what, span*n>>10, growth, n>>10)
				}
			}
		}
	}
}

// span is how many times as long as the small text the large one is.
const span = 8

// growthOf is by how much more time a byte takes in the large text than in the small one. It is
// this thread's own time, the shortest of several: what else the machine does counts little.
// It measures on until the growth is small: what grows by the square never is.
func growthOf(rule func(string), small, large string, enough float64) float64 {
	least, most := time.Hour, time.Hour
	for range 20 {
		for range 3 {
			least = min(least, threadTime(func() { rule(small) }))
		}
		if most = min(most, threadTime(func() { rule(large) })); float64(most) <= enough*span*float64(least) {
			break
		}
	}
	return float64(most) / span / float64(least)
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
