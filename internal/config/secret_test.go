package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"reverie/internal/reverie"
)

func TestSecretFiles(t *testing.T) {
	in := world(t)
	place := func(name, text string) string {
		path := filepath.Join(in.WorkDir, name)
		writeFile(t, path, text)
		return path
	}
	unix := place("unix", "k1\n")
	place("etc/dos", "k2\r\n")
	two := place("two", "k3\n\n")
	empty := place("empty", "\n")
	huge := place("huge", strings.Repeat("x", maxSecretFile+1))
	url := place("url", "postgres://u:p@h/d")
	gone := filepath.Join(in.WorkDir, "gone")

	tests := []struct {
		name   string
		toml   string // placed in etc/reverie.toml
		env    []string
		want   string // of llm.api_key
		origin string
		err    string
	}{
		{name: "environment", env: []string{"REVERIE_LLM_API_KEY_FILE=" + unix}, want: "k1", origin: "REVERIE_LLM_API_KEY_FILE (" + unix + ")"},
		{name: "relative to the working directory", env: []string{"REVERIE_LLM_API_KEY_FILE=etc/dos"}, want: "k2", origin: "REVERIE_LLM_API_KEY_FILE (etc/dos)"},
		{name: "beside the configuration file", toml: "llm.api_key_file = \"dos\"", want: "k2", origin: "etc/reverie.toml:1 (dos)"},
		{name: "one line end, no more", env: []string{"REVERIE_LLM_API_KEY_FILE=" + two}, want: "k3\n", origin: "REVERIE_LLM_API_KEY_FILE (" + two + ")"},
		{name: "file of the environment over text of the file", toml: "llm.api_key = \"weak\"", env: []string{"REVERIE_LLM_API_KEY_FILE=unix"}, want: "k1", origin: "REVERIE_LLM_API_KEY_FILE (unix)"},
		{name: "text of the environment over file of the file", toml: "llm.api_key_file = \"gone\"", env: []string{"REVERIE_LLM_API_KEY=strong"}, want: "strong", origin: "REVERIE_LLM_API_KEY"},
		{name: "both", env: []string{"REVERIE_LLM_API_KEY=hunter2", "REVERIE_LLM_API_KEY_FILE=" + unix},
			err: "llm.api_key = •••• (REVERIE_LLM_API_KEY): llm.api_key_file is set too (REVERIE_LLM_API_KEY_FILE): keep one of them"},
		{name: "missing", env: []string{"REVERIE_LLM_API_KEY_FILE=" + gone}, err: "cannot read the file " + gone},
		{name: "may be missing, and is there", env: []string{"REVERIE_LLM_API_KEY_FILE=-" + unix}, want: "k1", origin: "REVERIE_LLM_API_KEY_FILE (" + unix + ")"},
		{name: "may be missing, and is empty", env: []string{"REVERIE_LLM_API_KEY_FILE=-" + empty}, err: "the file " + empty + " is empty"},
		{name: "may be missing, and its folder is a file", env: []string{"REVERIE_LLM_API_KEY_FILE=-" + unix + "/key"}, err: "cannot read the file"},
		{name: "empty", env: []string{"REVERIE_LLM_API_KEY_FILE=" + empty}, err: "the file " + empty + " is empty"},
		{name: "folder", env: []string{"REVERIE_LLM_API_KEY_FILE=" + in.WorkDir}, err: in.WorkDir + " is a folder"},
		{name: "huge", env: []string{"REVERIE_LLM_API_KEY_FILE=" + huge}, err: "the file " + huge + " has 65537 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := in
			in.Env = tt.env
			in.Path = "etc/reverie.toml"
			place(in.Path, tt.toml)
			cfg, prov, _, err := Load(in)
			if tt.err != "" {
				if !errors.Is(err, reverie.ErrConfiguration) || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("error %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := prov.Origin("llm.api_key").String(); cfg.LLM.APIKey.Reveal() != tt.want || got != tt.origin {
				t.Errorf("api_key %q from %s, want %q from %s", cfg.LLM.APIKey.Reveal(), got, tt.want, tt.origin)
			}
		})
	}

	t.Run("each secret", func(t *testing.T) {
		in := in
		in.Env = []string{"REVERIE_DATABASE_URL_FILE=" + url, "REVERIE_DATABASE_MIGRATE_URL_FILE=" + url,
			"REVERIE_EMBED_API_KEY_FILE=" + unix, "REVERIE_LLM_EVOLVE_API_KEY_FILE=" + unix}
		cfg, _, warnings, err := Load(in)
		if err != nil || len(warnings) > 0 {
			t.Fatal(err, warnings)
		}
		if cfg.Database.URL != "postgres://u:p@h/d" || cfg.Database.MigrateURL != "postgres://u:p@h/d" ||
			cfg.Embed.APIKey != "k1" || cfg.LLM.Evolve.APIKey != "k1" {
			t.Errorf("secrets: %q %q %q %q", cfg.Database.URL.Reveal(), cfg.Database.MigrateURL.Reveal(), cfg.Embed.APIKey.Reveal(), cfg.LLM.Evolve.APIKey.Reveal())
		}
	})
}

