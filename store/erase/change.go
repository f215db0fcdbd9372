package erase

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lib/pq"

	"reverie/internal/fault"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/pg"
)

// noted is a message as it is stored, with its pending change.
type noted struct {
	ID           string
	Stored       bool
	Pruned       bool // its text was pruned
	Erased       bool // it was erased and may not be stored again
	Waits        bool
	Was          string
	Author       string
	WasEditedAt  *time.Time                  `db:"was_edited_at"`
	WasReactions pg.JSON[[]reverie.Reaction] `db:"was_reactions"`
	Role         reverie.Role
	WasFilter    reverie.Filter `db:"was_filter"`
	Session      string

	Text      *string
	Filter    reverie.Filter
	EditedAt  *time.Time `db:"edited_at"`
	Deleted   bool
	Reactions pg.JSON[[]reverie.Reaction]
}

// change returns the pending change.
func (n noted) change() reverie.MessageChange {
	c := reverie.MessageChange{ID: n.ID, Text: n.Text, Filter: n.Filter, Deleted: n.Deleted, Reactions: n.Reactions.V}
	if n.EditedAt != nil {
		c.EditedAt = *n.EditedAt
	}
	return c
}

// news returns the part of a change that is new: neither in the message nor in its pending change.
func (n noted) news(c reverie.MessageChange) reverie.MessageChange {
	before := n.change()
	if n.Pruned || !newer(c.EditedAt, n.WasEditedAt) || !newer(c.EditedAt, n.EditedAt) {
		c.Text = nil
	}
	c.Deleted = c.Deleted && !n.Deleted
	have := reverie.MergeReactions(n.WasReactions.V, before.Reactions)
	if n.Stored {
		have = reverie.Reacted(have)
	}
	after := reverie.MergeReactions(have, c.Reactions)
	if n.Stored {
		after = reverie.Reacted(after)
	}
	if slices.Equal(have, after) {
		c.Reactions = nil
	}
	return c
}

// NoteChanges stores changes of a group's messages and counts them. The messages need not be stored yet.
// [Eraser.ApplyChanges] applies the changes later. A change that is known already, or that is of an erased message, has
// no effect. An unknown group is reverie.ErrNotFound. If a change is invalid, the error is reverie.ErrInvalid, and none
// is stored.
func (s *Eraser) NoteChanges(ctx context.Context, groupID string, changes []reverie.MessageChange) (res reverie.ChangeResult,
	err error) {
	var ids pq.StringArray
	for i, c := range changes {
		if err := c.Normalize(); err != nil {
			return res, fmt.Errorf("change %d of the batch (id %q): %w", i+1, c.ID, err)
		}
		changes[i] = c
		ids = append(ids, c.ID)
	}
	err = s.db.Run(ctx, pg.Work{
		What:  fmt.Sprintf("note %d changes of messages of group %q", len(changes), groupID),
		ByKey: true,
		Do: func(ctx context.Context, t *pg.Tx) error {
			if _, err := store.LockGroup(ctx, t, groupID); err != nil { // no message can be added meanwhile
				return err
			}
			rows, err := ask[noted](ctx, t, "changes_of", values{"group": groupID, "messages": distinct(ids)})
			if err != nil {
				return err
			}
			res, err = s.note(ctx, t, groupID, rows, changes)
			return err
		},
	})
	return res, err
}

const noteQuery = `insert into message_changes as c (group_id, message_id, text, edited_at, filter, deleted, reactions,
		created_at)
	select $1, u.id, u.text, u.edited_at, u.filter, u.deleted, u.reactions, $2::timestamptz
	from unnest($3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::bool[], $8::jsonb[])
		as u (id, text, edited_at, filter, deleted, reactions)
	on conflict (group_id, message_id) do update set text = excluded.text, edited_at = excluded.edited_at,
		filter = excluded.filter, deleted = excluded.deleted, reactions = excluded.reactions`

