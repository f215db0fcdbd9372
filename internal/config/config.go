// Package config reads the settings: flags over environment over file over defaults.
package config

// Config is every setting of the binary. Each leaf is one setting: its path is
// the section and the toml tag ([llm.evolve] model is "llm.evolve.model"), its
// environment name follows from the path (REVERIE_LLM_EVOLVE_MODEL). The tags
// say the rest:
//
//   - default: the value when nobody sets it, in the environment's spelling
//   - comment: what it means, its unit and its choices; a section's own too
//   - options: the values that are allowed, besides empty, between bars
//   - min, max: the range that is allowed
//   - empty: "no" where the empty string is no value
//
// A field of type [Secret] is never shown whole, and may be read from the file
// that its twin with the suffix _file names.
type Config struct {
	Database   DatabaseConfig   `toml:"database" comment:"Where memories are stored: PostgreSQL 15 or later with pgvector."`
	LLM        LLMConfig        `toml:"llm" comment:"The model that decides what to remember."`
	Embed      EmbedConfig      `toml:"embed" comment:"The model that turns statements into vectors for search. What is left empty follows [llm] where that provider has embeddings (openai, gemini, offline). A model's vectors are never compared with another's."`
	Evolve     EvolveConfig     `toml:"evolve" comment:"How one run treats one group."`
	Decide     DecideConfig     `toml:"decide" comment:"How a new fact is held against what is remembered, so that nothing is stored twice: the exact text first, then the nearest memories, which [llm.compare] compares with it in one call."`
	Impression ImpressionConfig `toml:"impression" comment:"Who is who: people and things, by what they say and what is said of them, from the messages that evolve has taken in."`
	Ingest     IngestConfig     `toml:"ingest" comment:"Messages in: reverie import, pull and the HTTP API. What is filtered is stored and counted, and no model sees it. It holds for messages that come in from then on."`
	Session    SessionConfig    `toml:"session" comment:"Sessions: dialogue with a session id, or cut by silence. reverie extract reads what a session has gathered since it was last read: its lasting facts and a summary become memories of kind session. A limit of 0 is off."`
	ShortTerm  ShortTermConfig  `toml:"short_term" comment:"What a bot is told of the session under way: the newest turns word for word, the older ones folded into a summary by reverie extract."`
	Dream      DreamConfig      `toml:"dream" comment:"Dreams: what sessions and nights have left, condensed into a narrative, preferences, themes and open threads: reverie dream. A group may have limits of its own: reverie groups set GROUP --dream-idle 12h."`
	Recall     RecallConfig     `toml:"recall" comment:"What reverie context gives a bot for its next turn. A memory's rank is similarity x weight x strength x recency."`
	Feedback   FeedbackConfig   `toml:"feedback" comment:"What reverie feedback makes of an answer: memories that it used gain weight, those that were offered in vain lose some."`
	Privacy    PrivacyConfig    `toml:"privacy" comment:"Secrets (keys, tokens, passwords, card and identity numbers) never become memory. What of personal data does, is said here."`
	Team       TeamConfig       `toml:"team" comment:"A team's memories, which several groups and deployments share: reverie team."`
	Maintain   MaintainConfig   `toml:"maintain" comment:"How memories fade: reverie maintain. Core memories (weight 1.5 or more) and the narrative of dreams do not."`
	Retention  RetentionConfig  `toml:"retention" comment:"How long texts are kept that nothing needs any more; reverie maintain removes them, and what they are counted in stays. 0s = for ever."`
	Jobs       JobsConfig       `toml:"jobs" comment:"How work on many groups is done: evolve --due, evolve --all, backfill and the daemon."`
	Schedule   ScheduleConfig   `toml:"schedule" comment:"When the daemon (reverie run) starts each job: five fields in UTC, such as 17 * * * *, or @hourly, @daily, @every 90m. Empty or never = not at all."`
	Budget     BudgetConfig     `toml:"budget" comment:"What may be spent on models, embeddings included. What is beyond it stays pending and is done by a later run (exit code 4). 0 = no limit. An answer that is under way when a limit is reached still comes in, and counts."`
	Group      GroupConfig      `toml:"group" comment:"Groups that an import creates; existing ones stay as they are."`
	HTTP       HTTPConfig       `toml:"http" comment:"HTTP: reverie serve answers the API, the operator's page and MCP there; reverie run only /healthz, /readyz and /metrics, unless --listen says otherwise."`
	Log        LogConfig        `toml:"log" comment:"The log, on standard error."`
	Traces     TracesConfig     `toml:"traces" comment:"OpenTelemetry traces over OTLP/HTTP. Langfuse takes them at https://cloud.langfuse.com/api/public/otel with headers Authorization=Basic <base64 of public:secret key>."`
	Sentry     SentryConfig     `toml:"sentry" comment:"Errors of runs, to Sentry."`
	Prompts    PromptsConfig    `toml:"prompts" comment:"The texts that the model is given."`

	origins *Provenance // where each value came from
}

