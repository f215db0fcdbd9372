package ingest_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"reverie/internal/ingest"
)

// TestLineDates: dates and times as LINE writes them in its languages come to what they mean.
func TestLineDates(t *testing.T) {
	for line, want := range map[string]string{
		"2026/01/15(Thu)\n19:05":         "2026-01-15 19:05",
		"2026/1/15(木)\n0:05":             "2026-01-15 00:05",
		"2026/1/15周四\n上午12:05":           "2026-01-15 00:05",
		"2026/01/15（週四）\n下午12:05":        "2026-01-15 12:05",
		"2026.01.15 Thursday\n7:05 PM":   "2026-01-15 19:05",
		"2026.01.15 목요일\n오후 7:05":        "2026-01-15 19:05",
		"2026년 1월 15일 목요일\n오전 7:05":      "2026-01-15 07:05",
		"2026年1月18日 日曜日\n19:05":          "2026-01-18 19:05",
		"Thu, 1/15/2026\n7:05PM":         "2026-01-15 19:05",
		"Tue, 06/01/2026\n19:05":         "2026-01-06 19:05",
		"Mon, 06/01/2026\n19:05":         "2026-06-01 19:05",
		"พฤ. 15/01/2569\n19:05":          "2026-01-15 19:05",
		"2026/01/15 พฤหัสบดี\n19:05":     "2026-01-15 19:05",
		"2026.01.15 วันพฤหัสบดี\n19:05":  "2026-01-15 19:05",
		"Do., 15.1.2026\n19:05":          "2026-01-15 19:05",
		"5/5/2026\n19:05":                "2026-05-05 19:05",
		"6/1/2026\n19:05":                "it is to be asked",
		"Thu, 1/15/2026\n19:05 PM":       "2026-01-15 19:05",
		"2026/01/15(Thu)\n25:05":         "",
		"2026/01/15(Thu)\nabout 7:05 PM": "",
	} {
		f, err := ingest.Named("line")
		check(t, err)
		got := ""
		for r, err := range f.Read(t.Context(), file("[LINE]Bo.txt", "[LINE] Chat history with Bo\nSaved on: x\n\n"+line+"\tBo\thi\n"), ingest.ReadOptions{}) {
			if got = r.Message.SentAt.Format("2006-01-02 15:04"); err != nil && strings.Contains(err.Error(), "--date-order") {
				got = "it is to be asked"
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	for order, want := range map[string]string{"mdy": "2026-06-01", "dmy": "2026-01-06"} {
		zone := time.FixedZone("", 8*3600)
		f, _ := ingest.Named("line")
		for r, err := range f.Read(t.Context(), file("x.txt", "6/1/2026\n19:05\tBo\thi\n"), ingest.ReadOptions{Zone: zone, DateOrder: order}) {
			if r.Message.SentAt.UTC().Format("2006-01-02 15") != want+" 11" {
				t.Errorf("%s: %s, %v", order, r.Message.SentAt, err)
			}
		}
	}
}

// madeUp is an id that is a hash.
var madeUp = regexp.MustCompile(` [0-9a-f]{32}\b`)

// TestLineMessages: what stands in the lines of a text.
func TestLineMessages(t *testing.T) {
	const day = "2026/01/15(Thu)\n"
	for name, c := range map[string]struct {
		file, text string
		want       []string
	}{
		"several lines":        {"x.txt", day + "19:05\tBo\t\"a\n\nb \"\"c\"\"\n2026/02/03(Mon)\nDue 1/2/2026\"\n19:06\tBo\t\"alone\n", []string{"x Bo: a\n\nb \"c\"\n2026/02/03(Mon)\nDue 1/2/2026", "x Bo: \"alone"}},
		"the app":              {"x.txt", day + "19:05\t\tBo joined.\n19:06\tBo left\n19:07\tBo\t☎ Missed call\n", []string{"x x event: Bo joined.", "x x event: Bo left", "x Bo event: ☎ Missed call"}},
		"no text":              {"x.txt", day + "19:05\tBo\t[スタンプ]\n19:06\tBo\t[ok] then\n19:07\tBo\tPhotos\n", []string{"x Bo: ", "x Bo: [ok] then", "x Bo: Photos"}},
		"a name with a tab":    {"x.txt", day + "19:05\tBo\ta\tb\n", []string{"x Bo: a\tb"}},
		"before any date":      {"x.txt", "19:05\tBo\thi\n" + day + "19:05\tBo\thi\n", []string{"bad", "x Bo: hi"}},
		"a file's own name":    {"in/[LINE]Kiln club.txt", day + "19:05\tBo\thi\n", []string{"Kiln club Bo: hi"}},
		"a title in German":    {"x.txt", "[LINE] Chatverlauf mit Bo\n\n" + day + "19:05\tBo\thi\n", []string{"Chatverlauf mit Bo Bo: hi"}},
		"spaces":               {"x.txt", day + "19:05 Bo I am\n19:06 Bo I was\n19:07 Bo I\n19:08 Bo\n19:09 Photos\n", []string{"x Bo: I am", "x Bo: I was", "x Bo: I", "x x event: Bo", "x x event: Photos"}},
		"another weekday":      {"x.txt", day + "19:05\tBo\thi\n\n2026/01/16(Mon)\n19:06\tBo\tyo\n", []string{"x Bo: hi", "x Bo: yo"}},
		"a time in a text":     {"x.txt", day + "19:05\tBo\tplan:\n20:00 soup\n", []string{"x Bo: plan:\n20:00 soup"}},
		"a message of a bad d": {"x.txt", day + "19:05\tBo\thi\n2026/02/30(Mon)\n19:06\tBo\tyo\n", []string{"x Bo: hi\n2026/02/30(Mon)", "x Bo: yo"}},
	} {
		got, err := toldBy(t, "line", file(c.file, c.text), ingest.ReadOptions{})
		for i, line := range got {
			got[i] = madeUp.ReplaceAllString(strings.TrimSuffix(line, ": no time"), "")
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Run(name, func(t *testing.T) { same(t, got, c.want...) })
	}
	if _, err := toldBy(t, "line", file("x.txt", "[LINE] Chat history with Bo\n"), ingest.ReadOptions{}); err == nil {
		t.Error("a text without a date is read")
	}
}

// TestLineOfDates: a text of nothing but dates takes a time that grows with its length.
func TestLineOfDates(t *testing.T) {
	got, err := toldBy(t, "line", file("x.txt", strings.Repeat("2026/01/15(Thu)\n", 250_000)+"19:05\tBo\thi\n"), ingest.ReadOptions{})
	if err != nil || len(got) != 1 {
		t.Errorf("%d records, %v", len(got), err)
	}
}

func FuzzLine(f *testing.F) {
	for _, name := range []string{"ja", "en", "th", "zh", "pc"} {
		raw, err := os.ReadFile("testdata/line_" + name + ".txt")
		check(f, err)
		f.Add(string(raw))
	}
	f.Fuzz(func(t *testing.T, content string) {
		sure(t, "line", file("x.txt", content))
		readAnything(t, "line", file("x.txt", content))
	})
}
