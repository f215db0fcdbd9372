package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/llm/openai"
	"reverie/internal/reverie"
	"reverie/store"
)

// Person answers the questions of a setup.
type Person interface {
	Say(format string, args ...any) error
	Ask(ctx context.Context, question, byDefault string) (string, error)
	AskSecret(ctx context.Context, question string) (string, error)
	Confirm(ctx context.Context, question string) (bool, error)
}

// Setup creates a small configuration file from a person's answers, and tests each part.
type Setup struct {
	Person
	Input     config.Input // its flags are the settings known so far; answers are added
	Asks      bool         // false: a missing setting gets a default, or is an error
	LookupEnv func(string) string
	Log       *slog.Logger
	Clock     func() time.Time
	WriteFile func(name string, write func(io.Writer) error) error // readable only by its owner

	set      map[string]string // Input.Flags
	chosen   offer
	untried  bool // the model is untested
	outdated bool // the person chose not to migrate the tables
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

// offer is a provider in the setup's list; keys is the page that issues its keys.
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

// Offers returns the names of the providers in the list.
func Offers() (names []string) {
	for _, o := range offers {
		names = append(names, o.name)
	}
	return names
}

// Run asks, tests and writes. It writes the file only when all questions are answered.
func (s *Setup) Run(ctx context.Context) (err error) {
	s.set = s.Input.Flags
	for _, step := range []func(context.Context) error{s.model, s.embeddings, s.group, s.database, s.write} {
		if err = step(ctx); err != nil {
			break
		}
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("nothing is written: %w", ctx.Err())
	case errors.Is(err, io.EOF):
		return badRequest(errors.New("the answers have ended, and nothing is written"))
	}
	return err
}

// tell is Say without its error: the next question would fail the same way.
func (s *Setup) tell(format string, args ...any) { _ = s.Say(format, args...) }

// app returns an App with the settings so far.
func (s *Setup) app() (*App, error) {
	cfg, _, _, err := config.Load(s.Input.Without())
	return &App{Config: cfg, Log: s.Log, Clock: s.Clock, LookupEnv: s.LookupEnv, Notify: func(text string) { s.tell("%s\n", text) }}, err
}

// forget removes answers, so that they are asked for again.
func (s *Setup) forget(paths ...string) {
	for _, path := range paths {
		delete(s.set, path)
	}
}

// ask asks for an unknown setting until the answer is valid.
func (s *Setup) ask(ctx context.Context, path, question, byDefault string) (err error) {
	for s.Asks && s.set[path] == "" {
		if s.set[path], err = s.Ask(ctx, question, byDefault); err != nil || s.set[path] == "" {
			return err
		}
		if _, err := s.app(); err != nil {
			_, why, _ := strings.Cut(err.Error(), "): ") // of: setting = value (origin): why
			s.tell("  It %s\n", why)
			s.forget(path)
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
			err = s.tryModel(ctx, a)
		}
		refused := llm.FaultIn(err) == llm.FaultUnauthorized
		switch {
		case err == nil, !s.Asks, ctx.Err() != nil, a.Config == nil:
			return err
		case refused && s.set[setKey]+s.set[setKeyFile] == "" && a.Config.LLM.APIKey != "":
			return err // the environment's value would override any answer
		}
		if e, is := errors.AsType[*llm.Error](err); is { // the person does not know the names of settings yet
			s.tell("  %s\n", e.Said())
		} else {
			s.tell("  %v\n", err)
		}
		switch {
		case refused:
			s.forget(setKey, setKeyFile)
		case llm.FaultIn(err) == llm.FaultNotFound:
			if s.forget(setModel); s.chosen.name == compatible {
				s.forget(setURL) // the address may be wrong as well
			}
		default:
			if s.untried, err = s.Confirm(ctx, "Go on all the same?"); s.untried || err != nil {
				return err
			}
			s.forget(setProvider, setURL, setKey, setKeyFile, setModel)
		}
	}
}

// provider asks for the provider, by its number or name.
func (s *Setup) provider(ctx context.Context) (err error) {
	word := cmp.Or(s.set[setProvider], s.LookupEnv("REVERIE_LLM_PROVIDER"))
	asks := s.Asks && s.set[setProvider]+s.set[setURL] == ""
	switch {
	case s.chosen.name != "" && s.set[setProvider] != "":
		return nil
	case s.set[setProvider] == "" && s.set[setURL] != "":
		word = compatible
	case word == "" && !asks:
		return badRequest(fmt.Errorf("--provider is needed: one of %s", strings.Join(Offers(), ", ")))
	}
	for {
		if asks {
			s.tell("Which model decides what to remember?\n")
			for i, o := range offers {
				s.tell("  %d  %s\n", i+1, o.title)
			}
			if word, err = s.Ask(ctx, "Number", cmp.Or(word, "1")); err != nil {
				return err
			}
		}
		for i, o := range offers {
			if word == o.name || word == fmt.Sprint(i+1) {
				s.chosen, s.set[setProvider] = o, o.provider
				return nil
			}
		}
		if !asks {
			return badRequest(fmt.Errorf("--provider %q: give one of %s", word, strings.Join(Offers(), ", ")))
		}
		word = ""
	}
}

// address asks for the address of a server other than the provider's own.
func (s *Setup) address(ctx context.Context) error {
	s.set[setURL] = cmp.Or(s.set[setURL], s.chosen.url)
	for s.chosen.name == compatible && s.set[setURL] == "" {
		if !s.Asks {
			return badRequest(errors.New("--base-url is needed: the address of the server"))
		}
		if err := s.ask(ctx, setURL, "Its address, such as http://localhost:8000/v1", ""); err != nil {
			return err
		}
	}
	return nil
}

// elsewhere reports whether the server is another one with OpenAI's protocol.
func (s *Setup) elsewhere() bool {
	return s.set[setURL] != "" && s.set[setProvider] == config.ProviderOpenAI
}

// key asks for the key, unless there is one or none is needed.
func (s *Setup) key(ctx context.Context) error {
	a, err := s.app()
	keyless := s.elsewhere()
	switch {
	case err != nil || s.set[setKey]+s.set[setKeyFile] != "" || s.chosen.name == ollama:
		return err
	case a.Config.LLM.APIKey != "":
		return s.Say("Key: that of the environment, which stays there.\n")
	case keyless && !s.Asks:
		return nil
	case !s.Asks:
		return badRequest(errors.New("a key is needed: give --key-file FILE, or set REVERIE_LLM_API_KEY"))
	}
	question := "Key, which is not shown (" + s.chosen.keys + ")"
	if keyless {
		question = "Its key, which is not shown; Enter where it needs none"
	}
	for s.set[setKey] == "" {
		if s.set[setKey], err = s.AskSecret(ctx, question); err != nil || keyless {
			return err
		}
	}
	return nil
}

// modelName asks for the model. A server other than the provider's own is asked for its models.
func (s *Setup) modelName(ctx context.Context) error {
	byDefault, there := config.DefaultModels[s.set[setProvider]], []string(nil)
	if s.elsewhere() {
		a, err := s.app()
		if err == nil {
			there, err = s.serverModels(ctx, a.Config.LLM.JobConfig)
		}
		if err != nil && (s.chosen.name == ollama && !s.Asks || ctx.Err() != nil || a.Config == nil) {
			return err
		}
		if byDefault = ""; err != nil {
			s.tell("  %v\n", err)
		}
	}
	if len(there) > 0 && s.set[setModel] == "" {
		if byDefault = there[0]; !s.Asks && len(there) > 1 {
			return badRequest(fmt.Errorf("--model is needed: the server has %s", strings.Join(there, ", ")))
		}
		s.tell("The server has: %s\n", strings.Join(there[:min(len(there), 20)], ", "))
	}
	for s.Asks && s.set[setModel] == "" {
		if err := s.ask(ctx, setModel, "Model", byDefault); err != nil {
			return err
		}
	}
	if s.set[setModel] = cmp.Or(s.set[setModel], byDefault); s.set[setModel] == "" {
		return badRequest(errors.New("--model is needed: the server does not say which it has"))
	}
	return nil
}

// serverModels asks a server for its models; the first embedding model is used for embeddings.
func (s *Setup) serverModels(ctx context.Context, at config.JobConfig) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	there, embeds, err := openai.Models(ctx, llm.ClientOptions{BaseURL: at.BaseURL, APIKey: at.APIKey.Reveal()})
	switch e, _ := errors.AsType[*llm.Error](err); {
	case e != nil && s.chosen.name == ollama:
		return nil, fmt.Errorf("is Ollama running? `ollama serve` starts it: %s", e.Said())
	case e != nil:
		return nil, errors.New(e.Said())
	case err == nil && s.chosen.name == ollama && len(there) == 0:
		return nil, errors.New("there is no model in Ollama yet; `ollama pull MODEL` gets one")
	}
	if len(embeds) > 0 {
		s.set[setEmbedder] = cmp.Or(s.set[setEmbedder], embeds[0])
	}
	return there, err
}

