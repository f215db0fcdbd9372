package erase

import (
	"context"
	"slices"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

const (
	authorMessagesQuery = `select message_id, author, text, session_id from messages where group_id = $1
		and author_id = $2 order by message_id`

	// The account's entity, and those that were merged into it.
	authorEntities = `with recursive account (id) as (
			select entity_id from entity_names where group_id = $1 and kind = 'id' and name = $2
			union select x.entity_id from entities x join account a on x.merged_into = a.id where x.group_id = $1)`

	authorNamesQuery = authorEntities + `
		select author from memory_evidence where group_id = $1 and author_id = $2
		union select author from entity_evidence where group_id = $1 and author_id = $2
		union select name from entity_names where group_id = $1 and kind <> 'id' and entity_id in (select id from account)
		union select subject from entities where group_id = $1 and entity_id in (select id from account)`

	// What others are called, by themselves and by the platform.
	othersNamesQuery = `select author from messages where group_id = $1 and author_id <> $2 and author_id <> ''
		and author <> ''
		union select author_id from messages where group_id = $1 and author_id <> $2 and author_id <> ''`
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
	if err := e.t.Select(ctx, &rows, authorMessagesQuery, e.group, e.query.AuthorID); err != nil {
		return err
	}
	var names, texts []string
	if err := e.t.Select(ctx, &names, authorNamesQuery, e.group, e.query.AuthorID); err != nil {
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
	var others []string
	if err := e.t.Select(ctx, &others, othersNamesQuery, e.group, e.query.AuthorID); err != nil {
		return err
	}
	namesakes := map[string]bool{}
	for _, n := range append(others, e.query.KeepNames...) {
		namesakes[alike(n)] = true
	}
	e.traces = text.NewTraces(e.query.AuthorID, names, texts, others,
		func(name string) bool { return namesakes[alike(name)] })
	if err := e.hear(ctx); err != nil {
		return err
	}
	kept, short := e.traces.Shared, e.traces.Short
	e.names = slices.DeleteFunc(names, func(n string) bool {
		return slices.Contains(kept, n) || slices.Contains(short,
			n)
	})
	e.leave("names", len(kept), "ids or names that another account goes by, too, or that were to be kept")
	e.leave("short names", len(short), "ids or names that are too short to tell in running text")
	e.leave("texts", e.traces.Unsought(), "too short to be looked for, or others have said the same: those messages stay")
	return nil
}

// hear goes over what other members have said, in their own words.
func (e *eraser) hear(ctx context.Context) error {
	var said textTable
	said.name = "messages"
	for _, column := range []string{"author_id", "role", "text"} {
		said.text = append(said.text, textColumn{Table: said.name, Column: column})
	}
	return e.rows(ctx, said, func(page [][]string) error {
		for _, row := range page {
			if row[0] != "" && row[0] != e.query.AuthorID && reverie.Role(row[1]) == reverie.RoleUser {
				e.traces.Hear(row[2])
			}
		}
		return nil
	})
}

func alike(s string) string { return text.Simplify(text.Fold(s)) }

// distinct sorts a list and drops what is in it twice.
func distinct[S ~[]string](list S) S {
	slices.Sort(list)
	return slices.Compact(list)
}
