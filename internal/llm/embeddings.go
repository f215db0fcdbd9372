package llm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// Cache stores vectors per group, by model@dims and the hash of the exact text.
type Cache interface {
	CachedEmbeddings(ctx context.Context, groupID, model string, hashes []string) (map[string][]float32, error)
	SaveEmbeddings(ctx context.Context, groupID, model string, vectors map[string][]float32) error
}

// EmbeddingOptions are the settings of [Embeddings]. Zero values mean the
// defaults.
type EmbeddingOptions struct {
	Dims     int  // width of the vectors; default 1536
	Explicit bool // Dims was configured: another width is an error
	Batch    int  // maximum number of texts in a call; default 100
	// BatchTokens bounds the estimated tokens of a call; a longer text is sent alone. Default 30,000.
	BatchTokens int
	Cache       Cache // nil: no cache
}

// DefaultDims is the width of vectors unless the configuration or the model determines another.
const DefaultDims = 1536

// Embeddings embeds texts with one model, with a cache, retries, limits and a row for every attempt. It is safe for
// concurrent use.
type Embeddings struct {
	embedder Embedder
	account  Account
	options  EmbeddingOptions

	mu      sync.Mutex
	dims    int
	settled bool // the model has answered, or dims was configured
}

// NewEmbeddings returns embeddings that call emb.
func NewEmbeddings(emb Embedder, account Account, options EmbeddingOptions) *Embeddings {
	options.Dims = cmp.Or(options.Dims, DefaultDims)
	options.Batch = cmp.Or(options.Batch, 100)
	options.BatchTokens = cmp.Or(options.BatchTokens, 30_000)
	return &Embeddings{embedder: emb, account: account.withDefaults(), options: options,
		dims: options.Dims, settled: options.Explicit}
}

// uncached returns embeddings of the same model without a cache.
func (e *Embeddings) uncached() *Embeddings {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := &Embeddings{embedder: e.embedder, account: e.account, options: e.options, dims: e.dims, settled: e.settled}
	c.options.Cache = nil
	return c
}

// Name is "provider/model".
func (e *Embeddings) Name() string { return e.account.Provider + "/" + e.account.Model }

// Key identifies the vectors: "model@dims". Only vectors with the same key may be compared. If the width was not
// configured, the model's first answer determines it, so read the key after Embed.
func (e *Embeddings) Key() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.key()
}

func (e *Embeddings) key() string { return fmt.Sprintf("%s@%d", e.account.Model, e.dims) }

// Embed returns one vector for each text, in order, all of one width. Equal texts share a vector, which must not be
// modified. Cached texts cost nothing; the vectors of a batch are cached before the next batch is requested.
//
// Its errors are those of [Model.Generate] and of the cache. It also returns [reverie.ErrInvalid] for an empty
// text, and [reverie.ErrConfiguration] for a width other than the configured one.
func (e *Embeddings) Embed(ctx context.Context, meta Meta, texts []string) ([][]float32, error) {
	byHash := make(map[string]string, len(texts))
	hashes := make([]string, len(texts))
	var missing []string // without duplicates, in order
	for i, text := range texts {
		if strings.TrimSpace(text) == "" {
			return nil, fmt.Errorf("embed text %d of %d: it is empty: %w", i+1, len(texts), reverie.ErrInvalid)
		}
		hashes[i] = hashText(text)
		if _, seen := byHash[hashes[i]]; !seen {
			byHash[hashes[i]] = text
			missing = append(missing, hashes[i])
		}
	}
	found := make(map[string][]float32, len(missing))
	// A second round is needed only if the model's first answer changed the width, and so the key of the cached
	// vectors.
	for len(missing) > 0 {
		if err := e.fill(ctx, meta, missing, byHash, found); err != nil {
			return nil, err
		}
		missing = e.outdated(missing, found)
	}
	vectors := make([][]float32, len(texts))
	for i, hash := range hashes {
		vectors[i] = found[hash]
	}
	return vectors, nil
}

// fill gets the vectors of the missing hashes, from the cache or the model.
func (e *Embeddings) fill(ctx context.Context, meta Meta, missing []string, byHash map[string]string,
	found map[string][]float32) error {
	if err := e.cached(ctx, meta, missing, found); err != nil {
		return err
	}
	var asked []string
	for _, hash := range missing {
		if found[hash] == nil {
			asked = append(asked, hash)
		}
	}
	for len(asked) > 0 {
		n := e.batch(asked, byHash)
		if err := e.ask(ctx, meta, asked[:n], byHash, found); err != nil {
			return err
		}
		asked = asked[n:]
	}
	return nil
}

