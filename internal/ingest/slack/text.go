package slack

import (
	"encoding/json"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// slackUser is whom an id stands for.
type slackUser struct {
	name string
	bot  bool
}

// slackNames is what the ids in a workspace's texts stand for.
type slackNames struct {
	users    map[string]slackUser
	channels map[string]string
}

// user is the name of a user's id: the id itself where nobody says it.
func (n *slackNames) user(id string) string {
	if u := n.users[id]; u.name != "" {
		return u.name
	}
	if id == "USLACKBOT" {
		return "Slackbot"
	}
	return id
}

func (n *slackNames) channel(id string) string {
	if name := n.channels[id]; name != "" {
		return name
	}
	return id
}

// entities are all that Slack escapes.
var entities = strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">")

// read makes a text readable: ids become names, links addresses, entities signs.
// A bracket that opens nothing stays as it is.
func (n *slackNames) read(s string) string {
	if len(s) > reverie.MaxMessageTextLength {
		return s // it is refused
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

// reference reads what stands between brackets: <@U1>, <#C1|name>, <!here>,
// <https://example.org|label>.
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

// block is a block of a message, or an element within one. Of its kinds only
// those that hold words are read.
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

// blocks reads a list of blocks, each on a line of its own.
func (n *slackNames) blocks(raw json.RawMessage) string {
	return n.elements(raw, "\n", 0)
}

// maxBlocks is how deep blocks are read; Slack's own go four deep.
const maxBlocks = 12

func (n *slackNames) elements(raw json.RawMessage, between string, depth int) string {
	var list []json.RawMessage
	if depth > maxBlocks || json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var parts []string
	for _, one := range list {
		var b block
		if json.Unmarshal(one, &b) != nil {
			continue
		}
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

// attachment is what an app adds to a message, or a message that was shared.
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

// attachments reads what stands in a message's attachments: what was forwarded, and,
// where all is asked for, what an app says in them. The previews of links are neither.
func (n *slackNames) attachments(raw json.RawMessage, all bool) string {
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // of another type it holds no words
	var lines []string
	for _, one := range list {
		var a attachment
		if json.Unmarshal(one, &a) != nil {
			continue
		}
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

// shared is what a message says that was shared.
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
	if said := export.JoinLines(lines...); said != "" {
		return said
	}
	if said := n.blocks(a.Blocks); said != "" {
		return said
	}
	return n.read(a.Fallback)
}
