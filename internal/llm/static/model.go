// Package static embeds texts in this process, without a server: each token has one vector in a table, and a text's
// vector is their mean. It reads a directory in the format of model2vec, which sentence-transformers also writes
// for its StaticEmbedding: model.safetensors, tokenizer.json and, optionally, config.json.
package static

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// maxTokens is the number of tokens of a text that count, as in model2vec.
const maxTokens = 512

// Model is a table of token vectors with its tokenizer. It is safe for concurrent use.
type Model struct {
	Name string // the directory's name and a fingerprint of its files
	Dims int    // width of a vector

	tokens  *tokenizer
	rows    *tensor
	weights []float64 // by token; nil: all tokens weigh the same
	rowOf   []int64   // by token; nil: a token's row is its number
}

// Open opens the model in a directory. The table stays in its file; rows are read when texts need them. A missing
// file or another format is [reverie.ErrConfiguration].
func Open(dir string) (*Model, error) {
	m, err := open(dir)
	if err != nil {
		return nil, fmt.Errorf("read the embedding model in %s: %w: %w: set [embed] model to a directory with the "+
			"model.safetensors and tokenizer.json that model2vec saves", dir, err, reverie.ErrConfiguration)
	}
	return m, nil
}

func open(dir string) (*Model, error) {
	named, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if nested := filepath.Join(dir, "0_StaticEmbedding"); exists(nested) {
		dir = nested
	}
	spec, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
	if err != nil {
		return nil, err
	}
	tokens, err := newTokenizer(spec)
	if err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	file, err := openTensors(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		return nil, err
	}
	m := &Model{tokens: tokens}
	if m.rows, err = file.table("embeddings", "embedding.weight"); err != nil {
		return nil, err
	}
	if m.weights, err = file.floats("weights"); err != nil {
		return nil, err
	}
	if m.rowOf, err = file.integers("mapping"); err != nil {
		return nil, err
	}
	m.Dims = m.rows.shape[1]
	if err := m.check(); err != nil {
		return nil, err
	}
	m.Name, err = nameOf(named, file, spec)
	return m, err
}

// nameOf makes the name of a model from its directory and the content of its files. It is the same on each machine
// and changes with any file, so that vectors of two tables are never compared.
func nameOf(dir string, file *tensors, spec []byte) (string, error) {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli)) // hundreds of MB at each start; it only has to detect mistakes
	if _, err := io.Copy(sum, io.NewSectionReader(file.file, 0, file.size)); err != nil {
		return "", err
	}
	print := sha256.Sum256(sum.Sum(spec))
	return fmt.Sprintf("%s-%x", filepath.Base(dir), print[:4]), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// check rejects tables that do not fit their tokenizer.
func (m *Model) check() error {
	known := m.rows.shape[0]
	if m.rowOf != nil {
		known = len(m.rowOf)
		for token, row := range m.rowOf {
			if row < 0 || row >= int64(m.rows.shape[0]) {
				return fmt.Errorf("model.safetensors: token %d is mapped to row %d of %d", token, row, m.rows.shape[0])
			}
		}
	}
	if last := m.tokens.last; last >= known {
		return fmt.Errorf("model.safetensors knows %d tokens, tokenizer.json has one with the number %d", known, last)
	}
	if m.weights != nil && len(m.weights) < known {
		return fmt.Errorf("model.safetensors weighs %d tokens of %d", len(m.weights), known)
	}
	return nil
}

// Embed returns the vectors of texts, each of length one. A text without a known token has a fixed vector, since a
// zero vector has no cosine. It implements [llm.Embedder].
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, llm.Usage{}, err
		}
		var err error
		if vectors[i], err = m.vector(text); err != nil {
			return nil, llm.Usage{}, fmt.Errorf("embed with model %s: %w", m.Name, err)
		}
	}
	return vectors, llm.Usage{}, nil
}

func (m *Model) vector(text string) ([]float32, error) {
	tokens := m.tokens.encode(text)
	sum := make([]float64, m.Dims)
	for _, token := range tokens[:min(len(tokens), maxTokens)] {
		row, weight := int64(token), 1.0
		if m.rowOf != nil {
			row = m.rowOf[token]
		}
		if m.weights != nil {
			weight = m.weights[token]
		}
		values, err := m.rows.row(row)
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			sum[i] += weight * v
		}
	}
	var square float64
	for _, v := range sum {
		square += v * v
	}
	vector := make([]float32, m.Dims)
	length := math.Sqrt(square)
	if length < 1e-12 || math.IsInf(length, 0) || math.IsNaN(length) {
		vector[0] = 1
		return vector, nil
	}
	for i, v := range sum {
		vector[i] = float32(v / length)
	}
	return vector, nil
}

// decode parses JSON strictly enough to detect a file of another kind.
func decode(raw []byte, into any) error {
	if len(raw) == 0 {
		return errors.New("it is empty")
	}
	return json.Unmarshal(raw, into)
}
