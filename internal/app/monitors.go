package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"reverie/internal/llm"
	"reverie/internal/reverie"
	"reverie/internal/telemetry"
	"reverie/prompts"
)

// monitors are those who are told what runs do. Each may be nil, and does
// nothing then.
type monitors struct {
	metrics *telemetry.Metrics // the daemon's only: nobody scrapes a command
	tracer  *telemetry.Tracer
	sentry  *telemetry.Sentry
}

// observe opens the monitors that the configuration names.
func (a *App) observe(ctx context.Context) error {
	t, s := a.Config.Traces, a.Config.Sentry
	headers, err := headersOf(t.Headers.Reveal())
	if err != nil {
		return fmt.Errorf("[traces] headers: %w", err)
	}
	if a.tracer, err = telemetry.OpenTracer(ctx, telemetry.TraceOptions{Endpoint: t.Endpoint, Headers: headers, Ratio: t.Ratio,
		ServiceVersion: a.Version, Log: a.Log, Now: a.Clock}); err != nil {
		return err
	}
	if a.sentry, err = telemetry.OpenSentry(s.DSN.Reveal(), s.Environment, a.Version); err != nil {
		return err
	}
	if a.Resident {
		a.metrics = telemetry.New(a.Version, a.Clock, reverie.Jobs...)
	}
	return nil
}

// headersOf reads name=value, separated by commas. Errors do not repeat the
// values, which are secret.
func headersOf(text string) (map[string]string, error) {
	headers := map[string]string{}
	for i, field := range strings.Split(text, ",") {
		if strings.TrimSpace(field) == "" {
			continue
		}
		name, value, ok := strings.Cut(field, "=")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("entry %d is not name=value: %w", i+1, reverie.ErrConfiguration)
		}
		headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return headers, nil
}

// parting is how long the last of what was watched may take to be sent.
const parting = 5 * time.Second

// close sends what is still to be sent. That nobody takes it is no failure of
// the work that it is about.
func (w *monitors) close() {
	ctx, cancel := context.WithTimeout(context.Background(), parting)
	defer cancel()
	_ = w.tracer.Shutdown(ctx)
	w.sentry.Close(parting)
}

// phase tells the monitors of a step of a run.
func (w *monitors) phase(job reverie.Job, now func() time.Time) func(ctx context.Context, name string) (context.Context, func(error)) {
	return func(ctx context.Context, name string) (context.Context, func(error)) {
		began := now()
		ctx, end := w.tracer.Phase(ctx, name)
		return ctx, func(err error) {
			end(err)
			w.metrics.Phase(job, name, now().Sub(began))
		}
	}
}

// DayBudget is what all processes may spend in a day; one per process.
func (a *App) DayBudget() *llm.DayBudget {
	b := a.Config.Budget
	return llm.NewDayBudget(llm.Limits{Calls: b.CallsPerDay, Tokens: b.TokensPerDay, USD: b.USDPerDay}, a.Store.SpendSince, a.Clock)
}

// Budget is what one command, or one start of a scheduled job, may spend.
func (a *App) Budget(day *llm.DayBudget) *llm.Budget {
	b := a.Config.Budget
	return llm.NewBudget(llm.Limits{Calls: b.CallsPerRun, Tokens: b.TokensPerRun, USD: b.USDPerRun}, day)
}

// RemotePrompts fetches the prompts that are kept in Langfuse, if any are. What
// cannot be had stays as it was, with a warning.
func (a *App) RemotePrompts(ctx context.Context, set *prompts.Set) *prompts.Set {
	l := a.Config.Prompts.Langfuse
	if l.BaseURL == "" {
		return set
	}
	set, warnings := set.With(ctx, &prompts.Langfuse{BaseURL: l.BaseURL, PublicKey: l.PublicKey, SecretKey: l.SecretKey.Reveal(),
		Label: l.Label, Timeout: l.Timeout.Duration})
	for _, w := range warnings {
		a.Log.Warn("prompt from Langfuse not used: " + w)
	}
	return set
}

// WithBudget lets what is done with the context spend what one command may.
func (a *App) WithBudget(ctx context.Context) context.Context {
	return llm.WithBudget(ctx, a.Budget(a.DayBudget()))
}
