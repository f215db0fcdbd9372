package web

import (
	"net/http"
	"net/url"
	"strings"
	"sync"

	"golang.org/x/text/language"
)

// lang is a language of the page.
type lang string

// The languages. What is not Chinese is English.
const (
	english lang = "en"
	chinese lang = "zh"
)

var languages = []lang{english, chinese}

const languageCookie = "reverie_lang"

var matcher = sync.OnceValue(func() language.Matcher {
	return language.NewMatcher([]language.Tag{language.English, language.SimplifiedChinese, language.TraditionalChinese})
})

// chooseLanguage takes the language that the visitor has chosen by ?lang=, and keeps it
// in a cookie; else that of the cookie; else what the browser prefers.
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

// tag is the language as HTML has it.
func (l lang) tag() string {
	if l == chinese {
		return "zh-Hans"
	}
	return "en"
}

// elsewhere is an address of a page in another language.
func elsewhere(address string, l lang) string {
	path, values, _ := strings.Cut(address, "?")
	q, _ := url.ParseQuery(values) // what of it can be read
	q.Set("lang", string(l))
	return path + "?" + q.Encode()
}
