package recall

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// pairsText are texts that are related, and with them texts that are not.
//
//go:embed pairs.txt
var pairsText string

// pairsVersion is that of the pairs: what was measured with others is measured again.
const pairsVersion = 1

// CalibrationStore keeps what was measured.
type CalibrationStore interface {
	// Calibration returns what was measured of a model (name@dims) with one version of the
	// pairs, false where nothing was.
	Calibration(ctx context.Context, model string, pairs int) (reverie.Calibration, bool, error)
	SaveCalibration(ctx context.Context, model string, pairs int, c reverie.Calibration) error
}

// Calibrator knows what the cosines of an embedding model mean. It measures them on the model's
// first use, once for all processes of a database. It is safe for concurrent use.
type Calibrator struct {
	Store      CalibrationStore
	Embeddings Embeddings
	Fallback   reverie.Calibration // while they cannot be measured
	Log        *slog.Logger

	mu    sync.Mutex
	known map[string]reverie.Calibration // by key of the model
}

// Of is the calibration of the model. Whoever comes while it is measured waits for that. Where it
// cannot be, it is the fallback, for as long as this process lives; the log says so.
func (c *Calibrator) Of(ctx context.Context, groupID string) reverie.Calibration {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := c.Embeddings.Key()
	if known, ok := c.known[key]; ok {
		return known
	}
	found, err := c.find(ctx, groupID)
	if err != nil {
		if ctx.Err() != nil {
			return c.Fallback // whoever comes next has more time
		}
		c.Log.Warn("what the scores of the embedding model mean could not be measured: what is known of it by its name counts", "model", key, "error", err)
		found = c.Fallback
	}
	if c.known == nil {
		c.known = map[string]reverie.Calibration{}
	}
	c.known[c.Embeddings.Key()] = found // measuring may have settled the width
	return found
}

// find looks up what was measured, or measures.
func (c *Calibrator) find(ctx context.Context, groupID string) (reverie.Calibration, error) {
	found, ok, err := c.Store.Calibration(ctx, c.Embeddings.Key(), pairsVersion)
	if err != nil || ok {
		return found, err
	}
	if found, err = Measure(ctx, c.Embeddings, groupID); err != nil {
		return found, err
	}
	return found, c.Store.SaveCalibration(ctx, c.Embeddings.Key(), pairsVersion, found)
}

// Measure embeds the pairs. The floor is the median cosine of unrelated texts. The cosine that
// tells related texts of one language from unrelated ones best gets the score
// [reverie.RelatedScore].
func Measure(ctx context.Context, e Embeddings, groupID string) (reverie.Calibration, error) {
	sections := pairSections()
	var texts []string
	for _, s := range sections {
		for _, p := range s {
			texts = append(texts, p.asked, p.told)
		}
	}
	vectors, err := e.Embed(ctx, llm.Meta{GroupID: groupID, Purpose: "calibrate"}, texts)
	if err != nil {
		return reverie.Calibration{}, fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	var all, related, unrelated []float64
	for i, s := range sections {
		of := vectors[:2*len(s)]
		vectors = vectors[len(of):]
		for asked := range s {
			for told := range s {
				cosine := reverie.Cosine(of[2*asked], of[2*told+1])
				switch oneLanguage := i < len(sections)-1; {
				case asked != told:
					all = append(all, cosine)
					if oneLanguage {
						unrelated = append(unrelated, cosine)
					}
				case oneLanguage:
					related = append(related, cosine)
				}
			}
		}
	}
	slices.Sort(all)
	c := reverie.Calibration{Floor: all[len(all)/2]}
	c.Ceiling = c.Floor + (divide(related, unrelated)-c.Floor)/reverie.RelatedScore
	if !(c.Ceiling > c.Floor) {
		return c, fmt.Errorf("related texts come no nearer than unrelated ones: floor %.3f, ceiling %.3f: %w", c.Floor, c.Ceiling, reverie.ErrConfiguration)
	}
	return c, nil
}

// divide is the number from which most of the upper and fewest of the lower are, each counted as
// a share. Of a range of numbers that divide alike it is the middle.
func divide(upper, lower []float64) float64 {
	slices.Sort(upper)
	slices.Sort(lower)
	at, best := 0.0, -1.0
	for i, u := range upper {
		n, _ := slices.BinarySearch(lower, u)
		if got := float64(len(upper)-i)/float64(len(upper)) + float64(n)/float64(len(lower)); got > best {
			at, best = u, got
			if n > 0 {
				at = (u + max(lower[n-1], upper[max(i-1, 0)])) / 2
			}
		}
	}
	return at
}

// askedTold is a question and what answers it.
type askedTold struct{ asked, told string }

// pairSections are the parts of the file; the last one is across languages.
var pairSections = sync.OnceValue(func() (sections [][]askedTold) {
	for line := range strings.Lines(pairsText) {
		line = strings.TrimSpace(line)
		asked, told, is := strings.Cut(line, " | ")
		switch {
		case strings.HasPrefix(line, "["):
			sections = append(sections, nil)
		case is && !strings.HasPrefix(line, "#"):
			last := len(sections) - 1
			sections[last] = append(sections[last], askedTold{asked, told})
		}
	}
	return sections
})
