package erase

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pg"
)

// findTraces collects what to search for.
func (e *eraser) findTraces(ctx context.Context) error {
	if e.only != nil {
		return e.findTextsOfMessages(ctx)
	}
	rows, err := ask[struct{ ID, Author, Text, Session string }](ctx, e.t, "author_messages", e.values)
	if err != nil {
		return err
	}
	names, err := ask[string](ctx, e.t, "author_names", e.values)
	if err != nil {
		return err
	}
	others, err := ask[string](ctx, e.t, "others_names", e.values)
	if err != nil {
		return err
	}
	var texts []string
	for _, r := range rows {
		names = append(names, r.Author)
		if e.addMessage(r.ID, r.Session); r.Text != "" {
			texts = append(texts, r.Text)
		}
	}
	names = slices.DeleteFunc(distinct(names), func(n string) bool { return n == "" })
	namesakes := map[string]bool{}
	for _, n := range append(others, e.query.KeepNames...) {
		namesakes[alike(n)] = true
	}
	e.traces = text.NewTraces(e.query.AuthorID, names, texts, others,
		func(name string) bool { return namesakes[alike(name)] })
	if err := e.readOthers(ctx); err != nil {
		return err
	}
	e.recount(nil)
	kept, short := e.traces.Shared, e.traces.Short
	e.names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(kept, n) || slices.Contains(short, n) })
	var keys pq.StringArray
	for _, n := range e.names {
		keys = append(keys, text.NameKey(n))
	}
	e.values["name_keys"] = keys
	e.leave("names", len(kept), "ids or names that another account goes by, too, or that were to be kept")
	e.leave("short names", len(short), "ids or names that are too short to tell in running text")
	e.leave("texts", e.traces.Unsought(), "too short to be looked for, or others have said the same: those messages stay")
	return nil
}

// addMessage adds a message to the erased ones, and its session to those whose summary may tell of it.
func (e *eraser) addMessage(id, session string) {
	e.erased[id] = true
	if e.values["messages"] = append(e.ids("messages"), id); session != "" {
		e.values["sessions"] = append(e.ids("sessions"), session)
	}
}

// mostLookUps is the most texts for which it is quicker to look up messages with the words of one than to read all
// messages.
const mostLookUps = 32

// readOthers reads what others have said in their own words, which must stay. If few single messages are erased, it only
// reads messages that have the words of one. It also adds the messages in which an assistant or a tool names the author
// to the erased ones.
func (e *eraser) readOthers(ctx context.Context) error {
	said := textTable{name: "messages"}
	for _, column := range []string{"author_id", "role", "text", "message_id", "session_id"} {
		said.text = append(said.text, textColumn{Table: said.name, Column: column})
	}
	where := "t.group_id = {group}"
	if e.only != nil && len(e.traces.Texts) <= mostLookUps {
		where += " and {has_words}"
	}
	e.values["texts"] = pq.StringArray(e.traces.Texts)
	where, args := e.values.bind(where)
	return said.read(ctx, e.t, func(page []pq.StringArray) error {
		for _, row := range page {
			user := reverie.Role(row[1]) == reverie.RoleUser
			others := row[0] != "" && row[0] != e.query.AuthorID && user
			if e.only != nil && !e.erased[row[3]] || e.only == nil && others {
				e.traces.Hear(row[2])
			}
			if !user && !e.erased[row[3]] && e.traces.FindName(row[2]) != "" {
				e.addMessage(row[3], row[4])
			}
		}
		return nil
	}, where, args...)
}

func alike(s string) string { return text.Simplify(text.Fold(s)) }

// shortColumns are the columns with a limit of characters.
var shortColumns = map[string]int{"memories.statement": 500, "entities.subject": reverie.MaxNameLength,
	"entity_names.name":  reverie.MaxNameLength,
	"entity_claims.name": reverie.MaxNameLength, "entity_claims.value": reverie.MaxValueLength}

