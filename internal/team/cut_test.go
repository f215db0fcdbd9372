package team_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/internal/team"
)

// TestCut: a push or pull that is cut off at any request, at any point of it, says so,
// and the same again ends as if nothing had happened.
func TestCut(t *testing.T) {
	a, b := deploy(t, "north"), deploy(t, "south")
	for _, how := range []cut{before, after, within} {
		for at := 1; at <= 3; at++ { // the list, and each write
			t.Run(fmt.Sprint("push ", how, at), func(t *testing.T) {
				one, two := a.say(fmt.Sprint("Pushed first ", how, at)), a.say(fmt.Sprint("Pushed second ", how, at))
				b.cutAt(at, how)
				r, err := a.with(b).Sync(t.Context(), team.Options{Push: true})
				deferred(t, err)
				sent := max(at-2, 0)
				if at > 1 && r.Count("", reverie.TeamDue) != 2-sent || done(r) != sent || !strings.Contains(err.Error(), "run it again") {
					t.Errorf("cut off: %+v, %v", r, err)
				}
				made := sent
				if at > 1 && how != before { // it arrived
					made++
				}
				if r := a.push(b); done(r) != 2-made || disputed(r) != 0 {
					t.Errorf("again: %+v", r)
				}
				if b.head(one).Version != 1 || b.head(two).Version != 1 {
					t.Error("a write was made twice")
				}
				if r := a.pull(b); done(r)+disputed(r) != 0 {
					t.Errorf("then a pull: %+v", r)
				}
			})
		}
	}
	t.Run("answer lost, then both go on", func(t *testing.T) {
		one, two := a.say("The ladder is in the yard"), a.say("The rope is in the shed")
		b.cutAt(2, after)
		_, err := a.with(b).Sync(t.Context(), team.Options{Push: true, ID: one})
		deferred(t, err)
		a.edit(one, "The ladder is in the hall") // on top of what they have without our knowing
		b.cutAt(2, after)
		_, err = a.with(b).Sync(t.Context(), team.Options{Push: true, ID: two})
		deferred(t, err)
		b.edit(two, "The rope is in the hall") // on top of what we do not know to be there
		if r := a.pull(b); disputed(r) != 0 || a.toPush(b) != 1 || done(r) != 1 {
			t.Errorf("pulled %+v", r)
		}
		if r := a.push(b); disputed(r) != 0 || done(r) != 1 {
			t.Errorf("pushed %+v", r)
		}
		if b.said()[one] != "The ladder is in the hall" || a.said()[two] != "The rope is in the hall" {
			t.Errorf("%v, %v", a.said(), b.said())
		}
	})
	t.Run("pull", func(t *testing.T) {
		id := b.say("The tent is dry")
		b.cutAt(1, within)
		_, err := a.with(b).Sync(t.Context(), team.Options{Pull: true})
		deferred(t, err)
		if r := a.pull(b); done(r) != 1 || a.said()[id] == "" {
			t.Errorf("again: %+v", r)
		}
	})
	t.Run("offline", func(t *testing.T) {
		a.say("The stove is cold")
		gone := httptest.NewServer(http.NotFoundHandler())
		gone.Close()
		remote, err := team.Dial(gone.URL, b.token, time.Second, false)
		if err != nil {
			t.Fatal(err)
		}
		remote.Attempts = 1
		s := a.to(remote)
		_, err = s.Sync(t.Context(), team.Options{Push: true})
		deferred(t, err)
		status, err := s.Sync(t.Context(), team.Options{Push: true, Pull: true, DryRun: true})
		deferred(t, err)
		if status.Count(reverie.TeamPull, reverie.TeamDue) != 0 || status.Count(reverie.TeamPush, reverie.TeamDue) == 0 || status.Problem == "" || strings.Contains(status.Problem, b.token) {
			t.Errorf("status is %+v", status)
		}
	})
}

