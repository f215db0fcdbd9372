package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"reverie/internal/config"
	"reverie/internal/eval"
	"reverie/internal/eval/dataset"
	"reverie/internal/llm"
	"reverie/internal/llm/answer"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// DatasetOptions select what is played of a public benchmark, and where its questions are written.
type DatasetOptions struct {
	Name  string
	Only  []string // ids or patterns of conversations
	Limit int      // maximum number of conversations; 0 = none
	Out   string   // file name; "" = the name and .jsonl
}

// PlayDataset plays conversations of a benchmark's folder in a separate schema, and writes every question to a
// file. If no model is configured, it uses the offline baseline, and answers nothing. With an error it also returns
// the report of what was played.
func (a *App) PlayDataset(ctx context.Context, dir string, o DatasetOptions, f PlayOptions) (report dataset.Report, err error) {
	format, err := dataset.Named(o.Name)
	if err != nil {
		return report, err
	}
	list, err := format.Read(dir, o.Only, o.Limit)
	if err != nil {
		return report, err
	}
	cfg := evalConfig(a.Config, false)
	if _, err := cfg.Generation(config.UseEvolve); errors.Is(err, config.ErrNoModel) {
		cfg.LLM.Provider = config.ProviderOffline
	}
	if err := CheckModels(cfg, reverie.JobEvolve); err != nil {
		return report, err
	}
	out := cmp.Or(o.Out, o.Name+".jsonl")
	file, err := os.Create(out)
	if err != nil {
		return report, badRequest(fmt.Errorf("--out: %w", err))
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	b := &eval.Benchmark{Format: format, Out: file,
		Report: dataset.Report{Dataset: format.Name, K: f.K, Out: out, Kinds: []*dataset.Part{}, Failed: []string{}}}
	err = a.try(ctx, cfg, f, func(ctx context.Context, t *stage) error {
		b.Player, b.Report.Model, b.Report.Embedder = t.player, t.player.Pipeline.Model.Name(), t.embedder
		b.Report.Baseline = strings.HasPrefix(b.Report.Model, config.ProviderOffline+"/")
		model, settings, err := t.Model(config.UseAsk)
		switch {
		case err == nil:
			b.Report.Answers, b.Ask = model.Name(), asking(model, settings.MaxOutputTokens)
		case !errors.Is(err, config.ErrNeedsModel):
			return err
		}
		defer f.Playing(len(list), len(list), "")
		for i, c := range list {
			f.Playing(i, len(list), c.ID)
			err := b.Play(ctx, c)
			if ctx.Err() != nil || jobs.IsGlobal(err) || errors.Is(err, reverie.ErrDeferred) {
				return err // all others would fail the same way
			}
			if err != nil {
				b.Report.Failed = append(b.Report.Failed, c.ID+": "+err.Error())
			}
		}
		return nil
	})
	b.Report.Success = err == nil && len(b.Report.Failed) == 0
	return b.Report, err
}

// asking returns the function that puts a benchmark's questions to a model. It accepts answers in any form.
func asking(model *llm.Model, maxTokens int) dataset.Ask {
	return func(ctx context.Context, group, system, user string) (string, error) {
		resp, err := model.Generate(ctx, llm.Meta{GroupID: group, Purpose: config.UseAsk},
			llm.Request{System: system, User: user, MaxTokens: maxTokens})
		if err != nil {
			return "", err
		}
		if _, said, _ := pipeline.ReadProposals(answer.Read(resp.Text), false, pipeline.TypeSummary); said != nil {
			return said.Content, nil
		}
		return strings.TrimSpace(resp.Text), nil
	}
}