// DatabaseConfig says where the database is. Without URL and URLFile the binary
// runs a private cluster of its own.
type DatabaseConfig struct {
	URL              Secret   `toml:"url" comment:"Connection URL, postgres://user:password@host:5432/name?sslmode=require. Empty = a private PostgreSQL cluster of this user, started on demand."`
	URLFile          string   `toml:"url_file" comment:"File that holds the connection URL instead (a mounted secret)."`
	MigrateURL       Secret   `toml:"migrate_url" comment:"Direct connection URL for migrations, where url goes through a pooler. Empty = url."`
	MigrateURLFile   string   `toml:"migrate_url_file" comment:"File that holds migrate_url instead."`
	BinDir           string   `toml:"bin_dir" comment:"Private cluster: folder of the PostgreSQL programs (initdb, postgres). Empty = found by itself."`
	DataDir          string   `toml:"data_dir" comment:"Private cluster: where it lives. Empty = the user's data folder. REVERIE_DATA_DIR is a short name for it."`
	MaxConns         int      `toml:"max_conns" default:"8" min:"1" max:"1000" comment:"Connections at most."`
	StatementTimeout Duration `toml:"statement_timeout" default:"30s" min:"10ms" max:"24h" comment:"One SQL statement takes at most this long."`
	LockTimeout      Duration `toml:"lock_timeout" default:"10s" min:"10ms" max:"24h" comment:"Waiting for a row lock takes at most this long."`
	IdleTimeout      Duration `toml:"idle_timeout" default:"15s" min:"10ms" max:"5m" comment:"A transaction in which nothing is said for this long (its process stands still, or its network is gone) is ended by the server, with its locks. Until then nobody takes its group over."`
	ReaderRole       string   `toml:"reader_role" default:"reverie_reader" comment:"Role that the API reads under, confined to one group by row-level security; see docs/security.md. Empty = the connection's own."`
	ReadTimeout      Duration `toml:"read_timeout" default:"60s" min:"10ms" max:"24h" comment:"A connection that stays silent for this long is dead. Must be longer than statement_timeout, and than idle_timeout and lock_timeout together."`
}

// LLMConfig is the model of all jobs, and the policy of all calls. A job's own
// section overrides the model: see [Config.generation].
type LLMConfig struct {
	Provider        string   `toml:"provider" options:"gemini|openai|anthropic|offline|recorded" comment:"gemini, openai (also Ollama, vLLM, DeepSeek, Qwen and the like, by base_url), anthropic, offline: a simple extractive baseline without network or key, or recorded: answers from a file, see recorded. Empty = none, or openai where base_url is set."`
	BaseURL         string   `toml:"base_url" comment:"Address of the API, such as http://localhost:11434/v1. Empty = the provider's own."`
	APIKey          Secret   `toml:"api_key" comment:"The provider's key. Better kept in the environment or in a file. Optional for openai with a base_url."`
	APIKeyFile      string   `toml:"api_key_file" comment:"File that holds the key instead."`
	Model           string   `toml:"model" comment:"Empty = the provider's default: gemini-2.5-flash, gpt-5-mini, claude-haiku-4-5, offline-extractive-v1."`
	Recorded        string   `toml:"recorded" comment:"File of recorded answers that the provider recorded plays, as in examples/demo. A question that it has no answer to is an error."`
	Timeout         Duration `toml:"timeout" default:"120s" min:"10ms" max:"1h" comment:"One call takes at most this long."`
	Temperature     *float64 `toml:"temperature" min:"0" max:"2" comment:"A number from 0 to 2. Empty = not sent: some models refuse it."`
	MaxOutputTokens int      `toml:"max_output_tokens" default:"8192" min:"16" max:"1000000" comment:"Length of one answer at most, a model's thinking included."`

	Attempts          int      `toml:"attempts" default:"4" min:"1" max:"20" comment:"How often a call is tried when it fails for a passing reason (429, 5xx, timeout)."`
	RequestsPerMinute int      `toml:"requests_per_minute" default:"0" min:"0" comment:"Requests a minute at most. 0 = no limit."`
	TokensPerMinute   int      `toml:"tokens_per_minute" default:"0" min:"0" comment:"Tokens a minute at most, input and output together. 0 = no limit."`
	BreakerFailures   int      `toml:"breaker_failures" default:"5" min:"1" max:"1000" comment:"After this many failures in a row no call is sent for breaker_delay."`
	BreakerDelay      Duration `toml:"breaker_delay" default:"30s" min:"1ms" max:"24h" comment:"How long to leave a failing provider alone."`
	Prices            []string `toml:"prices" default:"gemini-2.5-flash=0.30/2.50,gpt-5-mini=0.25/2.00,claude-haiku-4-5=1.00/5.00,text-embedding-3-small=0.02,gemini-embedding-001=0.15" comment:"USD per million tokens, model=input/output, or model=input for embeddings. The defaults are list prices of July 2026. A list of your own replaces them; models that are not in it cost 0 in the ledger. In the environment: separated by commas."`

	Evolve  JobConfig `toml:"evolve" comment:"Overrides [llm] for the evolve job. A provider or a base_url of its own brings its own key: the key of [llm] is not sent to another host."`
	Compare JobConfig `toml:"compare" comment:"Overrides [llm] where a new fact is compared with memories ([decide]). A light model will do."`
	Observe JobConfig `toml:"observe" comment:"Overrides [llm] where people and things are observed ([impression])."`

	Extract   JobConfig `toml:"extract" comment:"Overrides [llm] where sessions are extracted ([session])."`
	Dream     JobConfig `toml:"dream" comment:"Overrides [llm] where groups dream ([dream])."`
	Summarize JobConfig `toml:"summarize" comment:"Overrides [llm] where older turns are folded into a summary ([short_term]). A light model will do."`
}

