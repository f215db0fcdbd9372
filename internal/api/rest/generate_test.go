package rest_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"reverie/internal/reverie"
)

// generator makes requests from the OpenAPI document: of right and of wrong types, with
// hostile texts, and with bodies that were broken.
type generator struct {
	*rand.Rand
	doc  *huma.OpenAPI
	real []string            // ids that there are
	kept map[string][]string // by parameter, of whoever asks
}

func (w *world) generator(source rand.Source) *generator {
	p := w.mine
	return &generator{rand.New(source), w.doc, []string{p.group, p.memory, p.old, p.deleted, p.spare, p.run, p.held, p.entity, p.message, p.session, p.usage,
		w.theirs.group, w.theirs.memory, w.theirs.run, w.theirs.held, w.theirs.entity, w.theirs.message, w.theirs.session, w.theirs.usage},
		map[string][]string{"group_id": {p.group}, "memory_id": {p.memory, p.old, p.deleted, p.spare}, "run_id": {p.run, p.held, p.heldToo}, "entity_id": {p.entity},
			"message_id": {p.message, "1"}, "author_id": {"u1", "u2", "nobody"},
			"session": {p.session}, "session_id": {p.session}, "before": {p.message, p.run, "2027-01-01"}, "after": {p.message}, "around": {p.message}, "group": {p.group}, "usage_id": {p.usage},
			"id": {p.team.memory, p.webhook}, "team": {p.team.name()}, "If-Match": {`"` + p.team.version + `"`, "*", `W/"x", "` + p.team.version + `"`},
			"If-None-Match": {`"` + p.team.version + `"`, "*"}, "Idempotency-Key": {"k1", "k2"}}}
}

// hostile are texts that something trips over.
var hostile = []string{"", " ", "\x00", "a\x00b", "\xff\xfe", "\xed\xa0\x80", "..", ".", "/", "//", "%00", "%zz", "%2e%2e%2f", "'; drop table memories; --", "\\", "\"",
	"null", "true", "-1", "0", "1e400", "NaN", "-Inf", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "3.9999999999999999", "0x10", "٣",
	"0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "9999-12-31", "1970-01-01T00:00:00+14:00", "2026-02-30", "10000-01-01T00:00:00Z", "2026-01-15T12:30:00Z",
	"active", "held", "all", "create", "\u202e\u2066", "👩‍👩‍👧‍👦", "ﬃ", "群", "a,b,c", "{}", "[]", "$1", "%s%n", "\r\nX-Evil: 1", "<script>", strings.Repeat("x", 10_000),
	strings.Repeat("群", 3000), strings.Repeat("[", 5000), "00000000-0000-0000-0000-000000000000", "urn:uuid:00000000-0000-0000-0000-000000000000"}

func (g *generator) text() string {
	switch g.IntN(4) {
	case 0:
		return pick(g, g.real)
	case 1:
		return pick(g, hostile) + pick(g, hostile)
	}
	return pick(g, hostile)
}

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// fitting is a value of a schema, now and then of another one.
func (g *generator) fitting(s *huma.Schema, depth int) any {
	if s == nil || depth > 5 || g.IntN(8) == 0 {
		return pick(g, []any{nil, true, 1.5, -1, 1e300, g.text(), []any{}, []any{g.text()}, map[string]any{}, map[string]any{g.text(): g.text()}})
	}
	if s.Ref != "" {
		return g.fitting(g.doc.Components.Schemas.SchemaFromRef(s.Ref), depth)
	}
	if len(s.Enum) > 0 && g.IntN(6) > 0 {
		return pick(g, s.Enum)
	}
	switch s.Type {
	case huma.TypeBoolean:
		return g.IntN(2) == 0
	case huma.TypeInteger:
		return pick(g, []any{0, 1, 2, 7, 200, 201, -1, 3650, 100_000, 1 << 40})
	case huma.TypeNumber:
		return pick(g, []any{0, 0.5, 1, 1.0001, -0.1, 1e-300})
	case huma.TypeArray:
		list := []any{}
		for range g.IntN(4) {
			list = append(list, g.fitting(s.Items, depth+1))
		}
		return list
	case huma.TypeObject:
		fields := map[string]any{}
		for name, p := range sorted(s.Properties) {
			if slices.Contains(s.Required, name) && g.IntN(12) > 0 || g.IntN(2) == 0 {
				fields[name] = g.fitting(p, depth+1)
			}
		}
		return fields
	}
	return g.text()
}

