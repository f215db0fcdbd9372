package config

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Input holds the sources of settings.
type Input struct {
	Path    string            // value of --config, "" without it
	Env     []string          // KEY=VALUE, as from os.Environ
	Flags   map[string]string // by the path of the setting: "llm.provider": "offline"; only the given flags
	WorkDir string            // base of relative names; "" = the process's own
	Home    string            // the user's home directory; "" = none
}

// entry is one value of a layer.
type entry struct {
	value  reflect.Value
	origin Origin
}

// layer holds the values of one source, by path.
type layer map[string]entry

// Load reads the settings: flags override the environment, the environment overrides the file, the file overrides
// defaults.
//
// The file is in.Path, otherwise REVERIE_CONFIG, otherwise reverie.toml in the working directory, otherwise
// reverie/reverie.toml in the user's configuration folder ($XDG_CONFIG_HOME or ~/.config). A named file must exist.
//
// The environment variable of a setting "llm.model" is REVERIE_LLM_MODEL. An empty variable counts as unset, since
// compose files and CI pass such variables on; it counts if the field's tag defines the empty value. An unknown
// REVERIE_ variable is a warning.
//
// A base_url, a key and a model belong to their provider. If a stronger layer names another provider, Load drops
// those of weaker layers, with a warning. The flag for llm.provider (--llm) applies to every job. With offline,
// embeddings are offline too, whatever [embed] says in the file and environment, unless a flag sets embed.provider.
//
// The error joins all problems. Each is a reverie.ErrConfiguration that names the setting, its value, its origin
// and the allowed values. The Config is nil then; provenance and warnings are not.
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
	fileLayer, problems := readFile(in.Short(file), doc)
	envLayer, warnings, more := readEnv(vars)
	problems = append(problems, more...)
	flagLayer, more := readFlags(in.Flags)
	problems = append(problems, more...)

	m.apply(fileLayer)
	m.apply(envLayer)
	m.flagProvider(flagLayer)
	m.apply(flagLayer)
	if prov.Origin("database.max_conns").Layer == LayerDefault {
		m.cfg.Database.MaxConns = max(m.cfg.Database.MaxConns, m.cfg.Jobs.Concurrency/2)
	}
	problems = append(problems, m.readSecrets(in)...)
	problems = append(problems, check(m.cfg)...)
	warnings = append(warnings, m.warnings...)
	if len(problems) > 0 {
		return nil, prov, warnings, errors.Join(problems...)
	}
	return m.cfg, prov, warnings, nil
}

