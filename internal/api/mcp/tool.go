package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"reverie/internal/api/problem"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is what a client reads of a tool.
type tool struct {
	name, title, about string
	writes             bool
}

// add adds a tool whose answers are a shape, and the same as text for a model to read.
// What goes wrong is told in the words of the API, as the result of the call, so that a
// model can do something about it.
func add[In, Out any](s *Server, t tool, do func(context.Context, In) (Out, string, error)) {
	no := false
	spec := &sdk.Tool{Name: t.name, Title: t.title, Description: t.about, Annotations: &sdk.ToolAnnotations{Title: t.title,
		ReadOnlyHint: !t.writes, IdempotentHint: !t.writes, DestructiveHint: &no, OpenWorldHint: &no}}
	sdk.AddTool(s.server, spec, func(ctx context.Context, req *sdk.CallToolRequest,
		in In) (*sdk.CallToolResult, Out, error) {
		out, text, err := s.call(ctx, req, func(ctx context.Context) (any, string, error) { return do(ctx, in) })
		if err != nil {
			var none Out
			return nil, none, s.plain(ctx, t.name, err)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, out.(Out), nil
	})
}

// call runs a tool for whoever asks. A panic of it is its error: it runs on a goroutine
// of the SDK's, where it would be the end of the process.
func (s *Server) call(ctx context.Context, req *sdk.CallToolRequest,
	do func(context.Context) (any, string, error)) (out any, text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	if s.opts.Caller != nil {
		if ctx, err = s.opts.Caller(ctx); err != nil {
			return nil, "", err
		}
	}
	if err := storable(req.Params.Arguments); err != nil {
		return nil, "", err
	}
	return do(ctx)
}

// plain is an error as an agent is told it. What it is not told is logged.
func (s *Server) plain(ctx context.Context, tool string, err error) error {
	p := problem.Of(err, s.opts.Now())
	if p.Status >= 500 {
		s.opts.Log.ErrorContext(ctx, "a tool failed", "tool", tool, "status", p.Status, "error", err)
	}
	detail := p.Detail
	if p.HeadID != "" {
		detail += fmt.Sprintf(" (memory_id %s, version %d)", p.HeadID, p.HeadVersion)
	}
	return errors.New(detail)
}

// storable refuses arguments with text that cannot be stored, or looked up.
func storable(arguments json.RawMessage) error {
	var v any
	if !utf8.Valid(arguments) {
		return problem.New(422, "the arguments are not valid UTF-8")
	}
	if len(arguments) > 0 && json.Unmarshal(arguments, &v) != nil {
		return problem.New(422, "the arguments are no JSON")
	}
	if hasNUL(v) {
		return problem.New(422, "the arguments hold a NUL, which no text can")
	}
	return nil
}

func hasNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		for _, e := range v {
			if hasNUL(e) {
				return true
			}
		}
	case map[string]any:
		for _, e := range v {
			if hasNUL(e) {
				return true
			}
		}
	}
	return false
}

// within is a number that a client may leave out, or an error where it is out of bounds.
func within(name string, given *int, otherwise, least, most int) (int, error) {
	switch {
	case given == nil:
		return otherwise, nil
	case *given < least || *given > most:
		return 0, problem.New(422, fmt.Sprintf("%s %d: it is %d to %d", name, *given, least, most))
	}
	return *given, nil
}