// sorted goes through a map in one order.
func sorted[V any](m map[string]V) func(yield func(string, V) bool) {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return func(yield func(string, V) bool) {
		for _, name := range names {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}

func asText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// request is one of an operation's.
func (g *generator) request(op *huma.Operation) *http.Request {
	path, query, headers := op.Path, []string{}, http.Header{}
	for _, p := range op.Parameters {
		switch {
		case p.In == "path":
			id := pick(g, g.kept[p.Name])
			if g.IntN(5) == 0 {
				id = g.text()
			}
			path = strings.ReplaceAll(path, "{"+p.Name+"}", g.escaped(id))
		case p.In == "header":
			if g.IntN(2) == 0 {
				headers.Add(p.Name, pick(g, append(g.kept[p.Name], g.text())))
			}
		case p.Required && g.IntN(8) > 0 || g.IntN(3) == 0:
			v := asText(g.fitting(p.Schema, 0))
			if kept := g.kept[p.Name]; kept != nil && g.IntN(2) == 0 {
				v = pick(g, kept)
			}
			query = append(query, p.Name+"="+g.escaped(v))
		}
	}
	if g.IntN(10) == 0 {
		query = append(query, g.escaped(g.text())+"="+g.escaped(g.text()))
	}
	body, kind := g.body(op)
	u, err := url.ParseRequestURI("http://reverie" + path + "?" + strings.Join(query, "&"))
	if err != nil { // no client can send it
		u = &url.URL{Path: "/" + g.text()}
	}
	r := httptest.NewRequest(op.Method, "http://reverie/", strings.NewReader(body))
	r.URL, r.Header = u, headers
	if body != "" {
		r.Header.Set("Content-Type", kind)
	}
	if g.IntN(20) == 0 {
		r.Header.Set("Accept", g.text())
	}
	return r
}

// escaped is an id in an address, now and then as nobody should write it.
func (g *generator) escaped(s string) string {
	if g.IntN(30) == 0 {
		return strings.NewReplacer(" ", "+", "\x00", "", "?", "", "#", "").Replace(s)
	}
	return url.PathEscape(s)
}

// body is a body of an operation that has one, and what it says it is.
func (g *generator) body(op *huma.Operation) (body, kind string) {
	kind = "application/json"
	if op.RequestBody == nil {
		if g.IntN(4) > 0 {
			return "", ""
		}
		return g.text(), pick(g, []string{kind, "text/plain"})
	}
	if m := op.RequestBody.Content["application/x-ndjson"]; m != nil {
		kind = "application/x-ndjson"
		for range g.IntN(4) {
			line, _ := json.Marshal(map[string]any{"id": g.text(), "author": g.text(), "text": g.text(), "role": pick(g, []any{"user", "assistant", g.text(), 1}),
				"sent_at": pick(g, []any{g.text(), "2026-01-15T12:30:00Z"}), "session_id": g.text(), "reply_to": g.text()})
			body += string(line) + pick(g, []string{"\n", "\r\n", "", "\n\n"})
		}
	} else {
		b, _ := json.Marshal(g.fitting(op.RequestBody.Content[kind].Schema, 0))
		body = string(b)
	}
	switch g.IntN(12) {
	case 0:
		body = body[:g.IntN(len(body)+1)]
	case 1:
		i := g.IntN(len(body) + 1)
		body = body[:i] + g.text() + body[i:]
	case 2:
		kind = pick(g, []string{"", "text/plain", "application/xml", "application/json; charset=utf-16", ";", "a+b;+"})
	case 3:
		body = strings.Replace(body, `"`, `"\u0000`, 1+g.IntN(3))
	}
	return body, kind
}

// token is somebody's, now and then nobody's.
func (g *generator) token(w *world, op *huma.Operation) string {
	switch g.IntN(12) {
	case 0:
		return ""
	case 1:
		return g.text()
	}
	return w.mine.of(op).token[pick(g, reverie.Scopes)]
}
