package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// gossip is a chat of two languages of some 300 messages in which the account u184023
// speaks under two names, and others name and quote it. It returns what that account
// said besides.
func gossip(t *testing.T) (lines []reverie.Message, texts []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(8, 8))
	says := []string{"我喜欢喝乌龙茶，尤其是春天的", "我每周三去健身房游泳", "I prefer dark roast coffee in the morning", "I work at a bakery on Queen Street", "我对花生过敏",
		"my sister moved to Lisbon last year", "我住在上海浦东", "we deploy every Thursday evening"}
	others := [][2]string{{"u2", "Ann"}, {"u3", "王芳"}, {"u4", "Bob"}}
	at := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	for i := range 300 {
		if at = at.Add(time.Duration(1+r.IntN(20)) * time.Minute); i%30 == 29 {
			at = at.Add(20 * time.Hour)
		}
		m := reverie.Message{ID: fmt.Sprintf("m%03d", i), Role: reverie.RoleUser, SentAt: at, Text: fmt.Sprintf("note %s, number %03d.", says[r.IntN(len(says))], i)}
		switch who := others[r.IntN(len(others))]; {
		case i%7 == 3:
			m.AuthorID, m.Author = "u184023", []string{"小明", "Mingo"}[r.IntN(2)]
			texts = append(texts, m.Text)
		case i%10 == 9:
			m.AuthorID, m.Author, m.Role, m.Text = "bot", "Reverie", reverie.RoleAssistant, fmt.Sprintf("好的，小明，第 %d 条", i)
		default:
			m.AuthorID, m.Author = who[0], who[1]
			if i%13 == 5 {
				m.Text = "> " + texts[len(texts)-1] + "\n<@u184023> " + m.Text
			} else if i%11 == 6 {
				m.Text = "小明是我的同事，" + m.Text
			}
		}
		if i%9 == 8 {
			m.ReplyTo = fmt.Sprintf("m%03d", i-3)
		}
		lines = append(lines, m)
	}
	return lines, texts
}

// bringAll imports messages from a file, and returns what the import says.
func (s *stage) bringAll(group string, lines []reverie.Message, args ...string) outcome {
	s.t.Helper()
	var text strings.Builder
	for _, m := range lines {
		line, err := json.Marshal(map[string]any{"id": m.ID, "author_id": m.AuthorID, "author": m.Author, "role": m.Role, "text": m.Text, "sent_at": m.SentAt, "reply_to": m.ReplyTo})
		if err != nil {
			s.t.Fatal(err)
		}
		text.Write(append(line, '\n'))
	}
	name := filepath.Join(s.t.TempDir(), "chat.jsonl")
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return s.run(append([]string{"import", name, "--group", group}, args...)...).want(s.t, 0)
}

// TestEraseLeavesNoTrace: after all jobs have read a chat, an author is erased; a dump of
// all tables has neither their id nor a name nor a text of theirs, everything goes on, and
// an import leaves their messages out.
func TestEraseLeavesNoTrace(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_IMPRESSION_ENABLED=true", "REVERIE_LOG_LEVEL=warn")
	s.model.Respond(scribe(t))
	lines, texts := gossip(t)
	s.bringAll("g1", lines)
	for _, args := range [][]string{{"evolve", "--group", "g1"}, {"extract", "--all", "--group", "g1"}, {"dream", "--group", "g1"},
		{"context", "--group", "g1", "--query", "小明 likes what?"}} {
		if o := s.run(args...); o.code != 0 {
			t.Fatalf("%v: %s", args, o.stderr)
		}
	}
	// Of 69 messages 43 are the author's, and 26 the bot's answers to them or about them.
	traces := append([]string{"u184023", "小明", "Mingo"}, texts...)
	for _, trace := range traces[:3] {
		if !strings.Contains(strings.Join(s.dump(), "\n"), trace) {
			t.Fatalf("the world has no %q to erase", trace)
		}
	}
	before := s.one(`select count(*), sum((stats->>'cited')::int) from runs`)

	s.run("erase", "--author", "小明").want(t, 2, "Add --yes", "--dry-run")
	s.run("erase", "--author", "小明", "--dry-run").want(t, 0).shows(t, "69 messages", "would be erased", "the names Mingo, 小明")
	s.run("erase", "--author", "小明", "--yes").want(t, 0).shows(t, "69 messages", "erased", "receipt ", "nothing of the author is left")
	dump := strings.Join(s.dump(), "\n")
	for _, trace := range traces {
		if i := strings.Index(dump, trace); i >= 0 {
			t.Errorf("the dump still holds %q: %s", trace, dump[max(0, i-200):min(len(dump), i+100)])
		}
	}
	if after := s.one(`select count(*), sum((stats->>'cited')::int) from runs`); after != before {
		t.Errorf("runs and what they counted were %s, and are %s", before, after)
	}
	s.run("erase", "--author", "u184023", "--yes").want(t, 0).shows(t, "nothing is left")
	s.bringAll("g1", lines).shows(t, "0 new, 231 known already (36 with another text now, left as they were), 69 erased before")
	for _, args := range [][]string{{"evolve", "--group", "g1"}, {"extract", "--all", "--group", "g1"}, {"maintain", "--group", "g1"}} {
		s.run(args...).want(t, 0)
	}
	if dump := strings.Join(s.dump(), "\n"); strings.Contains(dump, "小明") || strings.Contains(dump, "u184023") {
		t.Error("later runs have brought a name back")
	}
	s.bringAll("g1", lines, "--allow-erased").shows(t, "69 new, 231 known already")
	s.run("audit").want(t, 0)
}

