package evolve

import (
	"fmt"
	"strings"
	"testing"

	"reverie/prompts"
)

// benchPaper is a group at the size that is aimed for, a full chunk, and an
// answer that touches much of it.
func benchPaper() (paper, string) {
	p := paper{Filler: 30}
	for i := range 200 {
		p.Fresh = append(p.Fresh, paperMessage{Text: fmt.Sprintf("message number %d about the court, the tea and the zine 群里每周四打羽毛球", i+1)})
	}
	var b strings.Builder
	for i := range 30 {
		action := []string{"keep", "update", "create"}[i%3]
		id := fmt.Sprintf(`"old_id":"m%d",`, i+1)
		if action == "create" {
			id = ""
		}
		fmt.Fprintf(&b, `{"action":%q,%s"statement":"The group agrees on matter number %d after a long talk.","change_reason":"It was said again.","tags":["talk"],"evidence":[{"message":%d,"quote":"about the court, the tea"},{"message":%d}]}`+"\n",
			action, id, i, i*6+1, i*6+2)
	}
	return p, b.String()
}

func BenchmarkParse(b *testing.B) {
	_, text := benchPaper()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if proposals, refused := parse(said(text)); len(proposals) != 30 || len(refused) != 0 {
			b.Fatalf("%d proposals, %d refused", len(proposals), len(refused))
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	p, text := benchPaper()
	s := p.sheet(b)
	proposals, _ := parse(said(text))
	b.ReportAllocs()
	for b.Loop() {
		if c := check(s, proposals, nil); len(c.accepted) != 30 {
			b.Fatalf("%d accepted, refused %+v", len(c.accepted), c.refused)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	p, _ := benchPaper()
	r := &run{Pipeline: &Pipeline{Prompts: must(prompts.Open(""))(b), Limits: limits()}}
	b.ReportAllocs()
	for b.Loop() {
		s := p.sheet(b)
		s.language = "en"
		if cut, err := r.fit(s, false); cut || err != nil {
			b.Fatal(cut, err)
		}
	}
}
