//go:build torture

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"reverie/internal/fault"
	"reverie/internal/llm/llmtest"
	"reverie/internal/notify"
)

// weekOfDaemon lets one daemon live through a week, hour by hour of a clock that is turned: groups whose model is
// good, fails at times or is of no use, a network that breaks, a database that is stopped, a disk that is full, a budget
// that is spent and a webhook that is gone. In the end all is remembered that a good model was told, the memory
// of the process is that of its second day, and each alarm came once for its cause.
var weekOfDaemon = &ordeal{name: "a week of the daemon", run: func(t *testing.T, o *ordeal) {
	w := newWeek(t, o)
	for h := range w.hours() {
		w.live(h)
	}
	w.daemon.stop().clean(t)
	w.exec(`update leases set expires_at = 'epoch'`)
	o.trial(t, w.stage)
	w.remembersAll()
	w.alarmed()
	w.flat()
	o.control(t, "the time between notices of a kind", "told twice within an hour", hasty(t)...)
}}

// week is a daemon whose time is turned, and what it meets with.
type week struct {
	*clocks
	o      *ordeal
	t      *testing.T
	server *server
	disk   *disk
	daemon *process
	base   string
	hook   *receiver
	alarms *alarms

	days    int
	groups  []string
	begins  time.Time // the first hour
	resumed []string  // groups that were parked, and tried again by a person
	memory  []int     // of the daemon, in kB, by hour

	model, database atomic.Int64 // of 1,000 packets so many are lost, with their connection
	crash, up       chan struct{}
}

// kinds of models that groups have, by their number.
func modelOf(n int) string {
	return map[int]string{0: "useless", 1: "flaky", 2: "flaky", 3: "flaky"}[n%10]
}

const heldOf = 5 // of ten groups, one whose deletions are held

func newWeek(t *testing.T, o *ordeal) *week {
	w := &week{t: t, o: o, days: 7, alarms: &alarms{}, disk: newDisk(t), crash: make(chan struct{}), up: make(chan struct{})}
	groups := 200
	if testing.Short() {
		w.days, groups = 1, 12
	}
	for i := range groups {
		w.groups = append(w.groups, fmt.Sprintf("g%03d", i))
	}
	w.server = newServerIn(t, w.disk.dir(t))
	w.server.exec(`alter system set max_wal_size = '96MB'`)
	w.server.exec(`select pg_reload_conf()`)
	s := w.server.stage("week")
	told := httptest.NewServer(w.alarms)
	t.Cleanup(told.Close)
	s.set("REVERIE_NOTIFY_WEBHOOK="+told.URL, "REVERIE_SCHEDULE_EVOLVE=17 * * * *", "REVERIE_SCHEDULE_EXTRACT=27 * * * *", "REVERIE_SCHEDULE_DREAM=29 * * * *",
		"REVERIE_SCHEDULE_MAINTAIN=41 3 * * *", "REVERIE_LLM_BREAKER_FAILURES=1000", "REVERIE_LLM_TIMEOUT=2s", "REVERIE_JOBS_PARK_AFTER=3",
		"REVERIE_JOBS_CONCURRENCY=8", "REVERIE_DECIDE_ENABLED=false", "REVERIE_EVOLVE_MAX_MESSAGES=2", "REVERIE_WEBHOOKS_GIVE_UP=12h",
		"REVERIE_LOG_FORMAT=json", fmt.Sprintf("REVERIE_BUDGET_CALLS_PER_RUN=%d", max(40, groups*6/10)))
	w.clocks = s.jumpy(tortureSeed(t))
	w.disk.of = s
	for i, g := range w.groups {
		s.exec(`insert into groups (group_id, time_zone) values ($1, $2)`, g, crowdZones[i/10%len(crowdZones)])
	}
	w.hook = s.receiver()
	w.hook.turned = true
	s.run("webhooks", "add", "http://127.0.0.1:1/gone").want(t, 0)
	s.model.Respond(w.answers())
	now := time.Now().UTC()
	w.begins = time.Date(now.Year(), now.Month(), now.Day()+1, 0, 30, 0, 0, time.UTC)
	w.turn(w.begins.Add(-time.Hour))
	w.starts()
	return w
}

