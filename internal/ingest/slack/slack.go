// Package slack reads what a workspace's owner exports: lists of users and channels, and
// a folder a channel with a file a day. A channel's messages are known by their time,
// which is unique within it; ids of chats are Slack's own.
package slack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format is what the package reads.
var Format = export.Format{
	Name:  "slack",
	Title: "Slack workspace export (zip or folder), or one day's file of it",
	Knows: knows,
	Read:  read,
}

var (
	day       = text.NewPattern(`^\d{4}-\d\d-\d\d\.json$`)
	ts        = text.NewPattern(`"ts"\s*:\s*"\d{9,10}\.\d{1,6}"`)
	slackType = text.NewPattern(`"type"\s*:\s*"message"`)
	slackID   = text.NewPattern(`"id"\s*:\s*"[CGDUW][A-Z0-9]+"`)

	userLists = []string{"users.json", "org_users.json"}
	chatLists = []string{"channels.json", "groups.json", "mpims.json", "dms.json"}
)

func knows(src export.Source) int {
	if src.Files == nil {
		return knowsDay(src.Head)
	}
	roots, folders := slackFolders(src.Files)
	for _, f := range folders {
		if sure := knowsDay(export.HeadOf(src.Files, f.days[0])); sure > 0 {
			return sure
		}
	}
	for _, root := range roots { // of a workspace where nobody has said anything, or only on a later day
		for _, list := range chatLists {
			if slackID.Match(export.HeadOf(src.Files, path.Join(root, list))) {
				return 80
			}
		}
	}
	return 0
}

func knowsDay(head []byte) int {
	if bytes.HasPrefix(bytes.TrimSpace(head), []byte("[")) && ts.Match(head) && slackType.Match(head) {
		return 90
	}
	return 0
}

// slackFolder is the folder of a conversation.
type slackFolder struct {
	root, name string
	days       []string // paths, in order of date
}

// slackFolders finds the folders that lists stand in (the top, one below it where somebody
// has packed a folder, those of an organisation's workspaces) and the conversations there.
func slackFolders(files fs.FS) (roots []string, folders []slackFolder) {
	for _, pattern := range []string{"*.json", "*/*.json", "teams/*/*.json"} {
		found, _ := fs.Glob(files, pattern) // the pattern is sound; what cannot be read is not there
		for _, name := range found {
			dir, base := path.Split(name)
			if root := path.Clean(dir); !day.MatchString(base) && slackList(base) &&
				(len(roots) == 0 || roots[len(roots)-1] != root) {
				roots = append(roots, root)
			}
		}
	}
	within := roots
	if len(within) == 0 { // the folders without the lists, or one of them alone
		within = []string{"."}
		if days := slackDays(files, "."); len(days) > 0 {
			return nil, []slackFolder{{root: ".", name: ".", days: days}}
		}
	}
	for _, root := range within {
		entries, _ := fs.ReadDir(files, root)
		for _, e := range entries {
			if !e.IsDir() || strings.HasPrefix(e.Name(), "__") {
				continue
			}
			if days := slackDays(files, path.Join(root, e.Name())); len(days) > 0 {
				folders = append(folders, slackFolder{root: root, name: e.Name(), days: days})
			}
		}
	}
	return roots, folders
}

func slackList(base string) bool {
	for _, list := range append(userLists, chatLists...) {
		if base == list {
			return true
		}
	}
	return false
}

func slackDays(files fs.FS, dir string) (days []string) {
	entries, _ := fs.ReadDir(files, dir)
	for _, e := range entries {
		if !e.IsDir() && day.MatchString(e.Name()) {
			days = append(days, path.Join(dir, e.Name()))
		}
	}
	return days
}

