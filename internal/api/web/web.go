// Package web is the operator's page: what was remembered and why, its cost, and what waits for a person. It works
// without JavaScript, which only adds live updates. It loads nothing from elsewhere, and has texts in Chinese and
// English.
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
	"time"

	"reverie/internal/api"
	"reverie/internal/api/problem"
)

// Options configure the page.
type Options struct {
	HTTPS bool // browsers use https: cookies are sent over nothing else
	// LookEvery is how often an open page gets the current state of runs; 0 for a second.
	LookEvery time.Duration
}

// site is the handler of the page.
type site struct {
	*api.Service
	Options
	looks  map[string]looks // by template
	assets map[string]asset // by name
	mux    *http.ServeMux
	watchers
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// New returns the handler of everything under /ui/. The request's context contains the caller (see [api.CallerOf]);
// without a login, visitors are redirected to the login page.
func New(service *api.Service, opts Options) http.Handler {
	s := &site{Service: service, Options: opts, looks: map[string]looks{}, assets: readAssets(),
		mux: http.NewServeMux(), watchers: watchers{byKey: map[string]int{}}}
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
	mux.HandleFunc("GET "+liveURL, s.live)
	mux.HandleFunc("/ui/", s.notFound)
	return s
}

// page is one page. A new page needs an entry in pages, a file with its handler and texts, and a template.
type page struct {
	pattern  string // as of net/http: "GET /ui/runs/{run}"
	title    string // key of its title in texts; visit.title overrides it
	tab      string // for a group's pages: the group in the path is read first
	template string // templates/<template>.html, which defines "content"
	// show reads the data of the page, which is .Data in the template.
	show func(*visit) (data any, err error)
	open bool // needs no login
}

// form is the target of a form. Its token is checked before do is called.
type form struct {
	pattern string // as of net/http: "POST /ui/runs/{run}/approve"
	// do does what was requested and returns the next page; see visit.notify.
	do   func(*visit) (next string, err error)
	open bool // needs neither login nor token
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

// policy is the content security policy: only our own style sheet, scripts and pictures.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'"

// show answers with a page, or with an error page.
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
	default:
		s.render(v, http.StatusOK, s.looks[p.template]()[v.lang], view{visit: v, Kind: p.title, Notices: v.takeNotices(), Data: data})
	}
}

// redirect is an error that redirects to another page.
type redirect string

func (r redirect) Error() string { return "see " + string(r) }

// do handles a form, and redirects to the next page.
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

// render renders a page completely before it sends any of it.
func (s *site) render(v *visit, status int, look *template.Template, data view) {
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
	_, _ = b.WriteTo(v.w) // a disconnected client needs no answer
}

// localPath returns an address of this site to continue at after a login; any other address becomes the first page.
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
	url  string // changes with the content
	kind string
	body []byte
}

// assetKinds are the media types of assets, independent of the machine's configuration.
var assetKinds = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

func readAssets() map[string]asset {
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // the files are embedded
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

// serveAsset answers with an asset. Its address contains its hash, so that browsers may cache it.
func (s *site) serveAsset(w http.ResponseWriter, r *http.Request) {
	a, found := s.assets[r.PathValue("name")]
	if !found || a.url != r.URL.Path {
		s.notFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(a.body) // a disconnected client needs no answer
}
