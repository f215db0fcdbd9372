package jobs_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"reverie/internal/reverie"
	"reverie/jobs"
)

// TestShardStays pins which shard has a group: two versions of the binary that
// run side by side must agree.
func TestShardStays(t *testing.T) {
	for _, c := range []struct {
		group string
		want  jobs.Shard
	}{
		// printf %s g1 | sha256sum, its first 16 digits modulo the count
		{"g1", jobs.Shard{Index: 0, Count: 2}},
		{"g1", jobs.Shard{Index: 0, Count: 8}},
		{"g2", jobs.Shard{Index: 6, Count: 8}},
		{"discord:813847887657123456", jobs.Shard{Index: 2, Count: 16}},
		{"群聊", jobs.Shard{Index: 2, Count: 8}},
		{"", jobs.Shard{Index: 4, Count: 8}},
	} {
		for i := range c.want.Count {
			if got := (jobs.Shard{Index: i, Count: c.want.Count}).Has(c.group); got != (i == c.want.Index) {
				t.Errorf("%q in %d/%d: %v, want it in %s", c.group, i, c.want.Count, got, c.want)
			}
		}
	}
}

// TestShardsShare has each group in exactly one shard, and shards of like size.
func TestShardsShare(t *testing.T) {
	for _, name := range []string{"%d", "discord:81384788765712%06d", "group-%04d@wechat", "!%x:example.org"} {
		for _, count := range []int{2, 3, 8, 10, 64} {
			sizes := make([]int, count)
			const groups = 5_000
			for n := range groups {
				id, owners := fmt.Sprintf(name, n), 0
				for i := range count {
					if (jobs.Shard{Index: i, Count: count}).Has(id) {
						sizes[i]++
						owners++
					}
				}
				if owners != 1 {
					t.Fatalf("%q is in %d of %d shards", id, owners, count)
				}
			}
			// Within five standard deviations of the mean.
			mean := float64(groups) / float64(count)
			for i, size := range sizes {
				if d := float64(size) - mean; d*d > 25*mean {
					t.Errorf("%s: shard %d/%d has %d groups, the mean is %.0f", name, i, count, size, mean)
				}
			}
		}
	}
	if all := (jobs.Shard{}); !all.Has("g1") || !all.Has("") {
		t.Error("the zero shard leaves groups out")
	}
}

func TestParseShard(t *testing.T) {
	for text, want := range map[string]jobs.Shard{"0/1": {0, 1}, "2/8": {2, 8}, "7/8": {7, 8}, "9999/10000": {9999, 10_000}} {
		if got, err := jobs.ParseShard(text); err != nil || got != want || got.String() != text {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"": "such as 0/8", "2": "such as 0/8", "/": "such as 0/8", "a/b": "such as 0/8", "-1/8": "such as 0/8", "1/2/3": "such as 0/8", " 1/2": "such as 0/8",
		"1/99999999999999999999": "such as 0/8", "8/8": "write 0/8 to 7/8", "0/0": "must be 1 to", "0/10001": "must be 1 to",
	} {
		if got, err := jobs.ParseShard(text); !errors.Is(err, reverie.ErrInvalid) || !strings.Contains(err.Error(), want) || got != (jobs.Shard{}) {
			t.Errorf("%q: %v, %v; want %q", text, got, err, want)
		}
	}
}
