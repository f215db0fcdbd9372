package client_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/api"
	"reverie/internal/api/client"
	"reverie/internal/api/rest"
	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// serve is the API, without tokens.
func serve(t *testing.T) *client.Client {
	t.Helper()
	handler, _ := rest.New(&api.Service{Store: pgtest.New(t), Now: time.Now, Log: slog.New(slog.DiscardHandler)}, rest.Options{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(api.WithCaller(r.Context(), api.Anyone)))
	}))
	t.Cleanup(web.Close)
	return client.New(web.URL, "", client.WithHTTPClient(web.Client()), client.WithRetry(1, 0, 0))
}

// teamMemory is one as another deployment would send it.
func teamMemory(statement string) reverie.TeamMemory {
	at := time.Date(2026, 1, 15, 12, 30, 0, 0, time.UTC)
	return reverie.TeamMemory{ID: "0197f3a0-1c2d-7e3f-8a4b-5c6d7e8f9a0b", VersionID: "0197f3a0-1c2d-7e3f-8a4b-5c6d7e8f9a0c", Version: 3, Statement: statement, Status: reverie.StatusActive,
		Tags: []string{"tea"}, Strength: 0.7, CreatedAt: at, UpdatedAt: at, ChangeReason: "said so",
		Origin:   reverie.Origin{Deployment: "berlin", MemoryID: "0197f3a0-1c2d-7e3f-8a4b-5c6d7e8f9a0d", LineageID: "0197f3a0-1c2d-7e3f-8a4b-5c6d7e8f9a0e", Version: 2, MadeAt: at},
		Versions: []reverie.TeamVersion{}}
}

// A team's memory goes there and comes back the same; where it has moved the error has
// what it is, and where it holds a secret the findings.
func TestTeamMemories(t *testing.T) {
	c := serve(t)
	ctx := t.Context()
	sent := teamMemory("The team likes tea")
	kept, err := c.PutTeamMemory(ctx, "atlas", sent, "", "k1")
	if err != nil {
		t.Fatal(err)
	}
	want := sent
	want.VersionID, want.Version, want.UpdatedAt = kept.VersionID, 1, kept.UpdatedAt
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("(-sent +kept):\n%s", diff)
	}
	page, err := c.TeamMemories(ctx, "atlas", "", 0)
	if diff := cmp.Diff([]reverie.TeamMemory{kept}, page.Memories); diff != "" || err != nil {
		t.Errorf("listed: %v\n%s", err, diff)
	}
	sent.Statement = "The team likes coffee"
	var moved *reverie.TeamHeadError
	for _, on := range []string{"", sent.VersionID} {
		_, err := c.PutTeamMemory(ctx, "atlas", sent, on, "")
		if !errors.As(err, &moved) || !errors.Is(err, reverie.ErrConflict) || moved.ID != sent.ID || !cmp.Equal(moved.Head, &kept) {
			t.Errorf("on %q: %v", on, err)
		}
	}
	changed, err := c.PutTeamMemory(ctx, "atlas", sent, kept.VersionID, "k2")
	if err != nil || changed.Version != 2 {
		t.Errorf("changed: %+v %v", changed, err)
	}
	other := teamMemory("x")
	other.ID = reverie.NewID()
	if _, err := c.PutTeamMemory(ctx, "atlas", other, kept.VersionID, ""); !errors.As(err, &moved) || moved.Head != nil || moved.ID != other.ID {
		t.Errorf("a change of nothing: %v", err)
	}
	sent.Statement = "The token is ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	_, err = c.PutTeamMemory(ctx, "atlas", sent, changed.VersionID, "")
	var refused *reverie.TeamRefusedError
	if !errors.As(err, &refused) || len(refused.Findings) != 1 || refused.Findings[0].Where != "statement" || strings.Contains(err.Error(), "16C7e42F") {
		t.Errorf("refused: %v", err)
	}
}

// The token is for the server that was asked; a server that answers without end is left.
func TestTeamOfABadServer(t *testing.T) {
	var stolen []string
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stolen = append(stolen, r.Method+r.Header.Get("Authorization"))
	}))
	t.Cleanup(thief.Close)
	for name, answer := range map[string]http.HandlerFunc{
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, thief.URL+"/x", http.StatusTemporaryRedirect)
		},
		"round": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusTemporaryRedirect)
		},
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			for piece := []byte(strings.Repeat(" ", 1<<20)); ; {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		},
	} {
		web := httptest.NewServer(answer)
		c := client.New(web.URL, "rvr_x", client.WithRetry(1, 0, 0))
		if _, err := c.TeamMemories(t.Context(), "atlas", "", 0); err == nil || strings.Contains(err.Error(), "rvr_x") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := c.PutTeamMemory(t.Context(), "atlas", teamMemory("x"), "", "k"); err == nil {
			t.Errorf("%s: a write went through", name)
		}
		web.Close()
	}
	if stolen != nil {
		t.Errorf("somebody else was asked: %q", stolen)
	}
}

// A server that hands back the token, or says without end what is wrong, is told of in few
// words, without the token.
func TestTeamOfATalkativeServer(t *testing.T) {
	token := "t0k-" + strings.Repeat("Ab9", 6)
	long := strings.Repeat("<x> \x1b[31m", 10_000)
	for _, status := range []int{403, 422, 200} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			heard, p := r.Header.Get("Authorization"), &client.Problem{}
			p.Title, p.Detail, p.Errors = heard, heard+long, make([]client.Detail, 50)
			for i := range p.Errors {
				p.Errors[i] = client.Detail{Location: heard, Message: long}
				p.Findings = append(p.Findings, reverie.ScanFinding{Where: long[:3000], Class: "x y", Rule: heard, Excerpt: heard})
			}
			body, _ := json.Marshal(p)
			if status == 200 {
				body = []byte(`{"version":"` + heard + `"} ` + heard)
				w.Header().Set("Bad-Header", heard)
			}
			w.WriteHeader(status)
			_, _ = w.Write(body)
		}))
		_, err := client.New(web.URL, token, client.WithRetry(1, 0, 0)).PutTeamMemory(t.Context(), "atlas", teamMemory("x"), "", "")
		if err == nil || strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 30_000 {
			t.Errorf("%d: %.300v", status, err)
		}
		var refused *reverie.TeamRefusedError
		if errors.As(err, &refused) && (len(refused.Findings) != 20 || refused.Findings[0] != reverie.ScanFinding{Where: "unknown", Class: "unknown", Rule: "unknown", Excerpt: "Bearer [token]"}) {
			t.Errorf("%d: %+v", status, refused.Findings[0])
		}
		web.Close()
	}
}

// What passes is asked for again where a key says that it is the same write, and never
// without one.
func TestTeamRetry(t *testing.T) {
	for key, asked := range map[string]int64{"k1": 2, "": 1} {
		s := &script{answers: []http.HandlerFunc{breaks, says(200, `{}`)}}
		_, err := s.client(t).PutTeamMemory(t.Context(), "atlas", teamMemory("x"), "", key)
		if s.asked.Load() != asked || (err == nil) != (key != "") {
			t.Errorf("key %q: asked %d times, %v", key, s.asked.Load(), err)
		}
	}
}