// eachTable calls take with each table that can hold text.
func (e *eraser) eachTable(ctx context.Context, take func(textTable) error) error {
	tables, err := textTables(ctx, e.t)
	if err != nil {
		return err
	}
	for _, table := range tables {
		if err := take(table); err != nil {
			return fmt.Errorf("%s: %w", table.name, err)
		}
	}
	return nil
}

// rows calls take with the group's rows of a table; in a team, with the rows of the group's memories there.
func (e *eraser) rows(ctx context.Context, table textTable, take func(page []pq.StringArray) error) error {
	where := "t.group_id = {group}"
	if e.shared != nil {
		if script.Team[table.name] == "" {
			return nil
		}
		where += " and " + script.Team[table.name]
	}
	where, args := e.values.bind(where)
	return table.read(ctx, e.t, take, where, args...)
}

// redact removes the author from the words of others, in all tables. If only single messages are erased, it does not
// search other messages: equal words there are their own.
func (e *eraser) redact(ctx context.Context) error {
	return e.eachTable(ctx, func(table textTable) error {
		if e.only != nil && table.name == "messages" {
			return nil
		}
		changed, err := e.redactTable(ctx, table.of(words))
		if err != nil || len(changed) == 0 {
			return err
		}
		return e.rehash(ctx, table.name, changed)
	})
}

// redactTable redacts the group's rows of a table. It returns the first key column of each changed row.
func (e *eraser) redactTable(ctx context.Context, table textTable) (pq.StringArray, error) {
	var keys pq.StringArray
	return keys, e.rows(ctx, table, func(page []pq.StringArray) error {
		var rows pg.Columns
		for _, row := range page {
			touched := false
			values := make([]any, len(row))
			for i, v := range row {
				if at := i - len(table.key); at >= 0 {
					changed := false
					v, changed = e.redactValue(table.text[at], v)
					touched = touched || changed
				}
				values[i] = v
			}
			if !touched {
				continue
			}
			rows.Add(values...)
			if len(table.key) > 0 {
				keys = append(keys, row[0])
			}
		}
		if rows.Len() == 0 {
			return nil
		}
		args, err := rows.Args(e.group())
		if err != nil {
			return err
		}
		return e.changed(ctx, table.name, table.set(), args...)
	})
}

// redactValue removes the author from the text of a column.
func (e *eraser) redactValue(c textColumn, s string) (string, bool) {
	if s == "" {
		return s, false
	}
	if !c.isJSON() && !modelAnswers[c.name()] {
		text, changed := e.traces.Redact(s)
		if most := shortColumns[c.name()]; changed && most > 0 && utf8.RuneCountInString(text) > most {
			text = string([]rune(text)[:most])
		}
		return text, changed
	}
	w := e.redactor(c)
	var b strings.Builder
	for _, piece := range documents(s) {
		doc, err := readJSON(piece)
		switch {
		case err == nil:
			before := w.changed
			w.changed = false
			doc = w.of(c.Column, doc)
			if w.changed {
				piece = writeJSON(doc) + piece[len(strings.TrimRight(piece, "\n")):]
			}
			w.changed = w.changed || before
		case c.isJSON(): // impossible: PostgreSQL has parsed it
			return text.Erased, true
		default:
			piece = w.word(piece)
		}
		b.WriteString(piece)
	}
	return b.String(), w.changed
}

// holdsJSON searches documents in the same way as redactValue redacts them, so that both spare the same values.
func (e *eraser) holdsJSON(c textColumn, text string) (found string) {
	note := func(what string) {
		if found == "" {
			found = what
		}
	}
	w := &jsonErasure{e: e, foreign: foreignKeys(c)}
	w.word = func(s string) string { note(e.traces.Find(s)); return s }
	w.id = func(s string) string { note(ofMessage); return s }
	w.drop = func() bool { note(ofMessage); return false }
	for _, piece := range documents(text) {
		if doc, err := readJSON(piece); err == nil {
			w.of(c.Column, doc)
		} else {
			w.word(piece)
		}
	}
	return found
}

// modelAnswers are text columns with the answer of a model: one document, or one in each line.
var modelAnswers = map[string]bool{"answers.answer": true, "run_chunks.answer": true}

