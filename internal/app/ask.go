package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/llm/answer"
	"reverie/internal/pipeline"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// maxAnswer is the maximum number of characters of an answer to a person.
const maxAnswer = 800

// Asked is the answer to a person's question, or the context for answering it.
type Asked struct {
	Success  bool        `json:"success"`
	GroupID  string      `json:"group_id"`
	Question string      `json:"question"`
	Answer   string      `json:"answer"` // "" if no model was asked
	Sources  []AskSource `json:"sources"`
	Model    string      `json:"model,omitempty"`
	Warnings []string    `json:"warnings,omitempty"`

	// NoModel says why no model was asked, "" if one was or there was nothing to answer from.
	NoModel string                `json:"no_model,omitempty"`
	Context *reverie.ContextReply `json:"context,omitempty"` // set if no model was asked
}

// AskSource is a source that an answer cites.
type AskSource struct {
	GroupID string    `json:"-"`                       // the group, its team, or a linked group
	From    string    `json:"from_group_id,omitempty"` // set for a source in a linked group
	Kind    string    `json:"kind"`                    // memory, message or entity
	ID      string    `json:"id"`
	Text    string    `json:"text"`
	Author  string    `json:"author,omitempty"` // of a message
	At      time.Time `json:"at,omitzero"`      // when a message was sent, or a memory was last supported
}

// Answer lets the configured model answer a question, only from the context that a bot would get for it. If no
// model can be asked, or nothing is found, the reply has that context and no answer. A person's question does not
// count as a use of memories.
func (a *App) Answer(ctx context.Context, groupID, question string) (Asked, error) {
	searcher, err := a.Searcher(ctx, groupID)
	if err != nil {
		return Asked{}, err
	}
	r := a.recallerWith(searcher, nil)
	if r.Options.Trigger != recall.TriggerNever {
		r.Options.Trigger, r.Options.MinQueryLength = recall.TriggerAlways, 0 // a person asks on purpose
	}
	found, err := r.Context(ctx, recall.ContextRequest{GroupID: groupID, Query: question})
	if err != nil {
		return Asked{}, err
	}
	reply := Asked{Success: true, GroupID: groupID, Question: question, Sources: []AskSource{}, Warnings: found.Warnings,
		Context: &found}
	if found.Text == "" {
		return reply, nil
	}
	model, settings, err := a.Model(config.UseAsk)
	if errors.Is(err, reverie.ErrConfiguration) {
		reply.NoModel = err.Error()
		return reply, nil
	}
	if err != nil {
		return reply, err
	}
	g, err := a.Store.Group(ctx, groupID)
	if err != nil {
		return reply, err
	}
	set, err := prompts.Open(a.Config.Prompts.Dir)
	if err != nil {
		return reply, err
	}
	fits, err := a.room(ctx, settings, prompts.MemoryAsk, a.RemotePrompts(ctx, set), otherInput)
	if err != nil {
		return reply, err
	}
	reply.Context, reply.Model = nil, model.Name()
	user, sources := askable(g, found, a.Clock())
	err = a.putQuestion(ctx, model, fits.set, fits.output, user, &reply, sources)
	return reply, err
}

// askable returns what a model sees of a context, and the source of each handle in it.
func askable(g reverie.Group, found reverie.ContextReply, now time.Time) (prompts.AskUser, map[string]AskSource) {
	zone, err := g.Location()
	if err != nil {
		zone = time.UTC
	}
	const minute = "2006-01-02 15:04"
	user := prompts.AskUser{Question: found.Query, Today: now.In(zone).Format("Mon " + minute), Memories: []prompts.AskMemoryView{}}
	sources := map[string]AskSource{}
	for i, m := range found.Memories {
		view := prompts.AskMemoryView{ID: fmt.Sprintf("m%d", i+1), Kind: string(m.Kind), Statement: m.Statement,
			AsOf: m.LastSupportedAt.In(zone).Format(time.DateOnly)}
		if m.Status == reverie.StatusArchived {
			view.Note = "archived: it may not hold any more"
		}
		if m.FromGroupID != "" {
			view.Note = strings.TrimPrefix(view.Note+"; from group "+m.FromGroupID, "; ")
		}
		user.Memories = append(user.Memories, view)
		sources[view.ID] = AskSource{GroupID: m.GroupID, From: m.FromGroupID, Kind: "memory", ID: m.MemoryID, Text: m.Statement, At: m.LastSupportedAt}
	}
	for i, e := range found.Entities {
		view := prompts.AskEntityView{ID: fmt.Sprintf("e%d", i+1), Name: e.Subject, Kind: string(e.Kind), About: e.Lines}
		user.Entities = append(user.Entities, view)
		sources[view.ID] = AskSource{Kind: "entity", ID: e.EntityID, Text: e.Subject + ": " + strings.Join(e.Lines, "; ")}
	}
	for i, q := range found.Quotes {
		view := prompts.AskMessageView{ID: fmt.Sprintf("q%d", i+1), Author: q.Author, At: q.SentAt.In(zone).Format(minute), Text: q.Text}
		user.Messages = append(user.Messages, view)
		sources[view.ID] = AskSource{Kind: "message", ID: q.MessageID, Text: q.Text, Author: q.Author, At: q.SentAt}
	}
	return user, sources
}

// putQuestion asks the model, again if the answer is unusable, and fills the reply. It ignores handles that were
// not shown.
func (a *App) putQuestion(ctx context.Context, model *llm.Model, set *prompts.Set, maxTokens int, user prompts.AskUser,
	reply *Asked, sources map[string]AskSource) error {
	asking := pipeline.RunRecorder{Log: a.Log, Row: reverie.Run{GroupID: reply.GroupID}}
	asker := &llm.Asker{Model: model, Meta: llm.Meta{GroupID: reply.GroupID, Purpose: config.UseAsk,
		Tier: llm.TierStandard}} // a person waits
	language := prompts.Language("", []string{reply.Question})
	err := asking.Ask(ctx, asker, pipeline.Question{About: "a question", MaxTokens: maxTokens,
		Form: `answer with one line of JSON: {"content":"...","sources":["m1"]}`,
		Render: func(again []string) (prompts.Rendered, error) {
			user.Again = again
			return set.Render(language, prompts.AskSystem{MaxAnswer: maxAnswer}, user)
		},
		Use: func(_ string, read answer.Result) string {
			_, said, _ := pipeline.ReadProposals(read, false, pipeline.TypeSummary)
			if said == nil {
				return "there was no line with an answer"
			}
			reply.Answer, reply.Sources = said.Content, []AskSource{}
			for _, handle := range said.Sources {
				if s, shown := sources[handle]; shown && !slices.Contains(reply.Sources, s) {
					reply.Sources = append(reply.Sources, s)
				}
			}
			return ""
		}})
	if errors.Is(err, pipeline.ErrCut) {
		return pipeline.CutAlone("a question of group "+fmt.Sprintf("%q", reply.GroupID), "one question")
	}
	return err
}
