package llm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// embedder answers each text with a vector that tells its length, so that the
// order shows.
type embedder struct {
	dims    int
	batches [][]string
	answer  func(texts []string) ([][]float32, Usage, error) // instead, if set
}

func (e *embedder) Embed(_ context.Context, texts []string) ([][]float32, Usage, error) {
	e.batches = append(e.batches, slices.Clone(texts))
	if e.answer != nil {
		return e.answer(texts)
	}
	return e.vectors(texts), Usage{InputTokens: len(texts)}, nil
}

func (e *embedder) vectors(texts []string) [][]float32 {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = make([]float32, e.dims)
		out[i][0] = float32(len(text))
	}
	return out
}

// cache is a cache in memory; its keys are "group model hash".
type cache struct {
	entries  map[string][]float32
	lookups  int
	err      error
	saveFail error
}

func (c *cache) CachedEmbeddings(_ context.Context, group, model string, hashes []string) (map[string][]float32, error) {
	c.lookups++
	out := map[string][]float32{}
	for _, h := range hashes {
		if v, ok := c.entries[group+" "+model+" "+h]; ok {
			out[h] = v
		}
	}
	return out, c.err
}

func (c *cache) SaveEmbeddings(_ context.Context, group, model string, vectors map[string][]float32) error {
	if c.saveFail != nil {
		return c.saveFail
	}
	if c.entries == nil {
		c.entries = map[string][]float32{}
	}
	for h, v := range vectors {
		c.entries[group+" "+model+" "+h] = v
	}
	return nil
}

func lengths(vectors [][]float32) []int {
	out := make([]int, len(vectors))
	for i, v := range vectors {
		out[i] = int(v[0])
	}
	return out
}

func TestEmbedKeepsOrderAndAsksOnce(t *testing.T) {
	emb, store, ledger := &embedder{dims: 4}, &cache{}, &rows{}
	e := NewEmbeddings(emb, Account{Provider: "p", Model: "m", Ledger: ledger}, EmbeddingOptions{Dims: 4, Batch: 2, Cache: store})
	meta := Meta{GroupID: "g", Purpose: "embed"}
	got, err := e.Embed(t.Context(), meta, []string{"aaa", "b", "aaa", "cc", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{3, 1, 3, 2, 1}, lengths(got)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]string{{"aaa", "b"}, {"cc"}}, emb.batches); diff != "" {
		t.Error(diff)
	}
	if ledger.outcomes() != "ok ok" || ledger.calls[0].Purpose != "embed" || ledger.calls[0].InputTokens != 2 {
		t.Errorf("rows are %+v", ledger.calls)
	}
	// A second time, and with one text more: only that one is asked for.
	got, err = e.Embed(t.Context(), meta, []string{"cc", "dddd", "aaa"})
	if err != nil || !slices.Equal(lengths(got), []int{2, 4, 3}) || len(emb.batches) != 3 || len(emb.batches[2]) != 1 {
		t.Errorf("%v, %v, asked %v", lengths(got), err, emb.batches)
	}
	// Another group has a cache of its own, and case and spaces matter.
	_, _ = e.Embed(t.Context(), Meta{GroupID: "h"}, []string{"aaa"})
	_, _ = e.Embed(t.Context(), meta, []string{"AAA", "aaa "})
	if len(emb.batches) != 5 || len(emb.batches[4]) != 2 {
		t.Errorf("asked %v", emb.batches)
	}
}

func TestEmbedNothing(t *testing.T) {
	emb, store := &embedder{dims: 4}, &cache{}
	e := NewEmbeddings(emb, Account{}, EmbeddingOptions{Cache: store})
	if got, err := e.Embed(t.Context(), Meta{}, nil); err != nil || len(got) != 0 || len(emb.batches)+store.lookups != 0 {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := e.Embed(t.Context(), Meta{}, []string{"a", " \n"}); !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), "text 2 of 2") {
		t.Errorf("an empty text: %v", err)
	}
}

