// Package team shares the memories of a team between deployments. It pushes local changes and pulls remote ones. A
// memory that both sides have changed is in conflict until a person decides. Only the present state is synced: each
// side keeps its own history.
package team

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// Store is what syncing reads and writes locally.
type Store interface {
	TeamStates(ctx context.Context, team, remote string, quotes bool) ([]reverie.TeamState, error)
	PutTeamMemory(ctx context.Context, w reverie.TeamWrite) (reverie.TeamMemory, error)
	LinkTeamMemory(ctx context.Context, team string, l reverie.TeamLink) error
	SaveTeamConflict(ctx context.Context, c reverie.TeamConflict) error
	TeamConflicts(ctx context.Context, team string) ([]reverie.TeamConflict, error)
}

// Remote is another deployment. Its errors are reverie.ErrConfiguration if it refuses this deployment, and
// reverie.ErrDeferred if it is unreachable or faulty.
type Remote interface {
	TeamMemories(ctx context.Context, team, after string, limit int) (reverie.TeamMemories, error)
	// PutTeamMemory makes a version the remote's head, if ifVersion is its head ("" = a new memory). A repeated key has
	// the same answer. If the head is another version, the error is a *reverie.TeamHeadError. If the remote refuses the
	// content, it is a *reverie.TeamRefusedError, else reverie.ErrConflict or ErrInvalid.
	PutTeamMemory(ctx context.Context, team string, m reverie.TeamMemory, ifVersion, key string) (reverie.TeamMemory, error)
}

// Syncer syncs one team with one other deployment.
type Syncer struct {
	Store   Store
	Remote  Remote
	Team    string
	URL     string // the name by which this deployment knows the remote
	Privacy safety.Privacy
	Quotes  bool // sync the quotes of memories and their authors, too
	// Here is the id of this deployment. Name is what remotes see instead; "" = the id.
	Here, Name string
	Now        func() time.Time
}

// Options select what is synced.
type Options struct {
	Push, Pull bool
	ID         string // id of one memory, or of one of its head versions; "" = all
	DryRun     bool   // report what would be done, and write nothing
	// AcceptRewrites allows a pull to delete or rewrite any number of memories.
	AcceptRewrites bool
}

// Limits of what another deployment may send.
const (
	pageSize = 100
	maxTold  = 300 // characters of the reason for a refusal
)

// step is the local and the remote version of a memory, and what the sync does about it.
type step struct {
	reverie.TeamItem
	ours      *reverie.TeamState // as it would be sent; nil: there is no local version
	theirs    *reverie.TeamMemory
	left      bool // its direction is not requested
	unsettled bool // the link to the remote's version must still be written
}

// Sync pushes what has changed here since the last common version, and pulls what has changed at the remote. It checks
// each memory first, in both directions. It refuses unsafe content and reports the rule. A memory that both sides have
// changed becomes a conflict. If a pull would delete or rewrite too many memories at once, it does none of that.
//
// The error says how far the sync came. The reply contains what was done by then, and the same sync can continue later.
// In a dry run the reply contains all that is known here, even if the remote cannot be reached.
func (s *Syncer) Sync(ctx context.Context, o Options) (reverie.TeamSyncReply, error) {
	reply := reverie.TeamSyncReply{Team: s.Team, Remote: s.URL, DryRun: o.DryRun, Items: []reverie.TeamItem{}}
	steps, err := s.load(ctx, &reply)
	if err != nil && !o.DryRun {
		return reply, s.stopped(err, reply)
	}
	if o.ID != "" {
		steps = slices.DeleteFunc(steps, func(st *step) bool { return !st.is(o.ID) })
		if len(steps) == 0 && err == nil {
			return reply, fmt.Errorf("memory %s is not one of team %q, here or at %s; `reverie team share` makes a group's "+
				"memory the team's: %w", o.ID, s.Team, s.URL, reverie.ErrNotFound)
		}
	}
	for _, st := range steps {
		s.plan(st)
		st.left = st.Direction == reverie.TeamPush && !o.Push || st.Direction == reverie.TeamPull && !o.Pull
	}
	if !o.AcceptRewrites {
		holdBack(steps, max(2, reply.Active/5))
	}
	if !o.DryRun {
		err = s.carryOut(ctx, steps)
	}
	for _, st := range steps {
		switch {
		case st.left:
			continue
		case st.Outcome == "":
			reply.Unchanged++
			continue
		case st.Outcome == reverie.TeamRefused:
			st.Statement, st.Theirs = "", ""
		}
		reply.Items = append(reply.Items, st.TeamItem)
	}
	if err != nil {
		err = s.stopped(err, reply)
		reply.Problem = err.Error()
	}
	reply.Success = err == nil && reply.Count("", reverie.TeamRefused)+reply.Count("", reverie.TeamHeldBack) == 0
	return reply, err
}

