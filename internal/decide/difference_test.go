package decide

import (
	"fmt"
	"slices"
	"testing"

	"reverie/internal/text"
)

// TestDifference sees what similar wordings hide, and nothing in what is only
// said differently.
func TestDifference(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want []string
	}{
		{"群里每周五打羽毛球。", "群里每周六打羽毛球。", []string{`"周五"`, `"周六"`}},
		{"The group plays on Fridays.", "The group plays on Saturdays.", []string{`"fridays"`, `"saturdays"`}},
		{"群里每周五打羽毛球。", "The group plays badminton on Fridays.", nil},
		{"星期天爬山", "礼拜日爬山", nil},
		{"Weekends are for hiking.", "周末爬山。", nil},
		{"小林喜欢咖啡。", "小林不再喜欢咖啡。", []string{"a negation (不)"}},
		{"Lin likes coffee.", "Lin no longer likes coffee.", []string{"a negation (no)"}},
		{"Lin eats meat.", "Lin doesn’t eat meat.", []string{"a negation (n’t)"}},
		{"Lin never eats meat.", "Lin does not eat meat.", nil},
		{"小林戒了咖啡。", "Lin quit coffee.", nil},
		{"这家店不错。", "这家店很好。", nil},
		{"Maya 特别喜欢分别的诗。", "Maya 喜欢分别的诗。", nil},
		{"房租3000元", "房租3500元", []string{`"3000" (yuan)`, `"3500" (yuan)`}},
		{"房租三千元", "房租 3,000 元", nil},
		{"奖金5万", "奖金 50000", nil},
		{"The court costs 3.5 euros.", "The court costs 35 euros.", []string{`"3.5" (euro)`, `"35" (euro)`}},
		{"Version 1.2.3 is used.", "Version 1.2.4 is used.", []string{`"1.2.3"`, `"1.2.4"`}},
		{"They use ipv4.", "They use ipv6.", []string{`"4"`, `"6"`}},
		{"It is -5 degrees.", "It is 5 degrees.", []string{`"5"`, `"5"`}},
		{"Pages 3-5 are read.", "Pages 3 to 5 are read.", nil},
		{"Three people come.", "来三个人。", nil},
		{"来两个人。", "来三个人。", []string{`"两个"`, `"三个"`}},
		{"Twenty-five people come.", "来25人。", nil},
		{"二十五人", "25人", nil},
		{"一百零二页", "102 pages", nil},
		{"张三喜欢茶。", "李四喜欢茶。", nil}, // names, not numbers: who it is about is the model's to see
		{"大家一起喝一点茶。", "大家喝茶。", nil},
		{"每周一次例会", "每周一例会", []string{`"周一"`}},
		{"第一次聚会", "第二次聚会", []string{`"一次"`, `"二次"`}},
		{"晚上八点开会", "The meeting is at 8 pm.", nil},
		{"晚上8点半开会", "The meeting is at 20:30.", nil},
		{"Standup is at 9:30 am.", "Standup is at 9:30 pm.", []string{`"9:30 am"`, `"9:30 pm"`}},
		{"Standup is at 9:30.", "Standup is at 9:30 am.", nil},
		{"12点吃饭", "Lunch is at 12 pm.", nil},
		{"3月1日截止", "The deadline is March 1.", nil},
		{"The deadline is March 1.", "The deadline is April 1.", []string{`"march"`, `"april"`}},
		{"The trip is in May.", "The trip is in June.", []string{`"in may"`, `"june"`}},
		{"They may come.", "They come.", nil},
		{"Tea twice a day", "Tea once a day", []string{`"twice"`, `"once"`}},
		{"", "Tea.", nil},
	} {
		for i, d := range [][]text.Detail{difference(c.a, c.b), difference(c.b, c.a)} {
			var got []string
			for _, m := range d {
				got = append(got, m.String())
			}
			want := slices.Clone(c.want)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%d: %q and %q differ in %q, want %q", i, c.a, c.b, got, c.want)
			}
		}
	}
}

