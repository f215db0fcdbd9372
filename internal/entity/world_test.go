package entity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
)

// world is a group's entities kept in memory: it goes through the pure steps as a
// run does, and applies their plans.
type world struct {
	t        testing.TB
	loc      *time.Location
	at       time.Time         // of the next message
	now      time.Time         // of the run, zero for that of its newest message
	heard    []reverie.Message // in all nights before
	names    []reverie.EntityName
	entities map[string]reverie.Entity
	waiting  []reverie.Observation
	merges   map[string]string // entity -> the one it is read as
	limits   Limits
	said     int // messages so far
	plan     reverie.EntityPlan
	refused  []reverie.Refusal
}

func newWorld(t testing.TB) *world {
	loc, err := time.LoadLocation("Canada/Newfoundland")
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, loc: loc, at: time.Date(2026, 3, 1, 20, 0, 0, 0, loc), entities: map[string]reverie.Entity{},
		merges: map[string]string{}, limits: Limits{MinConfidence: 0.5, MinEvidence: 2}}
}

// talk makes messages of lines such as "u1 Alex: I live in Berlin"; authors whose
// id begins with "bot" are assistants.
func (w *world) talk(texts ...string) []reverie.Message {
	var list []reverie.Message
	for _, text := range texts {
		who, said, ok := strings.Cut(text, ": ")
		id, name, _ := strings.Cut(who, " ")
		if !ok {
			w.t.Fatalf("no message: %q", text)
		}
		w.said++
		w.at = w.at.Add(time.Minute)
		m := reverie.Message{GroupID: "g", ID: fmt.Sprintf("m%02d", w.said), AuthorID: id, Author: name, Role: reverie.RoleUser, Text: said, SentAt: w.at.UTC()}
		if strings.HasPrefix(id, "bot") {
			m.Role = reverie.RoleAssistant
		}
		list = append(list, m)
	}
	return list
}

// question is a batch of all messages, with their participants.
func (w *world) question(messages []reverie.Message) (batch, *participants) {
	activity, c := survey(reverie.EntityState{Messages: messages, Index: w.index(), Namesakes: w.namesakes(messages)}, newIndex(w.index()))
	return batch{no: 1, subjects: activity.subjects, messages: messages}, c
}

// namesakes are what was written before under a name of the authors, or of what
// waits.
func (w *world) namesakes(messages []reverie.Message) (list []reverie.Message) {
	names := map[string]bool{}
	for _, m := range messages {
		names[m.Author] = true
	}
	for _, o := range w.waiting {
		names[o.Subject] = true
	}
	for _, m := range w.heard {
		if names[m.Author] {
			list = append(list, m)
		}
	}
	return list
}

// night passes a chunk through all steps and applies what comes out. Each answer is
// a batch of its own.
func (w *world) night(messages []reverie.Message, answers ...string) reverie.EntityPlan {
	w.t.Helper()
	b, c := w.question(messages)
	var fresh []reverie.Observation
	w.refused = nil
	for _, said := range answers {
		list, refused, usable := parse(b, c, w.loc, answer.Read(said))
		if !usable {
			w.t.Fatalf("unusable: %s %v", said, refused)
		}
		fresh, w.refused = append(fresh, list...), append(w.refused, refused...)
	}
	w.settle(fresh, c, messages[len(messages)-1].SentAt)
	w.heard = append(w.heard, messages...)
	w.at = w.at.Add(24 * time.Hour)
	return w.plan
}

func (w *world) settle(fresh []reverie.Observation, c *participants, asOf time.Time) {
	w.t.Helper()
	waiting, expired := unexpired(w.waiting, fresh, asOf, w.clock(asOf).Add(-expireAfter))
	idx := newIndex(w.index())
	list, refused := aggregate(fresh, waiting, c, w.limits.MinConfidence)
	w.refused = append(w.refused, refused...)
	settled, who := resolve(list, idx, c, w.limits.MinEvidence)
	plan := build(draft{groupID: "g", runID: "run", chunkNo: 1, now: w.clock(asOf), expireAfter: expireAfter, expired: expired,
		list: settled, resolver: who, entities: w.read()})
	w.refused = append(w.refused, plan.Refusals...)
	w.plan = plan
	w.apply(plan)
}

const expireAfter = 10 * 24 * time.Hour

// clock is the run's: the chat's, where the test does not set it.
func (w *world) clock(asOf time.Time) time.Time {
	if w.now.IsZero() {
		return asOf
	}
	return w.now
}

func (w *world) root(id string) string {
	for w.merges[id] != "" {
		id = w.merges[id]
	}
	return id
}

// index and read show what is known as the store does: what is merged goes under
// the entity that it is read as.
func (w *world) index() []reverie.EntityName {
	list := slices.Clone(w.names)
	for i := range list {
		list[i].EntityID = w.root(list[i].EntityID)
		list[i].Entity = w.entities[list[i].EntityID].Kind
	}
	return list
}

