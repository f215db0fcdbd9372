package entity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"reverie/internal/llm"
	"reverie/internal/llm/answer"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/prompts"
)

// observe asks about each batch of the chunk in order, and returns the observations. Each answer is stored before the
// next question. A batch whose answer is cut off is divided. An unusable answer is asked for once more; then the run
// fails, and consumes nothing.
func (r *run) observe(ctx context.Context, s *chunkInput) ([]reverie.Observation, error) {
	batches, err := r.batches(s)
	if err != nil {
		return nil, err
	}
	var list []reverie.Observation
	var pending error
	for done := 0; len(batches) > 0; {
		b := batches[0]
		b.no = done + 1
		observed, refused, err := r.ask(ctx, s, b)
		if errors.Is(err, pipeline.ErrCut) {
			if halves := s.activity.halve(b); halves != nil {
				r.Log.Info("dividing a question", "group_id", r.req.GroupID, "run_id", r.recorder.Row.ID, "chunk", s.no,
					"question", b.no, "subjects", len(b.subjects), "messages", len(b.core))
				batches = append(halves, batches[1:]...)
				continue
			}
			err = pipeline.CutAlone(fmt.Sprintf("question %d of chunk %d of group %q", b.no, s.no, r.req.GroupID),
				"one subject and one message")
		}
		if errors.Is(err, reverie.ErrUnusable) { // the next run would ask the same question
			return nil, errors.Join(err, r.saveChunk(ctx, s, reverie.ChunkFailed))
		}
		if llm.IsPending(err) { // the other questions do not depend on it
			pending = cmp.Or(pending, err)
		} else if err != nil {
			return nil, err
		}
		list, s.refusals = append(list, observed...), append(s.refusals, refused...)
		batches, done = batches[1:], done+1
		if r.Progress != nil {
			r.Progress(done, done+len(batches))
		}
	}
	return list, pending
}

// batches divides the chunk into questions.
func (r *run) batches(s *chunkInput) ([]*batch, error) {
	empty, err := r.Prompts.Render(s.language, s.system, prompts.ObserveUser{})
	if err != nil {
		return nil, err
	}
	p := price{budget: r.Limits.MaxInputTokens - text.EstimateTokens(empty.System) - text.EstimateTokens(empty.User),
		message: make([]int, len(s.activity.shown)),
		subject: func(a active) int { return prompts.Tokens(s.views.subject(a.subject)) }}
	if p.budget <= 0 {
		return nil, fmt.Errorf("the prompt alone has %d tokens: raise [impression] max_input_tokens (%d) well "+
			"above that: %w",
			r.Limits.MaxInputTokens-p.budget, r.Limits.MaxInputTokens, reverie.ErrConfiguration)
	}
	for i, m := range s.activity.shown {
		p.message[i] = prompts.Tokens(s.views.message(i+1, i+1, m))
	}
	return s.activity.pack(r.Limits.MaxSubjects, p), nil
}

// ask asks up to twice for a usable answer.
func (r *run) ask(ctx context.Context, s *chunkInput,
	b *batch) (list []reverie.Observation, refused []reverie.Refusal, err error) {
	user := prompts.ObserveUser{Messages: s.views.messages(b.messages)}
	for _, one := range b.subjects {
		user.Subjects = append(user.Subjects, s.views.subject(one.subject))
	}
	err = r.recorder.Ask(ctx, r.asker, pipeline.Question{
		About:     fmt.Sprintf("question %d of chunk %d", b.no, s.no),
		MaxTokens: r.Limits.MaxOutputTokens,
		Form:      `answer with JSON Lines alone, as described, or with {"none":true}`,
		Render: func(again []string) (prompts.Rendered, error) {
			user.Again = again
			return r.Prompts.Render(s.language, s.system, user)
		},
		Use: func(_ string, read answer.Result) (why string) {
			r.recorder.LogSkipped("question", b.no, read.Skipped)
			var usable bool
			if list, refused, usable = parse(*b, s.participants, s.loc, read); !usable {
				return "the answer had no line that can be used"
			}
			return ""
		}})
	if errors.Is(err, reverie.ErrUnusable) {
		err = fmt.Errorf("%w; its messages wait on", err)
	}
	for i := range refused {
		refused[i].Detail = fmt.Sprintf("question %d: %s", b.no, refused[i].Detail)
	}
	return list, refused, err
}

// Limits of what a question shows of one thing.
const (
	maxShownAliases   = 5
	maxShownNamesakes = 8
	maxKnownTokens    = 300 // for what is known about a subject
)

// views converts subjects and messages into the form that the model sees.
type views struct {
	set          *prompts.Set // nil: whole messages
	loc          *time.Location
	participants *participants
	known        *index
	entities     map[string]reverie.Entity // known entities, by id
	bearers      map[string][]string       // key of a name -> labels of the accounts with that name
}

func newViews(loc *time.Location, c *participants, known *index) views {
	v := views{loc: loc, participants: c, known: known, entities: map[string]reverie.Entity{},
		bearers: map[string][]string{}}
	for _, id := range c.order {
		for _, key := range nameKeys(v.names(id, known.byID[id])) {
			v.bearers[key] = append(v.bearers[key], c.accounts[id].label)
		}
	}
	return v
}

// names returns all names of a subject: those that its account shows, and those in the index.
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

// messages shows a batch's messages, numbered from 1, with the labels of their authors.
func (v views) messages(list []reverie.Message) []prompts.MessageView {
	shown := v.set.Messages(list, v.loc)
	for i, m := range list {
		v.label(&shown[i], m)
	}
	return shown
}

func (v views) message(n, replyTo int, m reverie.Message) prompts.MessageView {
	view := v.set.Message(n, replyTo, m, v.loc)
	v.label(&view, m)
	return view
}

// label replaces the author of a message by the label of the account.
func (v views) label(view *prompts.MessageView, m reverie.Message) {
	if a := v.participants.accounts[m.AuthorID]; a != nil {
		view.Author = a.label
	}
}

// subject shows a subject with its other names and what is known about it.
func (v views) subject(s subject) prompts.SubjectView {
	view := prompts.SubjectView{Name: s.label, Kind: string(s.kind)}
	names := v.names(s.account, s.entityID)
	seen := map[string]bool{text.NameKey(s.label): true, withoutNumber(s.label): true}
	for _, name := range names {
		if key := text.NameKey(name); !seen[key] && isShown(name) && len(view.Aliases) < maxShownAliases {
			seen[key], view.Aliases = true, append(view.Aliases, name)
		}
	}
	for _, key := range slices.Sorted(slices.Values(nameKeys(names))) {
		for _, label := range v.bearers[key] {
			if label != s.label && !slices.Contains(view.Namesakes, label) && len(view.Namesakes) < maxShownNamesakes {
				view.Namesakes = append(view.Namesakes, label)
			}
		}
	}
	view.Known = v.claims(v.entities[s.entityID].Claims)
	return view
}

// claims shows the strongest claims, a person's own words before those of others. It returns nil if there are none.
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

// target returns the label of a relation's target, or its name.
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
