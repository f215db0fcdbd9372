// Package chatlab reads ChatLab's format, 0.0.1 and 0.0.2, one conversation a file. A
// chat is known by its groupId or sourceSessionId; where it has neither, as between two
// people, by its platform and name. Messages without a platformMessageId get an id of
// their own, see [export.Ordinals].
package chatlab

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// Format is what the package reads.
var Format = export.Format{Name: "chatlab", Title: "ChatLab, JSON or JSONL", Knows: knows, Read: read}

func knows(src export.Source) int {
	if src.Files != nil {
		return 0
	}
	var kind export.Text
	var platform, list bool
	for part, err := range export.JSONParts(bytes.NewReader(afterComments(src.Head)), "_type", "sender", "platformId",
		"chatlab.version", "meta.platform", "members[].platformId", "messages[].sender") {
		if err != nil { // the head ends in the middle
			break
		}
		switch part.Pattern {
		case "chatlab.version":
			return 95
		case "_type":
			_ = json.Unmarshal(part.Value, &kind) // of another type it is none of ours
		case "meta.platform":
			platform = true
		default:
			list = true
		}
	}
	switch {
	case platform && list:
		return 80
	case list && (kind == "message" || kind == "member"):
		return 60
	}
	return 0
}

// afterComments is what stands behind the lines of comments that a file may begin with.
func afterComments(head []byte) []byte {
	for {
		head = bytes.TrimSpace(head)
		if !bytes.HasPrefix(head, []byte("#")) {
			return head
		}
		_, head, _ = bytes.Cut(head, []byte("\n"))
	}
}

func read(ctx context.Context, src export.Source, opts export.ReadOptions) iter.Seq2[export.Record, error] {
	return (&Reader{Ctx: ctx, Src: src, opts: opts}).Records
}

// names is how many members are remembered by name at most.
const names = 1 << 17

// chatlabReader reads one file, or one page of a pull.
type Reader struct {
	Ctx   context.Context
	Src   export.Source
	opts  export.ReadOptions
	Chat  export.Chat // of a page it is known beforehand
	Known bool        // which chat it is
	names map[string]string
	whole bool // all members are in names
	IDs   export.Ordinals
	Sync  *Sync     // what a page says of the next one
	Noted bool      // there is something of ChatLab's beside messages
	Print hash.Hash // of a page's messages; nil is not asked for
}

// chatlabSync says where a pull goes on.
type Sync struct {
	HasMore    bool        `json:"hasMore"`
	NextSince  export.Text `json:"nextSince"` // in seconds
	NextOffset export.Text `json:"nextOffset"`
	Watermark  export.Text `json:"watermark"`
}

func (c *Reader) Records(yield func(export.Record, error) bool) {
	for part, err := range c.parts(c.Src.Reader, "meta", "members[]", "messages[]", "sync") {
		if err == nil {
			err = c.Ctx.Err()
		}
		var r export.Record
		var bad *export.Bad
		switch {
		case errors.As(err, &bad): // one that cannot be read
		case err != nil:
			yield(export.Record{}, err)
			return
		case part.Pattern != "messages[]":
			if err := c.note(part); err != nil {
				yield(export.Record{}, err)
				return
			}
			continue
		default:
			if err := c.begin(); err != nil {
				yield(export.Record{}, err)
				return
			}
			if !c.opts.Wants(c.Chat) {
				return
			}
			if c.Print != nil {
				c.Print.Write(part.Value)
			}
			r, err = c.record(part)
		}
		if !yield(r, err) {
			return
		}
	}
}

// parts tells the values of either kind of file by the paths that they have in JSON.
func (c *Reader) parts(r io.Reader, patterns ...string) iter.Seq2[export.JSONPart, error] {
	lines := false
	for _, err := range export.JSONParts(bytes.NewReader(afterComments(c.Src.Head)), "_type") {
		lines = err == nil
		break
	}
	if !lines {
		return export.JSONParts(r, patterns...)
	}
	return func(yield func(export.JSONPart, error) bool) {
		for part, err := range export.JSONLines(r) {
			if err == nil && part.Value[0] == '#' {
				continue
			}
			if err == nil {
				if err = readLine(&part); err == nil && part.Pattern == "" {
					continue
				}
			}
			if !yield(part, err) {
				return
			}
		}
	}
}