// No way of printing a Config shows a secret.
func TestSecretsDoNotPrint(t *testing.T) {
	cfg, _ := mustLoad(t, "", []string{
		"REVERIE_LLM_PROVIDER=openai", "REVERIE_LLM_API_KEY=hunter2", "REVERIE_EMBED_API_KEY=hunter2", "REVERIE_LLM_EVOLVE_API_KEY=hunter2",
		"REVERIE_DATABASE_URL=postgres://u:hunter2@h/d", "REVERIE_DATABASE_MIGRATE_URL=host=h password=hunter2",
	}, nil)
	model, err := cfg.Generation("evolve")
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "config", cfg, "key", cfg.LLM.APIKey, "model", model)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "config", cfg, "key", cfg.LLM.APIKey, "model", model)
	encoded, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprintf("%v %+v %#v %s %q %x", *cfg, *cfg, *cfg, cfg.LLM.APIKey, cfg.LLM.APIKey, cfg.LLM.APIKey),
		fmt.Sprintf("%+v %#v", model, model), log.String(), string(encoded),
	} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("a secret in %s", text)
		}
	}
	if cfg.LLM.APIKey.Reveal() != "hunter2" {
		t.Error("a secret is lost")
	}
}

// A refused value that may hold a secret is not repeated.
func TestProblemsDoNotPrintSecrets(t *testing.T) {
	for name, in := range map[string]struct {
		toml string
		env  []string
	}{
		"scheme":      {env: []string{"REVERIE_DATABASE_URL=mysql://u:hunter2@h/d"}},
		"port":        {env: []string{"REVERIE_DATABASE_URL=postgres://u:hunter2@h:port/d"}},
		"bare key":    {env: []string{"REVERIE_DATABASE_URL=hunter2"}},
		"percent":     {env: []string{"REVERIE_DATABASE_URL=postgres://u:%hunter2@h/d"}},
		"base url":    {env: []string{"REVERIE_LLM_BASE_URL=https://u:hunter2@h/v1"}},
		"user alone":  {env: []string{"REVERIE_LLM_BASE_URL=https://hunter2@h/v1"}},
		"collector":   {env: []string{"REVERIE_TRACES_ENDPOINT=https://u:hunter2@h/v1"}},
		"team":        {env: []string{"REVERIE_TEAM_REMOTE=https://hunter2@h/?token=hunter2"}},
		"wrong type":  {toml: "[llm]\napi_key = [\"hunter2\"]"},
		"syntax":      {toml: "[llm]\napi_key = hunter2"},
		"no end":      {toml: "[llm]\napi_key = \"hunter2"},
		"unknown key": {toml: "[llm]\napi_kee = \"hunter2\""},
	} {
		_, _, _, err := load(t, in.toml, in.env, nil)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRedactAddress(t *testing.T) {
	tests := []struct{ in, want string }{
		{"postgres://u:secret@h:5432/d?sslmode=require", "postgres://u:••••@h:5432/d?sslmode=require"},
		{"postgres://u@h/d", "postgres://u@h/d"},
		{"postgres://h/d", "postgres://h/d"},
		{"postgres://u:@h/d", "postgres://u:••••@h/d"},
		{"postgres://u:se@cret@h/d", "postgres://u:••••@h/d"},
		{"postgres://u:12/secret@h/d", "••••"},
		{"postgres://u:secret@h:port/d", "••••"},
		{"postgres://h/d?user=u&password=secret&sslmode=require", "postgres://h/d?••••"},
		{"postgres://h/d?sslpassword=secret&sslkey=/k.pem", "postgres://h/d?••••"},
		{"host=h password=secret user=u", "••••"},
		{`host=h password = 'se\'c ret' user=u`, "••••"},
		{"PASSWORD=secret host=h", "••••"},
		{"https://h/v1?key=secret&api-version=3", "https://h/v1?••••"},
		{"https://h/v1?api_token=secret", "https://h/v1?••••"},
		{"https://h/v1?sig=secret", "https://h/v1?••••"},
		{"https://secret@h/v1", "https://:••••@h/v1"},
		{"secret", "••••"},
	}
	for _, tt := range tests {
		if got := redactAddress(tt.in); got != tt.want {
			t.Errorf("redactAddress(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzRedactAddress(f *testing.F) {
	for _, s := range []string{"hunter2", "a@b", "a/b", "a'b", "a b", "a&b=c", "a#b", "%41"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, password string) {
		if len(password) < 4 {
			t.Skip("may stand elsewhere by chance")
		}
		const before, after = "postgres://user:", "@host.example/database?sslmode=require"
		got := redactAddress(before + password + after)
		if strings.Contains(got, password) && !strings.Contains(before+after+mask, password) {
			t.Errorf("%q shows the password %q", got, password)
		}
	})
}

// A model that needs no key has no file for one; one that needs it says so.
func TestSecretFileThatMayBeMissing(t *testing.T) {
	dir := t.TempDir()
	load := func(provider string) (*Config, error) {
		cfg, _, _, err := Load(Input{WorkDir: dir, Env: []string{"REVERIE_LLM_PROVIDER=" + provider,
			"REVERIE_LLM_API_KEY_FILE=-" + filepath.Join(dir, "gone")}})
		return cfg, err
	}
	cfg, err := load("offline")
	if err != nil || cfg.LLM.APIKey.Reveal() != "" {
		t.Fatalf("%v", err)
	}
	if _, err := cfg.Generation("evolve"); err != nil {
		t.Errorf("a model without a key: %v", err)
	}
	if cfg, err = load("gemini"); err != nil {
		t.Fatal(err)
	}
	if _, err := cfg.Generation("evolve"); !errors.Is(err, reverie.ErrConfiguration) || !strings.Contains(err.Error(), "REVERIE_LLM_API_KEY") {
		t.Errorf("a model that needs one: %v", err)
	}
}
