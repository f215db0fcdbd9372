package evolve

import (
	"context"
	"crypto/hmac"
	"fmt"

	"reverie/internal/reverie"
)

// Sealer makes sums that only the group's database can make.
type Sealer interface {
	PlanSeals(ctx context.Context, groupID string, texts []string) ([]string, error)
}

// seals are those of a plan as it is.
func seals(ctx context.Context, s Sealer, file *reverie.PlanFile) ([]string, error) {
	texts, err := file.Sealed()
	if err != nil {
		return nil, err
	}
	sums, err := s.PlanSeals(ctx, file.GroupID, texts)
	if err != nil {
		return nil, fmt.Errorf("seal the plan: %w", err)
	}
	return sums, nil
}

// seal seals the plan of a dry run, if it is to be applied.
func (r *run) seal(ctx context.Context) error {
	if r.draft == nil || r.req.PlanID == "" {
		return nil
	}
	sums, err := seals(ctx, r.Store, r.draft.file)
	if err == nil {
		r.draft.file.SetSeals(sums)
	}
	return err
}

// sealed compares a seal with what it should be.
func sealed(is, want string) bool { return hmac.Equal([]byte(is), []byte(want)) }
