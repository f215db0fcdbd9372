package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"sigs.k8s.io/yaml"

	"reverie/internal/api"
	"reverie/internal/api/problem"
	"reverie/internal/api/rest"
	"reverie/internal/reverie"
)

// described is an API that nobody asks for more than what describes it.
var described = sync.OnceValues(func() (http.Handler, *huma.OpenAPI) {
	return rest.New(&api.Service{}, rest.Options{Version: "v0.0.0-test"})
})

// served is what the API answers to whoever asks for a document.
func served(t *testing.T, path string) *httptest.ResponseRecorder {
	t.Helper()
	h, _ := described()
	a := httptest.NewRecorder()
	h.ServeHTTP(a, httptest.NewRequest(http.MethodGet, path, nil))
	if a.Code != http.StatusOK {
		t.Fatalf("%s is %d", path, a.Code)
	}
	return a
}

// TestOpenAPI holds the document against the one that was reviewed, and its YAML against
// its JSON.
func TestOpenAPI(t *testing.T) {
	golden := filepath.Join("testdata", "openapi.golden.json")
	var indented bytes.Buffer
	if err := json.Indent(&indented, served(t, "/openapi.json").Body.Bytes(), "", " "); err != nil {
		t.Fatal(err)
	}
	got := append(bytes.TrimSpace(indented.Bytes()), '\n')
	if os.Getenv("REVERIE_TEST_UPDATE") != "" {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the API has changed: look at the difference after REVERIE_TEST_UPDATE=1 go test -run TestOpenAPI ./internal/api/rest")
	}
	converted, err := yaml.YAMLToJSON(served(t, "/openapi.yaml").Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var one, other any
	if json.Unmarshal(got, &one) != nil || json.Unmarshal(converted, &other) != nil || !reflect.DeepEqual(one, other) {
		t.Error("openapi.yaml says something else than openapi.json")
	}
}

// TestDocument looks at what tools trip over: references, parameters, names, and what is
// left without a word.
func TestDocument(t *testing.T) {
	_, doc := described()
	raw := served(t, "/openapi.json").Body.String()
	schemas := doc.Components.Schemas.Map()
	for _, ref := range regexp.MustCompile(`"\$ref":"([^"]*)"`).FindAllStringSubmatch(raw, -1) {
		if name, ok := strings.CutPrefix(ref[1], "#/components/schemas/"); !ok || schemas[name] == nil {
			t.Errorf("%s leads nowhere", ref[1])
		}
	}
	if doc.OpenAPI != "3.1.0" || doc.Info.Description == "" || doc.Components.SecuritySchemes["bearer"] == nil {
		t.Errorf("the head of the document is %+v", doc.Info)
	}
	seen := map[string]bool{}
	for _, op := range allOperations(doc) {
		if seen[op.OperationID] || op.OperationID == "" {
			t.Errorf("operation id %q is not one", op.OperationID)
		}
		seen[op.OperationID] = true
		if op.Summary == "" || op.Description == "" || len(op.Tags) != 1 || !slices.ContainsFunc(doc.Tags, func(tag *huma.Tag) bool { return tag.Name == op.Tags[0] }) {
			t.Errorf("%s has no words, or no tag", op.OperationID)
		}
		if _, err := reverie.ReadScope(string(scopeOf(op))); err != nil {
			t.Errorf("%s: %v", op.OperationID, err)
		}
		var declared, used []string
		for _, p := range op.Parameters {
			if p.In == "path" {
				declared = append(declared, "{"+p.Name+"}")
			}
			if p.Description == "" || p.Schema == nil || p.In == "path" && !p.Required {
				t.Errorf("%s: parameter %s is not described", op.OperationID, p.Name)
			}
		}
		used = regexp.MustCompile(`\{[^}]*\}`).FindAllString(op.Path, -1)
		slices.Sort(declared)
		slices.Sort(used)
		if !slices.Equal(declared, used) {
			t.Errorf("%s declares %q of %s", op.OperationID, declared, op.Path)
		}
		for _, status := range []string{"401", "404", "422", "429", "500", "503"} {
			if r := op.Responses[status]; r == nil || r.Content[problem.MediaType] == nil || r.Content[problem.MediaType].Schema.Ref != "#/components/schemas/Problem" {
				t.Errorf("%s does not say what a %s is", op.OperationID, status)
			}
		}
	}
	for name, s := range schemas {
		for property, p := range s.Properties {
			if p.Description == "" && p.Ref == "" {
				t.Errorf("%s.%s is not described: see properties.toml", name, property)
			}
		}
	}
}

// TestDocs: the page for people and docs/api.md have every operation, and the page loads
// nothing from elsewhere.
func TestDocs(t *testing.T) {
	_, doc := described()
	a := served(t, "/docs")
	page := html.UnescapeString(a.Body.String())
	guide, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range allOperations(doc) {
		if row := fmt.Sprintf("| `%s %s` | %s |", op.Method, op.Path, scopeOf(op)); !strings.Contains(string(guide), row) {
			t.Errorf("docs/api.md has no row that begins with %s", row)
		}
		if !strings.Contains(page, op.Summary) || !strings.Contains(page, op.Method+" "+op.Path) {
			t.Errorf("%s is not on the page", op.OperationID)
		}
	}
	if regexp.MustCompile(`(?i)(src|href)="(https?:)?//|<script`).MatchString(page) || !strings.Contains(a.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Error("the page loads something from elsewhere")
	}
}
