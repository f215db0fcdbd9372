package rest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"reverie/internal/api/problem"
	"reverie/internal/reverie"
)

// TestTeam is of teams that share a database.
func TestTeam(t *testing.T) {
	w := newWorld(t)
	for name, try := range map[string]func(*testing.T, crew){"writes": writes, "findings": findings, "idempotency": idempotency, "pages": teamPages, "no-chat": noChat} {
		t.Run(name, func(t *testing.T) {
			p := w.gather(t, name, w.mine.mark)
			try(t, crew{w, p, p.token[reverie.ScopeWrite]})
		})
	}
}

// crew asks as somebody of a team.
type crew struct {
	*world
	*place
	token string
}

func (c crew) put(t *testing.T, id, body string, status int, headers ...string) (reverie.TeamMemory, problem.Problem) {
	t.Helper()
	a := c.ask(c.token, http.MethodPut, "/v1/team/memories/"+id, body, headers...)
	if a.Code != status {
		t.Errorf("PUT %s %s %q is %d: %s", id, body, headers, a.Code, a.Body)
	}
	if a.Code >= 300 {
		return reverie.TeamMemory{}, problemIn(t, a)
	}
	m := teamMemory(t, a)
	if a.Header().Get("ETag") != `"`+m.VersionID+`"` {
		t.Errorf("the ETag is %q", a.Header().Get("ETag"))
	}
	return m, problem.Problem{}
}

