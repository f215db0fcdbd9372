// Package config reads the settings: flags override the environment, the environment overrides the file, the file
// overrides defaults.
package config

// Config holds every setting of the binary. Each leaf is one setting: its path consists of the section and the toml
// tag ([llm.evolve] model is "llm.evolve.model"). Its environment variable follows from the path
// (REVERIE_LLM_EVOLVE_MODEL). reverie.toml in this directory explains each setting and has its default. The tags
// define the allowed values:
//
//   - options: these words, separated by bars, and empty
//   - min, max: this range; also zero, if zero is the default
//   - empty: "no" if an empty text or list is not allowed
//   - check: the function of [checks] with this name, for each element of a list
//
// A field of type [Secret] is never shown in full. Its twin with the suffix _file may name a file that contains the
// value.
type Config struct {
	Database   DatabaseConfig   `toml:"database"`
	LLM        LLMConfig        `toml:"llm"`
	Embed      EmbedConfig      `toml:"embed"`
	Evolve     EvolveConfig     `toml:"evolve"`
	Decide     DecideConfig     `toml:"decide"`
	Impression ImpressionConfig `toml:"impression"`
	Ingest     IngestConfig     `toml:"ingest"`
	Session    SessionConfig    `toml:"session"`
	ShortTerm  ShortTermConfig  `toml:"short_term"`
	Dream      DreamConfig      `toml:"dream"`
	Recall     RecallConfig     `toml:"recall"`
	Feedback   FeedbackConfig   `toml:"feedback"`
	Privacy    PrivacyConfig    `toml:"privacy"`
	Team       TeamConfig       `toml:"team"`
	Scopes     ScopesConfig     `toml:"scopes"`
	Forget     ForgetConfig     `toml:"forget"`
	Maintain   MaintainConfig   `toml:"maintain"`
	Retention  RetentionConfig  `toml:"retention"`
	Jobs       JobsConfig       `toml:"jobs"`
	Schedule   ScheduleConfig   `toml:"schedule"`
	Budget     BudgetConfig     `toml:"budget"`
	Group      GroupConfig      `toml:"group"`
	HTTP       HTTPConfig       `toml:"http"`
	Log        LogConfig        `toml:"log"`
	Notify     NotifyConfig     `toml:"notify"`
	Webhooks   WebhooksConfig   `toml:"webhooks"`
	Traces     TracesConfig     `toml:"traces"`
	Sentry     SentryConfig     `toml:"sentry"`
	Prompts    PromptsConfig    `toml:"prompts"`

	origins *Provenance // the origin of each value
}

// DatabaseConfig says where the database is. Without URL and URLFile the binary runs its own private cluster.
type DatabaseConfig struct {
	URL              Secret   `toml:"url" check:"database"`
	URLFile          string   `toml:"url_file"`
	MigrateURL       Secret   `toml:"migrate_url" check:"database"`
	MigrateURLFile   string   `toml:"migrate_url_file"`
	BinDir           string   `toml:"bin_dir"`
	DataDir          string   `toml:"data_dir"`
	MaxConns         int      `toml:"max_conns" min:"1" max:"1000"`
	StatementTimeout Duration `toml:"statement_timeout" min:"10ms" max:"24h"`
	LockTimeout      Duration `toml:"lock_timeout" min:"10ms" max:"24h"`
	IdleTimeout      Duration `toml:"idle_timeout" min:"10ms" max:"5m"`
	ReaderRole       string   `toml:"reader_role" empty:"off"`
	ReadTimeout      Duration `toml:"read_timeout" min:"10ms" max:"24h"`
}

