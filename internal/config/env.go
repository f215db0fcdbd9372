package config

import (
	"maps"
	"slices"
	"strings"
)

// Variables of ours that are no settings.
const (
	envConfig     = envPrefix + "CONFIG"     // the configuration file
	envDataDir    = envPrefix + "DATA_DIR"   // short for REVERIE_DATABASE_DATA_DIR, which wins
	EnvPullToken  = envPrefix + "PULL_TOKEN" // of the server that reverie pull asks
	EnvToken      = envPrefix + "TOKEN"      // that a command asks with
	envTestPrefix = envPrefix + "TEST_"      // tests
)

// readEnv turns the environment into a layer. An empty variable counts as
// unset; an unknown one of ours is a warning, since another version of the
// binary may know it.
func readEnv(vars map[string]string) (out layer, warnings []string, problems []error) {
	out = layer{}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		set, ok := configSchema().byEnv[name]
		switch {
		case !strings.HasPrefix(name, envPrefix), vars[name] == "", strings.HasPrefix(name, envTestPrefix),
			slices.Contains([]string{envConfig, EnvPullToken, EnvToken}, name):
			continue
		case name == envDataDir:
			if set = configSchema().byPath["database.data_dir"]; vars[set.env] != "" {
				continue
			}
		case !ok:
			warnings = append(warnings, name+" is no setting and has no effect")
			continue
		}
		if err := out.read(set, vars[name], Origin{Layer: LayerEnv, Name: name}); err != nil {
			problems = append(problems, err)
		}
	}
	return out, warnings, problems
}
