package prompts

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"text/template"
	"unicode"

	"reverie/internal/text"
)

// A prompt is a Go template over its data: {{.Active}}, {{if gt .Active .Target}}.
// Each field may also be written alone in lower snake case, {{max_creates}}, as
// people do in Langfuse.

// dataMark is what {{data}} leaves behind, to be replaced by the data after the
// template has run: what stands in a chat is never read as a template.
const dataMark = "\x00data\x00"

// alone is an action that is one lower-case word, with its trim marks.
var alone = text.NewPattern(`(\{\{(?:-\s)?\s*)([a-z][a-z_]*)(\s*(?:\s-)?\}\})`)

// trials are what the prompts are tried on, by name: one for either side of their
// conditions.
var trials = map[string][]any{
	MemoryEvolve:      {EvolveSystem{StatementLanguage: "English"}, EvolveSystem{StatementLanguage: "中文", Active: 3, Shown: 2, Target: 1}},
	MemoryCompare:     {CompareSystem{StatementLanguage: "English"}},
	ImpressionObserve: {ObserveSystem{StatementLanguage: "English"}},
	SessionExtract:    {ExtractSystem{StatementLanguage: "English"}},
	SessionSummarize:  {SummarizeSystem{StatementLanguage: "English"}},
	Dream:             {DreamSystem{StatementLanguage: "English"}, DreamSystem{StatementLanguage: "中文", Combine: true}},
}

// fieldsOf are the names of a prompt's fields by their lower snake case. The
// prompt's name may carry a language.
func fieldsOf(prompt string) map[string]string {
	name, _, _ := strings.Cut(prompt, ".")
	names := map[string]string{}
	if len(trials[name]) == 0 {
		return names
	}
	data := reflect.TypeOf(trials[name][0])
	for i := range data.NumField() {
		field := data.Field(i).Name
		var snake strings.Builder
		for i, r := range field {
			if unicode.IsUpper(r) && i > 0 {
				snake.WriteByte('_')
			}
			snake.WriteRune(unicode.ToLower(r))
		}
		names[snake.String()] = field
	}
	return names
}

// parse reads a template. The user part's may say {{data}}.
func parse(name, body string, user bool) (*template.Template, error) {
	fields := fieldsOf(name)
	body = alone.ReplaceAllStringFunc(body, func(action string) string {
		part := alone.FindStringSubmatch(action)
		if field, ok := fields[part[2]]; ok {
			return part[1] + "$." + field + part[3]
		}
		return action
	})
	t := template.New(name).Option("missingkey=error")
	if user {
		t.Funcs(template.FuncMap{"data": func() string { return dataMark }})
	}
	return t.Parse(strings.TrimSpace(body))
}

// parseText reads the templates of a prompt, that of its user part nil if it has
// none, and tries them, so that a misspelt field is found before a run is.
func parseText(name, system string, user *string) (*promptText, error) {
	if strings.TrimSpace(system) == "" {
		return nil, errors.New("its text is empty")
	}
	t := &promptText{}
	var err error
	if t.system, err = parse(name, system, false); err != nil {
		return nil, err
	}
	if user != nil {
		if t.user, err = parse(name, *user, true); err != nil {
			return nil, err
		}
	}
	prompt, _, _ := strings.Cut(name, ".")
	for _, trial := range trials[prompt] {
		if _, _, err := t.fill(trial, "{}"); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// fill returns the system part filled with its data, and the user part: the data
// with what stands around it.
func (t *promptText) fill(system any, data string) (string, string, error) {
	var sys, user strings.Builder
	if err := t.system.Execute(&sys, system); err != nil {
		return "", "", err
	}
	if t.user == nil {
		return sys.String(), data, nil
	}
	if err := t.user.Execute(&user, system); err != nil {
		return "", "", err
	}
	if n := strings.Count(user.String(), dataMark); n != 1 {
		return "", "", fmt.Errorf("its user message has {{data}} %d times; write it once, where the data goes", n)
	}
	return sys.String(), strings.Replace(user.String(), dataMark, data, 1), nil
}
