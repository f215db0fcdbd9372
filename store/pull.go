package store

import (
	"context"
	"fmt"

	"reverie/internal/reverie"
	"reverie/store/pg"
)

const (
	pullQuery = `select group_id, source, chat_id, since, messages, error, pulled_at from pulls
		where group_id = $1 and source = $2 and chat_id = $3`

	// A pull that began earlier and ends later does not move since back.
	savePullQuery = `insert into pulls (group_id, source, chat_id, since, error, pulled_at)
		values ($1, $2, $3, $4::timestamptz, $5, $6::timestamptz)
		on conflict (group_id, source, chat_id) do update set since = greatest(pulls.since, excluded.since),
			error = excluded.error, pulled_at = excluded.pulled_at`

	countPulledQuery = `insert into pulls (group_id, source, chat_id, messages, pulled_at) values ($1, $2, $3, $4,
		$5::timestamptz)
		on conflict (group_id, source, chat_id) do update set messages = pulls.messages + excluded.messages`
)

// Pull returns how far a chat of a server has been pulled into a group, the zero value if it never was.
func (s *Store) Pull(ctx context.Context, groupID, source, chatID string) (reverie.Pull, error) {
	p := reverie.Pull{GroupID: groupID, Source: source, ChatID: chatID}
	what := fmt.Sprintf("read how far %q has been pulled into group %q", chatID, groupID)
	err := s.db.Of(ctx, groupID).QueryRow(ctx, what, &p, pullQuery, groupID, source, chatID)
	return p, IgnoreNoRows(err)
}

// PullMessages is [Store.ImportMessages] for messages of a pulled chat, or [Store.ReimportMessages] if erased messages
// may return. The same transaction adds the number of new messages to the pull, so that the number is right wherever a
// pull ends.
func (s *Store) PullMessages(ctx context.Context, p reverie.Pull, messages []reverie.Message,
	erased bool) (reverie.ImportResult, error) {
	return s.importMessages(ctx, p.GroupID, messages, erased, func(ctx context.Context, t *pg.Tx, fresh int) error {
		if fresh == 0 {
			return nil
		}
		return t.Exec(ctx, countPulledQuery, p.GroupID, pg.ValidText(p.Source), pg.ValidText(p.ChatID), fresh, s.db.Now())
	})
}

// SavePull stores how far a chat has been pulled, after its messages are stored. Since never moves back. Messages is
// counted by PullMessages. An unknown group is reverie.ErrNotFound.
func (s *Store) SavePull(ctx context.Context, p reverie.Pull) error {
	return s.db.Exec(ctx, fmt.Sprintf("note how far %q has been pulled into group %q", p.ChatID, p.GroupID),
		savePullQuery, p.GroupID, pg.ValidText(p.Source), pg.ValidText(p.ChatID),
		pg.OrNull(p.Since), pg.ValidText(p.Error), p.PulledAt)
}
