package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// Person is who answers the questions of a setup.
type Person interface {
	Say(format string, args ...any) error
	Ask(ctx context.Context, question, byDefault string) (string, error)
	AskSecret(ctx context.Context, question string) (string, error)
	Confirm(ctx context.Context, question string) (bool, error)
}

// Setup makes a small configuration file of what a person says, and tries each part.
type Setup struct {
	Person
	Input     config.Input // whose flags are what is known already; the answers are added
	Asks      bool         // false: what is missing has a default, or is an error
	LookupEnv func(string) string
	Log       *slog.Logger
	Clock     func() time.Time
	WriteFile func(name string, write func(io.Writer) error) error // that nobody else can read

	again    map[string]string // answers that did not do, by path
	chosen   offer
	untried  bool // the model
	outdated bool // the database is there, its tables are not
}

// The settings of a setup, by path.
const (
	setProvider = "llm.provider"
	setURL      = "llm.base_url"
	setKey      = "llm.api_key"
	setKeyFile  = "llm.api_key_file"
	setModel    = "llm.model"
	setEmbed    = "embed.provider"
	setEmbedder = "embed.model"
	setZone     = "group.time_zone"
	setLanguage = "group.language"
	setDatabase = "database.url"
)

// offer is a provider that a setup knows of.
type offer struct{ name, title, provider, url, keys string }

const (
	ollama     = "ollama"
	compatible = "compatible"
)

var offers = []offer{
	{"gemini", "Gemini", config.ProviderGemini, "", "https://aistudio.google.com/apikey"},
	{"openai", "OpenAI", config.ProviderOpenAI, "", "https://platform.openai.com/api-keys"},
	{"anthropic", "Anthropic", config.ProviderAnthropic, "", "https://console.anthropic.com/settings/keys"},
	{ollama, "Ollama on this machine", config.ProviderOpenAI, "http://localhost:11434/v1", ""},
	{compatible, "another server that speaks OpenAI's protocol", config.ProviderOpenAI, "", ""},
}

// Offers are the names of the providers that a setup knows of.
func Offers() (names []string) {
	for _, o := range offers {
		names = append(names, o.name)
	}
	return names
}

// Run asks, tries and writes. The file is only written when all has been answered.
func (s *Setup) Run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.model, s.embeddings, s.group, s.database, s.write} {
		switch err := step(ctx); {
		case errors.Is(err, io.EOF):
			return badRequest(errors.New("the answers have ended, and nothing is written"))
		case ctx.Err() != nil:
			return fmt.Errorf("nothing is written: %w", ctx.Err())
		case err != nil:
			return err
		}
	}
	return nil
}

// app is one with the settings so far.
func (s *Setup) app() (*App, error) {
	cfg, _, _, err := config.Load(s.Input.Without())
	return &App{Config: cfg, Log: s.Log, Clock: s.Clock, LookupEnv: s.LookupEnv, Notify: func(text string) { _ = s.Say("%s\n", text) }}, err
}

// forget takes answers back: they are asked for again, and offered.
func (s *Setup) forget(paths ...string) {
	if s.again == nil {
		s.again = map[string]string{}
	}
	for _, path := range paths {
		s.again[path] = s.Input.Flags[path]
		delete(s.Input.Flags, path)
	}
}

// ask asks for a setting that is not known yet, until it is one that can be.
func (s *Setup) ask(ctx context.Context, path, question, byDefault string) error {
	for s.Asks && s.Input.Flags[path] == "" {
		answer, err := s.Ask(ctx, question, cmp.Or(s.again[path], byDefault))
		if err != nil || answer == "" {
			return err
		}
		s.Input.Flags[path] = answer
		if _, err := s.app(); err != nil {
			_, why, _ := strings.Cut(err.Error(), "): ") // of setting = value (origin): why
			delete(s.Input.Flags, path)
			if err := s.Say("  It %s\n", why); err != nil {
				return err
			}
		}
	}
	return nil
}

