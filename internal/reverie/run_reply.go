package reverie

// RunDetail is everything that the ledger knows about a run.
type RunDetail struct {
	Run     Run
	Chunks  []Chunk
	Held    []HeldPlan
	Changes []Change
	// Decisions are on the facts that a run would create.
	Decisions []Decision
	// Entities is what a run of impressions changed, Names those that it is about, by id.
	Entities []EntityChange
	Names    map[string]string
	Calls    []Call
	Spend    Spend // what the calls have cost, those that were left out included
	Cut      bool  // it has more of a part than was asked for
}

// RunReply is a run and everything that the ledger knows about it.
type RunReply struct {
	Success bool          `json:"success"`
	Run     Run           `json:"run"`
	Spend   Spend         `json:"spend"`
	Setback *Setback      `json:"setback,omitempty"` // of the job, as it stands now
	Chunks  []Chunk       `json:"chunks"`
	Changes []ChangeReply `json:"changes"`
	// Decisions are on the facts that the run would create.
	Decisions []Decision `json:"decisions"`
	// Entities are the changes of a run of the impression job.
	Entities []EntityChangeReply `json:"entities,omitempty"`
	Held     []HeldReply         `json:"held"`
	Calls    []Call              `json:"calls"`
	Cut      bool                `json:"cut,omitempty"` // there is more of a part than an answer holds
}

// HeldReply is a plan that waits for a person, or did.
type HeldReply struct {
	ChunkNo int        `json:"chunk_no"`
	Whole   bool       `json:"whole"`
	Reason  string     `json:"reason"`
	Status  HeldStatus `json:"status"`
	Steps   []Step     `json:"steps"`
}

// Reply is the run as clients see it, in its group as that stands now.
func (d RunDetail) Reply(g GroupEntry) RunReply {
	r := RunReply{Success: true, Run: d.Run, Spend: d.Spend, Setback: g.Setback(d.Run.Job), Chunks: d.Chunks, Changes: []ChangeReply{},
		Decisions: append([]Decision{}, d.Decisions...), Entities: EntityChangeReplies(d.Entities, d.Names), Held: []HeldReply{},
		Calls: d.Calls, Cut: d.Cut}
	for _, c := range d.Changes {
		r.Changes = append(r.Changes, c.Reply())
	}
	for _, h := range d.Held {
		r.Held = append(r.Held, HeldReply{h.ChunkNo, h.Whole, h.Reason, h.Status, h.Steps})
	}
	return r
}

// RejectReply says what became of a run that a person has refused.
type RejectReply struct {
	Success  bool   `json:"success"`
	RunID    string `json:"run_id"`
	Requeued int    `json:"requeued"` // messages pending again, or memories new to dreams again
}
