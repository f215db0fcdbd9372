// Package prompts holds the texts that Reverie sends to models, in Chinese and English, embedded in the binary.
// Each is a file in this directory with a name and a version in its head. Files of the operator, or a Langfuse
// project, may replace any of them. A text is rendered from typed data, and its version and hash are recorded with
// each run.
package prompts

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"unicode"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

//go:embed *.md
var embedded embed.FS

// The languages of every prompt.
const (
	English = "en"
	Chinese = "zh"
)

// Set is a complete set of prompts: the embedded ones, some replaced by the operator's or Langfuse's. It is safe
// for concurrent use.
type Set struct {
	texts   map[string]*promptText // "memory_evolve.en", "memory_evolve.small.en"
	small   bool                   // prefer the short text of a prompt
	maxText int                    // characters of a message; 0 = MaxText
}

// short marks the key of a prompt's short text, for models with small contexts.
const short = ".small"

// Fitted returns the set for questions of at most tokens tokens, 0 for no bound: a message then shows at most a
// third of that. With small it prefers the short text of each prompt.
func (s *Set) Fitted(small bool, tokens int) *Set {
	return &Set{texts: s.texts, small: small, maxText: tokens / 3}
}

// Small reports whether the set prefers short texts.
func (s *Set) Small() bool { return s != nil && s.small }

// find returns the text of a prompt in a language, and its key.
func (s *Set) find(name, language string) (key string, t *promptText) {
	if t = s.texts[name+short+"."+language]; s.small && t != nil {
		return name + short + "." + language, t
	}
	return name + "." + language, s.texts[name+"."+language]
}

// Tokens estimates the size of a prompt without data, for the longer of its languages.
func (s *Set) Tokens(name string) (tokens int) {
	for _, language := range []string{English, Chinese} {
		if _, t := s.find(name, language); t != nil {
			read, _ := t.read() // Render returns the error
			tokens = max(tokens, read.tokens)
		}
	}
	return tokens
}

// promptText is one prompt in one language.
type promptText struct {
	version string
	sha256  string // see Rendered
	origin  string // its source, for people
	read    func() (readText, error)
}

// readText is a parsed and tested prompt.
type readText struct {
	tokens int // estimated
	system *template.Template
}

// newText returns a prompt that is parsed at first use.
func newText(name, system string) *promptText {
	return &promptText{read: sync.OnceValues(func() (readText, error) { return parseText(name, system) })}
}

// tried is newText for texts by others, which are parsed at once.
func tried(name, system string) (*promptText, error) {
	t := newText(name, system)
	_, err := t.read()
	return t, err
}

// Rendered is a prompt ready to be sent.
type Rendered struct {
	System  string
	User    string // one JSON object, data only
	Name    string // memory_evolve.en
	Version string // of the file's head; "langfuse:7" for version 7 there
	SHA256  string // of the prompt's file, or of its text in Langfuse: see [Set.With]
}

// Open returns the embedded prompts; files in dir (memory_evolve.en.md and the like) replace them. An empty dir
// changes nothing. A file that is not a known prompt, or is invalid, is an error naming it. A full text of the
// operator also replaces the built-in short text (memory_evolve.small.en.md), unless dir has a short one too.
func Open(dir string) (*Set, error) {
	s := &Set{texts: map[string]*promptText{}}
	for _, name := range files() {
		raw, err := embedded.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read embedded prompt %s: %w", name, err)
		}
		if err := s.add(name, builtIn, raw); err != nil {
			return nil, err
		}
	}
	if dir == "" {
		return s, nil
	}
	return s, s.override(dir)
}

// override replaces embedded prompts by the files in dir.
func (s *Set) override(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("prompts directory: %w: %w", reverie.ErrConfiguration, err)
	}
	var errs []error
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".md" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if !slices.Contains(files(), e.Name()) {
			errs = append(errs, fmt.Errorf("prompt file %s: %w: no prompt has this name; use one of %s",
				path, reverie.ErrConfiguration, strings.Join(files(), ", ")))
			continue
		}
		raw, err := os.ReadFile(path)
		if err == nil {
			err = s.add(e.Name(), "the file "+path, raw)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("prompt file %s: %w: %w", path, reverie.ErrConfiguration, err))
		}
	}
	return errors.Join(errs...)
}

