package e2e

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
)

// measured counts how often the pairs of the calibration were embedded.
func (s *stage) measured() (n int) {
	for _, r := range s.model.Requests() {
		if len(r.Texts) == len(llm.CalibrationTexts()) {
			n++
		}
	}
	return n
}

// huddled are embeddings of a model which puts all texts into one corner.
func huddled(texts []string) [][]float32 {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = append([]float32{2}, llmtest.Vector(text, 255)...)
	}
	return vectors
}

// TestDoctorWithoutModel: what one setting mends is told once, and what searches do without one is no fault.
func TestDoctorWithoutModel(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set("REVERIE_LLM_PROVIDER=", "REVERIE_LLM_API_KEY=", "REVERIE_LLM_BASE_URL=")
	o := s.run("doctor").want(t, 2, "1 check failed").shows(t, "ok  embeddings", "offline-ngram-v1@1536; searches use it, by spelling and not by meaning", "ok  calibration")
	if n := strings.Count(o.stdout, "no model is configured:"); n != 1 {
		t.Errorf("said %d times:\n%s", n, o.stdout)
	}
}

// TestDoctorShowsCalibration: the first process that uses a model measures it, the others
// read what is kept, and the doctor shows it.
func TestDoctorShowsCalibration(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(scribe(t))
	s.bring("g1", chat("2025-03-03", "note The projector lives in the cupboard")...)
	s.launch("evolve", "--group", "g1").end().want(t, 0)
	s.launch("memory", "search", "--group", "g1", "The projector lives in the cupboard").end().want(t, 0).shows(t, "1.00").silent(t)
	s.launch("doctor").end().want(t, 0).shows(t, "text-embedding-3-small@1536: floor", "related", "ceiling", "with pairs 1, of which 100% are told apart")
	if n := s.measured(); n != 1 {
		t.Errorf("the pairs were embedded %d times", n)
	}
	if calls := s.rows(`select group_id, purpose, outcome from llm_calls where purpose = 'calibrate'`); len(calls) != 1 || calls[0] != "g1|calibrate|ok" {
		t.Errorf("the ledger has %q", calls)
	}
	if cached := s.one(`select count(*) from embedding_cache where group_id = 'g1'`); cached > "4" {
		t.Errorf("%s vectors are cached for the group: the pairs are none of its", cached)
	}
	s.set("REVERIE_EMBED_FLOOR=0.2", "REVERIE_EMBED_CEILING=0.7")
	s.run("doctor").want(t, 0).shows(t, "floor 0.200, related 0.550, ceiling 0.700, not measured")
	s.set("REVERIE_EMBED_FLOOR=0", "REVERIE_EMBED_CEILING=0", "REVERIE_EMBED_MODEL=noise")
	s.model.RespondEmbeddings(func(llmtest.Request) llmtest.Answer {
		return llmtest.Answer{Vectors: func(texts []string) [][]float32 {
			vectors := make([][]float32, len(texts))
			for i, text := range texts {
				vectors[i] = llmtest.Vector(text+"?", 64)
			}
			return vectors
		}}
	})
	s.run("doctor").want(t, 0).shows(t, "warning: noise@64: floor 0.000, related 0.700, ceiling 1.000", "choose another model")
}

// TestScoresOfTwoModels: what one model puts into a narrow band scores as by another one. The
// two Chinese texts are a pair of the calibration, which the server has come near each other.
func TestScoresOfTwoModels(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(scribe(t))
	s.bring("g1", chat("2025-03-03", "note 群里不许发广告", "note The projector lives in the cupboard")...)
	s.run("evolve", "--group", "g1").want(t, 0)
	search := func() map[string]float64 {
		found := map[string]float64{}
		doc := s.run("memory", "search", "--group", "g1", "--threshold", "0", "--json", "禁止在本群做推广").want(t, 0).document(t)
		for _, r := range doc["results"].(list) {
			found[r.(object)["statement"].(string)] = r.(object)["score"].(float64)
		}
		return found
	}
	wide := search()
	s.set("REVERIE_EMBED_MODEL=huddled")
	s.model.RespondEmbeddings(func(llmtest.Request) llmtest.Answer { return llmtest.Answer{Vectors: huddled} })
	narrow := search()
	if len(wide) != 2 || len(narrow) != 2 {
		t.Fatalf("%v, %v", wide, narrow)
	}
	for statement, score := range wide {
		if math.Abs(narrow[statement]-score) > 0.15 || (score >= 0.7) != (statement == "群里不许发广告") {
			t.Errorf("%q scores %.2f by one model, and %.2f by the other", statement, score, narrow[statement])
		}
	}
}

// TestLocalEmbedder: a table in a directory embeds in the process. Where there is none, what
// needs it says what to do, and a search goes by words.
func TestLocalEmbedder(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(scribe(t))
	dir, err := filepath.Abs("../../internal/llm/static/testdata/unigram")
	if err != nil {
		t.Fatal(err)
	}
	s.set("REVERIE_EMBED_PROVIDER=local")
	s.run("doctor").want(t, 2).shows(t, "set REVERIE_EMBED_MODEL to the directory")
	s.set("REVERIE_EMBED_MODEL=" + dir)
	s.bring("g1", chat("2025-03-03", "note The projector lives in the cupboard")...)
	s.run("evolve", "--group", "g1").want(t, 0)
	s.run("memory", "search", "--group", "g1", "The projector lives in the cupboard").want(t, 0).shows(t, "1.00")
	s.run("doctor").want(t, 0).shows(t, "local/unigram-", "@6: floor")
	if n := s.one(`select count(*) from memories where embedding_model like 'unigram-%@6'`); n != "1" {
		t.Errorf("%s memories have a vector", n)
	}
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(copied, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	s.set("REVERIE_EMBED_MODEL=" + copied)
	s.run("memory", "search", "--group", "g1", "where is the projector").want(t, 0, "by their words alone", copied, "model.safetensors").shows(t, "cupboard")
	s.bring("g1", chat("2025-03-04", "note Tea is at four")...)
	s.run("evolve", "--group", "g1").want(t, 2, copied, "model2vec")
}
