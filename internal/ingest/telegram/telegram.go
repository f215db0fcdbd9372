// Package telegram reads what Telegram Desktop exports as JSON: one chat, or a whole
// account with all of its chats. Ids of people, groups and channels overlap, so each has
// its kind in front, as the export itself writes authors. A message's id is unique within
// a group or channel for everybody; in chats of two and small groups it is the exporting
// account's own.
package telegram

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"strconv"
	"strings"
	"time"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// Format is what the package reads.
var Format = export.Format{
	Name:  "telegram",
	Title: "Telegram Desktop export in JSON (result.json, or its folder)",
	Knows: knows,
	Read:  read,
}

// kinds are the types of chats, and what an id of one is of.
var kinds = map[string]string{
	"saved_messages": "saved", "replies": "replies", "verification_codes": "codes", "personal_chat": "user",
	"bot_chat":      "user",
	"private_group": "chat", "private_supergroup": "channel", "public_supergroup": "channel", "public_group": "channel",
	"private_channel": "channel", "public_channel": "channel",
}

func knows(src export.Source) int {
	if src.Files != nil {
		switch list := telegramFiles(src.Files); {
		case len(list) == 0:
			return 0
		case path.Base(list[0]) == "result.json":
			return 95
		}
		return 80
	}
	if !bytes.HasPrefix(bytes.TrimSpace(src.Head), []byte("{")) {
		return 0
	}
	var seen telegramHead
	for part, err := range export.JSONParts(bytes.NewReader(src.Head), "type", "id", "messages[].date_unixtime",
		"messages[].from_id", "messages[].actor_id",
		"messages[].date", "about", "personal_information.user_id", "contacts.about", "frequent_contacts.about",
		"sessions.about", "chats.about", "chats.list[].type", "left_chats.list[].type",
		"chats.list[].messages[].date", "chats.list[].messages[].date_unixtime", "chats.list[].messages[].from_id") {
		if err != nil { // the head ends in the middle
			break
		}
		seen.add(part)
	}
	switch {
	case seen.typed && seen.numbered && (seen.message || seen.dated):
		return 95
	case seen.account, seen.about && seen.part, seen.numbered && seen.message && seen.dated, seen.part && seen.message &&
		seen.dated:
		return 90
	case seen.typed && seen.numbered:
		return 70
	}
	return 0
}

// telegramHead is what the beginning of a file has of an export.
type telegramHead struct{ typed, numbered, message, dated, about, account, part bool }

func (h *telegramHead) add(part export.JSONPart) {
	switch part.Pattern {
	case "type":
		var kind string
		h.typed = json.Unmarshal(part.Value, &kind) == nil && kinds[kind] != ""
	case "id":
		var id int64
		h.numbered = json.Unmarshal(part.Value, &id) == nil
	case "messages[].date", "chats.list[].messages[].date":
		h.dated = true
	case "about":
		h.about = true
	case "personal_information.user_id":
		h.account = h.about
	case "messages[].date_unixtime", "messages[].from_id", "messages[].actor_id", "chats.list[].messages[].date_unixtime",
		"chats.list[].messages[].from_id":
		h.message = true
	default: // parts of an account, which may be all that the beginning has
		h.part = true
	}
}

// telegramFiles finds the exports of a folder or archive.
func telegramFiles(files fs.FS) []string {
	return export.KnownFiles(files, []string{".json"},
		func(head []byte) bool { return knows(export.Source{Head: head}) > 0 })
}

func read(ctx context.Context, src export.Source, opts export.ReadOptions) iter.Seq2[export.Record, error] {
	return func(yield func(export.Record, error) bool) {
		t := reader{ctx: ctx, opts: opts, yield: yield}
		if src.Files == nil {
			if _, err := t.file(src.Reader, src.Again); err != nil {
				yield(export.Record{}, err)
			}
			return
		}
		list := telegramFiles(src.Files)
		export.InArchiveOrder(src.Files, list)
		for _, name := range list {
			if !export.EachFile(ctx, src.Files, name, yield, func(f io.Reader) (bool, error) {
				t := reader{ctx: ctx, opts: opts, yield: yield, within: name + ", "}
				return t.file(f, func() (io.ReadCloser, error) { return src.Files.Open(name) })
			}) {
				return
			}
		}
	}
}

