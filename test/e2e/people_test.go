package e2e

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
)

// paces are how a sample chat is taken in. What is true does not depend on it, so
// each is tried with one of the chats.
var paces = map[string]struct {
	nightly bool
	env     string
}{
	"night by night":            {true, "REVERIE_IMPRESSION_MAX_SUBJECTS=8"},
	"all at once":               {false, "REVERIE_IMPRESSION_MAX_SUBJECTS=8"},
	"one subject to a question": {true, "REVERIE_IMPRESSION_MAX_SUBJECTS=1"},
	"seven messages to a chunk": {false, "REVERIE_IMPRESSION_MAX_MESSAGES=7"},
}

// live imports a sample chat and takes it in, people and things being followed. It
// returns what is known of them at the end.
func (s *stage) live(w *truth, pace string, args ...string) []reverie.EntityReply {
	s.t.Helper()
	s.set("REVERIE_IMPRESSION_ENABLED=true", "REVERIE_EMBED_PROVIDER=offline", paces[pace].env)
	s.feed(jsonLines(s.t, w.chat), "import", "-", "--group", w.GroupID, "--time-zone", w.TimeZone, "--language", w.Language).want(s.t, 0)
	evolve := append([]string{"evolve", "--group", w.GroupID}, args...)
	if !paces[pace].nightly {
		s.run(evolve...).want(s.t, 0)
	}
	for _, date := range w.dates() {
		if !paces[pace].nightly {
			break
		}
		day, err := time.Parse(time.DateOnly, date)
		if err != nil {
			s.t.Fatal(err)
		}
		s.run(append(evolve, "--since", date, "--until", day.AddDate(0, 0, 1).Format(time.DateOnly))...).want(s.t, 0)
	}
	if waits := s.one(`select count(*) from message_uses where job = 'impression' and run_id is null`); waits != "0" {
		s.t.Errorf("%s messages wait for impressions after the last night", waits)
	}
	var page reverie.EntitiesReply
	s.read(&page, "entity", "list", "--group", w.GroupID, "--limit", "500")
	var list []reverie.EntityReply
	for _, e := range page.Entities {
		var one reverie.OneEntityReply
		s.read(&one, "entity", "show", "--group", w.GroupID, e.EntityID)
		list = append(list, one.EntityReply)
	}
	if page.Total != len(list) {
		s.t.Errorf("%d of %d entities are listed", len(list), page.Total)
	}
	return list
}

// read is what a command answers under --json.
func (s *stage) read(into any, args ...string) {
	s.t.Helper()
	o := s.run(append(args, "--json")...).want(s.t, 0).silent(s.t)
	if err := json.Unmarshal([]byte(o.stdout), into); err != nil {
		s.t.Fatalf("reverie %s: %v\n%s", strings.Join(args, " "), err, o.stdout)
	}
}

// ownWordsStand tells of each lineage of claims that began in somebody's own
// words whether others' words took its place.
func (s *stage) ownWordsStand(list []reverie.EntityReply) {
	s.t.Helper()
	for _, e := range list {
		var h reverie.EntityHistoryReply
		s.read(&h, "entity", "history", e.EntityID)
		self := map[string]bool{}
		for _, c := range h.Claims {
			if before, seen := self[c.LineageID]; seen && before != c.Self {
				s.t.Errorf("%s: %q took the place of what was said by another sort of speaker", e.Subject, c.Value)
			}
			self[c.LineageID] = c.Self
		}
	}
}

// judge compares what is known with the truth and returns the share of it that
// was found.
func (s *stage) judge(w *truth, list []reverie.EntityReply) float64 {
	s.t.Helper()
	for _, v := range w.violations(list) {
		s.t.Error(v)
	}
	s.ownWordsStand(list)
	words, of := w.found(list)
	var missing []string
	for _, f := range w.Facts {
		if (f.State == stateHolds || f.State == stateHearsay) && !slices.Contains(words, f.Word) {
			missing = append(missing, f.Word)
		}
	}
	var claims int
	for _, e := range list {
		claims += len(claimsOf(e))
	}
	s.t.Logf("%s: %d of %d facts found, missing %q; %d entities, %d claims", w.GroupID, len(words), of, missing, len(list), claims)
	return float64(len(words)) / float64(of)
}