// starts starts the daemon, with cables between it and the servers.
func (w *week) starts() {
	lossy := func(of *atomic.Int64) *cable {
		random := rand.New(rand.NewPCG(tortureSeed(w.t), 7))
		c := newCable(w.t, func(packet) fate {
			if random.Int64N(1000) < of.Load() {
				w.o.strikes(1)
				return isReset
			}
			return passes
		})
		c.away = true
		return c
	}
	database, model := lossy(&w.database), lossy(&w.model)
	network, address, dsn := detour(w.t, w.url, database.listener.Addr().String())
	database.open(network, address)
	u, err := url.Parse(w.stage.model.URL("openai"))
	if err != nil {
		w.t.Fatal(err)
	}
	model.open("tcp", u.Host)
	u.Host = model.listener.Addr().String()
	env := append(slices.Clone(w.env), "REVERIE_DATABASE_URL="+dsn, "REVERIE_LLM_BASE_URL="+u.String(), "REVERIE_FAULT_CLOCK="+w.path,
		"GOGC=25") // what it has is near what it holds
	w.daemon = startBinary(w.t, toBreak(w.t), env, "run", "--listen", "127.0.0.1:0")
	if !w.daemon.serves() {
		w.t.Fatal(w.daemon.err.String())
	}
	w.base = servesAt.FindStringSubmatch(w.daemon.err.String())[1]
	until(w.t, "what the daemon makes up for", func() bool { return w.begun() >= 4 && w.rested() })
}

var (
	numbered   = regexp.MustCompile(`\bg\d{3}\b`)
	taskStarts = regexp.MustCompile(`"msg":"(?:task started|still running; this start is skipped)"`)
	taskEnds   = regexp.MustCompile(`"msg":"task (?:done|ended with an error)`)
)

// answers is the model of all groups.
func (w *week) answers() func(llmtest.Request) llmtest.Answer {
	ill := newIllness(w.t, tortureSeed(w.t), 0.3, ailments)
	return func(r llmtest.Request) llmtest.Answer {
		select {
		case w.crash <- struct{}{}:
			<-w.up
		default:
		}
		n, _ := strconv.Atoi(strings.TrimPrefix(numbered.FindString(r.User), "g"))
		switch modelOf(n) {
		case "useless":
			return llmtest.Prose()
		case "flaky":
			return ill.answer(transcribe(w.t, r), r)
		}
		return llmtest.Text(transcribe(w.t, r))
	}
}

// hours is how many the week has, until its last night is over in each zone, and was tried again.
func (w *week) hours() int { return 24*w.days + 12 }

// turn sets all clocks.
func (w *week) turn(to time.Time) {
	ahead := time.Until(to)
	w.clocks.database(ahead)
	w.process(ahead)
}

func (w *week) begun() int { return len(taskStarts.FindAllString(w.daemon.err.String(), -1)) }

func (w *week) rested() bool {
	said := w.daemon.err.String()
	return strings.Count(said, `"msg":"task started"`) == len(taskEnds.FindAllString(said, -1))
}

// live lets an hour go by.
func (w *week) live(h int) {
	day, hour := h/24, h%24
	if hour == 2 && day < w.days {
		w.talk(day, w.begins.Add(time.Duration(h)*time.Hour-time.Minute))
	}
	before := w.begun()
	strike := w.strikes(day, hour)
	w.turn(w.begins.Add(time.Duration(h) * time.Hour))
	until(w.t, "the tasks of an hour", func() bool { return w.begun() >= before+3 })
	strike()
	until(w.t, "the end of the tasks of an hour", w.rested)
	w.model.Store(0)
	w.database.Store(0)
	if day == 3 && hour == 8 {
		w.resumed = w.rows(`select group_id from setbacks where parked_at is not null`)
		w.run("groups", "resume", "--parked").want(w.t, 0)
	}
	w.memory = append(w.memory, w.daemon.memory())
	if hour == 0 && day > 0 {
		w.o.trial(w.t, w.stage)
	}
}

// strikes has something break in an hour in which some groups' date is over; a sample has all in its only day. What it
// returns is done as soon as the tasks have begun.
func (w *week) strikes(day, hour int) func() {
	on := func(d int) bool { return day == d || testing.Short() && day == 0 }
	switch {
	case on(1) && hour == 11:
		w.model.Store(150)
	case on(2) && hour == 23:
		w.database.Store(15)
	case on(3) && hour == 16:
		return func() {
			select {
			case <-w.crash:
				w.server.crash()
				w.server.up()
				w.o.strikes(1)
				close(w.up)
			case <-time.After(patience):
				w.t.Error("nobody was asked while the database was to be stopped")
			}
		}
	case on(4) && hour == 16 || testing.Short() && day == 1 && hour == 5:
		w.disk.fill()
		return func() {
			until(w.t, "a full disk", func() bool {
				return strings.Contains(w.daemon.err.String(), "the disk of its server is full") || w.rested()
			})
			w.disk.empty()
			w.server.answers()
			w.o.strikes(1)
		}
	}
	return func() {}
}

