// Package team shares the memories of a team between deployments: what is said here is
// pushed, what is said there pulled, and what both have changed waits for a person. What
// is synced is the state, not the history: each side keeps its own versions.
package team

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/safety"
)

// Store is what syncing reads and writes here.
type Store interface {
	TeamStates(ctx context.Context, team, remote string) ([]reverie.TeamState, error)
	TeamEvidence(ctx context.Context, groupID string, list []reverie.TeamMemory) error
	TakeTeamMemory(ctx context.Context, take reverie.TeamTake) (reverie.TeamMemory, error)
	LinkTeamMemory(ctx context.Context, team string, l reverie.TeamLink, resolution string) error
	SaveTeamConflict(ctx context.Context, c reverie.TeamConflict) error
	LastTeamSync(ctx context.Context, team, remote string) (time.Time, error)
}

// Remote is another deployment. Its errors are reverie.ErrConfiguration where it will not
// have us, and reverie.ErrDeferred where it cannot be reached or is not well.
type Remote interface {
	TeamMemories(ctx context.Context, team, after string, limit int) (reverie.TeamMemories, error)
	// PutTeamMemory makes a version the head there, in the place of ifVersion ("" = a new
	// memory). A repeated key has the same answer. A head that is another one is a
	// *reverie.TeamHeadError, what it refuses for what it holds a
	// *reverie.TeamRefusedError, and for other reasons reverie.ErrConflict or ErrInvalid.
	PutTeamMemory(ctx context.Context, team string, m reverie.TeamMemory, ifVersion, key string) (reverie.TeamMemory, error)
}

// Syncer syncs one team with one other deployment.
type Syncer struct {
	Store   Store
	Remote  Remote
	Team    string
	URL     string // of the remote, by which it is known here
	Privacy safety.Privacy
	Quotes  bool // the words that memories rest on, and who said them, travel
	// Here is the id of this deployment, and Name what others are told instead; "" = the id.
	Here, Name string
	Now        func() time.Time
	Log        *slog.Logger
}

// Bounds of what another deployment is believed.
const (
	pageSize    = 100
	MaxMemories = 10_000 // of one team
)

// local is a memory here, as it would travel.
type local struct {
	reverie.TeamState
	out      reverie.TeamMemory    // checked
	findings []reverie.ScanFinding // why it may not travel
	digest   string
	masked   []string // the digests that it has where its personal data are masked
}

// locals are the memories here, by id.
func (s *Syncer) locals(ctx context.Context) ([]local, error) {
	states, err := s.Store.TeamStates(ctx, s.Team, s.URL)
	if err != nil {
		return nil, err
	}
	list := make([]local, len(states))
	for i, state := range states {
		list[i] = s.look(state)
	}
	return list, nil
}

// look holds a memory here against what may travel.
func (s *Syncer) look(state reverie.TeamState) local {
	l := local{TeamState: state, out: state.TeamMemory, digest: state.Digest()}
	l.out.Tags, l.out.Versions = slices.Clone(state.Tags), slices.Clone(state.Versions)
	if l.out.Origin.Deployment == "" { // it was erased
		l.out.Origin = reverie.Origin{Deployment: s.Here, MemoryID: state.VersionID, LineageID: state.ID, Version: state.Version, MadeAt: state.UpdatedAt}
	}
	s.sign(&l.out)
	var err error
	l.findings, err = safety.CheckTeamMemory(&l.out, s.Privacy, s.Now())
	switch {
	case err != nil:
		l.findings = []reverie.ScanFinding{{Class: reverie.ClassStatement, Rule: "malformed", Excerpt: s.Privacy.Mask(err.Error())}}
	case len(l.findings) > 0:
	case l.Status == reverie.StatusActive && l.out.Statement != state.Statement: // it was stored under another policy
		l.findings = safety.Scan(state.Statement)
		for i := range l.findings {
			l.findings[i].Where = "statement"
		}
	default:
		l.digest = l.out.Digest()
	}
	for _, policy := range []safety.PII{safety.PIIMask, safety.PIIRefuse} {
		m := l.out
		if m.Statement = (safety.Privacy{PII: policy}).Mask(m.Statement); m.Statement != l.out.Statement {
			l.masked = append(l.masked, m.Digest())
		}
	}
	return l
}

// changed tells whether it is another than the one that both had in common last: that one
// may be ours with masks, where their policy is stricter.
func (l local) changed() bool {
	return l.Link == nil || l.digest != l.Link.Digest && (l.VersionID != l.Link.LocalID || !slices.Contains(l.masked, l.Link.Digest))
}

// sign puts the name of this deployment in the place of its id.
func (s *Syncer) sign(m *reverie.TeamMemory) {
	if s.Name == "" {
		return
	}
	if m.Origin.Deployment == s.Here {
		m.Origin.Deployment = s.Name
	}
	for i, v := range m.Versions {
		if v.Deployment == s.Here {
			m.Versions[i].Deployment = s.Name
		}
	}
}

