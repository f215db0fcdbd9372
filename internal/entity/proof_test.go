package entity

import (
	"fmt"
	"slices"
	"testing"

	"reverie/internal/llm/answer"
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
		{"u2 Mia: Kay is late again", "Alex", "Kay", false},
		{"u2 Mia: I love Kay", "Alex", "Kay", false},
		{"u2 Mia: don't forget, I'm with Kay", "Alex", "Kay", false},
		{"u1 Alex: call me Kayla", "Alex", "Kay", false},
		{"u2 Mia: call me Kay", "Alex", "Kay", false},
		{"u2 Mia: Alex aka Kay is here", "Alex", "Kay", true},
		{"u2 Mia: Alex (Kay) is here", "Alex", "Kay", true},
		{"u2 Mia: Kay is short for Katharina", "Katharina", "Kay", true},
		{"u2 Mia: Alexandra aka Kay is here", "Alex", "Kay", false},
		{"u2 Mia: 小王就是王小明", "小王", "王小明", true},
		{"u2 Mia: 小王外号叫大头", "小王", "大头", true},
		{"u2 Mia: Alex aka everyone is here", "Alex", "everyone", false},
		{"u1 Alex: call me Mia", "Alex", "Mia", false}, // somebody else's name here
		{"u2 Mia: Alex aka Kay lives in Rome", "Alex", "Kay", true},
		{"u2 Mia: Alex aka Kay sings", "Alex", "Kay", true},
		{"u2 Mia: I hear Alex goes by Kay now", "Alex", "Kay", true},
		{"u1 Alex: 叫我老亚吧", "Alex", "老亚", true},
		{"u1 Alex: 别人都叫我老亚，真的", "Alex", "老亚", true},
		{"u1 Alex: I don't mind, call me Kay", "Alex", "Kay", true},
		{"u2 Mia: 小王就是王小明，没错", "小王", "王小明", true},
		{"u2 Mia: 大家都叫林晓小林", "林晓", "小林", true}, // as the prompt has it
		{"u2 Mia: everybody calls Lin Xiao Lin", "Lin Xiao", "Lin", true},
		{"u2 Mia: 我们都叫林晓为小林", "林晓", "小林", true},
		{"u2 Mia: 阿强嘛，我们都喊他“小虾”", "阿强", "小虾", true},
		{"u1 Alex: 叫我“小虾”吧", "Alex", "小虾", true},
		{"u2 Mia: the whole floor knows Alexander as Sasha", "Alexander", "Sasha", true},
		{"u2 Mia: Sasha? that is what Alexander answers to", "Alexander", "Sasha", true},
		{"u2 Mia: 班上同学给陈大海起的名字是海哥", "陈大海", "海哥", true},
		{"u2 Mia: 阿珍在群里的昵称改成了“桃子”", "阿珍", "桃子", true},
		{"u2 Mia: 大伙儿都管王思远叫阿远", "王思远", "阿远", true},
		{"u2 Mia: 办公室里人人喊陈建国老陈", "陈建国", "老陈", true},
		{"u2 Mia: 周敏，就是群里的「敏敏姐」", "周敏", "敏敏姐", true},
		{"u2 Mia: 公司里都称呼李雪为雪姐", "李雪", "雪姐", true},
		{"u2 Mia: 大家都喊刘洋洋洋", "刘洋", "洋洋", true},
		{"u2 Mia: 大家都叫歐陽娜娜為娜娜", "欧阳娜娜", "娜娜", true},
		{"u1 Alex: 以后喊我阿力就好", "Alex", "阿力", true},
		{"u2 Mia: folks call Jonathan Smith Jon", "Jonathan Smith", "Jon", true},
		{"u2 Mia: everyone just says Liz when they mean ELIZABETH", "Elizabeth", "Liz", true},
		{"u2 Mia: we call Mary Ann Mary", "Mary Ann", "Mary", true},
		{"u1 Alex: friends say Lex to me", "Alex", "Lex", true},
		{"u2 Mia: Bobby’s real name is Robert", "Robert", "Bobby", true},
		{"u2 Mia: 刘洋今天不来", "刘洋", "洋洋", false},
		{"u2 Mia: Mary Ann is late", "Mary Ann", "Mary", false},
		{"u2 Mia: the whole floor knows Alexander", "Alexander", "Sasha", false},
		{"u2 Mia: 陈大海今天带了鱼来", "陈大海", "海哥", false},
		{"u2 Mia: Alexandra is known as Sasha", "Alex", "Sasha", false},
		{"u2 Mia: 王小明来了", "王小明", "小明", false}, // it is the one name, and not the other beside it
		{"u2 Mia: 小明就是王小明", "小明", "王小明", true},
	} {
		w := newWorld(t)
		b, participants := w.question(append(w.talk(c.message), w.talk("u1 Alex: hi", "u2 Mia: hi")...))
		list, refused, _ := parse(b, participants, w.loc, answer.Read(fmt.Sprintf(
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