// files lists the file names that an override may have.
func files() []string {
	names, _ := fs.Glob(embedded, "*.md") // the pattern is constant and valid
	return names
}

// add parses one prompt file: a head between --- lines, then a template.
func (s *Set) add(file, origin string, raw []byte) error {
	key := strings.TrimSuffix(file, ".md")
	head, body, err := cutHead(string(raw))
	if err != nil {
		return fmt.Errorf("prompt %s: %w", file, err)
	}
	if name, _, _ := strings.Cut(key, "."); head["name"] != name || head["version"] == "" {
		return fmt.Errorf("prompt %s: its head must say name: %s and a version", file, name)
	}
	t := newText(key, body)
	if origin != builtIn { // tests parse ours
		_, err = t.read()
	}
	if err != nil {
		return fmt.Errorf("prompt %s: %w", file, err)
	}
	sum := sha256.Sum256(raw)
	t.version, t.sha256, t.origin = head["version"], hex.EncodeToString(sum[:]), origin
	s.texts[key] = t
	if name, language, _ := strings.Cut(key, "."); origin != builtIn && !strings.Contains(language, ".") {
		delete(s.texts, name+short+"."+language) // the operator's text has priority over our short one
	}
	return nil
}

// builtIn is the source of our own texts.
const builtIn = "the built-in text"

// cutHead separates the head between --- lines, which contains name and version, from the text.
func cutHead(raw string) (head map[string]string, body string, err error) {
	raw = strings.ReplaceAll(raw, "\r\n", "\n")
	above, body, ok := strings.Cut(strings.TrimPrefix(raw, "---\n"), "\n---\n")
	if !ok {
		return nil, "", errors.New("the head (--- name, version ---) is missing")
	}
	head = map[string]string{}
	for line := range strings.Lines(above) {
		field, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if field != "name" && field != "version" {
			return nil, "", fmt.Errorf("unknown field %q in its head; it has name and version", field)
		}
		head[field] = strings.TrimSpace(value)
	}
	return head, body, nil
}

// Version returns the version and hash of a prompt in a language, as its runs
// record them.
func (s *Set) Version(name, language string) (version, sha256 string) {
	if _, t := s.find(name, language); t != nil {
		return t.version, t.sha256
	}
	return "", ""
}

// Render fills a prompt in a language, [English] or [Chinese]. The user part is one JSON object with data, which
// [Notice] says first.
func (s *Set) Render(language string, system System, user any) (Rendered, error) {
	key, t := s.find(system.prompt(), language)
	if t == nil {
		return Rendered{}, fmt.Errorf("prompt %s: %w", key, reverie.ErrNotFound)
	}
	data, err := encode(user)
	if err != nil {
		return Rendered{}, fmt.Errorf("encode the data of prompt %s: %w", key, err)
	}
	r := Rendered{User: `{"notice":"` + Notice + `",` + strings.TrimPrefix(data, "{"), Name: key, Version: t.version,
		SHA256: t.sha256}
	read, err := t.read()
	if err == nil {
		r.System, err = read.fill(fields(language, system))
	}
	if err != nil {
		return Rendered{}, fmt.Errorf("render prompt %s: %w", key, err)
	}
	return r, nil
}

