package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"reverie/evolve"
	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/localdb"
	"reverie/internal/reverie"
	_ "reverie/internal/secret" // the rules of gitleaks, for all that looks for secrets
	"reverie/jobs"
	"reverie/store"
	"reverie/store/pg"
)

// app is one invocation: its surroundings, and what has been opened for it so
// far. It knows every room; no room knows another through it.
type app struct {
	cli.Console
	flags      map[string]string // settings given as flags
	configPath string
	daemon     bool // it stays, and its log is what people read of it

	cfg     *config.Config
	prov    *config.Provenance
	log     *slog.Logger
	cluster *localdb.Cluster
	store   *store.Store
	turns   *jobs.Queue // of the jobs of the daemon; nil for a command
	watchers

	policies map[string]*llm.Policy // by server
	places   *llm.Places            // of all questions
	unpriced []string               // models that were warned of
}

// settings loads the configuration, once.
func (a *app) settings() error {
	if a.cfg != nil {
		return nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	cfg, prov, warnings, err := config.Load(config.Input{Path: a.configPath, Env: a.Env, Flags: a.flags, WorkDir: dir, Home: a.Getenv("HOME")})
	for _, w := range warnings {
		fmt.Fprintln(a.Stderr, "warning:", w)
	}
	if err != nil {
		return err
	}
	a.log, err = a.logger(cfg, prov)
	a.cfg, a.prov = cfg, prov
	return err
}

// logger is the log of a configuration. The daemon's says more unless told
// otherwise: nobody watches its output as it comes.
func (a *app) logger(cfg *config.Config, prov *config.Provenance) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		return nil, fmt.Errorf("log level %q: %w", cfg.Log.Level, reverie.ErrConfiguration)
	}
	if a.daemon && prov.Origin("log.level").Layer == config.LayerDefault {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level}
	if cfg.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(a.Stderr, options)), nil
	}
	return slog.New(slog.NewTextHandler(a.Stderr, options)), nil
}

// storeOptions says how to reach the database at url.
func (a *app) storeOptions(url string) pg.Options {
	d := a.cfg.Database
	return pg.Options{URL: url, MaxConns: d.MaxConns, StatementTimeout: d.StatementTimeout.Duration,
		LockTimeout: d.LockTimeout.Duration, IdleTimeout: d.IdleTimeout.Duration, ReadTimeout: d.ReadTimeout.Duration,
		ReaderRole: d.ReaderRole, Now: a.Now}
}

// databaseURL returns the configured database, or that of the private cluster,
// which is started for it.
func (a *app) databaseURL(ctx context.Context) (url string, private bool, err error) {
	if url = a.cfg.Database.URL.Reveal(); url != "" {
		return url, false, nil
	}
	if a.cluster != nil {
		return a.cluster.URL(localDatabase), true, nil
	}
	dir := a.cfg.Database.DataDir
	if dir == "" {
		if dir, err = localdb.DefaultDir(a.Getenv); err != nil {
			return "", true, fmt.Errorf("%w: %w", reverie.ErrConfiguration, err)
		}
	}
	a.cluster, err = localdb.Start(ctx, localdb.Options{Dir: dir, BinDir: a.cfg.Database.BinDir, Log: a.log})
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

// open loads the configuration and opens the database, whose schema must fit. A
// private one is migrated by the way.
func (a *app) open(ctx context.Context) error {
	if a.store != nil {
		return nil
	}
	if err := a.settings(); err != nil {
		return err
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
	s.SessionSilence = cmp.Or(a.cfg.Session.Silence.Duration, s.SessionSilence)
	a.store = s
	err = s.CheckSchema(ctx)
	if private && errors.Is(err, reverie.ErrOutdatedSchema) {
		if _, err := store.Migrate(ctx, opts); err != nil {
			return fmt.Errorf("migrate the private database: %w", err)
		}
		err = s.CheckSchema(ctx)
	}
	return err
}

// close gives back what was opened. All that was to be written has been
// committed by now: a connection that breaks over saying goodbye is no failure.
func (a *app) close() error {
	a.watchers.close()
	if a.store != nil {
		if err := a.store.Close(); err != nil {
			a.log.Info("a connection was broken when it was closed", "error", err)
		}
	}
	if a.cluster != nil {
		return a.cluster.Close()
	}
	return nil
}

// leases are this process's.
func (a *app) leases() *jobs.Leases {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return &jobs.Leases{Store: a.store, Holder: fmt.Sprintf("%s:%d", host, os.Getpid()), Queue: a.turns, Takeover: func(groupID string) {
		a.log.Warn("took over from a holder that is gone", "group_id", groupID)
		a.metrics.Takeover()
	}}
}

// approver wires what approving a held plan, and applying one in hand, needs: no model. Statements whose
// vectors cannot be had now get them at the next search.
func (a *app) approver() *evolve.Pipeline {
	e := a.cfg.Evolve
	p := &evolve.Pipeline{Store: a.store, Now: a.Now, Log: a.log, EmbeddingsOptional: true, Privacy: privacyOf(a.cfg), Impressions: a.cfg.Impression.Enabled,
		Limits: evolve.Limits{MaxActive: e.MaxActive, MaxCreates: e.MaxCreates, StaleAfter: e.StaleAfter.Duration, HoldRatio: e.HoldRatio, HoldMin: e.HoldMin}}
	if embed, _, err := a.embeddings(); err == nil {
		p.Embeddings = embed
	}
	return p
}

// calibration is what makes a score of an embedding model's cosines.
func (a *app) calibration(es config.EmbedSettings) reverie.Calibration {
	c := reverie.Calibration{Floor: es.Floor, Ceiling: es.Ceiling}
	if c == (reverie.Calibration{}) {
		var known bool
		if c, known = llm.DefaultCalibration(es.Model); !known {
			a.log.Warn("scores of this embedding model are plain cosines: set [embed] floor and ceiling for it", "model", es.Model)
			c = reverie.Calibration{Floor: 0, Ceiling: 1}
		}
	}
	return c
}