// LLMConfig configures the model of all jobs, and the policy of all calls. A job's own section overrides the model:
// see [Config.Generation].
type LLMConfig struct {
	JobConfig
	Recorded string `toml:"recorded"`

	FlexBaseURL  string   `toml:"flex_base_url" check:"url"`
	FlexTimeout  Duration `toml:"flex_timeout" min:"1s" max:"24h"`
	FlexDeadline Duration `toml:"flex_deadline" min:"1s" max:"24h"`
	OffPeak      string   `toml:"off_peak" check:"off_peak"`

	Attempts          int      `toml:"attempts" min:"1" max:"20"`
	RequestsPerMinute int      `toml:"requests_per_minute" min:"0"`
	TokensPerMinute   int      `toml:"tokens_per_minute" min:"0"`
	BreakerFailures   int      `toml:"breaker_failures" min:"1" max:"1000"`
	BreakerDelay      Duration `toml:"breaker_delay" min:"1ms" max:"24h"`

	BatchDeadline Duration `toml:"batch_deadline" min:"1s" max:"72h"`
	BatchPoll     Duration `toml:"batch_poll" min:"10ms" max:"1h"`
	BatchTokens   int      `toml:"batch_tokens" min:"0"`
	Prices        []string `toml:"prices" check:"price"`

	Evolve  JobConfig `toml:"evolve"`
	Compare JobConfig `toml:"compare"`
	Observe JobConfig `toml:"observe"`

	Extract   JobConfig `toml:"extract"`
	Dream     JobConfig `toml:"dream"`
	Summarize JobConfig `toml:"summarize"`
}

// JobConfig is a model and its endpoint. In the section of one use, zero fields are as in [llm].
type JobConfig struct {
	Provider        string   `toml:"provider" options:"gemini|openai|anthropic|offline|recorded"`
	BaseURL         string   `toml:"base_url" check:"url"`
	APIKey          Secret   `toml:"api_key"`
	APIKeyFile      string   `toml:"api_key_file"`
	Model           string   `toml:"model"`
	Timeout         Duration `toml:"timeout" min:"10ms" max:"1h"`
	ServiceTier     string   `toml:"service_tier" options:"standard|flex"`
	Temperature     *float64 `toml:"temperature" min:"0" max:"2"`
	MaxOutputTokens int      `toml:"max_output_tokens" min:"16" max:"1000000"`
	ContextTokens   int      `toml:"context_tokens" min:"1024" max:"10000000"`
	Lines           string   `toml:"lines" options:"free|schema|grammar"`
	Prompts         string   `toml:"prompts" options:"auto|full|small"`
}

// EmbedConfig is the embedding model: see [Config.Embedding].
type EmbedConfig struct {
	Provider   string   `toml:"provider" options:"gemini|openai|offline|local"`
	BaseURL    string   `toml:"base_url" check:"url"`
	APIKey     Secret   `toml:"api_key"`
	APIKeyFile string   `toml:"api_key_file"`
	Model      string   `toml:"model"`
	Dimensions int      `toml:"dimensions" min:"0" max:"16000"`
	Timeout    Duration `toml:"timeout" min:"10ms" max:"1h"`
	Batch      int      `toml:"batch" min:"1" max:"2048"`
	Floor      float64  `toml:"floor" min:"-1" max:"1"`
	Ceiling    float64  `toml:"ceiling" min:"-1" max:"1"`
}

// EvolveConfig bounds the evolve job.
type EvolveConfig struct {
	MaxMessages    int     `toml:"max_messages" min:"1" max:"2000"`
	MaxInputTokens int     `toml:"max_input_tokens" min:"1000" max:"1000000"`
	MaxCreates     int     `toml:"max_creates" min:"1" max:"1000"`
	MaxActive      int     `toml:"max_active" min:"1" max:"1000"`
	Target         int     `toml:"target" min:"1" max:"1000"`
	HoldRatio      float64 `toml:"hold_ratio" min:"0" max:"1"`
	HoldMin        int     `toml:"hold_min" min:"0" max:"1000"`
	ContextLimit   int     `toml:"context_limit" min:"0" max:"2000"`
}

// DecideConfig bounds the comparison of new facts with memories.
type DecideConfig struct {
	Enabled           bool    `toml:"enabled"`
	CandidateTopK     int     `toml:"candidate_top_k" min:"1" max:"50"`
	CandidateMinScore float64 `toml:"candidate_min_score" min:"0" max:"1"`
	FallbackMode      string  `toml:"fallback_mode" options:"add|skip|hold" empty:"no"`
	CompareShown      bool    `toml:"compare_shown"`
	MaxCalls          int     `toml:"max_calls" min:"1" max:"10000"`
}

