package reverie_test

import (
	"reflect"
	"slices"
	"testing"

	"reverie/internal/reverie"
)

// TestStatsAdd adds up every count but those that are one run's.
func TestStatsAdd(t *testing.T) {
	var a, b reverie.Stats
	va, vb := reflect.ValueOf(&a).Elem(), reflect.ValueOf(&b).Elem()
	for i := range va.NumField() {
		if va.Field(i).Kind() == reflect.Int {
			va.Field(i).SetInt(int64(i + 1))
			vb.Field(i).SetInt(100)
		}
	}
	a.Add(b)
	for i := range va.NumField() {
		name, want := va.Type().Field(i).Name, int64(i+101)
		if slices.Contains([]string{"Base", "Rewritten", "Limit", "Days"}, name) {
			want = int64(i + 1)
		}
		if va.Field(i).Kind() == reflect.Int && va.Field(i).Int() != want {
			t.Errorf("%s is %d, want %d", name, va.Field(i).Int(), want)
		}
	}
}