// load reads the local and the remote memories, by id. Beside an error it returns what it has read.
func (s *Syncer) load(ctx context.Context, reply *reverie.TeamSyncReply) (steps []*step, err error) {
	states, err := s.Store.TeamStates(ctx, s.Team, s.URL, s.Quotes)
	if err != nil {
		return nil, err
	}
	byID := map[string]*step{}
	at := func(id string) *step {
		if byID[id] == nil {
			byID[id] = &step{TeamItem: reverie.TeamItem{ID: id}}
			steps = append(steps, byID[id])
		}
		return byID[id]
	}
	for i := range states {
		m := &states[i]
		m.CallDeployment(s.Here, s.Name)
		at(m.ID).ours = m
		if m.Status == reverie.StatusActive {
			reply.Active++
		}
		if l := m.Link; l != nil && (reply.LastSync == nil || l.SyncedAt.After(*reply.LastSync)) {
			reply.LastSync = &l.SyncedAt
		}
	}
	theirs, err := s.listThere(ctx)
	for i := range theirs {
		at(theirs[i].ID).theirs = &theirs[i]
	}
	slices.SortFunc(steps, func(a, b *step) int { return strings.Compare(a.ID, b.ID) })
	return steps, err
}

// listThere reads all pages of the remote. If the pages are not what was requested, it discards all of them.
func (s *Syncer) listThere(ctx context.Context) (list []reverie.TeamMemory, err error) {
	after := ""
	for {
		page, err := s.Remote.TeamMemories(ctx, s.Team, after, pageSize)
		if err != nil {
			return nil, err
		}
		if page.Team != s.Team || len(page.Memories) > pageSize {
			return nil, fmt.Errorf("it was asked for %d memories of team %q and gave %d of team %q: %w", pageSize, s.Team,
				len(page.Memories), text.Excerpt(page.Team, 64), reverie.ErrConfiguration)
		}
		for _, m := range page.Memories {
			if !reverie.IsTeamID(m.ID) || m.ID <= after {
				return nil, fmt.Errorf("its list of memories is out of order at %.40q: %w", m.ID, reverie.ErrConfiguration)
			}
			after = m.ID
		}
		if list = append(list, page.Memories...); len(list) > reverie.MaxTeamMemories {
			return nil, fmt.Errorf("it has more than %d memories: %w", reverie.MaxTeamMemories, reverie.ErrConfiguration)
		}
		if page.Next == "" || len(page.Memories) == 0 {
			return list, nil
		}
	}
}

// is reports whether an id is that of the memory, or of its head on either side.
func (st *step) is(id string) bool {
	return id == st.ID || st.ours != nil && id == st.ours.VersionID || st.theirs != nil && id == st.theirs.VersionID
}

// plan checks both versions of a memory and decides what to do. An outcome "" means that there is nothing to do.
func (s *Syncer) plan(st *step) {
	ours, theirs := st.ours, st.theirs
	var wrongHere, wrongThere error
	var before *reverie.TeamMemory // the local version
	changed := false
	if ours != nil {
		st.MemoryID, st.Statement = ours.VersionID, s.Privacy.Mask(ours.Statement)
		if ours.Held {
			st.Outcome = reverie.TeamHeld
			return
		}
		before = &ours.TeamMemory
		wrongHere = safety.CheckTeamMemory(before, s.Privacy, s.Now())
		changed = ours.Link == nil || ours.Digest() != ours.Link.Digest
	}
	if theirs != nil {
		wrongThere = s.arrived(theirs)
	}
	// The last common version may fail the check by now. A local change can still replace it.
	var refused *reverie.TeamRefusedError
	known := errors.As(wrongThere, &refused) && changed && ours.Link != nil && theirs.Digest() == ours.Link.Digest
	switch {
	case wrongThere != nil && !known:
		if s.refuse(st, wrongThere); !changed {
			st.Direction = reverie.TeamPull
		}
		return
	case ours != nil && theirs != nil:
		st.compare(changed)
	case ours == nil && theirs.Status == reverie.StatusActive: // deleted ones are ignored
		st.Direction = reverie.TeamPull
	case theirs == nil && changed && ours.Status == reverie.StatusActive:
		st.Direction = reverie.TeamPush
	}
	switch st.Direction {
	case reverie.TeamPush:
		st.Action, st.Outcome = action(theirs, *before), reverie.TeamDue
		if wrongHere != nil {
			s.refuse(st, wrongHere)
		}
	case reverie.TeamPull:
		st.Action, st.Outcome = action(before, *theirs), reverie.TeamDue
		switch st.Action {
		case reverie.ActionCreate:
			st.Statement = theirs.Statement
		case reverie.ActionUpdate, reverie.ActionRestore:
			st.Theirs = theirs.Statement
		}
	}
}