// ImpressionConfig bounds the impression job.
type ImpressionConfig struct {
	Enabled        bool     `toml:"enabled"`
	MaxSubjects    int      `toml:"max_subjects" min:"1" max:"100"`
	MaxMessages    int      `toml:"max_messages" min:"1" max:"10000"`
	MaxInputTokens int      `toml:"max_input_tokens" min:"1000" max:"1000000"`
	MinConfidence  float64  `toml:"min_confidence" min:"0" max:"1"`
	MinEvidence    int      `toml:"min_evidence" min:"1" max:"100"`
	ExpireAfter    Duration `toml:"expire_after" min:"1h" max:"87600h"`
}

// IngestConfig says which messages of a chat models see.
type IngestConfig struct {
	Commands   []string `toml:"commands"`
	Bots       string   `toml:"bots" options:"filter|assistant|user" empty:"no"`
	Assistants []string `toml:"assistants"`
}

// SessionConfig says how messages are grouped into sessions, and when sessions are extracted.
type SessionConfig struct {
	Silence        Duration `toml:"silence" min:"1m" max:"720h"`
	Tokens         int      `toml:"tokens" min:"0" max:"1000000"`
	ToolCalls      int      `toml:"tool_calls" min:"0" max:"100000"`
	Turns          int      `toml:"turns" min:"0" max:"100000"`
	Idle           Duration `toml:"idle" min:"0s" max:"8760h"`
	MaxMessages    int      `toml:"max_messages" min:"1" max:"2000"`
	MaxInputTokens int      `toml:"max_input_tokens" min:"1000" max:"1000000"`
	MaxFacts       int      `toml:"max_facts" min:"1" max:"100"`
	MaxActive      int      `toml:"max_active" min:"1" max:"1000"`
	MinConfidence  float64  `toml:"min_confidence" min:"0" max:"1"`
	AutoTag        bool     `toml:"auto_tag"`
}

// ShortTermConfig says how the size of short-term memory is limited.
type ShortTermConfig struct {
	MaxItems             int      `toml:"max_items" min:"1" max:"1000"`
	CompressionThreshold int      `toml:"compression_threshold" min:"0" max:"10000"`
	TriggerTokens        int      `toml:"trigger_tokens" min:"0" max:"1000000"`
	ExpireAfter          Duration `toml:"expire_after" min:"0s" max:"87600h"`
}

// DreamConfig says when groups dream, and bounds a dream.
type DreamConfig struct {
	Idle           Duration `toml:"idle" min:"0s" max:"8760h"`
	Sessions       int      `toml:"sessions" min:"0" max:"10000"`
	Interval       Duration `toml:"interval" min:"0s" max:"8760h"`
	MaxInputTokens int      `toml:"max_input_tokens" min:"4000" max:"1000000"`
	MaxItems       int      `toml:"max_items" min:"1" max:"100"`
	MaxActive      int      `toml:"max_active" min:"1" max:"1000"`
	MinConfidence  float64  `toml:"min_confidence" min:"0" max:"1"`
	HoldRatio      float64  `toml:"hold_ratio" min:"0" max:"1"`
	HoldMin        int      `toml:"hold_min" min:"0" max:"1000"`
}

// RecallConfig says what a context contains.
type RecallConfig struct {
	FirstRoundEmpty   bool     `toml:"first_round_empty"`
	MinQueryLength    int      `toml:"min_query_length" min:"0" max:"1000"`
	LongTermTrigger   string   `toml:"long_term_trigger" options:"always|keywords|semantic|never" empty:"no"`
	TriggerKeywords   []string `toml:"trigger_keywords" check:"keyword"`
	SemanticThreshold float64  `toml:"semantic_threshold" min:"0" max:"1"`
	MinSimilarity     float64  `toml:"min_similarity" min:"0" max:"1"`
	HalfLife          Duration `toml:"half_life" min:"1h" max:"876000h"`
	Kinds             []string `toml:"kinds" check:"kind" empty:"no"`
	ShortTermCount    int      `toml:"short_term_count" min:"0" max:"1000"`
	MaxReturn         int      `toml:"max_return" min:"0" max:"1000"`
	MaxEntities       int      `toml:"max_entities" min:"0" max:"100"`
	Messages          int      `toml:"messages" min:"0" max:"100"`
	MaxTokens         int      `toml:"max_tokens" min:"100" max:"1000000"`
	EmbedTimeout      Duration `toml:"embed_timeout" min:"10ms" max:"1h"`
}

