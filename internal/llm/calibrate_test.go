package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// shape is an embedder whose geometry is known: any two texts have the cosine unrelated, and
// those of a pair up to bearing more, the pairs in even steps from half of it on.
type shape struct {
	unrelated, bearing float64
	random             bool // no geometry at all
	apart              bool // texts of a pair are further apart than others

	mu    sync.Mutex
	calls int
	fail  error
	gate  chan struct{} // nil: answers at once
}

func (s *shape) Embed(ctx context.Context, texts []string) ([][]float32, Usage, error) {
	s.mu.Lock()
	s.calls++
	fail, gate := s.fail, s.gate
	s.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if fail != nil {
		return nil, Usage{}, fail
	}
	all := pairs().texts()
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 1+len(all)/2+len(all))
		at := slices.Index(all, text)
		if at < 0 || s.random {
			r := rand.New(rand.NewPCG(uint64(len(text)), uint64(at+2)))
			for j := range vectors[i] {
				vectors[i][j] = float32(r.NormFloat64())
			}
			continue
		}
		bearing := s.bearing * (0.5 + float64(at/2)/float64(len(all)))
		vectors[i][0] = float32(math.Sqrt(s.unrelated))
		vectors[i][1+at/2] = float32(math.Sqrt(bearing))
		if s.apart && at%2 == 1 {
			vectors[i][1+at/2] *= -1
		}
		vectors[i][1+len(all)/2+at] = float32(math.Sqrt(1 - s.unrelated - bearing))
	}
	return vectors, Usage{InputTokens: 1}, nil
}

func (s *shape) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// shelf keeps calibrations as the database does.
type shelf struct {
	mu   sync.Mutex
	kept map[string]reverie.ModelCalibration
	deny error // of keeping
}

func (s *shelf) ModelCalibration(_ context.Context, model string, pairs int) (reverie.ModelCalibration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, found := s.kept[model]; found && c.Pairs >= pairs {
		return c, nil
	}
	return reverie.ModelCalibration{}, reverie.ErrNotFound
}

func (s *shelf) KeepModelCalibration(_ context.Context, c reverie.ModelCalibration) (reverie.ModelCalibration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deny != nil {
		return c, s.deny
	}
	if s.kept == nil {
		s.kept = map[string]reverie.ModelCalibration{}
	}
	s.kept[c.Model] = c
	return c, nil
}

func calibrator(t *testing.T, e Embedder, store CalibrationStore) (*Calibrator, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	account := Account{Provider: "fake", Model: "shape", Policy: NewPolicy(PolicyOptions{Attempts: 1, BreakerFailures: -1})}
	c := &Calibrator{Embeddings: NewEmbeddings(e, account, EmbeddingOptions{}), Store: store, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }}
	if _, err := c.Embeddings.Embed(t.Context(), Meta{}, []string{"settles the width"}); err != nil {
		t.Fatal(err)
	}
	return c, &log
}

