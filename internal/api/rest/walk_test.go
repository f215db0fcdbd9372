package rest_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"reverie/internal/reverie"
)

// visit is how a walk calls an operation in a place.
type visit struct {
	memory, run, webhook, message string // ids to use instead of the place's
	query, body                   string
	status                        int  // 0 = 200
	silent                        bool // the answer holds nothing of the place
	open                          bool // what does not exist is made
	headers                       []string
	whole                         bool   // it takes a token of all groups
	missing                       string // a query that names what does not exist, of what is in no path; GROUP is the group or team
}

// visits are the cases of all operations, in a place. An operation without one fails.
func visits(p place) map[string]visit {
	ask := `{"query":"when do we meet?","session":` + quoted(p.session) + `}`
	return map[string]visit{
		"list-memories":       {query: "?status=all&limit=50"},
		"search-memories":     {query: "?q=meet&threshold=0.1"},
		"get-memory-history":  {},
		"get-memory-why":      {},
		"get-memory-blame":    {},
		"get-memory-diff":     {query: "?from=1970-01-02&passing=true"},
		"list-changes":        {},
		"get-memory":          {},
		"add-memory":          {body: `{"statement":"we like tea ` + p.mark + `","reason":"asked for"}`},
		"edit-memory":         {memory: p.rewritten, body: `{"tags":["tea"],"reason":"asked for"}`},
		"delete-memory":       {memory: p.spare, query: "?reason=gone"},
		"restore-memory":      {memory: p.deleted, body: `{"reason":"back"}`},
		"set-memory-strength": {body: `{"strength":0.8}`},
		"list-groups":         {},
		"get-group":           {},
		"get-group-stats":     {silent: true},
		"list-nights":         {},
		"list-messages":       {query: "?around=" + url.QueryEscape(p.message)},
		"add-messages":        {body: `{"id":"new","author":"Bo","text":"hi","sent_at":"2026-01-15T12:30:00Z"}` + "\n", open: true, silent: true},
		"edit-message":        {body: `{"text":"we meet on Sunday ` + p.mark + `"}`, silent: true},
		"delete-message":      {message: "never sent", silent: true},
		"get-author-memories": {silent: true},
		"forget-author":       {body: `{"dry_run":true}`, silent: true},
		"clear-session":       {silent: true},
		"get-context":         {query: "?query=when+do+we+meet"},
		"make-context":        {body: ask},
		"explain-context":     {body: ask},
		"give-feedback":       {body: `{"usage_id":"` + p.usage + `","response":"we meet"}`},
		"propose-memory":      {body: `{"action":"create","statement":"we like tea","reason":"said so"}`, silent: true},
		"evolve-group":        {silent: true},
		"list-runs":           {missing: "?group=GROUP"},
		"get-run":             {},
		"approve-run":         {run: p.held},
		"reject-run":          {run: p.heldToo, body: `{"requeue":true}`, silent: true},
		"undo-run":            {body: `{"dry_run":true,"force":true,"requeue":true,"reason":"so"}`},
		"get-dream":           {},
		"list-entities":       {},
		"get-entity":          {},
		"list-webhooks":       {missing: "?group=GROUP"},
		"add-webhook":         {body: `{"url":"https://example.com/hook","events":["run.held"]}`, silent: true},
		"delete-webhook":      {webhook: p.webhookToo},
		"test-webhook":        {webhook: p.webhook, silent: true},
		"replay-webhook":      {webhook: p.webhook, body: `{"from":"2026-01-15"}`, silent: true},
		"link-entity":         {body: p.link, whole: true, silent: true},
		"unlink-entity":       {body: p.link, whole: true, silent: true},
		"get-costs":           {missing: "?group=GROUP"},
		"list-team-memories":  {missing: "?team=GROUP"},
		"get-team-memory":     {query: "?team=" + url.QueryEscape(p.name())},
		"put-team-memory": {query: "?team=" + url.QueryEscape(p.name()), headers: []string{"If-Match", `"` + p.version + `"`},
			body: `{"statement":"The team drinks coffee ` + p.mark + `"}`, open: true},
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// target is the address of an operation with the ids of a place.
func target(op *huma.Operation, p place, v visit) string {
	ids := map[string]string{"group_id": p.group, "memory_id": p.memory, "run_id": p.run, "entity_id": p.entity, "session_id": p.session, "id": p.memory,
		"message_id": cmp.Or(v.message, p.message), "author_id": "u1"}
	if v.memory != "" {
		ids["memory_id"] = v.memory
	}
	if v.webhook != "" {
		ids["id"] = v.webhook
	}
	if v.run != "" {
		ids["run_id"] = v.run
	}
	path := op.Path
	for name, id := range ids {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(id))
	}
	return path + v.query
}

func allOperations(doc *huma.OpenAPI) (list []*huma.Operation) {
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		item := doc.Paths[path]
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete, item.Head, item.Options} {
			if op != nil {
				list = append(list, op)
			}
		}
	}
	return list
}

func scopeOf(op *huma.Operation) reverie.Scope { return reverie.Scope(op.Security[0]["bearer"][0]) }

// nowhere is a place that does not exist.
func nowhere() place {
	id := reverie.NewID()
	return place{group: "no such group", mark: "nothing", version: id, memory: id, spare: id, rewritten: id, deleted: id, run: id, held: id, heldToo: id, webhook: id, webhookToo: id, entity: id, message: "none", usage: id, session: "none", link: `{"group_id":"nobody's group","entity_id":"` + id + `"}`}
}

