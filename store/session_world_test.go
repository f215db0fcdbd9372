package store_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pgtest"
)

// line is a message of a session, sent so many minutes after noon.
func line(id, session, role string, minute int) reverie.Message {
	return reverie.Message{ID: id, Author: "小明", Role: reverie.Role(role), Text: "words of " + id, SessionID: session,
		SentAt: noon.Add(time.Duration(minute) * time.Minute)}
}

func (w *world) bring(id string, list ...reverie.Message) {
	w.t.Helper()
	if got := must(w.ImportMessages(w.t.Context(), id, list))(w.t); got.New != len(list) {
		w.t.Fatalf("imported %+v, want %d new", got, len(list))
	}
}

// turns brings n turns of a session, and returns the ids.
func (w *world) turns(session string, from, n int) (ids []string) {
	w.t.Helper()
	var list []reverie.Message
	for i := from; i < from+n; i++ {
		list = append(list, line(fmt.Sprintf("%s-u%03d", session, i), session, "user", 2*i), line(fmt.Sprintf("%s-v%03d", session, i), session, "assistant", 2*i+1))
	}
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	w.bring(group, list...)
	return ids
}

// extraction starts a run on a session and saves its first chunk.
func (w *world) extraction(session string, ids []string) (run string) {
	w.t.Helper()
	run = must(w.StartRun(w.t.Context(), w.lease, reverie.Run{Job: reverie.JobExtract, SessionID: session, WindowSince: noon, WindowUntil: noon}))(w.t).ID
	w.part(run, 1, ids)
	return run
}

func (w *world) part(run string, no int, ids []string) {
	w.t.Helper()
	check(w.t, w.SaveChunk(w.t.Context(), w.lease, reverie.Chunk{RunID: run, No: no, MessageIDs: ids, Status: reverie.ChunkOpen}))
}

func takes(run string, no int, session string, ids []string, steps ...reverie.Step) reverie.Plan {
	return reverie.Plan{GroupID: group, RunID: run, ChunkNo: no, Kind: reverie.KindSession, SessionID: session, Used: ids, Steps: steps}
}

// ofSession makes a step one of a session, with tags.
func ofSession(st reverie.Step, session string, tags ...string) reverie.Step {
	st.SessionID, st.Tags = session, tags
	return st
}

func (w *world) session(id string) reverie.Session {
	w.t.Helper()
	return must(w.Session(w.t.Context(), group, id))(w.t)
}

// counted compares what the sessions of a group say with what the rows do.
func (w *world) counted(id string) map[string]reverie.Session {
	w.t.Helper()
	db := raw(w.t)
	defer func() { _ = db.Close() }()
	rows := must(db.Query(`select m.session_id, m.role, m.text, m.tokens, m.sent_at,
			exists (select 1 from message_uses u where u.group_id = m.group_id and u.message_id = m.message_id and u.job = 'extract' and u.run_id is null
				and u.session_id = m.session_id and u.sent_at = m.sent_at),
			exists (select 1 from message_uses u where u.group_id = m.group_id and u.message_id = m.message_id and u.job = 'summarize')
		from messages m where group_id = $1 and filter = '' order by sent_at, seq`, id))(w.t)
	defer func() { _ = rows.Close() }()
	want := map[string]reverie.Session{}
	for rows.Next() {
		var m reverie.Message
		var tokens int
		var waits, folded bool
		check(w.t, rows.Scan(&m.SessionID, &m.Role, &m.Text, &tokens, &m.SentAt, &waits, &folded))
		if m.SentAt = m.SentAt.UTC(); tokens != text.EstimateTokens(m.Text) {
			w.t.Errorf("%q has %d tokens", m.Text, tokens)
		}
		s := want[m.SessionID]
		s.ID, s.GroupID, s.New = m.SessionID, id, reverie.Tally{}
		before := want[m.SessionID]
		s.Add(m, tokens)
		one := s.New
		s.New = before.New
		if waits {
			s.New = s.New.Plus(one)
		}
		if folded {
			s.Folded = s.Folded.Plus(one)
		}
		want[m.SessionID] = s
	}
	check(w.t, rows.Err())
	list, total, err := w.ListSessions(w.t.Context(), reverie.SessionFilter{GroupID: id})
	check(w.t, err)
	got := map[string]reverie.Session{}
	for _, s := range list {
		e := want[s.ID]
		e.Cut, e.Extractions, e.ExtractedUntil = s.Cut, s.Extractions, s.ExtractedUntil
		want[s.ID], got[s.ID] = e, s
	}
	for _, sum := range pgtest.Rows(w.t, db, `select session_id, messages, turns, tokens from session_summaries where group_id = $1`, id) {
		name := sum[:strings.Index(sum, "|")]
		if f := want[name].Folded; sum != fmt.Sprintf("%s|%d|%d|%d", name, f.Messages, f.Turns, f.Tokens) {
			w.t.Errorf("of %+v the summary covers %s", f, sum)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || total != len(list) {
		w.t.Fatalf("sessions of %s, %d in all (-rows +counted):\n%s", id, total, diff)
	}
	return got
}

func sessionIDs(list []reverie.Session) (ids []string) {
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids
}

// headOf is the active memory that says this.
func (w *world) headOf(statement string) reverie.Memory {
	w.t.Helper()
	m, ok := w.active()[statement]
	if !ok {
		w.t.Fatalf("nothing says %q", statement)
	}
	return m
}

func names(heads []reverie.HeadState) (list []string) {
	for _, h := range heads {
		list = append(list, h.Statement)
	}
	return list
}
