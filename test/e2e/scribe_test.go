package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"reverie/internal/llm/llmtest"
)

// question is the user part of a prompt, as a model reads it.
type question struct {
	WindowUntil string `json:"window_until"`
	Memories    []struct {
		ID        string `json:"id"`
		Statement string `json:"statement"`
		Version   int    `json:"version"`
	} `json:"existing_memories"`
	Earlier  []questionMessage `json:"earlier_discussions"`
	Messages []questionMessage `json:"new_discussions"`

	// What a question asks that compares a fact with memories.
	Fact *struct {
		Statement string `json:"statement"`
	} `json:"fact"`
	Candidates []struct {
		ID        string `json:"id"`
		Statement string `json:"statement"`
	} `json:"candidates"`

	// What a question asks that observes people.
	Subjects []struct {
		Name string `json:"name"`
	} `json:"subjects"`
	Said []questionMessage `json:"messages"`

	// What a question asks that extracts a session, or folds older turns of one.
	Summary string `json:"session_summary"`
	Known   []struct {
		ID        string `json:"id"`
		Statement string `json:"statement"`
	} `json:"known_facts"`
	Turns   []questionMessage `json:"session_turns"`
	Rolling string            `json:"rolling_summary"`
	Older   []questionMessage `json:"older_turns"`

	// What a question asks that dreams.
	LastDream  *string           `json:"last_dream"`
	DreamItems []itemLine        `json:"dream_items"`
	Sessions   []questionSession `json:"dream_sessions"`
}

// questionSession is what a question shows of a session that it dreams of.
type questionSession struct {
	ID    string `json:"id"`
	Facts []struct {
		ID        string `json:"id"`
		Statement string `json:"statement"`
	} `json:"facts"`
}

// itemLine is an item of a dream as a question shows it, and
// as an answer has it.
type itemLine struct {
	ID         string  `json:"id,omitempty"`
	Type       string  `json:"type"`
	Content    string  `json:"content"`
	Sources    any     `json:"sources,omitempty"` // of an answer handles, of a question their number
	Confidence float64 `json:"confidence"`
	Replace    string  `json:"replace,omitempty"`
	Done       bool    `json:"done,omitempty"`
}

// observes tells whether a question is about people.
func (q question) observes() bool { return q.Subjects != nil }

type questionMessage struct {
	ID     int    `json:"id"`
	Time   string `json:"time"`
	Author string `json:"author"`
	Role   string `json:"role"`
	Text   string `json:"text"`
}

func readQuestion(t testing.TB, r llmtest.Request) question {
	var q question
	at := strings.IndexByte(r.User, '{')
	if at < 0 {
		t.Errorf("the user part holds no JSON object: %s", r.User)
		return q
	}
	if err := json.Unmarshal([]byte(r.User[at:]), &q); err != nil {
		t.Errorf("the user part is no JSON object: %v\n%s", err, r.User)
	}
	return q
}

// action is a line of an answer.
type action struct {
	Action    string     `json:"action"`
	OldID     string     `json:"old_id,omitempty"`
	Statement string     `json:"statement,omitempty"`
	Reason    string     `json:"change_reason,omitempty"`
	Tags      []string   `json:"tags,omitempty"`
	Evidence  []citation `json:"evidence,omitempty"`
}

type citation struct {
	Message int    `json:"message"`
	Quote   string `json:"quote,omitempty"`
}

func (a action) String() string {
	raw, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return string(raw)
}

// scribe is a model that does what the chat says, word for word, so that a test
// writes the plan into the chat and the same question has the same answer:
//
//	note STATEMENT          creates it
//	note STATEMENT | REST   likewise, and quotes the rest too
//	change OLD => NEW       updates the memory that says OLD
//	drop STATEMENT          deletes it, quoting the message
//	forget STATEMENT        deletes it without a quote
//	again STATEMENT         keeps it, with the message as evidence
//
// Where it is shown none of the memories that are spoken of, and nothing is new, it says that there is nothing to do.
//
// Asked to compare, it calls two statements of the same words duplicates, and all
// others strangers. Asked to observe, it believes:
//
//	self KEY VALUE          the author's KEY is VALUE
//	about NAME KEY VALUE    somebody else's is
//
// Asked to extract a session, it takes what users note and change for facts, and its
// summary tells what they have said, one after the other; so does that of older turns.
//
// Asked to dream, it takes facts for preferences, or for open threads where somebody
// "still has to" do something. A fact that ends in (before: ITEM) rewrites the item that
// says so, one that ends in (done: ITEM) closes it.
func scribe(t testing.TB) func(llmtest.Request) llmtest.Answer {
	return func(r llmtest.Request) llmtest.Answer {
		return llmtest.Text(strings.TrimLeft(batchNonce.FindString(r.System)+"\n"+transcribe(t, r), "\n"))
	}
}