// model asks for a model until one answers.
func (s *Setup) model(ctx context.Context) error {
	for {
		for _, step := range []func(context.Context) error{s.provider, s.address, s.key, s.modelName} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		a, err := s.app()
		if err == nil {
			err = a.tryModel(ctx, s.Say)
		}
		if err == nil {
			return nil
		}
		fault := llm.FaultIn(err)
		switch {
		case !s.Asks || ctx.Err() != nil || a.Config == nil:
			return err
		case fault == llm.FaultUnauthorized && s.Input.Flags[setKey]+s.Input.Flags[setKeyFile] == "" && a.Config.LLM.APIKey != "":
			return err // the environment's: whatever is typed, it would win
		}
		if err := s.Say("  %s\n", said(err)); err != nil {
			return err
		}
		switch {
		case fault == llm.FaultUnauthorized:
			s.forget(setKey, setKeyFile)
		case fault == llm.FaultNotFound:
			if s.forget(setModel); s.chosen.name == compatible {
				s.forget(setURL)
			}
		default:
			if s.untried, err = s.Confirm(ctx, "Go on all the same?"); s.untried || err != nil {
				return err
			}
			s.forget(setProvider, setURL, setKey, setKeyFile, setModel)
		}
	}
}

// said is an error without the names of settings, which whoever answers questions has not
// seen.
func said(err error) string {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e.Said()
	}
	return err.Error()
}

// provider asks for the provider.
func (s *Setup) provider(ctx context.Context) error {
	v := s.Input.Flags
	word := cmp.Or(v[setProvider], s.LookupEnv("REVERIE_LLM_PROVIDER"))
	switch {
	case s.chosen.name != "" && v[setProvider] != "":
		return nil
	case word == "" && v[setURL] != "":
		word = compatible
	case word == "" && !s.Asks:
		return badRequest(fmt.Errorf("--provider is needed: one of %s", strings.Join(Offers(), ", ")))
	}
	if s.Asks && v[setProvider]+v[setURL] == "" {
		list := "Which model decides what to remember?\n"
		for i, o := range offers {
			list += fmt.Sprintf("  %d  %s\n", i+1, o.title)
		}
		if err := s.Say("%s", list); err != nil {
			return err
		}
		var err error
		if word, err = s.Ask(ctx, "Number", cmp.Or(word, "1")); err != nil {
			return err
		}
	}
	for i, o := range offers {
		if word == o.name || word == fmt.Sprint(i+1) {
			s.chosen, v[setProvider] = o, o.provider
			return nil
		}
	}
	err := badRequest(fmt.Errorf("provider %q: it is one of %s", word, strings.Join(Offers(), ", ")))
	if !s.Asks || v[setProvider] != "" {
		return err
	}
	return errors.Join(s.Say("  %v\n", err), s.provider(ctx))
}

// address asks for that of a server that is not the provider's own.
func (s *Setup) address(ctx context.Context) error {
	v := s.Input.Flags
	if v[setURL] = cmp.Or(v[setURL], s.chosen.url); s.chosen.name == compatible && v[setURL] == "" && !s.Asks {
		return badRequest(errors.New("--base-url is needed: the address of the server"))
	}
	for s.chosen.name == compatible && v[setURL] == "" {
		if err := s.ask(ctx, setURL, "Its address, such as http://localhost:8000/v1", ""); err != nil {
			return err
		}
	}
	return nil
}

// key asks for the key, unless there is one, or none is needed.
func (s *Setup) key(ctx context.Context) error {
	v := s.Input.Flags
	if v[setKey] != "" || v[setKeyFile] != "" || s.chosen.name == ollama {
		return nil
	}
	a, err := s.app()
	if err != nil {
		return err
	}
	keyless := v[setURL] != ""
	switch {
	case a.Config.LLM.APIKey != "":
		return s.Say("The key is that of the environment, and stays there.\n")
	case keyless && !s.Asks:
		return nil
	case !s.Asks:
		return badRequest(errors.New("a key is needed: give --key-file FILE, or set REVERIE_LLM_API_KEY"))
	}
	question := "Its key, which is not shown; Enter where it needs none"
	if !keyless {
		question = "Key, which is not shown (" + s.chosen.keys + ")"
	}
	for v[setKey] == "" {
		if v[setKey], err = s.AskSecret(ctx, question); err != nil || keyless {
			return err
		}
	}
	return nil
}