// JobConfig overrides [LLMConfig] for one use. What is zero is as in [llm].
type JobConfig struct {
	Provider        string   `toml:"provider" options:"gemini|openai|anthropic|offline|recorded" comment:"Empty = as [llm]."`
	BaseURL         string   `toml:"base_url" comment:"Empty = as [llm], or the provider's own where provider differs."`
	APIKey          Secret   `toml:"api_key" comment:"Empty = as [llm], where the provider and the host are the same."`
	APIKeyFile      string   `toml:"api_key_file" comment:"File that holds the key instead."`
	Model           string   `toml:"model" comment:"Empty = as [llm], or the provider's default where provider or host differ."`
	Timeout         Duration `toml:"timeout" min:"10ms" max:"1h" comment:"Empty = as [llm]."`
	Temperature     *float64 `toml:"temperature" min:"0" max:"2" comment:"Empty = as [llm]."`
	MaxOutputTokens int      `toml:"max_output_tokens" min:"16" max:"1000000" comment:"0 = as [llm]."`
}

// EmbedConfig is the embedding model: see [Config.embedding].
type EmbedConfig struct {
	Provider   string   `toml:"provider" options:"gemini|openai|offline" comment:"gemini, openai, or offline (hashed character n-grams). Empty = as [llm]; anthropic has no embeddings."`
	BaseURL    string   `toml:"base_url" comment:"Empty = as [llm] where the provider is the same, or the provider's own."`
	APIKey     Secret   `toml:"api_key" comment:"Empty = as [llm] where the provider and the host are the same."`
	APIKeyFile string   `toml:"api_key_file" comment:"File that holds the key instead."`
	Model      string   `toml:"model" comment:"Empty = the provider's default: text-embedding-3-small, gemini-embedding-001, offline-ngram-v1."`
	Dimensions int      `toml:"dimensions" default:"1536" min:"0" max:"16000" comment:"Width of a vector. Once set, a model that answers another width is an error. Unset or 0 = 1536 is asked for and the model's own width accepted."`
	Timeout    Duration `toml:"timeout" default:"60s" min:"10ms" max:"1h" comment:"One call takes at most this long."`
	Batch      int      `toml:"batch" default:"100" min:"1" max:"2048" comment:"Texts of one call at most."`
	Floor      float64  `toml:"floor" default:"0" min:"-1" max:"1" comment:"Cosine of unrelated texts: score 0. With floor and ceiling both 0, what is known of the model."`
	Ceiling    float64  `toml:"ceiling" default:"0" min:"-1" max:"1" comment:"Cosine of the same fact in other words: score 1."`
}