// arrived checks a memory from the remote.
func (s *Syncer) arrived(theirs *reverie.TeamMemory) error {
	if !s.Quotes {
		theirs.Evidence = nil
	}
	return safety.CheckTeamMemory(theirs, s.Privacy, s.Now())
}

// compare decides the direction of a memory that both sides have. Both versions have been checked.
func (st *step) compare(changed bool) {
	link, digest := st.ours.Link, st.theirs.Digest()
	// If neither side has the last common version, one may still be based on the other: the answer to a push was lost,
	// or the version came through a third deployment.
	onOurs, onTheirs := st.theirs.ComesAfter(st.ours.TeamMemory), st.ours.ComesAfter(*st.theirs)
	switch {
	case st.ours.Digest() == digest:
		st.unsettled = true
	case link != nil && digest == link.Digest, changed && onTheirs && !onOurs:
		st.Direction, st.unsettled = reverie.TeamPush, true
	case !changed, onOurs && !onTheirs:
		st.Direction = reverie.TeamPull
	default:
		st.Outcome = reverie.TeamConflicting
	}
	if link != nil && link.RemoteID == st.theirs.VersionID && link.Digest == digest && !st.ours.InConflict {
		st.unsettled = false
	}
}

// action returns what a version does to a memory; before is nil for a new one.
func action(before *reverie.TeamMemory, version reverie.TeamMemory) reverie.Action {
	switch {
	case before == nil:
		return reverie.ActionCreate
	case version.Status == reverie.StatusDeprecated:
		return reverie.ActionDelete
	case before.Status == reverie.StatusDeprecated:
		return reverie.ActionRestore
	}
	return reverie.ActionUpdate
}

// refuse notes why a memory is not synced. The reason may be a text of the remote.
func (s *Syncer) refuse(st *step, why error) {
	st.Outcome = reverie.TeamRefused
	var refused *reverie.TeamRefusedError
	if !errors.As(why, &refused) {
		st.Reason = s.Privacy.Mask(text.Excerpt(why.Error(), maxTold))
		return
	}
	st.Findings = refused.Findings
	for i := range st.Findings {
		st.Findings[i].Excerpt = s.Privacy.Mask(st.Findings[i].Excerpt)
	}
}

// holdBack prevents a pull from deleting and rewriting more than most memories at once.
func holdBack(steps []*step, most int) {
	var rewrites []*step
	for _, st := range steps {
		if st.Outcome == reverie.TeamDue && st.Direction == reverie.TeamPull && st.Action != reverie.ActionCreate {
			rewrites = append(rewrites, st)
		}
	}
	if len(rewrites) > most {
		for _, st := range rewrites {
			st.Outcome = reverie.TeamHeldBack
		}
	}
}

// carryOut applies the steps, deletions first. Two memories may not have the same statement. So a step that takes the
// statement of another memory waits until that memory has changed.
func (s *Syncer) carryOut(ctx context.Context, todo []*step) error {
	first := map[reverie.Action]int{reverie.ActionDelete: -1}
	todo = slices.SortedStableFunc(slices.Values(todo), func(a, b *step) int { return first[a.Action] - first[b.Action] })
	for len(todo) > 0 {
		var late []*step
		for _, st := range todo {
			waits, err := s.do(ctx, st)
			if err != nil {
				return err
			}
			if waits {
				late = append(late, st)
			}
		}
		if len(late) == len(todo) {
			return nil
		}
		for _, st := range late {
			st.Outcome, st.Reason, st.ByRemote = reverie.TeamDue, "", false
		}
		todo = late
	}
	return nil
}