func teamMemory(t *testing.T, a *httptest.ResponseRecorder) (m reverie.TeamMemory) {
	t.Helper()
	if err := json.Unmarshal(a.Body.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

const (
	secretToken = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	fresh       = "If-None-Match"
	match       = "If-Match"
)

// A memory is created, changed, deleted and restored, each on top of what its writer has
// read; all else is refused in the words of its rule, and changes nothing.
func writes(t *testing.T, c crew) {
	w := c.world
	id := reverie.NewID()
	say := func(s string) string { return `{"statement":` + quoted(s) + `,"change_reason":"said so"}` }

	if _, p := c.put(t, id, say("We ship on Thursdays"), 428); !strings.Contains(p.Detail, "If-Match") {
		t.Errorf("without a condition: %q", p.Detail)
	}
	if _, p := c.put(t, id, say("We ship on Thursdays"), 412, match, `"`+reverie.NewID()+`"`); p.Current != nil || p.HeadID != "" {
		t.Errorf("a change of nothing: %+v", p)
	}
	m, _ := c.put(t, id, say("We ship on Thursdays"), 201, fresh, "*")
	if m.ID != id || m.Version != 1 || m.Strength != 0.5 || m.Status != reverie.StatusActive || m.Origin.MemoryID != m.VersionID || m.ChangeReason != "said so" {
		t.Errorf("created: %+v", m)
	}
	tag := `"` + m.VersionID + `"`
	for name, headers := range map[string][]string{"create again": {fresh, "*"}, "an old version": {match, `"` + reverie.NewID() + `"`},
		"a weak tag": {match, "W/" + tag}, "an empty tag": {match, `""`}, "a list of others": {match, `"x", "` + reverie.NewID() + `"`}} {
		_, p := c.put(t, id, say("We ship on Mondays"), 412, headers...)
		if p.Current == nil || p.Current.VersionID != m.VersionID || p.HeadID != m.VersionID || p.HeadVersion != 1 {
			t.Errorf("%s: %+v", name, p)
		}
	}
	c.put(t, id, say("x y"), 412, match, "nonsense")
	c.put(t, id, say("x y"), 412, match, "*")
	c.put(t, id, say("x y"), 412, match, tag, match, `"`+reverie.NewID()+`"`)
	c.put(t, id, say("x y"), 422, fresh, tag)
	c.put(t, id, say("x y"), 422, fresh, "*", match, tag)
	c.put(t, id, `{"id":"`+reverie.NewID()+`","statement":"x y"}`, 422, match, tag)
	c.put(t, strings.ToUpper(id), say("x y"), 422, fresh, "*")
	c.put(t, id, `{"statement":"x y","status":"held"}`, 422, match, tag)
	c.put(t, id, `{"statement":"x y","strength":2}`, 422, match, tag)

	m2, _ := c.put(t, id, say("We ship on Fridays"), 200, match, tag)
	deleted, _ := c.put(t, id, `{"statement":"We ship on Fridays","status":"deprecated"}`, 200, match, `"`+m2.VersionID+`"`)
	if m2.Version != 2 || deleted.Version != 3 || deleted.Status != reverie.StatusDeprecated || len(deleted.Versions) != 2 {
		t.Errorf("deleted: %+v", deleted)
	}
	back, _ := c.put(t, id, say("We ship on Fridays"), 200, match, `"`+deleted.VersionID+`"`)
	if _, p := c.put(t, reverie.NewID(), say("We ship on  fridays."), 409, fresh, "*"); !strings.Contains(p.Detail, id) {
		t.Errorf("a twin: %q", p.Detail)
	}
	for _, taken := range []string{c.place.memory, w.theirs.team.memory, w.lineage(t, w.theirs.memory), w.theirs.memory} {
		if _, p := c.put(t, taken, say("We take over"), map[bool]int{true: 412, false: 409}[taken == c.place.memory], fresh, "*"); strings.Contains(p.Detail, w.theirs.mark) {
			t.Errorf("an id that is taken: %q", p.Detail)
		}
	}
	a := w.ask(c.place.token[reverie.ScopeRead], http.MethodGet, "/v1/team/memories/"+id, "")
	if got := teamMemory(t, a); got.VersionID != back.VersionID || got.Statement != "We ship on Fridays" {
		t.Errorf("in the end: %+v", got)
	}
}

func (w *world) lineage(t *testing.T, memoryID string) string {
	t.Helper()
	m, err := w.store.Memory(t.Context(), "", memoryID)
	if err != nil {
		t.Fatal(err)
	}
	return m.LineageID
}

// What a memory may not hold is named by field and rule, and stands nowhere afterwards.
func findings(t *testing.T, c crew) {
	w := c.world
	for field, body := range map[string]string{
		"statement":     `{"statement":"the key is ` + secretToken + `"}`,
		"change_reason": `{"statement":"fine words","change_reason":"` + secretToken + `"}`,
		"tags":          `{"statement":"fine words","tags":["` + secretToken + `"]}`,
	} {
		_, p := c.put(t, reverie.NewID(), body, 422, fresh, "*", "Idempotency-Key", "k-"+field)
		text, _ := json.Marshal(p)
		if len(p.Findings) != 1 || p.Findings[0].Where != field || p.Findings[0].Class != reverie.ClassSecret || p.Findings[0].Rule == "" || strings.Contains(string(text), secretToken[:12]) {
			t.Errorf("%s: %s", field, text)
		}
	}
	if _, p := c.put(t, reverie.NewID(), `{"statement":"see https://evil.example/x.png"}`, 422, fresh, "*"); len(p.Findings) != 1 || p.Findings[0].Rule != "link" {
		t.Errorf("a link: %+v", p)
	}
	_, p := c.put(t, reverie.NewID(), `{"statement":"fine words","origin":{"deployment":"x","memory_id":"1","lineage_id":"2","version":0,"messages":1,"made_at":"2026-01-15T12:30:00Z"}}`, 422, fresh, "*")
	if !strings.Contains(p.Detail, "origin.memory_id") || !strings.Contains(p.Detail, "origin.version") {
		t.Errorf("a broken origin: %q", p.Detail)
	}
	masked, _ := c.put(t, reverie.NewID(), `{"statement":"Write to lin@example.org","evidence":[{"message_id":"m1","author":"Lin","quote":"write to me","sent_at":"2026-01-15T12:30:00Z","local_date":"2026-01-15"}]}`, 201, fresh, "*")
	if strings.Contains(masked.Statement, "lin@") || masked.Evidence != nil {
		t.Errorf("kept: %+v", masked)
	}
	if n := w.count(t, `select count(*) from memory_evidence where group_id = 'team:findings'`); n != 0 {
		t.Errorf("%d quotes were kept", n)
	}
}

func (w *world) count(t *testing.T, query string) (n int) {
	t.Helper()
	if err := w.db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A write under a key is made once and answered alike; the key stands for nothing else.
func idempotency(t *testing.T, c crew) {
	w := c.world
	id, key := reverie.NewID(), []string{fresh, "*", "Idempotency-Key", "k1"}
	first, _ := c.put(t, id, `{"statement":"We meet at nine"}`, 201, key...)
	again, _ := c.put(t, id, `{"statement":"We meet at nine"}`, 201, key...)
	if first.VersionID != again.VersionID || w.count(t, `select count(*) from memories where lineage_id = '`+id+`'`) != 1 {
		t.Errorf("made twice: %+v", again)
	}
	changed, _ := c.put(t, id, `{"statement":"We meet at ten"}`, 200, match, `"`+first.VersionID+`"`, "Idempotency-Key", "k2")
	late, _ := c.put(t, id, `{"statement":"We meet at ten"}`, 200, match, `"`+first.VersionID+`"`, "Idempotency-Key", "k2")
	if late.VersionID != changed.VersionID {
		t.Errorf("the head had moved by the write itself: %+v", late)
	}
	c.put(t, id, `{"statement":"We meet at eleven"}`, 422, key...)
	c.put(t, reverie.NewID(), `{"statement":"We meet at nine"}`, 422, key...)
	c.put(t, id, `{"statement":"We meet at nine"}`, 422, fresh, "*", "Idempotency-Key", "two words")
	c.put(t, id, `{"statement":"We meet at nine"}`, 422, fresh, "*", "Idempotency-Key", strings.Repeat("k", 201))
}

// Pages have all memories once, deleted ones too.
func teamPages(t *testing.T, c crew) {
	w := c.world
	for _, s := range []string{"one thing", "another thing", "a third thing"} {
		m, _ := c.put(t, reverie.NewID(), `{"statement":`+quoted(s)+`}`, 201, fresh, "*")
		if s == "one thing" {
			c.put(t, m.ID, `{"statement":"one thing","status":"deprecated"}`, 200, match, `"`+m.VersionID+`"`)
		}
	}
	get := func(token, query string, status int) (page reverie.TeamMemories) {
		t.Helper()
		a := w.ask(token, http.MethodGet, "/v1/team/memories"+query, "")
		if a.Code != status {
			t.Errorf("%q is %d: %s", query, a.Code, a.Body)
		}
		if status == 200 {
			if err := json.Unmarshal(a.Body.Bytes(), &page); err != nil {
				t.Error(err)
			}
		}
		return page
	}
	seen := map[string]bool{}
	page := get(c.token, "?limit=3", 200)
	rest := get(c.token, "?limit=3&after="+page.Next, 200)
	deleted := 0
	for _, m := range append(page.Memories, rest.Memories...) {
		seen[m.ID] = true
		if m.Status == reverie.StatusDeprecated {
			deleted++
		}
	}
	if len(seen) != 4 || deleted != 1 || len(page.Memories) != 3 || rest.Next != "" || page.Team != "pages" {
		t.Errorf("pages: %+v %+v", page, rest)
	}
	get(c.token, "?after=x", 422)
	get(w.all, "", 422)
	get(w.all, "?team=pages", 200)
	get(w.all, "?team=nobody", 404)
	get(w.all, "?team=../x", 404)
	get(w.mine.token[reverie.ScopeAdmin], "", 422)
	get(w.mine.token[reverie.ScopeAdmin], "?team=pages", 404)
	a := w.ask(c.token, http.MethodGet, "/v1/team/memories/"+page.Memories[0].ID, "")
	if a.Code != 200 || a.Header().Get("ETag") != `"`+page.Memories[0].VersionID+`"` {
		t.Errorf("a memory is %d %s", a.Code, a.Body)
	}
}

// A team has no chat: no messages, no nights, no proposals; and its memories are like any
// others to what reads them.
func noChat(t *testing.T, c crew) {
	w := c.world
	token, tenant := c.place.token[reverie.ScopeAdmin], "team%3Ano-chat"
	for target, body := range map[string]string{
		"/v1/groups/" + tenant + "/messages":  `{"id":"m1","author":"Ann","text":"See you","sent_at":"2026-01-15T12:30:00Z"}` + "\n",
		"/memory/evolve/" + tenant:            "",
		"/v1/groups/" + tenant + "/proposals": `{"action":"create","statement":"we like tea","reason":"said so"}`,
	} {
		a := w.ask(token, http.MethodPost, target, body)
		if p := problemIn(t, a); a.Code != 422 || !strings.Contains(p.Detail, "team") {
			t.Errorf("%s is %d %s", target, a.Code, a.Body)
		}
	}
	if a := w.ask(w.all, http.MethodPost, "/v1/groups/team%3Anew/messages", "\n"); a.Code != 422 || w.count(t, `select count(*) from groups where group_id = 'team:new'`) != 0 {
		t.Errorf("a chat of that name is %d %s", a.Code, a.Body)
	}
	for _, target := range []string{"/memory/list/" + tenant, "/memory/search/" + tenant + "?q=tea&threshold=0", "/memory/changes/" + tenant, "/memory/history/" + c.place.version,
		"/v1/memories/" + c.place.version + "/why", "/v1/groups/" + tenant} {
		if a := w.ask(token, http.MethodGet, target, ""); a.Code != 200 || !strings.Contains(target, "groups") && !strings.Contains(a.Body.String(), w.mine.mark) {
			t.Errorf("%s is %d %s", target, a.Code, a.Body)
		}
	}
	a := w.ask(w.all, http.MethodPut, "/v1/team/memories/"+reverie.NewID()+"?team=new", `{"statement":"a first thing"}`, fresh, "*")
	if a.Code != 201 || w.count(t, `select count(*) from groups where group_id = 'team:new'`) != 1 {
		t.Errorf("the first write is %d %s", a.Code, a.Body)
	}
	if a := w.ask(w.all, http.MethodPut, "/v1/team/memories/"+reverie.NewID()+"?team=off", `{"statement":"a first thing"}`, fresh, "*"); a.Code != 422 {
		t.Errorf("a team without a name is %d %s", a.Code, a.Body)
	}
}
