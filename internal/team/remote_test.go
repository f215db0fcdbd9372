package team_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/internal/team"
)

// answers are given one after the other, and the last one for ever.
type answers struct {
	asked atomic.Int64
	list  []http.HandlerFunc
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	n := int(a.asked.Add(1)) - 1
	a.list[min(n, len(a.list)-1)](w, r)
}

func says(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// dial returns a remote that answers as it is told.
func dial(t *testing.T, token string, handler http.Handler) *team.HTTP {
	t.Helper()
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	web.Config.SetKeepAlivesEnabled(false) // or net/http asks again by itself
	remote, err := team.Dial(web.URL+"/", token, time.Minute, false)
	if err != nil {
		t.Fatal(err)
	}
	remote.Backoff = time.Microsecond
	return remote
}

// TestRetry: after a fault that passes is asked again, as often as is allowed and no
// sooner than the other side says; and after nothing else.
func TestRetry(t *testing.T) {
	ok, slow, down := says(200, "{}"), says(429, "{}"), says(503, "{}")
	breaks := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		asked   int64
		want    error
	}{
		"too fast":        {[]http.HandlerFunc{slow, slow, ok}, 3, nil},
		"down":            {[]http.HandlerFunc{down, ok}, 2, nil},
		"broken":          {[]http.HandlerFunc{breaks, ok}, 2, nil},
		"for long":        {[]http.HandlerFunc{down}, 3, reverie.ErrDeferred},
		"too long a wait": {[]http.HandlerFunc{says(503, "{}", "Retry-After", "3600"), ok}, 1, reverie.ErrDeferred},
		"not there":       {[]http.HandlerFunc{says(404, "{}"), ok}, 1, reverie.ErrConfiguration},
		"a conflict":      {[]http.HandlerFunc{says(409, "{}"), ok}, 1, reverie.ErrConflict},
		"refused":         {[]http.HandlerFunc{says(422, "{}"), ok}, 1, reverie.ErrInvalid},
		"no JSON":         {[]http.HandlerFunc{says(200, "<html>"), ok}, 1, reverie.ErrConfiguration},
	} {
		a := &answers{list: c.answers}
		_, err := dial(t, "t", a).PutTeamMemory(t.Context(), crew, good(1), "", "k1")
		if a.asked.Load() != c.asked || !errors.Is(err, c.want) {
			t.Errorf("%s: asked %d times, %v", name, a.asked.Load(), err)
		}
	}
}

// TestRoundTrip: a team's memory goes there and comes back the same; that it has moved,
// says the same as another one or holds a secret are errors of their own.
func TestRoundTrip(t *testing.T) {
	d := deploy(t, "berlin")
	remote, err := team.Dial(d.web.URL, d.token, time.Minute, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	sent := good(1)
	sent.Versions = []reverie.TeamVersion{}
	kept, err := remote.PutTeamMemory(ctx, crew, sent, "", "k1")
	if err != nil {
		t.Fatal(err)
	}
	want := sent
	want.VersionID, want.Version, want.UpdatedAt = kept.VersionID, 1, kept.UpdatedAt
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("(-sent +kept):\n%s", diff)
	}
	page, err := remote.TeamMemories(ctx, crew, "", 100)
	if diff := cmp.Diff([]reverie.TeamMemory{kept}, page.Memories); diff != "" || err != nil {
		t.Errorf("listed: %v\n%s", err, diff)
	}
	sent.Statement = "Box 1 is green"
	for i, on := range []string{"", sent.VersionID} {
		var moved *reverie.TeamHeadError
		if _, err := remote.PutTeamMemory(ctx, crew, sent, on, "m"+on); !errors.As(err, &moved) || !errors.Is(err, reverie.ErrConflict) {
			t.Errorf("on another version %d: %v", i, err)
		}
	}
	changed, err := remote.PutTeamMemory(ctx, crew, sent, kept.VersionID, "k2")
	if err != nil || changed.Version != 2 {
		t.Errorf("changed: %+v %v", changed, err)
	}
	twin := good(2)
	twin.Statement = sent.Statement
	if _, err := remote.PutTeamMemory(ctx, crew, twin, "", "k3"); !errors.Is(err, reverie.ErrConflict) || !strings.Contains(err.Error(), sent.ID) {
		t.Errorf("a twin: %v", err)
	}
	sent.Statement = "The token is ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	_, err = remote.PutTeamMemory(ctx, crew, sent, changed.VersionID, "k4")
	var refused *reverie.TeamRefusedError
	if !errors.As(err, &refused) || len(refused.Findings) != 1 || refused.Findings[0].Where != "statement" || strings.Contains(err.Error(), "16C7e42F") {
		t.Errorf("refused: %v", err)
	}
}

// TestEndless: an answer without end is left.
func TestEndless(t *testing.T) {
	remote := dial(t, "rvr_x", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for piece := []byte(strings.Repeat(" ", 1<<20)); ; {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	if _, err := remote.TeamMemories(t.Context(), crew, "", 1); !errors.Is(err, reverie.ErrConfiguration) || strings.Contains(err.Error(), "rvr_x") {
		t.Error(err)
	}
	page := `{"team":"crew","memories":[],"next":"x"}` + strings.Repeat(" ", 15<<20)
	remote = dial(t, "rvr_x", says(200, page))
	n := 0
	for err := error(nil); err == nil && n < 20; n++ {
		_, err = remote.TeamMemories(t.Context(), crew, map[bool]string{false: "x"}[n == 0], 1)
	}
	if n != 9 {
		t.Errorf("%d pages of 15 MB are read", n)
	}
}

// TestTalkative: a server that hands back the token, or says without end what is wrong, is
// told of in few words, without the token.
func TestTalkative(t *testing.T) {
	token := "t0k-" + strings.Repeat("Ab9", 6)
	long := strings.Repeat("<x> \x1b[31m", 10_000)
	for _, status := range []int{403, 422, 200} {
		remote := dial(t, token, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			heard := r.Header.Get("Authorization")
			errs, found := []map[string]string{}, []reverie.ScanFinding{}
			for range 50 {
				errs = append(errs, map[string]string{"location": heard, "message": long})
				found = append(found, reverie.ScanFinding{Where: long[:3000], Class: "x y", Rule: heard, Excerpt: heard})
			}
			body, _ := json.Marshal(map[string]any{"title": heard, "detail": heard + long, "errors": errs, "findings": found})
			if status == 200 {
				body = []byte(`{"version":"` + heard + `"} ` + heard)
				w.Header().Set("Bad-Header", heard)
			}
			w.WriteHeader(status)
			_, _ = w.Write(body)
		}))
		_, err := remote.PutTeamMemory(t.Context(), crew, good(1), "", "k")
		if err == nil || strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 30_000 {
			t.Errorf("%d: %.300v", status, err)
		}
		var refused *reverie.TeamRefusedError
		if errors.As(err, &refused) && (len(refused.Findings) != 20 || refused.Findings[0] != reverie.ScanFinding{Where: refused.Findings[0].Where, Class: "x y", Rule: "Bearer [token]", Excerpt: "Bearer [token]"} || len(refused.Findings[0].Where) > 2000) {
			t.Errorf("%d: %+v", status, refused.Findings[0])
		}
	}
}
