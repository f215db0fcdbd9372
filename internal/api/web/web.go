// Package web is the operator's page: what was remembered and why, what it cost, and
// what waits for a person. It is complete without JavaScript, which adds what goes on
// while one looks; it loads nothing from elsewhere, and speaks Chinese and English.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"html/template"
	"net/http"
	"path"
	"strings"

	"reverie/internal/api"
	"reverie/internal/api/problem"
)

// Options are what the page needs besides the operations.
type Options struct {
	HTTPS bool // browsers reach the page over https: its cookies are sent over nothing else
}

// site is the page, as one handler.
type site struct {
	*api.Service
	Options
	looks  map[string]looks // by template
	assets map[string]asset // by name
	mux    *http.ServeMux
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// New serves everything under /ui/. Who asks is in the request's context (see
// [api.CallerOf]); whoever has not logged in is led to the login.
func New(service *api.Service, opts Options) http.Handler {
	s := &site{Service: service, Options: opts, looks: map[string]looks{}, assets: readAssets(),
		mux: http.NewServeMux()}
	mux := s.mux
	for _, p := range s.pages() {
		s.looks[p.template] = newLooks(p.template, s.assets)
		mux.HandleFunc(p.pattern, func(w http.ResponseWriter, r *http.Request) { s.show(w, r, p) })
	}
	for _, f := range s.forms() {
		mux.HandleFunc(f.pattern, func(w http.ResponseWriter, r *http.Request) { s.do(w, r, f) })
	}
	s.looks[errorTemplate] = newLooks(errorTemplate, s.assets)
	mux.HandleFunc("GET "+assetsPath+"{version}/{name}", s.serveAsset)
	mux.HandleFunc("/ui/", s.nowhere)
	return s
}

// page is one page. To add one: its entry in pages, its handler and its texts in a file
// of its own, its template beside the others.
type page struct {
	pattern  string // as of net/http: "GET /ui/runs/{run}"
	title    string // key of its title in texts; visit.title replaces it
	tab      string // of a group's pages: the group that the path names is read first
	template string // templates/<template>.html, which defines "content"
	part     string // template that is shown alone; "" = the whole page
	// show reads what the page is about. What it returns is .Data in the template.
	show func(*visit) (data any, err error)
	open bool // shown to whoever asks
}

// form is where a form is sent to. Its token has been checked when do is called.
type form struct {
	pattern string // as of net/http: "POST /ui/runs/{run}/approve"
	// do does what was asked for and names the page to go on with; see visit.notify.
	do   func(*visit) (next string, err error)
	open bool // without login and token
}

func (s *site) pages() []page {
	return []page{
		{pattern: "GET /ui/login", title: "login.title", template: "login", show: s.loginPage, open: true},
		{pattern: "GET /ui/{$}", title: "home.title", template: "home", show: s.homePage},
		{pattern: "GET /ui/groups/{group}/memories", tab: "memories", title: "memories.title", template: "memories", show: s.memoriesPage},
		{pattern: "GET /ui/groups/{group}/memories/diff", tab: "memories", title: "difference.title", template: "memory_diff",
			show: s.diffPage},
		{pattern: "GET /ui/memories/{memory}", title: "memory.title", template: "memory", show: s.memoryPage},
		{pattern: "GET /ui/memories/{memory}/delete", title: "memory.delete", template: "memory_delete",
			show: s.memoryDeletePage},
		{pattern: "GET /ui/groups/{group}/recall", tab: "recall", title: "recall.title", template: "recall", show: s.recallPage},
		{pattern: "GET /ui/groups/{group}/dream", tab: "dream", title: "dream.title", template: "dream", show: s.dreamPage},
		{pattern: "GET /ui/groups/{group}/people", tab: "people", title: "people.title", template: "people", show: s.peoplePage},
		{pattern: "GET /ui/groups/{group}/people/{entity}", tab: "people", title: "person.title", template: "person", show: s.personPage},
		{pattern: "GET /ui/groups/{group}/conversation", tab: "conversation", title: "talk.title", template: "conversation", show: s.talkPage},
		{pattern: "GET /ui/held", title: "held.title", template: "held", show: s.heldPage},
		{pattern: "GET /ui/groups/{group}", tab: "timeline", title: "timeline.title", template: "timeline", show: s.timelinePage},
		{pattern: "GET /ui/runs", title: "runs.title", template: "runs", show: s.runsPage},
		{pattern: "GET /ui/runs/{run}", title: "run.title", template: "run", show: s.runPage},
		{pattern: "GET /ui/runs/{run}/undo", title: "undo.title", template: "run_undo", show: s.undoPage},
		{pattern: "GET /ui/cost", title: "cost.title", template: "cost", show: s.costPage},
		{pattern: "GET " + liveURL, template: errorTemplate, part: "under_way", show: s.livePart},
	}
}

func (s *site) forms() []form {
	return []form{
		{pattern: "POST /ui/login", do: s.login, open: true},
		{pattern: "POST /ui/logout", do: s.logout},
		{pattern: "POST /ui/memories/{memory}/delete", do: s.deleteMemory},
		{pattern: "POST /ui/memories/{memory}/edit", do: s.rewriteMemory},
		{pattern: "POST /ui/memories/{memory}/restore", do: s.restoreMemory},
		{pattern: "POST /ui/memories/{memory}/strength", do: s.strengthenMemory},
		{pattern: "POST /ui/runs/{run}/approve", do: s.approve},
		{pattern: "POST /ui/runs/{run}/reject", do: s.reject},
		{pattern: "POST /ui/runs/{run}/undo", do: s.undo},
		{pattern: "POST /ui/groups/{group}/evolve", do: s.evolveNow},
	}
}

// policy is what browsers may load for a page: our own style sheet and pictures.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'"

// show answers with a page, or with why not.
func (s *site) show(w http.ResponseWriter, r *http.Request, p page) {
	v := s.visit(w, r)
	if v.Caller.Scope == "" && !p.open {
		http.Redirect(w, r, v.login(), http.StatusSeeOther)
		return
	}
	err := v.check()
	if err == nil && p.tab != "" {
		err = v.about(r.PathValue("group"), p.tab)
	}
	var data any
	if err == nil {
		data, err = p.show(v)
	}
	if v.bad != nil {
		err = v.bad
	}
	var elsewhere redirect
	switch {
	case errors.As(err, &elsewhere):
		http.Redirect(w, r, string(elsewhere), http.StatusSeeOther)
	case err != nil:
		s.fail(v, err)
	case p.part != "":
		s.render(v, http.StatusOK, s.looks[p.template]()[v.lang].Lookup(p.part), data)
	default:
		s.render(v, http.StatusOK, s.looks[p.template]()[v.lang], view{visit: v, Kind: p.title, Notices: v.takeNotices(), Data: data})
	}
}

// redirect is the error of a page that is another page.
type redirect string

func (r redirect) Error() string { return "see " + string(r) }

// do does what a form asks for, and goes on with another page.
func (s *site) do(w http.ResponseWriter, r *http.Request, f form) {
	v := s.visit(w, r)
	err := v.check()
	switch {
	case err != nil:
	case f.open:
	case v.Caller.Scope == "":
		v.notify("notice.login_over")
		v.keepNotices()
		http.Redirect(w, r, v.login(), http.StatusSeeOther)
		return
	case !api.IsFormToken(api.SessionOf(r.Context()), r.PostFormValue("form_token")):
		err = errStale
	}
	var next string
	if err == nil {
		next, err = f.do(v)
	}
	if err != nil {
		s.fail(v, err)
		return
	}
	v.keepNotices()
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// render makes a page whole before any of it is sent.
func (s *site) render(v *visit, status int, look *template.Template, data any) {
	var b bytes.Buffer
	if err := look.Execute(&b, data); err != nil {
		s.Log.Error("a page could not be made", "request_id", problem.RequestID(v.Context()), "path", v.URL.Path,
			"error", err)
		http.Error(v.w, v.t("error.failed"), http.StatusInternalServerError)
		return
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Language", v.lang.tag())
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Cookie, Accept-Language")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	v.w.WriteHeader(status)
	_, _ = b.WriteTo(v.w) // a client that is gone needs no answer
}

// localPath is an address of the page's own that a login leads back to, the first page
// where it is anything else.
func localPath(address string) string {
	if !strings.HasPrefix(address, "/ui/") || strings.HasPrefix(address, loginURL) ||
		strings.ContainsFunc(address, func(r rune) bool { return r < ' ' || r == '\\' || r == 0x7f }) {
		return homeURL
	}
	return address
}

//go:embed assets
var assetFiles embed.FS

const assetsPath = "/ui/assets/"

// asset is a file that pages load.
type asset struct {
	url  string // changes with what is in it
	kind string
	body []byte
}

// assetKinds are the types of assets, which the machine's own table of types has no say in.
var assetKinds = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

func readAssets() map[string]asset {
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // they are compiled in
	}
	found := map[string]asset{}
	for _, e := range entries {
		body, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(body)
		found[e.Name()] = asset{url: assetsPath + hex.EncodeToString(sum[:6]) + "/" + e.Name(),
			kind: assetKinds[path.Ext(e.Name())], body: body}
	}
	return found
}

// serveAsset answers with an asset. Its address has its hash, so that it may be kept.
func (s *site) serveAsset(w http.ResponseWriter, r *http.Request) {
	a, found := s.assets[r.PathValue("name")]
	if !found || a.url != r.URL.Path {
		s.nowhere(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.body) // a client that is gone needs no answer
}