// tryModel asks the model a small question, before there is a database to record it.
func (s *Setup) tryModel(ctx context.Context, a *App) error {
	m, err := a.Config.Generation("")
	if err != nil {
		return err
	}
	client, err := a.generator(m)
	if err != nil {
		return err
	}
	s.tell("Asking %s ... ", m.Model)
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	if _, err = client.Generate(ctx, smallQuestion); err != nil {
		return errors.Join(err, s.Say("\n"))
	}
	return s.Say("it answers\n")
}

// embeddings keeps the provider's embedding model if it works; otherwise searches use only words.
func (s *Setup) embeddings(ctx context.Context) error {
	a, err := s.app()
	if err != nil || s.untried {
		return err
	}
	e, err := a.Config.Embedding()
	if err == nil {
		var client adapter
		client, err = connect(e.Provider, llm.ClientOptions{BaseURL: e.BaseURL, APIKey: e.APIKey.Reveal(), Model: e.Model, Dims: e.Dimensions})
		if err == nil {
			ctx, cancel := context.WithTimeout(ctx, e.Timeout)
			defer cancel()
			_, _, err = client.embedder.Embed(ctx, []string{"Is anybody there?"})
		}
	}
	if err == nil {
		return s.Say("Search goes by meaning, with %s\n", e.Model)
	}
	s.forget(setEmbedder)
	s.set[setEmbed] = config.ProviderOffline
	s.tell("Search goes by words: there is no embedding model here\n")
	return ctx.Err()
}

