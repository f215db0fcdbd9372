package reverie

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Sealed are the texts that a plan's seals are made of: all of its lines; the first one;
// and of each chunk, in order, what the model was asked and said, and what came of that
// besides steps. The sums are the database's to make: see [PlanFile.SetSeals].
func (f *PlanFile) Sealed() ([]string, error) {
	f.Reverie, f.Format = planMark, PlanFormat
	sum, err := f.sum()
	if err != nil {
		return nil, err
	}
	head := f.PlanHeader
	head.SHA256, head.Origin, head.Seal = "", "", ""
	texts := []string{"lines " + sum}
	for i, lines := range append([][]any{{head}}, f.origins()...) {
		text := bytes.NewBufferString(fmt.Sprintf("part %d of %s\n", min(i, 1), f.PlanID))
		for _, l := range lines {
			if err := json.NewEncoder(text).Encode(l); err != nil {
				return nil, fmt.Errorf("seal the plan: %w", err)
			}
		}
		texts = append(texts, text.String())
	}
	return texts, nil
}

// origins are the lines of each chunk that nobody may change.
func (f *PlanFile) origins() (list [][]any) {
	for _, c := range f.Chunks {
		c.Steps, c.Judged, c.Held, c.Whole, c.Origin = nil, nil, "", false, ""
		list = append(list, c.lines())
	}
	return list
}

// SetSeals gives a plan the sums of the texts that [PlanFile.Sealed] returns.
func (f *PlanFile) SetSeals(sums []string) {
	f.Seal, f.Origin = sums[0], sums[1]
	for i := range f.Chunks {
		f.Chunks[i].Origin = sums[2+i]
	}
}
