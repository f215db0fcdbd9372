package rest_test

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// hold sends a generated request as somebody of one group, and holds the answer against
// what is promised of all answers.
func (w *world) hold(t testing.TB, g *generator, op *huma.Operation) int {
	r := g.request(op)
	if token := g.token(w, op); token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	asked := r.Method + " " + r.URL.String()
	a := httptest.NewRecorder()
	w.handler.ServeHTTP(a, r)
	switch {
	case a.Code >= 500:
		t.Errorf("%.300s is a %d: %.300s", asked, a.Code, a.Body)
	case a.Code >= 300:
		problemIn(t, a)
		if a.Body.Len() > 16<<10 {
			t.Errorf("%.300s: a problem of %d bytes", asked, a.Body.Len())
		}
	case r.URL.Path != "" && a.Code < 300:
		w.fits(t, op, a)
	}
	if strings.Contains(a.Body.String(), w.theirs.mark) {
		t.Errorf("%.300s tells of another group: %.300s", asked, a.Body)
	}
	return a.Code
}

// TestRoutes sends some two thousand generated requests, the same ones every time.
func TestRoutes(t *testing.T) {
	w := newWorld(t)
	g := w.generator(rand.NewPCG(8, 470))
	statuses := map[int]int{}
	operations := allOperations(w.doc)
	for i := range 2000 {
		op := operations[i%len(operations)]
		statuses[w.hold(t, g, op)]++
		if t.Failed() {
			t.Fatalf("request %d, of %s", i, op.OperationID)
		}
	}
	t.Log(statuses)
	for _, status := range []int{200, 400, 401, 403, 404, 409, 415, 422} {
		if statuses[status] == 0 {
			t.Errorf("nothing of it was answered by %d: %v", status, statuses)
		}
	}
}

// FuzzRoutes takes what it generates from the input: a byte a choice.
func FuzzRoutes(f *testing.F) {
	w := newWorld(f)
	operations := allOperations(w.doc)
	for i := range 4 {
		f.Add([]byte{byte(i * 64), 1, 200, 77, 31})
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		g := w.generator(newChoices(choices))
		w.hold(t, g, pick(g, operations))
	})
}

// choices is a source whose first numbers are bytes that are given.
type choices struct {
	given []byte
	rest  *rand.PCG
}

func newChoices(given []byte) *choices {
	sum := fnv.New64a()
	_, _ = sum.Write(given)
	return &choices{slices.Clone(given), rand.NewPCG(sum.Sum64(), 1)}
}

func (c *choices) Uint64() uint64 {
	if len(c.given) == 0 {
		return c.rest.Uint64()
	}
	b := c.given[0]
	c.given = c.given[1:]
	return binary.BigEndian.Uint64([]byte{b, b, b, b, b, b, b, b})
}