// EvolveConfig bounds the evolve job.
type EvolveConfig struct {
	MaxMessages    int      `toml:"max_messages" default:"200" min:"1" max:"2000" comment:"Messages of one chunk at most. More become more chunks; none is left out."`
	MaxInputTokens int      `toml:"max_input_tokens" default:"24000" min:"1000" max:"1000000" comment:"Tokens of one chunk's input at most."`
	MaxCreates     int      `toml:"max_creates" default:"20" min:"1" max:"1000" comment:"New memories of one run at most."`
	MaxActive      int      `toml:"max_active" default:"60" min:"1" max:"1000" comment:"A group with this many active memories gets no new ones."`
	Target         int      `toml:"target" default:"30" min:"1" max:"1000" comment:"Active memories to aim for; beyond it the model is asked to merge. At most max_active."`
	StaleAfter     Duration `toml:"stale_after" default:"504h" min:"1h" max:"87600h" comment:"A memory that nothing has supported for this long may be deleted without a quote; counted back from the window's end. 21 days are 504h."`
	HoldRatio      float64  `toml:"hold_ratio" default:"0.2" min:"0" max:"1" comment:"A plan whose deletes and rewrites exceed this part of the active memories, and hold_min, is held for a person."`
	HoldMin        int      `toml:"hold_min" default:"2" min:"0" max:"1000" comment:"So many deletes and rewrites are never held by hold_ratio."`
	ContextLimit   int      `toml:"context_limit" default:"200" min:"0" max:"2000" comment:"Messages shown again by --days at most."`
}

// DecideConfig bounds the comparison of new facts with memories.
type DecideConfig struct {
	Enabled           bool    `toml:"enabled" default:"true" comment:"true or false. Off, a fact is known again by its exact text alone, and nothing is compared."`
	CandidateTopK     int     `toml:"candidate_top_k" default:"5" min:"1" max:"50" comment:"Memories that one fact is compared with at most, the nearest first."`
	CandidateMinScore float64 `toml:"candidate_min_score" default:"0.70" min:"0" max:"1" comment:"How near a memory must come to be compared: similarity from 0 to 1, calibrated by [embed] floor and ceiling."`
	FallbackMode      string  `toml:"fallback_mode" default:"add" options:"add|skip|hold" empty:"no" comment:"What becomes of a fact whose comparison fails twice: add, skip, or hold for a person."`
	CompareShown      bool    `toml:"compare_shown" default:"false" comment:"true or false: whether evolve compares a fact also with the memories that the model had before it when it wrote the fact. Costs about one more call for each new fact."`
	MaxCalls          int     `toml:"max_calls" default:"40" min:"1" max:"10000" comment:"Questions of one run at most; beyond it fallback_mode applies."`
}

// ImpressionConfig bounds the impression job.
type ImpressionConfig struct {
	Enabled        bool     `toml:"enabled" default:"false" comment:"true or false, for the groups that do not say otherwise: reverie groups set GROUP --impressions on|off|default. Costs about one call for each max_subjects people and things that were active in a night."`
	MaxSubjects    int      `toml:"max_subjects" default:"8" min:"1" max:"100" comment:"People and things of one question at most. More become more questions; none is left out."`
	MaxMessages    int      `toml:"max_messages" default:"1000" min:"1" max:"10000" comment:"Messages of one chunk at most. More become more chunks; none is left out."`
	MaxInputTokens int      `toml:"max_input_tokens" default:"12000" min:"1000" max:"1000000" comment:"Tokens of one question at most."`
	MinConfidence  float64  `toml:"min_confidence" default:"0.6" min:"0" max:"1" comment:"What the model is less sure of than this, from 0 to 1, is dropped."`
	MinEvidence    int      `toml:"min_evidence" default:"2" min:"1" max:"100" comment:"Messages that must speak of somebody who does not write in the group, or of a thing, before it is kept. Until then what was said waits."`
	ExpireAfter    Duration `toml:"expire_after" default:"720h" min:"1h" max:"87600h" comment:"How long it waits at most, counted from its newest message. 30 days are 720h."`
}

// IngestConfig says what of a chat is shown to models.
type IngestConfig struct {
	Commands   []string `toml:"commands" default:"/,!" comment:"Messages that begin with one of these and a letter are commands to a bot, and are filtered. Empty = none are."`
	Bots       string   `toml:"bots" default:"filter" options:"filter|assistant|user" empty:"no" comment:"What programs are that write in a chat, as its export or platform marks them: filter, assistant (their words are context and never evidence) or user."`
	Assistants []string `toml:"assistants" comment:"Ids or names of those that are the group's own assistant, whatever bots says."`
}

