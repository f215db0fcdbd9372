package entity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"reverie/internal/llm/lines"
	"reverie/internal/reverie"
)

// TestAliases gives one alias of a subject a single message to prove it.
func TestAliases(t *testing.T) {
	for _, c := range []struct {
		message, subject, alias string
		proven                  bool
	}{
		{"u1 Alex: call me Kay please", "Alex", "Kay", true},
		{"u1 Alex: You can call me “Kay”.", "Alex", "Kay", true},
		{"u1 Alex: I'm also known as Kay", "Alex", "Kay", true},
		{"u1 Alex: my name is Alexander", "Alex", "Alexander", true},
		{"u1 Alex: 叫我老亚就行", "Alex", "老亚", true},
		{"u1 Alex: 我的外号是老亚", "Alex", "老亚", true},
		{"u1 Alex: 我改名叫老亚了", "Alex", "老亚", true},
		{"u1 Alex: Kay is late again", "Alex", "Kay", false},
		{"u1 Alex: I love Kay", "Alex", "Kay", false},
		{"u1 Alex: don't forget, I'm with Kay", "Alex", "Kay", false},
		{"u1 Alex: call me Kayla", "Alex", "Kay", false},
		{"u1 Alex: 我叫了小李一起去", "Alex", "小李", false},
		{"u2 Mia: call me Kay", "Alex", "Kay", false},
		{"u2 Mia: Alex aka Kay is here", "Alex", "Kay", true},
		{"u2 Mia: Alex (Kay) is here", "Alex", "Kay", true},
		{"u2 Mia: Alex (Kay's brother) is here", "Alex", "Kay", false},
		{"u2 Mia: Kay is short for Katharina", "Katharina", "Kay", true},
		{"u2 Mia: Alex and Kay are here", "Alex", "Kay", false},
		{"u2 Mia: Alex is not called Kay", "Alex", "Kay", false},
		{"u2 Mia: Alexandra aka Kay is here", "Alex", "Kay", false},
		{"u2 Mia: 小王就是王小明", "小王", "王小明", true},
		{"u2 Mia: 小王外号叫大头", "小王", "大头", true},
		{"u2 Mia: 小王不是王小明", "小王", "王小明", false},
		{"u2 Mia: 小王和王小明都来了", "小王", "王小明", false},
		{"u2 Mia: 小王不叫大头", "小王", "大头", false},
		{"u2 Mia: Alex aka everyone is here", "Alex", "everyone", false},
		{"u1 Alex: call me Mia", "Alex", "Mia", false}, // somebody else's name here
		{"u2 Mia: Alex aka Kay lives in Rome", "Alex", "Kay", true},
		{"u2 Mia: Alex aka Kay sings", "Alex", "Kay", true},
		{"u2 Mia: Alex aka Kay's friend sings", "Alex", "Kay", false},
		{"u2 Mia: I hear Alex goes by Kay now", "Alex", "Kay", true},
		{"u1 Alex: 叫我老亚吧", "Alex", "老亚", true},
		{"u1 Alex: 别人都叫我老亚，真的", "Alex", "老亚", true},
		{"u1 Alex: I don't mind, call me Kay", "Alex", "Kay", true},
		{"u1 Alex: please don't call me Kay", "Alex", "Kay", false},
		{"u1 Alex: never ever call me Kay again", "Alex", "Kay", false},
		{"u1 Alex: 别叫我老亚", "Alex", "老亚", false},
		{"u1 Alex: 不要再叫我老亚了", "Alex", "老亚", false},
		{"u1 Alex: call me Kay's brother", "Alex", "Kay", false},
		{"u1 Alex: call me Kay?", "Alex", "Kay", false},
		{"u1 Alex: I go by Kay street every day", "Alex", "Kay", false},
		{"u1 Alex: 我叫小李来吃饭", "Alex", "小李", false},
		{"u1 Alex: 我叫小李的哥哥来了", "Alex", "小李", false},
		{"u2 Mia: 小王就是小红的哥哥", "小王", "小红", false},
		{"u2 Mia: 小王就是小红哥哥", "小王", "小红", false},
		{"u2 Mia: 小王就是王小明吗", "小王", "王小明", false},
		{"u2 Mia: 谁说小王就是王小明", "小王", "王小明", false},
		{"u2 Mia: 小王就是王小明，没错", "小王", "王小明", true},
		{"u2 Mia: Dana was called Kay's best student", "Dana", "Kay", false},
		{"u2 Mia: Dana goes by Kay street every day", "Dana", "Kay", false},
		{"u2 Mia: Dana is called Kay? no way", "Dana", "Kay", false},
		{"u2 Mia: I never said that Dana is called Kay", "Dana", "Kay", false},
	} {
		w := newWorld(t)
		b, cast := w.question(append(w.talk(c.message), w.talk("u1 Alex: hi", "u2 Mia: hi")...))
		list, refused, _ := parse(b, cast, w.loc, lines.Read(fmt.Sprintf(
			`{"subject":%q,"kind":"person","aliases":[%q],"confidence":1,"evidence":[{"message":1,"quote":%q}],"impressions":["likes tea"]}`,
			c.subject, c.alias, b.messages[0].Text)))
		got := len(list) == 1 && slices.Equal(list[0].Aliases, []string{c.alias})
		if got != c.proven {
			t.Errorf("%s: %s is %s: %v, %+v", c.message, c.alias, c.subject, got, refused)
		}
		said := slices.ContainsFunc(refused, func(r reverie.Refusal) bool { return r.Action == "alias" })
		if said == c.proven {
			t.Errorf("%s: refused %+v", c.message, refused)
		}
	}
}

