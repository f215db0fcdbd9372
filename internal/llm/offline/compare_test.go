package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// TestRelate holds facts against memories. Each pair is compared in this order
// only.
func TestRelate(t *testing.T) {
	for _, c := range []struct {
		memory, fact string
		want         reverie.Relation
	}{
		// The same in nearly the same words.
		{"The group plays badminton every Thursday evening at the riverside gym", "Every Thursday evening the group plays badminton at the riverside gym", "duplicate"},
		{"The group plays badminton on Thursdays.", "We play badminton every Thursday.", "duplicate"},
		{"The weekly meeting is on Tuesday at 9 pm in the voice channel", "The weekly meeting takes place on Tuesday at 9 pm, in the voice channel", "duplicate"},
		{"Maya does not eat meat", "Maya doesn't eat meat.", "duplicate"},
		{"每周四晚上七点半在滨江体育馆打羽毛球", "每周四晚上七点半，大家在滨江体育馆打羽毛球", "duplicate"},
		{"每周四晚上七点半在滨江体育馆打羽毛球", "星期四晚上 7:30 大家一起在滨江体育馆打羽毛球", "duplicate"},
		{"周會改到周二晚上九點", "周会已经改到了周二晚上 21:00", "duplicate"},
		{"Lin说：我对花生过敏", "Lin对花生过敏", "duplicate"},
		{"Lin says: I'm allergic to peanuts", "Lin is allergic to peanuts.", "duplicate"},
		{"Maya lives in Lisbon and works as a translator", "Maya lives in Lisbon", "duplicate"},
		{"每周四晚上打羽毛球", "每周四打羽毛球", "duplicate"},
		// The same and more.
		{"Maya lives in Lisbon", "Maya lives in Lisbon and works as a translator", "update"},
		{"The group plays badminton on Thursdays", "The group plays badminton on Thursdays at 7:30 pm", "update"},
		{"每周四打羽毛球", "每周四晚上七点半打羽毛球，老K订场地", "update"},
		// Less: numbers are missing.
		{"The group plays badminton on Thursdays at 7:30 pm", "The group plays badminton on Thursdays", "unrelated"},
		// The same claim with another value.
		{"The group plays badminton on Thursdays", "The group plays badminton on Fridays", "conflict"},
		{"每周五打羽毛球", "每周六打羽毛球", "conflict"},
		{"周会晚上九点开", "周会早上九点开", "conflict"},
		{"周会 9:00 开", "周会 21:00 开", "conflict"},
		{"The court costs 3.5 euros", "The court costs 35 euros", "conflict"},
		{"The court costs 3.5 euros", "The court costs 3,5 euros", "conflict"},
		{"It is 5 degrees outside", "It is -5 degrees outside", "conflict"},
		{"温度是5度", "温度是-5度", "conflict"},
		{"Lin likes coffee", "Lin no longer likes coffee", "conflict"},
		{"Lin likes coffee", "Lin doesn't like coffee any more", "conflict"},
		{"Lin likes coffee", "Lin hates coffee", "conflict"},
		{"Maya can't swim", "Maya can swim", "conflict"},
		{"小满不吃辣", "小满吃辣", "conflict"},
		{"小满喜欢香菜", "小满讨厌香菜", "conflict"},
		{"小满喜欢香菜", "小满不再喜欢香菜了", "conflict"},
		{"老K每天跑步", "老K每周跑步", "conflict"},
		// Other persons, things, names.
		{"Lin books the court", "Maya books the court", "unrelated"},
		{"Ann books the court", "Anne books the court", "unrelated"},
		{"Evan runs the server", "Evans runs the server", "unrelated"},
		{"Lin works in IT", "Lin works in HR", "unrelated"},
		{"Lin moved to the US", "Lin moved to the UK", "unrelated"},
		{"Maya writes C", "Maya writes C#", "unrelated"},
		{"Maya writes C++", "Maya writes C#", "unrelated"},
		{"Room 3 seats 5 people", "Room 4 seats 5 people", "unrelated"},
		{"3号楼在装修", "5号楼在装修", "unrelated"},
		{"第3组在一楼", "第4组在一楼", "unrelated"},
		{"Lin lives in York", "Lin lives in New York", "unrelated"},
		{"小林教小周打球", "小周教小林打球", "unrelated"},
		{"Lin trains Maya", "Maya trains Lin", "unrelated"},
		{"Most members prefer Go over Java", "Most members prefer Java over Go", "unrelated"},
		{"Lin moved from Porto to Lisbon", "Lin moved from Lisbon to Porto", "unrelated"},
		// Denials that stand elsewhere, lists that are put together otherwise.
		{"Lin likes tea, not coffee", "Lin likes coffee, not tea", "unrelated"},
		{"We don't like tea", "Not everyone likes tea", "unrelated"},
		{"大家不去露营", "不是大家都去露营", "unrelated"},
		{"badminton on Thursday and tennis on Friday", "badminton on Friday and tennis on Thursday", "unrelated"},
		{"There is no training on Thursdays", "There is no training on Fridays", "unrelated"},
		{"Lin lives in Lisbon", "Lin used to live in Lisbon", "conflict"},
		{"Smoking is allowed", "Smoking is allowed unless it rains", "unrelated"},
		{"Lin drinks tea", "Lin drinks tea or coffee", "unrelated"},
		{"小满特别喜欢猫", "小满特喜欢猫", "unrelated"},
		{"10² people came", "102 people came", "unrelated"},
		{"The deposit is $50", "The deposit is €50", "unrelated"},
		{"", "Lin likes tea", "unrelated"},
		{"!!!", "???", "unrelated"},
	} {
		if got := relate(readSense(c.fact), readSense(c.memory)); got != c.want {
			t.Errorf("%q, remembered: %q: %s, want %s\n%+v\n%+v", c.fact, c.memory, got, c.want, readSense(c.fact), readSense(c.memory))
		}
	}
}