// SessionConfig says how messages make sessions, and when those are extracted.
type SessionConfig struct {
	Silence        Duration `toml:"silence" default:"30m" min:"1m" max:"720h" comment:"Messages without a session id begin a new session after this long a silence, in the groups that do not say otherwise: reverie groups set GROUP --session-silence 45m. For messages that come in from then on."`
	Tokens         int      `toml:"tokens" default:"12000" min:"0" max:"1000000" comment:"A session is extracted when this many tokens have come since the last time."`
	ToolCalls      int      `toml:"tool_calls" default:"24" min:"0" max:"100000" comment:"Or this many tool calls."`
	Turns          int      `toml:"turns" default:"5" min:"0" max:"100000" comment:"Or this many turns: what users say, and the answer to it."`
	Idle           Duration `toml:"idle" default:"0s" min:"0s" max:"8760h" comment:"Or anything at all, and then silence for this long. 0s = off."`
	MaxMessages    int      `toml:"max_messages" default:"200" min:"1" max:"2000" comment:"Messages of one chunk at most. More become more chunks; none is left out."`
	MaxInputTokens int      `toml:"max_input_tokens" default:"24000" min:"1000" max:"1000000" comment:"Tokens of one chunk's input at most."`
	MaxFacts       int      `toml:"max_facts" default:"10" min:"1" max:"100" comment:"Facts of one chunk at most: the surest."`
	MinConfidence  float64  `toml:"min_confidence" default:"0.6" min:"0" max:"1" comment:"What the model is less sure of than this, from 0 to 1, is dropped."`
	AutoTag        bool     `toml:"auto_tag" default:"true" comment:"true or false: whether facts are tagged with their type (fact, preference, project) and the model's own tags."`
}

// ShortTermConfig says how short-term memory is kept short.
type ShortTermConfig struct {
	MaxItems             int      `toml:"max_items" default:"6" min:"1" max:"1000" comment:"Turns that always stay word for word."`
	CompressionThreshold int      `toml:"compression_threshold" default:"12" min:"0" max:"10000" comment:"When more turns than this stand word for word, all but max_items are folded into the summary. 0 = off."`
	TriggerTokens        int      `toml:"trigger_tokens" default:"6000" min:"0" max:"1000000" comment:"The same when they have more tokens than this. 0 = off."`
	ExpireAfter          Duration `toml:"expire_after" default:"168h" min:"0s" max:"87600h" comment:"A session that is silent for this long has no short-term memory any more. 0s = never. 7 days are 168h."`
}

// DreamConfig says when groups dream, and bounds a dream.
type DreamConfig struct {
	Idle           Duration `toml:"idle" default:"24h" min:"0s" max:"8760h" comment:"A group dreams when one of its sessions has been silent for this long. 0s = off."`
	Sessions       int      `toml:"sessions" default:"10" min:"0" max:"10000" comment:"Or when this many sessions have ended since the last dream. 0 = off."`
	Interval       Duration `toml:"interval" default:"1h" min:"0s" max:"8760h" comment:"At least this long after the last dream of the group."`
	MaxInputTokens int      `toml:"max_input_tokens" default:"24000" min:"4000" max:"1000000" comment:"Tokens of one question at most. More material becomes more questions, and one that combines the answers; none is left out."`
	MaxItems       int      `toml:"max_items" default:"12" min:"1" max:"100" comment:"Preferences, themes and open threads of one dream at most: the surest."`
	MaxActive      int      `toml:"max_active" default:"60" min:"1" max:"1000" comment:"And that a group remembers at a time. New ones beyond are refused."`
	MinConfidence  float64  `toml:"min_confidence" default:"0.6" min:"0" max:"1" comment:"What the model is less sure of than this, from 0 to 1, is dropped."`
	HoldRatio      float64  `toml:"hold_ratio" default:"0.1" min:"0" max:"1" comment:"A dream that would rewrite or delete more than this share of the group's active memories is held for a person. Closing what is done does not count."`
	HoldMin        int      `toml:"hold_min" default:"1" min:"0" max:"1000" comment:"But this many always pass."`
}

