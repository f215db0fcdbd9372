package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"reverie/dream"
	"reverie/evolve"
	"reverie/internal/batch"
	"reverie/internal/config"
	"reverie/internal/decide"
	"reverie/internal/entity"
	"reverie/internal/llm"
	"reverie/internal/llm/anthropic"
	"reverie/internal/llm/gemini"
	"reverie/internal/llm/offline"
	"reverie/internal/llm/openai"
	"reverie/internal/llm/recorded"
	"reverie/internal/llm/static"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/session"
	"reverie/prompts"
)

// Pipelines are the pipelines of the requested jobs; others are nil.
type Pipelines struct {
	Prompts    *prompts.Set
	Evolve     *evolve.Pipeline
	Impression *entity.Pipeline // follows evolve; nil with the offline baseline, which cannot observe
	Session    *session.Pipeline
	Dream      *dream.Pipeline
}

// modelUses returns the uses of models by a job and by the job that follows it.
func modelUses(c *config.Config, job reverie.Job) []string {
	var uses []string
	switch job {
	case reverie.JobEvolve:
		uses = []string{config.UseEvolve}
		if _, err := c.Generation(config.UseObserve); !errors.Is(err, config.ErrNeedsModel) {
			uses = append(uses, config.UseObserve)
		}
	case reverie.JobImpression:
		uses = []string{config.UseObserve}
	case reverie.JobExtract:
		uses = []string{config.UseExtract, config.UseFold}
	case reverie.JobDream:
		uses = []string{config.UseDream}
	}
	if c.Decide.Enabled && len(uses) > 0 {
		uses = append(uses, config.UseCompare)
	}
	return uses
}

// CheckModels refuses models without a setting that one of the jobs needs, before a database is started in vain.
func CheckModels(c *config.Config, wanted ...reverie.Job) error {
	for _, job := range wanted {
		for _, use := range modelUses(c, job) {
			if _, err := c.Generation(use); err != nil {
				return err
			}
		}
	}
	return nil
}

// Worker opens what a job needs, the database last.
func (a *App) Worker(ctx context.Context, wanted reverie.Job) (Pipelines, error) {
	if err := CheckModels(a.Config, wanted); err != nil {
		return Pipelines{}, err
	}
	go PrivacyOf(a.Config).Mask("the rules are read while the database is waited for")
	if err := a.Open(ctx); err != nil {
		return Pipelines{}, err
	}
	return a.pipelines(ctx, true, wanted)
}

// pipelines wires jobs, with the local prompts, or with the current ones of Langfuse.
func (a *App) pipelines(ctx context.Context, remote bool, wanted ...reverie.Job) (p Pipelines, err error) {
	if p.Prompts, err = prompts.Open(a.Config.Prompts.Dir); err != nil {
		return Pipelines{}, err
	}
	if remote {
		p.Prompts = a.RemotePrompts(ctx, p.Prompts)
	}
	if slices.Contains(wanted, reverie.JobEvolve) {
		p.Evolve, err = a.Evolution(ctx, p.Prompts)
	}
	if err == nil && (p.Evolve != nil || slices.Contains(wanted, reverie.JobImpression)) {
		p.Impression, err = a.impressions(ctx, p.Prompts)
	}
	if p.Evolve != nil && errors.Is(err, config.ErrNeedsModel) {
		err = nil
	}
	if err == nil && slices.Contains(wanted, reverie.JobExtract) {
		p.Session, err = a.extraction(ctx, p.Prompts)
	}
	if err == nil && slices.Contains(wanted, reverie.JobDream) {
		p.Dream, err = a.dreaming(ctx, p.Prompts)
	}
	return p, err
}

// Evolution wires evolve.
func (a *App) Evolution(ctx context.Context, set *prompts.Set) (*evolve.Pipeline, error) {
	model, room, err := a.pricedModel(ctx, config.UseEvolve, prompts.MemoryEvolve, set, a.Config.Evolve.MaxInputTokens)
	if err != nil {
		return nil, err
	}
	j, err := a.judgement(ctx, set)
	if err != nil {
		return nil, err
	}
	p := a.EvolveBase(set, room.output)
	p.Prompts, p.Limits.MaxInputTokens, p.Limits.MaxShown = room.set, room.input, room.shown
	p.Limits.MaxMessages = min(p.Limits.MaxMessages, room.messages)
	p.Model, p.Phase, p.Decider, p.Refused = model, a.phase(reverie.JobEvolve, a.Clock), j.decider, a.refused(model)
	p.Embeddings, p.EmbeddingsOptional = j.embeddings, j.optional
	return p, nil
}

