package store

import (
	"database/sql"
	"errors"

	"github.com/lib/pq"
)

// ErrDryRun takes back what a dry run did.
var ErrDryRun = errors.New("dry run")

// OrEmpty copies a list, so that none is an empty array and not NULL.
func OrEmpty(list pq.StringArray) pq.StringArray { return append(pq.StringArray{}, list...) }

// IgnoreNoRows is err, but for sql.ErrNoRows.
func IgnoreNoRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}
