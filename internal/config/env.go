package config

import (
	"fmt"
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
func (s *schema) readEnv(vars map[string]string) (layer, []string, []error) {
	out := layer{}
	var warnings []string
	var problems []error
	for _, name := range sortedKeys(vars) {
		if !strings.HasPrefix(name, envPrefix) || vars[name] == "" {
			continue
		}
		set, ok := s.byEnv[name]
		if !ok {
			if name != envConfig && name != envDataDir && name != EnvPullToken && name != EnvToken && !strings.HasPrefix(name, envTestPrefix) {
				warnings = append(warnings, fmt.Sprintf("%s is no setting and has no effect%s", name, suggest(name, s.envNames())))
			}
			continue
		}
		at := Origin{Layer: LayerEnv, Name: name}
		v, err := set.parse(vars[name])
		if err != nil {
			problems = append(problems, &problemError{path: set.path, value: shown(set, vars[name]), origin: at, reason: err.Error()})
			continue
		}
		out[set.path] = entry{value: v, origin: at}
	}
	s.addDataDir(out, vars)
	return out, warnings, problems
}

// addDataDir takes the short name of database.data_dir where the long one is
// not set.
func (s *schema) addDataDir(out layer, vars map[string]string) {
	const path = "database.data_dir"
	if _, set := out[path]; set || vars[envDataDir] == "" {
		return
	}
	if v, err := s.byPath[path].parse(vars[envDataDir]); err == nil {
		out[path] = entry{value: v, origin: Origin{Layer: LayerEnv, Name: envDataDir}}
	}
}

// dashed is a path as a flag spells it.
func dashed(path string) string { return strings.NewReplacer(".", "-", "_", "-").Replace(path) }
