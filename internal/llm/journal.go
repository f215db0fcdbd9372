package llm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"reverie/internal/fault"
	"reverie/internal/reverie"
)

// Journal keeps the answers of a run under the hash of their question.
type Journal interface {
	// Answers returns what is kept of a run, by hash of the question.
	Answers(ctx context.Context, groupID, runID, purpose string) (map[string]string, error)
	SaveAnswer(ctx context.Context, lease reverie.Lease, a reverie.Answer) error
}

// Asker asks one model on behalf of one run, and no question twice: an answer is
// kept before it is given, and given again when the run is continued. It serves
// one goroutine.
type Asker struct {
	Model interface {
		Generate(ctx context.Context, meta Meta, req Request) (Response, error)
		Name() string
	}
	Journal Journal              // nil: nothing is kept
	Lease   func() reverie.Lease // nil for a dry run: nothing is kept
	Meta    Meta                 // RunID nil: nothing is kept

	kept map[string]string // nil: not read yet
}

// Ask answers a request. Only whole answers ([FinishStop]) are kept; fresh tells
// that the model was asked now. Its errors are those of [Model.Generate] and the
// journal's.
func (a *Asker) Ask(ctx context.Context, req Request) (resp Response, fresh bool, err error) {
	keeps := a.Journal != nil && a.Lease != nil && a.Meta.RunID != nil
	input := a.inputSHA256(req)
	if keeps && a.kept == nil {
		if err := a.read(ctx); err != nil {
			return Response{}, false, err
		}
	}
	if text, ok := a.kept[input]; ok {
		return Response{Text: text, Finish: FinishStop}, false, nil
	}
	if resp, err = a.Model.Generate(ctx, a.Meta, req); err != nil || !keeps || resp.Finish != FinishStop {
		return resp, true, err
	}
	if fault.Off(fault.Answer) {
		return resp, true, nil
	}
	err = a.Journal.SaveAnswer(ctx, a.Lease(), reverie.Answer{GroupID: a.Meta.GroupID, RunID: *a.Meta.RunID,
		InputSHA256: input, Purpose: a.Meta.Purpose, Text: resp.Text})
	if err != nil {
		return Response{}, true, fmt.Errorf("keep an answer of run %s: %w", *a.Meta.RunID, err)
	}
	a.kept[input] = resp.Text
	return resp, true, nil
}

// read fetches what is kept of the run.
func (a *Asker) read(ctx context.Context) error {
	kept, err := a.Journal.Answers(ctx, a.Meta.GroupID, *a.Meta.RunID, a.Meta.Purpose)
	if err != nil {
		return fmt.Errorf("read the answers of run %s: %w", *a.Meta.RunID, err)
	}
	if a.kept = kept; kept == nil {
		a.kept = map[string]string{}
	}
	return nil
}

// inputSHA256 names a question: the model and what it is asked.
func (a *Asker) inputSHA256(req Request) string {
	h := sha256.New()
	for _, part := range []string{a.Model.Name(), req.System, req.User} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}
