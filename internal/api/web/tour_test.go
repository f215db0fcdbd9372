package web_test

import (
	"database/sql"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"reverie/internal/reverie"
	"reverie/store/history"
	"reverie/store/pgtest"
)

// TestBrowser goes through the page with a browser: every page in both languages, wide and
// narrow, light and dark; then as a new user, by keyboard alone, and with its forms.
func TestBrowser(t *testing.T) {
	s := newSample(t)
	s.awkward()
	s.service.Now = time.Now // browsers go by it, too
	b := s.open(t)
	t.Run("every page", func(t *testing.T) { everyPage(t, s, b) })
	t.Run("a new user", func(t *testing.T) { newUser(t, s, b) })
	t.Run("delete and restore", func(t *testing.T) { deleteAndRestore(t, s, b) })
	t.Run("a night goes on", func(t *testing.T) { nightGoesOn(t, s, b) })
	t.Run("keys", func(t *testing.T) { byKeys(t, s, b) })
	t.Run("search", func(t *testing.T) { searchAsTyped(t, s, b) })
	t.Run("edit in place", func(t *testing.T) { editInPlace(t, s, b) })
	t.Run("recall", func(t *testing.T) { recallDebugger(t, s, b) })
	t.Run("approve", func(t *testing.T) { approveHeld(t, s, b) })
}

// pages are all pages of a sample, by the names of their pictures.
func (s *sample) pages() map[string]string {
	s.Helper()
	ctx := s.Context()
	group := "/ui/groups/" + url.PathEscape(halfFrame)
	runs, err := s.store.Runs(ctx, reverie.RunQuery{GroupID: halfFrame, Job: reverie.JobEvolve, Limit: 3})
	check(s, err)
	people, _, err := s.store.ListEntities(ctx, halfFrame, reverie.EntityFilter{}, 1, 0)
	check(s, err)
	reworded := s.memory(halfFrame, func(m reverie.Memory) bool { return m.Version == 2 })
	cited, err := history.New(s.store.DB()).Why(ctx, halfFrame, reworded.ID)
	check(s, err)
	return map[string]string{
		"home": "/ui/", "groups": "/ui/?q=a", "runs": "/ui/runs", "held": "/ui/held", "cost": "/ui/cost",
		"timeline": group, "memories": group + "/memories?status=all", "recall": group + "/recall?q=" + url.QueryEscape("周会什么时候？Tomas 能吃花生吗"),
		"recall-empty": group + "/recall", "conversation": group + "/conversation?around=" + url.QueryEscape(cited.Versions[1].Evidence[0].MessageID),
		"people": group + "/people", "person": group + "/people/" + people[0].ID, "dream": "/ui/groups/" + allotment + "/dream",
		"memory": "/ui/memories/" + reworded.ID, "memory-old": "/ui/memories/" + *reworded.ParentID,
		"memories-edit": group + "/memories?edit=" + reworded.ID, "memories-then": group + "/memories?at=2026-01-20", "memories-diff": group + "/memories/diff?from=2026-01-06",
		"memory-delete": "/ui/memories/" + reworded.ID + "/delete",
		"run-held":      "/ui/runs/" + runs[0].ID, "run": "/ui/runs/" + runs[2].ID, "run-undo": "/ui/runs/" + runs[2].ID + "/undo",
		"missing": "/ui/memories/nobody",
	}
}