func (s *Eraser) note(ctx context.Context, t *pg.Tx, groupID string, rows []noted,
	changes []reverie.MessageChange) (res reverie.ChangeResult, err error) {
	state := map[string]*noted{}
	for i, r := range rows {
		state[r.ID] = &rows[i]
	}
	touched := map[string]bool{}
	for _, c := range changes {
		n := state[c.ID]
		news := n.news(c)
		switch {
		case n.Erased, c.By != "" && c.By != n.Author, news.Nothing():
			res.Same++
			continue
		case news.Deleted:
			res.Deleted++
		case news.Text != nil:
			res.Edited++
		default:
			res.Reacted++
		}
		c = n.change().Merge(news)
		n.Text, n.Filter, n.Deleted, n.Reactions.V = c.Text, c.Filter, c.Deleted, c.Reactions
		if c.Text != nil {
			n.EditedAt = &c.EditedAt
		}
		if touched[c.ID] = true; !n.Stored && !n.Deleted {
			res.Waiting++
		}
	}
	var waiting pg.Columns
	for _, r := range rows {
		if touched[r.ID] {
			waiting.Add(r.ID, r.Text, r.EditedAt, r.Filter, r.Deleted, pg.JSON[[]reverie.Reaction]{V: orNone(r.Reactions.V)})
		}
	}
	err = waiting.Exec(ctx, t, noteQuery, groupID, s.db.Now())
	return res, err
}

func orNone(list []reverie.Reaction) []reverie.Reaction { return append([]reverie.Reaction{}, list...) }

// keepChanges is how long a change is stored for a message that has not arrived.
const keepChanges = 30 * 24 * time.Hour

const (
	dueWhere = `from message_changes c where c.group_id = $1 and (c.deleted or exists (select 1 from messages m
		where m.group_id = $1 and m.message_id = c.message_id)`
	dueOfQuery    = `select count(*) ` + dueWhere + `) and c.message_id = any ($2::text[])`
	dueQuery      = `select count(*) ` + dueWhere + ` or c.created_at < $2::timestamptz)`
	expiredChange = `delete from message_changes c where c.group_id = $1 and c.created_at < $2::timestamptz and not c.deleted
		and not exists (select 1 from messages m where m.group_id = $1 and m.message_id = c.message_id)`
)

// WaitingChanges counts the pending changes of a group that can be applied, because the message is stored or must be
// deleted. It counts all of them, or those of the given messages.
func (s *Eraser) WaitingChanges(ctx context.Context, groupID string, of ...string) (n int, err error) {
	what := fmt.Sprintf("count what waits of the messages of group %q", groupID)
	if len(of) > 0 {
		err = s.db.QueryRow(ctx, what, &n, dueOfQuery, groupID, pq.StringArray(of))
		return n, err
	}
	err = s.db.QueryRow(ctx, what, &n, dueQuery, groupID, s.db.Now().Add(-keepChanges))
	return n, err
}

// ApplyChanges applies the pending changes to a group's stored messages. It holds the group's lease, so that no run
// reads a message while it changes. A lost lease is reverie.ErrLeaseLost.
//
// A newer text replaces the older one, and the message is pending again. Quotes that are not in the new text are
// withdrawn as evidence. A memory without other evidence is held until it is judged again. Other memories that cited a
// withdrawn quote are judged again, too.
//
// A deleted message is erased like the messages of an erased author (see [Eraser.Erase]): with copies of its text in
// everything derived from it, and with everything that depends on it alone. The same words in messages of others stay.
func (s *Eraser) ApplyChanges(ctx context.Context, lease reverie.Lease) error {
	for more := true; more; {
		if err := s.db.Run(ctx, pg.Work{
			What: fmt.Sprintf("change messages of group %q", lease.GroupID),
			Do: func(ctx context.Context, t *pg.Tx) (err error) {
				if err := store.Fence(ctx, t, lease); err != nil {
					return err
				}
				if _, err := store.LockGroup(ctx, t, lease.GroupID); err != nil {
					return err
				}
				more, err = s.settle(ctx, t, lease.GroupID)
				return err
			},
		}); err != nil {
			return err
		}
	}
	return nil
}

