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
	if q == nil {
		return func() {}, nil
	}
	for {
		q.mu.Lock()
		free, taken := q.taken[groupID]
		if !taken {
			if q.taken == nil {
				q.taken = map[string]chan struct{}{}
			}
			free = make(chan struct{})
			q.taken[groupID] = free
			q.mu.Unlock()
			return func() { q.give(groupID, free) }, nil
		}
		q.mu.Unlock()
		select {
		case <-free:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (q *Queue) give(groupID string, free chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.taken, groupID)
	close(free)
}