// awkward gives the pages what they have least room for: errors in rows of short words,
// and people whose names are one long word.
func (s *sample) awkward() {
	s.Helper()
	for _, statement := range []string{
		`update runs set error = repeat('x', 60) || repeat(' the model did not answer within the time that it has,', 3) where job in ('extract', 'impression')`,
		`update messages set author = repeat('N', 180) where author = 'Maya'`,
		`update memory_evidence set author = repeat('N', 180) where author = 'Maya'`,
		`insert into groups (group_id, name, time_zone, paused) values ('harbour', 'Harbour walks', 'UTC', false), ('pier', '', 'UTC', true)`,
		`insert into messages (group_id, message_id, role, text, sent_at) values ('harbour', 'last', 'user', 'bye', now() - interval '9 days')`,
		`insert into memories (group_id, memory_id, lineage_id, kind, statement, version, status, strength, content_hash, created_at, updated_at, last_supported_at)
			select 'harbour', id, id, 'group', 'the walk leaves at nine', 1, 'active', 0.6, 'x', now(), now(), now() from (select gen_random_uuid() as id) i`,
		`insert into memory_change_log (group_id, change_id, action, memory_id, version, created_at) select group_id, gen_random_uuid(), 'strength', memory_id, 1, now() - make_interval(days => d)
			from memories, generate_series(0, 29) as d, generate_series(0, d % 7) where group_id = 'harbour' and d % 3 > 0`,
		`insert into runs (group_id, run_id, job, window_since, window_until, status, attempt, error, started_at, finished_at)
			select 'harbour', gen_random_uuid(), 'evolve', now() - interval '1 day', now(), s, 1, '', now() - interval '3 hours', now() from unnest(array['failed', 'succeeded']) as s`,
		`insert into setbacks (group_id, job, failures, error, retry_at, parked_at, updated_at) values ('harbour', 'evolve', 5, 'gemini-2.5-flash: 503 Service Unavailable: the model is overloaded; asked 5 times in 4 minutes, the last time at 03:12:44; nothing of this night was written, and its messages stay pending', now(), now(), now()),
			('harbour', 'dream', 1, 'the model did not answer in 60 s', now(), null, now())`,
	} {
		s.write(statement)
	}
}

// write does what no part of the product would, to a sample that is made.
func (s *sample) write(statement string) {
	s.Helper()
	db, err := sql.Open("postgres", pgtest.URL(s.TB))
	check(s, err)
	defer func() { check(s, db.Close()) }()
	if _, err := db.ExecContext(s.Context(), statement); err != nil {
		s.Fatalf("%s: %v", statement, err)
	}
}

// memory is the first active memory of a group that fits.
func (s *sample) memory(groupID string, fits func(reverie.Memory) bool) reverie.Memory {
	s.Helper()
	list, _, err := s.store.ListMemories(s.Context(), reverie.MemoryQuery{GroupID: groupID, Status: reverie.StatusActive})
	check(s, err)
	for _, m := range list {
		if fits(m) {
			return m
		}
	}
	s.Fatalf("group %q has no such memory among %d", groupID, len(list))
	return reverie.Memory{}
}

// everyPage looks at each page in each language, narrow and dark, then wide and light.
func everyPage(t *testing.T, s *sample, b *browser) {
	v := b.visit(t)
	v.learnsBlank()
	v.goes("/ui/login")
	v.audit("login")
	v.logsIn(s, reverie.ScopeAdmin)
	for _, lang := range []string{"en", "zh"} {
		v.goes("/ui/?lang=" + lang)
		pages := s.pages()
		for _, name := range slices.Sorted(maps.Keys(pages)) {
			v.goes(pages[name])
			if v.audit(name + "-" + lang); name == "missing" {
				v.takeProblems() // that there is no such page
			}
		}
	}
}

// audit looks at the page in both widths and schemes, and keeps pictures.
func (v *guest) audit(name string) {
	v.Helper()
	v.fits(name, 320, "light")  // a desk's 1280 at 400%
	v.fits(name, 640, "light")  // and at 200%
	v.fits(name, 1024, "light") // the least at which tables are no cards but all there
	for _, as := range []struct {
		width  int64
		scheme string
	}{{narrow, "dark"}, {wide, "light"}} {
		v.fits(name, as.width, as.scheme)
		for _, wrong := range eval[[]string](v, auditScript) {
			v.Errorf("%s, %s: %s", name, as.scheme, wrong)
		}
		if v.all || (as.width == wide) != strings.HasSuffix(name, "-zh") { // of each language one, unless people look at them
			v.shoots(name+"-"+as.scheme, as.width)
		}
	}
	for _, p := range v.takeProblems() {
		if !strings.HasPrefix(name, "missing") {
			v.Errorf("%s: %s", name, p)
		}
	}
}

// fits looks at the page in a width, of which nothing reaches beyond the screen.
func (v *guest) fits(name string, width int64, scheme string) {
	v.Helper()
	v.look(width, scheme)
	if over := eval[int](v, `document.scrollingElement.scrollWidth - innerWidth`); over > 0 {
		v.Errorf("%s is %d pixels wider than a screen of %d: %s", name, over, width, eval[string](v, widest))
	}
}

