package jobs

import (
	"context"
	"sync"
)

// Queue has several jobs of one process take turns on a group, where each would
// find it busy else and pass it over. The zero Queue is ready; a nil one lets
// everybody through, and the lease decides.
type Queue struct {
	mu    sync.Mutex
	taken map[string]chan struct{} // closed when the group is free again
}

// take waits until no other of the process works on the group. What it returns
// gives the group back.
func (q *Queue) take(ctx context.Context, groupID string) (giveBack func(), err error) {
	for {
		giveBack, free := q.try(groupID)
		if free == nil {
			return giveBack, nil
		}
		select {
		case <-free:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try is take without waiting: where another of the process works on the group it returns
// what is closed when the group is free again.
func (q *Queue) try(groupID string) (giveBack func(), free <-chan struct{}) {
	if q == nil {
		return func() {}, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if until, taken := q.taken[groupID]; taken {
		return nil, until
	}
	if q.taken == nil {
		q.taken = map[string]chan struct{}{}
	}
	until := make(chan struct{})
	q.taken[groupID] = until
	return func() { q.give(groupID, until) }, nil
}

func (q *Queue) give(groupID string, free chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.taken, groupID)
	close(free)
}