// A quote that stops before the words that deny it proves no more than all of them.
func TestAliasesOfCutQuotes(t *testing.T) {
	for _, c := range []struct{ message, quote, subject, alias string }{
		{"u1 Alex: please don't call me Kay", "call me Kay", "Alex", "Kay"},
		{"u1 Alex: 不要叫我老亚", "叫我老亚", "Alex", "老亚"},
		{"u2 Mia: 小王就是小红的哥哥", "小王就是小红", "小王", "小红"},
		{"u2 Mia: Dana is called Kay's friend", "Dana is called Kay", "Dana", "Kay"},
	} {
		w := newWorld(t)
		b, cast := w.question(append(w.talk(c.message), w.talk("u1 Alex: hi", "u2 Mia: hi")...))
		list, _ := observedIn(w, b, cast, fmt.Sprintf(
			`{"subject":%q,"kind":"person","aliases":[%q],"confidence":1,"evidence":[{"message":1,"quote":%q}],"impressions":["likes tea"]}`, c.subject, c.alias, c.quote))
		if len(list) != 1 || len(list[0].Aliases) > 0 {
			t.Errorf("%q of %q: %v", c.quote, c.message, tell(list))
		}
	}
}

// TestSpeaksOf asks whether words of one person may speak of another, given a
// quote, and "..." for what the message holds around it.
func TestSpeaksOf(t *testing.T) {
	for _, subject := range []string{"Alex", "Kim"} { // one who writes here, one who is only spoken of
		for text, may := range map[string]bool{
			"I live in Berlin": false, "I'm a nurse": false, "my cat is ill": false, "我住在柏林": false, "俺是护士": false, "我的猫病了": false,
			"lives in Berlin": true, "he told me that he lives in Berlin": true, "I think you live in Berlin": true, "we live in Berlin": true,
			"I saw $who in Berlin": true, "我觉得他住在柏林": true, "我们住在柏林": true, "我看见$who在柏林": true, "住在柏林": true, "Imagine Berlin": true,
			"I ...live in Berlin...": false, "我...住在柏林...": false, "I live in Berlin, you know": false, "I ...live in Berlin, you know...": false,
			"you know I live in Berlin": false, "你知道我住在柏林": false, "I live in Berlin, it is cold": false, "I live in Berlin, that's nice": false,
			"I moved, ...live in Berlin...": false, "I moved. ...Lives in Berlin...": true, "He moved, ...lives in Berlin...": true,
			"I live in Porto, she ...lives in Berlin...": true, "I live in Porto, $who ...lives in Berlin...": true, "I saw $who yesterday, ...still lives in Berlin...": true,
			"$who is my friend, ...I live in Berlin...": false, "I earn 3.5k, ...live in Berlin...": false,
			"好久不见。我...住在柏林...": false, "好久不见。...住在柏林...": true,
		} {
			text = strings.ReplaceAll(text, "$who", subject)
			quote := text
			if parts := strings.Split(text, "..."); len(parts) == 3 {
				quote = parts[1]
			}
			text = strings.ReplaceAll(text, "...", "")
			w := newWorld(t)
			b, c := w.question(w.talk("u2 Mia: "+text, "u1 Alex: hi", "u1 Alex: where is Kim"))
			list, _ := observedIn(w, b, c, fmt.Sprintf(
				`{"subject":%q,"kind":"person","confidence":1,"evidence":[{"message":1,"quote":%q}],"features":{"city":"Berlin"}}`, subject, quote))
			if got := len(list) == 1; got != may {
				t.Errorf("%q of %q, of %s: %v", quote, text, subject, got)
			}
		}
	}
}

