package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/lib/pq"

	"reverie/internal/api"
	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/erase"
)

// chatLine is a line of a stream as clients write it.
type chatLine struct {
	ID        string             `json:"id"`
	Author    string             `json:"author,omitempty"`
	AuthorID  string             `json:"author_id,omitempty"`
	Text      *string            `json:"text,omitempty"`
	SentAt    string             `json:"sent_at,omitempty"`
	SessionID string             `json:"session_id,omitempty"`
	EditedAt  string             `json:"edited_at,omitempty"`
	DeletedAt string             `json:"deleted_at,omitempty"`
	Reactions []reverie.Reaction `json:"reactions,omitempty"`
}

func lines(list []chatLine) string {
	var b strings.Builder
	for _, l := range list {
		raw, err := json.Marshal(l)
		if err != nil {
			panic(err)
		}
		b.Write(append(raw, '\n'))
	}
	return b.String()
}

// liveChat is a chat as it ended, and all that happened on the way there.
type liveChat struct{ final, events []chatLine }

// randomChat makes one: messages, newer and older texts, deletions and reactions, each of them
// possibly told more than once.
func randomChat(r *rand.Rand) liveChat {
	at := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	var c liveChat
	for i := range 3 + r.IntN(20) {
		text := fmt.Sprintf("message %d as it was sent", i)
		m := chatLine{ID: fmt.Sprint(i), Author: "Ann", AuthorID: fmt.Sprintf("u%d", r.IntN(3)), Text: &text,
			SentAt: at.Add(time.Duration(i) * time.Minute).Format(time.RFC3339), SessionID: fmt.Sprintf("s%d", r.IntN(2))}
		c.events = append(c.events, m)
		last := m
		for n := range r.IntN(3) {
			newer := fmt.Sprintf("message %d, edit %d", i, n)
			edited := at.Add(time.Duration(100+n) * time.Minute).Format(time.RFC3339)
			e := chatLine{ID: m.ID, Text: &newer, EditedAt: edited}
			last.Text, last.EditedAt = &newer, edited
			if r.IntN(4) == 0 { // all of it again
				e = last
			}
			c.events = append(c.events, e)
		}
		for n := range r.IntN(3) {
			reaction := []reverie.Reaction{{Emoji: "👍", AuthorID: fmt.Sprintf("u%d", n), Count: 1}}
			last.Reactions = append(last.Reactions, reaction...)
			c.events = append(c.events, chatLine{ID: m.ID, Reactions: reaction})
		}
		if r.IntN(4) == 0 {
			c.events = append(c.events, chatLine{ID: m.ID, DeletedAt: at.Format(time.RFC3339)})
			continue
		}
		c.final = append(c.final, last)
	}
	for range r.IntN(10) {
		c.events = append(c.events, c.events[r.IntN(len(c.events))])
	}
	r.Shuffle(len(c.events), func(i, j int) { c.events[i], c.events[j] = c.events[j], c.events[i] })
	return c
}

// standing is what a group has: its messages, sessions and what waits.
func standing(t *testing.T, db *store.Store, group string) (all []string) {
	t.Helper()
	for _, query := range []string{
		`select concat_ws(' ', message_id, author_id, text, sent_at, session_id, edited_at, reactions, outcome, filter, tokens, reply_to) from messages where group_id = $1 order by message_id`,
		`select concat_ws(' ', session_id, first_at, last_at, messages, tokens, turns, new_messages, new_tokens, new_turns) from sessions where group_id = $1 order by 1`,
		`select concat_ws(' ', job, message_id, session_id, sent_at) from message_uses where group_id = $1 order by 1`,
		`select message_id || ' waits' from message_changes where group_id = $1 order by 1`,
	} {
		var rows pq.StringArray
		if err := db.DB().QueryRow(t.Context(), "look", &rows, `select coalesce(array_agg(x), '{}') from (`+query+`) q (x)`, group); err != nil {
			t.Fatal(err)
		}
		all = append(all, rows...)
	}
	return all
}

// TestLiveHistories: whatever the order in which messages, edits, deletions and reactions come
// in, and in however many streams, the group is as if the chat had been imported when it ended.
func TestLiveHistories(t *testing.T) {
	t.Parallel()
	service, db := mailroom(t)
	ctx := api.WithCaller(t.Context(), api.Anyone)
	add := func(group string, list []chatLine) {
		got, err := service.AddMessages(ctx, group, strings.NewReader(lines(list)))
		if err != nil || !got.Success {
			t.Errorf("%s: %+v, %v", group, got, err)
		}
	}
	for seed := range uint64(30) {
		chat := randomChat(rand.New(rand.NewPCG(seed, 1)))
		once, live, twice := fmt.Sprintf("once%d", seed), fmt.Sprintf("live%d", seed), fmt.Sprintf("twice%d", seed)
		add(once, chat.final)
		for part := range slices.Chunk(chat.events, 7) {
			add(live, part)
		}
		var both sync.WaitGroup
		for _, part := range [][]chatLine{chat.events[:len(chat.events)/2], chat.events[len(chat.events)/2:]} {
			both.Go(func() { add(twice, part) })
		}
		both.Wait()
		add(twice, nil)
		want := standing(t, db, once)
		for _, group := range []string{live, twice} {
			if diff := cmp.Diff(want, standing(t, db, group), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("seed %d, %s (-want +got):\n%s\nof %s", seed, group, diff, lines(chat.events))
			}
			add(group, chat.events)
			if diff := cmp.Diff(want, standing(t, db, group), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("seed %d, %s once more (-want +got):\n%s", seed, group, diff)
			}
		}
	}
}

