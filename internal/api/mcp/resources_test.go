package mcp_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"reverie/internal/api/mcp"
	"reverie/internal/reverie"
)

// text reads a resource, which must be there.
func (s *session) text(uri string) string {
	s.Helper()
	r, err := s.ReadResource(s.Context(), &sdk.ReadResourceParams{URI: uri})
	s.check(err)
	return r.Contents[0].Text
}

// TestResources: what a group remembers stands at an address, for who may read it.
func TestResources(t *testing.T) {
	h := newHall(t)
	s := h.client(mcp.Options{Caller: h.as(h.token(ours, reverie.ScopeRead)), Group: ours})
	list, err := s.ListResources(t.Context(), nil)
	h.check(err)
	templates, err := s.ListResourceTemplates(t.Context(), nil)
	h.check(err)
	if len(list.Resources) != 1 || list.Resources[0].URI != mcp.MemoriesURI(ours) || len(templates.ResourceTemplates) != 2 ||
		s.InitializeResult().Capabilities.Resources.Subscribe {
		t.Errorf("%+v %+v", list, templates)
	}
	for _, want := range []string{"the group meets on Fridays", "Lin brings green tea", "calm evenings", "Memories: 4 of 4.", "<reverie_memories"} {
		if text := s.text(mcp.MemoriesURI(ours)); !strings.Contains(text, want) || strings.Contains(text, "</reverie_dream>") {
			t.Errorf("no %q in %s", want, text)
		}
	}
	if text := s.text(strings.Replace(mcp.MemoriesURI(ours), "/memories", "/context?query=when%20does%20the%20group%20meet", 1)); !strings.Contains(text, "Fridays") {
		t.Error(text)
	}
	for _, uri := range []string{mcp.MemoriesURI(theirs), mcp.MemoriesURI("nobody"), "reverie://groups//memories", mcp.MemoriesURI(ours) + "/x",
		"reverie://groups/" + theirs + "/context?query=x", "reverie://elsewhere/x/memories", "file:///etc/passwd"} {
		r, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if coded, ok := errors.AsType[*jsonrpc.Error](err); !ok || coded.Code != jsonrpc.CodeInvalidParams || coded.Message == "" {
			t.Errorf("%s: %+v %v", uri, r, err)
		}
	}
}

// withSessions is the newest protocol in which one subscribes by a call that is answered.
const withSessions = "2025-11-25"

// TestSubscription: who has subscribed is told of a change once, and of other groups' never.
func TestSubscription(t *testing.T) {
	h := newHall(t)
	h.protocol = withSessions
	ticks := make(chan time.Time)
	token := h.token(ours, reverie.ScopeRead)
	s := h.client(mcp.Options{Caller: h.as(token), Tick: func() <-chan time.Time { return ticks }})
	for _, uri := range []string{mcp.MemoriesURI(theirs), mcp.MemoriesURI("nobody"), "reverie://groups/x/context?query=x"} {
		if err := s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err == nil {
			t.Errorf("subscribed to %s", uri)
		}
	}
	// want has looked for changes be done, and compares what the client was told of.
	want := func(what string, uris ...string) {
		t.Helper()
		ticks <- h.now
		ticks <- h.now // the one before is done with
		h.check(s.Ping(t.Context(), nil))
		for _, uri := range uris {
			if told := <-h.updated; told != uri {
				t.Errorf("%s: told of %q", what, told)
			}
		}
		if len(h.updated) > 0 {
			t.Errorf("%s: told of %q, too", what, <-h.updated)
		}
	}
	uri := mcp.MemoriesURI(ours)
	h.remember(ours, reverie.KindGroup, "nobody waits for this")
	h.check(s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}))
	want("nothing has changed since")
	h.remember(theirs, reverie.KindGroup, "another group's")
	want("another group's")
	h.remember(ours, reverie.KindGroup, "the group meets on Saturdays")
	want("a change", uri)
	if !strings.Contains(s.text(uri), "Saturdays") {
		t.Error("it is not there")
	}
	want("only once")
	_, err := h.db().Exec(`update memories set status = 'held' where group_id = $1 and statement like '%Saturdays'`, ours)
	h.check(err)
	want("what leaves no change in the log, as an erasure does", uri)
	h.check(s.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: uri}))
	h.remember(ours, reverie.KindGroup, "the group meets on Sundays")
	want("after the end")

	h.check(s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}))
	_, err = h.store.RevokeToken(t.Context(), token[4:16])
	h.check(err)
	h.remember(ours, reverie.KindGroup, "the group meets on Mondays")
	want("with a token that was revoked")
}

// TestSubscriptionListens: the newest protocol, in which subscribing is a call without an end.
func TestSubscriptionListens(t *testing.T) {
	h := newHall(t)
	ticks := make(chan time.Time)
	s := h.client(mcp.Options{Caller: anyone, Tick: func() <-chan time.Time { return ticks }})
	h.check(s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: mcp.MemoriesURI(ours)}))
	for i := range 1000 { // until it has begun to listen
		h.remember(ours, reverie.KindGroup, fmt.Sprintf("the group has met %d times", i))
		ticks <- h.now
		ticks <- h.now
		h.check(s.Ping(t.Context(), nil))
		if len(h.updated) > 0 {
			break
		}
	}
	if uri := <-h.updated; uri != mcp.MemoriesURI(ours) {
		t.Error(uri)
	}
}

// TestResourcesOverHTTP: they are there, and nobody can subscribe, since there is no session to tell.
func TestResourcesOverHTTP(t *testing.T) {
	h := newHall(t)
	srv := httptest.NewServer(mcp.New(h.service, mcp.Options{Caller: anyone}).Handler())
	t.Cleanup(srv.Close)
	h.protocol = withSessions
	s := h.connect(&sdk.StreamableClientTransport{Endpoint: srv.URL})
	if text := s.text(mcp.MemoriesURI(ours)); !strings.Contains(text, "Fridays") {
		t.Error(text)
	}
	if err := s.Subscribe(t.Context(), &sdk.SubscribeParams{URI: mcp.MemoriesURI(ours)}); err == nil {
		t.Error("subscribed")
	}
}