// group asks for the calendar and the language of new groups.
func (s *Setup) group(ctx context.Context) error {
	if err := s.ask(ctx, setZone, "Time zone of the chats", machineZone(s.LookupEnv)); err != nil {
		return err
	}
	s.set[setZone] = cmp.Or(s.set[setZone], machineZone(s.LookupEnv))
	return s.ask(ctx, setLanguage, "Language of the memories, zh or en; Enter goes by the messages", "")
}

// machineZone returns the name of this machine's time zone, UTC if unknown.
func machineZone(lookupEnv func(string) string) string {
	name := strings.TrimPrefix(lookupEnv("TZ"), ":")
	if place, err := filepath.EvalSymlinks("/etc/localtime"); name == "" && err == nil {
		_, name, _ = strings.Cut(place, "zoneinfo/")
	}
	if _, err := (reverie.Group{TimeZone: name}).Location(); err != nil || name == "" {
		return "UTC"
	}
	return name
}

// database asks for the database until one can be opened, unless the environment sets it.
func (s *Setup) database(ctx context.Context) error {
	for {
		a, err := s.app()
		if err == nil && a.Config.Database.URL == "" {
			if err = s.ask(ctx, setDatabase, "PostgreSQL, as postgres://user:password@host/name; Enter starts one of its own", ""); err != nil {
				return err
			}
			a, err = s.app()
		}
		if err != nil {
			return err
		}
		s.tell("Opening the database ... ")
		if err = a.Open(ctx); errors.Is(err, reverie.ErrOutdatedSchema) {
			err = s.migrate(ctx, a)
		} else if err == nil {
			s.tell("it is there\n")
		}
		err = errors.Join(err, a.Close(ctx))
		switch {
		case err == nil:
			return nil
		case !s.Asks || ctx.Err() != nil:
			return errors.Join(err, s.Say("\n"))
		}
		s.tell("\n  %v\n", err)
		if on, err := s.Confirm(ctx, "Go on all the same?"); on || err != nil {
			return err
		}
		s.forget(setDatabase)
	}
}

