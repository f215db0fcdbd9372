package web

import (
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"reverie/internal/reverie"
)

// heldShown is the number of runs on the page of held plans.
const heldShown = 20

// heldData is the page of held plans.
type heldData struct {
	Runs  []heldRun
	Later bool   // there are newer ones
	Next  string // address of the older ones; "" = none
}

// heldRun is a run with held plans, for the template "held".
type heldRun struct {
	view
	reverie.RunReply
	List string // the page to return to after a decision; "" = the run's own
}

// Plans returns the waiting plans.
func (r heldRun) Plans() []reverie.HeldReply {
	return slices.DeleteFunc(slices.Clone(r.Held),
		func(h reverie.HeldReply) bool { return h.Status != reverie.HeldWaiting })
}

// Again reports whether rejecting the run can make its input pending again: the messages of a chunk that is held as
// a whole, or all input of an extraction or dream. A proposal has no input.
func (r heldRun) Again() bool {
	return !r.Proposal() && (r.Run.Job == reverie.JobDream || r.Run.Job == reverie.JobExtract ||
		slices.ContainsFunc(r.Plans(), func(h reverie.HeldReply) bool { return h.Whole }))
}

// Proposal reports whether an agent proposed it.
func (r heldRun) Proposal() bool { return r.Run.Job == reverie.JobPropose }

// heldOf returns a run with waiting plans, nil if none wait.
func (v *visit) heldOf(r reverie.RunReply) *heldRun {
	if h := (heldRun{view{visit: v}, r, ""}); len(h.Plans()) > 0 {
		return &h
	}
	return nil
}

func (s *site) heldPage(v *visit) (any, error) {
	before := v.FormValue("before")
	runs, err := s.Runs(v.Context(), reverie.RunQuery{Held: true, Before: before, Limit: heldShown})
	if err != nil {
		return nil, err
	}
	d := heldData{Later: before != ""}
	for _, entry := range runs.Runs {
		r, err := s.Run(v.Context(), entry.ID)
		if err != nil {
			return nil, err
		}
		if held := v.heldOf(r); held != nil { // somebody may have decided on it just now
			held.List = query(heldURL, "before", before)
			d.Runs = append(d.Runs, *held)
		}
	}
	if runs.More {
		d.Next = query(heldURL, "before", runs.Runs[len(runs.Runs)-1].ID)
	}
	return d, nil
}

// approve applies what a run holds. It continues with the next held run, or with the run's page if lines were
// refused.
func (s *site) approve(v *visit) (string, error) {
	id := v.PathValue("run")
	reply, err := s.Approve(v.Context(), id)
	if err != nil {
		return "", err
	}
	v.notify("notice.approved", len(reply.Changes))
	if n := len(reply.Refusals); n > 0 {
		v.notify("notice.approved_stale", n)
		return runURL(id), nil
	}
	return v.decidedOn(id), nil
}

func (s *site) reject(v *visit) (string, error) {
	id := v.PathValue("run")
	reply, err := s.Reject(v.Context(), id, v.PostFormValue("again") != "")
	if err != nil {
		return "", err
	}
	v.notify("notice.rejected")
	if reply.Requeued > 0 {
		v.notify("notice.requeued", reply.Requeued)
	}
	return v.decidedOn(id), nil
}

// decidedOn returns the page after a decision: the one with the form.
func (v *visit) decidedOn(runID string) string {
	if list := v.PostFormValue("list"); list != "" {
		return localPath(list)
	}
	return runURL(runID)
}

// phrase maps the beginning of a message of the product to a text of the page.
type phrase struct {
	key     string
	pattern *regexp.Regexp
}

// Why plans are held, and why an undo left something.
var (
	heldPhrases = sync.OnceValue(func() []phrase { return phrasesOf("why_held.") })
	leftPhrases = sync.OnceValue(func() []phrase { return phrasesOf("why_left.") })
)

// phrasesOf returns the texts whose keys have a prefix. A text comes after those that begin with it.
func phrasesOf(part string) (list []phrase) {
	for _, key := range slices.Backward(slices.Sorted(maps.Keys(locales()[english]))) {
		if !strings.HasPrefix(key, part) {
			continue
		}
		text := regexp.QuoteMeta(locales()[english][key])
		pattern := strings.NewReplacer("%d", `(\d{1,9})`, "%s", `(.+?)`).Replace(text)
		list = append(list, phrase{key, regexp.MustCompile(`^` + pattern + `(?:; |$)`)})
	}
	return list
}

// WhyHeld says why a plan is held: {{$.WhyHeld .Reason}}.
func (v view) WhyHeld(why string) template.HTML { return v.lang.phrased(heldPhrases(), why) }

// WhyLeft says why an undo left something: {{$.WhyLeft .Reason}}.
func (v view) WhyLeft(why string) template.HTML { return v.lang.phrased(leftPhrases(), why) }

// phrased translates a reason that consists of known phrases, and leaves other reasons unchanged.
func (l lang) phrased(known []phrase, why string) template.HTML {
	if l == english {
		return say(why)
	}
	var parts []string
	for why != "" {
		text, rest := l.firstPhrase(known, why)
		parts, why = append(parts, text), rest
	}
	return template.HTML(strings.Join(parts, "；")) //nolint:gosec // escaped by say
}

// firstPhrase translates the first of several phrases, and returns the rest.
func (l lang) firstPhrase(known []phrase, why string) (shown, rest string) {
	for _, p := range known {
		m := p.pattern.FindStringSubmatch(why)
		if m == nil {
			continue
		}
		var args []any
		for _, arg := range m[1:] {
			if n, err := strconv.Atoi(arg); err == nil && strings.Contains(locales()[english][p.key], "%d") {
				args = append(args, n)
			} else {
				args = append(args, arg)
			}
		}
		return string(say(l.text(p.key, args...))), why[len(m[0]):]
	}
	phrase, rest, _ := strings.Cut(why, "; ")
	return `<span lang="en">` + string(say(phrase)) + "</span>", rest
}
