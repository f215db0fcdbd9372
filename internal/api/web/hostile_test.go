package web_test

import (
	"database/sql"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// hostileText is what somebody may say to do harm: mark-up, and characters that reorder
// or hide others.
const hostileText = `<script>alert(1)</script><img src=x onerror=alert(2)>"'&amp;` + "\u202etxt\u2066\u200b\u0085 \u5999"

// hostileTexts puts it into everything that pages show of a group, with hostile names of
// the group and of those who speak, and looks at all of its pages.
func hostileTexts(t *testing.T, handler http.Handler, reader string, url string) {
	db, err := sql.Open("postgres", url)
	check(t, err)
	defer func() { check(t, db.Close()) }()
	for _, statement := range []string{
		`update groups set name = $1 where group_id = $2`,
		`update messages set text = $1 || text, author = $1 where group_id = $2`,
		`update memories set statement = left($1 || statement, 500), change_summary = $1, tags = array[$1] where group_id = $2`,
		`update memory_change_log set old_statement = case when old_statement > '' then $1 || old_statement else '' end,
			new_statement = case when new_statement > '' then $1 || new_statement else '' end, change_summary = $1 where group_id = $2`,
		`update memory_evidence set author = $1, quote = $1 where group_id = $2`,
		`update runs set error = $1, model = $1, status = 'failed' where group_id = $2 and job = 'evolve'`,
		`update llm_calls set model = $1, purpose = $1, outcome = $1 where group_id = $2`,
		`update entities set subject = $1 where group_id = $2`,
		`update run_chunks set refusals = jsonb_build_array(jsonb_build_object('line', 1, 'rule', $1::text, 'detail', $1::text)) where group_id = $2`,
		`insert into setbacks (group_id, job, failures, error, retry_at, parked_at, updated_at) values ($2, 'evolve', 3, $1, now(), now(), now())`,
	} {
		if _, err := db.ExecContext(t.Context(), statement, hostileText, allotment); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	v := visit(t, handler, "en").login(reader)
	shown := 0
	v.look = func(a *answer) {
		for n := range a.doc.Descendants() {
			switch {
			case n.Type == html.TextNode && strings.ContainsAny(n.Data, "\u202e\u2066\u200b\u0085"):
				t.Errorf("%s: hidden characters in %.80q", a.url, n.Data)
			case n.Type == html.TextNode && strings.Contains(n.Data, "alert(1)"):
				shown++
			case n.Data == "script" && n.FirstChild != nil || attr(n, "onerror") != "" || n.Data == "img" && attr(n, "src") == "x":
				t.Errorf("%s: the text has become <%s>", a.url, n.Data)
			}
		}
	}
	walk(v)
	if shown < 100 {
		t.Errorf("the text was seen %d times: was it looked for?", shown)
	}
	if text := words(v.get("/ui/groups/" + allotment).doc); !strings.Contains(text, "evolve is parked after 3 failures") || !strings.Contains(text, "reverie groups resume allotment") {
		t.Errorf("of the parked job: %s", text)
	}
}
