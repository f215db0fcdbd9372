package store

import (
	"context"
	"slices"

	"github.com/lib/pq"

	"reverie"
)

const (
	authorMessagesQuery = `select message_id, author, text, session_id from messages where group_id = $1 and author_id = $2 order by message_id`

	// The account's entity, and those that were merged into it.
	authorEntities = `with recursive account (id) as (
			select entity_id from entity_names where group_id = $1 and kind = 'id' and name = $2
			union select x.entity_id from entities x join account a on x.merged_into = a.id where x.group_id = $1)`

	authorNamesQuery = authorEntities + `
		select author from memory_evidence where group_id = $1 and author_id = $2
		union select author from entity_evidence where group_id = $1 and author_id = $2
		union select name from entity_names where group_id = $1 and kind <> 'id' and entity_id in (select id from account)
		union select subject from entities where group_id = $1 and entity_id in (select id from account)`

	// What others are called, and what they have said in as many words.
	othersNamesQuery = `select distinct author from messages where group_id = $1 and author_id <> $2 and author <> ''`
	othersTextsQuery = `select distinct text from messages where group_id = $1 and author_id <> $2 and char_length(text) <= 400`
)

// know finds out what there is to look for.
func (e *eraser) know(ctx context.Context) error {
	e.theirs, e.gone, e.left = map[string]bool{}, map[string]bool{}, map[string]int{}
	e.messages, e.sessions = pq.StringArray{}, pq.StringArray{}
	var rows []struct {
		ID      string `db:"message_id"`
		Author  string
		Text    string
		Session string `db:"session_id"`
	}
	if err := e.t.list(ctx, &rows, authorMessagesQuery, e.group, e.query.AuthorID); err != nil {
		return err
	}
	var names, texts []string
	if err := e.t.list(ctx, &names, authorNamesQuery, e.group, e.query.AuthorID); err != nil {
		return err
	}
	for _, r := range rows {
		e.messages, names, texts = append(e.messages, r.ID), append(names, r.Author), append(texts, r.Text)
		e.theirs[r.ID] = true
		if r.Session != "" {
			e.sessions = append(e.sessions, r.Session)
		}
	}
	e.sessions = distinct(e.sessions)
	names = slices.DeleteFunc(distinct(names), func(n string) bool { return n == "" })
	namesakes, err := e.folded(ctx, othersNamesQuery)
	if err != nil {
		return err
	}
	said, err := e.folded(ctx, othersTextsQuery)
	if err != nil {
		return err
	}
	for _, n := range e.query.KeepNames {
		namesakes[alike(n)] = true
	}
	t, skipped := reverie.NewTraces(e.query.AuthorID, names, texts,
		func(name string) bool { return namesakes[alike(name)] }, func(text string) bool { return said[alike(text)] })
	e.traces = t
	e.names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(skipped, n) })
	e.leave("names", len(skipped), "another account goes by them too, or they were to be kept, or they are too short to tell in running text")
	short := 0
	for _, text := range texts {
		if said[alike(text)] {
			short++
		}
	}
	e.leave("texts", short, "others have said the same in as many words: those messages stay")
	return nil
}

// folded are the answers to a query about others, in the form in which they are alike.
func (e *eraser) folded(ctx context.Context, query string) (map[string]bool, error) {
	var list []string
	if err := e.t.list(ctx, &list, query, e.group, e.query.AuthorID); err != nil {
		return nil, err
	}
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[alike(s)] = true
	}
	return set, nil
}

func alike(s string) string { return reverie.Simplify(reverie.Fold(s)) }

// distinct sorts a list and drops what is in it twice.
func distinct[S ~[]string](list S) S {
	slices.Sort(list)
	return slices.Compact(list)
}
