package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// today is a date of after the chats of the tests: the page says when a thread was
// closed.
var today = regexp.MustCompile(`\b20(2[6-9]|[3-9][0-9])-[0-9]{2}-[0-9]{2}\b`)

// TestDreamShow: a group before its first dream, after it, while one waits for a
// person and when it has passed, as a person sees them.
func TestDreamShow(t *testing.T) {
	t.Parallel()
	s := dreamStage(t)
	tr := &transcript{t: t, s: s, ids: map[string]string{}}
	tr.show("dream", "show")
	tr.show("dream", "show", "--group", "nobody")
	s.run("groups", "add", "new", "--dream-idle", "off").want(t, 0)
	tr.show("dream", "show", "--group", "new")
	tr.show("dream", "show", "--group", "new", "--json")

	s.hears("g1", "s1", evening, "note Lin likes green tea", "note Bo still has to send the photos")
	s.run("groups", "set", "g1", "--name", "茶友 Tea", "--time-zone", "Asia/Shanghai").want(t, 0)
	tr.show("dream", "show", "--group", "g1")
	s.run("groups", "pause", "g1").want(t, 0)
	s.exec(`insert into setbacks (group_id, job, failures, error, retry_at, parked_at, updated_at) values ('g1', 'dream', 3, 'no answer', now(), now(), now())`)
	tr.show("dream", "show", "--group", "g1")
	s.run("groups", "resume", "g1").want(t, 0)
	s.run("dream", "--group", "g1").want(t, 0)
	tr.show("dream", "show", "--group", "g1")

	s.hears("g1", "s2", evening.Add(24*time.Hour), "note Lin likes black tea (before: Lin likes green tea)",
		"note Bo sent the photos on March 3, 2025 (done: Bo still has to send the photos)")
	s.fork("REVERIE_DREAM_HOLD_MIN=0", "REVERIE_DREAM_HOLD_RATIO=0").run("dream", "--group", "g1").want(t, 0)
	tr.show("dream", "show", "--group", "g1")
	run := s.one(`select run_id from runs where job = 'dream' and status = 'held'`)
	s.run("runs", "approve", run).want(t, 0)
	tr.show("dream", "show", "--group", "g1")
	tr.show("memory", "list", "--group", "g1", "--kind", "dream", "--tag", "todo")
	tr.show("memory", "why", s.head("Lin likes black tea"))
	text := today.ReplaceAllString(tr.text.String(), "YYYY-MM-DD")
	tr.text.Reset()
	tr.text.WriteString(text)
	tr.golden("dream_show.txt")

	doc := s.run("dream", "show", "--group", "g1", "--json").want(t, 0).silent(t).document(t)
	var items []string
	for _, i := range doc["items"].(list) {
		item := i.(object)
		items = append(items, fmt.Sprint(item["type"], " ", item["done"], " ", len(item["sources"].(list)), " ", item["statement"]))
	}
	if diff := cmp.Diff([]string{"preference <nil> 2 Lin likes black tea", "todo true 2 Bo sent the photos on March 3, 2025"}, items); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	if doc["run_id"] != run || doc["through_session"] != "s2" || doc["dream_time"] == nil || doc["held_runs"] != nil || doc["narrative"] == nil || doc["status"] != "succeeded" ||
		!cmp.Equal(doc["material"], object{"sessions": 1.0, "memories": 3.0, "batches": 1.0, "calls": 1.0}) {
		t.Errorf("the reply is %v", doc)
	}
	s.exec(`update memories set status = 'archived', ended_at = now() where kind = 'dream' and status = 'active'`)
	const archive = "reverie memory list --group g1 --kind dream --status archived"
	s.run("dream", "show", "--group", "g1").want(t, 0).silent(t).shows(t, "what it left was archived or deleted", archive)
	s.run(strings.Fields(archive)[1:]...).want(t, 0).shows(t, "Lin likes black tea")
}
