package app

import (
	"context"
	"fmt"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// WriteMemory adds a person's memory to a group, or rewords one.
func (a *App) WriteMemory(ctx context.Context, e reverie.Edit) (reverie.Memory, error) {
	e, err := PrivacyOf(a.Config).Written(e)
	if err != nil {
		return reverie.Memory{}, err
	}
	return a.Store.Edit(ctx, e)
}

// MemoriesOf returns a group's memories, last changed first, with their quotes.
func (a *App) MemoriesOf(ctx context.Context, groupID string) (p reverie.MemoryPage, err error) {
	if p.Group, err = a.Store.Group(ctx, groupID); err != nil {
		return p, err
	}
	q := reverie.MemoryQuery{GroupID: groupID, Status: reverie.StatusActive, Order: reverie.OrderChanged}
	if p.Memories, _, err = a.Store.ListMemories(ctx, q); err != nil {
		return p, err
	}
	lineages := text.Each(p.Memories, func(m reverie.Memory) string { return m.LineageID })
	p.Evidence, err = a.Store.EvidenceOf(ctx, groupID, lineages)
	return p, err
}

// cleanBatch is the number of memories deleted in one transaction.
const cleanBatch = 500

// CleanMemories deletes the listed memories, and returns the deleted ones: those that changed meanwhile stay.
func (a *App) CleanMemories(ctx context.Context, q reverie.CleanQuery, list []reverie.Memory,
	reason string) ([]reverie.Memory, error) {
	var gone []reverie.Memory
	for len(list) > 0 {
		n := min(len(list), cleanBatch)
		ids := make([]string, n)
		for i, m := range list[:n] {
			ids[i] = m.ID
		}
		list = list[n:]
		done, err := a.Store.Clean(ctx, q, ids, reason)
		if err != nil {
			return gone, fmt.Errorf("%d deleted before this; run the same command again to go on: %w", len(gone), err)
		}
		gone = append(gone, done...)
	}
	return gone, nil
}