// widest names the elements that reach beyond the screen.
const widest = `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth).slice(0, 3).map(e => e.outerHTML.slice(0, 120)).join("\n")`

// newUser logs in and looks around by keyboard alone.
func newUser(t *testing.T, s *sample, b *browser) {
	v := b.visit(t)
	v.look(wide, "light")
	v.goes("/ui/held?lang=en")
	v.tabTo("Skip to the content")
	v.tabTo("token")
	v.types("rvr_nobody")
	v.enters()
	v.says("reverie token create")
	if got := eval[string](v, "location.pathname"); got != "/ui/login" {
		t.Errorf("with a wrong token one comes to %s", got)
	}
	v.takeProblems() // that it was refused
	v.logsIn(s, reverie.ScopeRead)
	if got := v.h1(); got != "Overview" {
		t.Errorf("a login leads to %q", got)
	}
	follow := func(link, h1 string) {
		t.Helper()
		v.tabTo(link)
		v.enters()
		if got := v.h1(); got != h1 {
			t.Errorf("%q leads to %q", link, got)
		}
	}
	follow("Review", "Pending review")
	v.says("need a token of scope admin")
	follow("Overview", "Overview")
	follow("半格 Half Frame", "Timeline")
	follow("Dream", "Dreams")
	follow("People", "People and things")
	follow("Tomas", "Tomas")
	follow("Memories", "Memories")
	follow("以后周会改到周二晚上九点，还是语音频道", "以后周会改到周二晚上九点，还是语音频道")
	follow("那就这样，以后周会改到周二晚上九点，还是语音频道。", "Conversation")
	if here := eval[string](v, `document.querySelector(".here .text").innerText`); here != "那就这样，以后周会改到周二晚上九点，还是语音频道。" {
		t.Errorf("the evidence leads to the message %q", here)
	}
	v.goes("/ui/")
	follow("中文", "总览")
	follow("退出", "登录")
	if problems := v.takeProblems(); len(problems) > 0 {
		t.Errorf("%q", problems)
	}
}

// deleteAndRestore edits a memory with the page's forms.
func deleteAndRestore(t *testing.T, s *sample, b *browser) {
	v := b.visit(t)
	v.logsIn(s, reverie.ScopeWrite)
	m := s.memory(halfFrame, func(m reverie.Memory) bool { return strings.HasPrefix(m.Statement, "Lightleak is written") })
	v.goes("/ui/memories/" + m.ID + "?lang=en")
	v.run(chromedp.Click("summary.button"))
	v.run(chromedp.SetValue("#strength", "0.75"))
	v.moves(chromedp.Submit("#strength"))
	v.says("The strength was set.")
	v.run(chromedp.Click("summary.button"))
	v.moves(chromedp.Click("a.danger"))
	v.run(chromedp.SetValue("#reason", strings.Repeat("很", reverie.MaxReason+1)))
	v.moves(chromedp.Evaluate[chromedp.Void](`document.querySelector("main form").submit()`))
	v.says("the reason has 301 characters")
	v.goes("/ui/memories/" + m.ID + "/delete")
	v.run(chromedp.SendKeys("#reason", "it <b>is</b> open now"))
	v.moves(chromedp.Submit("#reason"))
	v.says("Deleted.")
	v.says("it <b>is</b> open now")
	v.moves(chromedp.Click("button.primary"))
	v.says("Restored")
	why, err := history.New(s.store.DB()).Why(t.Context(), halfFrame, m.ID)
	check(t, err)
	now := why.Memory
	if now.Version != 2 || now.Status != reverie.StatusActive || now.Statement != m.Statement || why.Versions[0].Memory.Strength != 0.75 {
		t.Errorf("afterwards: %+v", why)
	}
	v.goes("/ui/memories/" + m.ID)
	v.says("You opened version 1.")
	if eval[bool](v, `!!document.querySelector("main form")`) {
		t.Error("an old version can be edited")
	}
}

