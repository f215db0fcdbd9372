package app

import (
	"context"
	"fmt"
	"math"
	"time"

	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/llm/openai"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// room is the size of one question to a model, and of its answer.
type room struct {
	input, output int          // tokens
	shown         int          // memories
	messages      int          // of a question
	set           *prompts.Set // prompts whose texts and messages fit
	server        string       // the server that reported the context; "" if none
	context       int          // tokens of both; 0: unknown
}

// How a context is divided.
const (
	smallBelow   = 4000 // smaller questions use short prompts
	leastRoom    = 500  // minimum tokens beside the prompt
	memoryTokens = 100  // of a shown memory
	otherInput   = 8000 // tokens of questions without a bound of their own

	// A short prompt shows this many messages, since small models confuse the numbers of more. It shows no memories:
	// another question decides what a fact does to them.
	fewMessages = 12
)

// divide fits question and answer into a context, 0 if it is unknown. An eighth stays free, since tokens are
// estimated and servers add some. Of the rest the answer gets what the question does not need, at least a quarter.
func divide(context, input, output int) (in, out int) {
	if context == 0 {
		return input, output
	}
	usable := context - context/8
	output = min(output, max(usable/4, usable-input))
	return min(input, usable-output), output
}

// room determines the size of a use's questions for its model. The error is a [reverie.ErrConfiguration] if the
// prompt leaves no room, or if the server does not support the settings.
func (a *App) room(ctx context.Context, s config.ModelSettings, prompt string, set *prompts.Set, input int) (room, error) {
	server, tokens := a.served(ctx, s)
	if server == openai.ServerOllama && s.Lines == llm.LinesGrammar {
		return room{}, fmt.Errorf(`%s at %s has no grammars: %w: set [llm] lines = "schema"`, server, s.BaseURL, reverie.ErrConfiguration)
	}
	r := room{shown: reverie.MaxShown, messages: math.MaxInt, server: server, context: tokens}
	r.input, r.output = divide(tokens, input, s.MaxOutputTokens)
	fitted := r.input < input
	small := s.Prompts == "small" || s.Prompts != "full" && fitted && r.input < smallBelow
	r.set = set.Fitted(small, map[bool]int{true: r.input}[fitted])
	if small {
		r.messages, r.shown = fewMessages, 0
	}
	if !fitted {
		return r, nil
	}
	free := r.input - r.set.Tokens(prompt)
	if r.shown = min(r.shown, free/3/memoryTokens); free < leastRoom {
		return r, fmt.Errorf("%s reads %d tokens, and of them the prompt %s takes %d and the answer %d: %w: give it a longer "+
			`context (llama.cpp --ctx-size, Ollama num_ctx, vLLM --max-model-len), or set [llm] prompts = "small"`,
			s.Model, tokens, prompt, r.set.Tokens(prompt), r.output, reverie.ErrConfiguration)
	}
	return r, nil
}

// How long a server may take to answer, and how long its answer is valid.
const (
	servedPatience = 3 * time.Second
	servedFor      = 10 * time.Minute
)

// serving is what a server reports about its model.
type serving struct {
	server  string
	context int
	at      time.Time
}

// served returns a model's server and its context length: the setting, otherwise what the server reports, 0 if it
// does not. An unreachable server is asked again.
func (a *App) served(ctx context.Context, s config.ModelSettings) (server string, tokens int) {
	if s.ContextTokens > 0 || s.Provider != config.ProviderOpenAI || s.BaseURL == "" {
		return "", s.ContextTokens
	}
	key, now := s.BaseURL+" "+s.Model, a.Clock()
	a.wiring.Lock()
	known, found := a.servers[key]
	a.wiring.Unlock()
	if age := now.Sub(known.at); found && age >= 0 && age < servedFor {
		return known.server, known.context
	}
	ctx, cancel := context.WithTimeout(ctx, servedPatience)
	defer cancel()
	server, tokens, err := openai.Serving(ctx, llm.ClientOptions{BaseURL: s.BaseURL, APIKey: s.APIKey.Reveal(), Model: s.Model})
	if err != nil {
		a.Log.Debug("the server does not say how long its context is", "server", s.BaseURL, "error", err)
		return "", 0
	}
	a.wiring.Lock()
	defer a.wiring.Unlock()
	if a.servers == nil {
		a.servers = map[string]serving{}
	}
	a.servers[key] = serving{server, tokens, now}
	return server, tokens
}