// EvolveBase wires the part of evolve that calls no model.
func (a *App) EvolveBase(set *prompts.Set, maxOutput int) *evolve.Pipeline {
	e := a.Config.Evolve
	return &evolve.Pipeline{
		Store: a.Store, Prompts: set, CompareShown: a.Config.Decide.CompareShown,
		Impressions: a.Config.Impression.Enabled, Privacy: PrivacyOf(a.Config), Now: a.Clock, Log: a.Log,
		Limits: evolve.Limits{MaxMessages: e.MaxMessages, MaxInputTokens: e.MaxInputTokens, MaxOutputTokens: maxOutput,
			MaxCreates: e.MaxCreates, MaxActive: e.MaxActive, MaxSession: a.Config.Session.MaxActive, MaxDream: a.Config.Dream.MaxActive, Target: e.Target, MaxShown: reverie.MaxShown,
			Forget: a.forgetRule(), HoldRatio: e.HoldRatio, HoldMin: e.HoldMin, ContextMessages: e.ContextLimit},
	}
}

// forgetRule returns when silence makes a memory stale.
func (a *App) forgetRule() reverie.ForgetRule {
	f := a.Config.Forget
	return reverie.ForgetRule{Habit: f.HabitNights, HabitGaps: f.HabitGaps, Plan: f.PlanNights, Opinion: f.OpinionNights}
}

// judgement is what compares new facts with memories.
type judgement struct {
	embeddings pipeline.Embeddings // nil: none is configured
	optional   bool                // the embedding model is a default: its failure is only a warning
	decider    decide.Decider      // compares by a model, or only by exact text
}

func (a *App) judgement(ctx context.Context, set *prompts.Set) (j judgement, err error) {
	embed, err := a.Embedder()
	switch {
	case err == nil:
		j.embeddings, j.optional = embed, !embed.explicit
	case !errors.Is(err, ErrNoEmbeddings):
		return j, err
	}
	j.decider = decide.Plain{}
	if !a.Config.Decide.Enabled {
		return j, nil
	}
	model, room, err := a.pricedModel(ctx, config.UseCompare, prompts.MemoryCompare, set, otherInput)
	if err != nil {
		return j, err
	}
	d := a.Config.Decide
	comparer := &decide.Comparer{Store: a.Store, Model: model, Prompts: room.set, Journal: a.Store, Log: a.Log,
		Options: decide.Options{TopK: d.CandidateTopK, MinScore: d.CandidateMinScore, Fallback: decide.Fallback(d.FallbackMode),
			MaxCalls: d.MaxCalls, MaxOutputTokens: room.output}}
	if embed != nil {
		comparer.Embeddings, comparer.EmbeddingsOptional, comparer.Calibration = embed, j.optional, embed.Calibrator
	}
	j.decider = comparer
	return j, nil
}

// pricedModel returns the model of a use, and the size of its questions of at most input tokens. It warns once per
// model if no budget in USD can bound its calls.
func (a *App) pricedModel(ctx context.Context, use, prompt string, set *prompts.Set, input int) (*llm.Model, room, error) {
	model, settings, err := a.Model(use)
	if err != nil {
		return nil, room{}, err
	}
	fits, err := a.room(ctx, settings, prompt, set, input)
	if err != nil {
		return nil, room{}, err
	}
	a.wiring.Lock()
	defer a.wiring.Unlock()
	if a.Config.LimitsUSD() && !model.Priced() && !config.Keyless(settings.Provider) && !slices.Contains(a.unpriced, model.Name()) {
		a.unpriced = append(a.unpriced, model.Name())
		a.Log.Warn("the model's price is not in [llm] prices, so its calls cost nothing and no limit in USD bounds them: add it, or limit calls or tokens", "model", model.Name())
	}
	return model, fits, nil
}