// nightGoesOn watches a run begin and end without touching the page.
func nightGoesOn(t *testing.T, s *sample, b *browser) {
	v := b.visit(t)
	v.logsIn(s, reverie.ScopeRead)
	v.goes("/ui/?lang=en")
	s.write(`insert into runs (group_id, run_id, job, window_since, window_until, status, attempt, started_at)
		values ('pier', gen_random_uuid(), 'evolve', now() - interval '1 day', now(), 'running', 1, now())`)
	v.run(chromedp.WaitVisible(`[data-run]`))
	v.says("interrupted; the next run resumes it")
	if eval[bool](v, `!document.getElementById("ended").hidden`) {
		t.Error("it is said to have ended at once")
	}
	s.write(`update runs set status = 'succeeded', finished_at = now() where group_id = 'pier'`)
	v.run(chromedp.WaitVisible(`#ended`))
	v.says("A run has ended since you opened this page.")
	if problems := v.takeProblems(); len(problems) > 0 {
		t.Errorf("%q", problems)
	}
}

// byKeys goes about with the page's own keys.
func byKeys(t *testing.T, s *sample, b *browser) {
	v := b.visit(t)
	v.logsIn(s, reverie.ScopeRead)
	v.goes("/ui/groups/" + allotment + "/memories?lang=en&sort=oldest")
	at := func(want string) {
		t.Helper()
		if got := eval[string](v, `document.activeElement.id || document.activeElement.innerText`); got != want {
			t.Errorf("the focus is on %q, and not on %q", got, want)
		}
	}
	row := func(n int) string {
		return eval[string](v, fmt.Sprintf(`document.querySelectorAll("main tbody tr")[%d].querySelector("a").innerText`, n))
	}
	first, second := row(0), row(1)
	v.types("j")
	at(first)
	v.types("j")
	at(second)
	v.types("kk")
	at(first)
	if eval[bool](v, `document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true, cancelable: true }))`) {
		t.Error("the / itself goes on into the field")
	}
	at("q")
	v.types("jk?")
	if typed := eval[string](v, `document.getElementById("q").value`); typed != "jk?" {
		t.Errorf("into the field went %q", typed)
	}
	v.types(kb.Escape)
	if at := eval[string](v, `document.activeElement.tagName`); at != "BODY" {
		t.Errorf("after Esc the focus is on %s", at)
	}
	v.types("?")
	open := `document.getElementById("keys").open`
	if !eval[bool](v, open) || !strings.Contains(eval[string](v, `document.getElementById("keys").innerText`), "next and previous row") {
		t.Error("? shows no keys")
	}
	v.types(kb.Escape)
	if eval[bool](v, open) {
		t.Error("Esc does not close the keys")
	}
	v.run(chromedp.Click(`#show-keys`))
	if !eval[bool](v, open) {
		t.Error("the link below shows no keys")
	}
	v.run(chromedp.Click(`#keys button`))
	v.goes("/ui/?lang=en")
	v.types("jjj")
	v.enters()
	if got := v.h1(); got == "Overview" {
		t.Error("Enter does not open the row")
	}
}

// searchAsTyped finds memories while their words are typed, and keeps what was looked for
// in the address.
func searchAsTyped(t *testing.T, s *sample, b *browser) {
	v := b.visit(t)
	v.logsIn(s, reverie.ScopeRead)
	v.goes("/ui/groups/" + url.PathEscape(halfFrame) + "/memories?lang=en")
	v.goes("/ui/groups/" + url.PathEscape(halfFrame) + "/memories")
	v.tabTo("Search")
	found := func(want string, rows int) {
		t.Helper()
		v.run(chromedp.Poll[chromedp.Void](`document.querySelectorAll("#results tbody tr").length === ` + fmt.Sprint(rows) + ` && document.getElementById("results").ariaBusy === "false"`))
		if !strings.Contains(eval[string](v, `document.getElementById("results").innerText`), want) {
			t.Errorf("%q is not among what was found", want)
		}
	}
	v.types("PEANUT tomas")
	found("Tomas is allergic to peanuts", 1)
	if address := eval[string](v, "location.search"); address != "?q=PEANUT+tomas&type=all&status=active&kind=all&sort=changed" {
		t.Errorf("the address is %q", address)
	}
	if at := eval[string](v, "document.activeElement.id"); at != "q" {
		t.Errorf("after the search the focus is on %q", at)
	}
	v.types(" nobody")
	found("No memories match.", 0)
	v.goes(eval[string](v, "location.pathname + location.search"))
	v.says("No memories match.")
	v.goes("/ui/?lang=en")
	v.goes("/ui/")
	v.run(chromedp.SendKeys("#q", "harb"))
	found("Harbour walks", 1)
	v.says("Pending review")
	if problems := v.takeProblems(); len(problems) > 0 {
		t.Errorf("%q", problems)
	}
}

