package config

import (
	"fmt"
	"strings"
)

// suggest says which of the known names is meant by an unknown one, or nothing
// where none is near.
func suggest(name string, known []string) string {
	best, distance := "", len(name)/3+1
	for _, k := range known {
		if d := editDistance(plainName(name), plainName(k)); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", best)
}

// plainName makes llm.api_key, LLM_API_KEY and llm.api-key the same.
func plainName(s string) string {
	return strings.NewReplacer(".", "", "_", "", "-", "").Replace(strings.ToLower(s))
}

// editDistance counts the letters to add, drop, change or swap with their
// neighbour that lead from a to b.
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	row := func() []int { return make([]int, len(t)+1) }
	before, last, now := row(), row(), row()
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(s); i++ {
		now[0] = i
		for j := 1; j <= len(t); j++ {
			change := 1
			if s[i-1] == t[j-1] {
				change = 0
			}
			now[j] = min(last[j]+1, now[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				now[j] = min(now[j], before[j-2]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(t)]
}

func (s *schema) sectionNames() []string {
	names := make([]string, len(s.sections))
	for i, x := range s.sections {
		names[i] = x.path
	}
	return names
}

func (s *schema) settingNames() []string {
	names := make([]string, len(s.settings))
	for i, x := range s.settings {
		names[i] = x.path
	}
	return names
}

func (s *schema) envNames() []string {
	names := make([]string, len(s.settings))
	for i, x := range s.settings {
		names[i] = x.env
	}
	return append(names, envConfig, envDataDir)
}
