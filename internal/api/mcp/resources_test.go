package mcp_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

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

// TestResourcesOverHTTP: they are there.
func TestResourcesOverHTTP(t *testing.T) {
	h := newHall(t)
	srv := httptest.NewServer(mcp.New(h.service, mcp.Options{Caller: anyone}).Handler())
	t.Cleanup(srv.Close)
	s := h.connect(&sdk.StreamableClientTransport{Endpoint: srv.URL})
	if text := s.text(mcp.MemoriesURI(ours)); !strings.Contains(text, "Fridays") {
		t.Error(text)
	}
}