func transcribe(t testing.TB, r llmtest.Request) string {
	q := readQuestion(t, r)
	switch {
	case q.Fact != nil:
		return compareWords(q)
	case q.observes():
		return q.observations()
	case q.Turns != nil:
		return q.extracted()
	case q.LastDream != nil:
		return q.dreamt(t)
	case q.Older != nil:
		return fmt.Sprintf(`{"summary":%q}`, recount(q.Rolling, q.Older))
	}
	handles := map[string]string{}
	for _, m := range q.Memories {
		handles[m.Statement] = m.ID
	}
	lines, stands := []string{}, false
	handle := func(statement string) string {
		stands = stands || handles[statement] != ""
		return handles[statement]
	}
	for _, m := range q.Messages {
		word, rest, _ := strings.Cut(m.Text, " ")
		quoted := []citation{{m.ID, rest}}
		reason := fmt.Sprintf("%s said so", m.Author)
		switch word {
		case "note":
			stands = true
			statement, _, _ := strings.Cut(rest, " | ")
			lines = append(lines, action{Action: "create", Statement: statement, Reason: reason, Evidence: quoted}.String())
		case "change":
			from, to, _ := strings.Cut(rest, " => ")
			lines = append(lines, action{Action: "update", OldID: handle(from), Statement: to, Reason: reason, Evidence: quoted}.String())
		case "drop":
			lines = append(lines, action{Action: "delete", OldID: handle(rest), Reason: reason, Evidence: quoted}.String())
		case "forget":
			lines = append(lines, action{Action: "delete", OldID: handle(rest), Reason: reason, Evidence: []citation{{Message: m.ID}}}.String())
		case "again":
			lines = append(lines, action{Action: "keep", OldID: handle(rest), Evidence: quoted}.String())
		}
	}
	if !stands {
		return `{"action":"none"}`
	}
	return strings.Join(lines, "\n")
}

// compareWords answers a question that compares.
func compareWords(q question) string {
	words := func(s string) string {
		list := strings.Fields(strings.ToLower(s))
		slices.Sort(list)
		return strings.Join(list, " ")
	}
	var lines []string
	for _, c := range q.Candidates {
		relation := "unrelated"
		if words(c.Statement) == words(q.Fact.Statement) {
			relation = "duplicate"
		}
		lines = append(lines, fmt.Sprintf(`{"id":%q,"reason":"by their words","relation":%q}`, c.ID, relation))
	}
	return strings.Join(lines, "\n")
}

func (q question) hasSubject(name string) bool {
	for _, s := range q.Subjects {
		if s.Name == name {
			return true
		}
	}
	return false
}

// observations answers a question that observes. What an author says who is no
// subject of it is observed elsewhere.
func (q question) observations() string {
	var lines []string
	for _, m := range q.Said {
		words := strings.Fields(m.Text)
		subject := m.Author
		switch {
		case len(words) == 3 && words[0] == "self" && q.hasSubject(m.Author):
			words = words[1:]
		case len(words) == 4 && words[0] == "about":
			subject, words = words[1], words[2:]
		default:
			continue
		}
		lines = append(lines, fmt.Sprintf(`{"subject":%q,"kind":"person","reason":"%s said so","confidence":0.9,`+
			`"evidence":[{"message":%d,"quote":%q}],"features":[{"key":%q,"value":%q}]}`, subject, m.Author, m.ID, m.Text, words[0], words[1]))
	}
	if len(lines) == 0 {
		return `{"none":true}`
	}
	return strings.Join(lines, "\n")
}

// extracted answers a question that extracts a session.
func (q question) extracted() string {
	handles := map[string]string{}
	for _, k := range q.Known {
		handles[k.Statement] = k.ID
	}
	var lines []string
	for _, m := range q.Turns {
		word, rest, _ := strings.Cut(m.Text, " ")
		if m.Role != "" || word != "note" && word != "change" {
			continue
		}
		from, to, changes := strings.Cut(rest, " => ")
		if !changes {
			to = rest
		}
		lines = append(lines, fmt.Sprintf(`{"content":%q,"type":"fact","tags":["told"],"confidence":0.9,"replace":%q,"evidence":[{"message":%d,"quote":%q}]}`,
			to, handles[from], m.ID, rest))
	}
	return strings.Join(append(lines, fmt.Sprintf(`{"type":"summary","content":%q}`, recount(q.Summary, q.Turns))), "\n")
}

var onItem = regexp.MustCompile(`^(.*) \((before|done): (.*)\)$`)

// dreamt answers a question that dreams.
func (q question) dreamt(t testing.TB) string {
	var items []itemLine
	for _, s := range q.Sessions {
		for _, f := range s.Facts {
			i := itemLine{Type: "preference", Content: f.Statement, Sources: []string{f.ID}, Confidence: 0.9}
			if strings.Contains(f.Statement, "still has to") {
				i.Type = "todo"
			}
			if m := onItem.FindStringSubmatch(f.Statement); m != nil {
				i.Content, i.Done = m[1], m[2] == "done"
				for _, d := range q.DreamItems {
					if d.Content == m[3] {
						i.Replace, i.Type = d.ID, d.Type
					}
				}
			}
			items = append(items, i)
		}
	}
	lines := []string{fmt.Sprintf(`{"type":"summary","content":"The group looked back on %d sessions."}`, len(q.Sessions))}
	for _, i := range items {
		raw, err := json.Marshal(i)
		if err != nil {
			t.Error(err)
		}
		lines = append(lines, string(raw))
	}
	return strings.Join(lines, "\n")
}

// recount is a summary and, behind it, how each of some messages of users begins.
func recount(summary string, messages []questionMessage) string {
	for _, m := range messages {
		if m.Role == "" {
			text := []rune(m.Text)
			summary += " / " + string(text[:min(24, len(text))])
		}
	}
	return cmp.Or(strings.TrimPrefix(summary, " / "), "Nobody but bots spoke.")
}
