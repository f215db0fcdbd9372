package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/internal/decide"
	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
	"reverie/prompts"
)

// summary is what the session's summary memory is to say after the chunk, "" where the
// answer held none that can be kept: then the earlier one stays.
func (r *run) summary(s *chunkInput, a reply) string {
	if len(s.shown) == 0 {
		return ""
	}
	err := errors.New("the answer held no summary")
	if a.recap != nil {
		var text string
		if text, err = statement(a.recap.Content); err == nil {
			return text
		}
	}
	r.recorder.Warn(fmt.Sprintf("the summary of session %q stays as it was: %v", r.req.SessionID, err))
	return ""
}

// statement is a summary as it may become a memory, cut at a sentence where it is
// too long.
func statement(text string) (string, error) {
	text = safety.CleanSummary(text, reverie.MaxStatement)
	return text, safety.CheckSummary(text)
}

// sum asks the summarizer for one text that stands for what a summary says and the
// turns given. Only the form of the answer is checked.
func (r *run) sum(ctx context.Context, s locale, limit int, rolling string,
	messages []reverie.Message) (text string, err error) {
	q := r.question(r.Limits.MaxSummaryTokens, `answer with one line, {"summary":"..."}`)
	q.Render = func(again []string) (prompts.Rendered, error) {
		return r.Prompts.Render(s.language, prompts.SummarizeSystem{MaxSummary: limit},
			prompts.SummarizeUser{Rolling: rolling, Turns: r.Prompts.Messages(messages, s.loc), Again: again})
	}
	q.Use = func(said string, read answer.Result) (why string) {
		if text = readSummary(said, read); safety.CleanSummary(text, limit) == "" {
			return "the answer held no summary"
		}
		return ""
	}
	err = r.recorder.Ask(ctx, r.summarizer, q)
	return text, err
}

// readSummary is the summary in an answer: that of a line {"summary":"..."}, or all
// of it where it is plain prose; "" where it is neither.
func readSummary(said string, read answer.Result) string {
	for _, l := range read.Lines {
		var raw answer.Summary
		if json.Unmarshal(l.Object, &raw) == nil && raw.Summary != nil {
			return strings.TrimSpace(*raw.Summary)
		}
	}
	prose := strings.TrimSpace(said)
	if len(read.Lines) > 0 || len(read.Swallowed()) > 0 || prose == "" || strings.ContainsAny(prose[:1], "{[<`") {
		return "" // an object of another kind, JSON that is cut off, a thought, a fence
	}
	return prose
}

// isSummary tells whether a step writes a session's summary.
func isSummary(step reverie.Step) bool { return slices.Contains(step.Tags, reverie.TagSummary) }

// recapStep writes the summary memory anew. It is no fact: it goes past the
// decisions, and its hash is the session's own, so that two sessions may be summed
// up in the same words.
func (r *run) recapStep(s *chunkInput, body string, cited []reverie.Evidence) reverie.Step {
	last := s.shown[len(s.shown)-1].SentAt
	return decide.SummaryStep(reverie.Step{SessionID: r.req.SessionID, Statement: body, Evidence: s.framed(cited),
		Tags:        []string{reverie.TagSession, reverie.TagSummary},
		Reason:      fmt.Sprintf("covers %d messages up to %s", s.covered(), last.In(s.loc).Format(time.RFC3339)),
		ContentHash: text.SummaryHash(r.req.SessionID, body)}, s.state.Summary, last)
}

// framed is the evidence of the summary: what it cites, and the first and the last
// word of a user in the chunk.
func (s *chunkInput) framed(cited []reverie.Evidence) []reverie.Evidence {
	evidence := slices.Clip(cited)
	add := func(m reverie.Message) bool {
		if m.Role != reverie.RoleUser {
			return false
		}
		if !slices.ContainsFunc(evidence, func(e reverie.Evidence) bool { return e.MessageID == m.ID }) {
			evidence = append(evidence, safety.EvidenceOf(m, "", s.loc))
		}
		return true
	}
	for _, m := range s.shown {
		if add(m) {
			break
		}
	}
	for _, m := range slices.Backward(s.shown) {
		if add(m) {
			break
		}
	}
	return evidence
}

// covered counts the messages of the session that the summary stands for.
func (s *chunkInput) covered() int {
	return s.state.Session.Total.Messages - s.state.Session.New.Messages + len(s.messages)
}
