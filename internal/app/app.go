// Package app wires the parts of Reverie together and has one function for each thing that
// is asked of it, whoever asks: the command line, the daemon or the API.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"reverie/evolve"
	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/localdb"
	"reverie/internal/reverie"
	_ "reverie/internal/safety/gitleaks" // the rules of gitleaks, for all that looks for secrets
	"reverie/jobs"
	"reverie/store"
	"reverie/store/pg"
)

// App is what a process has opened so far. The exported fields but Store are set once,
// by whoever makes it.
type App struct {
	Config    *config.Config
	Version   string
	Log       *slog.Logger
	Clock     func() time.Time
	LookupEnv func(name string) string // "" where it is not set
	Notify    func(text string)        // tells a person something
	Resident  bool                     // the process stays: it has metrics, and its log is what people read

	Store *store.Store // see [App.Open]

	cluster  *localdb.Cluster
	queue    *jobs.Queue            // of the jobs of a process that stays; nil for a command
	policies map[string]*llm.Policy // by server
	calls    *llm.Semaphore         // of all questions
	unpriced []string               // models that were warned of
	monitors
}

// storeOptions says how to reach the database at url.
func (a *App) storeOptions(url string) pg.Options {
	d := a.Config.Database
	return pg.Options{URL: url, MaxConns: d.MaxConns, StatementTimeout: d.StatementTimeout.Duration,
		LockTimeout: d.LockTimeout.Duration, IdleTimeout: d.IdleTimeout.Duration, ReadTimeout: d.ReadTimeout.Duration,
		ReaderRole: d.ReaderRole, Now: a.Clock}
}

// MigrateOptions reach the database directly: migrations take a session lock,
// which a pooler would lose.
func (a *App) MigrateOptions(ctx context.Context) (pg.Options, error) {
	url := a.Config.Database.MigrateURL.Reveal()
	if url == "" {
		var err error
		if url, _, err = a.databaseURL(ctx); err != nil {
			return pg.Options{}, err
		}
	}
	return a.storeOptions(url), nil
}

// databaseURL returns the configured database, or that of the private cluster,
// which is started for it.
func (a *App) databaseURL(ctx context.Context) (url string, private bool, err error) {
	if url = a.Config.Database.URL.Reveal(); url != "" {
		return url, false, nil
	}
	if a.cluster != nil {
		return a.cluster.URL(localDatabase), true, nil
	}
	dir := a.Config.Database.DataDir
	if dir == "" {
		if dir, err = localdb.DefaultDir(a.LookupEnv); err != nil {
			return "", true, fmt.Errorf("%w: %w", reverie.ErrConfiguration, err)
		}
	}
	a.cluster, err = localdb.Start(ctx, localdb.Options{Dir: dir, BinDir: a.Config.Database.BinDir, Log: a.Log})
	if err != nil {
		return "", true, fmt.Errorf("start the private database: %w", err)
	}
	if err := a.cluster.EnsureDatabase(ctx, localDatabase); err != nil {
		return "", true, err
	}
	return a.cluster.URL(localDatabase), true, nil
}

// localDatabase is the name of the database in the private cluster.
const localDatabase = "reverie"

// Open opens the database, whose schema must fit. A private one is migrated by the way.
func (a *App) Open(ctx context.Context) error {
	if a.Store != nil {
		return nil
	}
	if err := a.observe(ctx); err != nil {
		return err
	}
	url, private, err := a.databaseURL(ctx)
	if err != nil {
		return err
	}
	opts := a.storeOptions(url)
	s, err := store.Open(ctx, opts)
	if err != nil {
		return err
	}
	s.SessionSilence = cmp.Or(a.Config.Session.Silence.Duration, s.SessionSilence)
	a.Store = s
	err = s.CheckSchema(ctx)
	if private && errors.Is(err, reverie.ErrOutdatedSchema) {
		if _, err := store.Migrate(ctx, opts); err != nil {
			return fmt.Errorf("migrate the private database: %w", err)
		}
		err = s.CheckSchema(ctx)
	}
	return err
}

// Close gives back what was opened. All that was to be written has been
// committed by now: a connection that breaks over saying goodbye is no failure.
func (a *App) Close() error {
	a.monitors.close()
	if a.Store != nil {
		if err := a.Store.Close(); err != nil {
			a.Log.Info("a connection was broken when it was closed", "error", err)
		}
	}
	if a.cluster != nil {
		return a.cluster.Close()
	}
	return nil
}

// Leases are this process's.
func (a *App) Leases() *jobs.Leases {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return &jobs.Leases{Store: a.Store, Holder: fmt.Sprintf("%s:%d", host, os.Getpid()), Queue: a.queue, Takeover: func(groupID string) {
		a.Log.Warn("took over from a holder that is gone", "group_id", groupID)
		a.metrics.Takeover()
	}}
}

// Approver wires what approving a held plan, and applying a plan file, needs: no model. Statements whose
// vectors cannot be had now get them at the next search.
func (a *App) Approver() *evolve.Pipeline {
	e := a.Config.Evolve
	p := &evolve.Pipeline{Store: a.Store, Now: a.Clock, Log: a.Log, EmbeddingsOptional: true, Privacy: PrivacyOf(a.Config), Impressions: a.Config.Impression.Enabled,
		Limits: evolve.Limits{MaxActive: e.MaxActive, MaxCreates: e.MaxCreates, StaleAfter: e.StaleAfter.Duration, HoldRatio: e.HoldRatio, HoldMin: e.HoldMin}}
	if embed, _, err := a.Embeddings(); err == nil {
		p.Embeddings = embed
	}
	return p
}

// Calibration is what makes a score of an embedding model's cosines.
func (a *App) Calibration(es config.EmbedSettings) reverie.Calibration {
	c := reverie.Calibration{Floor: es.Floor, Ceiling: es.Ceiling}
	if c == (reverie.Calibration{}) {
		var known bool
		if c, known = llm.DefaultCalibration(es.Model); !known {
			a.Log.Warn("scores of this embedding model are plain cosines: set [embed] floor and ceiling for it", "model", es.Model)
			c = reverie.Calibration{Floor: 0, Ceiling: 1}
		}
	}
	return c
}