// TestPeopleScripted: with a model that reads well, but names ids, joins people,
// believes the bot and misquotes besides, all of the truth is found and nothing
// else; what nobody can assign waits.
func TestPeopleScripted(t *testing.T) {
	t.Parallel()
	for name, pace := range map[string]string{"harbor": "one subject to a question", "banshan": "seven messages to a chunk"} {
		t.Run(name+", "+pace, func(t *testing.T) {
			t.Parallel()
			s, w := newStage(t), readTruth(t, name)
			s.model.Respond(func(r llmtest.Request) llmtest.Answer { return llmtest.Text(w.observe(t, r)) })
			list := s.live(w, pace)
			if share := s.judge(w, list); share < 1 {
				t.Errorf("%.2f of the truth was found, want all", share)
			}
			s.whole(w, list)
		})
	}
}

// whole fails the test where an account lacks a name that it wrote under, or what
// nobody can assign does not wait.
func (s *stage) whole(w *truth, list []reverie.EntityReply) {
	s.t.Helper()
	for _, e := range list {
		for _, account := range e.Accounts {
			if names := append([]string{e.Subject}, e.Aliases...); len(names) != len(w.People[account]) {
				s.t.Errorf("%s is called %q, want %q", account, names, w.People[account])
			}
		}
	}
	var waiting reverie.WaitingReply
	s.read(&waiting, "entity", "waiting", "--group", w.GroupID)
	for _, f := range w.Facts {
		if f.State == stateWaits && !slices.ContainsFunc(waiting.Observations, func(o reverie.Observation) bool {
			return o.Postponed == reverie.PostponedAmbiguous && slices.ContainsFunc(o.Claims, func(c reverie.ObservedClaim) bool { return strings.Contains(c.Value, f.Word) })
		}) {
			s.t.Errorf("%q does not wait: %v", f.Word, waiting.Observations)
		}
	}
}

// TestMergeSettlesWhatWaits: once a person says that those two are one, what was
// said of their name is said of them, by the next run.
func TestMergeSettlesWhatWaits(t *testing.T) {
	t.Parallel()
	s, w := newStage(t), readTruth(t, "harbor")
	s.model.Respond(func(r llmtest.Request) llmtest.Answer { return llmtest.Text(w.observe(t, r)) })
	list := s.live(w, "all at once")
	id := map[string]string{}
	for _, e := range list {
		for _, account := range e.Accounts {
			id[account] = e.EntityID
		}
	}
	malaga := func() (waits, said bool) {
		var waiting reverie.WaitingReply
		s.read(&waiting, "entity", "waiting", "--group", w.GroupID)
		waits = slices.ContainsFunc(waiting.Observations, func(o reverie.Observation) bool {
			return slices.ContainsFunc(o.Claims, func(c reverie.ObservedClaim) bool { return c.Value == "Malaga" })
		})
		var alex reverie.OneEntityReply
		s.read(&alex, "entity", "show", id["u-alex1"])
		said = slices.ContainsFunc(alex.Features, func(f reverie.FeatureReply) bool {
			return f.Value == "Malaga" && !f.Self && slices.Equal(f.SaidBy, []string{"u-bo"})
		})
		return waits, said
	}
	s.run("entity", "merge", id["u-alex1"], id["u-alex2"], "--reason", "one plumber who teaches").want(t, 0)
	if waits, said := malaga(); !waits || said {
		t.Errorf("right after the merge: waits %v, said of them %v", waits, said)
	}
	s.bring(w.GroupID, chat("2026-03-16", "good morning")...)
	s.run("evolve", "--group", w.GroupID).want(t, 0)
	if waits, said := malaga(); waits || !said {
		t.Errorf("after the next run: waits %v, said of them %v", waits, said)
	}
}

// observeQuestion is the user part of impression_observe, as a model reads it.
type observeQuestion struct {
	Subjects []struct{ Name, Kind string } `json:"subjects"`
	Messages []struct {
		questionMessage
		Role string `json:"role"`
	} `json:"messages"`
}

