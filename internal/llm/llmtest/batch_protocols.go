package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"reverie/internal/llm"
)

// batchProtocol is the batch format of one provider.
type batchProtocol struct {
	made   func(s *Server, r *http.Request, body []byte) (*batch, error)
	state  func(s *Server, b *batch) object
	list   func(page []any, last string, more bool) object
	result func(s *Server, b *batch, r Result) object // nil if it writes none
}

func batchProtocolOf(provider string) batchProtocol {
	switch provider {
	case "anthropic":
		return batchProtocol{madeOfAnthropic, anthropicBatch, openAIList, anthropicResult}
	case "gemini":
		return batchProtocol{madeOfGemini, geminiBatch, geminiList, geminiResult}
	default:
		return batchProtocol{madeOfOpenAI, openAIBatch, openAIList, openAIResult}
	}
}

// batchRoute returns the part of a path that addresses batches and files: kind, id, action.
func batchRoute(path string) []string {
	for _, start := range []string{":batchGenerateContent", "/batches", "/files"} {
		if at := strings.LastIndex(path, start); at >= 0 {
			return strings.FieldsFunc(path[at:], func(r rune) bool { return r == '/' || r == ':' })
		}
	}
	return nil
}

// serveBatch handles a request for batches or their files.
func (s *Server) serveBatch(w http.ResponseWriter, r *http.Request, route []string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has disconnected
	}
	provider := "openai"
	switch {
	case r.Header.Get("X-Goog-Api-Key") != "":
		provider = "gemini"
	case r.Header.Get("X-Api-Key") != "":
		provider = "anthropic"
	}
	if r.ContentLength < 0 {
		s.t.Errorf("llmtest: %s %s does not say how long it is", r.Method, r.URL.Path)
	}
	req := newRequest(provider, r)
	answer := s.treat(w, r, req, body, route)
	answer.write(s, w, r, req)
}

// treat returns the answer; it holds the lock of the batches.
func (s *Server) treat(w http.ResponseWriter, r *http.Request, req Request, body []byte, route []string) Answer {
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	p, action := batchProtocolOf(req.Provider), r.Method+" "+route[0]
	if len(route) > 2 {
		action += " " + route[2]
	}
	if s.key != "" && req.Key != s.key {
		return Failure(http.StatusUnauthorized, "this key is not known: "+req.Key)
	}
	switch action {
	case "POST files":
		return s.upload(w, r, req.Provider, body, route)
	case "GET files content", "GET files download":
		text := s.batches.files[route[1]]
		if text == nil {
			return Failure(http.StatusNotFound, "no such file: "+route[1])
		}
		return Body(http.StatusOK, "application/octet-stream", string(text))
	case "DELETE files":
		if s.batches.files[route[1]] == nil {
			return Failure(http.StatusNotFound, "no such file: "+route[1])
		}
		s.batches.files[route[1]] = nil
		return encoded(object{"id": route[1], "object": "file", "deleted": true})
	case "POST batchGenerateContent":
		route = route[:1]
	}
	switch {
	case r.Method == http.MethodPost && len(route) == 1:
		b, err := p.made(s, r, body)
		if err != nil {
			s.t.Errorf("llmtest: %s: a batch: %v", req.Provider, err)
			return Failure(http.StatusBadRequest, err.Error())
		}
		if refusal := s.take(b); refusal != nil {
			return *refusal
		}
		return encoded(p.state(s, b))
	case r.Method == http.MethodGet && len(route) == 1:
		return s.listed(r, req.Provider)
	}
	b := s.known(req.Provider, route[1])
	if b == nil {
		return Failure(http.StatusNotFound, "no such batch: "+route[1])
	}
	switch action {
	case "GET batches":
		s.look(b)
	case "GET batches results":
		if !b.ended {
			return Failure(http.StatusNotFound, "the batch has no results yet")
		}
		return Body(http.StatusOK, "application/x-jsonl", string(s.lines(b, func(Result) bool { return true })))
	case "POST batches cancel":
		if b.ended {
			return Failure(http.StatusConflict, "the batch has ended")
		}
		s.cancel(b)
		if req.Provider == "gemini" {
			return encoded(object{})
		}
	default:
		return Failure(http.StatusMethodNotAllowed, action)
	}
	return encoded(p.state(s, b))
}

