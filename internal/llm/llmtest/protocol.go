package llmtest

import (
	"net/http"
	"strings"
)

// protocol is one route of one provider: how its requests are read and its
// answers written.
type protocol interface {
	read(r *http.Request, body []byte) (Request, error)
	answer(a Answer, req Request) any
	embeddings(vectors [][]float32, req Request) any
	failure(status int, message string) any
}

// route finds the protocol of a path, nil if there is none. A part before the
// route does not matter, as with servers behind a gateway.
func route(path string) protocol {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return openAI{}
	case strings.HasSuffix(path, "/embeddings"):
		return openAI{embed: true}
	case strings.HasSuffix(path, "/v1/messages"):
		return anthropic{}
	case strings.HasSuffix(path, ":generateContent"):
		return gemini{}
	case strings.HasSuffix(path, ":batchEmbedContents"), strings.HasSuffix(path, ":embedContent"):
		return gemini{embed: true}
	default:
		return nil
	}
}

// object is a JSON object about to be written.
type object map[string]any
