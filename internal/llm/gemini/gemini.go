// Package gemini asks Google's models through the Gemini API.
package gemini

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/genai"

	"reverie/internal/llm"
	"reverie/internal/llm/internal/wire"
	"reverie/internal/reverie"
)

// Provider is how this adapter is called in settings, rows and errors.
const Provider = "gemini"

// DefaultBaseURL is Google's own.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Options are the settings of a [Client]. Nothing else has an effect: no
// GOOGLE_* or GEMINI_* variable is used.
type Options struct {
	BaseURL     string // default DefaultBaseURL; may end in a version, such as /v1beta
	APIKey      string
	Model       string
	Temperature *float64     // nil: the model's own
	Dims        int          // width of vectors to ask for; default llm.DefaultDims
	HTTPClient  *http.Client // nil: one of its own
}

// Client is a [llm.Generator] and a [llm.Embedder]. It makes one HTTP request a
// call and is safe for concurrent use.
type Client struct {
	model       string
	temperature *float32
	dims        int
	models      *genai.Models
}

var (
	_ llm.Generator = (*Client)(nil)
	_ llm.Embedder  = (*Client)(nil)
)

// New returns a client. Its errors are [reverie.ErrConfiguration].
func New(o Options) (*Client, error) {
	base, err := wire.Endpoint(Provider, o.BaseURL, DefaultBaseURL)
	if err != nil {
		return nil, err
	}
	if err := wire.CheckKey(Provider, o.APIKey); err != nil {
		return nil, err
	}
	if o.APIKey == "" {
		return nil, fmt.Errorf("%s: no API key: %w: set REVERIE_LLM_API_KEY", Provider, reverie.ErrConfiguration)
	}
	if o.Model == "" {
		return nil, fmt.Errorf("%s: no model is named: %w: set REVERIE_LLM_MODEL or REVERIE_EMBED_MODEL", Provider,
			reverie.ErrConfiguration)
	}
	base, version := splitVersion(base)
	// Backend, key and URL are all given, so that the SDK takes none of them
	// from the environment. Without retry options it does not retry.
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey:      o.APIKey,
		Backend:     genai.BackendGeminiAPI,
		HTTPClient:  wire.NewClient(o.HTTPClient, Provider, o.APIKey),
		HTTPOptions: genai.HTTPOptions{BaseURL: base + "/", APIVersion: version},
	})
	if err != nil { // its words may hold the whole configuration, key included
		return nil, fmt.Errorf("%s: the SDK refuses the settings: %w: check REVERIE_LLM_BASE_URL and REVERIE_LLM_API_KEY",
			Provider, reverie.ErrConfiguration)
	}
	c := &Client{model: o.Model, dims: o.Dims, models: client.Models}
	if c.dims <= 0 {
		c.dims = llm.DefaultDims
	}
	if o.Temperature != nil {
		c.temperature = genai.Ptr(float32(*o.Temperature))
	}
	return c, nil
}

// splitVersion takes the API's version off the end of a base URL, where people
// copy it from examples; the SDK wants it apart.
func splitVersion(base string) (string, string) {
	for _, version := range []string{"v1beta", "v1alpha", "v1"} {
		if rest, found := strings.CutSuffix(base, "/"+version); found {
			return rest, version
		}
	}
	return base, "v1beta"
}
