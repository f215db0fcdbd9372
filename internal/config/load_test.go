package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// world is a working directory and a home for one test.
func world(t *testing.T) Input {
	t.Helper()
	root := t.TempDir()
	in := Input{WorkDir: filepath.Join(root, "work"), Home: filepath.Join(root, "home")}
	for _, dir := range []string{in.WorkDir, in.Home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// load reads toml (no file when empty), environment and flags.
func load(t *testing.T, toml string, env []string, flags map[string]string) (*Config, *Provenance, []string, error) {
	t.Helper()
	in := world(t)
	if toml != "" {
		writeFile(t, filepath.Join(in.WorkDir, "reverie.toml"), toml)
	}
	in.Env, in.Flags = env, flags
	return Load(in)
}

// mustLoad is load for input without a fault.
func mustLoad(t *testing.T, toml string, env []string, flags map[string]string) (*Config, *Provenance) {
	t.Helper()
	cfg, prov, warnings, err := load(t, toml, env, flags)
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) > 0 {
		t.Fatalf("warnings: %q", warnings)
	}
	return cfg, prov
}

func TestPrecedence(t *testing.T) {
	const file = "[llm]\nmodel = \"from-file\"\n"
	fromEnv := []string{"REVERIE_LLM_MODEL=from-env"}
	fromFlag := map[string]string{"llm.model": "from-flag"}
	tests := []struct {
		name   string
		toml   string
		env    []string
		flags  map[string]string
		want   string
		origin string
	}{
		{"default", "", nil, nil, "", "default"},
		{"file", file, nil, nil, "from-file", "reverie.toml:2"},
		{"environment over file", file, fromEnv, nil, "from-env", "REVERIE_LLM_MODEL"},
		{"flag over environment", file, fromEnv, fromFlag, "from-flag", "--llm-model"},
		{"flag over file", file, nil, fromFlag, "from-flag", "--llm-model"},
		{"an empty variable is unset", file, []string{"REVERIE_LLM_MODEL="}, nil, "from-file", "reverie.toml:2"},
		{"an empty flag is empty", file, fromEnv, map[string]string{"llm.model": ""}, "", "--llm-model"},
		{"dotted key", "llm.model = \"x\"", nil, nil, "x", "reverie.toml:1"},
		{"inline table", "\nllm = { timeout = \"9s\", model = \"x\" }", nil, nil, "x", "reverie.toml:2"},
		{"byte order mark", "\ufeff[llm]\nmodel = \"x\"", nil, nil, "x", "reverie.toml:2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, prov := mustLoad(t, tt.toml, tt.env, tt.flags)
			if cfg.LLM.Model != tt.want || prov.Origin("llm.model").String() != tt.origin {
				t.Errorf("llm.model = %q (%s), want %q (%s)", cfg.LLM.Model, prov.Origin("llm.model"), tt.want, tt.origin)
			}
		})
	}
}

// Where empty means something, an empty variable is a value; elsewhere it is as good as none.
func TestEmptyVariableCounts(t *testing.T) {
	cfg, prov := mustLoad(t, "[database]\nreader_role = \"bot\"", []string{"REVERIE_DATABASE_READER_ROLE=", "REVERIE_LOG_LEVEL="}, nil)
	if cfg.Log.Level == "" {
		t.Error("log.level is empty")
	}
	if at := prov.Origin("database.reader_role").String(); cfg.Database.ReaderRole != "" || at != "REVERIE_DATABASE_READER_ROLE" {
		t.Errorf("reader_role = %q from %s", cfg.Database.ReaderRole, at)
	}
}

// Many groups at a time need more connections, unless somebody says how many there are to be.
func TestConnectionsOfConcurrency(t *testing.T) {
	for env, want := range map[string]int{"": 32, "REVERIE_DATABASE_MAX_CONNS=8": 8} {
		cfg, _ := mustLoad(t, "", []string{"REVERIE_JOBS_CONCURRENCY=64", env}, nil)
		if cfg.Database.MaxConns != want {
			t.Errorf("%q: max_conns = %d, want %d", env, cfg.Database.MaxConns, want)
		}
	}
}