// migrate migrates the tables, unless the person declines.
func (s *Setup) migrate(ctx context.Context, a *App) error {
	s.tell("it is there, but its tables do not fit this version\n")
	if s.Asks {
		if on, err := s.Confirm(ctx, "Bring them up to date?"); err != nil || !on {
			s.outdated = true
			return err
		}
	}
	opts, err := a.MigrateOptions(ctx)
	if err == nil {
		_, err = store.Migrate(ctx, opts)
	}
	if err != nil {
		return err
	}
	return s.Say("They are up to date\n")
}

// write writes the file, and the key into a separate file, and prints the next steps.
func (s *Setup) write(context.Context) error {
	file, where := s.Input.NewFile(), ""
	if key := s.set[setKey]; key != "" {
		name := keyFile(file)
		if err := s.WriteFile(name, func(w io.Writer) error { _, err := fmt.Fprintln(w, key); return err }); err != nil {
			return err
		}
		s.set[setKeyFile] = name
		where = ", the key is in " + s.Input.Short(name) + ", which only you can read"
	}
	if s.set[setKeyFile] != "" {
		s.set[setKeyFile] = s.Input.Beside(filepath.Dir(file), s.set[setKeyFile])
	}
	if s.elsewhere() { // the address implies it
		s.forget(setProvider)
	}
	small := map[string]string{}
	for _, path := range []string{setDatabase, setProvider, setURL, setKeyFile, setModel, setEmbed, setEmbedder, setZone, setLanguage} {
		small[path] = s.set[path]
	}
	text, err := config.Small(small)
	if err != nil {
		return err
	}
	if err := s.WriteFile(file, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		return err
	}
	s.tell("%s is written%s.\n", s.Input.Short(file), where)
	return s.next(file, small)
}

// next warns of environment variables that override the file, and prints the next steps.
func (s *Setup) next(file string, written map[string]string) error {
	in, command := s.Input, "reverie"
	if in.Path != "" {
		command += " --config " + in.Path
	}
	in.Path, in.Flags = file, nil
	_, origins, _, err := config.Load(in)
	if err != nil {
		return fmt.Errorf("what is written cannot be read: %w", err)
	}
	for _, path := range slices.Sorted(maps.Keys(written)) {
		if at := origins.Origin(path); written[path] != "" && at.Layer == config.LayerEnv {
			s.tell("warning: %s is set in the environment, and wins over what the file says\n", at)
		}
	}
	s.tell("Next:\n")
	if s.outdated {
		s.tell("  %s migrate up\n", command)
	}
	return s.Say("  %s import FILE\n", command)
}

// keyFile returns the file next to a configuration file that holds the key.
func keyFile(file string) string { return strings.TrimSuffix(file, filepath.Ext(file)) + ".key" }

// There returns the setup's files that exist already.
func (s *Setup) There() (names []string) {
	file := s.Input.NewFile()
	for _, name := range []string{file, keyFile(file)} {
		if _, err := os.Lstat(name); err == nil && (name == file || s.Asks) {
			names = append(names, s.Input.Short(name))
		}
	}
	return names
}