// TestSpeaksOfItself asks whether words of Lin may speak of Lin.
func TestSpeaksOfItself(t *testing.T) {
	for text, may := range map[string]bool{
		"I live in Rome": true, "live in Rome now": true, "住在罗马": true, "Rome is lovely": true, "I live in Rome with Mia": true, "we live in Rome, Mia and Kim": true,
		"Mia is my sister in Rome": true, "me and Mia live in Rome": true, "My city is Rome, Mia's too": true,
		"Mia lives in Rome": false, "Mia住在罗马": false, "yesterday @Mia moved to Rome": false, "Kim lives in Rome": false, "Mia moved, ...lives in Rome...": false,
		"I like tea. Mia ...lives in Rome...": false, "the other Lin lives in Rome": true, "Miami and Rome": true, "Porto and Rome": true,
	} {
		quote := text
		if parts := strings.Split(text, "..."); len(parts) == 3 {
			quote = parts[1]
		}
		text = strings.ReplaceAll(text, "...", "")
		w := newWorld(t)
		w.night(w.talk("u9 Bob: hi", "u9 Bob: Kim plays chess", "u9 Bob: Kim plays chess, I say", "u9 Bob: Porto is big", "u9 Bob: Porto is big, yes"),
			`{"subject":"Kim","kind":"person","confidence":1,"evidence":[{"message":2,"quote":"Kim plays chess"},{"message":3,"quote":"Kim plays chess"}],"impressions":["plays chess"]}`,
			`{"subject":"Porto","kind":"thing","confidence":1,"evidence":[{"message":4,"quote":"Porto is big"},{"message":5,"quote":"Porto is big"}],"impressions":["is big"]}`)
		b, c := w.question(w.talk("u1 Lin: "+text, "u2 Mia: hi"))
		list, _ := observedIn(w, b, c, fmt.Sprintf(
			`{"subject":"Lin","kind":"person","confidence":1,"evidence":[{"message":1,"quote":%q}],"features":{"city":"Rome"}}`, quote))
		if got := len(list) == 1; got != may {
			t.Errorf("%q of %q: %v", quote, text, got)
		}
	}
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		text, name string
		want       string
	}{
		{"ann and anna", "Ann", "[[0 3]]"}, {"anna", "ann", "[]"}, {"ann, ann!", "ann", "[[0 3] [5 8]]"}, {"小明和王小明", "小明", "[[0 6] [12 18]]"},
		{"", "x", "[]"}, {"x", "", "[]"}, {"@kay", "@Kay", "[[1 4]]"},
	} {
		if got := fmt.Sprint(places(c.text, c.name)); got != c.want {
			t.Errorf("%q in %q: %s, want %s", c.name, c.text, got, c.want)
		}
	}
}
