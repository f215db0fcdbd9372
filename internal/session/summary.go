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

// summary returns the new text of the session's summary memory. It returns "" if the answer had no usable one: then the
// earlier one stays.
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

// statement makes a summary fit for a memory. A long one is cut after a sentence.
func statement(text string) (string, error) {
	text = safety.CleanSummary(text, reverie.MaxStatement)
	return text, safety.CheckSummary(text)
}

// askSummary asks the summarizer for one text that combines a summary with the given turns. Only the form of the answer
// is checked.
func (r *run) askSummary(ctx context.Context, s locale, limit int, rolling string,
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

// readSummary returns the summary of an answer: the value in a line {"summary":"..."}, or the whole answer if it is
// plain prose, else "".
func readSummary(said string, read answer.Result) string {
	for _, l := range read.Lines {
		var raw answer.Summary
		if json.Unmarshal(l.Object, &raw) == nil && raw.Summary != nil {
			return strings.TrimSpace(*raw.Summary)
		}
	}
	prose := strings.TrimSpace(said)
	if len(read.Lines) > 0 || len(read.Swallowed()) > 0 || prose == "" || strings.ContainsAny(prose[:1], "{[<`") {
		return "" // another object, JSON that is cut off, a thought, a fence
	}
	return prose
}

// isSummary reports whether a step writes a session's summary.
func isSummary(step reverie.Step) bool { return slices.Contains(step.Tags, reverie.TagSummary) }

// recapStep writes a new version of the summary memory. It is no fact, so the decider does not see it. Its hash is
// unique to the session, so that two sessions may have the same summary.
func (r *run) recapStep(s *chunkInput, body string, cited []reverie.Evidence) reverie.Step {
	last := s.shown[len(s.shown)-1].SentAt
	return decide.SummaryStep(reverie.Step{SessionID: r.req.SessionID, Statement: body, Evidence: s.summaryEvidence(cited),
		Tags:        []string{reverie.TagSession, reverie.TagSummary},
		Reason:      fmt.Sprintf("covers %d messages up to %s", s.covered(), last.In(s.loc).Format(time.RFC3339)),
		ContentHash: text.SummaryHash(r.req.SessionID, body)}, s.state.Summary, last)
}

// summaryEvidence returns the evidence of the summary: what it cites, and the first and the last message of a user in
// the chunk.
func (s *chunkInput) summaryEvidence(cited []reverie.Evidence) []reverie.Evidence {
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

// covered counts the messages of the session that the summary covers.
func (s *chunkInput) covered() int {
	return s.state.Session.Total.Messages - s.state.Session.New.Messages + len(s.messages)
}
