package telemetry

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// The names of all that traces say. Whoever reads them, a dashboard or Langfuse,
// knows them by these.
const (
	// OpenTelemetry, general.
	serviceName    = "service.name"
	serviceVersion = "service.version"
	serverAddress  = "server.address"
	serverPort     = "server.port"
	errorType      = "error.type"

	// OpenTelemetry's conventions for generative AI, as of semconv 1.40; later
	// ones keep them in a document of their own.
	genAIOperation     = "gen_ai.operation.name"
	genAIProvider      = "gen_ai.provider.name"
	genAIModel         = "gen_ai.request.model"
	genAIMaxTokens     = "gen_ai.request.max_tokens"
	genAIFinishReasons = "gen_ai.response.finish_reasons"
	genAIInputTokens   = "gen_ai.usage.input_tokens"
	genAIOutputTokens  = "gen_ai.usage.output_tokens"
	genAIDimensions    = "gen_ai.embeddings.dimension.count"
	genAIPromptName    = "gen_ai.prompt.name"

	// Langfuse, which reads those of a trace from its root span. The version of a
	// prompt is a number there, and links the call to a prompt that it keeps.
	langfuseTraceName       = "langfuse.trace.name"
	langfuseTraceTags       = "langfuse.trace.tags"
	langfuseSession         = "langfuse.session.id"
	langfuseMetadataGroup   = "langfuse.trace.metadata.group_id"
	langfuseMetadataRun     = "langfuse.trace.metadata.run_id"
	langfuseMetadataDate    = "langfuse.trace.metadata.window_date"
	langfuseObservationType = "langfuse.observation.type"
	langfusePromptName      = "langfuse.observation.prompt.name"
	langfusePromptVersion   = "langfuse.observation.prompt.version"

	// Ours.
	reverieJob           = "reverie.job"
	reverieGroup         = "reverie.group_id"
	reverieSession       = "reverie.session_id" // of a run on one session
	reverieRun           = "reverie.run_id"
	reverieStatus        = "reverie.run.status"
	reverieWindowDate    = "reverie.window.date"
	reverieWindowSince   = "reverie.window.since"
	reverieWindowUntil   = "reverie.window.until"
	reveriePromptVersion = "reverie.prompt.version"
	reverieTexts         = "reverie.embeddings.texts"
)

// The operations on models, which begin a span's name, and what Langfuse calls
// their spans.
const (
	operationChat       = "chat"
	operationEmbeddings = "embeddings"
	langfuseGeneration  = "generation"
	langfuseEmbedding   = "embedding"
)

// langfuseVersion begins the version of a prompt that came from Langfuse.
const langfuseVersion = "langfuse:"

// provider says how OpenTelemetry calls one of our providers, and where it is
// unless the operator names an address.
type provider struct{ name, address string }

var providers = map[string]provider{
	"openai":    {"openai", "https://api.openai.com"},
	"gemini":    {"gcp.gemini", "https://generativelanguage.googleapis.com"},
	"anthropic": {"anthropic", "https://api.anthropic.com"},
}

// target are the attributes of any call to a model at an address, which is a URL
// or "" for the provider's own.
func target(operation, providerName, model, address string) []attribute.KeyValue {
	p, known := providers[providerName]
	if !known {
		p.name = providerName
	}
	if address == "" {
		address = p.address
	}
	attrs := []attribute.KeyValue{
		attribute.String(genAIOperation, operation),
		attribute.String(genAIProvider, p.name),
		attribute.String(genAIModel, model),
	}
	host, port := hostPort(address)
	if host != "" {
		attrs = append(attrs, attribute.String(serverAddress, host))
	}
	if port != 0 {
		attrs = append(attrs, attribute.Int(serverPort, port))
	}
	return attrs
}

// hostPort takes the host and port out of a URL; the port is 0 where it is left to
// the scheme.
func hostPort(address string) (string, int) {
	if !strings.Contains(address, "://") {
		address = "//" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", 0
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil || port < 0 || port > 65535 {
		port = 0
	}
	return u.Hostname(), port
}

// asked are the attributes of a request to generate; its texts are none of them.
func asked(req llm.Request) []attribute.KeyValue {
	attrs := []attribute.KeyValue{attribute.String(langfuseObservationType, langfuseGeneration)}
	if req.MaxTokens > 0 {
		attrs = append(attrs, attribute.Int(genAIMaxTokens, req.MaxTokens))
	}
	if req.Prompt == "" {
		return attrs
	}
	attrs = append(attrs, attribute.String(genAIPromptName, req.Prompt),
		attribute.String(reveriePromptVersion, req.PromptVersion))
	number, remote := strings.CutPrefix(req.PromptVersion, langfuseVersion)
	if version, err := strconv.Atoi(number); remote && err == nil {
		attrs = append(attrs, attribute.String(langfusePromptName, req.Prompt), attribute.Int(langfusePromptVersion, version))
	}
	return attrs
}

// answered are the attributes of an answer.
func answered(finish llm.Finish, usage llm.Usage) []attribute.KeyValue {
	var attrs []attribute.KeyValue
	if finish != "" {
		attrs = append(attrs, attribute.StringSlice(genAIFinishReasons, []string{string(finish)}))
	}
	if usage.InputTokens > 0 {
		attrs = append(attrs, attribute.Int(genAIInputTokens, usage.InputTokens))
	}
	if usage.OutputTokens > 0 {
		attrs = append(attrs, attribute.Int(genAIOutputTokens, usage.OutputTokens))
	}
	return attrs
}

// started are the attributes of a run when it begins. Langfuse shows the runs of
// one group together, as a session.
func started(job reverie.Job, groupID string, w reverie.Window) []attribute.KeyValue {
	attrs := []attribute.KeyValue{
		attribute.String(reverieJob, string(job)),
		attribute.String(reverieGroup, groupID),
		attribute.String(langfuseTraceName, string(job)),
		attribute.StringSlice(langfuseTraceTags, []string{string(job)}),
		attribute.String(langfuseSession, groupID),
		attribute.String(langfuseMetadataGroup, groupID),
	}
	if w.SessionID != "" {
		attrs = append(attrs, attribute.String(reverieSession, w.SessionID))
	}
	if w.Date != "" {
		attrs = append(attrs, attribute.String(reverieWindowDate, w.Date), attribute.String(langfuseMetadataDate, w.Date))
	}
	if !w.Since.IsZero() {
		attrs = append(attrs, attribute.String(reverieWindowSince, w.Since.UTC().Format(time.RFC3339)))
	}
	if !w.Until.IsZero() {
		attrs = append(attrs, attribute.String(reverieWindowUntil, w.Until.UTC().Format(time.RFC3339)))
	}
	return attrs
}
