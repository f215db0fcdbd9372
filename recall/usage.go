package recall

import (
	"context"
	"sync"

	"reverie"
)

// UsageStore is where uses are kept.
type UsageStore interface {
	// LogUsage writes rows of any groups in one transaction. Rows that are there
	// already stay as they are.
	LogUsage(ctx context.Context, rows []reverie.Usage) error
}

// UsageLog writes what was offered in batches, beside the path of those who asked.
// It is safe for concurrent use.
type UsageLog struct {
	store UsageStore
	mu    sync.Mutex
	rows  []reverie.Usage
}
