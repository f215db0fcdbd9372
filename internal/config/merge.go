package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// merger lays one layer over another in a Config.
type merger struct {
	schema   *schema
	cfg      *Config
	prov     *Provenance
	warnings []string
}

// endpoint are the keys of a section that make sense for its provider alone.
var endpoint = [...]string{"base_url", "api_key", "api_key_file", "model"}

// lay puts the values of a layer over what is there.
func (m *merger) lay(l layer) {
	m.makeRoom(l)
	for _, path := range sortedKeys(l) {
		m.set(path, l[path].value, l[path].origin)
	}
}

func (m *merger) set(path string, v reflect.Value, at Origin) {
	m.schema.byPath[path].field(m.cfg).Set(v)
	m.prov.origins[path] = at
}

// makeRoom takes back what belongs to a provider that the layer replaces.
func (m *merger) makeRoom(l layer) {
	next, changes := l["llm.provider"]
	if changes && next.origin.Layer == LayerFlag {
		m.flagProvider(l, next)
	}
	for _, sec := range m.schema.sections {
		next, ok := l[sec.path+".provider"]
		if !ok {
			continue
		}
		if old := m.provider(sec.path); old != "" && old != next.value.String() {
			keys := endpoint[:]
			if sec.path == "embed" {
				keys = slices.Concat(keys, embedModel[:])
			}
			m.forget(sec.path, keys, next)
			if sec.path == "llm" {
				m.forgetFollowers(l, next)
			}
		}
	}
}

// embedModel are the keys of [embed] that describe one model.
var embedModel = [...]string{"dimensions", "floor", "ceiling"}

// flagProvider makes --llm hold for every job. With offline and recorded,
// embeddings are offline too.
func (m *merger) flagProvider(l layer, next entry) {
	for _, job := range m.jobs() {
		if m.provider(job) != "" && m.provider(job) != next.value.String() {
			m.forget(job, slices.Concat([]string{"provider"}, endpoint[:]), next)
		}
	}
	if _, explicit := l["embed.provider"]; explicit || !Keyless(next.value.String()) {
		return
	}
	if old := m.provider("embed"); old != ProviderOffline {
		m.forget("embed", slices.Concat([]string{"provider"}, endpoint[:], embedModel[:]), next)
		m.set("embed.provider", reflect.ValueOf(ProviderOffline), next.origin)
	}
}

// forgetFollowers takes back what sections set that follow the provider of
// [llm]: it was meant for the old one.
func (m *merger) forgetFollowers(l layer, next entry) {
	for _, job := range m.jobs() {
		if m.provider(job) == "" {
			m.forget(job, endpoint[:], next)
		}
	}
	_, named := l["embed.provider"]
	if !named && m.provider("embed") == "" && m.text("embed.base_url") == "" {
		m.forget("embed", slices.Concat(endpoint[:], embedModel[:]), next)
	}
}

// jobs are the sections below [llm].
func (m *merger) jobs() []string {
	var paths []string
	for _, sec := range m.schema.sections {
		if strings.HasPrefix(sec.path, "llm.") {
			paths = append(paths, sec.path)
		}
	}
	return paths
}

// provider is the one that a section has so far, "" where it follows [llm].
func (m *merger) provider(sec string) string {
	if sec == "llm" {
		return m.cfg.LLM.ProviderInUse()
	}
	p := m.text(sec + ".provider")
	if p == "" && m.cfg.LLM.ProviderInUse() == "" && m.text(sec+".base_url") != "" {
		return ProviderOpenAI
	}
	return p
}

func (m *merger) text(path string) string { return m.schema.byPath[path].field(m.cfg).String() }

// forget resets keys of a section to their defaults, and says so.
func (m *merger) forget(sec string, keys []string, because entry) {
	var gone []string
	for _, key := range keys {
		path := sec + "." + key
		at, set := m.prov.origins[path]
		if !set {
			continue
		}
		s := m.schema.byPath[path]
		if v, err := s.tag(s.def); err == nil {
			s.field(m.cfg).Set(v)
		}
		delete(m.prov.origins, path)
		if because.origin.Layer != LayerFlag {
			gone = append(gone, fmt.Sprintf("%s (%s)", path, at))
		}
	}
	if len(gone) > 0 {
		m.warnings = append(m.warnings, fmt.Sprintf("%s chooses %s: left out, as set for another provider: %s",
			because.origin, because.value, strings.Join(gone, ", ")))
	}
}

// maxSecretFile bounds a file that holds one secret, in bytes.
const maxSecretFile = 64 << 10

// readSecrets reads each secret whose _file twin is set at least as strongly as
// the secret itself. Both in one layer is a problem: it is not clear which is
// meant.
func (m *merger) readSecrets(in Input) []error {
	var problems []error
	for _, s := range m.schema.settings {
		twin, ok := m.schema.byPath[s.path+"_file"]
		if !s.secret() || !ok {
			continue
		}
		name := twin.field(m.cfg).String()
		at, own := m.prov.origins[twin.path], m.prov.origins[s.path]
		switch {
		case name == "" || own.Layer > at.Layer:
			continue
		case own.Layer == at.Layer && m.text(s.path) != "":
			problems = append(problems, &problemError{path: s.path, value: mask, origin: own,
				reason: fmt.Sprintf("%s is set too (%s): keep one of them", twin.path, at.position())})
			continue
		}
		text, err := readSecret(in.besideOrigin(name, at, m.prov.File))
		if err != nil {
			problems = append(problems, &problemError{path: twin.path, value: fmt.Sprintf("%q", name), origin: at, reason: err.Error()})
			continue
		}
		at.from = name
		m.set(s.path, reflect.ValueOf(Secret(text)), at)
	}
	return problems
}

// besideOrigin resolves a relative name: beside the configuration file when it
// was said there, else in the working directory.
func (in Input) besideOrigin(name string, at Origin, file string) string {
	if at.Layer == LayerFile && !filepath.IsAbs(name) {
		return filepath.Join(filepath.Dir(file), name)
	}
	return in.absolute(name)
}

// readSecret reads a file that holds one secret, less one line end.
func readSecret(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot read the file %s: %s", name, reason(err))
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