// verdict is what is to be done about a memory.
type verdict int

const (
	same     verdict = iota // both say the same
	push                    // changed here
	pull                    // changed there
	conflict                // changed on both sides
)

// judge compares a memory here with the head there, which has been checked.
func judge(ours local, theirs reverie.TeamMemory) verdict {
	digest := theirs.Digest()
	if ours.digest == digest || theirs.Origin.MemoryID == ours.out.Origin.MemoryID && slices.Contains(ours.masked, digest) {
		return same
	}
	if l := ours.Link; l != nil {
		switch {
		case digest == l.Digest:
			return push
		case !ours.changed():
			return pull
		}
	}
	// Neither is what was common last, but one may have been made on top of the other: the
	// answer to a push was lost, or it has come by way of a third deployment.
	switch onOurs, onTheirs := theirs.ComesAfter(ours.TeamMemory), ours.ComesAfter(theirs); {
	case onOurs && !onTheirs:
		return pull
	case onTheirs && !onOurs:
		return push
	}
	return conflict
}

// link notes that theirs is what both have in common.
func (s *Syncer) link(ctx context.Context, ours local, theirs reverie.TeamMemory) error {
	digest := theirs.Digest()
	if l := ours.Link; l != nil && l.RemoteID == theirs.VersionID && l.Digest == digest && ours.Conflict == nil {
		return nil
	}
	return s.Store.LinkTeamMemory(ctx, s.Team, reverie.TeamLink{Remote: s.URL, LineageID: ours.ID, LocalID: ours.VersionID,
		RemoteID: theirs.VersionID, Digest: digest}, noConflict)
}

// noConflict settles what one side has taken back.
const noConflict = "no conflict any more"

// disagree keeps both versions for a person.
func (s *Syncer) disagree(ctx context.Context, ours local, theirs reverie.TeamMemory) error {
	if c := ours.Conflict; c != nil && c.LocalID == ours.VersionID && c.Theirs.VersionID == theirs.VersionID && c.Theirs.Digest() == theirs.Digest() {
		return nil
	}
	return s.Store.SaveTeamConflict(ctx, reverie.TeamConflict{Team: s.Team, Remote: s.URL, LineageID: ours.ID, LocalID: ours.VersionID, Theirs: theirs})
}

// item is what a report tells of a memory. What is to be deleted may be so for what it
// holds.
func (s *Syncer) item(m reverie.TeamMemory, action reverie.Action) reverie.TeamItem {
	if action == reverie.ActionDelete {
		m.Statement = s.Privacy.Mask(m.Statement)
	}
	return reverie.TeamItem{ID: m.ID, MemoryID: m.VersionID, Action: action, Statement: m.Statement}
}

// stopped says how far something came before the other side gave out, and what to do.
func (s *Syncer) stopped(what string, done, left int, err error) error {
	hint := "run it again: it goes on from there"
	if errors.Is(err, reverie.ErrConfiguration) {
		hint = "check [team] remote and token, then run it again"
	}
	how := "nothing was done"
	if done > 0 {
		how = fmt.Sprintf("%d done", done)
	}
	if left > 0 {
		how += fmt.Sprintf(", %d remain", left)
	}
	return fmt.Errorf("%s %s stopped: %s: %w; nothing is lost; %s", what, s.URL, how, err, hint)
}

// Status says what a push and a pull would do, and writes nothing. Where the other side
// cannot be heard, the reply has all that is known here, and the error says why.
func (s *Syncer) Status(ctx context.Context) (reverie.TeamStatusReply, error) {
	reply := reverie.TeamStatusReply{Team: s.Team, Remote: s.URL}
	at, err := s.Store.LastTeamSync(ctx, s.Team, s.URL)
	if err != nil {
		return reply, err
	}
	if !at.IsZero() {
		reply.LastSync = &at
	}
	states, err := s.Store.TeamStates(ctx, s.Team, s.URL)
	if err != nil {
		return reply, err
	}
	for _, m := range states {
		if m.Status == reverie.StatusActive {
			reply.Active++
		}
	}
	if reply.Push, err = s.Push(ctx, PushOptions{DryRun: true}); err != nil {
		return reply, err
	}
	reply.Conflicts = len(reply.Push.Conflicts)
	pulled, err := s.Pull(ctx, PullOptions{DryRun: true})
	if err != nil {
		reply.Problem = err.Error()
		return reply, err
	}
	reply.Pull, reply.Success = &pulled, true
	return reply, nil
}

// takeAll takes what is to be written over, deletions first, and what was put aside. Two
// memories never say the same: one that takes over what another one says waits until that
// has changed.
func (p *puller) takeAll(ctx context.Context) error {
	deletions, others := split(p.rewrites, func(c change) bool { return c.action() == reverie.ActionDelete })
	todo := slices.Concat(deletions, others, p.late)
	for len(todo) > 0 {
		p.late = nil
		for _, c := range todo {
			if err := p.take(ctx, c); err != nil {
				return err
			}
		}
		if len(p.late) == len(todo) {
			i := inCircle(p.late)
			if i < 0 {
				break
			}
			if err := p.makeRoom(ctx, p.late[i].ours, p.late[i].theirs.ID); err != nil {
				return err
			}
		}
		todo = p.late
	}
	for _, c := range p.late {
		p.refuse(c, fmt.Sprintf("team memory %s here says the same: change or delete one of them", c.twin))
	}
	return nil
}