// encode writes a value as JSON on one line.
func encode(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // < as \u003c costs tokens, and a JSON string is safe anyway
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// A prompt is a Go template over its data: {{.Active}}, {{if gt .Active .Target}}. A field may also be written in
// lower snake case, {{max_creates}}, as usual in Langfuse.

// alone matches an action that is one lower-case word, with its trim marks.
var alone = text.NewPattern(`(\{\{(?:-\s)?\s*)([a-z][a-z_]*)(\s*(?:\s-)?\}\})`)

// trials are test data for prompts: one for either side of their conditions.
var trials = []System{EvolveSystem{}, EvolveSystem{Active: 3, Shown: 2, Target: 1}, CompareSystem{}, ObserveSystem{},
	ExtractSystem{}, SummarizeSystem{}, DreamSystem{}, AskSystem{}}

// fields returns the data of a template, by field name.
func fields(language string, system System) map[string]any {
	values := map[string]any{"StatementLanguage": map[string]string{English: "English", Chinese: "中文"}[language]}
	for field, value := range reflect.ValueOf(system).Fields() {
		values[field.Name] = value.Interface()
	}
	return values
}

// snake converts the name of a field to lower snake case.
func snake(field string) string {
	var b strings.Builder
	for i, r := range field {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// trialsOf returns the test data of a prompt, in the language of its key.
func trialsOf(key string) (list []map[string]any) {
	name, language := nameOf(key), key[strings.LastIndexByte(key, '.')+1:]
	for _, system := range trials {
		if system.prompt() == name {
			list = append(list, fields(language, system))
		}
	}
	return list
}

// parse parses a template.
func parse(name, body string) (*template.Template, error) {
	names := map[string]string{}
	for _, trial := range trialsOf(name) {
		for field := range trial {
			names[snake(field)] = field
		}
	}
	body = alone.ReplaceAllStringFunc(body, func(action string) string {
		part := alone.FindStringSubmatch(action)
		if field, ok := names[part[2]]; ok {
			return part[1] + "$." + field + part[3]
		}
		return action
	})
	return template.New(name).Option("missingkey=error").Parse(strings.TrimSpace(body))
}

// parseText parses a prompt's template and tests it, so that a misspelt field is found before a run.
func parseText(name, system string) (t readText, err error) {
	if strings.TrimSpace(system) == "" {
		return t, errors.New("its text is empty")
	}
	if t.system, err = parse(name, system); err != nil {
		return t, err
	}
	var filled []string
	for _, trial := range trialsOf(name) {
		said, err := t.fill(trial)
		if err != nil {
			return t, err
		}
		filled = append(filled, said)
		t.tokens = max(t.tokens, text.EstimateTokens(said))
	}
	for _, said := range filled {
		if missing := unnamed(said, answerKeys[nameOf(name)]); len(missing) > 0 {
			return t, fmt.Errorf("it never names %s, without which every line of an answer is refused: show a line "+
				`such as {"action":"update","old_id":"m3","statement":"...","evidence":[{"message":12,"quote":"..."}]}`,
				strings.Join(missing, ", "))
		}
	}
	return t, nil
}

// answerKeys are the required keys of answer lines, by the name of the prompt.
var answerKeys = map[string][]string{MemoryEvolve: {"action", "old_id", "statement", "evidence", "quote"}}

// namedKeys finds words that are written as keys: in quotation marks or similar, or before a colon.
var namedKeys = text.NewPattern("[\"'“”‘’「『*<`](\\w+)[\"'“”‘’」』*>`\\\\]|(\\w+)[ \\t]*[:：]")

// unnamed returns the keys that a text does not name, in quotation marks.
func unnamed(said string, keys []string) (missing []string) {
	named := map[string]bool{}
	for _, m := range namedKeys.FindAllStringSubmatch(said, -1) {
		named[m[1]], named[m[2]] = true, true
	}
	for _, key := range keys {
		if !named[key] {
			missing = append(missing, strconv.Quote(key))
		}
	}
	return missing
}

// fill returns the system part with its data.
func (t readText) fill(data map[string]any) (string, error) {
	var b strings.Builder
	err := t.system.Execute(&b, data)
	return b.String(), err
}

// Replaced returns a copy of s in which a file replaces the prompt of a name, such as memory_evolve. A file named
// like ours, memory_evolve.zh.md, is for its language; any other one is for both. For a directory, all its prompts
// replace. The restrictions are those of an override.
func (s *Set) Replaced(name, path string) (*Set, error) {
	with := &Set{texts: maps.Clone(s.texts), small: s.small, maxText: s.maxText}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("prompt file: %w: %w", reverie.ErrConfiguration, err)
	}
	if info.IsDir() {
		return with, with.override(path)
	}
	keys := []string{name + "." + English, name + "." + Chinese}
	if own := strings.TrimSuffix(filepath.Base(path), ".md"); s.texts[own] != nil {
		if nameOf(own) != name {
			return nil, fmt.Errorf("prompt file %s: %w: it is a %s, and a %s is wanted", path, reverie.ErrConfiguration, nameOf(own), name)
		}
		keys = []string{own}
	}
	raw, err := os.ReadFile(path)
	for _, key := range keys {
		if err == nil {
			err = with.add(key+".md", "the file "+path, raw)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("prompt file %s: %w: %w", path, reverie.ErrConfiguration, err)
	}
	return with, nil
}
