package api

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"reverie/internal/reverie"
)

// lookups shares lookups of a token. All requests that arrive during a lookup share the next one, so each sees data
// read after it arrived. The zero value is ready.
type lookups struct {
	mu   sync.Mutex
	last map[string]*lookup // by the token's id; removed when nobody waits
}

// lookup is one lookup for all requests that arrived before it began.
type lookup struct {
	began bool
	done  chan struct{}
	token reverie.Token
	err   error
}

// lookupTimeout ends a lookup for which nobody may be waiting any more.
const lookupTimeout = 30 * time.Second

func (l *lookups) token(ctx context.Context, id string, read func(context.Context, string) (reverie.Token, error)) (reverie.Token, error) {
	look := l.join(id, func(look *lookup) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTimeout)
		defer cancel()
		look.token, look.err = read(ctx, id)
	})
	select {
	case <-look.done:
		return look.token, look.err
	case <-ctx.Done():
		return reverie.Token{}, ctx.Err()
	}
}

// join returns the lookup that begins next. The first request to join starts it, after the current one.
func (l *lookups) join(id string, read func(*lookup)) *lookup {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.last[id]
	if before != nil && !before.began {
		return before
	}
	if l.last == nil {
		l.last = map[string]*lookup{}
	}
	look := &lookup{done: make(chan struct{})}
	l.last[id] = look
	go func() {
		if before != nil {
			<-before.done
		}
		l.mu.Lock()
		look.began = true
		l.mu.Unlock()
		defer func() {
			if fault := recover(); fault != nil {
				look.err = fmt.Errorf("look a token up: %v\n%s", fault, debug.Stack())
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			close(look.done)
			if l.last[id] == look {
				delete(l.last, id)
			}
		}()
		read(look)
	}()
	return look
}