// talk has each group say something: all the same, but for those that let go of much, and a day on which all say a lot.
func (w *week) talk(day int, at time.Time) {
	for i, g := range w.groups {
		texts := []string{fmt.Sprintf("note %s did thing %d", g, day), "hello"}
		switch {
		case i%10 == heldOf && day == min(2, w.days-1):
			for n := range 4 {
				texts = append(texts, fmt.Sprintf("note %s owns thing %d", g, n), "well")
			}
			for n := range 4 {
				texts = append(texts, fmt.Sprintf("forget %s owns thing %d", g, n))
			}
		case day == 5:
			for n := range 5 {
				texts = append(texts, fmt.Sprintf("note %s saw thing %d", g, n), "hello")
			}
		}
		lines := chat("2025-01-01", texts...)
		for n := range lines {
			lines[n].ID, lines[n].SentAt = fmt.Sprintf("%d-%d", day, n), at.Add(time.Duration(n)*time.Second).Format(time.RFC3339)
		}
		if _, err := (apiClient{w.t, w.base}).add(g, lines...); err != nil {
			w.t.Errorf("%s: %v\n%.3000s", g, err, w.daemon.err.String())
		}
	}
}

// remembersAll fails the test where a group with a good model does not remember what was said each day, or where its
// webhook was not told of all, in order.
func (w *week) remembersAll() {
	for i, g := range w.groups {
		if modelOf(i) == "" {
			var want []string
			for day := range w.days {
				want = append(want, fmt.Sprintf("%s did thing %d", g, day))
			}
			if diff := gocmp.Diff(want, w.rows(`select statement from memories where group_id = $1 and statement like '% did thing %' and status = 'active'
					order by 1`, g)); diff != "" {
				w.t.Errorf("%s remembers (-want +got):\n%s\n%q", g, diff, w.rows(`select job, window_since, status, error from runs where group_id = $1 order by started_at`, g))
			}
		}
	}
	w.hook.mu.Lock()
	defer w.hook.mu.Unlock()
	for _, g := range w.groups {
		if diff := gocmp.Diff(w.rows(`select event_id from webhook_events where group_id = $1 and done_at is not null order by event_no`, g), w.hook.took[g]); diff != "" {
			w.t.Errorf("%s: events in order (-written +taken):\n%s", g, diff)
		}
	}
	if left := w.rows(`select e.group_id, e.type from webhook_events e join webhooks w using (webhook_id) where e.done_at is null and w.disabled_at is null`); len(left) > 0 {
		w.t.Errorf("events that were not sent: %q", left)
	}
}

// alarmed compares the alarms that came with what a person should have been told of.
func (w *week) alarmed() {
	w.alarms.mu.Lock()
	defer w.alarms.mu.Unlock()
	said := w.daemon.err.String()
	for what, n := range map[string]int{"a webhook is disabled": 1, "a notice is lost": 0, "a notice was not delivered": 0} {
		if got := strings.Count(said, `"msg":"`+what); got != n {
			w.t.Errorf("%q was said %d times, want %d", what, got, n)
		}
	}
	if got := w.rows(`select url from webhooks where disabled_at is not null`); !slices.Equal(got, []string{"http://127.0.0.1:1/gone"}) {
		w.t.Errorf("webhooks that are disabled: %q", got)
	}
	for of, causes := range map[notify.Type]string{
		notify.HeldPlan: `status = 'held'`,
		notify.NothingUsed: `status = 'failed' and error like '%unusable%' or status = 'succeeded' and (stats->>'refused')::int > 0
			and coalesce((stats->>'cited')::int, 0) = 0 and coalesce((stats->>'considered')::int, 0) > 0`,
		notify.BudgetSpent: `error like '%the budget of%'`,
	} {
		w.causes(of, causes)
	}
	types := map[notify.Type]int{}
	for _, n := range w.alarms.came {
		types[n.Type]++
	}
	w.t.Logf("alarms: %v", types)
	if types[notify.HeldPlan] == 0 || types[notify.NothingUsed] == 0 || types[notify.BudgetSpent] == 0 && !testing.Short() {
		w.t.Error("an alarm never came")
	}
	parked, told := append(w.rows(`select group_id from setbacks where parked_at is not null`), w.resumed...), []string(nil)
	for _, n := range w.alarms.came {
		if n.Type == notify.ParkedGroup {
			told = append(told, n.GroupID)
		}
	}
	slices.Sort(parked)
	slices.Sort(told)
	if diff := gocmp.Diff(parked, told); diff != "" || len(told) == 0 {
		w.t.Errorf("alarms of groups that were parked (-causes +came):\n%s", diff)
	}
	for _, twice := range w.alarms.twice() {
		w.t.Error(twice)
	}
}