// impressions wires the impression job.
func (a *App) impressions(ctx context.Context, set *prompts.Set) (*entity.Pipeline, error) {
	i := a.Config.Impression
	model, settings, err := a.Model(config.UseObserve)
	fits := room{set: set, input: i.MaxInputTokens, output: settings.MaxOutputTokens, messages: i.MaxMessages}
	if err == nil && i.Enabled {
		model, fits, err = a.pricedModel(ctx, config.UseObserve, prompts.ImpressionObserve, set, i.MaxInputTokens)
	}
	if err != nil {
		return nil, err
	}
	return &entity.Pipeline{Store: a.Store, Model: model, Prompts: fits.set, Journal: a.Store, Privacy: PrivacyOf(a.Config), Now: a.Clock, Log: a.Log,
		Phase: a.phase(reverie.JobImpression, a.Clock), Refused: a.refused(model),
		Limits: entity.Limits{MaxMessages: min(i.MaxMessages, fits.messages), MaxSubjects: i.MaxSubjects, MaxInputTokens: fits.input,
			MaxOutputTokens: fits.output, MinConfidence: i.MinConfidence, MinEvidence: i.MinEvidence, ExpireAfter: i.ExpireAfter.Duration}}, nil
}

// extraction wires the extraction of sessions.
func (a *App) extraction(ctx context.Context, set *prompts.Set) (*session.Pipeline, error) {
	c, e := a.Config.Session, a.Config.Evolve
	model, fits, err := a.pricedModel(ctx, config.UseExtract, prompts.SessionExtract, set, c.MaxInputTokens)
	if err != nil {
		return nil, err
	}
	summarizer, fold, err := a.pricedModel(ctx, config.UseFold, prompts.SessionSummarize, set, c.MaxInputTokens)
	if err != nil {
		return nil, err
	}
	j, err := a.judgement(ctx, set)
	if err != nil {
		return nil, err
	}
	if fold.input < fits.input { // both show the same turns
		fits.input, fits.shown, fits.set = fold.input, fold.shown, fold.set
	}
	p := &session.Pipeline{
		Store: a.Store, Model: model, Summarizer: summarizer, Prompts: fits.set, Journal: a.Store, Decider: j.decider, Rule: a.SessionRule(), Retry: a.parkRule(), Silence: c.Silence.Duration,
		Privacy: PrivacyOf(a.Config), Now: a.Clock, Log: a.Log, Phase: a.phase(reverie.JobExtract, a.Clock), Refused: a.refused(model),
		Limits: session.Limits{MaxMessages: min(c.MaxMessages, fits.messages), MaxInputTokens: fits.input, MaxOutputTokens: fits.output,
			MaxSummaryTokens: fold.output, MaxFacts: c.MaxFacts, MaxActive: c.MaxActive, MinConfidence: c.MinConfidence, AutoTag: c.AutoTag,
			MaxShown: fits.shown, HoldRatio: e.HoldRatio, HoldMin: e.HoldMin},
	}
	p.Embeddings, p.EmbeddingsOptional = j.embeddings, j.optional
	return p, nil
}

// dreaming wires dreams.
func (a *App) dreaming(ctx context.Context, set *prompts.Set) (*dream.Pipeline, error) {
	d := a.Config.Dream
	model, fits, err := a.pricedModel(ctx, config.UseDream, prompts.Dream, set, d.MaxInputTokens)
	if err != nil {
		return nil, err
	}
	j, err := a.judgement(ctx, set)
	if err != nil {
		return nil, err
	}
	p := &dream.Pipeline{
		Store: a.Store, Model: model, Prompts: fits.set, Journal: a.Store, Decider: j.decider, Rule: a.DreamRule(), Now: a.Clock, Log: a.Log, Phase: a.phase(reverie.JobDream, a.Clock), Refused: a.refused(model),
		Limits: dream.Limits{MaxInputTokens: fits.input, MaxOutputTokens: fits.output, MaxItems: d.MaxItems, MaxActive: d.MaxActive,
			MaxShown: fits.shown, MinConfidence: d.MinConfidence, HoldRatio: d.HoldRatio, HoldMin: d.HoldMin},
	}
	p.Embeddings, p.EmbeddingsOptional = j.embeddings, j.optional
	return p, nil
}

