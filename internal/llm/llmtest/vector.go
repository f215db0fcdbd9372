package llmtest

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// Vector is the embedding that a server gives a text: of length one, the same
// for the same text, and nearly at right angles to that of any other.
func Vector(text string, dims int) []float32 {
	sum := sha256.Sum256([]byte(text))
	random := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:8]), binary.LittleEndian.Uint64(sum[8:16])))
	v := make([]float32, dims)
	var square float64
	for i := range v {
		v[i] = float32(random.NormFloat64())
		square += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(square))
	}
	return v
}

func vectorsOf(texts []string, dims int) [][]float32 {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = Vector(text, dims)
	}
	return vectors
}
