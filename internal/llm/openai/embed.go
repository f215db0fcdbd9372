package openai

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"reverie/internal/llm"
	"reverie/internal/llm/internal/wire"
)

// embedRequest is the body of POST /embeddings. The vectors are asked for as numbers, the
// one format that every server knows.
type embedRequest struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     int      `json:"dimensions,omitempty"`
}

type embedAnswer struct {
	Data  []embedding `json:"data"`
	Usage tokenUsage  `json:"usage"`
}

type embedding struct {
	Index     int    `json:"index"`
	Embedding vector `json:"embedding"`
}

// vector is read from numbers, or from the base64 of little-endian floats that some servers
// send regardless.
type vector []float32

// UnmarshalJSON implements json.Unmarshaler.
func (v *vector) UnmarshalJSON(data []byte) error {
	var numbers []float32
	if json.Unmarshal(data, &numbers) == nil {
		*v = numbers
		return nil
	}
	var packed string
	if err := json.Unmarshal(data, &packed); err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(packed)
	if err != nil || len(raw)%4 != 0 {
		return errors.New("an embedding is neither numbers nor the base64 of floats")
	}
	for ; len(raw) > 0; raw = raw[4:] {
		*v = append(*v, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	return nil
}

// Embed implements [llm.Embedder].
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	body := embedRequest{Model: c.model, Input: texts, EncodingFormat: "float"}
	name := c.model[strings.LastIndexByte(c.model, '/')+1:]
	if c.dims > 0 && strings.HasPrefix(name, "text-embedding-3-") {
		body.Dimensions = c.dims
	}
	var answer embedAnswer
	if err := c.api.Post(ctx, "/embeddings", body, &answer); err != nil {
		e := *wire.Fail(ctx, Provider, err)
		e.Embedding = true
		return nil, llm.Usage{}, &e
	}
	usage := llm.Usage{InputTokens: answer.Usage.PromptTokens}
	vectors, err := inOrder(answer.Data, len(texts))
	if err != nil {
		return nil, usage, &llm.Error{Provider: Provider, Fault: llm.FaultServer, Embedding: true, Err: err}
	}
	return vectors, usage, nil
}

// inOrder puts the vectors into the order of their texts. A server that leaves
// the index out is taken to answer in order.
func inOrder(data []embedding, want int) ([][]float32, error) {
	if len(data) != want {
		return nil, fmt.Errorf("%d embeddings for %d texts", len(data), want)
	}
	vectors := make([][]float32, want)
	numbered := false
	for _, d := range data {
		numbered = numbered || d.Index != 0
	}
	for i, d := range data {
		at := i
		if numbered {
			at = d.Index
		}
		if at < 0 || at >= want || vectors[at] != nil {
			return nil, fmt.Errorf("embedding %d of %d is numbered %d", i+1, want, d.Index)
		}
		vectors[at] = d.Embedding
	}
	return vectors, nil
}
