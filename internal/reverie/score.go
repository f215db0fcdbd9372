package reverie

import (
	"fmt"
	"math"
)

// Calibration turns a cosine into a score that means the same for every
// embedding model: 0 at Floor (unrelated texts), 1 at Ceiling (the same fact).
// Thresholds are always in this unit.
type Calibration struct {
	Floor, Ceiling float64 // cosines, Floor < Ceiling
}

// Score returns (cosine - floor) / (ceiling - floor), clamped to 0..1.
func (c Calibration) Score(cosine float64) float64 {
	return min(max((cosine-c.Floor)/(c.Ceiling-c.Floor), 0), 1)
}

// Cosine returns the cosine whose score is s, for pushing a threshold down to
// the database. It is -1 for s <= 0, since everything scores at least 0.
func (c Calibration) Cosine(s float64) float64 {
	if s <= 0 {
		return -1
	}
	return c.Floor + s*(c.Ceiling-c.Floor)
}

// CheckVector refuses vectors whose cosine would be NaN or meaningless: empty,
// all zero, or with a value that is not finite. Its errors are [ErrInvalid].
func CheckVector(v []float32) error {
	if len(v) == 0 {
		return fmt.Errorf("embedding is empty: %w", ErrInvalid)
	}
	var norm float64
	for i, x := range v {
		f := float64(x)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("embedding value %d is not finite: %w", i, ErrInvalid)
		}
		norm += f * f
	}
	if norm == 0 {
		return fmt.Errorf("embedding has norm zero: %w", ErrInvalid)
	}
	return nil
}

// Cosine is that of two vectors, -1 where there is none: they differ in width, or one
// has no direction.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return -1
	}
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return -1
	}
	return dot / math.Sqrt(aa*bb)
}
