package telemetry

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/safety"
)

// kindOther is what OpenTelemetry calls an error that nobody has a name for.
const kindOther = "_OTHER"

// kinds names the causes of failed runs, those first that explain the others: a
// lease is lost and a call left unrecorded because the database is gone.
var kinds = []struct {
	err  error
	name string
}{
	{reverie.ErrUnavailable, "database_unavailable"},
	{reverie.ErrOutdatedSchema, "outdated_schema"},
	{reverie.ErrLeaseLost, "lease_lost"},
	{reverie.ErrBusy, "busy"},
	{reverie.ErrUnusable, "unusable_answer"},
	{reverie.ErrConfiguration, "configuration"},
	{reverie.ErrConflict, "conflict"},
	{reverie.ErrInvalid, "invalid"},
	{reverie.ErrNotFound, "not_found"},
	{context.Canceled, "canceled"},
	{context.DeadlineExceeded, "timeout"},
	{reverie.ErrDeferred, "deferred"},
}

// kindOf names the cause of an error: one of few words, so that one cause counts
// as one whatever group it hit.
func kindOf(err error) string {
	var (
		budget *reverie.BudgetError
		call   *llm.Error
		sql    interface{ SQLState() string }
	)
	switch {
	case errors.Is(err, reverie.ErrUnavailable): // a call that failed beside it matters less
	case errors.As(err, &budget):
		return "budget_" + budget.Scope
	case errors.As(err, &call):
		return "llm_" + string(call.Fault)
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	if errors.As(err, &sql) {
		return "sql_" + sql.SQLState()
	}
	return kindOther
}

// maxWords bounds an error's text, in bytes: a server may answer with a page.
const maxWords = 2000

// words is an error's text as it may leave the process: without secrets, and
// not too long.
func words(err error) string {
	text := safety.MaskSecrets(err.Error())
	if len(text) <= maxWords {
		return text
	}
	cut := maxWords
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strings.ToValidUTF8(text[:cut], "") + "..."
}
