package llm

import (
	"strings"

	"reverie/internal/reverie"
)

// calibrations holds floor and ceiling by embedding model: the cosine of
// unrelated short statements, and that of one fact in two wordings. They differ
// a lot between models (those trained with a low temperature squeeze everything
// into a narrow band near 1), which is why thresholds are never cosines.
//
// Only the offline one is measured here, on pairs in Chinese and English that
// stand with its tests. The others are starting points of two digits, put where
// the models' own reports and users place unrelated and paraphrased sentences;
// no more than order is promised. To calibrate a model for a group's own
// language, embed a hundred pairs of each sort, take the 90th percentile of the
// unrelated and the median of the paraphrased ones, and set [embed] floor and
// ceiling.
var calibrations = map[string]reverie.Calibration{
	"offline-ngram-v1": {Floor: 0.05, Ceiling: 0.80},

	"text-embedding-3-small": {Floor: 0.20, Ceiling: 0.85},
	"text-embedding-3-large": {Floor: 0.12, Ceiling: 0.85},
	"text-embedding-ada-002": {Floor: 0.72, Ceiling: 0.95}, // a narrow band: unrelated texts stay above 0.7

	"gemini-embedding-001": {Floor: 0.52, Ceiling: 0.93},
	"text-embedding-004":   {Floor: 0.35, Ceiling: 0.90},

	"nomic-embed-text":       {Floor: 0.42, Ceiling: 0.90},
	"mxbai-embed-large":      {Floor: 0.38, Ceiling: 0.92},
	"all-minilm":             {Floor: 0.08, Ceiling: 0.85},
	"snowflake-arctic-embed": {Floor: 0.30, Ceiling: 0.88},
	"bge-m3":                 {Floor: 0.38, Ceiling: 0.90},
	"bge-large":              {Floor: 0.45, Ceiling: 0.93}, // the v1.5 family; v1 sits above 0.6
	"bge-base":               {Floor: 0.45, Ceiling: 0.93},
	"bge-small":              {Floor: 0.45, Ceiling: 0.93},
	"qwen3-embedding":        {Floor: 0.35, Ceiling: 0.90},
	"jina-embeddings":        {Floor: 0.30, Ceiling: 0.90},
	"multilingual-e5":        {Floor: 0.74, Ceiling: 0.95}, // a narrow band by training
}

// DefaultCalibration returns the calibration of a known embedding model; ok is
// false for one that is not known, whose scores need a floor and a ceiling from
// the configuration. The name may carry what servers add to it: a vendor
// ("BAAI/bge-m3", "models/gemini-embedding-001"), a tag ("nomic-embed-text:v1.5"),
// a size or version ("bge-large-zh-v1.5"), or a width ("bge-m3@1024").
func DefaultCalibration(model string) (c reverie.Calibration, ok bool) {
	name := strings.ToLower(strings.TrimSpace(model))
	name, _, _ = strings.Cut(name, "@")
	if c, ok = calibrations[name]; ok {
		return c, true
	}
	name = name[strings.LastIndexByte(name, '/')+1:]
	name, _, _ = strings.Cut(name, ":")
	for name != "" {
		if c, ok = calibrations[name]; ok {
			return c, true
		}
		cut := strings.LastIndexByte(name, '-')
		if cut < 0 {
			break
		}
		name = name[:cut]
	}
	return reverie.Calibration{}, false
}