// TestDifferencesSeen are those that a careless verdict would pass over.
func TestDifferencesSeen(t *testing.T) {
	for _, c := range [][2]string{
		{"They use v1.2.", "They use v1.20."}, {"It is 12.000 long.", "It is 12 long."}, {"It is - 5 degrees.", "It is 5 degrees."},
		{"截止 3月5日", "截止 5月3日"}, {"Due 2024-03-05.", "Due 2024-05-03."}, {"3 cats and 2 dogs", "2 cats and 3 dogs"},
		{"9点到5点", "5点到9点"}, {"周五改到周六", "周六改到周五"},
		{"三分之一", "三分之二"}, {"百分之五", "百分之六"}, {"半小时", "一小时"}, {"住三环", "住四环"}, {"初五聚", "初六聚"}, {"吃三碗", "吃四碗"},
		{"三升水", "四升水"}, {"三吨", "五吨"}, {"他们俩", "他们仨"}, {"壹佰元", "贰佰元"}, {"廿五日", "卅五日"},
		{"on the second floor", "on the third floor"}, {"the twenty-first", "the twenty-second"}, {"on Tue", "on Thu"}, {"in Jan", "in Feb"}, {"Mon-Fri", "Mon-Sat"},
		{"5 million", "5 billion"}, {"two million", "two billion"}, {"at noon", "at midnight"}, {"half of it", "a third of it"}, {"Ⅳ期", "Ⅴ期"}, {"8点开会", "20点开会"},
		{"It is at 1:30.", "It is at 13:30."},
		{"5 km away", "5 miles away"}, {"5公斤", "5斤"}, {"三公里", "三里"}, {"5%", "5"}, {"$5", "5€"}, {"3 days", "3 weeks"}, {"两个月", "两个星期"},
		{"Maya likes tea.", "Maya dislikes tea."}, {"able to come", "unable to come"}, {"He can come.", "He cant come."}, {"He hardly eats.", "He eats."},
		{"喜欢茶", "讨厌茶"}, {"能去", "无法去"}, {"有糖可乐", "无糖可乐"}, {"会员免费", "非会员免费"},
		{"吃肉不吃鱼", "吃鱼不吃肉"}, {"不是不喜欢", "不喜欢"}, {"He eats meat, not fish.", "He eats fish, not meat."},
	} {
		if len(difference(c[0], c[1])) == 0 || len(difference(c[1], c[0])) == 0 {
			t.Errorf("%q and %q do not differ: %+v, %+v", c[0], c[1], marks(c[0]), marks(c[1]))
		}
	}
}

// TestNoDifference finds none in what is written otherwise.
func TestNoDifference(t *testing.T) {
	for _, c := range [][2]string{
		{"two hundred people", "200人"}, {"three thousand five hundred", "3,500"}, {"two hundred and five", "205"}, {"two million", "2,000,000"}, {"两百万", "2 million"},
		{"twenty-one people", "21 people"}, {"on the second floor", "在第二层"}, {"the 3rd", "the third"}, {"五成", "5 成"}, {"百分之五", "5 %"}, {"三分之一", "a third"}, {"half", "50%"},
		{"on Tue", "每周二"}, {"Mon-Sat", "周一到周六"}, {"Jan 3", "1月3日"}, {"5 March", "March 5"}, {"noon", "12 pm"}, {"午夜", "12 am"}, {"5 km", "五公里"}, {"5 kg", "5公斤"},
		{"3 hours", "三个小时"}, {"$5", "5 dollars"}, {"$5", "5"}, {"March 1 at 8 pm", "at 8 pm on March 1"}, {"周五 8点", "8点 on Fridays"},
		{"张三李四", "李雷"}, {"小三", "老二"}, {"一起一直一般", "大家"}, {"非常好", "好"}, {"除非下雨", "下雨"}, {"无论如何", "如何"}, {"in the sun", "in the light"},
		{"He sat down.", "He is down."}, {"壹佰贰拾元", "120元"}, {"廿五", "25"},
	} {
		if d := difference(c[0], c[1]); len(d) > 0 {
			t.Errorf("%q and %q differ in %v", c[0], c[1], d)
		}
	}
}

// FuzzDifference never fails, is the same both ways, and finds nothing between a
// statement and itself.
func FuzzDifference(f *testing.F) {
	f.Add("群里每周五晚上8点半打羽毛球，3.5元", "on Fridays at 20:30 for −5 euros, in May 1")
	f.Add("周", "三月一日 一点 第一")
	f.Add("三分之一 of 5 km, half not 廿五", "不是没 5% of two hundred and five, Mon-Sat")
	f.Fuzz(func(t *testing.T, a, b string) {
		if d := difference(a, a); len(d) > 0 {
			t.Errorf("%q differs from itself: %v", a, d)
		}
		names := func(list []text.Detail) (out []string) {
			for _, m := range list {
				out = append(out, fmt.Sprint(m))
			}
			slices.Sort(out)
			return out
		}
		if x, y := names(difference(a, b)), names(difference(b, a)); !slices.Equal(x, y) {
			t.Errorf("%q and %q: %q one way, %q the other", a, b, x, y)
		}
	})
}