// readLine makes of a line what its value would be in JSON. One of a type that is not
// known has no pattern, and is passed over.
func readLine(p *export.JSONPart) error {
	var line struct {
		Type *export.Text    `json:"_type"`
		Meta json.RawMessage `json:"meta"`
	}
	if err := json.Unmarshal(p.Value, &line); err != nil {
		return &export.Bad{Place: p.Place, Reason: "no JSON", Err: export.Readable(err)}
	}
	if line.Type == nil {
		return &export.Bad{Place: p.Place, Reason: "no _type", Err: fmt.Errorf("_type is missing: %w", reverie.ErrInvalid)}
	}
	switch *line.Type {
	case "header":
		if line.Meta != nil {
			p.Pattern, p.Value = "meta", line.Meta
		}
	case "member":
		p.Pattern = "members[]"
	case "message":
		p.Pattern = "messages[]"
	case "sync":
		p.Pattern = "sync"
	}
	return nil
}

// note takes down what is no message. A member that cannot be read has no name.
func (c *Reader) note(part export.JSONPart) error {
	c.Noted = true
	switch part.Pattern {
	case "sync":
		c.Sync = &Sync{}
		if err := json.Unmarshal(part.Value, c.Sync); err != nil {
			return fmt.Errorf("%s: %w", part.Place, export.Readable(err))
		}
	case "members[]":
		var m struct {
			ID       export.Text `json:"platformId"`
			Name     export.Text `json:"accountName"`
			Nickname export.Text `json:"groupNickname"`
		}
		if json.Unmarshal(part.Value, &m) == nil && len(c.names) < names {
			if c.names == nil {
				c.names = map[string]string{}
			}
			c.names[export.Shortened(string(m.ID))] = export.Shortened(string(cmp.Or(m.Nickname, m.Name)))
		}
	default:
		if c.Known {
			return nil
		}
		var m struct {
			Name     export.Text `json:"name"`
			Platform export.Text `json:"platform"`
			Group    export.Text `json:"groupId"`
			Session  export.Text `json:"sourceSessionId"`
		}
		if err := json.Unmarshal(part.Value, &m); err != nil {
			return fmt.Errorf("%s: %w", part.Place, export.Readable(err))
		}
		id := cmp.Or(m.Group, m.Session)
		if id == "" && m.Name != "" {
			id = export.Text(strings.TrimPrefix(string(m.Platform+"-"+m.Name), "-"))
		}
		c.Chat, c.Known = export.Chat{ID: string(id), Name: string(m.Name)}, true
	}
	return nil
}

// begin makes sure, before the first message, that it is known which chat it is of.
func (c *Reader) begin() error {
	if c.Known {
		return nil
	}
	if c.Src.Again == nil {
		return fmt.Errorf("which chat it is (meta) must stand in front of the messages, for a stream is read once; save "+
			"it, and name the file: %w", reverie.ErrInvalid)
	}
	err := c.ahead("meta")
	c.Known = true // or else nothing says it
	return err
}

// ahead takes down what stands behind the messages.
func (c *Reader) ahead(pattern string) error {
	r, err := c.Src.Again()
	if err != nil {
		return err
	}
	defer r.Close()
	for part, err := range c.parts(r, pattern) {
		if err == nil {
			err = c.Ctx.Err()
		}
		var bad *export.Bad
		switch {
		case c.Ctx.Err() != nil:
			return err
		case errors.As(err, &bad):
		case err != nil: // what stands before that is read all the same
			return nil
		case part.Pattern == pattern:
			if err := c.note(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// name is what somebody is called who is not named with a message.
func (c *Reader) name(id string) string {
	if c.names[id] == "" && !c.whole && c.Src.Again != nil {
		c.whole = true
		_ = c.ahead("members[]") // who is not found is called by the id
	}
	return cmp.Or(c.names[id], id)
}
