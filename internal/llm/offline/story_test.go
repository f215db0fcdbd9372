package offline

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// story evolves the sample chat date by date in memory, as the pipeline would:
// handles m1..mN, versions, staleness counted from the end of each date.
type story struct {
	t        *testing.T
	model    *Model
	memories []*told
	counts   map[reverie.Action]int
	changed  []string // "2026-01-19 update: old -> new"
}

type told struct {
	statement string
	version   int
	supported time.Time
}

func TestSampleChatTellsAStory(t *testing.T) {
	messages := readChat(t)
	s := &story{t: t, model: New(0), counts: make(map[reverie.Action]int)}
	first := messages[0].SentAt
	day := time.Date(first.Year(), first.Month(), first.Day(), 0, 0, 0, 0, first.Location())
	for ; len(messages) > 0; day = day.AddDate(0, 0, 1) {
		next := day.AddDate(0, 0, 1)
		n := 0
		for n < len(messages) && messages[n].SentAt.Before(next) {
			n++
		}
		if n > 0 {
			s.night(next, messages[:n])
		}
		messages = messages[n:]
		if next.Day() == 6 && next.Month() == time.January && len(s.memories) < 3 {
			t.Errorf("the first date made %d memories; a plan on so few would be held", len(s.memories))
		}
	}
	t.Logf("counts %v, %d memories at the end", s.counts, len(s.memories))
	for _, a := range []reverie.Action{reverie.ActionCreate, reverie.ActionUpdate, reverie.ActionKeep, reverie.ActionDelete} {
		if s.counts[a] == 0 {
			t.Errorf("the sample chat never shows %s", a)
		}
	}
	for _, want := range []string{
		"2026-01-05 create: 每周四晚上七点半在滨江体育馆打羽毛球",
		"2026-01-19 update: 周会定在每周一晚上九点",
		"2026-01-24 update: 外拍胶卷统一用金200",
		"2026-01-30 delete: movie night",
		"delete: 每天早上在群里发早餐照片打卡",
	} {
		if !slices.ContainsFunc(s.changed, func(c string) bool { return strings.Contains(c, want) }) {
			t.Errorf("missing from the story: %q", want)
		}
	}
}

// night runs one date and applies its answer.
func (s *story) night(until time.Time, messages []reverie.Message) {
	user := map[string]any{"notice": "data", "window_until": until.Format(time.RFC3339), "new_discussions": views(messages)}
	var memories []map[string]any
	for i, m := range s.memories {
		memories = append(memories, map[string]any{"id": fmt.Sprintf("m%d", i+1), "statement": m.statement, "version": m.version,
			"stale": m.supported.Before(until.Add(-reverie.StaleAfter))})
	}
	user["existing_memories"] = memories
	lines := ask(s.t, s.model, user)
	date := until.AddDate(0, 0, -1).Format(time.DateOnly)
	var gone, changes int
	before := len(s.memories)
	for _, l := range lines {
		checkEvidence(s.t, l, messages)
		s.counts[l.Action]++
		var m *told
		if l.OldID != "" {
			var n int
			if _, err := fmt.Sscanf(l.OldID, "m%d", &n); err != nil || n < 1 || n > before {
				s.t.Fatalf("%s: unknown memory in %+v", date, l)
			}
			m = s.memories[n-1]
		}
		switch l.Action {
		case reverie.ActionKeep:
			if len(l.Evidence) > 0 {
				m.supported = until.Add(-time.Hour)
			}
			continue
		case reverie.ActionUpdate:
			s.changed = append(s.changed, fmt.Sprintf("%s update: %s -> %s", date, m.statement, l.Statement))
			m.statement, m.version, m.supported = l.Statement, m.version+1, until.Add(-time.Hour)
			changes++
		case reverie.ActionDelete:
			s.changed = append(s.changed, fmt.Sprintf("%s delete: %s (%s)", date, m.statement, l.Reason))
			m.statement = ""
			gone++
		case reverie.ActionCreate:
			s.changed = append(s.changed, fmt.Sprintf("%s create: %s %v", date, l.Statement, l.Tags))
			s.memories = append(s.memories, &told{l.Statement, 1, until.Add(-time.Hour)})
		}
		s.t.Log(s.changed[len(s.changed)-1])
	}
	if gone+changes > max(2, before/5) || before > 0 && before <= 2 && gone+changes == before {
		s.t.Errorf("%s: %d deletes and %d updates of %d memories would be held", date, gone, changes, before)
	}
	s.memories = slices.DeleteFunc(s.memories, func(m *told) bool { return m.statement == "" })
}

// ask runs the model on a user part and returns its lines.
func ask(t testing.TB, m *Model, user any) []line {
	t.Helper()
	data, err := json.Marshal(user)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := m.Generate(context.Background(), llm.Request{User: string(data)})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Finish != llm.FinishStop || resp.Usage.InputTokens == 0 || resp.Usage.OutputTokens == 0 {
		t.Fatalf("finish %q, usage %+v", resp.Finish, resp.Usage)
	}
	return readLines(t, resp.Text)
}

func readLines(t testing.TB, text string) []line {
	t.Helper()
	var lines []line
	for raw := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		var l line
		if err := json.Unmarshal([]byte(raw), &l); err != nil {
			t.Fatalf("line %q: %v", raw, err)
		}
		if l.Action != "none" {
			lines = append(lines, l)
		}
	}
	return lines
}

// checkEvidence fails unless the line keeps the rules that every line must keep.
func checkEvidence(t testing.TB, l line, messages []reverie.Message) {
	t.Helper()
	for _, e := range l.Evidence {
		m := messages[e.Message-1]
		if !strings.Contains(m.Text, e.Quote) || !text.VerifyQuote(e.Quote, m.Text) || m.Role == reverie.RoleAssistant {
			t.Errorf("quote %q is no evidence in %q by %s", e.Quote, m.Text, m.Role)
		}
	}
	if l.Action == reverie.ActionCreate || l.Action == reverie.ActionUpdate {
		if err := reverie.CheckStatement(l.Statement); err != nil || len(l.Evidence) == 0 {
			t.Errorf("%s %q with %d citations: %v", l.Action, l.Statement, len(l.Evidence), err)
		} else if said := withoutSpeaker(l.Statement); !strings.Contains(messages[l.Evidence[0].Message-1].Text, said) {
			t.Errorf("%q is not what its first witness wrote", said)
		}
	}
}

func views(messages []reverie.Message) []map[string]any {
	numbers := make(map[string]int)
	var out []map[string]any
	for i, m := range messages {
		numbers[m.ID] = i + 1
		v := map[string]any{"id": i + 1, "time": m.SentAt.Format(time.RFC3339), "author": m.Author, "text": m.Text}
		if m.Role != reverie.RoleUser {
			v["role"] = m.Role
		}
		if to := numbers[m.ReplyTo]; to > 0 {
			v["reply_to"] = to
		}
		out = append(out, v)
	}
	return out
}

func readChat(t testing.TB) []reverie.Message {
	t.Helper()
	f, err := os.Open("../../../examples/demo/chat.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []reverie.Message
	for scan := bufio.NewScanner(f); scan.Scan(); {
		var m reverie.Message
		if err := json.Unmarshal(scan.Bytes(), &m); err != nil {
			t.Fatalf("chat.jsonl:%d: %v", len(out)+1, err)
		}
		out = append(out, m)
	}
	return out
}
