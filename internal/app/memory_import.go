package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"reverie/internal/ingest"
	"reverie/internal/ingest/export"
	"reverie/internal/ingest/memories"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// MemoryImport is the result of importing another system's memories.
type MemoryImport struct {
	Success  bool           `json:"success"`
	DryRun   bool           `json:"dry_run,omitempty"`
	GroupID  string         `json:"group_id"`
	Systems  map[string]int `json:"systems"` // memories found, by system
	Imported int            `json:"imported"`
	Known    int            `json:"known"`   // an active memory already says it
	Ended    int            `json:"ended"`   // the other system marks it as no longer valid
	Refused  int            `json:"refused"` // Reverie may not store it, or it could not be read
}

// String describes the result for people.
func (m MemoryImport) String() string {
	did := "imported"
	if m.DryRun {
		did = "would import"
	}
	from := text.Each(slices.Sorted(maps.Keys(m.Systems)),
		func(system string) string { return fmt.Sprintf("%s %d", system, m.Systems[system]) })
	return fmt.Sprintf("%s %d of %s; %d known already, %d ended, %d refused", did, m.Imported, strings.Join(from, ", "),
		m.Known, m.Ended, m.Refused)
}

// ImportMemories imports another system's memories into an existing group. It skips what an active memory already
// says, so it may be repeated. It calls refused for each memory that is not imported, with the reason.
func (a *App) ImportMemories(ctx context.Context, groupID string, in *ingest.Input, dryRun bool,
	refused func(place string, err error)) (MemoryImport, error) {
	res := MemoryImport{DryRun: dryRun, GroupID: groupID, Systems: map[string]int{}}
	if _, err := a.Store.Group(ctx, groupID); err != nil {
		return res, err
	}
	known := map[string]bool{} // what a dry run would have imported
	if dryRun {
		list, _, err := a.Store.ListMemories(ctx, reverie.MemoryQuery{GroupID: groupID, Status: reverie.StatusActive, Kind: reverie.KindGroup})
		if err != nil {
			return res, err
		}
		for _, m := range list {
			known[text.ContentHash(m.Statement)] = true
		}
	}
	for m, err := range memoriesOf(in) {
		if err == nil {
			res.Systems[m.System]++
			if !m.Ends.IsZero() && !m.Ends.After(a.Clock()) {
				res.Ended++
				continue
			}
			err = a.importMemory(ctx, groupID, m, dryRun, known)
		}
		var bad *export.Bad
		switch {
		case err == nil:
			res.Imported++
		case errors.Is(err, reverie.ErrConflict):
			res.Known++
		case errors.As(err, &bad), m.Statement != "" && errors.Is(err, reverie.ErrInvalid):
			res.Refused++
			refused(m.Place, err)
		default:
			return res, fmt.Errorf("%d memories are imported; run the same command again to go on: %w", res.Imported, err)
		}
	}
	if len(res.Systems) == 0 && res.Refused == 0 {
		return res, memories.ErrNone
	}
	res.Success = res.Refused == 0
	return res, nil
}

// memoryFiles are the extensions of files with memories in an archive or a folder.
var memoryFiles = []string{".json", ".jsonl", ".af"}

// listFiles are the extensions of files that may be lists; a list may have no extension.
var listFiles = []string{".txt", ".md", ""}

// memoriesOf yields the memories of a file, or of each file of an archive or a folder.
func memoriesOf(in *ingest.Input) iter.Seq2[memories.Memory, error] {
	if in.Files == nil {
		return memories.Read(in.Reader, slices.Contains(listFiles, strings.ToLower(path.Ext(in.Name))))
	}
	return func(yield func(memories.Memory, error) bool) {
		names, err := export.FileNames(in.Files)
		for _, name := range names {
			if !slices.Contains(memoryFiles, strings.ToLower(path.Ext(name))) {
				continue
			}
			var f fs.File
			if f, err = in.Files.Open(name); err != nil {
				break
			}
			for m, err := range memories.Read(f, false) {
				m.Place = name + ", " + m.Place
				if !yield(m, err) {
					_ = f.Close() // it was only read
					return
				}
			}
			_ = f.Close()
		}
		if err != nil {
			yield(memories.Memory{}, err)
		}
	}
}

func (a *App) importMemory(ctx context.Context, groupID string, m memories.Memory, dryRun bool, known map[string]bool) error {
	e := reverie.Edit{GroupID: groupID, Action: reverie.ActionCreate, Reason: "imported from " + m.System,
		Words: reverie.Words{Statement: m.Statement}, Imported: reverie.Imported{System: m.System, SaidAt: m.SaidAt}}
	if m.ID != "" {
		e.Reason += ", where it is " + m.ID
	}
	if len(m.Tags) > 0 {
		e.Tags = safety.CleanTags(m.Tags)
	}
	e, err := PrivacyOf(a.Config).Written(e)
	switch {
	case err != nil:
		return err
	case dryRun && known[e.ContentHash]:
		return reverie.ErrConflict
	case dryRun:
		known[e.ContentHash] = true
		return nil
	}
	_, err = a.Store.Edit(ctx, e)
	return err
}