// TestLiveStream stores what comes in while the body goes on, and keeps it where it breaks off.
func TestLiveStream(t *testing.T) {
	t.Parallel()
	service, db := mailroom(t)
	body, client := io.Pipe()
	done := make(chan reverie.MessagesAdded)
	go func() {
		got, err := service.AddMessages(api.WithCaller(t.Context(), api.Anyone), "g1", body)
		if err != nil {
			t.Error(err)
		}
		done <- got
	}()
	write := func(text string) {
		if _, err := io.WriteString(client, text); err != nil {
			t.Error(err)
		}
	}
	until := func(query string) {
		for n := 0; n == 0; {
			if err := db.DB().QueryRow(t.Context(), "look", &n, `select count(*) from messages where group_id = 'g1' and `+query); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(said(1, 2))
	until(`message_id = '2'`) // and the body goes on
	write(`{"id":"1","text":"better","edited_at":"2026-01-15T20:02:00+08:00"}` + "\n")
	until(`text = 'better'`)
	write(`{"id":"2","deleted_at":"2026-01-15T20:03:00+08:00"}` + "\n" + said(3))
	until(`message_id = '3' and not exists (select 1 from messages where group_id = 'g1' and message_id = '2')`)
	write(`{"id":"3","text":"half a li`)
	_ = client.CloseWithError(io.ErrUnexpectedEOF)
	got := <-done
	if got.New != 3 || got.Edited != 1 || got.Deleted != 1 || got.BadCount != 1 || got.Bad[0].Line != 6 {
		t.Errorf("%+v", got)
	}
}

// TestLiveBadLines: a change that cannot be is told of, and keeps no other line out.
func TestLiveBadLines(t *testing.T) {
	t.Parallel()
	service, _ := mailroom(t)
	service.Now = func() time.Time { return time.Date(2026, 1, 16, 0, 0, 0, 0, time.UTC) }
	ctx := api.WithCaller(t.Context(), api.Anyone)
	bad := map[string]string{
		`{"text":"x","edited_at":"2026-01-15T20:02:00Z"}`:                                                        "id is missing",
		`{"id":"1","edited_at":"2026-01-15T20:02:00Z"}`:                                                          "it changes nothing",
		`{"id":"1","text":"x","edited_at":"yesterday"}`:                                                          "edited_at",
		`{"id":"1","text":"x","edited_at":"2026-02-15T20:02:00Z"}`:                                               "edited_at is more than a day ahead",
		`{"id":"9","author":"A","text":"x","sent_at":"2026-01-15T20:02:00Z","edited_at":"2026-02-15T20:02:00Z"}`: "edited_at is more than a day ahead",
		`{"id":"1","deleted_at":"now"}`:                                                                          "deleted_at",
		`{"id":"1","reactions":[{"emoji":"","count":1}]}`:                                                        "emoji is missing",
		`{"id":"1","reactions":[{"emoji":"👍","count":-1}]}`:                                                      "count -1",
		`{"id":"1","reactions":{}}`:                                                                              "reactions is a JSON object",
		`{"id":"1","reactions":[{"emoji":"\u0000","count":1}]}`:                                                  "NUL",
		`{"id":"1","text":"x"}`:                                                                                  "sent_at is missing",
		`{"group":"g2","id":"1","deleted_at":"2026-01-15T20:02:00Z"}`:                                            "a group other than",
		`{"id":"` + strings.Repeat("9", 600) + `","deleted_at":"2026-01-15T20:02:00Z"}`:                          "id is longer",
	}
	for _, line := range slices.Sorted(maps.Keys(bad)) {
		got, err := service.AddMessages(ctx, "g1", strings.NewReader(line+"\n"+said(1)))
		if err != nil || got.BadCount != 1 || !strings.Contains(got.Bad[0].Reason, bad[line]) || got.New+got.Known != 1 {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
	text := "x"
	late := reverie.MessageChange{ID: "1", Text: &text, EditedAt: service.Now().AddDate(0, 1, 0)}
	if _, err := service.EditMessage(ctx, "g1", late); !errors.Is(err, reverie.ErrInvalid) {
		t.Errorf("an edit of a month ahead: %v", err)
	}
}

// TestChangeOfOneThatDied: who tells again what became of a message has it done, also where whoever took it first died
// before that.
func TestChangeOfOneThatDied(t *testing.T) {
	t.Parallel()
	service, db := mailroom(t)
	ctx := api.WithCaller(t.Context(), api.Anyone)
	text := "Ann was here"
	if _, err := service.AddMessages(ctx, "g1", strings.NewReader(lines([]chatLine{{ID: "1", Author: "Ann", Text: &text, SentAt: "2026-01-15T12:00:00Z"}}))); err != nil {
		t.Fatal(err)
	}
	if _, err := erase.New(db.DB()).NoteChanges(ctx, "g1", []reverie.MessageChange{{ID: "1", Deleted: true}}); err != nil {
		t.Fatal(err)
	}
	got, err := service.DeleteMessage(ctx, "g1", "1")
	if err != nil || got.Same != 1 || got.Waiting != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if left := standing(t, db, "g1"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
