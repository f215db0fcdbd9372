// Package slack reads the export of a workspace's owner: lists of users and channels, and one folder per channel
// with one file per day. Messages of a channel are identified by their time, which is unique in the channel; ids of
// chats are Slack's own. It also reads slackdump's files, which hold the same messages.
package slack

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Format describes Slack's export.
var Format = export.Format{
	Name:   "slack",
	Title:  "Slack workspace export (zip or folder), or one day's file of it",
	Signs:  signs,
	Folder: knows,
	Tell:   tell,
}

var (
	day     = text.NewPattern(`^\d{4}-\d\d-\d\d\.json$`)
	slackID = text.NewPattern(`"id"\s*:\s*"[CGDUW][A-Z0-9]+"`)

	directList = "dms.json"
	userLists  = []string{"users.json", "org_users.json"}
	chatLists  = []string{"channels.json", "groups.json", "mpims.json", directList}
)

// signs are those of a day's file.
var signs = []export.Sign{{Sure: 90, Paths: "[].ts [].type [].text|[].user|[].bot_id"}}

func knows(files fs.FS) int {
	roots, folders := slackFolders(files)
	for _, f := range folders {
		if sure := export.Surest(export.HeadOf(files, f.days[0]), signs...); sure > 0 {
			return sure
		}
	}
	for _, root := range roots { // the workspace may have no messages
		for _, list := range chatLists {
			if slackID.Match(export.HeadOf(files, path.Join(root, list))) {
				return 80
			}
		}
	}
	return 0
}

// slackFolder is the folder of a conversation.
type slackFolder struct {
	path string
	days []string // paths, in order of date
}

// slackFolders finds the folders with lists, and the conversations in them. Lists are at the top, one level deeper
// if somebody packed a folder, or in the workspaces of an organisation. Without lists, conversations are searched
// everywhere.
func slackFolders(files fs.FS) (roots []string, folders []slackFolder) {
	all, _ := export.FileNames(files) // an unreadable folder counts as empty
	for _, name := range all {
		dir, base := path.Dir(name), path.Base(name)
		last := len(folders) - 1
		switch {
		case strings.HasPrefix(name, "__") || strings.Contains(name, "/__"):
		case slices.Contains(userLists, base) || slices.Contains(chatLists, base):
			roots = append(roots, dir)
		case !day.MatchString(base):
		case last >= 0 && folders[last].path == dir:
			folders[last].days = append(folders[last].days, name)
		default:
			folders = append(folders, slackFolder{dir, []string{name}})
		}
	}
	roots = slices.Compact(slices.Sorted(slices.Values(roots)))
	if len(roots) > 0 {
		folders = slices.DeleteFunc(folders, func(f slackFolder) bool { return !slices.Contains(roots, path.Dir(f.path)) })
	}
	return roots, folders
}

