package web

import (
	_ "embed"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"reverie/internal/text"

	"golang.org/x/text/language"
)

//go:embed locales/en.toml
var englishTexts string

//go:embed locales/zh.toml
var chineseTexts string

// locales are the texts of the page by language and key. A key consists of the table in the file and the name in
// it, such as "menu.groups".
var locales = sync.OnceValue(func() map[lang]map[string]string {
	all := map[lang]map[string]string{}
	for l, file := range map[lang]string{english: englishTexts, chinese: chineseTexts} {
		all[l] = map[string]string{}
		for part, entries := range text.ReadTOML[map[string]map[string]string](file) {
			for name, words := range entries {
				all[l][part+"."+name] = words
			}
		}
	}
	return all
})

// text returns a text in a language. If it has two forms, separated by a bar, the first argument selects one: 1
// selects the first. String arguments are shown without hidden characters. A missing key is shown in brackets, for
// which tests look.
func (l lang) text(key string, args ...any) string {
	s, known := locales()[l][key]
	if !known {
		return "⟦" + key + "⟧"
	}
	if one, many, counts := strings.Cut(s, "|"); counts {
		if s = many; len(args) > 0 && fmt.Sprint(args[0]) == "1" {
			s = one
		}
	}
	if len(args) == 0 {
		return s
	}
	shown := slices.Clone(args)
	for i, arg := range shown {
		if text, ok := arg.(string); ok {
			shown[i] = plain(text)
		}
	}
	return fmt.Sprintf(s, shown...)
}

// word returns the text of a value in a set, such as a run's status, with the key "<set>.<value>"; the value itself
// if there is none.
func (l lang) word(set string, value any) string {
	name := fmt.Sprint(value)
	if _, known := locales()[l][set+"."+name]; known {
		return l.text(set + "." + name)
	}
	return name
}

// lang is a language of the page.
type lang string

// The languages. Every other language becomes English.
const (
	english lang = "en"
	chinese lang = "zh"
)

var languages = []lang{english, chinese}

const languageCookie = "reverie_lang"

var matcher = sync.OnceValue(func() language.Matcher {
	return language.NewMatcher([]language.Tag{language.English, language.SimplifiedChinese, language.TraditionalChinese})
})

// chooseLanguage returns the language that the visitor chose by ?lang=, which it stores in a cookie. Otherwise it
// is that of the cookie, or the browser's preference.
func chooseLanguage(w http.ResponseWriter, r *http.Request, https bool) lang {
	switch l := lang(r.URL.Query().Get("lang")); l {
	case english, chinese:
		http.SetCookie(w, &http.Cookie{Name: languageCookie, Value: string(l), Path: "/ui/", MaxAge: 365 * 24 * 3600,
			Secure: https, HttpOnly: true, SameSite: http.SameSiteLaxMode})
		return l
	}
	if cookie, err := r.Cookie(languageCookie); err == nil &&
		(lang(cookie.Value) == english || lang(cookie.Value) == chinese) {
		return lang(cookie.Value)
	}
	if _, i := language.MatchStrings(matcher(), r.Header.Get("Accept-Language")); i > 0 {
		return chinese
	}
	return english
}

// tag returns the HTML language tag.
func (l lang) tag() string {
	if l == chinese {
		return "zh-Hans"
	}
	return "en"
}

// elsewhere returns an address of a page in another language.
func elsewhere(address string, l lang) string {
	path, values, _ := strings.Cut(address, "?")
	q, _ := url.ParseQuery(values) // keeps the valid part
	q.Set("lang", string(l))
	return path + "?" + q.Encode()
}
