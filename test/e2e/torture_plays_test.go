//go:build torture

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reverie/cmd/reverie/command"
	"strings"
)

// plays are what is killed at each of its steps.
var plays = []*play{
	{name: "evolve", past: eventfulPast, args: invocation("evolve", "--group", "template", "--until", "2025-03-06")},
	{name: "evolve, embedding", past: func(s *stage) {
		s.embedsOnline()
		eventfulPast(s)
	}, args: invocation("evolve", "--group", "template", "--until", "2025-03-06")},
	{name: "evolve, comparing", past: func(s *stage) {
		s.set("REVERIE_DECIDE_COMPARE_SHOWN=true", "REVERIE_DECIDE_CANDIDATE_MIN_SCORE=0.3")
		eventfulPast(s)
	}, args: invocation("evolve", "--group", "template", "--until", "2025-03-06")},
	{name: "evolve and impressions", past: func(s *stage) {
		seenPast(s)
		s.set(impressionsOn)
		s.bring("template", chat("2025-03-06", "self city Braga", "note The group meets on Fridays", "about Bo pet Rex", "  ")...)
	}, args: invocation("evolve", "--due")},
	{name: "impression", past: seenPast, args: invocation("impression", "--group", "template"), control: keepsAnswers("apply chunk of run to the entities of group: begun")},
	{name: "extract and fold", past: spokenPast, args: invocation("extract", "--due", "--group", "template")},
	{name: "dream", past: dreamtPast, args: invocation("dream", "--due", "--group", "template")},

	{name: "import", past: func(s *stage) { s.file("chat.jsonl", jsonLines(s.t, manyLines(2300))) },
		args: func(s *stage) []string {
			return []string{"import", s.path("chat.jsonl"), "--group", "template", "--time-zone", "Asia/Shanghai"}
		}},
	pulled(),
	{name: "backfill", past: func(s *stage) {
		s.nightsOf("g1", 3, 5)
		s.nightsOf("template", 4, 6)
	}, args: invocation("backfill", "--from", night(3), "--to", night(12), "--yes")},
	{name: "backfill --replay", past: historicPast, args: invocation("backfill", "--replay", "--from", night(5), "--to", night(12), "--yes"),
		again: func(s *stage) []string {
			words := []string{"backfill", "--from", night(5), "--to", night(12), "--yes"}
			if s.one(`select count(*) from runs where undone_at is not null`) == "0" {
				words = append(words, "--replay") // nothing was taken back yet
			}
			return words
		}},

	{name: "undo a run", past: historicPast, done: command.ExitError, args: func(s *stage) []string {
		return []string{"runs", "undo", s.one(`select run_id from runs where job = 'evolve' order by window_since desc limit 1`)}
	}},
	{name: "undo a run, reading again", past: historicPast, done: command.ExitError, args: func(s *stage) []string {
		return []string{"runs", "undo", "--requeue", s.one(`select run_id from runs where job = 'evolve' order by window_since desc limit 1`)}
	}},
	{name: "undo a range", past: historicPast, args: invocation("runs", "undo", "--group", "template", "--since", night(7), "--requeue")},
	{name: "approve", past: heldPast, done: command.ExitError, args: heldRun("approve")},
	{name: "reject, reading again", past: heldPast, done: command.ExitError, args: heldRun("reject", "--requeue")},
	{name: "apply a plan", past: func(s *stage) {
		eventfulPast(s)
		s.run("plan", "--group", "template", "-o", s.path("plan.json")).want(s.t, 0)
	}, args: func(s *stage) []string { return []string{"apply", s.path("plan.json")} }},

	{name: "maintain", past: func(s *stage) {
		historicPast(s)
		s.set("REVERIE_FORGET_TENTATIVE_NIGHTS=1", "REVERIE_MAINTAIN_BATCH=5")
		s.bring("template", chat("2025-06-01", "hello")...)
	}, args: invocation("maintain")},
	{name: "erase", past: func(s *stage) {
		eventfulPast(s)
		s.run("evolve", "--group", "template").want(s.t, 0)
		s.hears("template", "s1", evening, "note Lin likes green tea")
	}, args: invocation("erase", "--author", "lin", "--group", "template", "--yes")},
	{name: "clean", past: historicPast, args: invocation("memory", "clean", "--group", "template", "--below", "0.4", "--yes")},
	{name: "import memories", past: func(s *stage) {
		historicPast(s)
		s.run("memory", "export", "--group", "template", "-o", s.path("memories.jsonl")).want(s.t, 0)
		s.exec(`truncate groups, llm_calls cascade`) // as where it is brought to another database
	}, args: func(s *stage) []string { return []string{"memory", "import", s.path("memories.jsonl")} }},
	{name: "export of memories", past: historicPast, args: func(s *stage) []string {
		return []string{"memory", "export", "--group", "template", "-o", s.exported()}
	}, file: (*stage).exported},
	{name: "share with a team", past: func(s *stage) {
		historicPast(s)
		s.run("team", "create", "crew").want(s.t, 0)
	}, args: func(s *stage) []string {
		return append([]string{"team", "share", "--team", "crew"}, s.rows(`select memory_id from memories where group_id = 'template' and status = 'active' order by statement collate "C" limit 3`)...)
	}},
	teamPush(), teamPull(),
	inBatches, told(), liveChat, watchedPages(),
	{name: "link", past: acquaintedPast, args: acquainted("link"), beyond: peanuts, control: inPieces(oneEnd)},
	{name: "unlink", past: linkedPast, args: acquainted("unlink"), beyond: peanuts, done: command.ExitError, control: inPieces(oneEnd)},
	{name: "scope", past: linkedPast, args: func(s *stage) []string {
		return []string{"memory", "scope", s.one(peanutFact), "group", "--reason", "she asked for it"}
	}, again: func(s *stage) []string {
		if s.one(`select scope from memory_scopes`) == "group" {
			return []string{"memory", "show", s.one(peanutFact)}
		}
		return []string{"memory", "scope", s.one(peanutFact), "group", "--reason", "she asked for it"}
	}, beyond: peanuts, control: inPieces(`{"action": "scope", "old_id": "memory group Lin is allergic to peanuts v1", "run_id"`)}, // it is changed, and no change says so
	{name: "replay", past: historicPast, args: invocation("replay", "--group", "template", "--from", night(10), "--to", night(11), "--recorded")},
}