// causes compares the alarms of a type with the runs that are a cause for one. A second cause within an hour is passed
// over.
func (w *week) causes(of notify.Type, runs string) {
	left := map[string]time.Time{}
	for _, n := range w.alarms.came {
		if n.Type == of {
			left[n.GroupID+"|"+n.RunID] = n.At
		}
	}
	told := map[string]time.Time{} // by group
	for _, row := range w.rows(`select group_id, run_id, extract(epoch from finished_at)::bigint from runs where ` + runs + ` order by finished_at`) {
		words := strings.Split(row, "|")
		seconds, _ := strconv.ParseInt(words[2], 10, 64)
		ended := time.Unix(seconds, 0)
		at, is := left[words[0]+"|"+words[1]]
		switch {
		case is:
			told[words[0]] = at
			delete(left, words[0]+"|"+words[1])
		case ended.Sub(told[words[0]]) > notify.Every+time.Minute: // the clocks are not one
			w.t.Errorf("nobody was told of %s: run %s of %s, %v", of, words[1], words[0], ended)
		}
	}
	for which := range left {
		if of == notify.BudgetSpent && strings.HasSuffix(which, "|") { // no run was begun
			continue
		}
		w.t.Errorf("%s was told of without a cause: %s", of, which)
	}
}

// flat fails the test where the daemon has grown beyond its second day, but for what the collector of garbage is late by.
func (w *week) flat() {
	early, late := slices.Max(w.memory[min(24, len(w.memory)/2):min(48, len(w.memory)-1)]), slices.Max(w.memory[max(0, len(w.memory)-24):])
	w.t.Logf("the daemon had %d kB on its second day at most, and %d kB on its last", early, late)
	if !testing.Short() && 5*late > 6*early {
		w.t.Errorf("the daemon grows: by hour it has %d kB", w.memory)
	}
}

// memory is how much of it a process has of its own, in kB: without the pages of its file.
func (p *process) memory() int {
	p.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "RssAnon:")
	n, err := strconv.Atoi(strings.Fields(rest + " ?")[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// alarms are the notices that came.
type alarms struct {
	mu   sync.Mutex
	came []notify.Notice
}

func (a *alarms) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var n notify.Notice
	a.mu.Lock()
	defer a.mu.Unlock()
	if json.NewDecoder(r.Body).Decode(&n) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	a.came = append(a.came, n)
}

// twice are those that came within an hour of one of their group and type.
func (a *alarms) twice() (list []string) {
	last := map[string]time.Time{}
	all := slices.SortedStableFunc(slices.Values(a.came), func(x, y notify.Notice) int { return cmp.Or(x.At.Compare(y.At), 0) })
	for _, n := range all {
		key := fmt.Sprint(n.Type, " of ", n.GroupID)
		if at, had := last[key]; had && n.At.Sub(at) < notify.Every-time.Minute { // the clocks are not one
			list = append(list, fmt.Sprintf("%s was told twice within an hour: at %v and %v", key, at, n.At))
		}
		last[key] = n.At
	}
	return list
}

// hasty has a group fail twice where nothing keeps notices apart, and returns what is wrong.
func hasty(t *testing.T) []string {
	s, a := newStage(t), &alarms{}
	told := httptest.NewServer(a)
	t.Cleanup(told.Close)
	s.set("REVERIE_EMBED_PROVIDER=offline", "REVERIE_NOTIFY_WEBHOOK="+told.URL, "REVERIE_FAULT_OFF="+fault.Notice)
	s.model.Respond(func(llmtest.Request) llmtest.Answer { return llmtest.Prose() })
	s.bring("g1", chat("2025-03-03", "we have tea")...)
	for range 2 {
		s.broken("evolve", "--group", "g1").want(t, 1)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.twice()
}