// A name of several accounts is none, and a group that is busy is left alone.
func TestEraseRefuses(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bringAll("g1", []reverie.Message{{ID: "1", AuthorID: "u1", Author: "Lin", Text: "hello", SentAt: time.Unix(1e9, 0)},
		{ID: "2", AuthorID: "u2", Author: "Lin", Text: "hi", SentAt: time.Unix(1e9, 0)}})
	s.run("erase", "--author", "Lin", "--yes").want(t, 2, "several accounts", "u1 in g1: 1 message", "u2 in g1: 1 message")
	s.run("erase", "--author", "u1", "--group", "none", "--yes").want(t, 1, "groups list")
	s.run("erase", "--yes").want(t, 2, "--author is needed")
	s.exec(`update leases set holder = 'other:1', fence = 1, expires_at = now() + interval '1 hour' where group_id = 'g1'`)
	if o := s.run("erase", "--author", "u1", "--yes").want(t, 11, "busy"); o.stdout != "" {
		t.Errorf("of a busy group: %s", o.stdout)
	}
	if doc := s.run("erase", "--author", "u1", "--yes", "--json").want(t, 11, "busy").document(t); doc["success"] != false {
		t.Errorf("of a busy group: %v", doc)
	}
	s.bringAll("g0", []reverie.Message{{ID: "1", AuthorID: "u9", Author: "Zed", Text: "hello", SentAt: time.Unix(1e9, 0)}})
	s.bringAll("g2", []reverie.Message{{ID: "1", AuthorID: "u9", Author: "Zed", Text: "hello", SentAt: time.Unix(1e9, 0)}})
	s.exec(`update leases set holder = 'other:1', fence = 1, expires_at = now() + interval '1 hour' where group_id = 'g0'`)
	s.run("erase", "--author", "u9", "--yes").want(t, 3, "1 of 2 groups failed", "busy").shows(t, "g2: 1 message", "receipt ")
	s.exec(`update leases set expires_at = 'epoch' where group_id = 'g0'`)
	s.run("erase", "--author", "u9", "--yes").want(t, 0).shows(t, "g0: 1 message")
	file := s.one(`select pg_relation_filenode('messages')::text`)
	s.run("erase", "--author", "u9", "--yes", "--vacuum-full").want(t, 0).shows(t, "nothing is left")
	if s.one(`select pg_relation_filenode('messages')::text`) == file {
		t.Error("the sweep was not made up for")
	}
	s.exec(`update leases set expires_at = 'epoch'`)
	doc := s.run("erase", "--author", "u1", "--yes", "--json").want(t, 0).document(t)
	if groups := doc["groups"].([]any); len(groups) != 1 || groups[0].(map[string]any)["messages"] != 1.0 || strings.Contains(fmt.Sprint(doc), "u1") {
		t.Errorf("the receipt is %v", doc)
	}
	if got := s.one(`select counts->>'messages' from erasures where group_id = 'g1'`); got != "1" {
		t.Errorf("the stored receipt says %s messages", got)
	}
}
