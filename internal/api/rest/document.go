package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// documents serves what describes the API: the OpenAPI document in both notations, and
// a page for people. All of it is made once, and none of it is loaded from elsewhere.
func (r *room) documents() {
	doc := r.api.OpenAPI()
	asJSON, err := json.Marshal(doc)
	if err != nil {
		panic(fmt.Sprintf("the OpenAPI document cannot be written: %v",
			err)) // it is the same for everybody: tests would have seen it
	}
	asYAML, err := doc.YAML()
	if err != nil {
		panic(fmt.Sprintf("the OpenAPI document cannot be written: %v", err))
	}
	for path, d := range map[string]struct {
		kind string
		text []byte
	}{
		"/openapi.json": {"application/openapi+json", asJSON},
		"/openapi.yaml": {"application/openapi+yaml", asYAML},
		"/docs":         {"text/html; charset=utf-8", page(doc)},
	} {
		r.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", d.kind)
			w.Header().Set("Content-Security-Policy",
				"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
			_, _ = w.Write(d.text)
		})
	}
}