func read(ctx context.Context, src export.Source, opts export.ReadOptions) iter.Seq2[export.Record, error] {
	return func(yield func(export.Record, error) bool) {
		s := reader{names: slackNames{users: map[string]slackUser{}, channels: map[string]string{}}}
		if src.Files == nil {
			chat := export.Chat{ID: channelOf(filepath.ToSlash(src.Name))}
			chat.Name = chat.ID
			if opts.Wants(chat) {
				s.day(chat, export.JSONParts(src.Reader, "[]"), yield)
			}
			return
		}
		roots, folders := slackFolders(src.Files)
		chats := map[string]export.Chat{}
		for _, root := range roots {
			if err := s.lists(src.Files, root, chats); err != nil {
				yield(export.Record{}, err)
				return
			}
		}
		for _, f := range folders {
			chat, listed := chats[path.Join(f.root, f.name)]
			if f.name == "." {
				f.name = path.Base(filepath.ToSlash(src.Name))
			}
			if !listed {
				chat = export.Chat{ID: f.name, Name: f.name}
			}
			if !opts.Wants(chat) {
				continue
			}
			for _, name := range f.days {
				if !s.day(chat, export.FileParts(ctx, src.Files, name, "[]"), yield) {
					return
				}
			}
		}
	}
}

// channelOf is the channel that a day's file by itself is of: it does not say so, but
// the folder that it lies in does.
func channelOf(name string) string {
	if dir := path.Base(path.Dir(name)); dir != "." && dir != "/" && dir != ".." {
		return dir
	}
	return "channel"
}

type reader struct{ names slackNames }

// lists reads who and what the ids in one folder stand for, and adds the chats under the
// paths of their folders.
func (s *reader) lists(files fs.FS, root string, chats map[string]export.Chat) error {
	for _, list := range userLists {
		if err := export.EachPart(files, path.Join(root, list), s.user, "[]"); err != nil {
			return err
		}
	}
	for _, list := range chatLists {
		err := export.EachPart(files, path.Join(root, list), func(part export.JSONPart) {
			var c struct {
				ID      string   `json:"id"`
				Name    string   `json:"name"`
				Members []string `json:"members"`
			}
			if _ = json.Unmarshal(part.Value, &c); c.ID == "" { // what is of the wrong type is not there
				return
			}
			folder := c.Name
			if folder == "" { // a conversation of two
				folder = c.ID
				var names []string
				for _, id := range c.Members {
					names = append(names, s.names.user(id))
				}
				c.Name = cmp.Or(strings.Join(names, ", "), c.ID)
			}
			c.Name = export.Shortened(c.Name)
			s.names.channels[c.ID] = c.Name
			chats[path.Join(root, folder)] = export.Chat{ID: c.ID, Name: c.Name}
		}, "[]")
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *reader) user(part export.JSONPart) {
	var u struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		RealName string `json:"real_name"`
		IsBot    bool   `json:"is_bot"`
		Profile  struct {
			DisplayName string `json:"display_name"`
			RealName    string `json:"real_name"`
		} `json:"profile"`
	}
	_ = json.Unmarshal(part.Value, &u) // what is of the wrong type is not there
	s.names.users[u.ID] = slackUser{bot: u.IsBot, name: export.Shortened(cmp.Or(u.Profile.DisplayName, u.Profile.RealName,
		u.RealName, u.Name))}
}

// day tells the messages of one file.
func (s *reader) day(chat export.Chat, parts iter.Seq2[export.JSONPart, error],
	yield func(export.Record, error) bool) bool {
	for part, err := range parts {
		r := export.Record{Chat: chat, Place: part.Place}
		if err == nil {
			err = s.record(part.Value, &r)
		}
		if err != nil {
			r = export.Record{}
		}
		var bad *export.Bad
		if !yield(r, err) || err != nil && !errors.As(err, &bad) {
			return false
		}
	}
	return true
}

// message is one message. What is of another type than it should be, and not needed,
// does no harm.
type message struct {
	Subtype     export.Text     `json:"subtype"`
	TS          export.Text     `json:"ts"`
	ThreadTS    export.Text     `json:"thread_ts"`
	User        export.Text     `json:"user"`
	BotID       export.Text     `json:"bot_id"`
	Username    export.Text     `json:"username"`
	Text        json.RawMessage `json:"text"`
	UserProfile json.RawMessage `json:"user_profile"`
	BotProfile  json.RawMessage `json:"bot_profile"`
	File        json.RawMessage `json:"file"` // of a file that was shared before 2018
	Comment     json.RawMessage `json:"comment"`
	Attachments json.RawMessage `json:"attachments"`
	Blocks      json.RawMessage `json:"blocks"`
}

