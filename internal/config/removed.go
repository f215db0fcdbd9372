package config

import "strings"

// removed are settings that no longer exist, by path, and what to do instead.
var removed = map[string]string{
	"evolve.stale_after":         "silence is counted in active nights, by type: set [forget] habit_nights, plan_nights and opinion_nights",
	"maintain.decay_after":       noDecay,
	"maintain.dream_decay_after": noDecay,
	"maintain.decay_half_life":   noDecay,
	"maintain.decay_by":          noDecay,
}

const noDecay = "strength does not decay any more: set [forget] tentative_nights, or take the line out"

// removedSetting returns the problem of a removed setting, nil for any other.
func removedSetting(path string, at Origin) error {
	if instead, ok := removed[path]; ok {
		return problemf(at, "the setting %s was taken out: %s", path, instead)
	}
	return nil
}

// removedVariable is removedSetting for an environment variable.
func removedVariable(name string) error {
	for path := range removed {
		if name == envPrefix+strings.ToUpper(strings.ReplaceAll(path, ".", "_")) {
			return removedSetting(path, Origin{Layer: LayerEnv, Name: name})
		}
	}
	return nil
}
