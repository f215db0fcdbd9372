package entity

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// checkWords refuses what may not be kept as a name, a key, a kind or a text of at
// most limit characters: see [safety.CheckStatement]. Its answer is a rule and
// what is wrong, or nothing.
func checkWords(s string, limit int) (rule, detail string) {
	if n := utf8.RuneCountInString(s); n > limit {
		return string(safety.RuleTooLong), fmt.Sprintf("it has %d characters, at most %d are kept: shorten it", n,
			limit)
	}
	var broken *safety.StatementError
	if err := safety.CheckStatement(s); errors.As(err, &broken) {
		return string(broken.Rule), broken.Detail
	}
	return "", ""
}

// checkName refuses what cannot name anybody or anything.
func checkName(name string) (rule, detail string) {
	if rule, detail = checkWords(name, reverie.MaxNameLength); rule != "" {
		return rule, detail
	}
	switch {
	case reverie.IsID(strings.TrimSpace(name)):
		return ruleIdentity, "an id names nobody: say the name that the group uses"
	case isNobody(name):
		return ruleName, fmt.Sprintf("%q means nobody in particular: say who, by name", text.Excerpt(name, 40))
	}
	return "", ""
}

// isNobody tells words that stand for whoever is meant just now (he, someone,
// everyone, my wife, 大家) from names. The code cannot know whom they mean.
func isNobody(name string) bool {
	key := text.NameKey(name)
	return allIn(strings.Fields(key), words().nobody) || isNobodyHan(key)
}

// allIn tells whether all words are in a set; of none it is true.
func allIn(list []string, set map[string]bool) bool {
	return !slices.ContainsFunc(list, func(word string) bool { return !set[word] })
}

// isNobodyHan is isNobody for Chinese, which writes no spaces: 我的老婆, 群友们, 本群.
func isNobodyHan(key string) bool {
	key = strings.TrimSuffix(key, "们")
	if words().nobodyHan[key] {
		return true
	}
	return slices.ContainsFunc(words().before, func(before string) bool {
		rest, ok := strings.CutPrefix(key, before)
		return ok && (rest == "" || words().nobodyHan[strings.TrimPrefix(rest, "的")])
	})
}

//go:embed words.toml
var wordsFile string

// wordLists are the lists of words.toml.
type wordLists struct {
	nobody, nobodyHan, boilerplate map[string]bool
	before, aliasCues, firstPerson []string
}

var words = sync.OnceValue(func() wordLists {
	var file struct {
		Nobody      string `toml:"nobody"`
		NobodyHan   string `toml:"nobody_han"`
		Before      string `toml:"nobody_han_before"`
		Boilerplate string `toml:"boilerplate"`
		AliasCues   string `toml:"alias_cues"`
		FirstPerson string `toml:"first_person"`
	}
	if err := toml.Unmarshal([]byte(wordsFile), &file); err != nil {
		panic(fmt.Sprintf("words.toml: %v", err)) // it is part of the binary
	}
	set := func(list []string) map[string]bool {
		words := map[string]bool{}
		for _, word := range list {
			words[word] = true
		}
		return words
	}
	return wordLists{nobody: set(strings.Fields(file.Nobody)), nobodyHan: set(strings.Fields(file.NobodyHan)),
		boilerplate: set(strings.Split(strings.TrimSpace(file.Boilerplate), "\n")),
		before:      strings.Fields(file.Before), aliasCues: strings.Fields(file.AliasCues),
		firstPerson: strings.Fields(file.FirstPerson)}
})