// SessionRule returns the configured rule for due sessions.
func (a *App) SessionRule() reverie.SessionRule {
	c, s := a.Config.Session, a.Config.ShortTerm
	return reverie.SessionRule{Tokens: c.Tokens, ToolCalls: c.ToolCalls, Turns: c.Turns, Idle: c.Idle.Duration,
		KeepTurns: s.MaxItems, FoldTurns: s.CompressionThreshold, FoldTokens: s.TriggerTokens, ShortTermTTL: s.ExpireAfter.Duration}
}

// ErrNoEmbeddings says that no embedding model is configured. Evolving works without one, searching does not.
var ErrNoEmbeddings = errors.New("no embedding model is configured")

// noEmbeddings marks the configuration's own error.
type noEmbeddings struct{ error }

func (e *noEmbeddings) Is(target error) bool { return target == ErrNoEmbeddings }
func (e *noEmbeddings) Unwrap() error        { return e.error }

// adapter is a provider's client: for generation and embeddings, or only for generation.
type adapter struct {
	generator llm.Generator
	embedder  llm.Embedder
}

// connect creates the client of a provider.
func connect(provider string, o llm.ClientOptions) (adapter, error) {
	switch provider {
	case config.ProviderOpenAI:
		c, err := openai.New(o)
		return adapter{c, c}, err
	case config.ProviderGemini:
		c, err := gemini.New(o)
		return adapter{c, c}, err
	case config.ProviderAnthropic:
		c, err := anthropic.New(o)
		return adapter{generator: c}, err
	case config.ProviderOffline:
		c := offline.New(o.Dims)
		return adapter{c, c}, nil
	case config.ProviderLocal:
		c, err := static.Open(o.Model)
		return adapter{embedder: c}, err
	}
	return adapter{}, fmt.Errorf("unknown provider %q: %w", provider, reverie.ErrConfiguration)
}

// account says how a provider is called and how calls are recorded.
//
// Calls to one server for the same purpose share a policy: its limits and its breaker. Failed embeddings do not
// stop calls to the generating model.
func (a *App) account(use, provider, baseURL, model string) (llm.Account, error) {
	prices, err := llm.ParsePrices(a.Config.LLM.Prices)
	if err != nil {
		return llm.Account{}, err
	}
	l, server := a.Config.LLM, use+" "+provider+" "+baseURL
	a.wiring.Lock()
	defer a.wiring.Unlock()
	if a.policies == nil {
		a.policies, a.calls = map[string]*llm.Policy{}, llm.NewSemaphore(a.Config.Jobs.Concurrency)
	}
	if a.policies[server] == nil {
		a.policies[server] = llm.NewPolicy(llm.PolicyOptions{Attempts: l.Attempts, BreakerFailures: l.BreakerFailures,
			BreakerDelay: l.BreakerDelay.Duration, RequestsPerMinute: l.RequestsPerMinute, TokensPerMinute: l.TokensPerMinute})
	}
	return llm.Account{Provider: provider, Model: model, Prices: prices, Free: config.Keyless(provider), Ledger: a.metrics.Ledger(a.Store), Policy: a.policies[server], Privacy: PrivacyOf(a.Config)}, nil
}

// patient returns the policy of flex calls that belongs to a policy of standard calls.
func (a *App) patient(of *llm.Policy) *llm.Policy {
	a.wiring.Lock()
	defer a.wiring.Unlock()
	if a.flex[of] == nil {
		if a.flex == nil {
			a.flex = map[*llm.Policy]*llm.Policy{}
		}
		a.flex[of] = of.Patient(a.Config.LLM.FlexDeadline.Duration)
	}
	return a.flex[of]
}

// PrivacyOf returns the configured treatment of personal data.
func PrivacyOf(c *config.Config) safety.Privacy {
	return safety.Privacy{PII: safety.PII(c.Privacy.PII)}
}

