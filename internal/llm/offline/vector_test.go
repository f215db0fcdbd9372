package offline

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"reverie/internal/reverie"
)

func embed(t testing.TB, m *Model, texts ...string) [][]float32 {
	t.Helper()
	vectors, usage, err := m.Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	if len(vectors) != len(texts) || usage.OutputTokens != 0 {
		t.Fatalf("%d vectors of %d texts, usage %+v", len(vectors), len(texts), usage)
	}
	return vectors
}

func dot(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func scores(t testing.TB, pairs [][2]string) []float64 {
	t.Helper()
	var out []float64
	for _, p := range pairs {
		v := embed(t, New(0), p[0], p[1])
		out = append(out, Calibration.Score(dot(v[0], v[1])))
	}
	slices.Sort(out)
	return out
}

// unrelated pairs each statement with those of other subjects.
func unrelated() [][2]string {
	var out [][2]string
	for i := range restated {
		for j := range restated {
			if d := j - i; d == 1 || d == 5 || d == 7 || d == 11 {
				out = append(out, [2]string{restated[i][0], restated[j][1]})
			}
		}
	}
	return out
}

// The calibration is measured here: it has to be chosen anew when the features
// change, which also changes the model's name.
func TestScoreSeparatesRestatedFromUnrelated(t *testing.T) {
	same, near, other := scores(t, restated), scores(t, related), scores(t, unrelated())
	describe := func(s []float64) []float64 {
		return []float64{s[0], s[len(s)/10], s[len(s)/2], s[len(s)*9/10], s[len(s)-1]}
	}
	t.Logf("min, 10%%, median, 90%%, max: restated %.2f related %.2f unrelated %.2f", describe(same), describe(near), describe(other))
	if low := same[len(same)/10]; low < 0.7 {
		t.Errorf("a tenth of the restated pairs score below 0.7: %.2f", low)
	}
	if high := near[len(near)-1]; high >= 0.7 {
		t.Errorf("a pair that does not say the same scores %.2f", high)
	}
	if high := other[len(other)-1]; high >= 0.3 {
		t.Errorf("an unrelated pair scores %.2f", high)
	}
	if m := other[len(other)/2]; m > 0.05 {
		t.Errorf("unrelated pairs score %.2f in the middle, not about 0", m)
	}
}

func TestQueriesFindTheirStatementFirst(t *testing.T) {
	m := New(0)
	var statements []string
	for _, p := range restated {
		statements = append(statements, p[0])
	}
	vectors := embed(t, m, statements...)
	for _, q := range queries {
		v := embed(t, m, q.query)[0]
		best := 0
		for i := range vectors {
			if dot(v, vectors[i]) > dot(v, vectors[best]) {
				best = i
			}
		}
		score := Calibration.Score(dot(v, vectors[best]))
		t.Logf("%-30s %.2f %s", q.query, score, statements[best])
		if !strings.Contains(statements[best], q.words) {
			t.Errorf("%q finds %q, not one with %q", q.query, statements[best], q.words)
		}
		if score <= 0 {
			t.Errorf("%q scores 0", q.query)
		}
	}
}

func TestVectorsAreUnitAndDeterministic(t *testing.T) {
	texts := []string{"", " ", "。！？", "....", "😀", "a", "的", "the", "\x00\xff", "周会", "hello world", strings.Repeat("lorem ipsum ", 500)}
	for _, dims := range []int{1, 7, 64, 1536} {
		m := New(dims)
		first, second := embed(t, m, texts...), embed(t, New(dims), texts...)
		for i, v := range first {
			if len(v) != dims || !slices.Equal(v, second[i]) {
				t.Errorf("dims %d, %q: length %d, or not the same twice", dims, texts[i], len(v))
			}
			if err := reverie.CheckVector(v); err != nil {
				t.Errorf("dims %d, %q: %v", dims, texts[i], err)
			}
			if n := dot(v, v); math.Abs(n-1) > 1e-4 {
				t.Errorf("dims %d, %q: squared norm %v", dims, texts[i], n)
			}
		}
	}
}

func TestVectorIgnoresWidthAndCase(t *testing.T) {
	for _, p := range [][2]string{
		{"Weekly Meeting", "weekly meeting"},
		{"ＡＢＣ１２３ 周会", "abc123 周会"},
		{"周\u200b会", "周会"},
	} {
		v := embed(t, New(0), p[0], p[1])
		if d := dot(v[0], v[1]); d < 0.9999 {
			t.Errorf("%q and %q: cosine %v", p[0], p[1], d)
		}
	}
}

func TestEmbedStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := New(0).Embed(ctx, []string{"a"}); err == nil {
		t.Error("embedded for a caller that has gone")
	}
}

func FuzzEmbed(f *testing.F) {
	for _, s := range []string{"", "周会 weekly", "a'b’c++ 7:30 3.5", "\xff\xfe", "İıſ", "ﬁ⁉️👨‍👩‍👧", "가나다 กขค"} {
		f.Add(s)
	}
	m := New(256)
	f.Fuzz(func(t *testing.T, s string) {
		v := m.vector(s)
		if err := reverie.CheckVector(v); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(v, m.vector(s)) {
			t.Fatal("not the same twice")
		}
	})
}

func BenchmarkEmbed(b *testing.B) {
	for name, text := range map[string]string{
		"english": strings.Repeat("The group plays badminton every Thursday evening at the riverside gym, and Lin books the court. ", 4),
		"chinese": strings.Repeat("每周四晚上七点半在滨江体育馆打羽毛球，老K 负责订场，迟到的人捡球。", 4),
	} {
		b.Run(name, func(b *testing.B) {
			m := New(0)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				m.vector(text)
			}
		})
	}
}
