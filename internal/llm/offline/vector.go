package offline

import "math"

// vector hashes the features of a text, signed, into the model's dimensions and
// scales the result to length one. A text without features (empty, or nothing
// but punctuation) gets a fixed vector, since a zero vector has no cosine.
func (m *Model) vector(text string) []float32 {
	b := m.bags.Get().(*bag)
	defer m.bags.Put(b)
	b.reset()
	b.addText(fold(text))
	sums := make([]float64, m.dims)
	for _, f := range b.features {
		v := f.value()
		if f.hash>>63 == 1 {
			v = -v
		}
		sums[f.hash%uint64(m.dims)] += v
	}
	return m.normalized(sums)
}

func (m *Model) normalized(sums []float64) []float32 {
	var square float64
	for _, v := range sums {
		square += v * v
	}
	out := make([]float32, len(sums))
	if square < 1e-12 { // no features, or all of them cancelled out
		out[mix(seedWord)%uint64(m.dims)] = 1
		return out
	}
	norm := math.Sqrt(square)
	for i, v := range sums {
		out[i] = float32(v / norm)
	}
	return out
}