// RecallConfig says what a bot is given for its next turn.
type RecallConfig struct {
	FirstRoundEmpty   bool     `toml:"first_round_empty" default:"false" comment:"true or false: whether a session is given nothing before its first answer."`
	MinQueryLength    int      `toml:"min_query_length" default:"2" min:"0" max:"1000" comment:"No memories are looked up for a query with fewer letters and digits than this. A Chinese character is one."`
	LongTermTrigger   string   `toml:"long_term_trigger" default:"always" options:"always|keywords|semantic|never" empty:"no" comment:"When memories are looked up: always, keywords (where the query has one of trigger_keywords), semantic (where some memory scores semantic_threshold), or never."`
	TriggerKeywords   []string `toml:"trigger_keywords" default:"remember,recall,last time,previously,before,earlier,again,as usual,my ,记得,记不记得,还记得,上次,之前,以前,曾经,老样子,我的,我们的" comment:"Case, width and traditional or simplified characters make no difference."`
	SemanticThreshold float64  `toml:"semantic_threshold" default:"0.35" min:"0" max:"1" comment:"For the trigger semantic: similarity, calibrated by [embed] floor and ceiling."`
	MinSimilarity     float64  `toml:"min_similarity" default:"0.1" min:"0" max:"1" comment:"Memories less similar to the query than this are not ranked."`
	HalfLife          Duration `toml:"half_life" default:"2160h" min:"1h" max:"876000h" comment:"After this long without support a memory's recency has gone half of the way from 1 to its least, 0.5. 90 days are 2160h."`
	Kinds             []string `toml:"kinds" default:"group,session,dream,team" comment:"Kinds of memory that are recalled."`
	ShortTermCount    int      `toml:"short_term_count" default:"12" min:"0" max:"1000" comment:"Newest turns of the session that are given word for word, as far as max_tokens allows. Fewer than [short_term] compression_threshold leave turns that neither they nor the summary tell. 0 = no short-term memory."`
	MaxReturn         int      `toml:"max_return" default:"8" min:"0" max:"1000" comment:"Memories that are given at most."`
	MaxEntities       int      `toml:"max_entities" default:"3" min:"0" max:"100" comment:"People and things that the query names and of whom something is given."`
	MaxTokens         int      `toml:"max_tokens" default:"2000" min:"100" max:"1000000" comment:"Tokens of the whole text at most."`
	EmbedTimeout      Duration `toml:"embed_timeout" default:"10s" min:"10ms" max:"1h" comment:"How long a bot waits for the vector of its query; then it is given the rest, without memories. What was asked before has its vector in the database."`
}

// FeedbackConfig says how answers move weights.
type FeedbackConfig struct {
	Threshold        float64 `toml:"threshold" default:"0.5" min:"0" max:"1" comment:"How much of what a memory says, and the query does not, an answer must repeat to have used it."`
	Embeddings       bool    `toml:"embeddings" default:"false" comment:"true or false: whether meaning counts, too, by the model of [embed]. Costs an embedding call for each answer."`
	WeightReferenced float64 `toml:"weight_referenced" default:"0.1" min:"0" max:"2" comment:"Weight that a memory gains when an answer used it."`
	WeightIgnored    float64 `toml:"weight_ignored" default:"-0.02" min:"-2" max:"0" comment:"And when it was offered in vain."`
	MinWeight        float64 `toml:"min_weight" default:"0" min:"0" max:"2" comment:"Feedback lowers no weight below this."`
	MaxWeight        float64 `toml:"max_weight" default:"2" min:"0" max:"2" comment:"And raises none above this."`
}

// PrivacyConfig says what may become memory.
type PrivacyConfig struct {
	PII string `toml:"pii" default:"mask" options:"allow|mask|refuse" empty:"no" comment:"E-mail addresses and phone numbers in statements and quotes: allow, mask ([pii:email] stands in their place), or refuse the statement."`
}

// TeamConfig says which team the groups of this deployment belong to, and with whom it
// is shared.
type TeamConfig struct {
	Name       string   `toml:"name" comment:"Team of the groups that do not say otherwise: reverie groups set GROUP --team NAME|off|default. Empty = none."`
	Deployment string   `toml:"deployment" comment:"What this deployment is called in what others see. Empty = an id of its own."`
	Recall     bool     `toml:"recall" default:"true" comment:"true or false: whether searches and contexts of a group include its team's memories."`
	Remote     string   `toml:"remote" comment:"Base URL of the Reverie that team push and pull talk to, such as https://reverie.example.com. Empty = none."`
	Token      Secret   `toml:"token" comment:"Token there, of scope write for push and read for pull: reverie token create --group team:NAME --scope write. Better kept in the environment or in a file."`
	TokenFile  string   `toml:"token_file" comment:"File that holds the token instead."`
	Quotes     bool     `toml:"quotes" default:"false" comment:"true or false: whether the quotes that a memory rests on, and who said them, are sent and taken along."`
	Timeout    Duration `toml:"timeout" default:"30s" min:"100ms" max:"10m" comment:"One request takes at most this long."`
	AllowHTTP  bool     `toml:"allow_http" default:"false" comment:"true or false: whether remote may be an http:// address of another machine. The token and the memories then can be read on the way."`
}

