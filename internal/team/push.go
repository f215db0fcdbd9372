package team

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
)

// PushOptions say what is pushed.
type PushOptions struct {
	ID     string // of the memory; "" = all that have changed
	DryRun bool   // scan and say what would be sent, and send nothing
}

// Push sends what has changed here since the last sync. A memory that holds what may not
// leave is refused with the findings, and none of it is sent; the others go on. What the
// other side has changed, too, becomes a conflict. An error says how far it came; the
// reply holds what was done by then, and the same push again goes on.
func (s *Syncer) Push(ctx context.Context, o PushOptions) (reverie.TeamPushReply, error) {
	reply := reverie.TeamPushReply{Team: s.Team, Remote: s.URL, DryRun: o.DryRun, Pushed: []reverie.TeamItem{}}
	list, err := s.locals(ctx)
	if err != nil {
		return reply, err
	}
	var todo []local
	found := o.ID == ""
	for _, ours := range list {
		if o.ID != "" && ours.ID != o.ID {
			continue
		}
		found = true
		switch {
		case ours.Held:
			reply.Held++
		case ours.Conflict != nil:
			reply.Conflicts = append(reply.Conflicts, s.item(ours.TeamMemory, ""))
		case !ours.toSend():
			reply.Unchanged++
		case len(ours.findings) > 0:
			reply.Refused = append(reply.Refused, reverie.TeamRefusal{ID: ours.ID, MemoryID: ours.VersionID, Findings: ours.findings})
		default:
			todo = append(todo, ours)
		}
	}
	if !found {
		return reply, fmt.Errorf("push memory %s: team %q has none of this id: %w", o.ID, s.Team, reverie.ErrNotFound)
	}
	if o.DryRun {
		for _, ours := range todo {
			reply.Pushed = append(reply.Pushed, s.item(ours.TeamMemory, ours.action()))
		}
	} else if err := s.pushAll(ctx, todo, &reply); err != nil {
		return reply, err
	}
	reply.Success = len(reply.Refused) == 0
	return reply, nil
}

// pushAll sends memories, deletions first. What the other side will not have beside what
// it has is sent again once the others have changed that.
func (s *Syncer) pushAll(ctx context.Context, todo []local, reply *reverie.TeamPushReply) error {
	deletions, others := split(todo, func(l local) bool { return l.Status == reverie.StatusDeprecated })
	todo = append(deletions, others...)
	done, last := 0, false
	for len(todo) > 0 {
		var later []local
		for i, ours := range todo {
			refused := len(reply.Refused)
			wait, err := s.pushOne(ctx, ours, reply)
			if err != nil {
				reply.Remaining = len(todo) - i + len(later)
				return s.stopped("push to", done, reply.Remaining, err)
			}
			if wait && !last {
				reply.Refused = reply.Refused[:refused]
				later = append(later, ours)
				continue
			}
			done++
		}
		last = len(later) == len(todo)
		todo = later
	}
	return nil
}

// toSend tells whether there is anything to send. What was deleted before anybody else
// has seen it is nobody's concern.
func (l local) toSend() bool {
	return l.changed() && (l.Link != nil || l.Status == reverie.StatusActive)
}

// action is what a push does there.
func (l local) action() reverie.Action {
	switch {
	case l.Status == reverie.StatusDeprecated:
		return reverie.ActionDelete
	case l.Link == nil:
		return reverie.ActionCreate
	}
	return reverie.ActionUpdate
}

// maxMoves is how often the head there may move while we push on top of it.
const maxMoves = 3

// split parts a list by what is true of its items.
func split[T any](list []T, of func(T) bool) (yes, no []T) {
	for _, x := range list {
		if of(x) {
			yes = append(yes, x)
		} else {
			no = append(no, x)
		}
	}
	return yes, no
}

