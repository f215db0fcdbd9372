package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// TestPages walks through the whole page over a real database, as everybody who may see
// it does, and tries its forms.
func TestPages(t *testing.T) {
	s := newSample(t)
	handler := serve(t, s.service)
	admin := token(t, s.service, "", reverie.ScopeAdmin)
	reader := token(t, s.service, halfFrame, reverie.ScopeRead)
	t.Run("walk, admin, zh", func(t *testing.T) {
		seen := walk(visit(t, handler, "zh-CN,en;q=0.5").login(admin))
		for _, want := range patterns {
			if seen[want] == 0 {
				t.Errorf("no link leads to %s; those seen: %v", want, seen)
			}
		}
	})
	t.Run("walk, reader of one group, en", func(t *testing.T) {
		v := visit(t, handler, "en").login(reader)
		walk(v)
		if a := v.get("/ui/"); strings.Contains(a.Body.String(), allotment) {
			t.Error("another group's name on its page")
		}
		for _, path := range []string{"/ui/groups/" + allotment, "/ui/groups/nobody", "/ui/runs?group=" + allotment, "/ui/cost?group=" + allotment} {
			a := v.get(path)
			if a.whole(t); a.Code != http.StatusNotFound {
				t.Errorf("%s: status %d\n%s", path, a.Code, words(a.doc))
			}
		}
	})
	t.Run("ways back", func(t *testing.T) { waysBack(t, s, handler, admin) })
	t.Run("proposals", func(t *testing.T) { decideOnProposals(t, s, handler, admin) })
	t.Run("refused before", func(t *testing.T) { refusedBefore(t, s) })
	t.Run("forms", func(t *testing.T) { tryForms(t, s, handler, admin, reader) })
	t.Run("hostile texts", func(t *testing.T) {
		hostileTexts(t, handler, token(t, s.service, allotment, reverie.ScopeRead), pgtest.URL(s.TB))
	})
	t.Run("take back", func(t *testing.T) { takeBack(t, s, handler, admin, reader) })
	t.Run("hostile requests", func(t *testing.T) { hostileRequests(t, handler, admin) })
}

// patterns are the shapes of the addresses that links lead to.
var patterns = []string{"/ui/", "/ui/runs", "/ui/held", "/ui/cost", "/ui/groups/{}", "/ui/groups/{}/memories", "/ui/groups/{}/memories/{}", "/ui/groups/{}/recall",
	"/ui/groups/{}/conversation?around", "/ui/groups/{}/people", "/ui/groups/{}/people/{}", "/ui/groups/{}/dream", "/ui/runs/{}", "/ui/runs/{}/undo", "/ui/memories/{}"}

// enough is how many pages of one shape are looked at.
const enough = 2

// walk follows links from the first page on: each leads to a page that is whole, and what
// they point at within a page is there. It counts what it has seen, by shape.
func walk(v *visitor) map[string]int {
	v.Helper()
	seen, known, pages := map[string]int{"/ui/": 1}, map[string]bool{"/ui/": true}, map[string]*answer{}
	type link struct{ from, to string }
	var fragments []link
	for queue := []string{"/ui/"}; len(queue) > 0; queue = queue[1:] {
		a := v.get(queue[0])
		if a.Code != http.StatusOK {
			v.Errorf("%s: status %d", queue[0], a.Code)
			continue
		}
		pages[queue[0]] = a
		a.whole(v)
		if v.look != nil {
			v.look(a)
		}
		for _, n := range a.all("a") {
			to, fragment, _ := strings.Cut(attr(n, "href"), "#")
			if to == "" {
				to = queue[0]
			}
			if fragment != "" {
				fragments = append(fragments, link{to, fragment})
			}
			if strings.Contains(to, "lang=") || known[to] {
				continue
			}
			if shape := shapeOf(to); !strings.HasPrefix(to, "/ui/") {
				v.Errorf("%s links to %s", queue[0], to)
			} else if seen[shape]++; seen[shape] <= enough {
				known[to] = true
				queue = append(queue, to)
			}
		}
	}
	for _, l := range fragments {
		if a := pages[l.from]; a != nil && !slices.Contains(a.ids(), l.to) {
			v.Errorf("%s has nothing of the id %q, which a link names", l.from, l.to)
		}
	}
	return seen
}

var idPattern = regexp.MustCompile(`/(groups|runs|memories|people)/[^/?]+`)

// shapeOf is an address without what is of one thing alone.
func shapeOf(address string) string {
	path, rest, _ := strings.Cut(address, "?")
	path = idPattern.ReplaceAllString(path, "/$1/{}")
	q, _ := url.ParseQuery(rest)
	if len(q) == 0 {
		return path
	}
	names := []string{}
	for name := range q {
		names = append(names, name)
	}
	slices.Sort(names)
	return path + "?" + strings.Join(names, "&")
}

