package config

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pelletier/go-toml/v2"
)

func TestWriteConfig(t *testing.T) {
	cfg, prov := mustLoad(t, "[llm]\nprovider = \"gemini\"\ntemperature = 0.5\n", []string{
		"REVERIE_LLM_API_KEY=hunter2", "REVERIE_DATABASE_URL=postgres://u:hunter2@h/d",
	}, map[string]string{"log.level": "debug"})

	shown := Show(cfg, prov)
	text := shown.File + "\n"
	for _, set := range shown.Settings {
		text += strings.Join([]string{set.Setting, set.Origin, set.Text}, " | ") + "\n"
	}
	for _, want := range []string{
		prov.File,
		"llm.provider | reverie.toml:2 | \"gemini\"",
		"llm.temperature | reverie.toml:3 | 0.5",
		"llm.evolve.temperature | default | \"\"",
		"llm.api_key | REVERIE_LLM_API_KEY | \"••••\"",
		"embed.api_key | default | \"\"",
		"database.url | REVERIE_DATABASE_URL | \"postgres://u:••••@h/d\"",
		"log.level | --log-level | \"debug\"",
		"forget.habit_nights | default | 21",
		"evolve.hold_ratio | default | 0.2",
		"decide.enabled | default | true",
		"impression.enabled | default | false",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}

	doc, err := json.Marshal(shown)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(doc), "hunter2") || strings.Contains(text, "hunter2") {
		t.Error("a secret is shown")
	}
	var got struct {
		File     string
		Settings []shownSetting
	}
	if err := json.Unmarshal(doc, &got); err != nil {
		t.Fatal(err)
	}
	if got.File != prov.File || len(got.Settings) != len(configSchema().settings) {
		t.Errorf("file %q, %d settings", got.File, len(got.Settings))
	}
	want := map[string]shownSetting{
		"llm.api_key":        {"llm.api_key", "••••", "REVERIE_LLM_API_KEY", "REVERIE_LLM_API_KEY", ""},
		"database.url":       {"database.url", "postgres://u:••••@h/d", "REVERIE_DATABASE_URL", "REVERIE_DATABASE_URL", ""},
		"database.max_conns": {"database.max_conns", 8.0, "default", "REVERIE_DATABASE_MAX_CONNS", ""},
		"llm.timeout":        {"llm.timeout", "2m", "default", "REVERIE_LLM_TIMEOUT", ""},
		"llm.temperature":    {"llm.temperature", 0.5, "reverie.toml:3", "REVERIE_LLM_TEMPERATURE", ""},
		"llm.evolve.model":   {"llm.evolve.model", "", "default", "REVERIE_LLM_EVOLVE_MODEL", ""},
		"llm.provider":       {"llm.provider", "gemini", "reverie.toml:2", "REVERIE_LLM_PROVIDER", ""},
		"decide.enabled":     {"decide.enabled", true, "default", "REVERIE_DECIDE_ENABLED", ""},
	}
	for _, s := range got.Settings {
		if w, ok := want[s.Setting]; ok {
			delete(want, s.Setting)
			if diff := cmp.Diff(w, s); diff != "" {
				t.Error(diff)
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not shown: %v", want)
	}
}

func TestLimitsUSD(t *testing.T) {
	for env, want := range map[string]bool{"A=b": false, "REVERIE_BUDGET_USD_PER_DAY=10": true, "REVERIE_BUDGET_USD_PER_DAY=0": false,
		"REVERIE_BUDGET_USD_PER_RUN=1": true, "REVERIE_BUDGET_TOKENS_PER_DAY=5": false} {
		if cfg, _ := mustLoad(t, "", []string{env}, nil); cfg.LimitsUSD() != want {
			t.Errorf("%s: %v", env, !want)
		}
	}
}

// Every address is shown without what stands in its query, and none but the webhook's is hidden whole.
func TestAddressesAreShownWithoutSecrets(t *testing.T) {
	var env []string
	for _, s := range configSchema().settings {
		if s.tag.Get("check") == "url" {
			env = append(env, s.env+"=https://host.example/v1?token=hunter2")
		}
	}
	cfg, prov := mustLoad(t, "", append(env, "REVERIE_LLM_PROVIDER=openai", "REVERIE_LLM_MODEL=m", "REVERIE_LLM_API_KEY=k"), nil)
	shown := Show(cfg, prov)
	doc, err := json.Marshal(shown)
	if err != nil || strings.Contains(string(doc)+fmt.Sprint(shown), "hunter2") {
		t.Errorf("%v: %s %v", err, doc, shown)
	}
	if n := strings.Count(string(doc), "https://host.example/v1?"); len(env) < 5 || n != len(env)-1 {
		t.Errorf("%d of %d addresses are shown", n, len(env))
	}
}

func initFile(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	if err := WriteInit(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The file that `reverie config init` writes holds every setting at its
// default, with its environment name, and is valid as it stands and with
// everything uncommented.
func TestInitConfig(t *testing.T) {
	text := initFile(t)
	asIs, prov := mustLoad(t, text, nil, nil)
	if len(prov.origins) > 0 {
		t.Errorf("as it stands it sets %v", prov.origins)
	}
	uncommented := regexp.MustCompile(`(?m)^#([^ \n])`).ReplaceAllString(text, "$1")
	all, prov := mustLoad(t, uncommented, nil, nil)
	base, err := defaults()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range configSchema().settings {
		want := base[s.path].value.Interface()
		for name, cfg := range map[string]*Config{"as it stands": asIs, "uncommented": all} {
			if diff := cmp.Diff(want, s.field(cfg).Interface(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, %s: %s", s.path, name, diff)
			}
		}
		if prov.Origin(s.path).Layer != LayerFile {
			t.Errorf("%s is not in the file", s.path)
		}
		if !strings.Contains(text, "# env "+s.env+"\n") {
			t.Errorf("%s is not in the file", s.env)
		}
	}
	for i, line := range strings.Split(text, "\n") {
		if n := len([]rune(line)); n > 96 {
			t.Errorf("line %d has %d characters", i+1, n)
		}
	}
}

// go-toml's own strict mode agrees that every key of the file has a field.
func TestInitConfigIsStrictTOML(t *testing.T) {
	uncommented := regexp.MustCompile(`(?m)^#([^ \n])`).ReplaceAllString(initFile(t), "$1")
	// Optional numbers are "" in the file, which plain TOML has no type for.
	uncommented = strings.ReplaceAll(uncommented, "temperature = \"\"\n", "\n")
	var cfg Config
	if err := toml.NewDecoder(strings.NewReader(uncommented)).DisallowUnknownFields().Decode(&cfg); err != nil {
		t.Fatal(err)
	}
	if cfg.Database.MaxConns != 8 {
		t.Errorf("max_conns = %d", cfg.Database.MaxConns)
	}
}

// The example in the repository is what `reverie config init` writes.
func TestExampleConfig(t *testing.T) {
	got, err := os.ReadFile("../../reverie.example.toml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(initFile(t), string(got)); diff != "" {
		t.Errorf("it is out of date: cp internal/config/reverie.toml reverie.example.toml\n%s", diff)
	}
}

// explanation is what the file that `reverie config init` writes says of a setting.
func explanation(t *testing.T, set *setting) string {
	t.Helper()
	text, _, found := strings.Cut(initFile(t), "\n# env "+set.env+"\n#"+set.key+" = ")
	if !found {
		t.Fatalf("%s is not in the file", set.path)
	}
	return text[strings.LastIndex(text, "\n\n"):]
}

// Every tag is readable, and every setting is explained.
func TestSchema(t *testing.T) {
	s := configSchema()
	names := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	for _, set := range s.settings {
		if text := explanation(t, set); !names.MatchString(set.key) || !strings.HasPrefix(text, "\n\n# ") || !strings.HasSuffix(text, ".") {
			t.Errorf("%s: key %q, comment %q", set.path, set.key, text)
		}
		if set.env != "REVERIE_"+strings.ToUpper(strings.ReplaceAll(set.path, ".", "_")) {
			t.Errorf("%s is %s", set.path, set.env)
		}
		for _, tag := range []string{set.tag.Get("min"), set.tag.Get("max")} {
			if _, err := set.parse(tag); err != nil {
				t.Errorf("%s: tag %q: %v", set.path, tag, err)
			}
		}
		if twin, ok := s.byPath[set.path+"_file"]; set.secret() && (!ok || twin.typ != reflect.TypeFor[string]()) {
			t.Errorf("the secret %s has no %s_file", set.path, set.key)
		}
	}
	if len(s.byEnv) != len(s.settings) || len(s.byPath) != len(s.settings) {
		t.Error("two settings share a name")
	}
	cfg, _ := mustLoad(t, "", nil, nil)
	for provider, model := range DefaultModels {
		if priced := strings.Contains(strings.Join(cfg.LLM.Prices, " "), model+"="); priced == Keyless(provider) {
			t.Errorf("%s: priced is %v", model, priced)
		}
		if provider != ProviderRecorded && !strings.Contains(explanation(t, s.byPath["llm.model"]), model) {
			t.Errorf("the comment of llm.model does not name %s", model)
		}
	}
	for _, model := range DefaultEmbedModels {
		if !strings.Contains(explanation(t, s.byPath["embed.model"]), model) {
			t.Errorf("the comment of embed.model does not name %s", model)
		}
	}
}

func TestDurationText(t *testing.T) {
	for _, s := range []string{"", "504h", "2m", "90m", "1h30m5s", "30s", "250ms", "1h0m5s"} {
		var d Duration
		if err := d.UnmarshalText([]byte(s)); err != nil {
			t.Fatal(err)
		}
		var again Duration
		if err := again.UnmarshalText([]byte(d.String())); err != nil || again != d {
			t.Errorf("%q is shown as %q and read as %v, %v", s, d, again.Duration, err)
		}
	}
}

func FuzzReadFile(f *testing.F) {
	for _, doc := range []string{
		"[llm]\nmodel = \"x\"", "llm = {model = \"x\", evolve = {timeout = \"3s\"}}", "[[llm]]", "a.b.c = 1",
		"[llm]\nmodel.x = 1", "\"llm.model\" = \"x\"", "[embed]\nfloor = inf", "[llm]\nprices = [[1]]", "[llm]\ntimeout = 1979-05-27",
	} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		l, problems := readFile("f", []byte(doc))
		for path, e := range l {
			if e.value.Type() != configSchema().byPath[path].typ || e.origin.Line < 1 {
				t.Errorf("%s: %v from %v", path, e.value, e.origin)
			}
		}
		for _, p := range problems {
			if p.Error() == "" {
				t.Error("a problem without words")
			}
		}
	})
}