// compareOffline asks how a fact stands to memories.
func compareOffline(t testing.TB, fact string, memories ...string) []opinion {
	t.Helper()
	candidates := []map[string]any{}
	for i, m := range memories {
		candidates = append(candidates, map[string]any{"id": fmt.Sprintf("c%d", i+1), "statement": m, "last_supported_at": "2026-01-05"})
	}
	data, err := json.Marshal(map[string]any{"notice": "data", "fact": map[string]any{"statement": fact, "date": "2026-01-06"}, "candidates": candidates})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := New(0).Generate(context.Background(), llm.Request{User: string(data)})
	if err != nil || resp.Finish != llm.FinishStop {
		t.Fatal(resp, err)
	}
	return decodeLines[opinion](t, resp.Text)
}

// One line for each candidate, in order, with a reason in the fact's language
// and a statement where one is due.
func TestCompareAnswersEachCandidate(t *testing.T) {
	got := compareOffline(t, "Lin plays chess on Thursdays at the club", "Lin plays chess on Thursdays", "Lin plays chess on Fridays at the club", "小林下棋",
		"lin plays chess on thursdays, at the club!")
	var brief []string
	for _, o := range got {
		if o.Reason == "" || isDense(o.Reason) {
			t.Errorf("reason of %s: %q", o.ID, o.Reason)
		}
		brief = append(brief, o.ID+" "+string(o.Relation)+" "+o.Statement)
	}
	want := "c1 update Lin plays chess on Thursdays at the club|c2 conflict |c3 unrelated |c4 duplicate "
	if s := strings.Join(brief, "|"); s != want {
		t.Errorf("got %s, want %s", s, want)
	}
	if zh := compareOffline(t, "小林周四下棋", "小林周五下棋"); len(zh) != 1 || zh[0].Relation != reverie.RelationConflict || !isDense(zh[0].Reason) {
		t.Errorf("%+v", zh)
	}
}

