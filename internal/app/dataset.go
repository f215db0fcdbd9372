package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"reverie/internal/config"
	"reverie/internal/eval/dataset"
	"reverie/internal/llm"
	"reverie/internal/llm/answer"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// PlayDataset plays conversations of a public benchmark in a schema of their own, and writes every
// question to a file. Where no model is configured, the offline baseline remembers, and nothing is
// answered. Beside an error stands the report of what was played before it.
func (a *App) PlayDataset(ctx context.Context, format dataset.Format, list []dataset.Conversation, out string,
	f PlayOptions) (report dataset.Report, err error) {
	cfg := evalConfig(a.Config, false)
	if _, err := cfg.Generation(config.UseEvolve); errors.Is(err, config.ErrNoModel) {
		cfg.LLM.Provider = config.ProviderOffline
	}
	if err := CheckModels(cfg, reverie.JobEvolve); err != nil {
		return report, err
	}
	file, err := os.Create(out)
	if err != nil {
		return report, badRequest(fmt.Errorf("--out: %w", err))
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	report = dataset.Report{Dataset: format.Name, K: f.K, Out: out, Kinds: []*dataset.Part{}, Failed: []string{}}
	err = a.try(ctx, cfg, f, func(ctx context.Context, t *trial) error {
		report.Model, report.Embedder = t.player.Pipeline.Model.Name(), t.embedder
		report.Baseline = strings.HasPrefix(report.Model, config.ProviderOffline+"/")
		p := dataset.Player{Play: t.player.Play, Out: file}
		model, settings, err := t.Model(config.UseAsk)
		switch {
		case err == nil:
			report.Answers, p.Ask = model.Name(), asking(model, settings.MaxOutputTokens)
		case !errors.Is(err, config.ErrNeedsModel):
			return err
		}
		for i, c := range list {
			f.Playing(i, len(list), c.ID)
			err := p.One(ctx, format, c, &report)
			if ctx.Err() != nil || jobs.IsGlobal(err) || errors.Is(err, reverie.ErrDeferred) {
				return err // it would befall all others, too
			}
			if err != nil {
				report.Failed = append(report.Failed, c.ID+": "+err.Error())
			}
		}
		f.Playing(len(list), len(list), "")
		return nil
	})
	report.Success = err == nil && len(report.Failed) == 0
	return report, err
}

// asking is how a benchmark's questions are put to a model. An answer that is not in the form that
// was asked for counts as it is.
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
