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

	// A pull that began earlier and ends later takes nothing back.
	savePullQuery = `insert into pulls (group_id, source, chat_id, since, error, pulled_at)
		values ($1, $2, $3, $4::timestamptz, $5, $6::timestamptz)
		on conflict (group_id, source, chat_id) do update set since = greatest(pulls.since, excluded.since),
			error = excluded.error, pulled_at = excluded.pulled_at`

	countPulledQuery = `insert into pulls (group_id, source, chat_id, messages, pulled_at) values ($1, $2, $3, $4,
		$5::timestamptz)
		on conflict (group_id, source, chat_id) do update set messages = pulls.messages + excluded.messages`
)

// Pull returns how far a chat of a server has been pulled into a group: not at all
// where nothing is known of it.
func (s *Store) Pull(ctx context.Context, groupID, source, chatID string) (reverie.Pull, error) {
	p := reverie.Pull{GroupID: groupID, Source: source, ChatID: chatID}
	what := fmt.Sprintf("read how far %q has been pulled into group %q", chatID, groupID)
	err := s.db.Of(ctx, groupID).QueryRow(ctx, what, &p, pullQuery, groupID, source, chatID)
	return p, IgnoreNoRows(err)
}

// PullMessages is [Store.ImportMessages], or [Store.ReimportMessages] where erased
// messages are let in again, for those of a chat that is pulled: with them it is counted
// how many were new, so that the count is right wherever a pull ends.
func (s *Store) PullMessages(ctx context.Context, p reverie.Pull, messages []reverie.Message,
	erased bool) (reverie.ImportResult, error) {
	return s.importMessages(ctx, p.GroupID, messages, erased, func(ctx context.Context, t *pg.Tx, fresh int) error {
		if fresh == 0 {
			return nil
		}
		return t.Exec(ctx, countPulledQuery, p.GroupID, pg.ValidText(p.Source), pg.ValidText(p.ChatID), fresh, s.db.Now())
	})
}

// SavePull notes how far a chat has been pulled, once its messages are stored. Since
// never goes back; Messages are counted as they are stored. An unknown group is
// reverie.ErrNotFound.
func (s *Store) SavePull(ctx context.Context, p reverie.Pull) error {
	return s.db.Exec(ctx, fmt.Sprintf("note how far %q has been pulled into group %q", p.ChatID, p.GroupID),
		savePullQuery, p.GroupID, pg.ValidText(p.Source), pg.ValidText(p.ChatID),
		pg.OrNull(p.Since), pg.ValidText(p.Error), p.PulledAt)
}
