package reverie

// Bounds of what agents propose.
const (
	MaxProposals        = 50 // that wait in one group
	MaxProposalEvidence = 20 // messages that one proposal cites
)

// ProposalState is what a proposal is held against.
type ProposalState struct {
	Group    Group
	Head     *Memory   // that is to be updated or deleted
	TwinID   string    // the active memory that says the same already
	Messages []Message // those cited that the group has
}
