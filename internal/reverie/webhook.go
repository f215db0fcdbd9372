package reverie

import (
	"encoding/json"
	"time"
)

// Webhook is an address that is told of changes, of one group or of all.
type Webhook struct {
	ID           string     `json:"webhook_id" db:"webhook_id"`
	GroupID      string     `json:"group_id" db:"group_id"` // "" = all groups
	URL          string     `json:"url"`
	Secret       string     `json:"-"`
	Events       []string   `json:"events"`     // types of events; none = all
	Statements   bool       `json:"statements"` // bodies repeat what memories say
	CreatedAt    time.Time  `json:"created_at" db:"created_at"`
	Failures     int        `json:"failures"` // in a row
	FailingSince *time.Time `json:"failing_since,omitempty" db:"failing_since"`
	RetryAt      time.Time  `json:"-" db:"retry_at"`
	LastError    string     `json:"last_error,omitempty" db:"last_error"`
	DisabledAt   *time.Time `json:"disabled_at,omitempty" db:"disabled_at"`
	Waiting      int        `json:"waiting"` // events
	OldestAt     *time.Time `json:"oldest_at,omitempty" db:"oldest_at"`
}

// WebhookEventTypes are what a webhook can be told of.
var WebhookEventTypes = []string{"memory.created", "memory.updated", "memory.deleted", "memory.reviewed",
	"run.succeeded", "run.held", "run.deferred", "run.failed", "run.rejected", "run.undone"}

// WebhookTest is the type of an event that is sent by hand.
const WebhookTest = "webhook.test"

// WebhookLane is the events of one group for one webhook: they go one after another.
type WebhookLane struct {
	GroupID   string `db:"group_id"`
	WebhookID string `db:"webhook_id"`
}

// WebhookEvent is an event that is to be sent, with its webhook.
type WebhookEvent struct {
	WebhookLane
	ID        string    `db:"event_id"`
	Type      string    `db:"type"`
	Attempts  int       `db:"attempts"`
	Gone      bool      `db:"gone"` // its memory was erased: there is nothing to tell
	CreatedAt time.Time `db:"created_at"`
	QueuedAt  time.Time `db:"queued_at"` // since when it is to be sent
	TakenFor  time.Time `db:"due_at"`    // until then it is nobody else's; what is noted of it later counts if that has not changed
	Hook      Webhook   `db:"hook"`
	Data      EventData `db:"data"`
}

// WebhookFailure is what follows from an event that could not be sent.
type WebhookFailure struct {
	Why        string
	EventAgain time.Time // when the event is tried again,
	HookAgain  time.Time // and any of its webhook
	GiveUp     bool      // the event is not tried again
	Disable    bool      // the webhook is sent nothing more
}

// EventData is what the body of an event says.
type EventData struct {
	WebhookID   string     `json:"webhook_id,omitempty" db:"webhook_id"` // of a test
	GroupID     string     `json:"group_id,omitempty" db:"group_id"`
	MemoryID    string     `json:"memory_id,omitempty" db:"memory_id"`
	LineageID   string     `json:"lineage_id,omitempty" db:"lineage_id"`
	Version     int        `json:"version,omitempty"`
	Kind        string     `json:"kind,omitempty"`
	Action      string     `json:"action,omitempty"`  // of a change
	Verdict     string     `json:"verdict,omitempty"` // of a review: approved, refused or rejected
	Statement   string     `json:"statement,omitempty"`
	RunID       string     `json:"run_id,omitempty" db:"run_id"`
	Job         string     `json:"job,omitempty"`
	WindowSince *time.Time `json:"window_since,omitempty" db:"window_since"`
	WindowUntil *time.Time `json:"window_until,omitempty" db:"window_until"`
}

// Body is the event as it is sent.
func (e WebhookEvent) Body() ([]byte, error) {
	return json.Marshal(struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      EventData `json:"data"`
	}{e.Type, e.CreatedAt.UTC(), e.Data})
}

// WebhookReply is a webhook; its secret is told once.
type WebhookReply struct {
	Success bool   `json:"success"`
	Secret  string `json:"secret,omitempty"`
	Webhook
}

// WebhooksReply is webhooks.
type WebhooksReply struct {
	Success  bool      `json:"success"`
	Webhooks []Webhook `json:"webhooks"`
}

// WebhookTestReply is what became of a test.
type WebhookTestReply struct {
	Success    bool   `json:"success"` // it was answered 2xx
	WebhookID  string `json:"webhook_id"`
	HTTPStatus int    `json:"http_status,omitempty"` // 0: no answer
	Error      string `json:"error,omitempty"`
}

// WebhookReplayReply is how many events are sent again.
type WebhookReplayReply struct {
	Success   bool   `json:"success"`
	WebhookID string `json:"webhook_id"`
	Events    int    `json:"events"`
}
