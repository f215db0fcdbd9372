package erase

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// modelAnswers are columns of text in which a model's answer stands: a document, or one a line.
var modelAnswers = map[string]bool{"answers.answer": true, "run_chunks.answer": true}

// jsonErasure goes over a document. Names of our own stay, whoever is called like them:
// keys, ids, and values out of a fixed list, such as an action or a tag. In documents that
// are not ours alone, keys that ours do not look like are words.
type jsonErasure struct {
	e       *eraser
	foreign bool                // keys may be words
	word    func(string) string // what becomes of words
	id      func(string) string // of the author's id, and ids of their messages
	drop    func() bool         // of the author's evidence in a list: true takes it out
	changed bool
}

// redactor takes the author out of documents of a column.
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

// foreignKeys tells whether a column's documents may have keys that are words: the answers
// of models, and what is not known here.
func foreignKeys(c textColumn) bool {
	_, known := Columns[c.name()]
	return !known || modelAnswers[c.name()]
}

var (
	ownKey   = text.NewPattern(`^[a-z][a-z0-9_]*$`)
	idKey    = text.NewPattern(`^(id|account|deployment|continues)$|_ids?$|_sha256$|_hash$`)
	uuidText = text.NewPattern(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	fixedKey = map[string]bool{"action": true, "kind": true, "status": true, "role": true, "job": true, "rule": true,
		"aspect": true, "basis": true,
		"relation": true, "judged": true, "postponed": true, "handle": true, "purpose": true, "outcome": true,
		"model": true, "prompt_version": true,
		"local_date": true, "sent_at": true, "created_at": true, "updated_at": true, "made_at": true,
		"last_supported_at": true}
	ownTags = map[string]bool{reverie.TagSummary: true, reverie.TagSession: true, reverie.TagDream: true,
		reverie.TagLongTerm: true, reverie.TagDone: true,
		string(reverie.DreamPreference): true, string(reverie.DreamTheme): true, string(reverie.DreamTodo): true}
)

// of goes over what stands under a key.
func (w *jsonErasure) of(key string, doc any) any {
	switch v := doc.(type) {
	case string:
		switch {
		case fixedKey[key], key == "tags" && ownTags[v]:
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
		if key == "author" && account != "" && account != w.e.query.AuthorID { // somebody else goes by it
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

// ofAuthor tells whether an object is the author's evidence, or about a memory that is gone.
func (e *eraser) ofAuthor(o map[string]any) bool {
	is := func(key string) string { s, _ := o[key].(string); return s }
	return e.theirs[is("message_id")] || is("author_id") == e.query.AuthorID || e.gone[is("memory_id")] ||
		e.gone[is("lineage_id")]
}

// isTheirs tells whether the value of a key is the author's id, or that of a message of theirs.
func (e *eraser) isTheirs(key, value string) bool {
	switch key {
	case "message_id", "message_ids":
		return e.theirs[value]
	case "author_id", "account", "id":
		return value == e.query.AuthorID
	}
	return false
}

// documents cuts text into documents: one, or one a line among lines that are none.
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
	if enc.Encode(doc) != nil { // what was read can be written
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
