package team_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"reverie/internal/api"
	"reverie/internal/api/rest"
	"reverie/internal/api/server"
	"reverie/internal/reverie"
	"reverie/internal/team"
	"reverie/jobs"
	"reverie/store"
	"reverie/store/pgtest"
	"reverie/store/teams"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// deployment is a Reverie with a database and an HTTP server of its own.
type deployment struct {
	t       testing.TB
	name    string
	store   *store.Store
	service *api.Service
	web     *httptest.Server
	token   string // of the team, to write

	mu   sync.Mutex
	cut  func(r *http.Request) cut // what befalls a request; nil = nothing
	seen []string                  // bodies of requests
}

// cut is where a connection breaks off.
type cut int

const (
	whole  cut = iota
	before     // the request is not heard
	after      // it is done, and not answered
	within     // half of the answer arrives
)

const crew = "crew"

// apart is a test with a database of its own beside those of others.
type apart struct{ testing.TB }

func deploy(t testing.TB, name string) *deployment {
	d := &deployment{t: t, name: name, store: pgtest.New(&apart{t})}
	d.service = &api.Service{Store: d.store, Now: time.Now, Log: quiet, Leases: &jobs.Leases{Store: d.store, Holder: "test"},
		NewGroup: func(g reverie.Group) reverie.Group { return g }, Team: api.TeamOptions{Deployment: name}}
	handler, _ := rest.New(d.service, rest.Options{})
	s, err := server.New(server.Options{Service: d.service, RequireToken: true, Log: quiet, REST: handler})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.store.AddTeam(t.Context(), crew); err != nil {
		t.Fatal(err)
	}
	if d.token, _, err = d.service.CreateToken(t.Context(), api.NewToken{GroupID: reverie.TeamGroupID(crew), Scope: reverie.ScopeWrite}); err != nil {
		t.Fatal(err)
	}
	d.web = httptest.NewServer(d.cutting(s.Handler()))
	d.web.Config.SetKeepAlivesEnabled(false) // or net/http asks again by itself what broke off on an old connection
	t.Cleanup(d.web.Close)
	return d
}

// cutting lets connections break off.
func (d *deployment) cutting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		d.mu.Lock()
		d.seen = append(d.seen, string(body))
		how := whole
		if d.cut != nil {
			how = d.cut(r)
		}
		d.mu.Unlock()
		if how == whole {
			next.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		if how != before {
			next.ServeHTTP(answer, r)
		}
		if how == within {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	})
}

// cutAt has the n-th request from now on break off, and no other.
func (d *deployment) cutAt(n int, how cut) {
	d.breaking(func(*http.Request) cut {
		if n--; n == 0 {
			return how
		}
		return whole
	})
}

// breaking says what befalls requests from now on.
func (d *deployment) breaking(how func(*http.Request) cut) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut = how
}

// with is what syncs a deployment with another one.
func (d *deployment) with(other *deployment) *team.Syncer {
	d.t.Helper()
	remote, err := team.Dial(other.web.URL, other.token, 10*time.Second, false)
	if err != nil {
		d.t.Fatal(err)
	}
	remote.Attempts = 1
	s := d.to(remote)
	s.URL = remote.URL
	return s
}

