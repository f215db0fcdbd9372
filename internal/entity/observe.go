package entity

import (
	"context"
	"errors"
	"fmt"

	"reverie/internal/llm/lines"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/prompts"
)

// observe asks about every batch of the chunk, one after the other, and returns
// what was observed. Each answer is kept before the next question is asked. A
// batch whose answer is cut off is divided; an unusable answer is asked for once
// more, and then fails the run with nothing consumed.
func (r *run) observe(ctx context.Context, s *chunkInput) ([]reverie.Observation, error) {
	tasks, err := r.tasks(s)
	if err != nil {
		return nil, err
	}
	var list []reverie.Observation
	for done := 0; len(tasks) > 0; {
		t := tasks[0]
		t.no = done + 1
		observed, refused, err := r.ask(ctx, s, t)
		if errors.Is(err, pipeline.ErrCut) {
			if halves := s.activity.halve(t); halves != nil {
				r.Log.Info("dividing a question", "group_id", r.req.GroupID, "run_id", r.recorder.Row.ID, "chunk", s.no,
					"question", t.no, "subjects", len(t.members), "messages", len(t.core))
				tasks = append(halves, tasks[1:]...)
				continue
			}
			err = fmt.Errorf("question %d of chunk %d of group %q: %w even for one subject and one message; raise "+
				"[llm] max_output_tokens: %w",
				t.no, s.no, r.req.GroupID, pipeline.ErrCut, reverie.ErrUnusable)
		}
		if errors.Is(err, reverie.ErrUnusable) { // asking the same again in another run would not help
			return nil, errors.Join(err, r.saveChunk(ctx, s, reverie.ChunkFailed))
		}
		if err != nil {
			return nil, err
		}
		list, s.refusals = append(list, observed...), append(s.refusals, refused...)
		tasks, done = tasks[1:], done+1
		r.tell(Progress{Chunk: s.no, Batch: done, Batches: done + len(tasks)})
	}
	return list, nil
}

// tasks divides the chunk into questions.
func (r *run) tasks(s *chunkInput) ([]*task, error) {
	empty, err := r.Prompts.Observe(s.language, s.system, prompts.ObserveUser{})
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
	t *task) (list []reverie.Observation, refused []reverie.Refusal, err error) {
	user := prompts.ObserveUser{Messages: s.views.messages(t.messages)}
	for _, one := range t.subjects {
		user.Subjects = append(user.Subjects, s.views.subject(one))
	}
	err = r.recorder.Ask(ctx, r.asker, pipeline.Question{
		About:     fmt.Sprintf("question %d of chunk %d", t.no, s.no),
		MaxTokens: r.Limits.MaxOutputTokens,
		Form:      `answer with JSON Lines alone, as described, or with {"none":true}`,
		Render: func(again []string) (prompts.Rendered, error) {
			user.Again = again
			return r.Prompts.Observe(s.language, s.system, user)
		},
		Use: func(text string) (why string) {
			var usable bool
			if list, refused, usable = r.parsed(s, t, lines.Read(text)); !usable {
				return "the answer had no line that can be used"
			}
			return ""
		}})
	if errors.Is(err, reverie.ErrUnusable) {
		err = fmt.Errorf("%w; its messages wait on", err)
	}
	return list, refused, err
}

// parsed reads an answer and logs what was skipped of it.
func (r *run) parsed(s *chunkInput, t *task, answer lines.Result) (list []reverie.Observation,
	refused []reverie.Refusal, usable bool) {
	r.recorder.LogSkipped("question", t.no, answer.Skipped)
	list, refused, usable = parse(t.batch, s.participants, s.loc, answer)
	for i := range refused {
		refused[i].Detail = fmt.Sprintf("question %d: %s", t.no, refused[i].Detail)
	}
	return list, refused, usable
}

func (r *run) tell(p Progress) {
	if r.Progress != nil {
		st := r.recorder.Stats
		p.GroupID, p.Done = r.req.GroupID, st.Cited+st.Considered+st.Filtered
		r.Progress(p)
	}
}