func (w *world) read() map[string]reverie.Entity {
	read := map[string]reverie.Entity{}
	for _, id := range slices.Sorted(maps.Keys(w.entities)) {
		root := w.entities[w.root(id)]
		e, ok := read[root.ID]
		if !ok {
			e = root
			e.Claims, e.Names = nil, nil
			for _, n := range w.names {
				if w.root(n.EntityID) == root.ID {
					e.Names = append(e.Names, n)
				}
			}
		}
		e.Claims = append(e.Claims, w.entities[id].Claims...)
		read[root.ID] = e
	}
	return read
}

// apply writes a plan and refuses what the store would.
func (w *world) apply(plan reverie.EntityPlan) {
	w.t.Helper()
	for _, e := range plan.Creates {
		w.entities[e.ID], w.names = e, append(w.names, e.Names...)
	}
	w.names = append(w.names, plan.Names...)
	for _, s := range plan.Claims {
		c := s.Claim
		e := w.entities[c.EntityID]
		for i, h := range e.Claims {
			if h.ID == s.HeadID && s.Action == reverie.ActionUpdate {
				e.Claims[i].Status = reverie.StatusDeprecated
			} else if h.ID == s.HeadID {
				e.Claims[i] = c
			}
		}
		if s.Action != reverie.ActionKeep {
			e.Claims = append(e.Claims, c)
		}
		e.Version++
		w.entities[c.EntityID] = e
	}
	seen := map[string]string{}
	for _, n := range w.names {
		key := string(n.Kind) + n.Key
		if n.Kind != reverie.NameID {
			key = n.EntityID + n.Key
		}
		if other, ok := seen[key]; ok {
			w.t.Errorf("name %q is written twice: %s, %s", n.Name, other, n.EntityID)
		}
		seen[key] = n.EntityID
	}
	gone := slices.Concat(plan.Joined, plan.Expired)
	for _, o := range plan.Postponed {
		gone = append(gone, o.Continues...)
	}
	slices.Sort(gone)
	if len(slices.Compact(slices.Clone(gone))) != len(gone) {
		w.t.Errorf("an observation ends twice: %v %v", plan.Joined, plan.Expired)
	}
	w.waiting = slices.DeleteFunc(w.waiting, func(o reverie.Observation) bool { return slices.Contains(gone, o.ID) })
	w.waiting = append(w.waiting, plan.Postponed...)
}

// show is who is known, one a line, without ids: names, then claims in force.
func (w *world) show() []string {
	var list []string
	read := w.read()
	for _, e := range read {
		var names, accounts []string
		for _, n := range w.index() {
			if n.EntityID != e.ID {
				continue
			}
			if n.Kind == reverie.NameID {
				accounts = append(accounts, n.Name)
			} else if n.Name != e.Subject {
				names = append(names, n.Name)
			}
		}
		slices.Sort(names)
		slices.Sort(accounts)
		line := fmt.Sprintf("%s %s %v", e.Kind, e.Subject, accounts)
		if len(names) > 0 {
			line += " = " + strings.Join(names, ", ")
		}
		list = append(list, line+w.claims(e, read))
	}
	for _, o := range w.waiting {
		line := fmt.Sprintf("waits (%s) %s", o.Postponed, o.Subject)
		if o.Account != "" {
			line += " [" + o.Account + "]"
		}
		for _, c := range o.Claims {
			line += fmt.Sprintf(" | %s", strings.TrimPrefix(c.Name+": "+c.Value, ": "))
		}
		list = append(list, line)
	}
	slices.Sort(list)
	return list
}

func (w *world) claims(e reverie.Entity, read map[string]reverie.Entity) string {
	var list []string
	for _, c := range e.Claims {
		if c.Status != reverie.StatusActive {
			continue
		}
		text := strings.TrimPrefix(c.Name+": "+c.Value, ": ")
		if c.TargetID != nil {
			text = c.Name + " -> " + read[w.root(*c.TargetID)].Subject
		}
		by := "others " + strings.Join(c.SaidBy, ",")
		if c.Self {
			by = "self"
		}
		if text += " (" + by; c.Version > 1 {
			text += fmt.Sprintf(", v%d", c.Version)
		}
		list = append(list, text+")")
	}
	slices.Sort(list)
	if len(list) == 0 {
		return ""
	}
	return " | " + strings.Join(list, " | ")
}

// rulesOf are the rules by which something was refused, sorted.
func rulesOf(list []reverie.Refusal) []string {
	var names []string
	for _, r := range list {
		names = append(names, r.Rule)
	}
	slices.SortFunc(names, cmp.Compare)
	return names
}
