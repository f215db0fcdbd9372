package eval

import "testing"

func TestTerms(t *testing.T) {
	for _, c := range []struct {
		name      string
		all, none []string
		says      []string
		not       []string
	}{
		{"whole words", []string{"go"}, nil, []string{"They write Go.", "go!", "用Go写"}, []string{"They are going.", "a good one", "cargo"}},
		{"alternatives", []string{"thursday|thu", "badminton"}, nil, []string{"Badminton is on Thu.", "THURSDAY: badminton"}, []string{"Badminton is on Thunder day."}},
		{"several words", []string{"half past nine"}, nil, []string{"at half  past nine"}, []string{"half past ninety"}},
		{"an ending", []string{"play*"}, nil, []string{"plays", "They played.", "play"}, []string{"display", "ploy"}},
		{"numbers", []string{"3"}, nil, []string{"3", "room 3.", "3点", "3, then"}, []string{"30", "3.5", "0.3", "3:30", "13", "1,3"}},
		{"none", []string{"anna", "munich"}, []string{"moved|until"}, []string{"Anna lives in Munich."}, []string{"Anna moved from Munich.", "Ben lives in Munich."}},
		{"Chinese", []string{"周四|星期四", "羽毛球"}, []string{"不打"}, []string{"每周四晚上打羽毛球", "星期四羽毛球", "每週四晚上打羽毛球"}, []string{"周五打羽毛球", "周四不打羽毛球"}},
		{"width and possessives", []string{"anna"}, nil, []string{"ＡＮＮＡ住在柏林", "Anna's cat", "Anna’s cat"}, []string{"Susanna", "Annas"}},
		{"a second place", []string{"art"}, nil, []string{"He starts with art."}, []string{"He starts, smartly."}},
	} {
		p, err := newPattern(c.all, c.none)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, s := range c.says {
			if !p.matches(s) {
				t.Errorf("%s: %q does not match", c.name, s)
			}
		}
		for _, s := range c.not {
			if p.matches(s) {
				t.Errorf("%s: %q matches", c.name, s)
			}
		}
	}
	for _, bad := range [][]string{nil, {""}, {"a||b"}, {"a*b"}, {"*"}, {"\u200b"}} {
		if _, err := newPattern(bad, nil); err == nil {
			t.Errorf("%q is taken for terms", bad)
		}
	}
}

// FuzzTerm: whatever is looked for in whatever text, nothing breaks, and a term is found
// in itself.
func FuzzTerm(f *testing.F) {
	f.Add("go", "They go, 3.5 周四")
	f.Add("周四|3*", "\xff3周")
	f.Fuzz(func(t *testing.T, term, text string) {
		p, err := newPattern([]string{term}, nil)
		if err != nil {
			return
		}
		p.matches(text)
		if !p.matches(p.all[0][0].text) {
			t.Errorf("%q is not found in %q", term, p.all[0][0].text)
		}
	})
}
