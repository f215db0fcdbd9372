// Package notify tells a person's webhook what waits for a person. It is for word that may be lost: it never delays
// nor fails the work that it is about.
package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/webhook"
)

// Type is what a notice is about.
type Type string

// The types.
const (
	HeldPlan    Type = "held_plan"    // a plan waits for a person
	ParkedGroup Type = "parked_group" // a group is worked on no more until a person says so
	NothingUsed Type = "nothing_used" // there were messages, and nothing of the model's answers could be used
	BudgetSpent Type = "budget_spent"
)

// Notice is the body of a request.
type Notice struct {
	Type    Type      `json:"type"`
	GroupID string    `json:"group_id"`
	RunID   string    `json:"run_id"` // "" where none was begun
	Text    string    `json:"text"`   // in plain words, without what the chat says
	At      time.Time `json:"at"`
}

// Every is how long a group's notices of one type are apart at least.
const Every = time.Hour

// Options of a [Notifier].
type Options struct {
	URL string
	// Secret signs requests as Standard Webhooks has it: base64 behind whsec_, else the text itself. "" signs nothing.
	Secret string
	// Claim tells whether a notice may be sent now, and notes that it is: see [Every].
	Claim func(ctx context.Context, groupID string, of Type) (bool, error)
	Delay time.Duration // before the second attempt, four times as long before each further one; 0 is a second
	Now   func() time.Time
	Log   *slog.Logger
}

const (
	waiting  = 64 // notices at most that wait to be sent; further ones are lost
	attempts = 4
	timeout  = 5 * time.Second // of an attempt
)

// Notifier sends notices, one after the other. A nil one sends none.
type Notifier struct {
	Options
	key    []byte
	sender *webhook.Sender
	queue  chan Notice
	done   chan struct{}
	ctx    context.Context
	stop   context.CancelFunc
}

// New returns a notifier, which is to be closed. Its error is a [reverie.ErrConfiguration].
func New(o Options) (*Notifier, error) {
	key, err := webhook.Key(o.Secret)
	if err != nil {
		return nil, fmt.Errorf("[notify] secret: %w: %w", err, reverie.ErrConfiguration)
	}
	n := &Notifier{Options: o, key: key, queue: make(chan Notice, waiting), done: make(chan struct{})}
	n.Delay = cmp.Or(n.Delay, time.Second)
	n.sender = webhook.NewSender(webhook.Options{AllowPrivate: true, Timeout: timeout, Now: o.Now})
	n.ctx, n.stop = context.WithCancel(context.Background())
	go n.work()
	return n, nil
}

// Send has a notice sent, soon. It waits for nobody.
func (n *Notifier) Send(notice Notice) {
	if n == nil {
		return
	}
	notice.At = n.Now().UTC()
	select {
	case n.queue <- notice:
	default:
		n.Log.Warn("a notice is lost: too many wait to be sent", "type", notice.Type, "group_id", notice.GroupID)
	}
}

// Close sends what waits, as far as the context lets it. Nothing may be sent after it.
func (n *Notifier) Close(ctx context.Context) {
	if n == nil {
		return
	}
	close(n.queue)
	select {
	case <-n.done:
	case <-ctx.Done():
	}
	n.stop()
	<-n.done
	n.sender.Close()
}

func (n *Notifier) work() {
	defer close(n.done)
	for notice := range n.queue {
		if err := n.deliver(notice); err != nil {
			n.Log.Warn("a notice was not delivered", "type", notice.Type, "group_id", notice.GroupID, "error", err)
		}
	}
}

// deliver sends a notice, unless its group was told the like a short time ago.
func (n *Notifier) deliver(notice Notice) error {
	ctx, cancel := context.WithTimeout(n.ctx, timeout)
	may, err := n.Claim(ctx, notice.GroupID, notice.Type)
	cancel()
	if err != nil || !may {
		return err
	}
	body, err := json.Marshal(notice)
	if err != nil {
		return err
	}
	id, delay := "msg_"+reverie.NewID(), n.Delay
	for attempt := 1; ; attempt++ {
		answer, err := n.sender.Send(n.ctx, n.URL, n.key, id, body)
		status := answer.Status
		again := status == 0 || status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
		if err == nil || !again || attempt == attempts {
			return err
		}
		select {
		case <-n.ctx.Done():
			return err
		case <-time.After(delay):
			delay *= 4
		}
	}
}