// editInPlace gives a memory other words in the list in which it was found.
func editInPlace(t *testing.T, s *sample, b *browser) {
	v := b.visit(t)
	v.logsIn(s, reverie.ScopeWrite)
	v.goes("/ui/groups/" + allotment + "/memories?lang=en&q=fee&sort=strength")
	v.moves(chromedp.Click(`//a[text()="Edit"]`))
	if in := eval[string](v, `document.querySelector("#edit textarea").value`); !strings.Contains(in, "fee") {
		t.Errorf("what is edited is %q", in)
	}
	v.run(chromedp.SetValue("#statement", "The annual fee is waived for helpers"), chromedp.SendKeys("#reason", "the meeting of March"))
	v.moves(chromedp.Submit("#reason"))
	v.says("Saved as a new version.")
	v.says("The annual fee is waived for helpers")
	if at := eval[string](v, "location.search"); at != "?q=fee&sort=strength" {
		t.Errorf("after the edit one is at %q", at)
	}
	m := s.memory(allotment, func(m reverie.Memory) bool { return m.Statement == "The annual fee is waived for helpers" })
	why, err := history.New(s.store.DB()).Why(t.Context(), allotment, m.ID)
	check(t, err)
	if last := why.Versions[len(why.Versions)-1]; last.Reason != "the meeting of March" || m.Version != 2 || len(m.Tags) != len(why.Versions[0].Memory.Tags) {
		t.Errorf("the new version: %+v", last)
	}
}

// recallDebugger asks for a context, which is no use of anything.
func recallDebugger(t *testing.T, s *sample, b *browser) {
	v := b.visit(t)
	v.logsIn(s, reverie.ScopeRead)
	v.goes("/ui/groups/" + url.PathEscape(halfFrame) + "/recall?lang=en")
	v.run(chromedp.SendKeys("#q", "is Tomas allergic to peanuts?"))
	v.moves(chromedp.Submit("#q"))
	v.says("What the bot gets")
	statement := "Tomas is allergic to peanuts, so no peanut snacks at meetups"
	if first := eval[string](v, `document.querySelector("table tbody th a").innerText`); first != statement {
		t.Errorf("the best candidate is %q", first)
	}
	if text := eval[string](v, `document.querySelector("pre.injected").innerText`); !strings.Contains(text, statement) {
		t.Errorf("the text is %q", text)
	}
	why, err := history.New(s.store.DB()).Why(t.Context(), halfFrame, s.memory(halfFrame, func(m reverie.Memory) bool { return m.Statement == statement }).ID)
	check(t, err)
	if why.Usage.Offered != 0 {
		t.Errorf("it counted as use: %+v", why.Usage)
	}
}

// approveHeld decides on what waits: one plan is approved, of which a line is stale by
// then, and one is rejected.
func approveHeld(t *testing.T, s *sample, b *browser) {
	fee := s.memory(allotment, func(m reverie.Memory) bool { return strings.HasPrefix(m.Statement, "The annual fee") })
	_, err := s.store.Edit(t.Context(), reverie.Edit{GroupID: allotment, MemoryID: fee.ID, Action: reverie.ActionDelete})
	check(t, err)
	v := b.visit(t)
	v.logsIn(s, reverie.ScopeAdmin)
	v.goes("/ui/held?lang=en")
	v.says("work mornings are every Sunday at 10am")
	v.moves(chromedp.Click(`//section[contains(., "allotment")]//button[text()="Approve"]`))
	v.says("Approved: 1 change was written.")
	v.says("1 line was refused")
	s.memory(allotment, func(m reverie.Memory) bool { return strings.HasPrefix(m.Statement, "work mornings are every Sunday") })
	v.goes("/ui/held")
	v.moves(chromedp.Click(`//button[text()="Reject"]`))
	v.says("Rejected: nothing was written.")
	v.goes("/ui/held")
	v.says("Nothing to review.")
}
