package llm

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

//go:embed pairs.toml
var pairsText string

// pairsFile is the content of pairs.toml.
type pairsFile struct {
	Version                  int
	English, Chinese, Across [][2]string
}

var pairs = sync.OnceValue(func() pairsFile { return text.ReadTOML[pairsFile](pairsText) })

// CalibrationTexts are the texts by which every embedding model is measured, as pairs.
func CalibrationTexts() []string { return pairs().texts() }

// texts returns the texts of all pairs.
func (f pairsFile) texts() (list []string) {
	for _, p := range slices.Concat(f.English, f.Chinese, f.Across) {
		list = append(list, p[0], p[1])
	}
	return list
}

const (
	// LeastAccuracy is the minimum accuracy of a model whose cosines are used. By chance it is about 0.57, since the
	// best threshold is searched for.
	leastAccuracy = 0.7

	// Measuring bounds how long embedding all pairs may take, including retries.
	measuring = 5 * time.Minute
)

// TellsApart reports whether a model's cosines separate related from unrelated texts. If they do not, its
// calibration leaves cosines unchanged.
func TellsApart(c reverie.ModelCalibration) bool { return c.Accuracy >= leastAccuracy }

// CalibrationStore stores measured calibrations: see store.Store.
type CalibrationStore interface {
	ModelCalibration(ctx context.Context, model string, pairs int) (reverie.ModelCalibration, error)
	KeepModelCalibration(ctx context.Context, c reverie.ModelCalibration) (reverie.ModelCalibration, error)
}

// Calibrator measures what the cosines of a model mean, once. Each process looks the result up in the store at its
// first use; a process that finds none embeds the built-in pairs. It is a [reverie.Calibrator], and safe for
// concurrent use.
type Calibrator struct {
	Embeddings *Embeddings
	Store      CalibrationStore
	Log        *slog.Logger
	Now        func() time.Time

	known  atomic.Pointer[reverie.ModelCalibration]
	flight singleflight.Group
}

// Calibrate returns the calibration of [Calibrator.Measured].
func (c *Calibrator) Calibrate(ctx context.Context, groupID string) (reverie.Calibration, error) {
	m, err := c.Measured(ctx, groupID)
	return m.Calibration, err
}

// Measured returns the measurement, made now or before. Call it after the model has embedded something, which
// determines the width of its vectors. If a caller stops waiting, the measurement continues for the next one. Its
// errors are those of [Embeddings.Embed], of reading the store, and the context's. A result that cannot be stored
// is still used.
func (c *Calibrator) Measured(ctx context.Context, groupID string) (reverie.ModelCalibration, error) {
	key := c.Embeddings.Key()
	if m := c.known.Load(); m != nil && m.Model == key {
		return *m, nil
	}
	done := c.flight.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithValue(context.WithoutCancel(ctx), slotKey{}, nil), measuring)
		defer cancel()
		m, err := c.find(ctx, key, groupID)
		if err == nil && !TellsApart(m) {
			c.Log.Warn("the embedding model does not tell related texts from unrelated ones, so that scores are its plain "+
				"cosines: choose another model, or set [embed] floor and ceiling", "model", key, "right", m.Accuracy)
		}
		if err == nil {
			c.known.Store(&m)
		}
		return m, err
	})
	select {
	case <-ctx.Done():
		return reverie.ModelCalibration{}, fmt.Errorf("measure what cosines of %s mean: %w", key, ctx.Err())
	case r := <-done:
		return r.Val.(reverie.ModelCalibration), r.Err
	}
}

// find looks a calibration up, or measures it.
func (c *Calibrator) find(ctx context.Context, key, groupID string) (reverie.ModelCalibration, error) {
	m, err := c.Store.ModelCalibration(ctx, key, pairs().Version)
	if !errors.Is(err, reverie.ErrNotFound) {
		return m, err
	}
	model := c.Embeddings.uncached()
	vectors, err := model.Embed(ctx, Meta{GroupID: groupID, Purpose: "calibrate"}, pairs().texts())
	if err != nil {
		return m, fmt.Errorf("measure what cosines of %s mean: %w", key, err)
	}
	m = measure(pairs(), vectors)
	m.Model, m.MeasuredAt = model.Key(), c.Now().UTC()
	kept, err := c.Store.KeepModelCalibration(ctx, m)
	if err != nil {
		c.Log.Warn("what was measured of the embedding model is not kept, and will be measured again", "model", key, "error", err)
		return m, nil
	}
	return kept, nil
}

// measure computes a calibration from the vectors of the pairs' texts. Unrelated texts are those of two pairs in
// the same language. Models place different languages further apart, and a chat is mostly in one language.
func measure(f pairsFile, vectors [][]float32) reverie.ModelCalibration {
	var related, unrelated []float64
	for _, list := range [][][2]string{f.English, f.Chinese, f.Across} {
		of := vectors[:2*len(list)]
		vectors = vectors[len(of):]
		for i := range list {
			related = append(related, reverie.Cosine(of[2*i], of[2*i+1]))
			for j := range list {
				if i != j && len(vectors) > 0 { // not across languages
					unrelated = append(unrelated, reverie.Cosine(of[2*i], of[2*j+1]))
				}
			}
		}
	}
	slices.Sort(related)
	slices.Sort(unrelated)
	m := reverie.ModelCalibration{Pairs: f.Version}
	m.Floor, m.Ceiling = unrelated[len(unrelated)/2], related[len(related)*9/10]
	m.Related, m.Accuracy = divide(unrelated, related)
	if !TellsApart(m) || m.Floor >= m.Related || m.Related >= m.Ceiling {
		m.Calibration, m.Accuracy = reverie.Calibration{}.Whole(), min(m.Accuracy, leastAccuracy-0.01)
	}
	return m
}

// divide returns the threshold that best separates two sorted lists, low and high: the middle of all best
// thresholds. accuracy is the mean share of each list on its own side.
func divide(low, high []float64) (at, accuracy float64) {
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(low, high))))
	var first, last float64
	for i := 1; i < len(all); i++ {
		middle := (all[i-1] + all[i]) / 2
		below, _ := slices.BinarySearch(low, middle)
		missed, _ := slices.BinarySearch(high, middle)
		switch right := (float64(below)/float64(len(low)) + 1 - float64(missed)/float64(len(high))) / 2; {
		case right > accuracy:
			first, last, accuracy = middle, middle, right
		case right == accuracy:
			last = middle
		}
	}
	return (first + last) / 2, accuracy
}