func TestDefaults(t *testing.T) {
	cfg, prov := mustLoad(t, "", nil, nil)
	if cfg.Database.MaxConns != 8 || cfg.Database.StatementTimeout.Duration != 30*time.Second ||
		cfg.LLM.Temperature != nil || len(cfg.LLM.Prices) != 5 || cfg.Embed.Dimensions != 1536 ||
		cfg.Forget.HabitNights != 21 || cfg.Evolve.HoldRatio != 0.2 ||
		cfg.Evolve.MaxCreates != reverie.MaxCreates || cfg.Evolve.MaxActive != reverie.MaxActive ||
		cfg.Evolve.Target != reverie.TargetActive || cfg.Group.TimeZone != "UTC" {
		t.Errorf("defaults are %+v", cfg)
	}
	if prov.File != "" {
		t.Errorf("file = %q without one", prov.File)
	}
}

// Every setting can be set in each way, whatever its type.
func TestEveryType(t *testing.T) {
	check := func(t *testing.T, cfg *Config) {
		t.Helper()
		got := []any{cfg.Decide.Enabled, cfg.Impression.Enabled, cfg.Database.URL.Reveal(), cfg.Database.MaxConns, cfg.LLM.Timeout.Duration, *cfg.LLM.Temperature, cfg.LLM.Prices, cfg.Evolve.HoldRatio}
		want := []any{false, true, "postgres://h/d", 3, 90 * time.Second, 1.0, []string{"a=1/2", "b=3"}, 1.0}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	text := map[string]string{
		"database.url": "postgres://h/d", "database.max_conns": "3", "llm.timeout": "1m30s",
		"decide.enabled": "false", "impression.enabled": "true", "llm.temperature": "1", "llm.prices": "a=1/2, b=3", "evolve.hold_ratio": "1",
	}
	t.Run("file", func(t *testing.T) {
		cfg, _ := mustLoad(t, `
[database]
url = "postgres://h/d"
max_conns = 3
[llm]
timeout = "1m30s"
temperature = 1
prices = [
  "a=1/2", # of mine
  "b=3",
]
[evolve]
hold_ratio = 1
[decide]
enabled = false
[impression]
enabled = true
`, nil, nil)
		check(t, cfg)
	})
	t.Run("environment", func(t *testing.T) {
		var env []string
		for path, v := range text {
			env = append(env, configSchema().byPath[path].env+"="+v)
		}
		cfg, _ := mustLoad(t, "", env, nil)
		check(t, cfg)
	})
	t.Run("flags", func(t *testing.T) {
		cfg, _ := mustLoad(t, "", nil, text)
		check(t, cfg)
	})
}

func TestWhichFile(t *testing.T) {
	in := world(t)
	xdg := filepath.Join(in.Home, "xdg")
	say := func(name, model string) { writeFile(t, name, "llm.model = \""+model+"\"\n") }
	load := func(in Input) (string, string) {
		t.Helper()
		cfg, prov, _, err := Load(in)
		if err != nil {
			t.Fatal(err)
		}
		return cfg.LLM.Model, prov.Origin("llm.model").String()
	}
	expect := func(in Input, model, origin string) {
		t.Helper()
		if m, o := load(in); m != model || o != origin {
			t.Errorf("model %q from %s, want %q from %s", m, o, model, origin)
		}
	}

	expect(in, "", "default")
	dotConfig := filepath.Join(in.Home, ".config", "reverie", "reverie.toml")
	say(dotConfig, "home")
	expect(in, "home", dotConfig+":1")
	inXDG := filepath.Join(xdg, "reverie", "reverie.toml")
	say(inXDG, "xdg")
	in.Env = []string{"XDG_CONFIG_HOME=" + xdg}
	expect(in, "xdg", inXDG+":1")
	say(filepath.Join(in.WorkDir, "reverie.toml"), "work")
	expect(in, "work", "reverie.toml:1")
	say(filepath.Join(in.WorkDir, "etc", "env.toml"), "env")
	in.Env = append(in.Env, "REVERIE_CONFIG=etc/env.toml")
	expect(in, "env", "etc/env.toml:1")
	say(filepath.Join(in.WorkDir, "flag.toml"), "flag")
	in.Path = "flag.toml"
	expect(in, "flag", "flag.toml:1")
}

func TestNamedFileMustExist(t *testing.T) {
	for _, in := range []Input{
		{Path: "missing.toml"},
		{Env: []string{"REVERIE_CONFIG=missing.toml"}},
	} {
		base := world(t)
		writeFile(t, filepath.Join(base.WorkDir, "reverie.toml"), "")
		in.WorkDir, in.Home = base.WorkDir, base.Home
		cfg, _, _, err := Load(in)
		if cfg != nil || !errors.Is(err, reverie.ErrConfiguration) || !strings.Contains(err.Error(), "missing.toml") {
			t.Errorf("loaded %v, %v: want an error that names missing.toml", cfg, err)
		}
	}
}

// Each fault is reported with its place, its value and what is allowed.
func TestProblems(t *testing.T) {
	tests := []struct {
		name  string
		toml  string
		env   []string
		flags map[string]string
		want  []string // each a whole line of the error
	}{
		{"unknown key", "[llm]\nmodle = \"x\"", nil, nil,
			[]string{"reverie.toml:2:1: unknown setting llm.modle"}},
		{"unknown key at an indent", "[llm.evolve]\n   tmeout = \"3s\"", nil, nil,
			[]string{"reverie.toml:2:4: unknown setting llm.evolve.tmeout"}},
		{"unknown key at the top", "log_level = \"info\"", nil, nil,
			[]string{"reverie.toml:1:1: unknown setting log_level"}},
		{"unknown key in an inline table", "log = { levle = \"info\" }", nil, nil,
			[]string{"reverie.toml:1:9: unknown setting log.levle"}},
		{"unknown key like no other", "[llm]\nxylophone = 1", nil, nil,
			[]string{"reverie.toml:2:1: unknown setting llm.xylophone"}},
		{"unknown section, once", "[lmm]\nmodel = \"x\"\nprovider = \"y\"", nil, nil,
			[]string{"reverie.toml:1:2: unknown section [lmm]"}},
		{"list of tables", "[[llm]]\nmodel = \"x\"", nil, nil,
			[]string{"reverie.toml:1:3: unknown section [llm]"}},
		{"setting as section", "[llm.model]\nx = 1", nil, nil,
			[]string{"reverie.toml:1:2: unknown section [llm.model]"}},
		{"section as setting", "llm = \"openai\"", nil, nil,
			[]string{"reverie.toml:1:1: unknown setting llm"}},
		{"no TOML", "[llm]\nmodel = x", nil, nil, []string{"reverie.toml:2:9: not valid TOML:"}},
		{"twice", "[llm]\nmodel = \"x\"\nmodel = \"y\"", nil, nil, []string{"reverie.toml:3:1: not valid TOML:"}},
		{"all at once, in every place",
			"[log]\nlevle = \"info\"\n[database]\nmax_conns = \"8\"",
			[]string{"REVERIE_LLM_TIMEOUT=120"},
			map[string]string{"llm.provider": "gpt"},
			[]string{
				"reverie.toml:2:1: unknown setting log.levle",
				`database.max_conns = "8" (reverie.toml:4:1): must be a whole number`,
				`llm.timeout = "120" (REVERIE_LLM_TIMEOUT): must be a duration with its unit, such as 90s, 15m or 504h`,
				`llm.provider = "gpt" (--llm): must be one of gemini, openai, anthropic, offline, recorded, or empty`,
			}},
		{"number for a duration", "[llm]\ntimeout = 30", nil, nil,
			[]string{"llm.timeout = 30 (reverie.toml:2:1): must be a duration with its unit, such as 90s, 15m or 504h"}},
		{"number for a text", "[llm]\nmodel = 4", nil, nil, []string{"llm.model = 4 (reverie.toml:2:1): must be a text in quotes"}},
		{"text for a list", "[llm]\nprices = \"a=1\"", nil, nil, []string{`must be a list of texts, such as ["a", "b"]`}},
		{"part for a whole", "[database]\nmax_conns = 1.5", nil, nil, []string{"database.max_conns = 1.5 (reverie.toml:2:1): must be a whole number"}},
		{"text for a switch", "[decide]\nenabled = \"false\"", nil, nil, []string{`decide.enabled = "false" (reverie.toml:2:1): must be true or false`}},
		{"number for a switch", "[impression]\nenabled = 1", nil, nil, []string{"impression.enabled = 1 (reverie.toml:2:1): must be true or false"}},
		{"switch for a text", "[llm]\nmodel = true", nil, nil, []string{"llm.model = true (reverie.toml:2:1): must be a text in quotes"}},
		{"switch for a number", "[evolve]\nhold_ratio = false", nil, nil, []string{"evolve.hold_ratio = false (reverie.toml:2:1): must be a number"}},
		{"switch in the environment", "", []string{"REVERIE_DECIDE_ENABLED=yes"}, nil, []string{`decide.enabled = "yes" (REVERIE_DECIDE_ENABLED): must be true or false`}},
		{"fallback", "[decide]\nfallback_mode = \"hodl\"", nil, nil, []string{`decide.fallback_mode = "hodl" (reverie.toml:2:1): must be one of add, skip, hold`}},
		{"no fallback", "[decide]\nfallback_mode = \"\"", nil, nil, []string{`must not be empty, but one of add, skip, hold`}},
		{"score", "", []string{"REVERIE_DECIDE_CANDIDATE_MIN_SCORE=1.5"}, nil, []string{"decide.candidate_min_score = 1.5 (REVERIE_DECIDE_CANDIDATE_MIN_SCORE): must be from 0 to 1"}},
		{"address of a use", "[llm.observe]\nbase_url = \"nowhere\"", nil, nil, []string{`llm.observe.base_url = "••••" (reverie.toml:2:1): must be an address`}},
		{"near choice", "", []string{"REVERIE_LLM_PROVIDER=opnai"}, nil, []string{"or empty"}},
		{"not empty", "[log]\nlevel = \"\"", nil, nil, []string{`log.level = "" (reverie.toml:2:1): must not be empty, but one of debug, info, warn, error`}},
		{"range", "", []string{"REVERIE_DATABASE_MAX_CONNS=0"}, nil, []string{"database.max_conns = 0 (REVERIE_DATABASE_MAX_CONNS): must be from 1 to 1000"}},
		{"range of durations", "[llm]\ntimeout = \"2h\"", nil, nil, []string{`llm.timeout = "2h" (reverie.toml:2:1): must be from 10ms to 1h`}},
		{"open range", "", []string{"REVERIE_LLM_REQUESTS_PER_MINUTE=-1"}, nil, []string{"must be 0 or more"}},
		{"not a number", "", []string{"REVERIE_EVOLVE_HOLD_RATIO=NaN"}, nil, []string{"must be from 0 to 1"}},
		{"optional number", "[llm]\ntemperature = 3", nil, nil, []string{"llm.temperature = 3.0 (reverie.toml:2:1): must be from 0 to 2"}},
		{"override", "[llm.evolve]\nmax_output_tokens = 3", nil, nil, []string{"must be from 16 to 1000000, or empty"}},
		{"address", "", []string{"REVERIE_LLM_BASE_URL=localhost:11434"}, nil, []string{"llm.base_url = \"••••\" (REVERIE_LLM_BASE_URL): must be an address"}},
		{"time zone", "[group]\ntime_zone = \"Mars/Olympus\"", nil, nil, []string{`group.time_zone = "Mars/Olympus" (reverie.toml:2:1): must be an IANA time zone`}},
		{"machine's zone", "", []string{"REVERIE_GROUP_TIME_ZONE=Local"}, nil, []string{"must be an IANA time zone"}},
		{"floor and ceiling", "[embed]\nfloor = 0.8\nceiling = 0.4", nil, nil,
			[]string{"embed.floor = 0.8 (reverie.toml:2:1): must be less than embed.ceiling (0.4, reverie.toml:3)"}},
		{"timeouts", "[database]\nstatement_timeout = \"60s\"", nil, nil,
			[]string{`database.read_timeout = "1m" (default): must be longer than database.statement_timeout (1m, reverie.toml:2)`}},
		{"timeouts of an outcome", "[database]\nidle_timeout = \"51s\"", nil, nil,
			[]string{`database.read_timeout = "1m" (default): must be longer than database.idle_timeout (51s, reverie.toml:2) and database.lock_timeout (10s, default) together`}},
		{"target", "", []string{"REVERIE_EVOLVE_TARGET=61"}, nil, []string{"evolve.target = 61 (REVERIE_EVOLVE_TARGET): must be at most evolve.max_active (60, default)"}},
		{"turns that stay", "[short_term]\nmax_items = 13", nil, nil,
			[]string{"short_term.max_items = 13 (reverie.toml:2:1): must be at most short_term.compression_threshold (12, default)"}},
		{"bounds of weight", "[feedback]\nmin_weight = 1.5\nmax_weight = 1.0", nil, nil,
			[]string{"feedback.min_weight = 1.5 (reverie.toml:2:1): must be at most feedback.max_weight (1, reverie.toml:3)"}},
		{"kind", "[recall]\nkinds = [\"group\", \"sesion\"]", nil, nil, []string{`"sesion" is not one of group, session, dream, team`}},
		{"no kinds", "[recall]\nkinds = []", nil, nil, []string{"recall.kinds = [] (reverie.toml:2:1): must not be empty"}},
		{"empty keyword", "", []string{"REVERIE_RECALL_TRIGGER_KEYWORDS=my,,your"}, nil, []string{"has an empty keyword, which every query would have"}},
		{"no keywords", "[recall]\nlong_term_trigger = \"keywords\"\ntrigger_keywords = []", nil, nil,
			[]string{"must not be empty where recall.long_term_trigger is keywords (reverie.toml:2)"}},
		{"schedule", "[schedule]\nextract = \"*/5 * * *\"", nil, nil, []string{"write five fields"}},
		{"price", "", []string{"REVERIE_LLM_PRICES=a=1/2,b"}, nil, []string{`price "b": no equals sign`}},
		{"negative price", "[llm]\nprices = [\"a=-1\"]", nil, nil, []string{`"-1" is no price`}},
		{"unknown flag", "", nil, map[string]string{"llm.modle": "x"}, []string{"--llm-modle: unknown setting llm.modle"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, prov, _, err := load(t, tt.toml, tt.env, tt.flags)
			if err == nil {
				t.Fatal("no error")
			}
			if cfg != nil || prov == nil {
				t.Errorf("with an error: config %v, provenance %v", cfg, prov)
			}
			if !errors.Is(err, reverie.ErrConfiguration) {
				t.Errorf("%v is no ErrConfiguration", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error\n%v\nlacks\n%s", err, want)
				}
			}
			if got := len(strings.Split(err.Error(), "\n")); got != len(tt.want) {
				t.Errorf("%d problems, want %d:\n%v", got, len(tt.want), err)
			}
		})
	}
}

func TestUnknownEnvironment(t *testing.T) {
	env := []string{
		"REVERIE_LLM_MODLE=x", "REVERIE_XYLOPHONE=1", "PATH=/bin", "MODEL=x",
		"REVERIE_TEST_DATABASE_URL=x", "REVERIE_DATA_DIR=/d", "REVERIE_CONFIG=", "REVERIE_EMPTY=", "REVERIE_=x",
	}
	cfg, prov, warnings, err := load(t, "", env, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"REVERIE_ is not a setting and has no effect",
		"REVERIE_LLM_MODLE is not a setting and has no effect",
		"REVERIE_XYLOPHONE is not a setting and has no effect",
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
	if got := prov.Origin("database.data_dir").String(); cfg.Database.DataDir != "/d" || got != "REVERIE_DATA_DIR" {
		t.Errorf("data_dir = %q from %s", cfg.Database.DataDir, got)
	}
	cfg, _ = mustLoad(t, "", []string{"REVERIE_DATA_DIR=/short", "REVERIE_DATABASE_DATA_DIR=/long"}, nil)
	if cfg.Database.DataDir != "/long" {
		t.Errorf("data_dir = %q, want the long name's", cfg.Database.DataDir)
	}
}
