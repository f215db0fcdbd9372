package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"reverie/internal/decide"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// maxProposer is the maximum number of characters of a proposer's name.
const maxProposer = 100

// Propose stores an agent's proposal to remember or forget something. It changes no memory: a person must decide,
// as on everything that is held. Statement and evidence are checked like those of a run. A create names its group;
// other proposals may omit the group and name the memory by its head's id. For an old version the error is a
// *reverie.NotHeadError. If the group or another proposal already says the same, the error is a
// [reverie.ErrConflict] that names it.
func (s *Service) Propose(ctx context.Context, p reverie.Proposal) (reverie.ProposalReply, error) {
	var err error
	if p.GroupID, err = allowed(ctx, p.GroupID, reverie.ScopeWrite); err != nil {
		if errors.Is(err, reverie.ErrForbidden) && p.Action != reverie.ActionCreate { // as for an edit
			if _, lookErr := s.History(ctx, p.MemoryID, reverie.When{}); lookErr != nil {
				return reverie.ProposalReply{}, lookErr
			}
		}
		return reverie.ProposalReply{}, err
	}
	if p.MemoryID, err = s.Store.WholeID(ctx, reverie.IDMemory, p.GroupID, p.MemoryID); err != nil {
		return reverie.ProposalReply{}, err
	}
	caller, _ := CallerOf(ctx)
	p.By = text.Excerpt(safety.CleanReason(cmp.Or(caller.Name, caller.TokenID)), maxProposer)
	if p.Reason = safety.CleanReason(p.Reason); p.Action == reverie.ActionDelete {
		p.Statement = ""
	}
	if err := checkProposal(p); err != nil {
		return reverie.ProposalReply{}, err
	}
	if p, err = s.private(p); err != nil {
		return reverie.ProposalReply{}, err
	}
	state, err := s.Store.ProposalState(ctx, p)
	if err != nil {
		return reverie.ProposalReply{}, err
	}
	state.Messages = s.Privacy.Messages(state.Messages)
	if _, ok := reverie.TeamOf(state.Group.ID); ok {
		return reverie.ProposalReply{}, fmt.Errorf("proposal: %s is a team, whose memories are written and not proposed: PUT /v1/team/memories/{id}: %w", state.Group.ID, reverie.ErrInvalid)
	}
	run, plan, err := proposed(p, state)
	if err != nil {
		return reverie.ProposalReply{}, err
	}
	if err := s.Store.Propose(ctx, run, plan); err != nil {
		return reverie.ProposalReply{}, err
	}
	s.Log.Info("proposed", "group_id", plan.GroupID, "run_id", run.ID, "action", p.Action, "by", p.By)
	return reverie.ProposalReply{Success: true, GroupID: plan.GroupID, RunID: run.ID, Status: reverie.RunHeld,
		Message: "it waits for a person to approve or reject; nothing is changed until then"}, nil
}

// checkProposal refuses proposals that are invalid whatever the group remembers.
func checkProposal(p reverie.Proposal) error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("proposal: "+format+": %w", append(args, reverie.ErrInvalid)...)
	}
	switch {
	case p.Action != reverie.ActionCreate && p.Action != reverie.ActionUpdate && p.Action != reverie.ActionDelete:
		return invalid("action %.40q: it is create, update or delete", p.Action)
	case (p.Action == reverie.ActionCreate) != (p.MemoryID == ""):
		return invalid("an update or a delete names the memory, and a create names none")
	case p.Action == reverie.ActionCreate && p.GroupID == "":
		return invalid("a create names its group")
	case p.Reason == "":
		return invalid("say in reason why, for the person who decides")
	case len(p.Evidence) > reverie.MaxProposalEvidence:
		return invalid("it cites %d messages: %d is the most", len(p.Evidence), reverie.MaxProposalEvidence)
	}
	for i, e := range p.Evidence {
		if e.MessageID == "" || len(e.MessageID) > reverie.MaxMessageIDLength || len(e.Quote) > MaxQuery ||
			!text.Storable(e.MessageID) || !text.Storable(e.Quote) {
			return invalid("evidence %d: it needs the id of a message of at most %d bytes, and words of it in UTF-8 without NUL",
				i+1, reverie.MaxMessageIDLength)
		}
	}
	return nil
}

