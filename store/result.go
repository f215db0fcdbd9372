package store

import (
	"database/sql"
	"errors"

	"github.com/lib/pq"
)

// errDryRun takes back what a dry run did.
var errDryRun = errors.New("dry run")

// orEmpty copies a list, so that none is an empty array and not NULL.
func orEmpty(list pq.StringArray) pq.StringArray { return append(pq.StringArray{}, list...) }

// ignoreNoRows is err, but for sql.ErrNoRows.
func ignoreNoRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}