// to is what syncs a deployment with whatever answers.
func (d *deployment) to(remote team.Remote) *team.Syncer {
	here, err := teams.New(d.store.DB()).Deployment(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	return &team.Syncer{Store: teams.New(d.store.DB()), Remote: remote, Team: crew, URL: "https://hub.example.org", Here: here, Name: d.name, Now: time.Now}
}

func (d *deployment) push(other *deployment) reverie.TeamSyncReply {
	d.t.Helper()
	r, err := d.with(other).Sync(d.t.Context(), team.Options{Push: true})
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

func (d *deployment) pull(other *deployment) reverie.TeamSyncReply {
	d.t.Helper()
	r, err := d.with(other).Sync(d.t.Context(), team.Options{Pull: true})
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

// The numbers of memories that a sync has done, and of those that it has not.
func done(r reverie.TeamSyncReply) int     { return r.Count("", reverie.TeamDone) }
func disputed(r reverie.TeamSyncReply) int { return r.Count("", reverie.TeamConflicting) }
func refused(r reverie.TeamSyncReply) int  { return r.Count("", reverie.TeamRefused) }
func heldBack(r reverie.TeamSyncReply) int { return r.Count("", reverie.TeamHeldBack) }

// items are those of an outcome.
func items(r reverie.TeamSyncReply, outcome reverie.TeamOutcome) []reverie.TeamItem {
	return slices.DeleteFunc(slices.Clone(r.Items), func(item reverie.TeamItem) bool { return item.Outcome != outcome })
}

// toPush is how many memories a push would send.
func (d *deployment) toPush(other *deployment) int {
	d.t.Helper()
	r, err := d.with(other).Sync(d.t.Context(), team.Options{Push: true, DryRun: true})
	if err != nil {
		d.t.Fatal(err)
	}
	return r.Count(reverie.TeamPush, reverie.TeamDue)
}

// say writes a new memory of the team and returns its id.
func (d *deployment) say(statement string) string {
	d.t.Helper()
	m, err := teams.New(d.store.DB()).PutTeamMemory(d.t.Context(), reverie.TeamWrite{Team: crew, Memory: reverie.TeamMemory{ID: reverie.NewID(), Statement: statement,
		Status: reverie.StatusActive, Tags: []string{"shared"}, Strength: 0.5, ChangeReason: "said"}})
	if err != nil {
		d.t.Fatal(err)
	}
	return m.ID
}

// head is the newest version of a memory.
func (d *deployment) head(id string) reverie.TeamMemory {
	d.t.Helper()
	m, err := teams.New(d.store.DB()).TeamMemory(d.t.Context(), reverie.TeamGroupID(crew), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return m
}

// edit gives a memory new words.
func (d *deployment) edit(id, statement string) {
	d.t.Helper()
	m := d.head(id)
	m.Statement, m.Status, m.ChangeReason, m.Origin, m.Versions = statement, reverie.StatusActive, "edited by "+d.name, reverie.Origin{}, nil
	m.CreatedAt, m.UpdatedAt = time.Time{}, time.Time{}
	if _, err := teams.New(d.store.DB()).PutTeamMemory(d.t.Context(), reverie.TeamWrite{Team: crew, IfVersion: m.VersionID, Memory: m}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *deployment) drop(id string) {
	d.t.Helper()
	if _, err := d.store.Edit(d.t.Context(), reverie.Edit{MemoryID: d.head(id).VersionID, Action: reverie.ActionDelete, Reason: "dropped by " + d.name}); err != nil {
		d.t.Fatal(err)
	}
}

// said is what the team's active memories say.
func (d *deployment) said() map[string]string {
	d.t.Helper()
	list, _, err := d.store.ListMemories(d.t.Context(), reverie.MemoryQuery{GroupID: reverie.TeamGroupID(crew), Status: reverie.StatusActive})
	if err != nil {
		d.t.Fatal(err)
	}
	found := map[string]string{}
	for _, m := range list {
		found[m.LineageID] = m.Statement
	}
	return found
}

// kept is all that a deployment has ever been told: every version, and what waits for a person.
func (d *deployment) kept() map[string]bool {
	d.t.Helper()
	list, _, err := d.store.ListMemories(d.t.Context(), reverie.MemoryQuery{GroupID: reverie.TeamGroupID(crew)})
	if err != nil {
		d.t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range list {
		found[m.Statement] = true
	}
	for _, c := range d.conflicts() {
		found[c.Theirs.Statement] = true
	}
	return found
}

func (d *deployment) conflicts() []reverie.TeamConflict {
	d.t.Helper()
	list, err := teams.New(d.store.DB()).TeamConflicts(d.t.Context(), crew)
	if err != nil {
		d.t.Fatal(err)
	}
	return list
}

func (d *deployment) resolve(id string, decision team.Decision) {
	d.t.Helper()
	if _, err := team.Resolve(d.t.Context(), teams.New(d.store.DB()), crew, id, decision); err != nil {
		d.t.Fatal(err)
	}
}

func deferred(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, reverie.ErrDeferred) {
		t.Fatalf("error is %v, want one that passes", err)
	}
}