// FeedbackConfig says how answers change weights.
type FeedbackConfig struct {
	Threshold        float64 `toml:"threshold" min:"0" max:"1"`
	Embeddings       bool    `toml:"embeddings"`
	WeightReferenced float64 `toml:"weight_referenced" min:"0" max:"2"`
	WeightIgnored    float64 `toml:"weight_ignored" min:"-2" max:"0"`
	MinWeight        float64 `toml:"min_weight" min:"0" max:"2"`
	MaxWeight        float64 `toml:"max_weight" min:"0" max:"2"`
}

// PrivacyConfig says what may become memory.
type PrivacyConfig struct {
	PII string `toml:"pii" options:"allow|mask|refuse" empty:"no"`
}

// TeamConfig says which team the groups of this deployment belong to, and with whom it
// is shared.
type TeamConfig struct {
	Name       string   `toml:"name" check:"team"`
	Deployment string   `toml:"deployment"`
	Recall     bool     `toml:"recall"`
	Remote     string   `toml:"remote" check:"url"`
	Token      Secret   `toml:"token"`
	TokenFile  string   `toml:"token_file"`
	Quotes     bool     `toml:"quotes"`
	Timeout    Duration `toml:"timeout" min:"100ms" max:"10m"`
	AllowHTTP  bool     `toml:"allow_http"`
}

// ScopesConfig sets the reach of facts.
type ScopesConfig struct {
	SelfFacts string `toml:"self_facts" options:"group|person" empty:"no"`
}

// ForgetConfig says after how many silent active nights memories are stale.
type ForgetConfig struct {
	HabitNights     int     `toml:"habit_nights" min:"1" max:"10000"`
	HabitGaps       float64 `toml:"habit_gaps" min:"0" max:"100"`
	PlanNights      int     `toml:"plan_nights" min:"1" max:"10000"`
	OpinionNights   int     `toml:"opinion_nights" min:"1" max:"10000"`
	TentativeNights int     `toml:"tentative_nights" min:"1" max:"10000"`
}

// MaintainConfig says what maintenance archives, and how.
type MaintainConfig struct {
	ArchiveThreshold float64  `toml:"archive_threshold" min:"0" max:"1"`
	ClosedAfter      Duration `toml:"closed_after" min:"0s" max:"87600h"`
	Batch            int      `toml:"batch" min:"1" max:"10000"`
}

// RetentionConfig says how long texts are kept.
type RetentionConfig struct {
	Messages Duration `toml:"messages" min:"0s" max:"876000h"`
	Answers  Duration `toml:"answers" min:"0s" max:"876000h"`
	UsageLog Duration `toml:"usage_log" min:"0s" max:"876000h"`
}

// GroupConfig has the initial settings of a group.
type GroupConfig struct {
	DayBoundary string `toml:"day_boundary" check:"clock" empty:"no"`
	TimeZone    string `toml:"time_zone" check:"zone" empty:"no"`
	Language    string `toml:"language" options:"zh|en"`
}

// LogConfig says what is logged, and how.
type LogConfig struct {
	Level  string `toml:"level" options:"debug|info|warn|error" empty:"no"`
	Format string `toml:"format" options:"text|json" empty:"no"`
}

// NotifyConfig says who is notified of held plans and failures.
type NotifyConfig struct {
	Webhook     Secret `toml:"webhook" check:"url"`
	WebhookFile string `toml:"webhook_file"`
	Secret      Secret `toml:"secret"`
	SecretFile  string `toml:"secret_file"`
}