// do applies one step, and writes the link to the common version. It reports whether the step must wait until another
// memory has changed.
func (s *Syncer) do(ctx context.Context, st *step) (waits bool, err error) {
	if st.unsettled {
		if err := s.Store.LinkTeamMemory(ctx, s.Team, s.link(st, *st.theirs)); err != nil {
			return false, err
		}
		st.unsettled = false
	}
	switch {
	case st.Outcome == reverie.TeamConflicting:
		return false, s.disagree(ctx, st, *st.theirs)
	case st.Outcome != reverie.TeamDue || st.left:
		return false, nil
	case st.Direction == reverie.TeamPull:
		return s.pull(ctx, st)
	}
	return s.push(ctx, st)
}

// pull makes the remote's version the local head.
func (s *Syncer) pull(ctx context.Context, st *step) (waits bool, err error) {
	link := s.link(st, *st.theirs)
	w := reverie.TeamWrite{Team: s.Team, Memory: *st.theirs, IfVersion: st.MemoryID, Quotes: s.Quotes, Link: &link}
	if _, err := s.Store.PutTeamMemory(ctx, w); err != nil {
		return s.turnedDown(st, err)
	}
	st.Outcome = reverie.TeamDone
	return false, nil
}

// push makes the local version the remote's head. The answer changes nothing here: if it is not what was sent, the
// memory is in conflict.
func (s *Syncer) push(ctx context.Context, st *step) (waits bool, err error) {
	sent, expected := st.ours.TeamMemory, ""
	if st.theirs != nil {
		expected = st.theirs.VersionID
	}
	answer, err := s.Remote.PutTeamMemory(ctx, s.Team, sent, expected, s.key(sent, expected))
	if err != nil {
		return s.turnedDown(st, err)
	}
	switch err := s.arrived(&answer); {
	case err != nil:
		s.refuse(st, err)
		return false, nil
	case answer.ID != st.ID:
		s.refuse(st, errors.New("the other side answers with another memory"))
		return false, nil
	case answer.Digest() != sent.Digest():
		return false, s.disagree(ctx, st, answer)
	}
	st.Outcome = reverie.TeamDone
	return false, s.Store.LinkTeamMemory(ctx, s.Team, s.link(st, answer))
}

// turnedDown notes why a side refuses a memory, and reports whether it may accept it once another memory has changed. A
// fault of the side itself is returned as the error.
func (s *Syncer) turnedDown(st *step, err error) (waits bool, _ error) {
	var moved *reverie.TeamHeadError
	switch st.ByRemote = st.Direction == reverie.TeamPush; {
	case errors.As(err, &moved):
		s.refuse(st, errors.New("it was changed just now: run it again"))
		return false, nil
	case errors.Is(err, reverie.ErrInvalid), errors.Is(err, reverie.ErrConflict):
		s.refuse(st, err)
		return errors.Is(err, reverie.ErrConflict), nil
	}
	return false, err
}

// disagree stores a conflict with both versions, for a person to resolve.
func (s *Syncer) disagree(ctx context.Context, st *step, theirs reverie.TeamMemory) error {
	st.Outcome, st.Direction = reverie.TeamConflicting, ""
	return s.Store.SaveTeamConflict(ctx, reverie.TeamConflict{Team: s.Team, Remote: s.URL, LineageID: st.ID,
		LocalID: st.MemoryID, Theirs: theirs})
}

// link records the remote's version as the common one.
func (s *Syncer) link(st *step, theirs reverie.TeamMemory) reverie.TeamLink {
	return reverie.TeamLink{Remote: s.URL, LineageID: st.ID, LocalID: st.MemoryID, RemoteID: theirs.VersionID,
		Digest: theirs.Digest(), Resolution: "no conflict any more"}
}

// key identifies a write, so that a repeated request has the same answer.
func (s *Syncer) key(m reverie.TeamMemory, expected string) string {
	text, _ := json.Marshal([]any{s.URL, s.Team, expected, m}) // the memory has been checked: this cannot fail
	sum := sha256.Sum256(text)
	return "push-" + hex.EncodeToString(sum[:16])
}

// stopped says how far a sync came before it failed, and what to do.
func (s *Syncer) stopped(err error, reply reverie.TeamSyncReply) error {
	hint := "run it again: it goes on from there"
	if errors.Is(err, reverie.ErrConfiguration) {
		hint = "check [team] remote and token, then run it again"
	}
	return fmt.Errorf("the sync with %s stopped: %d done, %d remain: %w; nothing is lost; %s", s.URL,
		reply.Count("", reverie.TeamDone), reply.Count("", reverie.TeamDue), err, hint)
}
