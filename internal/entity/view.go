package entity

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/prompts"
)

// What is shown of one thing at most.
const (
	maxShownAliases   = 5
	maxShownNamesakes = 8
	maxKnownTokens    = 300 // of what is known of a subject
)

// views turns subjects and messages into what the model sees.
type views struct {
	loc          *time.Location
	participants *participants
	known        *directory
	entities     map[string]reverie.Entity // what is known, by id
	bearers      map[string][]string       // key of a name -> labels of the accounts that bear it
}

func newViews(loc *time.Location, c *participants, known *directory) views {
	v := views{loc: loc, participants: c, known: known, entities: map[string]reverie.Entity{},
		bearers: map[string][]string{}}
	for _, id := range c.order {
		for key := range v.keys(v.names(id, known.byID[id])) {
			v.bearers[key] = append(v.bearers[key], c.accounts[id].label)
		}
	}
	return v
}

// names are all names of a subject: those that its account shows, and those that
// it is known by.
func (v views) names(account, entityID string) []string {
	var names []string
	if a := v.participants.accounts[account]; a != nil {
		names = a.names
	}
	if e := v.known.entries[entityID]; e != nil {
		names = slices.Concat(names, e.names)
	}
	return names
}

func (v views) keys(names []string) map[string]bool {
	keys := map[string]bool{}
	for _, name := range names {
		if key := text.NameKey(name); key != "" {
			keys[key] = true
		}
	}
	return keys
}

// messages shows a batch's messages, numbered from 1, under their authors'
// labels.
func (v views) messages(list []reverie.Message) []prompts.MessageView {
	numbers := map[string]int{}
	for i, m := range list {
		numbers[m.ID] = i + 1
	}
	shown := make([]prompts.MessageView, len(list))
	for i, m := range list {
		shown[i] = v.message(i+1, numbers[m.ReplyTo], m)
	}
	return shown
}

func (v views) message(n, replyTo int, m reverie.Message) prompts.MessageView {
	view := prompts.Message(n, replyTo, m, v.loc)
	if a := v.participants.accounts[m.AuthorID]; a != nil {
		view.Author = a.label
	}
	return view
}

// subject shows a subject with its other names and what is known of it.
func (v views) subject(s subject) prompts.SubjectView {
	view := prompts.SubjectView{Name: s.label, Kind: string(s.kind)}
	names := v.names(s.account, s.entityID)
	seen := map[string]bool{text.NameKey(s.label): true, bare(s.label): true}
	for _, name := range names {
		if key := text.NameKey(name); !seen[key] && isShown(name) && len(view.Aliases) < maxShownAliases {
			seen[key], view.Aliases = true, append(view.Aliases, name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(v.keys(names))) {
		for _, label := range v.bearers[key] {
			if label != s.label && !slices.Contains(view.Namesakes, label) && len(view.Namesakes) < maxShownNamesakes {
				view.Namesakes = append(view.Namesakes, label)
			}
		}
	}
	view.Known = v.claims(v.entities[s.entityID].Claims)
	return view
}

// claims shows the strongest claims, nil where there are none: a person's own
// words before what others say.
func (v views) claims(list []reverie.Claim) *prompts.KnownView {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b reverie.Claim) int {
		return cmp.Or(rank(b.Self)-rank(a.Self), cmp.Compare(b.Strength, a.Strength),
			b.LastSupportedAt.Compare(a.LastSupportedAt), cmp.Compare(a.LineageID, b.LineageID))
	})
	known, left, some := prompts.KnownView{Features: map[string]string{}}, maxKnownTokens, false
	for _, c := range list {
		if left -= text.EstimateTokens(c.Name) + text.EstimateTokens(c.Value) + 4; left < 0 {
			break
		}
		some = true
		switch c.Aspect {
		case reverie.AspectImpression:
			if !slices.Contains(known.Impressions, c.Value) {
				known.Impressions = append(known.Impressions, c.Value)
			}
		case reverie.AspectFeature:
			if _, said := known.Features[c.Name]; !said {
				known.Features[c.Name] = c.Value
			}
		case reverie.AspectRelation:
			known.Relations = append(known.Relations, prompts.RelationView{Kind: c.Name, Target: v.target(c)})
		}
	}
	if !some {
		return nil
	}
	return &known
}

func rank(self bool) int {
	if self {
		return 1
	}
	return 0
}

// target is a relation's target under its label, or as it was named.
func (v views) target(c reverie.Claim) string {
	if c.TargetID != nil && v.known.entries[*c.TargetID] != nil {
		for _, id := range v.known.entries[*c.TargetID].accounts {
			if a := v.participants.accounts[id]; a != nil {
				return a.label
			}
		}
	}
	return c.Value
}