// TestRandom: three deployments that edit, delete, push and pull at random, over
// connections that break off at random. In the end, with all conflicts settled, they say
// the same, and no version that anybody wrote is gone from where it was written, nor has
// any with a secret arrived elsewhere.
func TestRandom(t *testing.T) {
	seed := uint64(1)
	if os.Getenv("REVERIE_TEST_THOROUGH") != "" {
		seed = rand.Uint64()
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	all := []*deployment{deploy(t, "hub"), deploy(t, "north"), deploy(t, "south")}
	hub := all[0]
	luck := rand.New(rand.NewPCG(seed, 2)) // of connections, which end when they like
	hub.breaking(func(*http.Request) cut {
		if luck.IntN(4) == 0 {
			return cut(1 + luck.IntN(3))
		}
		return whole
	})
	const secret = "ghp_" + "x8Kd93mzQpLr72VbTn5YwEaG64HsJc01Uf2B"
	written := map[*deployment][]string{}
	say := func(d *deployment, n int) string {
		text := fmt.Sprintf("Shelf %d holds %s from %s", n, []string{"tea", "salt", "茶叶", "rope"}[rng.IntN(4)], d.name)
		if rng.IntN(8) == 0 {
			text = fmt.Sprintf("Number %d of %s is %s", n, d.name, secret)
		}
		written[d] = append(written[d], text)
		return text
	}
	ctx := t.Context()
	accept := team.Options{Pull: true, AcceptRewrites: true}
	for n := range 18 {
		d := all[rng.IntN(3)]
		known := slices.Sorted(maps.Keys(d.said()))
		switch do := rng.IntN(10); {
		case do < 2 || len(known) == 0:
			d.say(say(d, n))
		case do < 5:
			d.edit(known[rng.IntN(len(known))], say(d, n))
		case do == 5:
			d.drop(known[rng.IntN(len(known))])
		case d == hub:
		case do < 8:
			_, _ = d.with(hub).Sync(ctx, team.Options{Push: true})
		default:
			_, _ = d.with(hub).Sync(ctx, accept)
		}
		if c := d.conflicts(); len(c) > 0 && rng.IntN(3) == 0 {
			d.resolve(c[0].ID, team.Decision{Ours: rng.IntN(2) == 0, Theirs: true})
		}
	}
	hub.breaking(nil)
	for d, list := range written { // what cannot travel is put right by a person
		for id, text := range d.said() {
			if strings.Contains(text, secret) {
				d.edit(id, "Nothing to see on the shelf of "+id)
			}
		}
		kept := d.kept()
		for _, text := range list {
			if !kept[text] {
				t.Errorf("%q is lost in %s, where it was written", text, d.name)
			}
		}
	}
	agree(ctx, t, all, accept)
	for _, d := range all {
		for text := range d.kept() {
			if strings.Contains(text, secret) && !slices.Contains(written[d], text) {
				t.Errorf("%q has arrived in %s", text, d.name)
			}
		}
	}
}

// agree syncs until nothing is left to do, deciding for theirs.
func agree(ctx context.Context, t *testing.T, all []*deployment, accept team.Options) {
	t.Helper()
	hub := all[0]
	for round := 0; ; round++ {
		if round == 10 {
			t.Fatalf("no agreement after %d rounds: %v", round, all[1].conflicts())
		}
		left := 0
		for _, d := range all[1:] {
			for _, c := range d.conflicts() {
				d.resolve(c.ID, team.Decision{Theirs: true})
			}
			pulled, err := d.with(hub).Sync(ctx, accept)
			if err != nil {
				t.Fatal(err)
			}
			pushed, err := d.with(hub).Sync(ctx, team.Options{Push: true})
			if err != nil {
				t.Fatal(err)
			}
			left += done(pulled) + done(pushed) + disputed(pulled) + disputed(pushed) + refused(pushed) + refused(pulled)
		}
		if left == 0 {
			break
		}
	}
	for _, d := range all[1:] {
		if diff := cmp.Diff(hub.said(), d.said()); diff != "" {
			t.Errorf("the hub and %s: %s", d.name, diff)
		}
	}
}