func encoded(o object) Answer {
	text, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("llmtest: an answer cannot be encoded: %v", err))
	}
	return Body(http.StatusOK, "application/json", string(text))
}

// listed returns the batches, newest first, in pages.
func (s *Server) listed(r *http.Request, provider string) Answer {
	query := r.URL.Query()
	value := func(names ...string) string {
		for _, name := range names {
			if v := query.Get(name); v != "" {
				return v
			}
		}
		return ""
	}
	after, limit := value("after", "after_id", "pageToken"), 2 // two per page, whatever is requested
	var page []any
	last, more := "", false
	for _, b := range slices.Backward(s.batches.all) {
		switch {
		case b.Provider != provider || s.forgotten(b):
		case after != "":
			if b.ID == after {
				after = ""
			}
		case len(page) == limit:
			more = true
		default:
			page, last = append(page, batchProtocolOf(provider).state(s, b)), b.ID
		}
	}
	return encoded(batchProtocolOf(provider).list(page, last, more))
}

func openAIList(page []any, last string, more bool) object {
	if page == nil {
		page = []any{}
	}
	return object{"object": "list", "data": page, "last_id": last, "has_more": more}
}

func geminiList(page []any, last string, more bool) object {
	out := object{"operations": page}
	if more {
		out["nextPageToken"] = last
	}
	return out
}

// upload stores a file: OpenAI's as a form, Gemini's in parts, which the first request announces.
func (s *Server) upload(w http.ResponseWriter, r *http.Request, provider string, body []byte, route []string) Answer {
	if provider == "openai" {
		r.Body = io.NopCloser(bytes.NewReader(body))
		file, head, err := r.FormFile("file")
		if err != nil || r.FormValue("purpose") != "batch" {
			s.t.Errorf("llmtest: a file that is none, or not for a batch: %v", err)
			return Failure(http.StatusBadRequest, "no file for a batch")
		}
		text, _ := io.ReadAll(file) // in memory
		return encoded(object{"id": s.batches.keep(text), "object": "file", "bytes": len(text), "created_at": s.clock().Unix(),
			"filename": head.Filename, "purpose": "batch"})
	}
	empty := ""
	if len(route) == 1 {
		w.Header().Set("X-Goog-Upload-Url", s.http.URL+r.URL.Path+"/"+s.batches.keep(nil))
		return Answer{Raw: &empty}
	}
	s.batches.files[route[1]] = append(s.batches.files[route[1]], body...)
	w.Header().Set("X-Goog-Upload-Status", "active")
	if !strings.Contains(r.Header.Get("X-Goog-Upload-Command"), "finalize") {
		return Answer{Raw: &empty}
	}
	w.Header().Set("X-Goog-Upload-Status", "final")
	return encoded(object{"file": object{"name": "files/" + route[1]}})
}

// question adds a question to a batch.
func (b *batch) question(r *http.Request, id, path string, body []byte) error {
	req := newRequest(b.Provider, r)
	req.Path = path
	if err := req.read(body, false); err != nil {
		return err
	}
	if id == "" || slices.Contains(b.ids, id) {
		return fmt.Errorf("a question has no id of its own: %q", id)
	}
	req.Tier = llm.TierBatch
	b.ids, b.Questions = append(b.ids, id), append(b.Questions, req)
	return nil
}