type observed struct {
	Subject     string              `json:"subject"`
	Kind        string              `json:"kind"`
	Aliases     []string            `json:"aliases,omitempty"`
	EntityID    string              `json:"entity_id,omitempty"`
	Reason      string              `json:"reason"`
	Confidence  float64             `json:"confidence"`
	Evidence    []citation          `json:"evidence"`
	Impressions []map[string]string `json:"impressions,omitempty"`
	Features    []map[string]string `json:"features,omitempty"`
	Relations   []map[string]string `json:"relations,omitempty"`
}

// observe is a model that knows the truth, and lies besides. It answers the
// prompt for memories with nothing to remember.
func (w *truth) observe(t testing.TB, r llmtest.Request) string {
	var q observeQuestion
	if err := json.Unmarshal([]byte(r.User[strings.IndexByte(r.User, '{'):]), &q); err != nil {
		t.Errorf("the question is no JSON: %v\n%s", err, r.User)
	}
	if q.Subjects == nil {
		return `{"action":"none"}`
	}
	var lines []string
	say := func(o observed) {
		o.Reason, o.Confidence = "the message says so", 0.9
		o.EntityID = "0194f2c0-5b1e-7c3a-9a55-1f0f8d3b6c11" // of whomever: it chooses nobody
		if o.Kind == "" {
			o.Kind = string(reverie.EntityPerson)
		}
		raw, err := json.Marshal(o)
		if err != nil {
			t.Error(err)
		}
		lines = append(lines, string(raw))
	}
	for _, m := range q.Messages {
		quoted := []citation{{m.ID, m.Text}}
		for _, f := range w.Facts {
			if !slices.ContainsFunc(f.Messages, func(id string) bool { l, _ := w.message(id); return l.Text == m.Text }) {
				continue
			}
			o := observed{Subject: m.Author, Kind: f.Kind, Evidence: quoted}
			for called := range strings.SplitSeq(f.Called, "|") {
				if called != "" && strings.Contains(m.Text, called) {
					o.Subject = called
				}
			}
			f.put(&o)
			say(o)
		}
		for _, sub := range q.Subjects { // believes whoever says that two are one
			if other := w.joins(m.Text, sub.Name); other != "" {
				say(observed{Subject: sub.Name, Aliases: []string{other}, Evidence: quoted, Impressions: []map[string]string{{"text": "is also called " + other}}})
			}
		}
		if m.Role == string(reverie.RoleAssistant) { // believes the bot
			for _, word := range w.Never {
				for _, sub := range q.Subjects {
					if strings.Contains(m.Text, word) {
						say(observed{Subject: sub.Name, Evidence: quoted, Features: []map[string]string{{"key": "city", "value": word}}})
					}
				}
			}
		}
	}
	for i, sub := range q.Subjects { // lies: misquotes, people who are one
		other, first := q.Subjects[(i+1)%len(q.Subjects)].Name, q.Messages[0]
		never := []map[string]string{{"key": "city", "value": w.Never[0]}}
		say(observed{Subject: sub.Name, Evidence: []citation{{first.ID, sub.Name + " lives in " + w.Never[0]}}, Features: never})
		say(observed{Subject: sub.Name, Evidence: []citation{{9999, first.Text}}, Features: never})
		if other != sub.Name {
			say(observed{Subject: sub.Name, Aliases: []string{other}, Evidence: []citation{{first.ID, first.Text}}})
		}
	}
	return strings.Join(lines, "\n")
}

// joins is another member's name in a message that names a subject too.
func (w *truth) joins(text, subject string) string {
	if !strings.Contains(text, subject) {
		return ""
	}
	for _, account := range slices.Sorted(maps.Keys(w.People)) {
		names := w.People[account]
		for _, name := range names {
			if name != subject && !slices.Contains(names, subject) && strings.Contains(text, name) {
				return name
			}
		}
	}
	return ""
}

// put writes a fact into what is observed.
func (f truthFact) put(o *observed) {
	switch f.Aspect {
	case reverie.AspectImpression:
		o.Impressions = []map[string]string{{"text": f.Text}}
	case reverie.AspectRelation:
		o.Relations = []map[string]string{{"kind": f.Key, "target": f.Word}}
	default:
		o.Features = []map[string]string{{"key": f.Key, "value": f.Word}}
	}
}