// invocation is a command whose words are known beforehand.
func invocation(list ...string) func(*stage) []string {
	return func(*stage) []string { return list }
}

// heldRun decides on the run that waits.
func heldRun(verb string, more ...string) func(*stage) []string {
	return func(s *stage) []string {
		return append([]string{"runs", verb, s.one(`select distinct run_id from held_plans`)}, more...)
	}
}

// path is that of a file of the stage's.
func (s *stage) path(name string) string { return filepath.Join(s.home, name) }

// exported is a file of the stage's own, which its doubles do not share.
func (s *stage) exported() string {
	u, err := url.Parse(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.path(filepath.Base(u.Path) + ".jsonl")
}

// exportLines are what lasts of an exported file: all but the first line, which tells the
// time, and the last, a checksum. None where there is no file.
func (s *stage) exportLines(path string) []string {
	s.t.Helper()
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	if err != nil || len(lines) < 3 {
		s.t.Errorf("an export of %d lines: %v", len(lines), err)
		return nil
	}
	return lines[1 : len(lines)-1]
}

func (s *stage) file(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// pulled is two chats of a server that hands them over.
func pulled() *play {
	var url string
	return &play{name: "pull", past: func(s *stage) {
		s.set("REVERIE_PULL_TOKEN=clb_secret")
		url = newPullServer(s.t).URL + "/api/"
	}, args: func(*stage) []string { return []string{"pull", url} }}
}

// eventfulPast is a night, and the messages of one in which everything happens.
func eventfulPast(s *stage) {
	s.set("REVERIE_EVOLVE_MAX_MESSAGES=5")
	first, second := nights()
	s.bring("template", first...)
	s.run("evolve", "--group", "template").want(s.t, 0)
	s.bring("template", second...)
}

// heldPast is eventfulPast with the second night, whose last plan waits for a person.
func heldPast(s *stage) {
	eventfulPast(s)
	s.run("evolve", "--group", "template").want(s.t, 0)
}

// seenPast is two nights in which people were spoken of, and impressions that take
// several chunks and questions.
func seenPast(s *stage) {
	s.set("REVERIE_IMPRESSION_MAX_MESSAGES=4", "REVERIE_IMPRESSION_MAX_SUBJECTS=1")
	s.bring("template", chat(night(3), "self city Porto", "self city Lisbon", "about Bo pet Miso", "hello", "about Mia job nurse", "self job doctor")...)
	s.bring("template", chat(night(4), "self city Faro", "about Bo pet Miso", "good night", "about Lin city Rome")...)
	s.run("evolve", "--due").want(s.t, 0)
	s.run("groups", "set", "template", "--impressions", "on").want(s.t, 0)
}

// spokenPast is a session that makes three chunks and a fold, and one that is not due.
func spokenPast(s *stage) {
	s.set("REVERIE_SESSION_MAX_MESSAGES=4", "REVERIE_SHORT_TERM_MAX_ITEMS=2", "REVERIE_SHORT_TERM_COMPRESSION_THRESHOLD=4", "REVERIE_SHORT_TERM_EXPIRE_AFTER=0s")
	s.bring("template", spoken("s1", evening, "note Lin drinks tea", "note Mia hosts the game nights", "change Lin drinks tea => Lin drinks coffee", "hello",
		"note Bo takes the minutes", "good night")...)
	s.bring("template", spoken("s2", evening, "note Ann waters the plants")...)
}

// dreamtPast is two sessions of which a dream asks in parts, and for vectors.
func dreamtPast(s *stage) {
	s.embedsOnline()
	s.set("REVERIE_DECIDE_ENABLED=false", "REVERIE_DREAM_MAX_INPUT_TOKENS=4000", "REVERIE_DREAM_MAX_ITEMS=30")
	s.dreamers()
}

// historicPast is ten nights that were evolved.
func historicPast(s *stage) {
	for day, texts := range chatHistory(seeded(7)) {
		s.bring("template", chat(night(day), texts...)...)
	}
	s.run("evolve", "--due").want(s.t, 0)
}

// manyLines are messages of two people over several days.
func manyLines(n int) []chatLine {
	var lines []chatLine
	for i := range n {
		author := []string{"Lin", "Mia"}[i%2]
		lines = append(lines, chatLine{ID: fmt.Sprint("m", i), AuthorID: strings.ToLower(author), Author: author, Text: fmt.Sprint("line ", i),
			SentAt: fmt.Sprintf("2025-03-%02dT%02d:%02d:%02dZ", 1+i/1000, i/60%16, i%60, i%7)})
	}
	return lines
}