// WebhooksConfig says how events are sent.
type WebhooksConfig struct {
	AllowPrivate bool     `toml:"allow_private"`
	Timeout      Duration `toml:"timeout" min:"100ms" max:"60s"`
	GiveUp       Duration `toml:"give_up" min:"1s" max:"8760h"`
	Keep         Duration `toml:"keep" min:"1s" max:"8760h"`
}

// PromptsConfig selects the prompts.
type PromptsConfig struct {
	Dir      string         `toml:"dir"`
	Langfuse LangfuseConfig `toml:"langfuse"`
}

// LangfuseConfig says where prompts are stored remotely.
type LangfuseConfig struct {
	BaseURL       string   `toml:"base_url" check:"url"`
	PublicKey     string   `toml:"public_key"`
	SecretKey     Secret   `toml:"secret_key"`
	SecretKeyFile string   `toml:"secret_key_file"`
	Label         string   `toml:"label" empty:"no"`
	Timeout       Duration `toml:"timeout" min:"10ms" max:"1m"`
}

// JobsConfig says how jobs work on many groups.
type JobsConfig struct {
	Concurrency   int      `toml:"concurrency" min:"1" max:"1000"`
	MissedNights  int      `toml:"missed_nights" min:"1" max:"3650"`
	ParkAfter     int      `toml:"park_after" min:"1" max:"1000"`
	RetryAfter    Duration `toml:"retry_after" min:"0s" max:"168h"`
	MaxRetryAfter Duration `toml:"max_retry_after" min:"0s" max:"168h"`
	Grace         Duration `toml:"grace" min:"0s" max:"1h"`
	ConfirmUSD    float64  `toml:"confirm_usd" min:"0"`
}

// ScheduleConfig says when the daemon starts each job.
type ScheduleConfig struct {
	Evolve   string `toml:"evolve" check:"schedule"`
	Extract  string `toml:"extract" check:"schedule"`
	Dream    string `toml:"dream" check:"schedule"`
	Maintain string `toml:"maintain" check:"schedule"`
	Batch    bool   `toml:"batch"`
}

// BudgetConfig bounds the spend.
type BudgetConfig struct {
	CallsPerRun  int     `toml:"calls_per_run" min:"0"`
	TokensPerRun int     `toml:"tokens_per_run" min:"0"`
	USDPerRun    float64 `toml:"usd_per_run" min:"0"`
	CallsPerDay  int     `toml:"calls_per_day" min:"0"`
	TokensPerDay int     `toml:"tokens_per_day" min:"0"`
	USDPerDay    float64 `toml:"usd_per_day" min:"0"`
}

// HTTPConfig says where serve and the daemon listen, and limits clients.
type HTTPConfig struct {
	Listen            string   `toml:"listen"`
	RequireToken      bool     `toml:"require_token"`
	HTTPS             bool     `toml:"https"`
	RequestTimeout    Duration `toml:"request_timeout" min:"100ms" max:"10m"`
	EvolveWait        Duration `toml:"evolve_wait" min:"0s" max:"10m"`
	MaxBody           int      `toml:"max_body" min:"1024" max:"1073741824"`
	MaxMessagesBody   int      `toml:"max_messages_body" min:"1024" max:"1073741824"`
	RequestsPerSecond float64  `toml:"requests_per_second" min:"0"`
	MCP               bool     `toml:"mcp"`
	MCPWrite          bool     `toml:"mcp_write"`
	PageSession       Duration `toml:"page_session" min:"1m" max:"720h"`
}

// TracesConfig says where traces are sent.
type TracesConfig struct {
	Endpoint    string  `toml:"endpoint" check:"url"`
	Headers     Secret  `toml:"headers"`
	HeadersFile string  `toml:"headers_file"`
	Ratio       float64 `toml:"ratio" min:"0" max:"1"`
}

// SentryConfig says where errors of runs are sent.
type SentryConfig struct {
	DSN         Secret `toml:"dsn"`
	DSNFile     string `toml:"dsn_file"`
	Environment string `toml:"environment"`
}