// MaintainConfig says how memories fade.
type MaintainConfig struct {
	ArchiveThreshold float64  `toml:"archive_threshold" default:"0.3" min:"0" max:"1" comment:"Memories whose strength or weight is below this are archived: out of recall, and restored by reverie memory restore."`
	DecayAfter       Duration `toml:"decay_after" default:"336h" min:"0s" max:"87600h" comment:"How long after its newest evidence a memory keeps its strength. 14 days are 336h."`
	DreamDecayAfter  Duration `toml:"dream_decay_after" default:"2160h" min:"0s" max:"87600h" comment:"And how long what a dream has left, which is condensed from much that has gone by. 90 days are 2160h."`
	DecayHalfLife    Duration `toml:"decay_half_life" default:"2160h" min:"1h" max:"876000h" comment:"Then its strength halves in this time. 90 days are 2160h."`
	DecayBy          string   `toml:"decay_by" default:"activity" options:"activity|time" empty:"no" comment:"What age is counted up to. activity: the group's newest message, so that a group that rests forgets nothing, and what was imported from years ago is not old at once. time: the clock."`
	ClosedAfter      Duration `toml:"closed_after" default:"168h" min:"0s" max:"87600h" comment:"An open thread that a dream has closed is archived this long after. 0s = never. 7 days are 168h."`
	Batch            int      `toml:"batch" default:"500" min:"1" max:"10000" comment:"Rows of one transaction at most."`
}

// RetentionConfig says how long texts are kept.
type RetentionConfig struct {
	Messages Duration `toml:"messages" default:"0s" min:"0s" max:"876000h" comment:"Texts of messages that every job has read. Their rows stay: they count, and are known when they are imported again."`
	Answers  Duration `toml:"answers" default:"0s" min:"0s" max:"876000h" comment:"What models answered in runs that have ended."`
	UsageLog Duration `toml:"usage_log" default:"0s" min:"0s" max:"876000h" comment:"Which memory was offered when. How often stays."`
}

// GroupConfig is what a group starts with.
type GroupConfig struct {
	DayBoundary string `toml:"day_boundary" default:"00:00" empty:"no" comment:"Local time, HH:MM, at which a group's date begins. 04:00 counts the small hours to the day before."`
	TimeZone    string `toml:"time_zone" default:"UTC" empty:"no" comment:"IANA name, such as Asia/Shanghai. Its midnight divides the nights."`
	Language    string `toml:"language" options:"zh|en" comment:"Language of the memories: zh or en. Empty = that of the messages."`
}

// LogConfig says what is logged, and how.
type LogConfig struct {
	Level  string `toml:"level" default:"warn" options:"debug|info|warn|error" empty:"no" comment:"debug, info, warn or error."`
	Format string `toml:"format" default:"text" options:"text|json" empty:"no" comment:"text or json."`
}

// PromptsConfig says which prompts are used.
type PromptsConfig struct {
	Dir      string         `toml:"dir" comment:"Folder with prompt files that replace the built-in ones of the same name. Empty = the built-in ones."`
	Langfuse LangfuseConfig `toml:"langfuse" comment:"Prompts kept in Langfuse: memory_evolve.en and memory_evolve.zh, and the same of memory_compare, impression_observe, session_extract, session_summarize and dream. Where one cannot be had, a warning is logged and the text above is used."`
}

// LangfuseConfig says where prompts are kept remotely.
type LangfuseConfig struct {
	BaseURL       string   `toml:"base_url" comment:"Such as https://cloud.langfuse.com. Empty = not used."`
	PublicKey     string   `toml:"public_key" comment:"The project's public key."`
	SecretKey     Secret   `toml:"secret_key" comment:"The project's secret key. Better kept in the environment or in a file."`
	SecretKeyFile string   `toml:"secret_key_file" comment:"File that holds the secret key instead."`
	Label         string   `toml:"label" default:"production" empty:"no" comment:"Which version of a prompt is taken."`
	Timeout       Duration `toml:"timeout" default:"5s" min:"10ms" max:"1m" comment:"Fetching one prompt takes at most this long."`
}

// JobsConfig says how work on many groups is done.
type JobsConfig struct {
	Concurrency   int      `toml:"concurrency" default:"16" min:"1" max:"1000" comment:"Questions that a process asks at a time, each about another group. As many groups more are read and written meanwhile."`
	MissedNights  int      `toml:"missed_nights" default:"30" min:"1" max:"3650" comment:"Nights of one group that one run makes up at most, the oldest first; the rest is reported and left for the next run."`
	ParkAfter     int      `toml:"park_after" default:"5" min:"1" max:"1000" comment:"Failed runs in a row after which a group is parked until reverie groups resume."`
	RetryAfter    Duration `toml:"retry_after" default:"30m" min:"0s" max:"168h" comment:"How long a group is left alone after a failed run, doubled with each further one."`
	MaxRetryAfter Duration `toml:"max_retry_after" default:"12h" min:"0s" max:"168h" comment:"But never longer than this."`
	Grace         Duration `toml:"grace" default:"60s" min:"0s" max:"1h" comment:"After a first signal no further group is begun and nothing further is asked, and those under way have this long to finish. Then, or at a second signal, they are stopped; what they have not committed stays pending."`
	ConfirmUSD    float64  `toml:"confirm_usd" default:"1" min:"0" comment:"A backfill whose estimated cost is higher than this needs --yes."`
}

