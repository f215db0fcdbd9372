package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Input is everything that settings are read from.
type Input struct {
	Path    string            // of --config, "" without it
	Env     []string          // KEY=VALUE, as os.Environ has it
	Flags   map[string]string // by the path of the setting: "llm.provider": "offline"; only flags that were given
	WorkDir string            // where relative names begin; "" = the process's own
	Home    string            // of the user; "" = none
}

// entry is one value of a layer.
type entry struct {
	value  reflect.Value
	origin Origin
}

// layer is what one place sets, by path.
type layer map[string]entry

// Load reads the settings: flags over environment over file over
// defaults.
//
// The file is in.Path, else REVERIE_CONFIG, else reverie.toml in the working
// directory, else reverie/reverie.toml in the user's configuration folder
// ($XDG_CONFIG_HOME or ~/.config). One that is named must exist.
//
// A setting "llm.model" is REVERIE_LLM_MODEL in the environment, where an empty
// variable is as good as none: compose files and CI pass those along. An
// unknown REVERIE_ variable is a warning.
//
// A base_url, a key and a model belong to their provider: where a stronger
// layer names another provider, those of the weaker ones are left out, with a
// warning. The flag for llm.provider (--llm) holds for every job; with offline,
// embeddings are offline too, whatever file and environment say in [embed],
// unless a flag sets embed.provider.
//
// The error is all problems joined, each a reverie.ErrConfiguration that names
// the setting, its value, where it came from and what is allowed. The Config is
// nil then; provenance and warnings are not.
func Load(in Input) (*Config, *Provenance, []string, error) {
	base, err := defaults()
	if err != nil {
		return nil, &Provenance{}, nil, err
	}
	vars := map[string]string{}
	for _, pair := range in.Env {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	file, doc, err := in.file(vars)
	prov := &Provenance{File: file, origins: map[string]Origin{}}
	m := merger{cfg: &Config{origins: prov}, base: base, prov: prov}
	m.setAll(base)
	clear(prov.origins)
	if err != nil {
		return nil, prov, nil, err
	}
	fileLayer, problems := readFile(in.short(file), doc)
	envLayer, warnings, more := readEnv(vars)
	problems = append(problems, more...)
	flagLayer, more := readFlags(in.Flags)
	problems = append(problems, more...)

	m.lay(fileLayer)
	m.lay(envLayer)
	m.flagProvider(flagLayer)
	m.lay(flagLayer)
	problems = append(problems, m.readSecrets(in)...)
	problems = append(problems, check(m.cfg)...)
	warnings = append(warnings, m.warnings...)
	if len(problems) > 0 {
		return nil, prov, warnings, errors.Join(problems...)
	}
	return m.cfg, prov, warnings, nil
}

// file finds and reads the configuration file. Without one, both results are
// empty.
func (in Input) file(vars map[string]string) (string, []byte, error) {
	if name, said := in.Path, "--config"; name != "" || vars[envConfig] != "" {
		if name == "" {
			name, said = vars[envConfig], envConfig
		}
		doc, err := os.ReadFile(in.absolute(name))
		if err != nil {
			at := Origin{Layer: LayerFlag, Name: said}
			return name, nil, problemf(at, "cannot read the configuration file %s: %s; `reverie config init` writes one",
				name, reason(err))
		}
		return in.absolute(name), doc, nil
	}
	for _, name := range in.usualFiles(vars) {
		doc, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return name, nil, problemf(Origin{Layer: LayerFile, Name: name}, "cannot read it: %s", reason(err))
		}
		return name, doc, nil
	}
	return "", nil, nil
}

// usualFiles are where a configuration file is looked for when none is named.
func (in Input) usualFiles(vars map[string]string) []string {
	names := []string{in.absolute("reverie.toml")}
	folder := vars["XDG_CONFIG_HOME"]
	if folder == "" && in.Home != "" {
		folder = filepath.Join(in.Home, ".config")
	}
	if filepath.IsAbs(folder) { // the XDG rule: relative ones are ignored
		names = append(names, filepath.Join(folder, "reverie", "reverie.toml"))
	}
	return names
}

func (in Input) absolute(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(in.WorkDir, name)
}

// short is a file's name as origins show it: relative below the working
// directory.
func (in Input) short(name string) string {
	rel, err := filepath.Rel(cmp.Or(in.WorkDir, "."), name)
	if err != nil || !filepath.IsLocal(rel) {
		return name
	}
	return rel
}

// readFlags turns the flags that were given into a layer. An empty one sets the
// empty value.
func readFlags(flags map[string]string) (layer, []error) {
	out := layer{}
	var problems []error
	for _, path := range slices.Sorted(maps.Keys(flags)) {
		at := Origin{Layer: LayerFlag, Name: flagName(path)}
		set, ok := configSchema().byPath[path]
		if !ok {
			problems = append(problems, problemf(at, "unknown setting %s", path))
		} else if err := out.read(set, flags[path], at); err != nil {
			problems = append(problems, err)
		}
	}
	return out, problems
}

// read adds a value in the environment's spelling.
func (l layer) read(set *setting, text string, at Origin) error {
	v, err := set.parse(text)
	if err != nil {
		return set.problem(strconv.Quote(text), at, err)
	}
	l[set.path] = entry{value: v, origin: at}
	return nil
}

// flagName is the flag that sets a path.
func flagName(path string) string {
	if path == "llm.provider" {
		return "--llm"
	}
	return "--" + strings.NewReplacer(".", "-", "_", "-").Replace(path)
}

// reason is what went wrong with a file, without its name.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return fmt.Sprint(err)
}
