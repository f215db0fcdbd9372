package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"reverie/internal/reverie"
)

// newestRun is the address of the newest run of a job in a group.
func (s *sample) newestRun(groupID string, job reverie.Job) string {
	s.Helper()
	runs, err := s.store.Runs(s.Context(), reverie.RunQuery{GroupID: groupID, Job: job, Limit: 1})
	check(s, err)
	return "/ui/runs/" + runs[0].ID
}

// undoForm is the page's form that takes a run back, as it would be sent.
func undoForm(a *answer, more ...string) url.Values {
	form := url.Values{"form_token": {a.formToken()}, "before": {attr(a.named("input", "before"), "value")}}
	for _, name := range more {
		form.Set(name, "1")
	}
	return form
}

// takeBack looks at what taking runs back would come to, and does it: a dream of which a
// memory was deleted since, with and without force, the same once more, and again to have
// it read again.
func takeBack(t *testing.T, s *sample, handler http.Handler, admin, reader string) {
	run := s.newestRun(halfFrame, reverie.JobDream)
	theme := s.memory(halfFrame, func(m reverie.Memory) bool { return m.Kind == reverie.KindDream })
	_, err := s.store.Edit(t.Context(), reverie.Edit{GroupID: halfFrame, MemoryID: theme.ID, Action: reverie.ActionStrength, Value: 0.9})
	check(t, err)
	v, other := visit(t, handler, "en").login(admin), visit(t, handler, "en").login(reader)
	if a := other.get(run); slices.Contains(a.links(), run+"/undo") {
		t.Error("a reader is led to where runs are taken back")
	}
	for _, a := range []*answer{other.get(run + "/undo"), other.send(http.MethodPost, run+"/undo", url.Values{"form_token": {other.get(run).formToken()}})} {
		if a.whole(t); a.Code != http.StatusForbidden {
			t.Errorf("a reader: status %d\n%s", a.Code, words(a.doc))
		}
	}
	if a := v.get(run); !slices.Contains(a.links(), run+"/undo") {
		t.Errorf("no way leads from the run to taking it back: %q", a.links())
	}
	a := v.get(run + "/undo")
	if a.whole(t); a.Code != http.StatusOK || !strings.Contains(words(a.doc), theme.Statement) || !strings.Contains(words(a.doc), "Nothing is written yet") || a.named("input", "requeue").Data == "" {
		t.Fatalf("the dry run: status %d\n%s", a.Code, words(a.doc))
	}
	seen := undoForm(a)
	_, err = s.store.Edit(t.Context(), reverie.Edit{GroupID: halfFrame, MemoryID: theme.ID, Action: reverie.ActionDelete})
	check(t, err)
	if a := v.post(run+"/undo", seen); a.Code != http.StatusConflict || !strings.Contains(words(a.doc), "changed since the dry run") {
		t.Errorf("after another change: status %d\n%s", a.Code, words(a.doc))
	}
	if text := words(v.get(run).doc); strings.Contains(text, "undone") {
		t.Errorf("it was refused, and done: %s", text)
	}
	_, err = s.store.Edit(t.Context(), reverie.Edit{GroupID: halfFrame, MemoryID: theme.ID, Action: reverie.ActionRestore})
	check(t, err)
	if a := v.get(run + "/undo?lang=zh"); !strings.Contains(words(a.doc), "其后已被人工恢复") {
		t.Errorf("what is left, in Chinese: %s", words(a.doc))
	}
	if a := v.get(run + "/undo?force=1"); !strings.Contains(words(a.doc), "一并还原。") || strings.Contains(words(a.doc), "其后已被人工恢复") || undoForm(a).Get("before") == "" ||
		a.named("input", "force").Data == "" {
		t.Errorf("with force: %s", words(a.doc))
	}
	if a = v.get(run + "/undo?lang=en"); strings.Contains(words(a.doc), "is put back, too.") ||
		!strings.Contains(words(a.doc), "a person restored it since") || !slices.Contains(a.links(), run+"/undo?force=1") {
		t.Errorf("without force: %s", words(a.doc))
	}
	form := undoForm(a, "force")
	form.Set("reason", "it <b>dreamt</b> 太多")
	a = v.post(run+"/undo", form)
	if a.whole(t); a.url != run || !strings.Contains(words(a.doc), "Undone.") || !strings.Contains(words(a.doc), "undone") || strings.Contains(words(a.doc), "read again.") {
		t.Errorf("taken back: %s, status %d\n%s", a.url, a.Code, words(a.doc))
	}
	list, _, err := s.store.ListMemories(t.Context(), reverie.MemoryQuery{GroupID: halfFrame, Status: reverie.StatusActive, Kind: reverie.KindDream})
	if check(t, err); len(list) > 0 {
		t.Errorf("the dream has left %+v", list)
	}
	if text := words(v.get("/ui/runs?job=dream").doc); !strings.Contains(text, "undone") {
		t.Errorf("the list of runs does not say so: %s", text)
	}
	if text := words(v.get("/ui/memories/" + theme.ID).doc); !strings.Contains(text, "it <b>dreamt</b> 太多") {
		t.Errorf("the memory: %s", text)
	}
	if a := v.post(run+"/undo", undoForm(v.get(run+"/undo"))); a.Code != http.StatusConflict || !strings.Contains(words(a.doc), "already undone") {
		t.Errorf("twice: status %d\n%s", a.Code, words(a.doc))
	}
	a = v.post(run+"/undo", undoForm(v.get(run+"/undo"), "requeue"))
	if !strings.Contains(words(a.doc), "will be read again") {
		t.Errorf("read again, later: status %d\n%s", a.Code, words(a.doc))
	}
	if a = v.get(run + "/undo"); !strings.Contains(words(a.doc), "Nothing that it had read can be read again") || len(a.within(a.all("main")[0], "button")) > 0 {
		t.Errorf("all of it waits: status %d\n%s", a.Code, words(a.doc))
	}
	if a.whole(t); v.get("/ui/runs/"+reverie.NewID()+"/undo").Code != http.StatusNotFound {
		t.Error("a run that is not there can be taken back")
	}
}
