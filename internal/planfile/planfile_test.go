package planfile

import (
	"errors"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
)

func aPlan() *File {
	at := time.Date(2026, 1, 15, 12, 0, 0, 123456000, time.FixedZone("", 8*3600))
	id := func(n string) string { return strings.Repeat("0", 8) + "-0000-7000-8000-00000000000" + n }
	return &File{CreatedAt: at, Run: reverie.Run{ID: id("1"), GroupID: "g1", WindowSince: at.Add(-time.Hour), WindowUntil: at.Add(time.Hour), Model: "openai/fake"},
		Heads:    []Sum{SumOfHead(reverie.HeadState{Memory: reverie.Memory{ID: id("2"), LineageID: id("3"), Version: 1}})},
		Messages: []Sum{SumOfMessage(reverie.Message{ID: "a1"}, true)},
		Chunks: []Chunk{{Asked: reverie.Chunk{No: 1, Answer: "{\"action\":\"update\"} <3\n"}, Plan: reverie.Plan{ChunkNo: 1,
			Outcomes: map[string]reverie.Outcome{"a1": reverie.OutcomeCited}, Steps: []reverie.Step{{Action: reverie.ActionUpdate, LineageID: id("3"),
				MemoryID: id("4"), Statement: "林只喝咖啡", Strength: 0.51, LastSupportedAt: at, Evidence: []reverie.Evidence{{MessageID: "a1", Author: "林"}}}}}}},
		Seal: "sealed"}
}

// TestPlanFile reads what it writes, with the same sum, however it was saved.
func TestPlanFile(t *testing.T) {
	var b strings.Builder
	plan := aPlan()
	want, err := plan.Sum()
	if err != nil || plan.Write(&b) != nil {
		t.Fatal(err)
	}
	text := b.String()
	for what, same := range map[string]string{
		"as it is":            text,
		"saved on Windows":    "\uFEFF" + strings.ReplaceAll(text, "\n", "\r\n") + "\r\n",
		"without white space": strings.ReplaceAll(strings.ReplaceAll(text, "\n", ""), "  ", ""),
	} {
		f, err := Read(strings.NewReader(same))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if sum, err := f.Sum(); err != nil || sum != want || f.Seal != "sealed" || f.Steps() != 1 {
			t.Errorf("%s: another sum, %v", what, err)
		}
	}
	for what, c := range map[string]struct{ text, says string }{
		"nothing":          {"", "it is not a plan"},
		"other JSON":       {`{"a":1}`, "it is not a plan"},
		"an older format":  {strings.Replace(text, `"format": 4`, `"format": 3`, 1), "plan again"},
		"an unknown field": {strings.Replace(text, `"format": 4`, `"format": 4, "more": 1`, 1), "more"},
		"cut off":          {text[:len(text)/2], "cut off"},
		"two plans":        {text + text, "after the plan's end"},
		"no id":            {strings.Replace(text, aPlan().Run.ID, "x", 1), "names no run"},
	} {
		if _, err := Read(strings.NewReader(c.text)); !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