// private returns a proposal with texts as they may be stored: see [safety.Privacy].
func (s *Service) private(p reverie.Proposal) (_ reverie.Proposal, err error) {
	p.Reason, p.Evidence = s.Privacy.Mask(p.Reason), slices.Clone(p.Evidence)
	for i := range p.Evidence {
		p.Evidence[i].Quote = s.Privacy.Mask(p.Evidence[i].Quote)
	}
	if p.Action != reverie.ActionDelete {
		p.Statement, err = s.Privacy.Statement(p.Statement)
	}
	return p, err
}

// proposed checks a proposal against the group's state, and makes a run that holds one step. It has no side
// effects.
func proposed(p reverie.Proposal, state reverie.ProposalState) (reverie.Run, reverie.Plan, error) {
	line := decide.Line{Action: p.Action, Statement: p.Statement, Reason: p.Reason}
	kind := reverie.KindGroup
	if head := state.Head; head != nil {
		if err := changeable(p.Action, *head); err != nil {
			return reverie.Run{}, reverie.Plan{}, err
		}
		kind, line.Target = head.Kind, &reverie.HeadState{Memory: *head}
	}
	if p.Statement != "" {
		line.ContentHash = text.ContentHash(p.Statement)
	}
	if state.TwinID != "" {
		return reverie.Run{}, reverie.Plan{}, fmt.Errorf("memory %s says this already: %w", state.TwinID, reverie.ErrConflict)
	}
	loc, err := state.Group.Location()
	if err != nil {
		return reverie.Run{}, reverie.Plan{}, err
	}
	if line.Evidence, err = cited(p.Evidence, state.Messages, loc); err != nil {
		return reverie.Run{}, reverie.Plan{}, err
	}
	reason := "proposed by " + p.By
	if len(line.Evidence) == 0 {
		reason += ", without evidence: it would rest on whoever approves it"
	}
	run := reverie.Run{GroupID: state.Group.ID, ID: reverie.NewID(), Job: reverie.JobPropose, Model: "proposed by " + p.By,
		Stats: reverie.Stats{Held: 1, Chunks: 1}}
	return run, reverie.Plan{GroupID: run.GroupID, RunID: run.ID, ChunkNo: 1, Kind: kind, HeldAll: true, HeldReason: reason,
		Held: []reverie.Step{decide.NewStep(line)}}, nil
}

// changeable refuses what an approval could not apply.
func changeable(action reverie.Action, head reverie.Memory) error {
	switch {
	case head.Status != reverie.StatusActive:
		return fmt.Errorf("memory %s is %s: there is nothing to %s: %w", head.ID, head.Status, action, reverie.ErrConflict)
	case action == reverie.ActionUpdate:
		return head.Wordable()
	}
	return nil
}

// cited verifies evidence: each message must belong to the group and be written by a member, and quotes must occur
// in it.
func cited(claims []reverie.Evidence, messages []reverie.Message, loc *time.Location) ([]reverie.Evidence, error) {
	byID := make(map[string]reverie.Message, len(messages))
	for _, m := range messages {
		byID[m.ID] = m
	}
	var list []reverie.Evidence
	seen := map[string]bool{}
	for i, c := range claims {
		m, ok := byID[c.MessageID]
		one := []reverie.Citation{{Message: "1", Quote: c.Quote}}
		verified, _ := safety.Cite(one, []reverie.Message{m}, loc)
		switch {
		case !ok:
			return nil, fmt.Errorf("evidence %d: the group has no message %.80q whose text is kept: %w", i+1, c.MessageID, reverie.ErrInvalid)
		case len(verified) == 0:
			return nil, fmt.Errorf("evidence %d: the quote does not stand in message %.80q, or no member wrote it: %w", i+1, c.MessageID, reverie.ErrInvalid)
		case !seen[m.ID]:
			seen[m.ID] = true
			list = append(list, verified...)
		}
	}
	return list, nil
}
