package pg

import (
	"reflect"
	"testing"
	"time"
)

// TestField: what the driver reads goes where it belongs, and NULL empties it.
func TestField(t *testing.T) {
	type name string
	type point struct{ X, Y int }
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct{ from, want any }{
		{"a", name("a")}, {[]byte("12.5"), 12.5}, {[]byte("7"), 7}, {int64(3), 3}, {int64(3), 3.0}, {true, true},
		{at, at}, {at, &at}, {[]byte(`{a,"b c"}`), []name{"a", "b c"}}, {[]byte(`{1,2}`), []int{1, 2}}, {[]byte(`{}`), []int{}},
		{[]byte(`{"X":1}`), point{X: 1}}, {[]byte(`{"X":1}`), &point{X: 1}}, {[]byte(`[{"Y":2}]`), []point{{Y: 2}}},
		{[]byte(`{"a":1}`), map[string]int{"a": 1}}, {[]byte{1, 2}, []byte{1, 2}}, {[]byte(`"x"`), JSON[name]{V: "x"}},
	} {
		into := reflect.New(reflect.TypeOf(c.want)).Elem()
		if err := (field{into}).Scan(c.from); err != nil || !reflect.DeepEqual(into.Interface(), c.want) {
			t.Errorf("%T %v became %#v (%v), want %#v", c.from, c.from, into.Interface(), err, c.want)
		}
		if err := (field{into}).Scan(nil); err != nil || !into.IsZero() {
			t.Errorf("NULL became %#v (%v)", into.Interface(), err)
		}
	}
	for _, c := range []struct{ from, into any }{{"x", 1}, {int64(300), int8(0)}, {"x", at}, {1.5, 1}, {true, "x"}, {"x", true}} {
		if err := (field{reflect.New(reflect.TypeOf(c.into)).Elem()}).Scan(c.from); err == nil {
			t.Errorf("%T %v went into a %T", c.from, c.from, c.into)
		}
	}
}
