package web

import (
	"embed"
	"html/template"
	"net/url"
	"sync"

	"reverie/internal/api"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

//go:embed templates
var templateFiles embed.FS

// looks are a template in both languages, parsed when the page is first shown.
type looks = func() map[lang]*template.Template

// newLooks combines a template with the shared ones. An error in it is a mistake in the program.
func newLooks(name string, assets map[string]asset) looks {
	return sync.OnceValue(func() map[lang]*template.Template {
		read := map[lang]*template.Template{}
		for _, l := range languages {
			t := template.New("layout.html").Funcs(functions(l, assets))
			read[l] = template.Must(t.ParseFS(templateFiles, "templates/shared/*.html", "templates/"+name+".html"))
		}
		return read
	})
}

// functions are the functions of templates.
func functions(l lang, assets map[string]asset) template.FuncMap {
	return template.FuncMap{
		"t":       l.text,       // t "runs.title", t "runs.count" 3
		"word":    l.word,       // word "status" .Status: one of a set of words
		"say":     say,          // untrusted text
		"because": l.because,    // because .JudgeAgain: why a memory is judged again
		"diff":    changes,      // diff .Old .New
		"when":    when,         // when .At $.Zone
		"took":    took,         // a duration
		"compact": text.Compact, // 12.3k
		"usd":     usd,          // money
		"count":   text.Grouped, // 12,345
		"asset":   func(name string) string { return assets[name].url },
		"tone":    tone,         // tone .Status: good, warn, bad or quiet, for class="pill {{tone .}}"
		"excerpt": text.Excerpt, // excerpt .Text 80

		// Parts of commands, to be pasted into a shell.
		"shellWord":    func(s string) template.HTML { return say(text.ShellWord(s)) },
		"shellOperand": func(s string) template.HTML { return say(text.ShellOperand(s)) },

		"clock":  clock,   // clock .At $.Zone: the time of day alone
		"spark":  l.spark, // spark .Activity: changes on each of the last days
		"meter":  meter,   // meter .Strength 1: a bar beside a number, with its maximum
		"undoes": undoes,  // undoes .Change: the effect of an undo's change
		"core":   core,    // core .: whether a memory is core
		"args":   args,    // template "quotes" (args "GroupID" $.Group.ID "Zone" $.Zone "Evidence" .Evidence)

		"groupURL": groupURL, "memoriesURL": memoriesURL, "diffURL": diffURL, "memoryURL": memoryURL, "recallURL": recallURL,
		"dreamURL": dreamURL, "peopleURL": peopleURL, "personURL": personURL, "talkURL": talkURL,
		"messageURL": messageURL, "runURL": runURL, "groupRunsURL": groupRunsURL, "jobRunsURL": jobRunsURL,
		"groupCostURL": groupCostURL,
		"query":        query, // query "/ui/runs" "group" .ID "before" .Last
	}
}

// view is the data of a template: $ in it.
type view struct {
	*visit
	Kind    string // key of the page's title
	Notices []string
	Data    any
}

// Title returns the title of the window and, usually, of the page.
func (v view) Title() string {
	if v.title != "" {
		return plain(v.title)
	}
	return v.t(v.Kind)
}

// Tag returns the HTML language tag.
func (v view) Tag() string { return v.lang.tag() }

// Known reports whether the visitor is logged in, or needs no login.
func (v view) Known() bool { return v.Caller.Scope != "" }

// FormToken returns the value of form_token in each form.
func (v view) FormToken() string { return api.FormToken(api.SessionOf(v.Context())) }

// Elsewhere returns the page in the other language, with that language's own name.
func (v view) Elsewhere() struct{ URL, Name, Tag string } {
	other := chinese
	if v.lang == chinese {
		other = english
	}
	return struct{ URL, Name, Tag string }{elsewhere(v.place(), other), other.text("lang.name"), other.tag()}
}

// tab is a link to a page.
type tab struct {
	Key, URL string
	Current  string // value of aria-current: "page" for this page, "true" for the section of this page, else ""
}

// Menu returns the links to the parts of the site.
func (v view) Menu() []tab {
	list := []tab{{Key: "menu.home", URL: homeURL}, {Key: "menu.runs", URL: runsURL}, {Key: "menu.held", URL: heldURL},
		{Key: "menu.cost", URL: costURL}}
	for i, t := range list {
		switch {
		case t.URL == v.URL.Path && v.Group == nil:
			list[i].Current = "page"
		case t.URL == homeURL && v.Group != nil:
			list[i].Current = "true"
		}
	}
	return list
}

// Tabs returns the links to the pages of the group.
func (v view) Tabs() []tab {
	id := v.Group.ID
	list := []tab{{Key: "tab.timeline", URL: groupURL(id)}, {Key: "tab.memories", URL: memoriesURL(id)},
		{Key: "tab.recall", URL: recallURL(id)},
		{Key: "tab.conversation", URL: talkURL(id)}, {Key: "tab.people", URL: peopleURL(id)}, {Key: "tab.dream",
			URL: dreamURL(id)},
		{Key: "tab.runs", URL: groupRunsURL(id)}, {Key: "tab.cost", URL: groupCostURL(id)}}
	for i := range list {
		switch {
		case list[i].Key != "tab."+v.tab:
		case list[i].URL == v.URL.EscapedPath() || list[i].URL == v.URL.RequestURI():
			list[i].Current = "page"
		default:
			list[i].Current = "true"
		}
	}
	return list
}

// login returns the address of the login page, with this page to return to.
func (v *visit) login() string { return query(loginURL, "next", v.place()) }

// Addresses of pages. Ids are escaped, since a group's may contain any character.

const (
	homeURL  = "/ui/"
	loginURL = "/ui/login"
	heldURL  = "/ui/held"
	costURL  = "/ui/cost"
	runsURL  = "/ui/runs"
)

func groupURL(groupID string) string     { return "/ui/groups/" + url.PathEscape(groupID) }
func memoriesURL(groupID string) string  { return groupURL(groupID) + "/memories" }
func diffURL(groupID string) string      { return memoriesURL(groupID) + "/diff" }
func recallURL(groupID string) string    { return groupURL(groupID) + "/recall" }
func dreamURL(groupID string) string     { return groupURL(groupID) + "/dream" }
func peopleURL(groupID string) string    { return groupURL(groupID) + "/people" }
func talkURL(groupID string) string      { return groupURL(groupID) + "/conversation" }
func memoryURL(memoryID string) string   { return "/ui/memories/" + url.PathEscape(memoryID) }
func runURL(runID string) string         { return runsURL + "/" + url.PathEscape(runID) }
func groupRunsURL(groupID string) string { return query(runsURL, "group", groupID) }

func jobRunsURL(groupID string, job reverie.Job) string {
	return query(runsURL, "group", groupID, "job", string(job))
}
func groupCostURL(groupID string) string { return query(costURL, "group", groupID) }

func personURL(groupID, entityID string) string {
	return peopleURL(groupID) + "/" + url.PathEscape(entityID)
}

// messageURL returns the address of a message in its conversation.
func messageURL(groupID, messageID string) string {
	return query(talkURL(groupID), "around", messageID) + "#m"
}

// nightURL returns the address of a night on the group's timeline.
func nightURL(date string) string { return "#n" + date }

// query adds names and values to an address, without empty values.
func query(address string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	if len(q) == 0 {
		return address
	}
	return address + "?" + q.Encode()
}
