package api

import (
	"context"
	"testing"
	"testing/synctest"

	"reverie/internal/reverie"
)

// Who asks while a look is under way waits for the next one, with all others who do: nobody is told what
// was read before the question.
func TestLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lookups
		began, reply := make(chan struct{}), make(chan string)
		read := func(context.Context, string) (reverie.Token, error) {
			began <- struct{}{}
			return reverie.Token{Name: <-reply}, nil
		}
		told := make(chan string, 11)
		ask := func() {
			token, err := l.token(t.Context(), "id", read)
			if err != nil {
				t.Error(err)
			}
			told <- token.Name
		}
		go ask()
		<-began
		for range 10 {
			go ask()
		}
		synctest.Wait()
		reply <- "before"
		if name := <-told; name != "before" {
			t.Errorf("the first is told %q", name)
		}
		<-began
		reply <- "after"
		for range 10 {
			if name := <-told; name != "after" {
				t.Errorf("one who came later is told %q", name)
			}
		}
		synctest.Wait()
		if len(l.last) != 0 {
			t.Errorf("%d looks are kept", len(l.last))
		}
	})
}

// Who has gone does not end the look for the others.
func TestLookupOfWhoIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lookups
		gone, leave := context.WithCancel(t.Context())
		leave()
		reply := make(chan struct{})
		read := func(ctx context.Context, _ string) (reverie.Token, error) {
			<-reply
			return reverie.Token{}, ctx.Err()
		}
		if _, err := l.token(gone, "id", read); err != context.Canceled {
			t.Errorf("who is gone is told %v", err)
		}
		close(reply)
		if _, err := l.token(t.Context(), "id", read); err != nil {
			t.Errorf("who stays is told %v", err)
		}
	})
}
