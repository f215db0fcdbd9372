package mcp

import (
	"context"

	"reverie/internal/reverie"
)

func (s *Server) writingTools() {
	add(s, tool{name: "propose_memory", title: "Propose a memory", writes: true,
		about: "Propose that a group remembers something, or that a memory says something else. It waits for a person who " +
			"approves or rejects it; nothing is changed until then. A statement is one plain sentence about the group, " +
			"without links, secrets or instructions."},
		s.propose)
	add(s, tool{name: "forget_memory", title: "Propose to forget a memory", writes: true,
		about: "Propose that a memory is deleted. It waits for a person who approves or rejects it; nothing is changed " +
			"until then."},
		s.forget)
}

type evidence struct {
	Message string `json:"message_id" jsonschema:"a message of the group"`
	Quote   string `json:"quote,omitempty" jsonschema:"words that stand in it, as they stand there"`
}

type proposeIn struct {
	Group     string     `json:"group_id,omitempty" jsonschema:"the group that is to remember it; may be left out with memory_id"`
	Memory    string     `json:"memory_id,omitempty" jsonschema:"the memory that is to say this instead: the id of its newest version; left out for a new memory"`
	Statement string     `json:"statement" jsonschema:"what is to be remembered: one sentence of at most 500 characters, in the group's language"`
	Reason    string     `json:"reason" jsonschema:"why, for the person who decides"`
	Evidence  []evidence `json:"evidence,omitempty" jsonschema:"the messages that say so, at most 20; each must be the group's, and a quote must stand in it"`
}

func (s *Server) propose(ctx context.Context, in proposeIn) (reverie.ProposalReply, string, error) {
	p := reverie.Proposal{GroupID: in.Group, Action: reverie.ActionCreate, MemoryID: in.Memory, Statement: in.Statement,
		Reason: in.Reason}
	if in.Memory != "" {
		p.Action = reverie.ActionUpdate
	}
	return s.proposal(ctx, p, in.Evidence)
}

type forgetIn struct {
	Memory   string     `json:"memory_id" jsonschema:"the memory: the id of its newest version"`
	Reason   string     `json:"reason" jsonschema:"why, for the person who decides"`
	Evidence []evidence `json:"evidence,omitempty" jsonschema:"the messages that say so, at most 20; each must be the group's, and a quote must stand in it"`
}

func (s *Server) forget(ctx context.Context, in forgetIn) (reverie.ProposalReply, string, error) {
	return s.proposal(ctx, reverie.Proposal{Action: reverie.ActionDelete, MemoryID: in.Memory, Reason: in.Reason},
		in.Evidence)
}

func (s *Server) proposal(ctx context.Context, p reverie.Proposal,
	cited []evidence) (reverie.ProposalReply, string, error) {
	for _, e := range cited {
		p.Evidence = append(p.Evidence, reverie.Evidence{MessageID: e.Message, Quote: e.Quote})
	}
	reply, err := s.service.Propose(ctx, p)
	return reply, "Run " + reply.RunID + " holds it: " + reply.Message + ".", err
}
