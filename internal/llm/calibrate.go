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

// pairsFile is pairs.toml.
type pairsFile struct {
	Version                  int
	English, Chinese, Across [][2]string
}

var pairs = sync.OnceValue(func() pairsFile { return text.ReadTOML[pairsFile](pairsText) })

// CalibrationTexts are the texts that every embedding model is measured on, two by two.
func CalibrationTexts() []string { return pairs().texts() }

// texts are those of all pairs.
func (f pairsFile) texts() (list []string) {
	for _, p := range slices.Concat(f.English, f.Chinese, f.Across) {
		list = append(list, p[0], p[1])
	}
	return list
}

const (
	// leastAccuracy is what a model tells apart at least, if its cosines are to be trusted.
	// By mere chance it is about 0.57: the cosine that tells best is looked for.
	leastAccuracy = 0.7

	// measuring is how long it may take to have all pairs embedded, over all attempts.
	measuring = 5 * time.Minute
)

// TellsApart says whether a model's cosines tell related texts from unrelated ones. Where
// they do not, its calibration takes them as they are.
func TellsApart(c reverie.ModelCalibration) bool { return c.Accuracy >= leastAccuracy }

// CalibrationStore keeps what was measured: see store.Store.
type CalibrationStore interface {
	ModelCalibration(ctx context.Context, model string, pairs int) (reverie.ModelCalibration, error)
	KeepModelCalibration(ctx context.Context, c reverie.ModelCalibration) (reverie.ModelCalibration, error)
}

// Calibrator measures what the cosines of a model mean, once: each process looks it up in
// the store at its first use, and whoever finds nothing embeds the built-in pairs. It is a
// [reverie.Calibrator], and safe for concurrent use.
type Calibrator struct {
	Embeddings *Embeddings
	Store      CalibrationStore
	Log        *slog.Logger
	Now        func() time.Time

	known  atomic.Pointer[reverie.ModelCalibration]
	flight singleflight.Group
}

// Calibrate is [Calibrator.Measured] without its circumstances.
func (c *Calibrator) Calibrate(ctx context.Context, groupID string) (reverie.Calibration, error) {
	m, err := c.Measured(ctx, groupID)
	return m.Calibration, err
}

// Measured returns what was measured, now or before. Call it after the model has embedded
// something, which settles the width of its vectors. Who waits no longer does not end the
// measuring, from which the next one profits. Its errors are those of [Embeddings.Embed],
// of reading the store, and the context's; what cannot be kept is used all the same.
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

// measure says what cosines mean by the vectors of the texts of pairs. Unrelated are the
// texts of two pairs of one language: models put two languages further apart, and a chat
// has mostly one.
func measure(f pairsFile, vectors [][]float32) reverie.ModelCalibration {
	var related, unrelated []float64
	for _, list := range [][][2]string{f.English, f.Chinese, f.Across} {
		of := vectors[:2*len(list)]
		vectors = vectors[len(of):]
		for i := range list {
			related = append(related, reverie.Cosine(of[2*i], of[2*i+1]))
			for j := range list {
				if i != j && len(vectors) > 0 { // not across
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

// divide returns the number that best tells a sorted list from one that lies above it: the
// middle of all that are best, and the mean share of each list that is on its side.
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