// Model is the generating model of a use.
func (a *App) Model(use string) (*llm.Model, config.ModelSettings, error) {
	s, err := a.Config.Generation(use)
	if err != nil {
		return nil, s, err
	}
	client, err := a.generator(s)
	if err != nil {
		return nil, s, err
	}
	account, err := a.account("generate", s.Provider, s.BaseURL, s.Model)
	if err != nil {
		return nil, s, err
	}
	account.Timeout, account.Calls = s.Timeout, a.calls
	if account.OffPeak, err = llm.ParseOffPeak(a.Config.LLM.OffPeak); err != nil {
		return nil, s, err
	}
	if account.Tier = llm.Tier(s.ServiceTier); account.Tier == llm.TierFlex {
		account.Flex = &llm.Flex{Policy: a.patient(account.Policy), Timeout: a.Config.LLM.FlexTimeout.Duration}
	}
	batcher := client
	if f, is := client.(llm.FlexAt); is {
		batcher = f.Generator
	}
	if account.Batcher, _ = batcher.(llm.Batcher); a.Store != nil {
		account.Asked = batch.Direct{Store: a.Batches()}
	}
	return llm.NewModel(a.tracer.Generator(client, s.Provider, s.Model), account), s, err
}

// generator creates the client for questions.
func (a *App) generator(s config.ModelSettings) (llm.Generator, error) {
	if s.Provider != config.ProviderRecorded {
		o := llm.ClientOptions{BaseURL: s.BaseURL, APIKey: s.APIKey.Reveal(), Model: s.Model, Temperature: s.Temperature, Lines: s.Lines}
		client, err := connect(s.Provider, o)
		if err != nil || s.FlexBaseURL == "" {
			return client.generator, err
		}
		o.BaseURL = s.FlexBaseURL
		flex, err := connect(s.Provider, o)
		return llm.FlexAt{Generator: client.generator, Flex: flex.generator}, err
	}
	if a.Recording != nil {
		return recorded.New("the demo", a.Recording)
	}
	if a.Config.LLM.Recorded == "" {
		return nil, fmt.Errorf("no file of recorded answers is set: %w: set llm.recorded (REVERIE_LLM_RECORDED) "+
			"to one, such as test/halfframe/answers.jsonl", reverie.ErrConfiguration)
	}
	return recorded.Open(a.Config.LLM.Recorded)
}

// Embedder is an embedding model, with the database as its cache.
type Embedder struct {
	*llm.Embeddings
	Calibrator reverie.Calibrator
	explicit   bool // the model is named in the configuration, so its failure is an error
}

// Embedder is the configured embedding model, the same each time.
func (a *App) Embedder() (*Embedder, error) { return a.embedderOf(a.Config) }

func (a *App) embedderOf(cfg *config.Config) (*Embedder, error) {
	s, err := cfg.Embedding()
	if err != nil {
		return nil, &noEmbeddings{err}
	}
	if e, found := a.embedder.Load(s); found {
		return e.(*Embedder), nil
	}
	e, err := a.openEmbedder(s)
	if err != nil {
		return nil, err
	}
	first, _ := a.embedder.LoadOrStore(s, e)
	return first.(*Embedder), nil
}

func (a *App) openEmbedder(s config.EmbedSettings) (*Embedder, error) {
	client, err := connect(s.Provider, llm.ClientOptions{BaseURL: s.BaseURL, APIKey: s.APIKey.Reveal(), Model: s.Model, Dims: s.Dimensions})
	if err != nil {
		return nil, err
	}
	options := llm.EmbeddingOptions{Dims: s.Dimensions, Explicit: s.DimensionsSet, Batch: s.Batch, Cache: a.Store}
	if table, is := client.embedder.(*static.Model); is {
		s.Model = table.Name
		if !s.DimensionsSet {
			options.Dims = table.Dims
		}
	}
	account, err := a.account("embed", s.Provider, s.BaseURL, s.Model)
	if err != nil {
		return nil, err
	}
	account.Timeout = s.Timeout
	if config.Keyless(s.Provider) { // local vectors are computed faster than they are looked up
		account.Ledger, account.Policy, options.Cache = nil, nil, nil
	}
	e := &Embedder{Embeddings: llm.NewEmbeddings(a.tracer.Embedder(client.embedder, s.Provider, s.Model), account, options), explicit: s.Explicit}
	switch set := (reverie.Calibration{Floor: s.Floor, Ceiling: s.Ceiling}); {
	case set != reverie.Calibration{}:
		e.Calibrator = set
	case s.Provider == config.ProviderOffline:
		e.Calibrator = offline.Calibration
	default:
		e.Calibrator = &llm.Calibrator{Embeddings: e.Embeddings, Store: a.Store, Log: a.Log, Now: a.Clock}
	}
	return e, nil
}
