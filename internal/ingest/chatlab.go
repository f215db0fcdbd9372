package ingest

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

	"reverie/internal/reverie"
)

// chatlabFormat reads ChatLab's format, 0.0.1 and 0.0.2, one conversation a file. A chat is
// known by its groupId or sourceSessionId; where it has neither, as between two people, by
// its platform and name. Messages without a platformMessageId get an id of their own, see
// [ordinals].
var chatlabFormat = Format{Name: "chatlab", Title: "ChatLab, JSON or JSONL", Knows: knowsChatlab, Read: readChatlab}

func knowsChatlab(src Source) int {
	if src.Files != nil {
		return 0
	}
	var kind jsonText
	var platform, list bool
	for part, err := range jsonParts(bytes.NewReader(afterComments(src.Head)), "_type", "sender", "platformId",
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

func readChatlab(ctx context.Context, src Source, opts ReadOptions) iter.Seq2[Record, error] {
	return (&chatlabReader{ctx: ctx, src: src, opts: opts}).records
}

// chatlabNames is how many members are remembered by name at most.
const chatlabNames = 1 << 17

// chatlabReader reads one file, or one page of a pull.
type chatlabReader struct {
	ctx   context.Context
	src   Source
	opts  ReadOptions
	chat  Chat // of a page it is known beforehand
	known bool // which chat it is
	names map[string]string
	whole bool // all members are in names
	ids   ordinals
	sync  *chatlabSync // what a page says of the next one
	noted bool         // there is something of ChatLab's beside messages
	print hash.Hash    // of a page's messages; nil is not asked for
}

// chatlabSync says where a pull goes on.
type chatlabSync struct {
	HasMore    bool     `json:"hasMore"`
	NextSince  jsonText `json:"nextSince"` // in seconds
	NextOffset jsonText `json:"nextOffset"`
	Watermark  jsonText `json:"watermark"`
}

func (c *chatlabReader) records(yield func(Record, error) bool) {
	for part, err := range c.parts(c.src.Reader, "meta", "members[]", "messages[]", "sync") {
		if err == nil {
			err = c.ctx.Err()
		}
		var r Record
		var bad *Bad
		switch {
		case errors.As(err, &bad): // one that cannot be read
		case err != nil:
			yield(Record{}, err)
			return
		case part.Pattern != "messages[]":
			if err := c.note(part); err != nil {
				yield(Record{}, err)
				return
			}
			continue
		default:
			if err := c.begin(); err != nil {
				yield(Record{}, err)
				return
			}
			if !c.opts.wants(c.chat) {
				return
			}
			if c.print != nil {
				c.print.Write(part.Value)
			}
			r, err = c.record(part)
		}
		if !yield(r, err) {
			return
		}
	}
}

// parts tells the values of either kind of file by the paths that they have in JSON.
func (c *chatlabReader) parts(r io.Reader, patterns ...string) iter.Seq2[jsonPart, error] {
	lines := false
	for _, err := range jsonParts(bytes.NewReader(afterComments(c.src.Head)), "_type") {
		lines = err == nil
		break
	}
	if !lines {
		return jsonParts(r, patterns...)
	}
	return func(yield func(jsonPart, error) bool) {
		for part, err := range jsonLines(r) {
			if err == nil && part.Value[0] == '#' {
				continue
			}
			if err == nil {
				if err = part.chatlabLine(); err == nil && part.Pattern == "" {
					continue
				}
			}
			if !yield(part, err) {
				return
			}
		}
	}
}

// chatlabLine makes of a line what its value would be in JSON. One of a type that is not
// known has no pattern, and is passed over.
func (p *jsonPart) chatlabLine() error {
	var line struct {
		Type *jsonText       `json:"_type"`
		Meta json.RawMessage `json:"meta"`
	}
	if err := json.Unmarshal(p.Value, &line); err != nil {
		return &Bad{Place: p.Place, Reason: "no JSON", Err: readable(err)}
	}
	if line.Type == nil {
		return &Bad{Place: p.Place, Reason: "no _type", Err: fmt.Errorf("_type is missing: %w", reverie.ErrInvalid)}
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
func (c *chatlabReader) note(part jsonPart) error {
	c.noted = true
	switch part.Pattern {
	case "sync":
		c.sync = &chatlabSync{}
		if err := json.Unmarshal(part.Value, c.sync); err != nil {
			return fmt.Errorf("%s: %w", part.Place, readable(err))
		}
	case "members[]":
		var m struct {
			ID       jsonText `json:"platformId"`
			Name     jsonText `json:"accountName"`
			Nickname jsonText `json:"groupNickname"`
		}
		if json.Unmarshal(part.Value, &m) == nil && len(c.names) < chatlabNames {
			if c.names == nil {
				c.names = map[string]string{}
			}
			c.names[shortened(string(m.ID))] = shortened(string(cmp.Or(m.Nickname, m.Name)))
		}
	default:
		if c.known {
			return nil
		}
		var m struct {
			Name     jsonText `json:"name"`
			Platform jsonText `json:"platform"`
			Group    jsonText `json:"groupId"`
			Session  jsonText `json:"sourceSessionId"`
		}
		if err := json.Unmarshal(part.Value, &m); err != nil {
			return fmt.Errorf("%s: %w", part.Place, readable(err))
		}
		id := cmp.Or(m.Group, m.Session)
		if id == "" && m.Name != "" {
			id = jsonText(strings.TrimPrefix(string(m.Platform+"-"+m.Name), "-"))
		}
		c.chat, c.known = Chat{ID: string(id), Name: string(m.Name)}, true
	}
	return nil
}

// begin makes sure, before the first message, that it is known which chat it is of.
func (c *chatlabReader) begin() error {
	if c.known {
		return nil
	}
	if c.src.Again == nil {
		return fmt.Errorf("which chat it is (meta) must stand in front of the messages, for a stream is read once; save it, and name the file: %w", reverie.ErrInvalid)
	}
	err := c.ahead("meta")
	c.known = true // or else nothing says it
	return err
}

// ahead takes down what stands behind the messages.
func (c *chatlabReader) ahead(pattern string) error {
	r, err := c.src.Again()
	if err != nil {
		return err
	}
	defer r.Close()
	for part, err := range c.parts(r, pattern) {
		if err == nil {
			err = c.ctx.Err()
		}
		var bad *Bad
		switch {
		case c.ctx.Err() != nil:
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
func (c *chatlabReader) name(id string) string {
	if c.names[id] == "" && !c.whole && c.src.Again != nil {
		c.whole = true
		_ = c.ahead("members[]") // who is not found is called by the id
	}
	return cmp.Or(c.names[id], id)
}