// record reads one message.
func (s *reader) record(raw json.RawMessage, r *export.Record) error {
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		return &export.Bad{Place: r.Place, Reason: "no message", Err: export.Readable(err)}
	}
	at, err := export.UnixTime(string(m.TS))
	if err != nil {
		return &export.Bad{Place: r.Place, Reason: "no time", Err: fmt.Errorf("ts: %w", err)}
	}
	r.Message = reverie.Message{ID: string(m.TS), Role: reverie.RoleUser, SentAt: at, SessionID: string(m.ThreadTS)}
	if m.ThreadTS != m.TS {
		r.Message.ReplyTo = string(m.ThreadTS)
	}
	s.author(m, r)
	r.Message.Text, r.Event = s.said(m, r)
	return nil
}

// author says who wrote a message. A profile that comes with it names those who are not in
// the list of users: guests from other workspaces, and who has left.
func (s *reader) author(m message, r *export.Record) {
	var profile struct {
		DisplayName string `json:"display_name"`
		RealName    string `json:"real_name"`
		Name        string `json:"name"`
	}
	_ = json.Unmarshal(m.UserProfile, &profile) // of another type it names nobody
	_ = json.Unmarshal(m.BotProfile, &profile)
	var of struct {
		User string `json:"user"`
	}
	_ = json.Unmarshal(m.File, &of)
	_ = json.Unmarshal(m.Comment, &of)

	named := export.Shortened(cmp.Or(profile.DisplayName, profile.RealName, profile.Name))
	id := cmp.Or(string(m.User), of.User)
	user, listed := s.names.users[id]
	if !listed && id != "" && named != "" && len(s.names.users) < export.MaxNames {
		user = slackUser{name: named, bot: m.BotID != ""}
		s.names.users[id] = user
	}
	switch {
	case id != "":
		r.Message.AuthorID, r.Message.Author = id, s.names.user(id)
		r.Bot = user.bot || id == "USLACKBOT" || !listed && m.BotID != ""
	default:
		r.Message.Author = cmp.Or(string(m.Username), named, string(m.BotID), "Slack")
		r.Message.AuthorID = cmp.Or(string(m.BotID), r.Message.Author)
		r.Bot = true
	}
}

// said is what a message says, and whether that is nobody's words.
func (s *reader) said(m message, r *export.Record) (said string, event bool) {
	said = s.names.read(export.PlainText(m.Text))
	known := true
	switch m.Subtype {
	case "tombstone", "message_deleted", "message_changed", "message_replied":
		return "", true
	case "file_comment":
		var c struct {
			Comment string `json:"comment"`
		}
		if json.Unmarshal(m.Comment, &c) == nil && c.Comment != "" {
			return s.names.read(c.Comment), false
		}
	case "file_share":
		if len(m.File) > 0 { // the text only says that there is a file
			var f struct {
				Comment struct {
					Comment string `json:"comment"`
				} `json:"initial_comment"`
			}
			_ = json.Unmarshal(m.File, &f) // of another type it has no comment
			return s.names.read(f.Comment.Comment), false
		}
	case "me_message":
		if said != "" {
			said = r.Message.Author + " " + said
		}
	case "", "thread_broadcast", "reply_broadcast", "bot_message", "slackbot_response":
	default:
		known = false
	}
	if r.Message.AuthorID == "Slack" || !known &&
		(slackEvent.MatchString(string(m.Subtype)) || m.User == "" || said == "") {
		return said, true
	}
	if said == "" {
		said = s.names.blocks(m.Blocks)
	}
	return export.JoinLines(said, s.names.attachments(m.Attachments, said == "")), false
}

// slackEvent fits the subtypes of what has happened to a channel, rather than been said.
var slackEvent = text.NewPattern(`^(channel|group|app_conversation|joiner_notification|reminder|sh_room|huddle|bot|pinned|unpinned|ekm|file_mention|tabbed_canvas|canvas|document)(_|$)`)