// links are where the links of a page lead.
func (a *answer) links() (list []string) {
	for _, n := range a.all("a") {
		list = append(list, attr(n, "href"))
	}
	return list
}

func (a *answer) ids() (list []string) {
	for n := range a.doc.Descendants() {
		if id := attr(n, "id"); id != "" {
			list = append(list, id)
		}
	}
	return list
}

// whole checks what holds for every page.
func (a *answer) whole(t testing.TB) {
	t.Helper()
	body := a.Body.String()
	for name, want := range map[string]string{"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store",
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; " +
			"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"} {
		if got := a.Header().Get(name); got != want {
			t.Errorf("%s: %s: %q", a.url, name, got)
		}
	}
	if i := strings.Index(body, "⟦"); i >= 0 {
		t.Errorf("%s: a text that is not there: %.60s", a.url, body[i:])
	}
	if i := strings.Index(body, "%!"); i >= 0 {
		t.Errorf("%s: a text with other arguments than it has: %.60s", a.url, body[max(i-30, 0):])
	}
	for _, fault := range slices.Concat(nesting(body), a.headings(), a.labels()) {
		t.Errorf("%s: %s", a.url, fault)
	}
	ids := a.ids()
	slices.Sort(ids)
	if once := slices.Compact(slices.Clone(ids)); len(once) != len(ids) {
		t.Errorf("%s: an id stands there twice: %v", a.url, ids)
	}
	for n := range a.doc.Descendants() {
		ours := strings.HasPrefix(attr(n, "src"), "/ui/assets/") && n.FirstChild == nil
		if n.Data == "script" && !ours || attr(n, "style") != "" || attr(n, "onclick") != "" || n.Data == "style" {
			t.Errorf("%s: <%s>, or an attribute that the policy forbids", a.url, n.Data)
		}
	}
}

// headings are one h1, and no level left out on the way down.
func (a *answer) headings() (faults []string) {
	last, first := 0, 0
	for _, n := range a.all("h1", "h2", "h3", "h4") {
		level := int(n.Data[1] - '0')
		if level > last+1 {
			faults = append(faults, fmt.Sprintf("h%d %q after h%d", level, words(n), last))
		}
		if last = level; level == 1 {
			first++
		}
	}
	if first != 1 {
		faults = append(faults, fmt.Sprintf("%d h1", first))
	}
	return faults
}

// labels are there for whatever is filled in.
func (a *answer) labels() (faults []string) {
	labelled := map[string]bool{}
	for _, n := range a.all("label") {
		labelled[attr(n, "for")] = true
	}
	for _, n := range a.all("input", "select", "textarea") {
		if attr(n, "type") != "hidden" && !labelled[attr(n, "id")] && attr(n, "aria-label") == "" {
			faults = append(faults, fmt.Sprintf("%s %q has no label", n.Data, attr(n, "name")))
		}
	}
	return faults
}

// alone are elements without an end.
var alone = []string{"meta", "link", "input", "img", "br", "hr", "wbr"}