// TestWalk asks every operation of the OpenAPI document as nobody, as another group, with
// too small a scope, and rightly.
func TestWalk(t *testing.T) {
	w := newWorld(t)
	none := visits(nowhere())
	walked := 0
	for _, op := range allOperations(w.doc) {
		mine := w.mine.of(op)
		v, known := visits(mine)[op.OperationID]
		if !known {
			t.Errorf("%s %s (%s) has no case here", op.Method, op.Path, op.OperationID)
			continue
		}
		walked++
		t.Run(op.OperationID, func(t *testing.T) {
			at := target(op, mine, v)
			a := w.ask("", op.Method, at, v.body, v.headers...)
			if problemIn(t, a); a.Code != http.StatusUnauthorized || !strings.HasPrefix(a.Header().Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("nobody gets %d %q", a.Code, a.Header().Get("WWW-Authenticate"))
			}
			w.stranger(t, op, v, none[op.OperationID])
			for _, small := range reverie.Scopes {
				if !small.Covers(scopeOf(op)) {
					a := w.ask(mine.token[small], op.Method, at, v.body, v.headers...)
					if p := problemIn(t, a); a.Code != http.StatusForbidden || !strings.Contains(p.Detail, string(scopeOf(op))) {
						t.Errorf("scope %s gets %d %s", small, a.Code, a.Body)
					}
				}
			}
			token := mine.token[scopeOf(op)]
			if v.whole {
				if a := w.ask(token, op.Method, at, v.body, v.headers...); a.Code != http.StatusNotFound {
					t.Errorf("with a token of one group it is %d %s", a.Code, a.Body)
				}
				token = w.all
			}
			a = w.ask(token, op.Method, at, v.body, v.headers...)
			if a.Code != max(v.status, http.StatusOK) {
				t.Fatalf("%s %s is %d: %s", op.Method, at, a.Code, a.Body)
			}
			w.fits(t, op, a)
			if !v.silent && !strings.Contains(a.Body.String(), mine.mark) {
				t.Errorf("nothing of the group's is in the answer: %s", a.Body)
			}
			if strings.Contains(a.Body.String(), w.theirs.mark) {
				t.Errorf("another group's is in the answer: %s", a.Body)
			}
			if op.Method == http.MethodGet {
				if h := w.ask(mine.token[scopeOf(op)], http.MethodHead, at, ""); h.Code != http.StatusOK {
					t.Errorf("HEAD is %d", h.Code)
				}
			}
		})
	}
	if walked != len(none) {
		t.Errorf("%d operations of %d cases", walked, len(none))
	}
}

// stranger asks with another group's token, whatever its scope: what is there and what is
// not are answered alike, and lists are empty of it.
func (w *world) stranger(t *testing.T, op *huma.Operation, v, none visit) {
	t.Helper()
	mine, theirs := w.mine.of(op), w.theirs.of(op)
	token := theirs.token[reverie.ScopeAdmin]
	if !strings.Contains(op.Path, "{") {
		a := w.ask(token, op.Method, target(op, mine, v), v.body, v.headers...)
		if a.Code != http.StatusOK || strings.Contains(a.Body.String(), w.mine.mark) || !v.silent && !strings.Contains(a.Body.String(), w.theirs.mark) {
			t.Errorf("another group gets %d %s", a.Code, a.Body)
		}
		if v.missing == "" {
			return
		}
		v.query, none.query = strings.ReplaceAll(v.missing, "GROUP", url.QueryEscape(mine.name())), strings.ReplaceAll(v.missing, "GROUP", "nobody")
	}
	there, absent := w.ask(token, op.Method, target(op, mine, v), v.body, v.headers...), w.ask(token, op.Method, target(op, nowhere(), none), none.body, none.headers...)
	if there.Code != http.StatusNotFound || said(t, there) != said(t, absent) {
		t.Errorf("another group's is %d %s; what does not exist is %d %s", there.Code, there.Body, absent.Code, absent.Body)
	}
	if small := w.ask(theirs.token[reverie.ScopeRead], op.Method, target(op, mine, v), v.body, v.headers...); said(t, small) != said(t, there) {
		t.Errorf("another group's is %d %s for a small scope", small.Code, small.Body)
	}
	if none.open {
		return
	}
	if whole := w.ask(w.all, op.Method, target(op, nowhere(), none), none.body, none.headers...); whole.Code != http.StatusNotFound {
		t.Errorf("what does not exist is %d %s for a token of all groups", whole.Code, whole.Body)
	}
}

// said is a problem without what tells requests apart.
func said(t *testing.T, a *httptest.ResponseRecorder) string {
	p := problemIn(t, a)
	p.Instance = ""
	b, _ := json.Marshal(p)
	return string(b)
}

// fits holds an answer against its own schema.
func (w *world) fits(t testing.TB, op *huma.Operation, a *httptest.ResponseRecorder) {
	t.Helper()
	if a.Body.Len() > 5<<20 {
		t.Errorf("%s answers %d bytes", op.OperationID, a.Body.Len())
	}
	response := op.Responses[strconv.Itoa(a.Code)]
	if response == nil || response.Content["application/json"] == nil {
		t.Errorf("%s answers %d, which is not documented: %.300s", op.OperationID, a.Code, a.Body)
		return
	}
	var v any
	if err := json.Unmarshal(a.Body.Bytes(), &v); err != nil || a.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%s answers no JSON: %v: %.300s", op.OperationID, err, a.Body)
		return
	}
	var res huma.ValidateResult
	huma.Validate(w.doc.Components.Schemas, response.Content["application/json"].Schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, &res)
	for _, err := range res.Errors[:min(5, len(res.Errors))] {
		t.Errorf("%s answers against its schema: %v", op.OperationID, err)
	}
}
