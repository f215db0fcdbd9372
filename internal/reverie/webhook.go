package reverie

import (
	"encoding/json"
	"time"
)

// Webhook is a URL that receives events of one group or of all.
type Webhook struct {
	ID           string     `json:"webhook_id" db:"webhook_id"`
	GroupID      string     `json:"group_id" db:"group_id"` // "" = all groups
	URL          string     `json:"url"`
	Secret       string     `json:"-"`
	Events       []string   `json:"events"`     // event types; empty = all
	Statements   bool       `json:"statements"` // bodies include the statements of memories
	CreatedAt    time.Time  `json:"created_at" db:"created_at"`
	Failures     int        `json:"failures"` // consecutive failures
	FailingSince *time.Time `json:"failing_since,omitempty" db:"failing_since"`
	RetryAt      time.Time  `json:"-" db:"retry_at"`
	LastError    string     `json:"last_error,omitempty" db:"last_error"`
	DisabledAt   *time.Time `json:"disabled_at,omitempty" db:"disabled_at"`
	Waiting      int        `json:"waiting"` // events not sent yet
	OldestAt     *time.Time `json:"oldest_at,omitempty" db:"oldest_at"`
}

// WebhookEventTypes are the types of events that a webhook can receive.
var WebhookEventTypes = []string{"memory.created", "memory.updated", "memory.deleted", "memory.reviewed",
	"run.succeeded", "run.held", "run.deferred", "run.failed", "run.rejected", "run.undone"}

// WebhookTest is the type of an event that a person sends as a test.
const WebhookTest = "webhook.test"

// WebhookLane is the events of one group for one webhook: they are sent in order.
type WebhookLane struct {
	GroupID   string `db:"group_id"`
	WebhookID string `db:"webhook_id"`
}

// WebhookEvent is an event to be sent, with its webhook.
type WebhookEvent struct {
	WebhookLane
	ID        string    `db:"event_id"`
	Type      string    `db:"type"`
	Attempts  int       `db:"attempts"`
	Gone      bool      `db:"gone"` // its memory was erased: it is not sent
	CreatedAt time.Time `db:"created_at"`
	QueuedAt  time.Time `db:"queued_at"` // when it was queued to be sent
	// The sender's claim ends then; a result is stored only if this value is unchanged.
	TakenFor time.Time `db:"due_at"`
	Hook     Webhook   `db:"hook"`
	Data     EventData `db:"data"`
}

// WebhookFailure is the consequence of an event that could not be sent.
type WebhookFailure struct {
	Why        string
	EventAgain time.Time // next try of the event
	HookAgain  time.Time // next try of any event of the webhook
	GiveUp     bool      // the event is not tried again
	Disable    bool      // the webhook is disabled
}

// EventData is the content of an event's body.
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

// Body returns the event as it is sent.
func (e WebhookEvent) Body() ([]byte, error) {
	return json.Marshal(struct {
		Type      string    `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      EventData `json:"data"`
	}{e.Type, e.CreatedAt.UTC(), e.Data})
}

// WebhookReply is a webhook; Secret is set only once.
type WebhookReply struct {
	Success bool   `json:"success"`
	Secret  string `json:"secret,omitempty"`
	Webhook
}

// WebhooksReply lists webhooks.
type WebhooksReply struct {
	Success  bool      `json:"success"`
	Webhooks []Webhook `json:"webhooks"`
}

// WebhookTestReply is the result of a test event.
type WebhookTestReply struct {
	Success    bool   `json:"success"` // the answer was 2xx
	WebhookID  string `json:"webhook_id"`
	HTTPStatus int    `json:"http_status,omitempty"` // 0: no answer
	Error      string `json:"error,omitempty"`
}

// WebhookReplayReply counts the events that are sent again.
type WebhookReplayReply struct {
	Success   bool   `json:"success"`
	WebhookID string `json:"webhook_id"`
	Events    int    `json:"events"`
}
