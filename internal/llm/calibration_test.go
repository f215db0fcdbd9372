package llm

import "testing"

func TestDefaultCalibrationKnowsModelsByTheirNames(t *testing.T) {
	for _, c := range []struct{ model, same string }{
		{"offline-ngram-v1@1536", "offline-ngram-v1"},
		{"Text-Embedding-3-Small", "text-embedding-3-small"},
		{"models/gemini-embedding-001", "gemini-embedding-001"},
		{"nomic-embed-text:v1.5", "nomic-embed-text"},
		{"nomic-embed-text:latest", "nomic-embed-text"},
		{"BAAI/bge-m3", "bge-m3"},
		{"BAAI/bge-large-zh-v1.5", "bge-large"},
		{"intfloat/multilingual-e5-large-instruct", "multilingual-e5"},
		{"sentence-transformers/all-MiniLM-L6-v2", "all-minilm"},
		{"Qwen/Qwen3-Embedding-0.6B", "qwen3-embedding"},
	} {
		got, ok := DefaultCalibration(c.model)
		if want := calibrations[c.same]; !ok || got != want {
			t.Errorf("%s: %v, %v; want %v", c.model, got, ok, want)
		}
	}
	for _, model := range []string{"", "@1536", "/", ":", "my-embedder", "text-embedding", "text-embedding-3", "gpt-5", "bge"} {
		if c, ok := DefaultCalibration(model); ok {
			t.Errorf("%q is taken for a known model: %v", model, c)
		}
	}
}

func TestCalibrationsAreRanges(t *testing.T) {
	for model, c := range calibrations {
		if c.Floor < -1 || c.Ceiling > 1 || c.Ceiling-c.Floor < 0.1 {
			t.Errorf("%s: %v is no range of cosines", model, c)
		}
	}
}
