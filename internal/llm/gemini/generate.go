package gemini

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/genai"

	"reverie/internal/llm"
	"reverie/internal/llm/internal/wire"
)

// Generate implements [llm.Generator]. The SDK returns a blocked prompt and an
// answer that was cut off without an error, so only what comes as exactly one
// candidate with the reason STOP is a whole answer.
func (c *Client) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	config := &genai.GenerateContentConfig{
		Temperature:           c.temperature,
		MaxOutputTokens:       int32(min(max(req.MaxTokens, 0), 1<<30)),
		AutomaticContinuation: genai.Ptr(false), // would be further requests, unseen
	}
	if req.System != "" {
		config.SystemInstruction = genai.NewContentFromText(req.System, genai.RoleUser)
	}
	var answer *genai.GenerateContentResponse
	err := wire.Guard(func() (err error) {
		answer, err = c.models.GenerateContent(ctx, c.model, genai.Text(req.User), config)
		return err
	})
	if err != nil {
		return llm.Response{}, wire.Fail(ctx, Provider, err)
	}
	resp := llm.Response{Usage: usage(answer.UsageMetadata)}
	blocked := answer.PromptFeedback != nil && answer.PromptFeedback.BlockReason != ""
	switch {
	case blocked:
		resp.Finish = llm.FinishRefused
	case len(answer.Candidates) == 0 || answer.Candidates[0] == nil:
		return llm.Response{}, &llm.Error{Provider: Provider, Fault: llm.FaultServer,
			Err: errors.New("the answer holds no candidate")}
	default:
		resp.Text = text(answer.Candidates[0])
		resp.Finish = finish(answer.Candidates, resp.Text)
	}
	return resp, nil
}

// text joins the parts of an answer, without the model's thoughts.
func text(candidate *genai.Candidate) string {
	if candidate.Content == nil {
		return ""
	}
	var b strings.Builder
	for _, part := range candidate.Content.Parts {
		if part != nil && !part.Thought {
			b.WriteString(part.Text)
		}
	}
	return b.String()
}

func finish(candidates []*genai.Candidate, text string) llm.Finish {
	if len(candidates) != 1 {
		return llm.FinishOther
	}
	switch candidates[0].FinishReason {
	case genai.FinishReasonStop:
		if text == "" {
			return llm.FinishOther
		}
		return llm.FinishStop
	case genai.FinishReasonMaxTokens:
		return llm.FinishLength
	case genai.FinishReasonSafety, genai.FinishReasonProhibitedContent, genai.FinishReasonSPII,
		genai.FinishReasonBlocklist, genai.FinishReasonRecitation:
		return llm.FinishRefused
	default:
		return llm.FinishOther
	}
}

// usage counts thoughts as output, which is how they are billed.
func usage(u *genai.GenerateContentResponseUsageMetadata) llm.Usage {
	if u == nil {
		return llm.Usage{}
	}
	return llm.Usage{
		InputTokens:  int(u.PromptTokenCount) + int(u.ToolUsePromptTokenCount),
		OutputTokens: int(u.CandidatesTokenCount) + int(u.ThoughtsTokenCount),
	}
}
