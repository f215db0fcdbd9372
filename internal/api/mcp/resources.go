package mcp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"reverie/internal/api"
	"reverie/internal/api/problem"
	"reverie/internal/recall"
	"reverie/internal/reverie"
)

// The resources of a group. What stands in them is text that is ready for a model, as quoted data.
const (
	scheme      = "reverie://groups/"
	memoriesURI = scheme + "{group_id}/memories"
	contextURI  = scheme + "{group_id}/context{?query}"
	textType    = "text/plain"
)

// MemoriesURI is the resource of what a group remembers.
func MemoriesURI(group string) string {
	return scheme + strings.ReplaceAll(url.QueryEscape(group), "+", "%20") + "/memories"
}

func (s *Server) addResources() {
	const about = "All that the group remembers now, strongest first, at most 200 memories."
	s.server.AddResourceTemplate(&sdk.ResourceTemplate{Name: "memories", Title: "A group's memories", Description: about,
		URITemplate: memoriesURI, MIMEType: textType}, s.read)
	s.server.AddResourceTemplate(&sdk.ResourceTemplate{Name: "context", Title: "A group's context for a message",
		Description: "What bears on the message that query holds: the text of get_group_context.", URITemplate: contextURI,
		MIMEType: textType}, s.read)
	if g := s.opts.Group; g != "" {
		s.server.AddResource(&sdk.Resource{Name: "memories of " + g, Description: about, URI: MemoriesURI(g), MIMEType: textType}, s.read)
	}
}

// place is the group and the part of it that an address names; "" where it names none.
func place(address string) (group, part, query string) {
	rest, ok := strings.CutPrefix(address, scheme)
	rest, params, _ := strings.Cut(rest, "?")
	escaped, part, _ := strings.Cut(rest, "/")
	group, err := url.PathUnescape(escaped)
	values, badly := url.ParseQuery(params)
	if !ok || err != nil || badly != nil || group == "" {
		return "", "", ""
	}
	return group, part, values.Get("query")
}

func (s *Server) read(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	text, err := s.textOf(ctx, req.Params.URI)
	if err != nil {
		return nil, s.refused(ctx, "resource", err)
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: req.Params.URI, MIMEType: textType, Text: text}}}, nil
}

// refused is an error of a resource as a client is told it: by a code, too.
func (s *Server) refused(ctx context.Context, what string, err error) error {
	code := int64(jsonrpc.CodeInvalidParams)
	if problem.Of(err, s.service.Now()).Status >= http.StatusInternalServerError {
		code = jsonrpc.CodeInternalError
	}
	return &jsonrpc.Error{Code: code, Message: s.plain(ctx, what, err).Error()}
}

// textOf is what stands at an address.
func (s *Server) textOf(ctx context.Context, address string) (text string, err error) {
	defer caught(&err)
	ctx, leave, err := s.asking(ctx)
	defer leave()
	group, part, query := place(address)
	switch {
	case err != nil:
		return "", err
	case part == "context":
		_, text, err = s.groupContext(ctx, contextIn{Group: group, Query: query})
		return text, err
	case part == "memories":
		return s.memoriesText(ctx, group)
	}
	return "", fmt.Errorf("resource %q: %w", address, reverie.ErrNotFound)
}

// remembered is a memory in a resource.
type remembered struct {
	MemoryID  string       `json:"memory_id"`
	Statement string       `json:"statement"`
	Kind      reverie.Kind `json:"kind"`
	UpdatedAt time.Time    `json:"updated_at"`
}

func (s *Server) memoriesText(ctx context.Context, group string) (string, error) {
	reply, err := s.service.List(ctx, reverie.MemoryQuery{GroupID: group, Status: reverie.StatusActive, Order: reverie.OrderStrength,
		Limit: api.MaxPage})
	list := []any{}
	for _, m := range reply.Memories {
		list = append(list, remembered{m.ID, m.Statement, m.Kind, m.UpdatedAt.UTC()})
	}
	if len(list) == 0 {
		return "Nothing is remembered.", err
	}
	return recall.Quoted("memories", fmt.Sprintf("Memories: %d of %d.", len(list), reply.Total), list), err
}

// subscription is what somebody waits for.
type subscription struct {
	said   [sha256.Size]byte // of the text when it was last told of
	number int               // of who wait
}

func (s *Server) subscribe(ctx context.Context, req *sdk.SubscribeRequest) error {
	uri := req.Params.URI
	if _, part, _ := place(uri); part != "memories" {
		return s.refused(ctx, "subscribe", problem.New(http.StatusUnprocessableEntity, "subscribe to "+memoriesURI+": nothing else tells of changes"))
	}
	text, err := s.textOf(ctx, uri)
	if err != nil {
		return s.refused(ctx, "subscribe", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sub, ok := s.subscribed[uri]
	if !ok {
		sub = &subscription{said: sha256.Sum256([]byte(text))}
		s.subscribed[uri] = sub
	}
	sub.number++
	return nil
}

func (s *Server) unsubscribe(_ context.Context, req *sdk.UnsubscribeRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub, ok := s.subscribed[req.Params.URI]; ok {
		if sub.number--; sub.number <= 0 {
			delete(s.subscribed, req.Params.URI)
		}
	}
	return nil
}

// watch tells who subscribed of changes, until ctx ends.
func (s *Server) watch(ctx context.Context) {
	if s.opts.Tick == nil {
		return
	}
	for down := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-s.opts.Tick():
		}
		err := s.tell(ctx)
		if err != nil && !down && ctx.Err() == nil {
			s.service.Log.WarnContext(ctx, "changes of resources could not be looked for", "error", err)
		}
		down = err != nil
	}
}

// tell looks whether what stands at an address has changed, whatever has changed it.
func (s *Server) tell(ctx context.Context) (err error) {
	s.mu.Lock()
	uris := slices.Collect(maps.Keys(s.subscribed))
	s.mu.Unlock()
	for _, uri := range uris {
		text, failed := s.textOf(ctx, uri) // by a token that may be revoked by now
		if failed == nil && s.changed(uri, sha256.Sum256([]byte(text))) {
			failed = s.server.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri})
		}
		err = errors.Join(err, failed)
	}
	return err
}

// changed notes what an address says now, and tells whether it is subscribed to and has said something else.
func (s *Server) changed(uri string, said [sha256.Size]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub, ok := s.subscribed[uri]
	if !ok || sub.said == said {
		return false
	}
	sub.said = said
	return true
}