// TestNearMissIsNoDuplicate changes one figure, weekday or negation of a
// statement at a time: however it is written, the result is never the same fact,
// nor is it merged into the other.
func TestNearMissIsNoDuplicate(t *testing.T) {
	pairs := 0
	for _, statement := range nearStatements(t) {
		for _, other := range nearMisses(statement) {
			if text.ContentHash(statement) == text.ContentHash(other) {
				t.Fatalf("%q and %q are one to the content hash", statement, other)
			}
			pairs++
			for _, got := range []reverie.Relation{relate(readSense(other), readSense(statement)), relate(readSense(statement), readSense(other))} {
				if got == reverie.RelationDuplicate || got == reverie.RelationUpdate {
					t.Errorf("%q and %q: %s", statement, other, got)
				}
			}
		}
	}
	t.Logf("%d pairs", pairs)
	if pairs < 300 {
		t.Errorf("%d pairs are too few to say anything", pairs)
	}
}

// nearStatements are those that the vectors are measured on, and those that the
// layer above is.
func nearStatements(t testing.TB) []string {
	t.Helper()
	raw, err := os.ReadFile("../../decide/testdata/wordings.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, w := range decodeLines[struct {
		Text, Base string
	}](t, string(raw)) {
		if out = append(out, w.Text); w.Base != "" {
			out = append(out, w.Base)
		}
	}
	for _, pairs := range [][][2]string{restated, related} {
		for _, p := range pairs {
			out = append(out, p[0], p[1])
		}
	}
	return append(out, "The court costs 3.5 euros", "温度是-5度", "Room 12 seats 8 people", "费用是每人三十五块", "版本 2.10 周五发布", "Backups run at 03:30 every day", "小满不吃辣",
		"Maya can't swim", "C# is used for the 2 tools", "The group has 1,200 photos")
}

// nearMisses are variants of a statement that say something else: each digit
// changed, each weekday moved, a negation put in.
func nearMisses(s string) []string {
	var out []string
	for i, r := range s {
		if r >= '0' && r <= '9' {
			out = append(out, s[:i]+string('0'+(r-'0'+1)%10)+s[i+1:])
		}
	}
	days := []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "周一", "周二", "周三", "周四", "周五", "周六", "周日"}
	for i, day := range days {
		if at := strings.Index(s, day); at >= 0 {
			next := days[i/7*7+(i+1)%7]
			out = append(out, s[:at]+next+s[at+len(day):])
		}
	}
	for _, verb := range []string{" is ", " are ", " must ", " can "} {
		if strings.Contains(s, verb) {
			out = append(out, strings.Replace(s, verb, verb+"not ", 1), strings.Replace(s, verb, verb+"no longer ", 1))
		}
	}
	for _, verb := range []string{"打", "开", "放", "用", "要", "发", "吃", "去", "买"} {
		if at := strings.Index(s, verb); at > 0 {
			out = append(out, s[:at]+"不"+s[at:], s[:at]+"不再"+s[at:])
			if before, n := utf8.DecodeLastRuneInString(s[:at]); before == '不' {
				out = append(out, s[:at-n]+s[at:])
			}
		}
	}
	return out
}

// FuzzCompare holds verdicts to what they may say of any two statements.
func FuzzCompare(f *testing.F) {
	for _, p := range restated {
		f.Add(p[0], p[1])
	}
	f.Add("on every Monday", "every each 每周一")
	f.Add("Lin says: I", "林说：我")
	f.Fuzz(func(t *testing.T, fact, memory string) {
		fact, memory = strings.ToValidUTF8(fact, "?"), strings.ToValidUTF8(memory, "?")
		got := compareOffline(t, fact, memory)
		if len(got) != 1 || got[0].ID != "c1" || got[0].Reason == "" {
			t.Fatalf("%+v", got)
		}
		alike := text.ContentHash(fact) == text.ContentHash(memory)
		switch o := got[0]; o.Relation {
		case reverie.RelationDuplicate:
			if o.Statement != "" {
				t.Fatalf("a duplicate with the statement %q", o.Statement)
			}
		case reverie.RelationUpdate:
			if o.Statement != fact {
				t.Fatalf("merged into %q", o.Statement)
			}
		case reverie.RelationConflict, reverie.RelationUnrelated:
			if alike {
				t.Fatalf("%q and %q are the same", fact, memory)
			}
		default:
			t.Fatalf("%+v", o)
		}
	})
}
