package eval

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"reverie/internal/llm"
	"reverie/internal/llm/answer"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// scene is where in a scenario a question is asked.
type scene struct {
	scenario *Scenario
	night    string
	standing Standing
}

func (s scene) names(ctx context.Context, req llm.Request) (names, error) {
	standing, err := s.standing(ctx)
	if err != nil {
		return names{}, err
	}
	return namesIn(req.User, s.scenario.Messages, standing), nil
}

// Recorded is a model that gives the recorded answers of scenarios, and asks nobody. It
// goes by night, purpose and order, not by the words of the question.
type Recorded struct {
	scene
	given   map[string]int // by night and purpose
	missing error
}

// RecordedModel is the name of the model that recorded answers come from.
const RecordedModel = "recorded"

// At says which night of which scenario comes next.
func (r *Recorded) At(s *Scenario, night string, standing Standing) {
	if r.scenario != s {
		r.given, r.missing = map[string]int{}, nil
	}
	r.scene = scene{s, night, standing}
}

// Err is what was asked and had not been recorded.
func (r *Recorded) Err() error { return r.missing }

// Generate gives the next answer of the night for the purpose.
func (r *Recorded) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	purpose := purposeOf(req)
	key := r.night + " " + purpose
	next := r.given[key]
	r.given[key]++
	for _, a := range r.scenario.Answers {
		if a.Night != r.night || a.Purpose != purpose {
			continue
		}
		if next--; next >= 0 {
			continue
		}
		n, err := r.names(ctx, req)
		if err != nil {
			return llm.Response{}, err
		}
		return a.response(n), nil
	}
	if r.missing == nil {
		r.missing = fmt.Errorf("scenario %s: no answer %d for %s is recorded for the night of %s: add it to %s/%s, or record them anew with --record: %w",
			r.scenario.Name, r.given[key], purpose, r.night, r.scenario.Dir, answersFile, reverie.ErrInvalid)
	}
	return llm.Response{}, r.missing
}

// response is the answer to a question that names things as n says.
func (a Answer) response(n names) llm.Response {
	text := a.Text
	if len(a.Lines) > 0 {
		lines := make([]string, len(a.Lines))
		for i, l := range a.Lines {
			lines[i] = string(n.asked.line(l))
		}
		text = strings.Join(lines, "\n")
	}
	resp := llm.Response{Text: text, Finish: llm.FinishStop}
	if a.Finish != "" {
		resp.Finish = llm.Finish(a.Finish)
	}
	return resp
}

// Recorder keeps what models answer, in the words of the scenario.
type Recorder struct {
	scene
	answers []Answer
	err     error
}

// Of is a model whose answers are kept.
func (r *Recorder) Of(m pipeline.Model) pipeline.Model { return recording{m, r} }

// At says which night of which scenario comes next.
func (r *Recorder) At(s *Scenario, night string, standing Standing) {
	if r.scenario != s {
		r.answers, r.err = nil, nil
	}
	r.scene = scene{s, night, standing}
}

// Err is why an answer could not be kept.
func (r *Recorder) Err() error { return r.err }

// Save writes the answers of the scenario into its folder, over those that were there.
func (r *Recorder) Save() error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, a := range r.answers {
		if err := enc.Encode(a); err != nil {
			return fmt.Errorf("write the answers of scenario %s: %w", r.scenario.Name, err)
		}
	}
	file := filepath.Join(r.scenario.Dir, answersFile)
	temp := file + ".new"
	if err := os.WriteFile(temp, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the answers of scenario %s: %w", r.scenario.Name, err)
	}
	return os.Rename(temp, file)
}

// recording is a model and who keeps its answers.
type recording struct {
	pipeline.Model
	to *Recorder
}

// Generate asks the model and keeps its answer, masked as everything that models say.
func (r recording) Generate(ctx context.Context, meta llm.Meta, req llm.Request) (llm.Response, error) {
	resp, err := r.Model.Generate(ctx, meta, req)
	if err != nil {
		return resp, err
	}
	n, err := r.to.names(ctx, req)
	if err != nil {
		r.to.err = err
		return resp, err
	}
	r.to.answers = append(r.to.answers, n.record(r.to.night, purposeOf(req), resp))
	return resp, nil
}

// record is an answer as a scenario keeps it: its lines, where they are all there is to
// it, else its text.
func (n names) record(night, purpose string, resp llm.Response) Answer {
	a := Answer{Night: night, Purpose: purpose}
	if resp.Finish != llm.FinishStop {
		a.Finish, a.Text = string(resp.Finish), resp.Text
		return a
	}
	read := answer.Read(resp.Text)
	if len(read.Skipped) > 0 || len(read.Lines) == 0 {
		if a.Text = resp.Text; a.Text == "" {
			a.Finish = string(resp.Finish)
		}
		return a
	}
	for _, l := range read.Lines {
		a.Lines = append(a.Lines, n.told.line(l.Object))
	}
	return a
}

// What answers are recorded for, by the prompt that asks.
const (
	purposeEvolve  = "evolve"
	purposeCompare = "compare"
)

func purposeOf(req llm.Request) string {
	prompt, _, _ := strings.Cut(req.Prompt, ".") // memory_evolve.en
	return map[string]string{prompts.MemoryEvolve: purposeEvolve, prompts.MemoryCompare: purposeCompare}[prompt]
}