// cached copies cached vectors into found; a vector of another width counts as missing.
func (e *Embeddings) cached(ctx context.Context, meta Meta, missing []string, found map[string][]float32) error {
	if e.options.Cache == nil {
		return nil
	}
	e.mu.Lock()
	key, dims := e.key(), e.dims
	e.mu.Unlock()
	vectors, err := e.options.Cache.CachedEmbeddings(ctx, meta.GroupID, key, missing)
	if err != nil {
		return fmt.Errorf("look up %d cached embeddings of %s: %w", len(missing), key, err)
	}
	for hash, v := range vectors {
		if len(v) == dims && reverie.CheckVector(v) == nil {
			found[hash] = v
		}
	}
	return nil
}

// batch returns how many of the hashes go into one call, at least one.
func (e *Embeddings) batch(hashes []string, byHash map[string]string) int {
	tokens := 0
	for i, hash := range hashes {
		tokens += text.EstimateTokens(byHash[hash])
		if i == e.options.Batch || i > 0 && tokens > e.options.BatchTokens {
			return i
		}
	}
	return len(hashes)
}

// ask embeds one batch and caches it.
func (e *Embeddings) ask(ctx context.Context, meta Meta, hashes []string, byHash map[string]string,
	found map[string][]float32) error {
	texts := make([]string, len(hashes))
	for i, hash := range hashes {
		texts[i] = byHash[hash]
	}
	vectors, err := e.call(ctx, meta, texts)
	if err != nil {
		return err
	}
	key, err := e.settle(len(vectors[0]))
	if err != nil {
		return err
	}
	fresh := make(map[string][]float32, len(vectors))
	for i, v := range vectors {
		fresh[hashes[i]], found[hashes[i]] = v, v
	}
	if e.options.Cache == nil {
		return nil
	}
	if err := e.options.Cache.SaveEmbeddings(ctx, meta.GroupID, key, fresh); err != nil {
		return fmt.Errorf("cache %d embeddings of %s, which were paid for: %w", len(fresh), key, err)
	}
	return nil
}

// call calls the model for one batch. An answer that does not fit the question is a server fault and retried like
// any other.
func (e *Embeddings) call(ctx context.Context, meta Meta, texts []string) ([][]float32, error) {
	asked := 0
	for _, s := range texts {
		asked += text.EstimateTokens(s)
	}
	var vectors [][]float32
	err := e.account.ask(ctx, meta, asked, 0, func(ctx context.Context, _ Tier) (reply, error) {
		var usage Usage
		var err error
		if vectors, usage, err = e.embedder.Embed(ctx, texts); err != nil {
			return reply{}, err
		}
		if usage == (Usage{}) {
			usage.InputTokens = asked
		}
		if err := checkVectors(vectors, len(texts)); err != nil {
			return reply{usage: usage}, &Error{Provider: e.account.Provider, Fault: FaultServer, Embedding: true, Err: err}
		}
		return reply{usage: usage, outcome: outcomeOK}, nil
	})
	return vectors, err
}

func checkVectors(vectors [][]float32, want int) error {
	if len(vectors) != want {
		return fmt.Errorf("%d embeddings for %d texts", len(vectors), want)
	}
	for i, v := range vectors {
		if err := reverie.CheckVector(v); err != nil {
			return fmt.Errorf("text %d of %d: %w", i+1, want, err)
		}
		if len(v) != len(vectors[0]) {
			return fmt.Errorf("embeddings of %d and of %d values in one answer", len(vectors[0]), len(v))
		}
	}
	return nil
}

// settle compares the width of an answer with the current one and returns the key of the answer. The first answer
// sets the width, unless it was configured.
func (e *Embeddings) settle(width int) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if width == e.dims || !e.settled {
		e.dims, e.settled = width, true
		return e.key(), nil
	}
	if e.options.Explicit {
		return "", fmt.Errorf("%s answers with embeddings of %d values, and REVERIE_EMBED_DIMENSIONS asks for %d: %w: set "+
			"it to %d, or choose another model",
			e.Name(), width, e.dims, reverie.ErrConfiguration, width)
	}
	return "", fmt.Errorf("%s answered with embeddings of %d values before and of %d now: %w: set "+
		"REVERIE_EMBED_DIMENSIONS to the one that is meant",
		e.Name(), e.dims, width, reverie.ErrConfiguration)
}

// outdated drops and returns the hashes whose vectors do not have the current width.
func (e *Embeddings) outdated(hashes []string, found map[string][]float32) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var outdated []string
	for _, hash := range hashes {
		if len(found[hash]) != e.dims {
			delete(found, hash)
			outdated = append(outdated, hash)
		}
	}
	return outdated
}

// hashText returns the cache key of an exact text.
func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
