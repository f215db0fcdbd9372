package pg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// ServerError returns the server's error within err, nil if there is none.
func ServerError(err error) *pq.Error {
	var answer *pq.Error
	if errors.As(err, &answer) {
		return answer
	}
	return nil
}

// translate is [Translate] with the database's reasons for violated constraints.
func (d *DB) translate(ctx context.Context, err error, what string) error {
	if answer := ServerError(err); answer != nil && (d.Distributed() || d.whole != nil) {
		ofTable(answer)
	}
	return translateWith(ctx, err, what, d.Reasons)
}

// Of a worker's error, Citus passes on only the message, and for copied rows not even the code.
var (
	violation = text.NewPattern(`violates (unique|foreign key|check|not-null) constraint(?: "(.+)_\d+")?$`)
	codes     = map[string]pqerror.Code{"unique": pqerror.UniqueViolation, "foreign key": pqerror.ForeignKeyViolation,
		"check": pqerror.CheckViolation, "not-null": pqerror.NotNullViolation}
)

// ofTable changes an error about a shard into one about its table.
func ofTable(answer *pq.Error) {
	if found := violation.FindStringSubmatch(answer.Message); found != nil {
		answer.Code, answer.Constraint = codes[found[1]], found[2]
	}
}

// Translate is the one place where errors of the driver become errors of package reverie. what describes the failed
// action. Errors of package reverie keep their kind.
func Translate(ctx context.Context, err error, what string) error {
	return translateWith(ctx, err, what, nil)
}

func translateWith(ctx context.Context, err error, what string, reasons map[string]string) error {
	if err == nil {
		return nil
	}
	answer := ServerError(err)
	if cause := ctx.Err(); cause != nil && (answer == nil || answer.Code == pqerror.QueryCanceled) && !isDomainError(err) {
		return fmt.Errorf("%s: %w", what, cause)
	}
	if answer == nil && isUnreachable(err) && !isDomainError(err) {
		return fmt.Errorf("%s: %w: %w", what, reverie.ErrUnavailable, err)
	}
	if answer == nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if kind := domainError(answer); kind != nil {
		if why := reasons[answer.Constraint]; why != "" {
			return fmt.Errorf("%s: %s: %w (%w)", what, why, kind, answer)
		}
		return fmt.Errorf("%s: %w: %w", what, kind, answer)
	}
	if answer.Code == pqerror.InvalidSQLStatementName {
		return fmt.Errorf("%s: a pooler lost a prepared statement; let it carry them or turn preparing off: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// domainError maps an error of the server to one of package reverie, nil if there is none.
func domainError(answer *pq.Error) error {
	switch answer.Code {
	case pqerror.UniqueViolation, pqerror.TRSerializationFailure, pqerror.TRDeadlockDetected, pqerror.LockNotAvailable:
		return reverie.ErrConflict
	case pqerror.ForeignKeyViolation:
		return reverie.ErrNotFound
	case pqerror.ReadOnlySQLTransaction: // from a standby, or a server that is failing over
		return fmt.Errorf("%w: the server takes no writes now", reverie.ErrUnavailable)
	case pqerror.FeatureNotSupported:
		if strings.Contains(answer.Message, "recovery") { // a write transaction on a standby
			return fmt.Errorf("%w: the server is a standby", reverie.ErrUnavailable)
		}
	case pqerror.DiskFull:
		return fmt.Errorf("%w: the disk of its server is full, free some of it", reverie.ErrUnavailable)
	case pqerror.CheckViolation, pqerror.NotNullViolation:
		return reverie.ErrInvalid
	case pqerror.UndefinedTable, pqerror.UndefinedColumn, pqerror.UndefinedObject:
		return fmt.Errorf("%w: run `reverie migrate up`", reverie.ErrOutdatedSchema)
	case pqerror.InvalidCatalogName, pqerror.InvalidPassword, pqerror.InvalidAuthorizationSpecification,
		pqerror.InsufficientPrivilege,
		pqerror.UndefinedFile: // such as a deleted library of pgvector
		return reverie.ErrConfiguration
	}
	switch {
	case answer.Code.Class() == "22": // data exception: a value that its column cannot hold
		return reverie.ErrInvalid
	case answer.Code.Class() == "08", // connection exception
		answer.Code.Class() == "53",                    // insufficient resources: connections, memory, disk
		strings.HasPrefix(string(answer.Code), "57P0"): // the server is stopping, starting or has crashed
		return reverie.ErrUnavailable
	}
	return nil
}

// isUnreachable reports whether err means a connection that broke or could not be opened.
func isUnreachable(err error) bool {
	var link *net.OpError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.As(err,
		&link)
}

func isDomainError(err error) bool {
	for _, kind := range []error{reverie.ErrNotFound, reverie.ErrConflict, reverie.ErrInvalid, reverie.ErrBusy,
		reverie.ErrLeaseLost, reverie.ErrUnavailable, reverie.ErrConfiguration, reverie.ErrOutdatedSchema} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// NotFoundIfEmpty turns an empty result into reverie.ErrNotFound.
func NotFoundIfEmpty(err error, format string, args ...any) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf(format+": %w", append(args, reverie.ErrNotFound)...)
	}
	return err
}