// pushOne sends one memory and notes what became of it. refused tells that the other side
// will not have it beside what is there now.
func (s *Syncer) pushOne(ctx context.Context, ours local, reply *reverie.TeamPushReply) (refused bool, err error) {
	body := ours.out
	if s.Quotes {
		withWords := []reverie.TeamMemory{body}
		if err := s.Store.TeamEvidence(ctx, reverie.TeamGroupID(s.Team), withWords); err != nil {
			return false, err
		}
		body = withWords[0]
		if found, err := safety.CheckTeamMemory(&body, s.Privacy, s.Now()); err != nil || len(found) > 0 {
			reply.Refused = append(reply.Refused, refusal(ours, found, err))
			return false, nil
		}
	}
	expected := ""
	if ours.Link != nil {
		expected = ours.Link.RemoteID
	}
	for range maxMoves {
		theirs, err := s.Remote.PutTeamMemory(ctx, s.Team, body, expected, s.key(body, expected))
		var moved *reverie.TeamHeadError
		switch {
		case errors.As(err, &moved) && moved.Head == nil && expected != "":
			expected = "" // it is gone there without a trace
			continue
		case errors.As(err, &moved) && moved.Head != nil:
			theirs = *moved.Head
		case errors.Is(err, reverie.ErrInvalid), errors.Is(err, reverie.ErrConflict):
			reply.Refused = append(reply.Refused, s.refusedThere(ours, err))
			return errors.Is(err, reverie.ErrConflict), nil
		case err != nil:
			return false, err
		}
		again, err := s.settle(ctx, ours, theirs, moved != nil, reply)
		if err != nil || !again {
			return false, err
		}
		expected = theirs.VersionID
	}
	return false, fmt.Errorf("memory %s moves there faster than it can be pushed: %w", ours.ID, reverie.ErrDeferred)
}

// settle notes what the other side says its head is, after a push or instead of one, and
// tells whether to push again on top of it. No word of ours is changed by such an answer:
// where it is not what was sent, and not that with masks, both stay for a person.
func (s *Syncer) settle(ctx context.Context, ours local, theirs reverie.TeamMemory, moved bool, reply *reverie.TeamPushReply) (again bool, err error) {
	found, err := s.arrived(&theirs)
	if err == nil && theirs.ID != ours.ID {
		err = fmt.Errorf("it answers with another memory: %w", reverie.ErrInvalid)
	}
	if err != nil || len(found) > 0 {
		r := refusal(ours, found, err)
		r.Reason = "what the other side has in its place may not come in; " + r.Reason
		reply.Refused = append(reply.Refused, r)
		return false, nil
	}
	switch v := judge(ours, theirs); {
	case v == same && moved:
		reply.Unchanged++
		return false, s.link(ctx, ours, theirs)
	case v == same:
		reply.Pushed = append(reply.Pushed, s.item(ours.TeamMemory, ours.action()))
		return false, s.link(ctx, ours, theirs)
	case v == push && moved:
		return true, nil
	case v == pull:
		reply.Behind = append(reply.Behind, s.item(ours.TeamMemory, ""))
		return false, nil
	}
	reply.Conflicts = append(reply.Conflicts, s.item(ours.TeamMemory, ""))
	return false, s.disagree(ctx, ours, theirs)
}

// key names a write, so that one whose answer was lost has the same answer again.
func (s *Syncer) key(m reverie.TeamMemory, expected string) string {
	text, _ := json.Marshal([]any{s.URL, s.Team, expected, m}) // has been checked: cannot fail
	sum := sha256.Sum256(text)
	return "push-" + hex.EncodeToString(sum[:16])
}

func refusal(ours local, found []reverie.ScanFinding, err error) reverie.TeamRefusal {
	r := reverie.TeamRefusal{ID: ours.ID, MemoryID: ours.VersionID, Findings: found}
	if err != nil {
		r.Reason = err.Error()
	}
	return r
}

// refusedThere is a memory that the other side will not have. Its words are not ours.
func (s *Syncer) refusedThere(ours local, err error) reverie.TeamRefusal {
	r := reverie.TeamRefusal{ID: ours.ID, MemoryID: ours.VersionID, ByRemote: true}
	var refused *reverie.TeamRefusedError
	if errors.As(err, &refused) {
		for _, f := range refused.Findings[:min(len(refused.Findings), maxFindings)] {
			f.Excerpt = s.Privacy.Mask(text.Excerpt(f.Excerpt, maxTold))
			r.Findings = append(r.Findings, f)
		}
		return r
	}
	r.Reason = s.Privacy.Mask(text.Excerpt(err.Error(), maxTold))
	return r
}

// Bounds of what is told of what the other side says: characters of a text, and findings.
const (
	maxTold     = 300
	maxFindings = 20
)