// TestCalibrationsMeanTheSame: whether a model puts all texts into a narrow band or has them
// far apart, unrelated ones score 0, and those of every pair the score from which texts bear
// on each other.
func TestCalibrationsMeanTheSame(t *testing.T) {
	for name, s := range map[string]*shape{
		"narrow": {unrelated: 0.8, bearing: 0.06}, "wide": {unrelated: 0.05, bearing: 0.8}, "none in common": {unrelated: 0, bearing: 0.3},
	} {
		c, log := calibrator(t, s, &shelf{})
		m, err := c.Measured(t.Context(), "g1")
		if err != nil {
			t.Fatal(err)
		}
		least, most := s.unrelated+s.bearing/2, s.unrelated+s.bearing
		if m.Accuracy != 1 || !TellsApart(m) || log.Len() > 0 {
			t.Errorf("%s: %+v, log %s", name, m, log)
		}
		if m.Score(s.unrelated) > 1e-3 || m.Score(least-1e-6) < reverie.RelatedScore || m.Score(most) < 1 || m.Score((s.unrelated+least)/2) > reverie.RelatedScore+0.01 {
			t.Errorf("%s: %+v; unrelated texts score %v, pairs %v to %v", name, m, m.Score(s.unrelated), m.Score(least), m.Score(most))
		}
		if m.Ceiling >= most || m.Model != fmt.Sprintf("shape@%d", 1+3*len(pairs().texts())/2) || m.Pairs != pairs().Version || m.MeasuredAt.Day() != 2 {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// TestUselessModels: the cosines of a model that cannot tell pairs apart, or takes them the
// wrong way round, are taken as they are, with a warning, and it is not asked again.
func TestUselessModels(t *testing.T) {
	for name, s := range map[string]*shape{"random": {random: true}, "all alike": {unrelated: 0.9}, "the wrong way round": {unrelated: 0.5, bearing: 0.4, apart: true}} {
		store := &shelf{}
		c, log := calibrator(t, s, store)
		m, err := c.Measured(t.Context(), "g1")
		if err != nil || TellsApart(m) || m.Calibration != (reverie.Calibration{Floor: 0, Related: 0.7, Ceiling: 1}) || math.Abs(m.Score(0.9)-0.9) > 1e-9 {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		if !strings.Contains(log.String(), "does not tell related texts from unrelated ones") {
			t.Errorf("%s: %s", name, log)
		}
		before := s.asked()
		again, log := calibrator(t, s, store)
		if m, err := again.Measured(t.Context(), "g1"); err != nil || TellsApart(m) || s.asked() != before+1 || log.Len() == 0 {
			t.Errorf("%s, in the next process: %+v, %v after %d calls, log %s", name, m, err, s.asked()-before, log)
		}
	}
}

// TestMeasuredOnce: of many at once in one process one asks, the next process reads, and
// pairs of another version are asked for anew.
func TestMeasuredOnce(t *testing.T) {
	s, store := &shape{unrelated: 0.2, bearing: 0.5}, &shelf{}
	c, _ := calibrator(t, s, store)
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			if cal, err := c.Calibrate(context.Background(), "g1"); err != nil || cal.Related == 0 {
				t.Errorf("%+v, %v", cal, err)
			}
		})
	}
	wait.Wait()
	if n := s.asked(); n != 2 { // the width, and all pairs in one call
		t.Errorf("%d calls", n)
	}
	next, _ := calibrator(t, s, store)
	if _, err := next.Calibrate(t.Context(), "g2"); err != nil || s.asked() != 3 {
		t.Errorf("the next process: %v, after %d calls", err, s.asked())
	}
	for model, m := range store.kept {
		m.Pairs--
		store.kept[model] = m
	}
	newer, _ := calibrator(t, s, store)
	if _, err := newer.Calibrate(t.Context(), "g2"); err != nil || s.asked() != 5 {
		t.Errorf("with other pairs: %v, after %d calls", err, s.asked())
	}
}

// TestMeasuringFails: who cannot measure has an error, and the next one tries again; what
// cannot be kept is used; who waits no longer leaves the work to the next.
func TestMeasuringFails(t *testing.T) {
	s, store := &shape{unrelated: 0.2, bearing: 0.5}, &shelf{deny: errors.New("read only")}
	c, log := calibrator(t, s, store)
	s.fail = errors.New("down")
	if _, err := c.Calibrate(t.Context(), "g1"); !errors.Is(err, s.fail) {
		t.Errorf("of a model that is down: %v", err)
	}
	s.mu.Lock()
	s.fail, s.gate = nil, make(chan struct{})
	s.mu.Unlock()
	before := s.asked()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Calibrate(ctx, "g1"); !errors.Is(err, context.Canceled) {
		t.Errorf("of who waits no longer: %v", err)
	}
	close(s.gate)
	cal, err := c.Calibrate(t.Context(), "g1")
	if err != nil || cal.Related == 0 || s.asked() != before+1 || !strings.Contains(log.String(), "not kept") {
		t.Errorf("%+v, %v after %d calls, log %s", cal, err, s.asked()-before, log)
	}
	if again, err := c.Calibrate(t.Context(), "g1"); again != cal || err != nil || s.asked() != before+1 {
		t.Errorf("then %+v, %v after %d calls", again, err, s.asked()-before)
	}
}

// TestPairs: each text stands in the file once, since a text of two pairs has them related.
func TestPairs(t *testing.T) {
	f := pairs()
	seen := map[string]bool{}
	for _, text := range f.texts() {
		if seen[text] || strings.TrimSpace(text) != text || text == "" {
			t.Errorf("%q", text)
		}
		seen[text] = true
	}
	if f.Version < 1 || len(f.English) < 10 || len(f.Chinese) != len(f.English) || len(f.Across) < 5 {
		t.Errorf("version %d, %d English pairs, %d Chinese, %d across", f.Version, len(f.English), len(f.Chinese), len(f.Across))
	}
}

// TestDivide finds the number that has most on its right side, also where none has all.
func TestDivide(t *testing.T) {
	for _, c := range []struct {
		low, high    []float64
		at, accuracy float64
	}{
		{[]float64{0.1, 0.2}, []float64{0.6, 0.8}, 0.4, 1},
		{[]float64{0.1, 0.2, 0.3, 0.7}, []float64{0.5, 0.6, 0.8, 0.9}, 0.4, 0.875},
		{[]float64{0.1, 0.3}, []float64{0.2, 0.4}, 0.25, 0.75}, // two are best, and this is between them
	} {
		if at, accuracy := divide(c.low, c.high); math.Abs(at-c.at) > 1e-9 || math.Abs(accuracy-c.accuracy) > 1e-9 {
			t.Errorf("%v and %v: %v, %v", c.low, c.high, at, accuracy)
		}
	}
}