// modelName asks which model. A server that is not the provider's own is asked what it has.
func (s *Setup) modelName(ctx context.Context) error {
	v := s.Input.Flags
	byDefault := config.DefaultModels[v[setProvider]]
	if v[setURL] != "" {
		a, err := s.app()
		if err != nil {
			return err
		}
		there, embeds, err := s.serverModels(ctx, a.Config.LLM.JobConfig)
		byDefault = ""
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && s.chosen.name == ollama:
			err = fmt.Errorf("Ollama does not answer at %s; start it by `ollama serve`: %w", v[setURL], err)
			if !s.Asks {
				return err
			}
			if err := s.Say("  %v\n", err); err != nil {
				return err
			}
			if _, err := s.Ask(ctx, "Enter tries again", ""); err != nil {
				return err
			}
			return s.modelName(ctx)
		case err == nil && s.chosen.name == ollama && len(there) == 0:
			_ = s.Say("  Ollama has no model yet: `ollama pull NAME` brings one\n")
		case len(there) > 0:
			byDefault = there[0]
			if !s.Asks && v[setModel] == "" && len(there) > 1 {
				return badRequest(fmt.Errorf("--model is needed: the server has %s", strings.Join(there, ", ")))
			}
			if s.Asks && v[setModel] == "" {
				_ = s.Say("The server has: %s\n", strings.Join(there[:min(len(there), 20)], ", "))
			}
		}
		if embeds != "" && v[setEmbed] == "" {
			v[setEmbedder] = embeds
		}
	}
	for s.Asks && v[setModel] == "" {
		if err := s.ask(ctx, setModel, "Model", byDefault); err != nil {
			return err
		}
	}
	if v[setModel] = cmp.Or(v[setModel], byDefault); v[setModel] == "" {
		return badRequest(errors.New("--model is needed: the server does not say which it has"))
	}
	return nil
}

// serverModels asks an OpenAI-compatible server for its models, and Ollama for which of them
// answer and which make vectors.
func (s *Setup) serverModels(ctx context.Context, at config.JobConfig) (answer []string, embeds string, err error) {
	var list struct{ Data []struct{ ID string } }
	base := strings.TrimRight(at.BaseURL, "/")
	if err := fetchJSON(ctx, http.MethodGet, base+"/models", at.APIKey.Reveal(), "", &list); err != nil {
		return nil, "", err
	}
	for _, m := range list.Data {
		if s.chosen.name == ollama {
			var can struct{ Capabilities []string }
			name, err := json.Marshal(map[string]string{"model": m.ID})
			if err == nil {
				err = fetchJSON(ctx, http.MethodPost, strings.TrimSuffix(base, "/v1")+"/api/show", "", string(name), &can)
			}
			if err == nil && slices.Contains(can.Capabilities, "embedding") { // an older one does not say
				embeds = cmp.Or(embeds, m.ID)
				continue
			}
		}
		answer = append(answer, m.ID)
	}
	return answer, embeds, nil
}

// fetchJSON asks a server for a small document.
func fetchJSON(ctx context.Context, method, url, key, body string, to any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // a key goes nowhere else
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(to)
}

// tryModel asks the model one small question, before there is a database to write it down.
func (a *App) tryModel(ctx context.Context, say func(string, ...any) error) error {
	s, err := a.Config.Generation("")
	if err != nil {
		return err
	}
	client, err := a.generator(s)
	if err != nil {
		return err
	}
	if err := say("Asking %s ... ", s.Model); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	if _, err = client.Generate(ctx, smallQuestion); err == nil {
		return say("it answers\n")
	}
	return errors.Join(err, say("\n"))
}

// embeddings keeps the provider's embedding model where that answers, else has searches go
// by words.
func (s *Setup) embeddings(ctx context.Context) error {
	v := s.Input.Flags
	a, err := s.app()
	if err != nil || s.untried {
		return err
	}
	e, err := a.Config.Embedding()
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, e.Timeout)
		defer cancel()
		var client adapter
		client, err = connect(e.Provider, llm.ClientOptions{BaseURL: e.BaseURL, APIKey: e.APIKey.Reveal(), Model: e.Model, Dims: e.Dimensions})
		if err == nil {
			_, _, err = client.embedder.Embed(ctx, []string{"Is anybody there?"})
		}
	}
	if err == nil {
		return s.Say("Search goes by meaning, with %s\n", e.Model)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.forget(setEmbedder)
	v[setEmbed] = config.ProviderOffline
	return s.Say("Search goes by words: there is no embedding model here\n")
}

// group asks for the calendar and the language of new groups.
func (s *Setup) group(ctx context.Context) error {
	if err := s.ask(ctx, setZone, "Time zone of the chats", machineZone(s.LookupEnv)); err != nil {
		return err
	}
	s.Input.Flags[setZone] = cmp.Or(s.Input.Flags[setZone], machineZone(s.LookupEnv))
	return s.ask(ctx, setLanguage, "Language of the memories, zh or en; Enter goes by the messages", "")
}