func madeOfOpenAI(s *Server, r *http.Request, body []byte) (*batch, error) {
	var in struct {
		File     string `json:"input_file_id"`
		Endpoint string
		Window   string `json:"completion_window"`
		Metadata map[string]string
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	if in.Endpoint != "/v1/chat/completions" || in.Window != "24h" {
		return nil, fmt.Errorf("endpoint %q, window %q", in.Endpoint, in.Window)
	}
	b := &batch{Batch: Batch{Provider: "openai", ByFile: true}, file: in.File}
	for _, key := range in.Metadata {
		b.Key = key
	}
	for line := range bytes.Lines(s.batches.files[in.File]) {
		var q struct {
			ID     string `json:"custom_id"`
			Method string
			URL    string
			Body   json.RawMessage
		}
		if err := json.Unmarshal(line, &q); err != nil || q.Method != http.MethodPost || q.URL != in.Endpoint {
			return nil, fmt.Errorf("a line is %.100s: %w", line, err)
		}
		if err := b.question(r, q.ID, q.URL, q.Body); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func madeOfAnthropic(_ *Server, r *http.Request, body []byte) (*batch, error) {
	var in struct {
		Requests []struct {
			ID     string `json:"custom_id"`
			Params json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	b := &batch{Batch: Batch{Provider: "anthropic"}}
	for _, q := range in.Requests {
		if err := b.question(r, q.ID, "/v1/messages", q.Params); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func madeOfGemini(s *Server, r *http.Request, body []byte) (*batch, error) {
	type question struct {
		Key      string
		Metadata struct{ Key string }
		Request  json.RawMessage
	}
	var in struct {
		Batch struct {
			DisplayName string
			InputConfig struct {
				FileName string
				Requests struct{ Requests []question }
			}
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	from := in.Batch.InputConfig
	b := &batch{Batch: Batch{Provider: "gemini", Key: in.Batch.DisplayName, ByFile: from.FileName != ""}}
	questions := from.Requests.Requests
	for line := range bytes.Lines(s.batches.files[strings.TrimPrefix(from.FileName, "files/")]) {
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			return nil, err
		}
		questions = append(questions, q)
	}
	path := strings.Replace(r.URL.Path, ":batchGenerateContent", ":generateContent", 1)
	for _, q := range questions {
		if err := b.question(r, q.Key+q.Metadata.Key, path, q.Request); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// lines returns the selected results as JSON Lines.
func (s *Server) lines(b *batch, want func(Result) bool) []byte {
	var out []byte
	for _, r := range b.results {
		if o := batchProtocolOf(b.Provider).result(s, b, r); o != nil && want(r) {
			line, err := json.Marshal(o)
			if err != nil {
				panic(fmt.Sprintf("llmtest: an answer cannot be encoded: %v", err))
			}
			out = append(append(out, line...), '\n')
		}
	}
	return out
}

func openAIBatch(s *Server, b *batch) object {
	status := map[llm.BatchPhase]string{llm.BatchRunning: "in_progress", llm.BatchEnded: "completed"}[b.phase()]
	if status == "" {
		status = string(b.phase())
	}
	out := object{"id": b.ID, "object": "batch", "endpoint": "/v1/chat/completions", "input_file_id": b.file,
		"completion_window": "24h", "status": status, "created_at": b.made.Unix(), "expires_at": b.made.Add(24 * time.Hour).Unix(),
		"output_file_id": nil, "error_file_id": nil, "errors": nil, "metadata": object{"reverie_key": b.Key},
		"request_counts": object{"total": len(b.Questions), "completed": b.done, "failed": b.failed}}
	if b.phase() == llm.BatchFailed {
		out["errors"] = object{"object": "list", "data": []any{object{"code": b.errorCode(), "message": b.plan.Why,
			"param": nil, "line": nil}}}
	}
	good := func(r Result) bool { return !r.Skipped && r.answer.Status < 400 }
	for name, want := range map[string]func(Result) bool{
		"output_file_id": good, "error_file_id": func(r Result) bool { return !good(r) },
	} {
		if lines := s.lines(b, want); len(lines) > 0 {
			out[name] = b.ID + "-" + name
			if _, deleted := s.batches.files[b.ID+"-"+name]; !deleted {
				s.batches.files[b.ID+"-"+name] = lines
			}
		}
	}
	return out
}

func openAIResult(s *Server, b *batch, r Result) object {
	out := object{"id": "batch_req_" + r.ID, "custom_id": r.ID, "error": nil, "response": nil}
	if r.Skipped {
		out["error"] = object{"code": b.errorCode(), "message": "This request could not be executed before the batch ended."}
		return out
	}
	status := max(r.answer.Status, http.StatusOK)
	out["response"] = object{"status_code": status, "request_id": "r", "body": r.answer.shape(s, r.request)}
	return out
}

func anthropicBatch(s *Server, b *batch) object {
	counts := object{"processing": 0, "succeeded": b.done, "errored": b.failed, "canceled": 0, "expired": 0}
	out := object{"id": b.ID, "type": "message_batch", "processing_status": "ended", "request_counts": counts,
		"created_at": b.made.Format(time.RFC3339), "expires_at": b.made.Add(24 * time.Hour).Format(time.RFC3339),
		"ended_at": nil, "cancel_initiated_at": nil, "archived_at": nil, "results_url": nil}
	switch b.phase() {
	case llm.BatchRunning:
		out["processing_status"], counts["processing"] = "in_progress", len(b.Questions)
		return out
	case llm.BatchCancelled:
		out["cancel_initiated_at"], counts["canceled"] = b.made.Format(time.RFC3339), b.skipped
	default:
		counts["expired"] = b.skipped
	}
	out["ended_at"], out["results_url"] = s.clock().Format(time.RFC3339), s.http.URL+"/v1/messages/batches/"+b.ID+"/results"
	return out
}

func anthropicResult(s *Server, b *batch, r Result) object {
	result := object{"type": "succeeded"}
	switch {
	case r.Skipped && b.phase() == llm.BatchCancelled:
		result["type"] = "canceled"
	case r.Skipped:
		result["type"] = "expired"
	case r.answer.Status >= 400:
		result["type"], result["error"] = "errored", r.answer.shape(s, r.request)
	default:
		result["message"] = r.answer.shape(s, r.request)
	}
	return object{"custom_id": r.ID, "result": result}
}

func geminiBatch(s *Server, b *batch) object {
	name := map[llm.BatchPhase]string{llm.BatchEnded: "SUCCEEDED"}[b.phase()]
	if name == "" {
		name = strings.ToUpper(string(b.phase()))
	}
	meta := object{"displayName": b.Key, "state": "BATCH_STATE_" + name, "createTime": b.made.Format(time.RFC3339),
		"batchStats": object{"requestCount": strconv.Itoa(len(b.Questions)), "successfulRequestCount": strconv.Itoa(b.done),
			"failedRequestCount": strconv.Itoa(b.failed)}}
	out := object{"name": "batches/" + b.ID, "metadata": meta, "done": b.ended}
	switch lines := s.lines(b, func(Result) bool { return true }); {
	case b.phase() == llm.BatchFailed:
		out["error"] = object{"code": 3, "message": b.plan.Why}
	case len(lines) == 0:
	case b.ByFile:
		s.batches.files[b.ID+"-answers"] = lines
		meta["output"] = object{"responsesFile": "files/" + b.ID + "-answers"}
	default:
		var inline []json.RawMessage
		for line := range bytes.Lines(lines) {
			inline = append(inline, line)
		}
		meta["output"] = object{"inlinedResponses": object{"inlinedResponses": inline}}
	}
	return out
}

func geminiResult(s *Server, b *batch, r Result) object {
	out := object{"metadata": object{"key": r.ID}}
	if b.ByFile {
		out = object{"key": r.ID}
	}
	switch {
	case r.Skipped:
		return nil
	case r.answer.Status >= 400:
		out["error"] = object{"code": 13, "message": r.answer.Message}
	default:
		out["response"] = r.answer.shape(s, r.request)
	}
	return out
}
