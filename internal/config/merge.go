package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// merger lays one layer over another in a Config.
type merger struct {
	cfg      *Config
	base     layer // the defaults
	prov     *Provenance
	warnings []string
}

func (m *merger) set(path string, e entry) {
	v := e.value
	if v.Kind() == reflect.Slice { // each Config has lists of its own
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

// modelSections are those that name a model: [embed], [llm] and the sections below it.
func modelSections() []string {
	return slices.DeleteFunc(slices.Clone(configSchema().sections), func(s string) bool {
		return s != "embed" && s != "llm" && !strings.HasPrefix(s, "llm.")
	})
}

// endpoint are the keys of a section that make sense for its provider alone; those
// that describe an embedding model are in [embed].
var endpoint = [...]string{"base_url", "api_key", "api_key_file", "model", "dimensions", "floor", "ceiling"}

// lay puts the values of a layer over what is there. Where that changes the provider of
// a section, what weaker layers have said of the endpoint was meant for the old one,
// and goes back to its default.
func (m *merger) lay(l layer) {
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

// provider is the one in use for a section so far.
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

// leaveOut resets what weaker layers, as of before, have said of a section's endpoint,
// since l chose another provider. What a flag overrules needs no warning.
func (m *merger) leaveOut(sec, provider string, l layer, before map[string]Origin) {
	because, own := l[sec+".provider"]
	if !own {
		because = l["llm.provider"]
	}
	var gone []string
	for _, key := range endpoint {
		path := sec + "." + key
		at, set := before[path]
		if !set {
			continue
		}
		gone = append(gone, fmt.Sprintf("%s (%s)", path, at))
		if _, again := l[path]; !again {
			m.set(path, m.base[path])
			delete(m.prov.origins, path)
		}
	}
	if len(gone) > 0 && because.origin.Layer != LayerFlag {
		m.warnings = append(m.warnings, fmt.Sprintf("%s chooses %s: left out, as set for another provider: %s",
			because.origin, provider, strings.Join(gone, ", ")))
	}
}

// flagProvider makes --llm hold for every job. With offline and recorded, embeddings are
// offline too.
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

// maxSecretFile bounds a file that holds one secret, in bytes.
const maxSecretFile = 64 << 10

// readSecrets reads each secret whose _file twin is set at least as strongly as
// the secret itself. Both in one layer is a problem: it is not clear which is
// meant.
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
		text, err := readSecret(in.besideOrigin(name, at, m.prov.File))
		if err != nil {
			problems = append(problems, twin.problem(strconv.Quote(name), at, err))
			continue
		}
		at.from = name
		m.set(s.path, entry{reflect.ValueOf(Secret(text)), at})
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
