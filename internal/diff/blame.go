package diff

import (
	"unicode/utf8"

	"reverie/internal/reverie"
)

// Blame says who wrote a memory, by what stands behind it.
func Blame(why reverie.Why) reverie.Blame {
	b := reverie.Blame{Memory: why.Memory, Words: []reverie.BlameWords{}, Versions: make([]reverie.BlameVersion, len(why.Versions))}
	texts := make([]string, len(why.Versions))
	for i, v := range why.Versions {
		texts[i] = v.Memory.Statement
		b.Versions[i] = blamed(v)
	}
	for _, o := range Origins(texts) {
		v := &b.Versions[o.From]
		v.Remaining += utf8.RuneCountInString(o.Text)
		b.Words = append(b.Words, reverie.BlameWords{Text: o.Text, Version: v.Version})
	}
	return b
}

func blamed(v reverie.WhyVersion) reverie.BlameVersion {
	m := v.Memory
	b := reverie.BlameVersion{Version: m.Version, MemoryID: m.ID, Status: m.Status, Statement: m.Statement, At: m.UpdatedAt,
		Action: v.Action, Reason: v.Reason, UndoneRunID: v.UndoneRunID, Approved: v.Approved, Sources: v.Sources,
		Evidence: append(append([]reverie.Evidence{}, v.Evidence...), v.Withdrawn...)}
	if r := v.Run; r != nil {
		b.Run = &reverie.BlameRun{RunID: r.ID, Job: r.Job, ChunkNo: v.ChunkNo, Model: r.Model, PromptVersion: r.PromptVersion,
			PromptSHA256: r.PromptSHA256, UndoneAt: r.UndoneAt}
	}
	return b
}