func tell(t *export.Teller, src export.Source) error {
	s := newReader(t)
	if src.Files == nil {
		chat := export.Chat{ID: channelOf(filepath.ToSlash(src.Name))}
		chat.Name = chat.ID
		return s.day(chat, export.JSONParts(src.Reader, "[]"))
	}
	roots, folders := slackFolders(src.Files)
	chats := map[string]export.Chat{}
	for _, root := range roots {
		if err := s.lists(src.Files, root, chats); err != nil {
			return err
		}
	}
	for _, f := range folders {
		chat, listed := chats[f.path]
		if name := path.Base(path.Join(filepath.ToSlash(src.Name), f.path)); !listed {
			chat = export.Chat{ID: name, Name: name}
		}
		for _, name := range f.days {
			if err := t.Messages(src.Files, name, "[]", func(parts export.Parts) error { return s.day(chat, parts) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// channelOf returns the channel of a single day's file: only its folder names it.
func channelOf(name string) string {
	if dir := path.Base(path.Dir(name)); dir != "." && dir != "/" && dir != ".." {
		return dir
	}
	return "channel"
}

type reader struct {
	*export.Teller
	names slackNames
}

func newReader(t *export.Teller) *reader {
	return &reader{Teller: t, names: slackNames{users: map[string]slackUser{}, channels: map[string]string{}}}
}

// lists reads the names for the ids in one folder, and adds the chats under the paths of their folders.
func (s *reader) lists(files fs.FS, root string, chats map[string]export.Chat) error {
	for _, list := range userLists {
		if err := export.EachPart(files, path.Join(root, list), s.user, "[]"); err != nil {
			return err
		}
	}
	for _, list := range chatLists {
		err := export.EachPart(files, path.Join(root, list), func(part export.Part) {
			if c, folder := s.chat(part); c.ID != "" {
				c.Private = c.Private || list == directList
				chats[path.Join(root, folder)] = c
			}
		}, "[]")
		if err != nil {
			return err
		}
	}
	return nil
}

// chat reads a conversation, and the name of its folder. A conversation without a name is between two people.
func (s *reader) chat(part export.Part) (chat export.Chat, folder string) {
	c := export.As[struct {
		ID      string   `json:"id"`
		Name    string   `json:"name"`
		Members []string `json:"members"`
		User    string   `json:"user"` // the other person
		Direct  bool     `json:"is_im"`
	}](part.Value)
	if folder = c.Name; folder == "" {
		folder = c.ID
		if len(c.Members) == 0 && c.User != "" {
			c.Members = []string{c.User}
		}
		var names []string
		for _, id := range c.Members {
			names = append(names, s.names.user(id))
		}
		c.Name = cmp.Or(strings.Join(names, ", "), c.ID)
	}
	c.Name = export.Shortened(c.Name)
	s.names.channels[c.ID] = c.Name
	return export.Chat{ID: c.ID, Name: c.Name, Private: c.Direct}, folder
}

func (s *reader) user(part export.Part) {
	u := export.As[struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		RealName string `json:"real_name"`
		IsBot    bool   `json:"is_bot"`
		Profile  struct {
			DisplayName string `json:"display_name"`
			RealName    string `json:"real_name"`
		} `json:"profile"`
	}](part.Value)
	s.names.users[u.ID] = slackUser{bot: u.IsBot, name: export.Shortened(cmp.Or(u.Profile.DisplayName, u.Profile.RealName,
		u.RealName, u.Name))}
}

// day passes on the messages of one file.
func (s *reader) day(chat export.Chat, parts export.Parts) error {
	if !s.Wants(chat) {
		return nil
	}
	return s.Each(parts, func(part export.Part) error { return s.record(chat, part) })
}

// message is one message. Unneeded fields of an unexpected type are ignored.
type message struct {
	Subtype     export.Text     `json:"subtype"`
	TS          export.Text     `json:"ts"`
	Edited      export.Mark     `json:"edited"`
	ThreadTS    export.Text     `json:"thread_ts"`
	User        export.Text     `json:"user"`
	BotID       export.Text     `json:"bot_id"`
	Username    export.Text     `json:"username"`
	Text        json.RawMessage `json:"text"`
	UserProfile json.RawMessage `json:"user_profile"`
	BotProfile  json.RawMessage `json:"bot_profile"`
	Hidden      export.Mark     `json:"is_hidden_by_limit"` // set on a message that the plan hides
	Attachments json.RawMessage `json:"attachments"`
	Blocks      json.RawMessage `json:"blocks"`
	Reactions   json.RawMessage `json:"reactions"`
}

var reactions = export.Reactions{Emoji: "name", Count: "count", By: "users", Omitted: true}

// record reads one message.
func (s *reader) record(chat export.Chat, part export.Part) error {
	var m message
	if err := part.Decode(&m, "no message"); err != nil {
		return err
	}
	if m.Hidden != "" {
		return nil
	}
	at, err := export.Time(string(m.TS), s.Zone)
	if err != nil {
		return err
	}
	r := export.Record{Chat: chat, Place: part.Place, Edited: m.Edited != "", Reactions: reactions.Of(m.Reactions, nil)}
	r.Message = reverie.Message{ID: string(m.TS), SentAt: at, EditedAt: m.Edited.When(s.Zone), SessionID: string(m.ThreadTS)}
	if m.ThreadTS != m.TS {
		r.Message.ReplyTo = string(m.ThreadTS)
	}
	s.author(m, &r)
	r.Message.Text, r.Event = s.said(m, &r)
	r.Gone = m.Subtype == "tombstone" || m.Subtype == "message_deleted"
	return s.Tell(r)
}

// author sets who wrote a message. The profile in a message names people missing in the list of users: guests from
// other workspaces, and former members.
func (s *reader) author(m message, r *export.Record) {
	var profile struct {
		DisplayName string `json:"display_name"`
		RealName    string `json:"real_name"`
		Name        string `json:"name"`
	}
	_ = json.Unmarshal(m.UserProfile, &profile) // a profile of another type names nobody
	_ = json.Unmarshal(m.BotProfile, &profile)
	named := export.Shortened(cmp.Or(profile.DisplayName, profile.RealName, profile.Name))
	id := string(m.User)
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

// said returns the text of a message, and whether it is an event.
func (s *reader) said(m message, r *export.Record) (said string, event bool) {
	said = s.names.read(export.PlainText(m.Text))
	known := true
	switch m.Subtype {
	case "tombstone", "message_deleted", "message_changed", "message_replied":
		return "", true
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

// slackEvent matches the subtypes of events in a channel.
var slackEvent = text.NewPattern(`^(channel|group|app_conversation|joiner_notification|reminder|sh_room|huddle|bot|pinned|unpinned|ekm|file_mention|tabbed_canvas|canvas|document)(_|$)`)

// slackUser is a user's names.
type slackUser struct {
	name string
	bot  bool
}

// slackNames resolves the ids in a workspace's texts.
type slackNames struct {
	users    map[string]slackUser
	channels map[string]string
}

// user returns the name of a user, or the id if it is unknown.
func (n *slackNames) user(id string) string {
	if id == "USLACKBOT" {
		return cmp.Or(n.users[id].name, "Slackbot")
	}
	return cmp.Or(n.users[id].name, id)
}

func (n *slackNames) channel(id string) string { return cmp.Or(n.channels[id], id) }

// entities are all characters that Slack escapes.
var entities = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">")

// read makes a text readable: it replaces ids by names, links by addresses, and entities by characters. A bracket
// that opens nothing stays.
func (n *slackNames) read(s string) string {
	if len(s) > reverie.MaxMessageTextLength {
		return s // too long: it will be refused
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "<")
		out.WriteString(entities.Replace(before))
		if !found {
			return out.String()
		}
		inner, after, closed := strings.Cut(rest, ">")
		if !closed {
			out.WriteString("<" + entities.Replace(rest))
			return out.String()
		}
		out.WriteString(n.reference(inner))
		s = after
	}
}

// reference converts the text between brackets: <@U1>, <#C1|name>, <!here>, <https://example.org|label>.
func (n *slackNames) reference(s string) string {
	target, label, _ := strings.Cut(s, "|")
	target, label = entities.Replace(target), entities.Replace(label)
	switch {
	case strings.HasPrefix(target, "@"):
		if name := n.user(target[1:]); name != target[1:] || label == "" {
			return "@" + name
		}
		return "@" + strings.TrimPrefix(label, "@")
	case strings.HasPrefix(target, "#"):
		if label == "" {
			label = n.channel(target[1:])
		}
		return "#" + label
	case strings.HasPrefix(target, "!date^") && label != "":
		return label
	case strings.HasPrefix(target, "!"):
		word, _, _ := strings.Cut(target[1:], "^")
		if label != "" && word == "subteam" {
			word = strings.TrimPrefix(label, "@")
		}
		return "@" + word
	case strings.HasPrefix(target, "slack-action:"):
		return label
	}
	address := strings.TrimPrefix(strings.TrimPrefix(target, "mailto:"), "tel:")
	if label == "" || label == address ||
		strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(address, "https://"), "http://"), "/") == label {
		return address
	}
	return label + " (" + address + ")"
}

// block is a block of a message, or an element in one. Only kinds with text are read.
type block struct {
	Type      string          `json:"type"`
	Text      json.RawMessage `json:"text"` // a string, or {"type","text"}
	Elements  json.RawMessage `json:"elements"`
	Fields    json.RawMessage `json:"fields"`
	UserID    string          `json:"user_id"`
	ChannelID string          `json:"channel_id"`
	URL       string          `json:"url"`
	Name      string          `json:"name"`
	Range     string          `json:"range"`
	Fallback  string          `json:"fallback"`
}

// blocks returns the text of a list of blocks, one per line.
func (n *slackNames) blocks(raw json.RawMessage) string {
	return n.elements(raw, "\n", 0)
}

// maxBlocks is the maximum depth of blocks; Slack's own have four levels.
const maxBlocks = 12

func (n *slackNames) elements(raw json.RawMessage, between string, depth int) string {
	if depth > maxBlocks {
		return ""
	}
	var parts []string
	for _, b := range export.As[[]block](raw) {
		if s := n.block(b, depth); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, between)
}

func (n *slackNames) block(b block, depth int) string {
	switch b.Type {
	case "rich_text", "rich_text_list":
		return n.elements(b.Elements, "\n", depth+1)
	case "rich_text_section", "rich_text_quote", "rich_text_preformatted":
		return strings.TrimRight(n.elements(b.Elements, "", depth+1), "\n")
	case "text":
		return export.PlainText(b.Text)
	case "user":
		return "@" + n.user(b.UserID)
	case "channel":
		return "#" + n.channel(b.ChannelID)
	case "broadcast":
		return "@" + b.Range
	case "emoji":
		return ":" + b.Name + ":"
	case "date":
		return b.Fallback
	case "link":
		if label := export.PlainText(b.Text); label != "" && label != b.URL {
			return label + " (" + b.URL + ")"
		}
		return b.URL
	case "section", "header", "markdown", "mrkdwn", "plain_text":
		return export.JoinLines(n.read(export.PlainText(b.Text)), n.elements(b.Fields, "\n", depth+1))
	case "context":
		return n.elements(b.Elements, " ", depth+1)
	}
	return ""
}

// attachment is an app's addition to a message, or a shared message.
type attachment struct {
	IsShare    bool            `json:"is_share"`
	AuthorName string          `json:"author_name"`
	Fallback   string          `json:"fallback"`
	Pretext    string          `json:"pretext"`
	Title      string          `json:"title"`
	Text       string          `json:"text"`
	Blocks     json.RawMessage `json:"blocks"`
	Fields     []struct {
		Title string `json:"title"`
		Value string `json:"value"`
	} `json:"fields"`
	MessageBlocks []struct {
		Message struct {
			Blocks json.RawMessage `json:"blocks"`
		} `json:"message"`
	} `json:"message_blocks"`
}

// attachments returns the text of a message's attachments: shared messages and, with all, texts of apps. Link
// previews do not count.
func (n *slackNames) attachments(raw json.RawMessage, all bool) string {
	var lines []string
	for _, a := range export.As[[]attachment](raw) {
		switch {
		case a.IsShare:
			if said := n.shared(a); said != "" {
				lines = append(lines, export.Forwarded(a.AuthorName, said))
			}
		case all:
			lines = append(lines, n.attachment(a))
		}
	}
	return export.JoinLines(lines...)
}

// shared returns the text of a shared message.
func (n *slackNames) shared(a attachment) string {
	if said := strings.TrimSpace(n.read(a.Text)); said != "" {
		return said
	}
	var lines []string
	for _, b := range a.MessageBlocks {
		lines = append(lines, n.blocks(b.Message.Blocks))
	}
	return export.JoinLines(lines...)
}

func (n *slackNames) attachment(a attachment) string {
	lines := []string{n.read(a.Pretext), n.read(a.Title), n.read(a.Text)}
	for _, f := range a.Fields {
		lines = append(lines, strings.TrimPrefix(n.read(f.Title)+": "+n.read(f.Value), ": "))
	}
	return cmp.Or(export.JoinLines(lines...), n.blocks(a.Blocks), n.read(a.Fallback))
}