// file finds and reads the configuration file. If there is none, both results are empty.
func (in Input) file(vars map[string]string) (string, []byte, error) {
	if name, said := in.Path, "--config"; name != "" || vars[envConfig] != "" {
		if name == "" {
			name, said = vars[envConfig], envConfig
		}
		doc, err := os.ReadFile(in.absolute(name))
		if err != nil {
			at := Origin{Layer: LayerFlag, Name: said}
			return name, nil, problemf(at, "cannot read the configuration file %s: %s; `reverie init` writes one",
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

// usualFiles are the places of the configuration file if none is named.
func (in Input) usualFiles(vars map[string]string) []string {
	names := []string{in.absolute("reverie.toml")}
	folder := vars["XDG_CONFIG_HOME"]
	if folder == "" && in.Home != "" {
		folder = filepath.Join(in.Home, ".config")
	}
	if filepath.IsAbs(folder) { // the XDG specification says to ignore relative ones
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

// readFlags turns the given flags into a layer. An empty flag sets the empty value.
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

// read parses a value in the environment's syntax and adds it.
func (l layer) read(set *setting, text string, at Origin) error {
	v, err := set.parse(text)
	if err != nil {
		return set.problem(strconv.Quote(text), at, err)
	}
	l[set.path] = entry{value: v, origin: at}
	return nil
}

// flagName returns the flag that sets a path.
func flagName(path string) string {
	if path == "llm.provider" {
		return "--llm"
	}
	return "--" + strings.NewReplacer(".", "-", "_", "-").Replace(path)
}

// reason returns the error of a file without the file's name.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return fmt.Sprint(err)
}

// Variables of ours that are not settings.
const (
	envConfig     = envPrefix + "CONFIG"     // the configuration file
	envDataDir    = envPrefix + "DATA_DIR"   // short for REVERIE_DATABASE_DATA_DIR, which has priority
	EnvPullToken  = envPrefix + "PULL_TOKEN" // for the server that reverie pull reads from
	EnvGroup      = envPrefix + "GROUP"      // for commands without --group
	EnvToken      = envPrefix + "TOKEN"      // for requests of commands
	envTestPrefix = envPrefix + "TEST_"      // tests
)

// readEnv turns the environment into a layer. An empty variable usually counts as unset. An unknown variable of
// ours is a warning, since another version of the binary may know it.
func readEnv(vars map[string]string) (out layer, warnings []string, problems []error) {
	out = layer{}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		set, ok := configSchema().byEnv[name]
		switch {
		case !strings.HasPrefix(name, envPrefix), strings.HasPrefix(name, envTestPrefix),
			vars[name] == "" && (set == nil || set.tag.Get("empty") != "off"),
			slices.Contains([]string{envConfig, EnvPullToken, EnvToken, EnvGroup}, name):
			continue
		case name == envDataDir:
			if set = configSchema().byPath["database.data_dir"]; vars[set.env] != "" {
				continue
			}
		case removedVariable(name) != nil:
			problems = append(problems, removedVariable(name))
			continue
		case !ok:
			warnings = append(warnings, name+" is not a setting and has no effect")
			continue
		}
		if err := out.read(set, vars[name], Origin{Layer: LayerEnv, Name: name}); err != nil {
			problems = append(problems, err)
		}
	}
	return out, warnings, problems
}

// exampleFile is a complete reverie.toml: every setting with its explanation, environment variable and default,
// commented out. Lines of settings begin with # and no space, which distinguishes them from prose.
//
//go:embed reverie.toml
var exampleFile string

// WriteInit writes a complete, commented reverie.toml.
func WriteInit(w io.Writer) error {
	if _, err := io.WriteString(w, exampleFile); err != nil {
		return fmt.Errorf("write the configuration file: %w", err)
	}
	return nil
}

// defaults returns the layer of the example file with all settings uncommented.
var defaults = sync.OnceValues(func() (layer, error) {
	lines := strings.SplitAfter(exampleFile, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "#") && !strings.HasPrefix(l, "# ") && l != "#\n" {
			lines[i] = l[1:]
		}
	}
	l, problems := readKeys("reverie.toml", []byte(strings.Join(lines, "")))
	return l, errors.Join(problems...)
})

// fileReader turns a TOML document into a layer key by key, so that each value has its line, and all problems are
// found at once.
type fileReader struct {
	parser   unstable.Parser
	name     string
	layer    layer
	problems []error
}

// readFile turns a TOML document into a layer. It is strict: each unknown key, and each value of the wrong type, is
// a separate problem with its position.
func readFile(name string, doc []byte) (layer, []error) {
	doc = bytes.TrimPrefix(doc, []byte("\ufeff"))
	if err := toml.Unmarshal(doc, &map[string]any{}); err != nil {
		return nil, []error{syntaxProblem(name, err)}
	}
	return readKeys(name, doc)
}

// readKeys is readFile for a document that is valid TOML.
func readKeys(name string, doc []byte) (layer, []error) {
	r := &fileReader{name: name, layer: layer{}}
	r.parser.Reset(doc)
	table, known := "", true
	for r.parser.NextExpression() {
		n := r.parser.Expression()
		if n.Kind == unstable.KeyValue {
			if known { // an unknown section is reported once
				r.keyValue(table, n)
			}
			continue
		}
		var at Origin
		table, at = r.key("", n)
		if known = n.Kind == unstable.Table && slices.Contains(configSchema().sections, table); !known {
			r.problems = append(r.problems, problemf(at, "unknown section [%s]: `reverie config init` shows all", table))
		}
	}
	return r.layer, r.problems
}

// keyValue reads one key in table; its value may be a table.
func (r *fileReader) keyValue(table string, n *unstable.Node) {
	path, at := r.key(table, n)
	if n.Value().Kind == unstable.InlineTable && slices.Contains(configSchema().sections, path) {
		for it := n.Value().Children(); it.Next(); {
			r.keyValue(path, it.Node())
		}
		return
	}
	set, ok := configSchema().byPath[path]
	if err := removedSetting(path, at); err != nil {
		r.problems = append(r.problems, err)
		return
	}
	if !ok {
		r.problems = append(r.problems, problemf(at, "unknown setting %s: `reverie config` lists all", path))
		return
	}
	v, err := set.parseTOML(n.Value())
	if err != nil {
		r.problems = append(r.problems, set.problem(shown(n.Value()), at, err))
		return
	}
	r.layer[path] = entry{value: v, origin: at}
}

// key returns the full path of a node's key in table, and its position.
func (r *fileReader) key(table string, n *unstable.Node) (string, Origin) {
	at := Origin{Layer: LayerFile, Name: r.name}
	var parts []string
	if table != "" {
		parts = append(parts, table)
	}
	for it := n.Key(); it.Next(); {
		if at.Line == 0 {
			before := r.parser.Data()[:it.Node().Raw.Offset]
			at.Line, at.column = 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n')
		}
		parts = append(parts, string(it.Node().Data))
	}
	return strings.Join(parts, "."), at
}

// syntaxProblem says where a document is not valid TOML. It omits the library's excerpt of the surrounding lines,
// which may show a key.
func syntaxProblem(name string, err error) error {
	at := Origin{Layer: LayerFile, Name: name}
	var d *toml.DecodeError
	if errors.As(err, &d) {
		at.Line, at.column = d.Position()
		return problemf(at, "not valid TOML: %s", strings.TrimPrefix(d.Error(), "toml: "))
	}
	return problemf(at, "not valid TOML: %v", err)
}

// shown returns a refused value of a file as an error shows it.
func shown(n *unstable.Node) string {
	switch n.Kind {
	case unstable.String:
		return strconv.Quote(string(n.Data))
	case unstable.Array:
		return "[...]"
	case unstable.InlineTable:
		return "{...}"
	}
	return string(n.Data)
}

// merger applies layers to a Config.
type merger struct {
	cfg      *Config
	base     layer // the defaults
	prov     *Provenance
	warnings []string
}

func (m *merger) set(path string, e entry) {
	v := e.value
	if v.Kind() == reflect.Slice { // each Config has its own lists
		v = reflect.AppendSlice(reflect.Zero(v.Type()), v)
	}
	configSchema().byPath[path].field(m.cfg).Set(v)
	m.prov.origins[path] = e.origin
}

func (m *merger) setAll(l layer) {
	for path, e := range l {
		m.set(path, e)
	}
}

func (m *merger) text(path string) string { return configSchema().byPath[path].field(m.cfg).String() }

// modelSections returns the sections that name a model: [embed], [llm] and the sections below it.
func modelSections() []string {
	return slices.DeleteFunc(slices.Clone(configSchema().sections), func(s string) bool {
		return s != "embed" && s != "llm" && !strings.HasPrefix(s, "llm.")
	})
}

// endpoint are the keys of a section that only make sense for its provider; those that describe an embedding model
// are in [embed].
var endpoint = [...]string{"base_url", "api_key", "api_key_file", "model", "lines", "context_tokens",
	"dimensions", "floor", "ceiling"}

// apply applies the values of a layer. If that changes the provider of a section, the endpoint from weaker layers
// belonged to the old provider, and returns to its default.
func (m *merger) apply(l layer) {
	before, origins := map[string]string{}, maps.Clone(m.prov.origins)
	for _, sec := range modelSections() {
		before[sec] = m.provider(sec)
	}
	m.setAll(l)
	for _, sec := range modelSections() {
		if old, now := before[sec], m.provider(sec); old != "" && old != now {
			m.leaveOut(sec, now, l, origins)
		}
	}
}

// provider returns the current provider of a section.
func (m *merger) provider(sec string) string {
	llm, own := m.cfg.LLM.ProviderInUse(), m.text(sec+".provider")
	switch hasURL := m.text(sec+".base_url") != ""; {
	case own != "":
		return own
	case sec == "embed" && hasURL && llm != ProviderGemini, hasURL && llm == "":
		return ProviderOpenAI
	}
	return llm
}

// leaveOut resets the endpoint of a section to its default where weaker layers set it (their origins are in
// before), since l chose another provider. A flag that overrides them needs no warning.
func (m *merger) leaveOut(sec, provider string, l layer, before map[string]Origin) {
	because, own := l[sec+".provider"]
	if !own {
		because = l["llm.provider"]
	}
	var dropped []string
	for _, key := range endpoint {
		path := sec + "." + key
		at, set := before[path]
		if !set {
			continue
		}
		dropped = append(dropped, fmt.Sprintf("%s (%s)", path, at))
		if _, again := l[path]; !again {
			m.set(path, m.base[path])
			delete(m.prov.origins, path)
		}
	}
	if len(dropped) > 0 && because.origin.Layer != LayerFlag {
		m.warnings = append(m.warnings, fmt.Sprintf("%s chooses %s: left out, as set for another provider: %s",
			because.origin, provider, strings.Join(dropped, ", ")))
	}
}

// flagProvider applies --llm to every job. With offline and recorded, embeddings are offline too.
func (m *merger) flagProvider(l layer) {
	llm, given := l["llm.provider"]
	if !given {
		return
	}
	for _, sec := range modelSections() {
		if own := sec + ".provider"; strings.HasPrefix(sec, "llm.") && m.text(own) != "" {
			l[own] = entry{value: reflect.ValueOf(""), origin: llm.origin}
		}
	}
	if _, given := l["embed.provider"]; !given && Keyless(llm.value.String()) {
		l["embed.provider"] = entry{reflect.ValueOf(ProviderOffline), llm.origin}
	}
}

// maxSecretFile is the maximum size of a file with a secret, in bytes.
const maxSecretFile = 64 << 10

// readSecrets reads each secret whose _file twin is set in the same or a stronger layer. Setting both in one layer
// is a problem, since it is ambiguous. With a dash before its name, the file may be missing.
func (m *merger) readSecrets(in Input) []error {
	var problems []error
	for _, s := range configSchema().settings {
		twin, ok := configSchema().byPath[s.path+"_file"]
		if !s.secret() || !ok {
			continue
		}
		name := twin.field(m.cfg).String()
		at, own := m.prov.origins[twin.path], m.prov.origins[s.path]
		switch {
		case name == "" || own.Layer > at.Layer:
			continue
		case own.Layer == at.Layer && m.text(s.path) != "":
			problems = append(problems, s.problem("", own,
				fmt.Errorf("%s is set too (%s): keep one of them", twin.path, at.position())))
			continue
		}
		name, optional := strings.CutPrefix(name, "-")
		text, err := readSecret(in.besideOrigin(name, at, m.prov.File))
		if optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			problems = append(problems, twin.problem(strconv.Quote(name), at, err))
			continue
		}
		at.from = name
		m.set(s.path, entry{reflect.ValueOf(Secret(text)), at})
	}
	return problems
}

// besideOrigin resolves a relative name: from the configuration file's directory if the file contains it, otherwise
// from the working directory.
func (in Input) besideOrigin(name string, at Origin, file string) string {
	if at.Layer == LayerFile && !filepath.IsAbs(name) {
		return filepath.Join(filepath.Dir(file), name)
	}
	return in.absolute(name)
}

// unreadable is the problem of a secret's file that cannot be read.
type unreadable struct {
	name string
	err  error
}

func (u unreadable) Error() string {
	return fmt.Sprintf("cannot read the file %s: %s", u.name, reason(u.err))
}
func (u unreadable) Unwrap() error { return u.err }

// readSecret reads a file with one secret, and removes one line end.
func readSecret(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return "", unreadable{name, err}
	case info.IsDir():
		return "", fmt.Errorf("%s is a folder: name the file in it that holds the secret", name)
	case info.Size() > maxSecretFile:
		return "", fmt.Errorf("the file %s has %d bytes: a secret is one line", name, info.Size())
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("cannot read the file %s: %s", name, reason(err))
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	if text == "" {
		return "", fmt.Errorf("the file %s is empty: write the secret into it", name)
	}
	return text, nil
}
