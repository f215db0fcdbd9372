package reverie

import "time"

// DreamReply says what one run of dream did with a group.
type DreamReply struct {
	Success   bool          `json:"success"`
	Job       Job           `json:"job"` // dream
	GroupID   string        `json:"group_id"`
	RunID     string        `json:"run_id,omitempty"`
	SessionID string        `json:"through_session,omitempty"`
	DreamTime *time.Time    `json:"dream_time,omitempty"`
	Status    RunStatus     `json:"status,omitempty"`
	DryRun    bool          `json:"dry_run,omitempty"`
	Reason    string        `json:"reason,omitempty"`  // why it was due
	Message   string        `json:"message,omitempty"` // why there was no dream
	Error     string        `json:"error,omitempty"`
	Stats     EvolveStats   `json:"stats"`              // of memories of kind dream
	Sources   *DreamCounts  `json:"material,omitempty"` // what it took in; nothing, where it was not applied
	Narrative string        `json:"narrative,omitempty"`
	Changes   []ChangeReply `json:"changes"`
	Refusals  []Refusal     `json:"refusals,omitempty"`
	Warnings  []string      `json:"warnings,omitempty"`
}

// DreamCounts counts what a dream took in, and how.
type DreamCounts struct {
	Sessions int `json:"sessions"`
	Memories int `json:"memories"` // versions that were new
	Batches  int `json:"batches"`  // questions that they were put in; more than one are combined by further ones
	Calls    int `json:"calls"`    // questions asked in all, those that were answered before an interruption included
}

// DreamPage is the JSON of what a group's dreams have left.
type DreamPage struct {
	Success   bool         `json:"success"`
	GroupID   string       `json:"group_id"`
	RunID     string       `json:"run_id,omitempty"` // of the last dream
	SessionID string       `json:"through_session,omitempty"`
	DreamTime *time.Time   `json:"dream_time,omitempty"`
	Status    RunStatus    `json:"status,omitempty"`    // of the last dream
	Sources   *DreamCounts `json:"material,omitempty"`  // what it took in
	Message   string       `json:"message,omitempty"`   // where there is nothing to show
	Held      []string     `json:"held_runs,omitempty"` // dreams that wait for a person
	Narrative *DreamItem   `json:"narrative"`
	Items     []DreamItem  `json:"items"`
}

// DreamCounts is what a dream took in, and how.
func (st Stats) DreamCounts() *DreamCounts {
	return &DreamCounts{Sessions: st.Sessions, Memories: st.Material, Batches: st.Batches, Calls: st.Asked}
}

// Nothing tells whether a group has not dreamt, and nothing is there to show. Of a group
// that was imported there may be something without a dream.
func (d Dream) Nothing() bool {
	return d.Run == nil && len(d.Waiting) == 0 && d.Narrative == nil && len(d.Items) == 0
}

// NothingLeft tells whether a group has dreamt, and nothing of it stands or waits.
func (d Dream) NothingLeft() bool {
	return d.Run != nil && d.Narrative == nil && len(d.Items)+len(d.Waiting) == 0
}

// BecameOf says what has become of dreams of which nothing is left.
func (d Dream) BecameOf() string {
	if d.Gone {
		return "what it left has faded or was deleted: memory list has it, with --status archived or deprecated"
	}
	return "nothing that lasts has come of it"
}

// Page is what dreams have left as clients see it. The message is for a group that has
// not dreamt.
func (d Dream) Page(message string) DreamPage {
	if d.NothingLeft() {
		message = d.BecameOf()
	}
	page := DreamPage{Success: true, GroupID: d.Group.ID, Message: message, Narrative: d.Narrative, Items: append([]DreamItem{}, d.Items...)}
	if r := d.Run; r != nil {
		page.RunID, page.SessionID, page.DreamTime, page.Status = r.ID, r.SessionID, r.FinishedAt, r.Status
		page.Sources = r.Stats.DreamCounts()
	}
	for _, r := range d.Waiting {
		page.Held = append(page.Held, r.ID)
	}
	return page
}