func TestBatchesAreBoundInTokens(t *testing.T) {
	emb := &embedder{dims: 4}
	e := NewEmbeddings(emb, Account{}, EmbeddingOptions{BatchTokens: 30})
	long := strings.Repeat("词语", 40)
	if _, err := e.Embed(t.Context(), Meta{}, []string{"one two", "three four", long, "five"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"one two", "three four"}, {long}, {"five"}}, emb.batches); diff != "" {
		t.Error(diff)
	}
}

// The batches of any texts hold each distinct text once, in order.
func FuzzBatches(f *testing.F) {
	f.Add("a b a c", 2, 10)
	f.Add("你好 世界 hello", 1, 1)
	f.Fuzz(func(t *testing.T, words string, batch, tokens int) {
		texts := strings.Fields(words)
		emb := &embedder{dims: 2}
		e := NewEmbeddings(emb, Account{}, EmbeddingOptions{Batch: max(batch, 1), BatchTokens: max(tokens, 1)})
		got, err := e.Embed(t.Context(), Meta{}, texts)
		if err != nil || len(got) != len(texts) {
			t.Fatal(err)
		}
		var distinct []string
		for i, text := range texts {
			if int(got[i][0]) != len(text) {
				t.Fatalf("text %d has the vector of another", i)
			}
			if !slices.Contains(distinct, text) {
				distinct = append(distinct, text)
			}
		}
		if asked := slices.Concat(emb.batches...); !slices.Equal(asked, distinct) {
			t.Fatalf("asked %q for %q", asked, distinct)
		}
	})
}