// inCircle finds one of those that wait for each other in a circle, -1 where there is
// none.
func inCircle(late []change) int {
	at := make(map[string]int, len(late))
	for i, c := range late {
		at[c.theirs.ID] = i
	}
	for i := range late {
		next, ok := at[late[i].twin]
		for range late {
			if !ok || next == i {
				break
			}
			next, ok = at[late[next].twin]
		}
		if ok && next == i {
			return i
		}
	}
	return -1
}

// makeRoom ends a memory that others wait for, until they have what it says and it can say
// something else. That is noted as what was common: a pull that is cut off here goes on.
func (p *puller) makeRoom(ctx context.Context, ours *local, id string) error {
	m := reverie.TeamMemory{ID: id, Statement: ours.Statement, Status: reverie.StatusDeprecated, Tags: ours.Tags, Strength: ours.Strength,
		ChangeReason: "ended for the moment: others take over its words"}
	before := ours.VersionID
	if ours.Link != nil {
		before = ours.Link.RemoteID
	}
	ended, err := p.Store.TakeTeamMemory(ctx, reverie.TeamTake{Write: reverie.TeamWrite{Team: p.Team, Memory: m, IfVersion: ours.VersionID},
		Remote: p.URL, RemoteID: before, Digest: m.Digest(), Resolution: noConflict})
	ours.VersionID = ended.VersionID
	return err
}

// Resolver is what a person decides on conflicts with.
type Resolver interface {
	TeamConflicts(ctx context.Context, team string) ([]reverie.TeamConflict, error)
	TeamMemory(ctx context.Context, groupID, lineageID string) (reverie.TeamMemory, error)
	TakeTeamMemory(ctx context.Context, take reverie.TeamTake) (reverie.TeamMemory, error)
	LinkTeamMemory(ctx context.Context, team string, l reverie.TeamLink, resolution string) error
}

// Decision is what a person decides on a conflict: one of the first two, or a statement.
type Decision struct {
	Ours, Theirs bool
	Statement    string // as it may be remembered
	Reason       string
	Quotes       bool // theirs are taken along
}

// Resolve settles an open conflict, named by its id or by that of the memory, and returns
// the memory as it is then. What is not theirs takes the place of theirs with the next
// push, if theirs is still what was decided on; else both stand against each other again.
// Neither side's version is lost: each stays in the history of where it was made, and
// here as the conflict that was settled.
func Resolve(ctx context.Context, store Resolver, team, id string, d Decision) (reverie.TeamMemory, error) {
	c, err := find(ctx, store, team, id)
	if err != nil {
		return reverie.TeamMemory{}, err
	}
	ours, err := store.TeamMemory(ctx, reverie.TeamGroupID(team), c.LineageID)
	if err != nil {
		return ours, err
	}
	take := reverie.TeamTake{Remote: c.Remote, RemoteID: c.Theirs.VersionID, Digest: c.Theirs.Digest(),
		Write: reverie.TeamWrite{Team: team, IfVersion: ours.VersionID}}
	switch {
	case d.Ours:
		return ours, store.LinkTeamMemory(ctx, team, reverie.TeamLink{Remote: c.Remote, LineageID: ours.ID, LocalID: ours.VersionID,
			RemoteID: take.RemoteID, Digest: take.Digest}, "ours")
	case d.Theirs:
		take.Resolution, take.Write.Quotes, take.Write.Memory = "theirs", d.Quotes, c.Theirs
	default:
		take.Resolution = "another statement"
		take.Write.Memory = reverie.TeamMemory{ID: ours.ID, Statement: d.Statement, Status: reverie.StatusActive, Tags: ours.Tags,
			Strength: max(ours.Strength, c.Theirs.Strength), ChangeReason: d.Reason}
	}
	return store.TakeTeamMemory(ctx, take)
}

func find(ctx context.Context, store Resolver, team, id string) (reverie.TeamConflict, error) {
	list, err := store.TeamConflicts(ctx, team)
	if err != nil {
		return reverie.TeamConflict{}, err
	}
	var found []reverie.TeamConflict
	for _, c := range list {
		if id == c.ID || id == c.LineageID || id == c.LocalID {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return reverie.TeamConflict{}, fmt.Errorf("no conflict of memory %s is open in team %q: `reverie team conflicts` lists them: %w", id, team, reverie.ErrNotFound)
	}
	return reverie.TeamConflict{}, fmt.Errorf("memory %s conflicts with %d deployments: name the conflict by its own id: %w", id, len(found), reverie.ErrInvalid)
}