// settle applies some of the pending changes, and reports whether there may be more.
func (s *Eraser) settle(ctx context.Context, t *pg.Tx, groupID string) (more bool, err error) {
	if err := t.Exec(ctx, expiredChange, groupID, s.db.Now().Add(-keepChanges)); err != nil {
		return false, err
	}
	rows, err := ask[noted](ctx, t, "due_changes", values{"group": groupID})
	if err != nil || len(rows) == 0 {
		return false, err
	}
	at, err := store.NextTimestamp(ctx, s.db, t, groupID)
	if err != nil {
		return false, err
	}
	gone, edits := []string{}, []noted{}
	for _, r := range rows {
		if r.Deleted {
			gone = append(gone, r.ID)
		} else {
			edits = append(edits, r)
		}
	}
	begin := func() *eraser {
		return newEraser(s.db, t, reverie.EraseQuery{GroupID: groupID}, reverie.NewID(), at)
	}
	if len(gone) > 0 {
		if err := begin().forgetMessages(ctx, gone); err != nil {
			return false, err
		}
	}
	if len(edits) > 0 {
		if err := begin().edit(ctx, edits); err != nil {
			return false, err
		}
	}
	return true, nil
}

// forgetMessages erases single messages. If no run has read any of them, nothing can have been derived from them.
func (e *eraser) forgetMessages(ctx context.Context, gone []string) (err error) {
	e.values["messages"] = pq.StringArray(gone)
	if e.only, err = ask[onlyMessage](ctx, e.t, "only_messages", e.values); err != nil {
		return err
	}
	var sessions, messages pq.StringArray
	var texts []string
	read := false
	for _, r := range e.only {
		read, messages = read || r.Read, append(messages, r.ID)
		if texts = append(texts, r.Text); r.Session != "" {
			sessions = append(sessions, r.Session)
		}
	}
	e.values["messages"] = messages
	steps := e.steps()
	if !read {
		e.values["texts"] = pq.StringArray(texts)
		steps = e.phases("asked", "messages")
	}
	steps = append(steps, func(context.Context) error { e.recount(sessions); return nil })
	if read {
		steps = append(steps, e.again, e.dropAliases, e.redact, e.forgetTeams)
	}
	steps = append(append(steps, e.phases("sessions")...), e.receipt, e.countReceipt)
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

type onlyMessage struct {
	ID, Text, Session string
	Read              bool
}

// findTextsOfMessages collects what to search for when single messages are erased: their texts, except those that other
// messages have, too.
func (e *eraser) findTextsOfMessages(ctx context.Context) error {
	var texts []string
	var read pq.StringArray
	for _, r := range e.only {
		e.erased[r.ID] = true
		if texts = append(texts, r.Text); r.Session != "" && r.Read {
			read = append(read, r.Session)
		}
	}
	e.values["sessions"], e.values["name_keys"] = distinct(read), pq.StringArray{}
	e.traces = text.NewTraces("", nil, texts, nil, func(string) bool { return false })
	e.traces.Quoted = true
	return e.readOthers(ctx)
}

// newer reports whether the pending text is newer than the stored one.
func (n noted) newer() bool {
	return n.Text != nil && !n.Pruned && newer(*n.EditedAt, n.WasEditedAt)
}

// newer reports whether a text of time at replaces one of time than; nil means no text, or the original one.
func newer(at time.Time, than *time.Time) bool {
	return than == nil || at.After(*than) || fault.Off(fault.Newer)
}

// next returns the text and the filter of an edited message, and whether they change.
func (n noted) next() (text string, filter reverie.Filter, edited bool) {
	if !n.newer() {
		return n.Was, n.WasFilter, false
	}
	filter = n.WasFilter
	switch {
	case filter == reverie.FilterEvent || filter == reverie.FilterBot || n.Role != reverie.RoleUser:
	case n.Filter == reverie.FilterCommand:
		filter = reverie.FilterCommand
	case filter == reverie.FilterCommand || filter == reverie.FilterEmpty && strings.TrimSpace(*n.Text) != "":
		filter = reverie.FilterNone
	}
	return *n.Text, filter, *n.Text != n.Was || filter != n.WasFilter
}

const editQuery = `update messages m set text = u.text, edited_at = u.edited_at, filter = u.filter,
		reactions = u.reactions, tokens = case when u.again then u.tokens else m.tokens end,
		session_id = case when u.filter = '' then m.session_id else '' end,
		run_id = case when u.again then null else m.run_id end,
		outcome = case when u.filter <> '' then 'filtered' when u.again then null else m.outcome end
	from unnest($2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::jsonb[], $7::int[], $8::bool[])
		as u (id, text, edited_at, filter, reactions, tokens, again)
	where m.group_id = $1 and m.message_id = u.id`

// edit applies newer texts and reactions to messages.
func (e *eraser) edit(ctx context.Context, rows []noted) error {
	var ids, messages, mute, sessions pq.StringArray
	var changed pg.Columns
	e.edited = map[string]string{}
	for _, r := range rows {
		ids = append(ids, r.ID)
		now, filter, edited := r.next()
		at, tokens := r.WasEditedAt, 0
		if r.newer() {
			at = r.EditedAt
		}
		if filter == reverie.FilterNone {
			tokens = text.EstimateTokens(now)
		}
		reactions := reverie.Reacted(reverie.MergeReactions(r.WasReactions.V, r.Reactions.V))
		changed.Add(r.ID, now, at, filter, pg.JSON[[]reverie.Reaction]{V: orNone(reactions)}, tokens, edited)
		switch {
		case !edited:
			continue
		case filter == reverie.FilterNone:
			messages = append(messages, r.ID)
		default:
			mute = append(mute, r.ID)
		}
		e.edited[r.ID] = now
		if r.Session != "" {
			sessions = append(sessions, r.Session)
		}
	}
	if len(e.edited) > 0 {
		if err := e.withdraw(ctx); err != nil {
			return err
		}
	}
	if err := changed.Exec(ctx, e.t, editQuery, e.group()); err != nil {
		return err
	}
	if len(e.edited) > 0 {
		e.values["messages"], e.values["mute"], e.values["sessions"] = messages, mute, distinct(sessions)
		for _, phase := range e.phases("reread", "sessions") {
			if err := phase(ctx); err != nil {
				return err
			}
		}
	}
	err := e.t.Exec(ctx, `delete from message_changes where group_id = $1 and message_id = any ($2::text[])`, e.group(), ids)
	return err
}

// withdraw removes what edited messages no longer say from the evidence and from held plans.
func (e *eraser) withdraw(ctx context.Context) error {
	e.values["messages"] = keysOfTexts(e.edited)
	rows, err := ask[struct {
		ID, Message, Quote string
		Memory             bool
	}](ctx, e.t, "quotes_of", e.values)
	if err != nil {
		return err
	}
	var quotes, claims pq.StringArray
	for _, r := range rows {
		switch {
		case !e.cites(reverie.Evidence{MessageID: r.Message, Quote: r.Quote}):
		case r.Memory:
			quotes = append(quotes, r.ID)
		default:
			claims = append(claims, r.ID)
		}
	}
	e.values["quotes"], e.values["claim_quotes"] = quotes, claims
	e.values["messages"] = pq.StringArray{} // keep decisions on other lines of the plan
	e.traces = text.NewTraces("", nil, nil, nil, func(string) bool { return false })
	steps := append(e.phases("quotes"), e.weaken, e.judgeAgain, e.forgetPlans)
	for _, step := range append(append(steps, e.phases("plans")...), e.forgetObservations) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// judgeAgain queues the memories that have lost a quote for judging. Memories without other evidence are held.
func (e *eraser) judgeAgain(ctx context.Context) error {
	rows, err := ask[struct {
		ID    string
		Alone bool
	}](ctx, e.t, "shaken", e.values)
	if err != nil {
		return err
	}
	e.values["gone"] = pq.StringArray{}
	for _, alone := range []bool{true, false} {
		ids := pq.StringArray{}
		for _, r := range rows {
			if r.Alone == alone {
				ids = append(ids, r.ID)
			}
		}
		e.values["mixed"] = ids
		if err := e.weigh(ctx, alone, reverie.MessageEdited); err != nil {
			return err
		}
		if alone { // webhooks are told that it is held
			if err := e.do(ctx, "told"); err != nil {
				return err
			}
		}
	}
	return nil
}

func keysOfTexts(texts map[string]string) pq.StringArray {
	var keys []string
	for id := range texts {
		keys = append(keys, id)
	}
	return distinct(keys)
}