// reader reads one file.
type reader struct {
	ctx    context.Context
	opts   export.ReadOptions
	yield  func(export.Record, error) bool
	within string // the name of the file in front of places, where there are several
	chat   chat
}

// chat is the chat at hand.
type chat struct {
	key      string // where it stands in the file
	kind, id string // as the file says them
	name     string
	chat     export.Chat // without an id as long as nobody wrote
	last     time.Time   // when the message before was sent
	topics   topics
}

// file tells the messages of a file, and whether anybody listens on. The error says why
// it cannot be read to its end.
func (t *reader) file(r io.Reader, again func() (io.ReadCloser, error)) (bool, error) {
	var patterns []string
	for _, at := range []string{"", "chats.list[].", "left_chats.list[]."} {
		patterns = append(patterns, at+"name", at+"type", at+"id", at+"messages[]")
	}
	for part, err := range export.JSONParts(r, patterns...) {
		if err == nil {
			err = t.ctx.Err()
		}
		var bad *export.Bad
		if errors.As(err, &bad) {
			if !t.yield(export.Record{}, &export.Bad{Place: t.within + part.Place, Reason: bad.Reason, Err: bad.Err}) {
				return false, nil
			}
			continue
		}
		if err != nil {
			return false, err
		}
		dot := strings.LastIndexByte(part.Pattern, '.')
		key := part.Pattern[:dot+1]
		if key != "" {
			key += strconv.Itoa(part.Index[0])
		}
		if key != t.chat.key {
			t.chat = chat{key: key}
		}
		if what := part.Pattern[dot+1:]; what != "messages[]" {
			t.chat.is(what, part.Value)
			continue
		}
		if t.chat.chat.ID == "" {
			if err := t.chat.begin(again); errors.As(err, &bad) {
				if !t.yield(export.Record{}, &export.Bad{Place: t.within + part.Place, Reason: bad.Reason, Err: bad.Err}) {
					return false, nil
				}
				continue
			} else if err != nil {
				return false, err
			}
		}
		if t.opts.Wants(t.chat.chat) && !t.tell(part) {
			return false, nil
		}
	}
	return true, nil
}

// is takes down what the chat is.
func (c *chat) is(key string, value json.RawMessage) {
	var s export.Text
	_ = json.Unmarshal(escapes(value), &s) // what is of another type is not there
	switch key {
	case "name":
		c.name = string(s)
	case "type":
		c.kind = string(s)
	default:
		c.id = string(s)
	}
}

// begin says which chat the messages are of. Where other programs have sorted the keys, it
// stands behind them, and the file is looked through for it. Where nothing says it, the
// error is a [*Bad].
func (c *chat) begin(again func() (io.ReadCloser, error)) error {
	if c.key == "" && again != nil && (c.id == "" || c.kind == "") {
		f, err := again()
		if err != nil {
			return err
		}
		defer f.Close()
		for part, err := range export.JSONParts(f, "name", "type", "id") {
			if err != nil {
				break // the messages before it are read all the same
			}
			c.is(part.Pattern, part.Value)
		}
	}
	if c.id == "" {
		return &export.Bad{Reason: "no chat",
			Err: fmt.Errorf("the id of its chat is missing, or comes behind the messages; put name, type and id in front of "+
				"them: %w", reverie.ErrInvalid)}
	}
	c.chat.ID = cmp.Or(kinds[c.kind], "peer") + c.id
	c.chat.Name = cmp.Or(c.name, strings.ReplaceAll(c.kind, "_", " "), c.chat.ID)
	return nil
}

// tell tells one message.
func (t *reader) tell(part export.JSONPart) bool {
	r := export.Record{Chat: t.chat.chat, Place: t.within + part.Place}
	if err := t.chat.record(part.Value, t.opts.Zone, &r); err != nil {
		var bad *export.Bad
		if !errors.As(err, &bad) {
			bad = &export.Bad{Reason: "no message", Err: err}
		}
		bad.Place = r.Place
		return t.yield(export.Record{}, bad)
	}
	return t.yield(r, nil)
}