// Standing says what the memories of a scenario say by now, by their names in it.
type Standing func(ctx context.Context) (map[string]string, error)

// names are what one question calls memories and messages, and what the scenario does.
type names struct{ asked, told renaming }

// renaming has other names for memories, and for messages as they stand in JSON.
type renaming struct{ memories, messages map[string]string }

// namesIn reads a question as the model sees it.
func namesIn(question string, messages []reverie.Message, standing map[string]string) names {
	var asked struct {
		Memories   []prompts.MemoryView    `json:"existing_memories"`
		Earlier    []prompts.MessageView   `json:"earlier_discussions"`
		New        []prompts.MessageView   `json:"new_discussions"`
		Candidates []prompts.CandidateView `json:"candidates"`
	}
	n := names{renaming{map[string]string{}, map[string]string{}}, renaming{map[string]string{}, map[string]string{}}}
	// A prompt of the operator's own may have words around the object.
	first, last := strings.Index(question, "{"), strings.LastIndex(question, "}")
	if last < first || first < 0 || json.Unmarshal([]byte(question[first:last+1]), &asked) != nil {
		return n
	}
	called := make(map[string]string, len(standing)) // by what it says
	for name, says := range standing {
		called[says] = name
	}
	memory := func(handle, says string) {
		name := cmp.Or(called[says], says)
		n.asked.memories[says], n.asked.memories[name], n.told.memories[handle] = handle, handle, name
	}
	for _, m := range asked.Memories {
		memory(m.ID, m.Statement)
	}
	for _, c := range asked.Candidates {
		memory(c.ID, c.Statement)
	}
	for _, view := range append(asked.Earlier, asked.New...) {
		if id, ok := n.shownIn(view, messages); ok {
			number := strconv.Itoa(view.ID)
			n.asked.messages[quote(id)], n.told.messages[number] = number, quote(id)
		}
	}
	return n
}

// quote is a text in JSON.
func quote(s string) string {
	quoted, _ := json.Marshal(s) // a string always encodes
	return string(quoted)
}

// shownIn finds the message that the model sees there: of those that one author sent in
// one second, the one with that text, or the first, where a mask has changed it.
func (n names) shownIn(v prompts.MessageView, messages []reverie.Message) (id string, found bool) {
	at, err := time.Parse(time.RFC3339, v.Time) // short prompts show none
	for _, m := range messages {
		if n.asked.messages[quote(m.ID)] != "" || err == nil && !at.Equal(m.SentAt.Truncate(time.Second)) {
			continue
		}
		as := prompts.Message(v.ID, v.ReplyTo, m, at.Location())
		switch {
		case as.Author != v.Author:
		case as.Text == v.Text:
			return m.ID, true
		case !found:
			id, found = m.ID, true
		}
	}
	return id, found
}

// line renames what a line names. What has no other name stays, and will be refused like any
// other mistake; so does a line that is not of the form.
func (r renaming) line(line json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil {
		return line
	}
	for _, key := range []string{"old_id", "id"} {
		var name string
		if json.Unmarshal(fields[key], &name) == nil && name != "" {
			fields[key] = json.RawMessage(quote(cmp.Or(r.memories[name], name)))
		}
	}
	var evidence []map[string]json.RawMessage
	if json.Unmarshal(fields["evidence"], &evidence) == nil {
		for _, e := range evidence {
			raw := string(e["message"])
			var id string
			if json.Unmarshal(e["message"], &id) == nil {
				raw = quote(id)
			}
			if name := r.messages[raw]; name != "" {
				e["message"] = json.RawMessage(name)
			}
		}
		fields["evidence"], _ = json.Marshal(evidence)
	}
	out, err := json.Marshal(fields)
	if err != nil {
		return line
	}
	return out
}

// Exchange is one question and its answer, word for word.
type Exchange struct {
	Scenario string     `json:"scenario"`
	Purpose  string     `json:"purpose"`
	Prompt   string     `json:"prompt"`
	System   string     `json:"system"`
	User     string     `json:"user"`
	Answer   string     `json:"answer"`
	Finish   llm.Finish `json:"finish,omitempty"`
	Usage    llm.Usage  `json:"usage"`
	Error    string     `json:"error,omitempty"`
}

// Transcript is a model whose questions and answers are written down, a line of JSON each.
type Transcript struct {
	pipeline.Model
	To io.Writer
}

// Generate asks the model and writes down what it was asked and what it said.
func (t Transcript) Generate(ctx context.Context, meta llm.Meta, req llm.Request) (llm.Response, error) {
	resp, err := t.Model.Generate(ctx, meta, req)
	e := Exchange{Scenario: meta.GroupID, Purpose: meta.Purpose, Prompt: req.Prompt, System: req.System, User: req.User,
		Answer: resp.Text, Finish: resp.Finish, Usage: resp.Usage}
	if err != nil {
		e.Error = err.Error()
	}
	enc := json.NewEncoder(t.To)
	enc.SetEscapeHTML(false)
	if failed := enc.Encode(e); failed != nil {
		return resp, fmt.Errorf("write down the answer of the model: %w", failed)
	}
	return resp, err
}
