package prompts

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reverie/internal/reverie"
)

func TestReplaced(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const good = "---\nname: memory_evolve\nversion: 42\n---\n最多 {{.MaxCreates}} 条：`action` `old_id` `statement` `evidence` `quote`"
	set, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	before, _ := set.Version(MemoryEvolve, Chinese)
	own := filepath.Dir(write("set/memory_evolve.zh.md", good))
	for name, c := range map[string]struct{ path, en, zh, fails string }{
		"of any name":          {write("new.txt", good), "42", "42", ""},
		"by language":          {write("memory_evolve.zh.md", good), before, "42", ""},
		"a directory":          {own, before, "42", ""},
		"not there":            {filepath.Join(dir, "none.md"), "", "", "none.md"},
		"another one":          {write("dream.en.md", good), "", "", "a dream"},
		"no head":              {write("bare.md", "Say"), "", "", "bare.md"},
		"misspelt":             {write("bad.md", strings.Replace(good, "MaxCreates", "Creates", 1)), "", "", "Creates"},
		"asks for no evidence": {write("vain.md", strings.Replace(good, "`evidence`", "evidence", 1)), "", "", `never names "evidence"`},
		"empty":                {write("empty.md", "---\nname: memory_evolve\nversion: 1\n---\n "), "", "", "empty"},
	} {
		got, err := set.Replaced(MemoryEvolve, c.path)
		if c.fails != "" {
			if err == nil || !errors.Is(err, reverie.ErrConfiguration) || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v, want a configuration error with %q", name, err, c.fails)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		en, _ := got.Version(MemoryEvolve, English)
		if zh, _ := got.Version(MemoryEvolve, Chinese); en != c.en || zh != c.zh {
			t.Errorf("%s: versions %s and %s, want %s and %s", name, en, zh, c.en, c.zh)
		}
	}
	if now, _ := set.Version(MemoryEvolve, Chinese); now != before {
		t.Error("the set itself was changed")
	}
}
