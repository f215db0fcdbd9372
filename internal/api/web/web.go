// Package web is the operator's page: what was remembered and why, what it cost, and
// what waits for a person. It is complete without JavaScript, loads nothing from
// elsewhere, and speaks Chinese and English.
package web

import (
	"log/slog"
	"net/http"

	"reverie/internal/api"
)

// Options are what the page needs besides the operations.
type Options struct {
	HTTPS bool         // browsers reach the page over https: its cookies are sent over nothing else
	Log   *slog.Logger // nil: slog.Default
}

// site is the page, as one handler.
type site struct {
	*api.Service
	Options
	looks  map[string]map[lang]*look // by template
	assets map[string]asset          // by name
	mux    *http.ServeMux
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// New serves everything under /ui/. Who asks is in the request's context (see
// [api.CallerOf]); whoever has not logged in is led to the login.
func New(service *api.Service, opts Options) http.Handler {
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	s := &site{Service: service, Options: opts, looks: map[string]map[lang]*look{}, assets: readAssets(),
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