// machineZone is the time zone of this machine by its name, UTC where it cannot be told.
func machineZone(lookupEnv func(string) string) string {
	name := strings.TrimPrefix(lookupEnv("TZ"), ":")
	if name == "" {
		place, err := filepath.EvalSymlinks("/etc/localtime")
		if _, after, found := strings.Cut(place, "zoneinfo/"); err == nil && found {
			name = after
		}
	}
	if _, err := (reverie.Group{TimeZone: name}).Location(); err != nil || name == "" {
		return "UTC"
	}
	return name
}

// database asks for the database until one can be opened, unless the environment names it.
func (s *Setup) database(ctx context.Context) error {
	for {
		a, err := s.app()
		if err != nil {
			return err
		}
		if a.Config.Database.URL == "" {
			if err := s.ask(ctx, setDatabase, "PostgreSQL, as postgres://user:password@host/name; Enter starts one of its own", ""); err != nil {
				return err
			}
			if a, err = s.app(); err != nil {
				return err
			}
		}
		if err := s.Say("Opening the database ... "); err != nil {
			return err
		}
		err = a.Open(ctx)
		err = errors.Join(err, a.Close())
		if s.outdated = errors.Is(err, reverie.ErrOutdatedSchema); s.outdated {
			return s.Say("it is there, its tables are not\n")
		}
		if err == nil {
			return s.Say("it is there\n")
		}
		if !s.Asks || ctx.Err() != nil {
			return errors.Join(err, s.Say("\n"))
		}
		if err := s.Say("\n  %v\n", err); err != nil {
			return err
		}
		if on, err := s.Confirm(ctx, "Go on all the same?"); on || err != nil {
			return err
		}
		s.forget(setDatabase)
	}
}

// write writes the file, the key into one beside it, and says what is next.
func (s *Setup) write(context.Context) error {
	file, v := s.Input.NewFile(), s.Input.Flags
	dir := filepath.Dir(file)
	if v[setURL] != "" { // which says as much
		delete(v, setProvider)
	}
	where := ""
	switch {
	case v[setKey] != "":
		key := v[setKey]
		name := KeyFile(file)
		if err := s.WriteFile(name, func(w io.Writer) error { _, err := fmt.Fprintln(w, key); return err }); err != nil {
			return err
		}
		delete(v, setKey)
		v[setKeyFile] = filepath.Base(name)
		where = ", the key is in " + s.Input.Beside(s.Input.WorkDir, name) + ", which only you can read"
	case v[setKeyFile] != "":
		v[setKeyFile] = s.Input.Beside(dir, v[setKeyFile])
	}
	small := map[string]string{}
	for _, path := range []string{setDatabase, setProvider, setURL, setKeyFile, setModel, setEmbed, setEmbedder, setZone, setLanguage} {
		small[path] = v[path]
	}
	text, err := config.Small(small)
	if err != nil {
		return err
	}
	if err := s.WriteFile(file, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		return err
	}
	if err := s.Say("%s is written%s.\n", s.Input.Beside(s.Input.WorkDir, file), where); err != nil {
		return err
	}
	return s.next(file, small)
}

// next warns of what the environment says otherwise, and says what to do next.
func (s *Setup) next(file string, written map[string]string) error {
	in := s.Input
	in.Path, in.Flags = file, nil
	_, origins, _, err := config.Load(in)
	if err != nil {
		return fmt.Errorf("what is written cannot be read: %w", err)
	}
	for _, path := range slices.Sorted(maps.Keys(written)) {
		if at := origins.Origin(path); written[path] != "" && at.Layer == config.LayerEnv {
			_ = s.Say("warning: %s is set in the environment, and wins over what the file says\n", at)
		}
	}
	command := "reverie"
	if s.Input.Path != "" {
		command += " --config " + s.Input.Path
	}
	next := "Next:\n"
	if s.outdated {
		next += "  " + command + " migrate up\n"
	}
	return s.Say("%s  %s import FILE\n", next, command)
}

// KeyFile is the file beside a configuration file that a setup puts a key into.
func KeyFile(file string) string { return strings.TrimSuffix(file, filepath.Ext(file)) + ".key" }

// There are those of the files of a setup that are there already.
func (s *Setup) There() (names []string) {
	file := s.Input.NewFile()
	for _, name := range []string{file, KeyFile(file)} {
		if _, err := os.Lstat(name); err == nil && (name == file || s.Asks) {
			names = append(names, s.Input.Beside(s.Input.WorkDir, name))
		}
	}
	return names
}
