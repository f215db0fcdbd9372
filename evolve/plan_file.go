package evolve

import (
	"cmp"
	"context"
	"crypto/hmac"
	"fmt"
	"slices"
	"strings"

	"reverie/internal/planfile"
	"reverie/internal/reverie"
)

// Sealer makes sums that only the group's database can make.
type Sealer interface {
	PlanSeal(ctx context.Context, groupID, text string) (string, error)
}

// sealOf is the seal of a plan, and the sum that it seals.
func sealOf(ctx context.Context, s Sealer, file *planfile.File) (seal, sum string, err error) {
	if sum, err = file.Sum(); err != nil {
		return "", "", err
	}
	if seal, err = s.PlanSeal(ctx, file.GroupID, sum); err != nil {
		return "", "", fmt.Errorf("seal the plan: %w", err)
	}
	return seal, sum, nil
}

// isSealed tells whether a plan has its seal, and returns its sum.
func isSealed(ctx context.Context, s Sealer, file *planfile.File) (sealed bool, sum string, err error) {
	seal, sum, err := sealOf(ctx, s, file)
	return err == nil && hmac.Equal([]byte(seal), []byte(file.Seal)), sum, err
}

// beginFile begins the plan of a dry run, before anything is known to be pending.
func (r *run) beginFile() {
	r.result.Plan = &planfile.File{PlanID: cmp.Or(r.req.PlanID, reverie.NewID()), GroupID: r.req.GroupID,
		CreatedAt: r.now, Model: r.Model.Name()}
}

// sealFile seals the plan of a dry run, if it is to be applied.
func (r *run) sealFile(ctx context.Context) (err error) {
	if file := r.result.Plan; file != nil && r.req.PlanID != "" {
		file.Seal, _, err = sealOf(ctx, r.Store, file)
	}
	return err
}

// addToFile adds what a chunk would write to the plan, and what that rests on: the heads
// before the first chunk, and the messages of each.
func (r *run) addToFile(s *sheet, plan reverie.Plan) {
	f := r.result.Plan
	if len(f.Chunks) == 0 {
		f.Since, f.Until, f.OpenEnded, f.Days = r.since, r.until, !r.bounded, r.req.Days
		if f.Since.IsZero() {
			f.Since = s.state.Pending[0].SentAt
		}
		for _, h := range slices.Concat(s.state.Heads, s.state.Again) {
			f.Heads = append(f.Heads, planfile.Head{MemoryID: h.ID, LineageID: h.LineageID, Version: h.Version, SHA256: planfile.HeadSHA256(h)})
		}
	}
	f.PromptVersion, f.PromptSHA256 = r.life.Row.PromptVersion, r.life.Row.PromptSHA256
	for _, m := range s.state.Pending {
		f.Messages = append(f.Messages, planfile.Message{Chunk: s.no, MessageID: m.ID, Outcome: plan.Outcomes[m.ID], SHA256: planfile.MessageSHA256(m)})
	}
	for _, m := range s.earlier {
		if !slices.ContainsFunc(f.Messages, func(o planfile.Message) bool { return o.MessageID == m.ID }) {
			f.Messages = append(f.Messages, planfile.Message{MessageID: m.ID, SHA256: planfile.MessageSHA256(m)})
		}
	}
	chunk := planfile.Chunk{No: s.no, Compared: s.compared, Steps: plan.Steps, Held: plan.Held, Whole: plan.HeldAll, Reason: plan.HeldReason,
		Judged: plan.Judged, Refusals: plan.Refusals, Decisions: plan.Decisions}
	chunk.Answer = strings.ReplaceAll(strings.ToValidUTF8(s.answer, "\uFFFD"), "\x00", "\uFFFD")
	for _, h := range s.shown {
		chunk.MemoryIDs = append(chunk.MemoryIDs, h.ID)
	}
	if len(s.fresh) > 0 {
		chunk.InputSHA256 = s.inputSHA256(r.Model.Name())
	}
	f.Chunks = append(f.Chunks, chunk)
}