// ScheduleConfig says when the daemon starts what.
type ScheduleConfig struct {
	Evolve   string `toml:"evolve" default:"17 * * * *" comment:"Evolve what is due. Hourly, since each group's date ends in its own time zone."`
	Extract  string `toml:"extract" comment:"Extract the sessions that are due, such as */5 * * * * where bots hand over their dialogue. Costs about one call for each 5 turns or 12,000 tokens."`
	Dream    string `toml:"dream" comment:"Dream where a group has gone quiet or sessions have piled up, such as 29 * * * *. Costs about one call a dream. Dreams rest on what evolve and extract have left."`
	Maintain string `toml:"maintain" default:"41 3 * * *" comment:"Let memories fade, and prune what is kept no longer. No model is asked."`
}

// BudgetConfig bounds what is spent.
type BudgetConfig struct {
	CallsPerRun  int     `toml:"calls_per_run" default:"0" min:"0" comment:"Calls of one command, or of one start of a scheduled job."`
	TokensPerRun int     `toml:"tokens_per_run" default:"0" min:"0" comment:"Tokens of the same, input and output together."`
	USDPerRun    float64 `toml:"usd_per_run" default:"0" min:"0" comment:"USD of the same, by [llm] prices."`
	CallsPerDay  int     `toml:"calls_per_day" default:"0" min:"0" comment:"Calls of all processes on this database since midnight UTC."`
	TokensPerDay int     `toml:"tokens_per_day" default:"0" min:"0" comment:"Tokens of the same."`
	USDPerDay    float64 `toml:"usd_per_day" default:"0" min:"0" comment:"USD of the same."`
}

// HTTPConfig says where serve and the daemon listen, and what a client may ask of them.
type HTTPConfig struct {
	Listen            string   `toml:"listen" default:"127.0.0.1:8470" comment:"Address and port, such as :8470 for all interfaces. Empty = not at all (reverie run)."`
	RequireToken      bool     `toml:"require_token" default:"false" comment:"true or false. While no token was ever created, the API is open to this machine alone, whatever listen says; true has it listen as told and refuse who has no token."`
	HTTPS             bool     `toml:"https" default:"false" comment:"true or false: whether browsers reach the page over https, by a proxy before it. Its cookies then are sent over https alone."`
	RequestTimeout    Duration `toml:"request_timeout" default:"30s" min:"100ms" max:"10m" comment:"One request takes at most this long, evolve and the import of messages apart."`
	EvolveWait        Duration `toml:"evolve_wait" default:"25s" min:"0s" max:"10m" comment:"How long a client waits for a run of evolve that it has asked for; then it is told where to look (202), and the run goes on."`
	MaxBody           int      `toml:"max_body" default:"1048576" min:"1024" max:"1073741824" comment:"Bytes of a request's body at most."`
	MaxMessagesBody   int      `toml:"max_messages_body" default:"67108864" min:"1024" max:"1073741824" comment:"Bytes of one import of messages at most. They are stored as they come in."`
	RequestsPerSecond float64  `toml:"requests_per_second" default:"1000" min:"0" comment:"Requests of one token a second, on average; twice as many at once. 0 = no limit."`
	MCP               bool     `toml:"mcp" default:"true" comment:"true or false: whether agents are answered at /mcp."`
	MCPWrite          bool     `toml:"mcp_write" default:"false" comment:"true or false: whether agents may propose there what is to be remembered or forgotten. A person decides on it."`
	PageSession       Duration `toml:"page_session" default:"12h" min:"1m" max:"720h" comment:"How long a login to the operator's page is good for."`
}

// TracesConfig says where traces go.
type TracesConfig struct {
	Endpoint    string  `toml:"endpoint" comment:"Base URL of the collector, such as http://localhost:4318; /v1/traces is added. Empty = no traces."`
	Headers     Secret  `toml:"headers" comment:"Headers of each request, name=value, separated by commas."`
	HeadersFile string  `toml:"headers_file" comment:"File that holds the headers instead."`
	Ratio       float64 `toml:"ratio" default:"1" min:"0" max:"1" comment:"Share of the runs that are traced."`
}

// SentryConfig says where errors of runs go.
type SentryConfig struct {
	DSN         Secret `toml:"dsn" comment:"The project's DSN. Empty = not used."`
	DSNFile     string `toml:"dsn_file" comment:"File that holds the DSN instead."`
	Environment string `toml:"environment" default:"production" comment:"What Sentry files them under."`
}
