package archive

import (
	"encoding/json"
	"fmt"
	"strings"

	"reverie/internal/reverie"
)

// whole holds the records of a group to each other: what one refers to is before
// it, and nothing is there twice. It keeps the ids of one group.
type whole struct {
	groupID string
	seen    map[string]bool
}

// refs is what of a row others refer to, or it refers to.
type refs struct {
	RunID     string `json:"run_id"`
	ChunkNo   int    `json:"chunk_no"`
	MemoryID  string `json:"memory_id"`
	ParentID  string `json:"parent_id"`
	OldID     string `json:"old_id"`
	SourceID  string `json:"source_id"`
	TargetID  string `json:"target_id"`
	LineageID string `json:"lineage_id"`
	Version   int    `json:"version"`
	Status    string `json:"status"`
	Kind      string `json:"kind"`
	Hash      string `json:"content_hash"`
}

// add checks one record, in the order of the file.
func (w *whole) add(rec reverie.Record) error {
	if rec.Type == reverie.RecordGroup {
		w.groupID, w.seen = rec.GroupID, map[string]bool{}
		return nil
	}
	var r refs
	if err := json.Unmarshal(rec.Row, &r); err != nil {
		return fmt.Errorf("read a %s of group %q: %w: %w", rec.Type, rec.GroupID, err, reverie.ErrInvalid)
	}
	run, chunk := "run "+strings.ToLower(r.RunID), fmt.Sprintf("chunk %d of run %s", r.ChunkNo, strings.ToLower(r.RunID))
	memory := func(id string) string { return "memory " + strings.ToLower(id) }
	var needs, is []string
	switch rec.Type {
	case reverie.RecordRun:
		is = []string{run}
	case reverie.RecordChunk:
		needs, is = []string{run}, []string{chunk}
	case reverie.RecordHeld:
		needs = []string{chunk}
	case reverie.RecordDecision:
		needs = []string{chunk, memory(r.MemoryID), memory(r.TargetID)}
	case reverie.RecordSource, reverie.RecordTaken:
		needs = []string{run, memory(r.MemoryID), memory(r.SourceID)}
	case reverie.RecordEvidence, reverie.RecordChange:
		needs = []string{run, memory(r.MemoryID), memory(r.OldID)}
	case reverie.RecordMemory:
		needs, is = []string{run, memory(r.ParentID)}, []string{memory(r.MemoryID)}
		lineage := strings.ToLower(r.LineageID)
		if lineage == "" { // the store refuses it
			break
		}
		is = append(is, fmt.Sprintf("version %d of lineage %s", r.Version, lineage))
		if r.Status == string(reverie.StatusActive) {
			is = append(is, "an active version of lineage "+lineage, "an active "+r.Kind+" memory with the hash "+r.Hash)
		}
	}
	for _, n := range needs {
		if !strings.HasSuffix(n, " ") && !w.seen[n] { // no id: it refers to none
			return fmt.Errorf("a %s record of group %q refers to %s, which is not before it: %w", rec.Type, rec.GroupID, n,
				reverie.ErrInvalid)
		}
	}
	for _, n := range is {
		if w.seen[n] {
			return fmt.Errorf("group %q has %s twice: %w", rec.GroupID, n, reverie.ErrInvalid)
		}
		w.seen[n] = true
	}
	return nil
}