// jsonErasure walks through a document. Keys, ids and values of fixed lists, such as an action or a tag, stay, even if
// they equal a name of the author. In documents that a model wrote, keys that do not look like ours are treated as
// words.
type jsonErasure struct {
	e       *eraser
	foreign bool                // keys may be words
	word    func(string) string // called with words; returns the replacement
	id      func(string) string // called with the author's id, and ids of erased messages
	drop    func() bool         // called for the author's evidence in a list: true removes it
	changed bool
}

// redactor returns a walk that removes the author from documents of a column.
func (e *eraser) redactor(c textColumn) *jsonErasure {
	w := &jsonErasure{e: e, foreign: foreignKeys(c)}
	w.word = func(s string) string {
		text, found := e.traces.Redact(s)
		w.changed = w.changed || found
		return text
	}
	w.id = func(string) string { w.changed = true; return text.Erased }
	w.drop = func() bool { w.changed = true; return true }
	return w
}

// foreignKeys reports whether the keys of a column's documents may be words: in the answers of models, and in unknown
// columns.
func foreignKeys(c textColumn) bool {
	_, known := Columns[c.name()]
	return !known || modelAnswers[c.name()]
}

var (
	ownKey    = text.NewPattern(`^[a-z][a-z0-9_]*$`)
	idKey     = text.NewPattern(`^(id|account|deployment|continues)$|_ids?$|_sha256$|_hash$`)
	uuidText  = text.NewPattern(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	fixedKeys = strings.Fields(script.JSON["fixed_keys"])
	ownTags   = map[string]bool{reverie.TagSummary: true, reverie.TagSession: true, reverie.TagDream: true,
		reverie.TagLongTerm: true, reverie.TagDone: true,
		string(reverie.DreamPreference): true, string(reverie.DreamTheme): true, string(reverie.DreamTodo): true}
)

// of walks through the value of a key.
func (w *jsonErasure) of(key string, doc any) any {
	switch v := doc.(type) {
	case string:
		switch {
		case slices.Contains(fixedKeys, key), key == "tags" && ownTags[v]:
			return v
		case w.e.isTheirs(key, v):
			return w.id(v)
		case idKey.MatchString(key), uuidText.MatchString(v):
			return v
		}
		return w.word(v)
	case []any:
		kept := v[:0]
		for _, item := range v {
			if o, ok := item.(map[string]any); ok && w.e.ofAuthor(o) && w.drop() {
				continue
			}
			kept = append(kept, w.of(key, item))
		}
		return kept
	case map[string]any:
		return w.object(v)
	}
	return doc
}

func (w *jsonErasure) object(o map[string]any) any {
	clean := make(map[string]any, len(o))
	account, _ := o["author_id"].(string)
	for key, item := range o {
		name := key
		if w.foreign && !ownKey.MatchString(key) {
			name = w.word(key)
		}
		if key == "author" && account != "" && account != w.e.query.AuthorID { // the name of another account
			clean[name] = item
			continue
		}
		clean[name] = w.of(key, item)
	}
	was, _ := o["statement"].(string)
	if hash, ok := o["content_hash"].(string); ok && was != "" && hash == text.ContentHash(was) {
		if is, _ := clean["statement"].(string); is != was {
			clean["content_hash"] = text.ContentHash(is)
		}
	}
	return clean
}

// ofAuthor reports whether an object is evidence by the author, or is about an erased memory.
func (e *eraser) ofAuthor(o map[string]any) bool {
	is := func(key string) string { s, _ := o[key].(string); return s }
	return e.erased[is("message_id")] || e.isAuthor(is("author_id")) || e.gone[is("memory_id")] ||
		e.gone[is("lineage_id")]
}

// isTheirs reports whether the value of a key is the author's id, or the id of an erased message.
func (e *eraser) isTheirs(key, value string) bool {
	switch key {
	case "message_id", "message_ids":
		return e.erased[value]
	case "author_id", "account", "id":
		return e.isAuthor(value)
	}
	return false
}

// documents cuts a text into documents: one, or one in each line, between other lines.
func documents(text string) []string {
	if _, err := readJSON(text); err == nil {
		return []string{text}
	}
	lines := strings.SplitAfter(text, "\n")
	if !slices.ContainsFunc(lines, func(l string) bool { _, err := readJSON(l); return err == nil }) {
		return []string{text}
	}
	return lines
}

func readJSON(text string) (any, error) {
	var doc any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	return doc, nil
}

func writeJSON(doc any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(doc) != nil { // cannot fail: the document was parsed from JSON
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// dropAliases deletes the further names of other entities that contain a trace of the author. It redacts their main
// names.
func (e *eraser) dropAliases(ctx context.Context) error {
	rows, err := ask[struct{ ID, Kind, Name string }](ctx, e.t, "further_names", e.values)
	if err != nil {
		return err
	}
	var drop pq.StringArray
	var renamed pg.Columns
	for _, r := range rows {
		name, found := e.traces.Redact(r.Name)
		switch {
		case found && r.Kind == string(reverie.NameSubject) && len([]rune(name)) <= reverie.MaxNameLength:
			renamed.Add(r.ID, name, text.NameKey(name))
		case found:
			drop = append(drop, r.ID)
		}
	}
	if err := e.deleted(ctx, "entity_names", "name_id", drop); err != nil {
		return err
	}
	n, err := renamed.ExecRows(ctx, e.t, `update entity_names x set name = u.name, name_key = u.name_key
		from unnest($2::uuid[], $3::text[], $4::text[]) as u (id, name, name_key)
		where x.group_id = $1 and x.name_id = u.id`, e.group())
	count(e.counts.Changed, "entity_names", n)
	return err
}

// changedRow is a redacted row of memories, claims or decisions.
type changedRow struct {
	ID, Kind, Session, Status, Words, Hash, Name string
	Tags                                         pq.StringArray
}

// hash returns the hash of the row's present text.
func (r changedRow) hash() string {
	switch {
	case !slices.Contains(r.Tags, reverie.TagSummary):
		return text.ContentHash(r.Words)
	case reverie.Kind(r.Kind) == reverie.KindSession:
		return text.SummaryHash(r.Session, r.Words)
	}
	return text.SummaryHash("", r.Words)
}

// rehash renews the hashes of redacted statements and claims, and the lengths of messages. It removes the vectors;
// maintenance computes them anew. Decisions are found by their runs.
func (e *eraser) rehash(ctx context.Context, table string, keys pq.StringArray) error {
	e.values["changed"], e.values["changed_ids"] = keys, keys
	switch table {
	case "messages":
		return e.measure(ctx)
	case "memories", "entity_claims", "decisions":
	default:
		return nil
	}
	rows, err := ask[changedRow](ctx, e.t, "changed_"+table, e.values)
	if err != nil {
		return err
	}
	for _, r := range rows {
		hash := r.hash()
		if hash == r.Hash {
			continue
		}
		own := maps.Clone(e.values)
		maps.Copy(own, values{"id": r.ID, "kind": r.Kind, "status": r.Status, "words": r.Words, "hash": hash,
			"name_key": text.NameKey(r.Name)})
		sql, args := own.bind(script.Queries["rehash_"+table])
		if err := e.t.Exec(ctx, sql, args...); err != nil {
			return err
		}
	}
	return nil
}

// measure renews the token estimates of messages, and marks their sessions for a recount.
func (e *eraser) measure(ctx context.Context) error {
	rows, err := ask[struct{ ID, Text, Session string }](ctx, e.t, "changed_messages", e.values)
	if err != nil {
		return err
	}
	var tokens pg.Columns
	var sessions []string
	for _, r := range rows {
		tokens.Add(r.ID, text.EstimateTokens(r.Text))
		if r.Session != "" {
			sessions = append(sessions, r.Session)
		}
	}
	e.recount(sessions)
	return tokens.Exec(ctx, e.t, `update messages m set tokens = u.tokens from unnest($2::text[], $3::int[])
		as u (id, tokens) where m.group_id = $1 and m.message_id = u.id`, e.group())
}