// nesting tells of elements that are not closed in the order in which they were opened.
func nesting(body string) (faults []string) {
	var open []string
	for z := html.NewTokenizer(strings.NewReader(body)); ; {
		switch z.Next() {
		case html.ErrorToken:
			if len(open) > 0 {
				faults = append(faults, fmt.Sprintf("never closed: %v", open))
			}
			return faults
		case html.StartTagToken:
			if name, _ := z.TagName(); !slices.Contains(alone, string(name)) {
				open = append(open, string(name))
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if n := len(open); n == 0 || open[n-1] != string(name) {
				return append(faults, fmt.Sprintf("</%s> within %v", name, open))
			}
			open = open[:len(open)-1]
		}
	}
}

// tryForms sends the forms as nobody may: without a token, with that of another login, as
// a reader; and then as one may.
func tryForms(t *testing.T, s *sample, handler http.Handler, admin, reader string) {
	v, other := visit(t, handler, "en").login(admin), visit(t, handler, "en").login(reader)
	group := "/ui/groups/" + url.PathEscape(halfFrame)
	evolve := group + "/evolve"
	for name, form := range map[string]url.Values{"none": {}, "another's": {"form_token": {other.get(group).formToken()}}} {
		if a := v.send(http.MethodPost, evolve, form); a.Code != http.StatusForbidden || !strings.Contains(words(a.doc), "from an earlier login") ||
			!slices.Contains(a.links(), group) || strings.Contains(a.Body.String(), "/ui/login") {
			t.Errorf("form token %s: status %d\n%s", name, a.Code, words(a.doc))
		}
	}
	if a := other.send(http.MethodPost, evolve, url.Values{"form_token": {other.get(group).formToken()}}); a.Code != http.StatusForbidden {
		t.Errorf("evolve with a token that reads: status %d", a.Code)
	}
	if body := other.get(group).Body.String(); strings.Contains(body, "/evolve") {
		t.Error("a reader is shown a form to evolve with")
	}
	if a := v.post(evolve, url.Values{"form_token": {v.get(group).formToken()}}); a.Code != http.StatusConflict || !strings.Contains(words(a.doc), "cannot be done now") {
		t.Errorf("evolve where no model is configured: status %d\n%s", a.Code, words(a.doc))
	}

	evolver := newEvolver(t, s)
	s.service.Evolver = evolver
	a := v.post(evolve, url.Values{"form_token": {v.get(group).formToken()}})
	if text := words(a.doc); a.Code != http.StatusOK || !strings.Contains(text, "Done: ") || !strings.HasPrefix(a.url, "/ui/runs/") {
		t.Errorf("evolve: %s, status %d\n%s", a.url, a.Code, text)
	}
	if text := words(v.get(a.url).doc); strings.Contains(text, "Done: ") {
		t.Error("the notice is shown twice")
	}
	if a := v.post(evolve, url.Values{"form_token": {v.get(group + "?lang=zh").formToken()}}); !strings.Contains(words(a.doc), "没有待处理的消息，无需运行") {
		t.Errorf("evolve where nothing is pending: status %d\n%s", a.Code, words(a.doc))
	}

	stale := url.Values{"form_token": {v.get(group).formToken()}}
	a = v.post("/ui/logout", stale)
	if a.Code != http.StatusOK || a.url != "/ui/login" || !strings.Contains(words(a.doc), "已退出登录") {
		t.Errorf("logout: %s, status %d\n%s", a.url, a.Code, words(a.doc))
	}
	if a := v.get(group); !strings.HasPrefix(a.url, "/ui/login?next=") {
		t.Errorf("after the logout, %s is shown", a.url)
	}
	if a := v.post(evolve, stale); a.url != "/ui/login?next="+url.QueryEscape(group) || !strings.Contains(words(a.doc), "登录已失效") {
		t.Errorf("a form after the logout: %s\n%s", a.url, words(a.doc))
	}
}

// hostileRequests are answered with a page that says what is wrong, and never with a
// fault of the server.
func hostileRequests(t *testing.T, handler http.Handler, admin string) {
	v := visit(t, handler, "en").login(admin)
	for address, want := range map[string]int{
		"/ui/nowhere":    http.StatusNotFound,
		"/ui/groups/%00": http.StatusUnprocessableEntity,
		"/ui/groups/%ff": http.StatusUnprocessableEntity,
		"/ui/groups/" + strings.Repeat("g", 10_000):        http.StatusNotFound,
		"/ui/groups/allotment?before=tomorrow":             http.StatusUnprocessableEntity,
		"/ui/groups/allotment?before=9999-12-31":           http.StatusOK,
		"/ui/groups/allotment?before=0001-01-01":           http.StatusOK,
		"/ui/runs?job=nothing":                             http.StatusUnprocessableEntity,
		"/ui/runs?status=odd":                              http.StatusUnprocessableEntity,
		"/ui/runs?job=propose&status=rejected":             http.StatusOK,
		"/ui/runs?group=nobody":                            http.StatusNotFound,
		"/ui/groups/allotment/conversation?session=nobody": http.StatusNotFound,
		"/ui/groups/allotment/conversation?around=nobody":  http.StatusNotFound,
		"/ui/runs?before=nobody":                           http.StatusNotFound,
		"/ui/runs?before=%00":                              http.StatusUnprocessableEntity,
		"/ui/runs/" + strings.Repeat("9", 10_000):          http.StatusNotFound,
		"/ui/cost?days=99999999999999999999":               http.StatusUnprocessableEntity,
		"/ui/cost?days=8":                                  http.StatusOK,
		"/ui/groups/allotment/memories?sort=odd":           http.StatusUnprocessableEntity,
		"/ui/groups/allotment/memories?type=odd":           http.StatusUnprocessableEntity,
		"/ui/groups/allotment/memories?edit=nobody&q=%25":  http.StatusOK,
		"/ui/live?group=nobody":                            http.StatusNotFound,
		"/ui/?q=%ff":                                       http.StatusUnprocessableEntity,
		"/ui/?q=%3Cscript%3E&after=%E2%80%AE":              http.StatusOK,
		"/ui/?q=" + strings.Repeat("q", 10_000):            http.StatusOK,
		"/ui/assets/0/style.css":                           http.StatusNotFound,
		"/ui/%3Cscript%3Ealert(1)%3C/script%3E":            http.StatusNotFound,
	} {
		a := v.get(address)
		if a.Code != want {
			t.Errorf("%.60s: status %d, want %d\n%.300s", address, a.Code, want, words(a.doc))
		}
		a.whole(t)
	}
}