func TestWidthIsAdopted(t *testing.T) {
	emb, store := &embedder{dims: 3}, &cache{}
	meta := Meta{GroupID: "g"}
	e := NewEmbeddings(emb, Account{Provider: "p", Model: "m"}, EmbeddingOptions{Cache: store})
	if e.Key() != "m@1536" {
		t.Errorf("key is %s before the first answer", e.Key())
	}
	// Two entries of the cache: one under the key that does not hold, one under
	// the key that will.
	stale := make([]float32, DefaultDims)
	stale[0] = 99
	store.entries = map[string][]float32{"g m@1536 " + hashText("aa"): stale, "g m@3 " + hashText("aa"): {2, 0, 0}}
	got, err := e.Embed(t.Context(), meta, []string{"aa", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if e.Key() != "m@3" || len(got[0]) != 3 || !slices.Equal(lengths(got), []int{2, 1}) || len(emb.batches) != 1 {
		t.Errorf("key %s, vectors %v, asked %v", e.Key(), got, emb.batches)
	}
	if _, saved := store.entries["g m@3 "+hashText("b")]; !saved {
		t.Error("the vector is not cached under the key that holds")
	}
	emb.dims = 5
	_, err = e.Embed(t.Context(), meta, []string{"ccc"})
	if !errors.Is(err, reverie.ErrConfiguration) || !strings.Contains(err.Error(), "3") || !strings.Contains(err.Error(), "5") {
		t.Errorf("a second width: %v", err)
	}
}

func TestWidthThatWasAskedForIsKept(t *testing.T) {
	emb := &embedder{dims: 768}
	e := NewEmbeddings(emb, Account{Provider: "p", Model: "m"}, EmbeddingOptions{Dims: 1024, Explicit: true})
	_, err := e.Embed(t.Context(), Meta{}, []string{"a"})
	if !errors.Is(err, reverie.ErrConfiguration) || !strings.Contains(err.Error(), "768") || !strings.Contains(err.Error(), "1024") {
		t.Errorf("error is %v", err)
	}
	if e.Key() != "m@1024" {
		t.Errorf("key is %s", e.Key())
	}
}

func TestBadVectorsAreAFault(t *testing.T) {
	zero, nan := float32(0), float32(0)
	nan /= nan
	for name, vectors := range map[string][][]float32{
		"none":        nil,
		"too few":     {{1, 2}},
		"too many":    {{1, 2}, {3, 4}, {5, 6}},
		"norm zero":   {{1, 2}, {zero, zero}},
		"not finite":  {{1, 2}, {1, nan}},
		"empty":       {{1, 2}, {}},
		"two widths":  {{1, 2}, {1, 2, 3}},
		"nil vectors": {nil, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			good := &embedder{dims: 2}
			emb, ledger, store := &embedder{}, &rows{}, &cache{}
			emb.answer = func(texts []string) ([][]float32, Usage, error) {
				if len(emb.batches) == 1 {
					return vectors, Usage{InputTokens: 7}, nil
				}
				return good.vectors(texts), Usage{}, nil
			}
			e := NewEmbeddings(emb, Account{Provider: "p", Ledger: ledger}, EmbeddingOptions{Cache: store})
			got, err := e.Embed(t.Context(), Meta{}, []string{"a", "bb"})
			if err != nil || !slices.Equal(lengths(got), []int{1, 2}) {
				t.Fatalf("%s: %v, %v", name, got, err)
			}
			if ledger.outcomes() != "server_error ok" || ledger.calls[0].InputTokens != 7 || len(store.entries) != 2 {
				t.Errorf("%s: rows %q, %d cached", name, ledger.outcomes(), len(store.entries))
			}
		})
	}
}

func TestCacheTroubleIsSaid(t *testing.T) {
	broken := errors.New("no connection")
	emb := &embedder{dims: 2}
	e := NewEmbeddings(emb, Account{Model: "m"}, EmbeddingOptions{Cache: &cache{err: broken}})
	if _, err := e.Embed(t.Context(), Meta{}, []string{"a"}); !errors.Is(err, broken) || len(emb.batches) != 0 {
		t.Errorf("look-up: %v, asked %v", err, emb.batches)
	}
	e = NewEmbeddings(emb, Account{Model: "m"}, EmbeddingOptions{Cache: &cache{saveFail: broken}})
	if _, err := e.Embed(t.Context(), Meta{}, []string{"a"}); !errors.Is(err, broken) || !strings.Contains(err.Error(), "paid") {
		t.Errorf("save: %v", err)
	}
}

// What was paid for before a failure is in the cache for the next try.
func TestBatchesAreCachedOneByOne(t *testing.T) {
	emb, store := &embedder{dims: 2}, &cache{}
	emb.answer = func(texts []string) ([][]float32, Usage, error) {
		if len(emb.batches) == 2 {
			return nil, Usage{}, &Error{Provider: "p", Fault: FaultUnauthorized}
		}
		return emb.vectors(texts), Usage{}, nil
	}
	e := NewEmbeddings(emb, Account{Provider: "p"}, EmbeddingOptions{Batch: 1, Cache: store})
	if _, err := e.Embed(t.Context(), Meta{}, []string{"a", "bb"}); !errors.Is(err, reverie.ErrConfiguration) {
		t.Fatal(err)
	}
	if got, err := e.Embed(t.Context(), Meta{}, []string{"a", "bb"}); err != nil || len(got) != 2 || len(emb.batches) != 3 {
		t.Errorf("%v, asked %v", err, emb.batches)
	}
}

func TestConcurrentEmbedsAgreeOnTheWidth(t *testing.T) {
	e := NewEmbeddings(embedderFunc(func(texts []string) [][]float32 { return (&embedder{dims: 3}).vectors(texts) }),
		Account{Provider: "p", Model: "m", Policy: NewPolicy(PolicyOptions{})}, EmbeddingOptions{})
	done := make(chan error)
	for i := range 8 {
		go func() {
			got, err := e.Embed(t.Context(), Meta{}, []string{fmt.Sprint("text ", i)})
			if err == nil && len(got[0]) != 3 {
				err = fmt.Errorf("%d values", len(got[0]))
			}
			done <- err
		}()
	}
	for range 8 {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("no end")
		}
	}
	if e.Key() != "m@3" {
		t.Errorf("key is %s", e.Key())
	}
}

type embedderFunc func(texts []string) [][]float32

func (f embedderFunc) Embed(_ context.Context, texts []string) ([][]float32, Usage, error) {
	return f(texts), Usage{}, nil
}
