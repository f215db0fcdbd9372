package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"reverie/internal/api"
	"reverie/internal/api/server"
	"reverie/internal/api/web"
	"reverie/internal/reverie"
)

// waysBack goes wrong on the page in all the ways that lead on: to where one came from, to
// the newest version, to the form that was filled in, in either language.
func waysBack(t *testing.T, s *sample, handler http.Handler, admin string) {
	v := visit(t, handler, "en").login(admin)
	m := s.memory(halfFrame, func(m reverie.Memory) bool { return m.Version == 2 })
	memory, old := "/ui/memories/"+m.ID, "/ui/memories/"+*m.ParentID
	form := url.Values{"form_token": {v.get(memory).formToken()}, "strength": {"0.6"}}
	a := v.send(http.MethodPost, old+"/strength", form)
	if links := a.links(); a.Code != http.StatusConflict || !slices.Contains(links, memory) || !slices.Contains(links, old) || !slices.Contains(links, old+"?lang=zh") {
		t.Errorf("an edit of an old version: status %d, links %q\n%s", a.Code, links, words(a.doc))
	}
	v.referer = "http://localhost/ui/runs?job=dream"
	if links := v.send(http.MethodPost, old+"/strength", form).links(); !slices.Contains(links, "/ui/runs?job=dream") || !slices.Contains(links, "/ui/runs?job=dream&lang=zh") {
		t.Errorf("of a form elsewhere: links %q", links)
	}
	if links := v.get("/ui/runs/nobody").links(); !slices.Contains(links, "/ui/runs?job=dream") {
		t.Errorf("from the runs: links %q", links)
	}
	v.referer = "http://evil.example/ui/runs?job=dream"
	if links := v.get("/ui/runs/nobody").links(); slices.Contains(links, "/ui/runs?job=dream") {
		t.Errorf("from elsewhere: links %q", links)
	}
	v.referer = ""
	a = v.send(http.MethodPost, "/ui/login", url.Values{"token": {"x"}, "next": {memory}})
	if want := "/ui/login?lang=zh&next=" + url.QueryEscape(memory); !slices.Contains(a.links(), want) {
		t.Errorf("a login that failed, in the other language: %q", a.links())
	}
	run := v.get("/ui/runs?job=evolve&status=succeeded").links()
	id := run[slices.IndexFunc(run, func(link string) bool { return strings.HasPrefix(link, "/ui/runs/") })]
	if links := v.get("/ui/runs?job=evolve&status=succeeded&before=" + strings.TrimPrefix(id, "/ui/runs/")).links(); !slices.Contains(links, "/ui/runs?job=evolve&status=succeeded") {
		t.Errorf("the first page of chosen runs: %q", links)
	}
}

// decideOnProposals proposes, and decides on it where all of that waits.
func decideOnProposals(t *testing.T, s *sample, handler http.Handler, admin string) {
	ctx := api.WithCaller(t.Context(), api.Caller{Name: "Ada", Scope: reverie.ScopeAdmin})
	proposed, err := s.service.Propose(ctx, reverie.Proposal{GroupID: halfFrame, Action: reverie.ActionCreate, Statement: "The darkroom has a new lamp", Reason: "it was said"})
	check(t, err)
	v := visit(t, handler, "en").login(admin)
	a := v.get("/ui/held")
	if text := words(a.doc); !strings.Contains(text, "runs to review.") {
		t.Errorf("what waits: %s", text)
	}
	run := "/ui/runs/" + proposed.RunID
	if text := words(v.get(run).doc); strings.Contains(text, "read again") || strings.Contains(text, "stay marked as read") || strings.Contains(text, "All of part") ||
		!strings.Contains(text, "Proposed byAda") || strings.Contains(text, "Model") || strings.Contains(text, "Window") {
		t.Errorf("a proposal: %s", text)
	}
	a = v.post(run+"/reject", url.Values{"form_token": {a.formToken()}, "list": {attr(a.named("input", "list"), "value")}})
	if a.url != "/ui/held" || !strings.Contains(words(a.doc), "Rejected: nothing was written.") {
		t.Errorf("after a decision: %s\n%s", a.url, words(a.doc))
	}
	if text := words(v.get(run).doc); strings.Contains(text, "Chunk") || !strings.Contains(text, "Proposed byAda") {
		t.Errorf("a proposal that was rejected: %s", text)
	}
	if text := words(v.get("/ui/held?before=" + proposed.RunID).doc); !strings.Contains(text, "First page") {
		t.Errorf("the second page of what waits: %s", text)
	}
}

// refusedBefore has the page itself say what the server refuses on the way to it.
func refusedBefore(t *testing.T, s *sample) {
	srv, err := server.New(server.Options{Service: s.service, Web: web.New(s.service, web.Options{}), Log: s.service.Log, RequestsPerSecond: 0.001, MaxBody: 100})
	check(t, err)
	v := visit(t, srv.Handler(), "zh")
	v.referer = "http://localhost/ui/held"
	large := v.send(http.MethodPost, "/ui/login", url.Values{"token": {strings.Repeat("x", 200)}})
	if large.whole(t); large.Code != http.StatusRequestEntityTooLarge || !strings.Contains(words(large.doc), "请求无效") {
		t.Errorf("too large a form: status %d\n%s", large.Code, words(large.doc))
	}
	often := v.send(http.MethodGet, "/ui/login", nil)
	if often.whole(t); often.Code != http.StatusTooManyRequests || often.Header().Get("Retry-After") == "" || !strings.Contains(words(often.doc), "暂时无法处理") {
		t.Errorf("too often: status %d\n%s", often.Code, words(often.doc))
	}
	v.origin = "http://evil.example"
	foreign := v.send(http.MethodPost, "/ui/login", url.Values{"token": {"x"}})
	if foreign.whole(t); foreign.Code != http.StatusForbidden || !strings.Contains(words(foreign.doc), "请求并非来自本站页面") {
		t.Errorf("from another site: status %d\n%s", foreign.Code, words(foreign.doc))
	}
}
