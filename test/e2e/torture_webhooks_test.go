//go:build torture

package e2e

import (
	"fmt"
	"slices"
	"sync"

	"reverie/internal/fault"
)

// told is an evolve of which a webhook is told, of whom each double has one of its own: of
// each event, in order.
func told() *play {
	var mu sync.Mutex
	all := map[string]*receiver{}
	of := func(s *stage) *receiver {
		mu.Lock()
		defer mu.Unlock()
		if all[s.url] == nil {
			all[s.url] = s.receives()
		}
		return all[s.url]
	}
	return &play{name: "evolve, told to a webhook", past: func(s *stage) {
		eventfulPast(s)
		s.set("REVERIE_WEBHOOKS_ALLOW_PRIVATE=true")
		s.run("webhooks", "add", "http://127.0.0.1:1").want(s.t, 0)
	}, args: func(s *stage) []string {
		of(s)
		return []string{"evolve", "--group", "template", "--until", "2025-03-06"}
	}, ends: func(s *stage) []string {
		s.flush()
		return slices.Concat(s.state("template"), s.events(of(s)))
	}, control: control{fault.Sent, "note that an event was sent: committed", "noting an event only when it was taken", "never taken: "}}
}

// events are what was written for a receiver, in the order in which it took them.
func (s *stage) events(r *receiver) (rows []string) {
	s.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	const event = `select e.type, e.detail, m.statement, r.job from webhook_events e left join memories m using (group_id, memory_id)
		left join runs r on r.group_id = e.group_id and r.run_id = e.run_id where e.event_id = $1`
	for _, id := range r.took["template"] {
		rows = append(rows, "took "+s.one(event, id))
	}
	for _, id := range s.rows(`select event_id from webhook_events where group_id = 'template' order by event_no`) {
		if r.said[id] == "" {
			rows = append(rows, fmt.Sprint("never taken: ", s.one(event, id)))
		}
	}
	return rows
}
