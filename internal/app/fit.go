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

// room is what fits one question to a model, and its answer.
type room struct {
	input, output int          // tokens
	shown         int          // memories
	messages      int          // of a question
	set           *prompts.Set // whose texts and messages fit it
	server        string       // that has said so; "" is none
	context       int          // tokens of both; 0: nobody knows
}

// How a context is divided.
const (
	smallBelow   = 4000 // tokens of a question: with fewer, prompts are short
	leastRoom    = 500  // tokens beside the prompt
	memoryTokens = 100  // of a memory that is shown
	otherInput   = 8000 // tokens of questions that have no bound of their own

	// A short prompt shows so many messages, since of more small models lose the numbers, and no
	// memories: what a fact does to them is asked by itself.
	fewMessages = 12
)

// divide fits the tokens of a question and its answer to a context, 0 where it is not known. An
// eighth stays free, since tokens are estimated and servers add some; of the rest the answer
// has what the question does not need, and no less than a quarter.
func divide(context, input, output int) (in, out int) {
	if context == 0 {
		return input, output
	}
	usable := context - context/8
	output = min(output, max(usable/4, usable-input))
	return min(input, usable-output), output
}

// room fits questions of a use to its model. The error is a [reverie.ErrConfiguration] where
// the prompt leaves no room, or the server cannot do what is set.
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

// How long a server is waited for, and how long its word counts.
const (
	servedPatience = 3 * time.Second
	servedFor      = 10 * time.Minute
)

// serving is what a server said of its model.
type serving struct {
	server  string
	context int
	at      time.Time
}

// served says which server a model has, and how many tokens it reads: as set, else as the
// server says, 0 where it does not. One that cannot be reached is asked again.
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
