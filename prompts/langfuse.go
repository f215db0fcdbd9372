package prompts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"reverie/internal/remote"
	"reverie/internal/text"
)

// Langfuse is a Langfuse project that stores prompts under our names: memory_evolve.en, memory_evolve.zh.
type Langfuse struct {
	BaseURL   string // such as https://cloud.langfuse.com; "" = none
	PublicKey string
	SecretKey string
	Label     string        // the label of the prompt versions to use; default production
	Timeout   time.Duration // for one prompt; default 5 s
}

// maxReply bounds the size of an answer, in bytes.
const maxReply = 1 << 20

// With returns a copy of s in which prompts from Langfuse replace those of s. It requests each prompt once. A
// prompt that cannot be fetched or used stays as in s. A warning names it, the reason and the replacement; prompts
// with the same reason share one warning. A project may contain only some prompts: a missing one is no warning,
// unless all are missing.
//
// A prompt has the syntax of our files: a template over [EvolveSystem], in which {{max_creates}} means
// {{.MaxCreates}}; the head is optional. The system messages of a chat prompt, separated by a blank line, are the
// system part. It may have one user message, which must be {{data}}, since the user part is only data. Other
// messages are refused. The hash is that of the prompt's text. For a chat prompt, it is that of its messages as
// JSON without spaces: [{"role":"...","content":"..."}].
func (s *Set) With(ctx context.Context, l *Langfuse) (*Set, []string) {
	if l == nil || l.BaseURL == "" {
		return s, nil
	}
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(s.texts)), func(key string) bool { return strings.Contains(key, short+".") })
	server, err := remote.New(l.BaseURL, remote.Options{User: l.PublicKey, Token: l.SecretKey, MaxBytes: maxReply,
		Timeout: cmp.Or(l.Timeout, 5*time.Second)})
	if err != nil {
		err = fmt.Errorf("[prompts.langfuse] base_url: %w; keys go into public_key and secret_key", err)
	} else {
		defer server.Close()
	}
	texts := make([]*promptText, len(keys))
	errs := make([]error, len(keys))
	var fetches sync.WaitGroup
	for i, key := range keys {
		fetches.Go(func() {
			if errs[i] = err; err == nil {
				texts[i], errs[i] = l.fetch(ctx, server, key)
			}
		})
	}
	fetches.Wait()
	kept := map[string]bool{} // by name: it exists in some language, usable or not
	for i, key := range keys {
		kept[nameOf(key)] = kept[nameOf(key)] || !errors.Is(errs[i], errNoSuchPrompt)
	}
	none := !slices.Contains(slices.Collect(maps.Values(kept)), true)
	with := &Set{texts: maps.Clone(s.texts), small: s.small, maxText: s.maxText}
	prompts := map[string][]string{} // by warning
	for i, key := range keys {
		if with.texts[key] = texts[i]; errs[i] == nil { // it also replaces the short one
			delete(with.texts, nameOf(key)+short+strings.TrimPrefix(key, nameOf(key)))
			continue
		}
		own := s.texts[key]
		if with.texts[key] = own; kept[nameOf(key)] || none {
			why := fmt.Sprintf("%s; using %s", remote.Masked(errs[i].Error(), l.SecretKey), own.origin)
			prompts[why] = append(prompts[why], key)
		}
	}
	var warnings []string
	for why, keys := range prompts {
		warnings = append(warnings, fmt.Sprintf("prompt %s from Langfuse: %s", strings.Join(keys, ", "), why))
	}
	slices.Sort(warnings)
	return with, warnings
}

// nameOf returns a text's name without its language.
func nameOf(key string) string {
	name, _, _ := strings.Cut(key, ".")
	return name
}

// errNoSuchPrompt: the project does not have the prompt, or not with that label.
var errNoSuchPrompt = errors.New("there is none")

// fetch gets one prompt and reads it.
func (l *Langfuse) fetch(ctx context.Context, server *remote.Server, key string) (*promptText, error) {
	body, err := l.get(ctx, server, key)
	if err != nil {
		return nil, err
	}
	var reply struct {
		Version int             `json:"version"`
		Type    string          `json:"type"`
		Prompt  json.RawMessage `json:"prompt"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return nil, fmt.Errorf("the answer is not Langfuse's: %w", err)
	}
	if reply.Version < 1 {
		return nil, errors.New("the answer is not Langfuse's: it has no version")
	}
	var t *promptText
	var source string // the text that is hashed
	switch reply.Type {
	case "text":
		if err := json.Unmarshal(reply.Prompt, &source); err != nil {
			return nil, fmt.Errorf("its text cannot be read: %w", err)
		}
		t, err = tried(key, cutOptionalHead(source))
	case "chat":
		t, source, err = readChat(key, reply.Prompt)
	default:
		return nil, fmt.Errorf("its type is %.20q; write one of type text or chat", reply.Type)
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(source))
	t.version, t.sha256, t.origin = fmt.Sprintf("langfuse:%d", reply.Version), hex.EncodeToString(sum[:]), "the earlier one from Langfuse"
	return t, nil
}

// get returns the body of a successful answer. Other errors say the remedy.
func (l *Langfuse) get(ctx context.Context, server *remote.Server, key string) (body []byte, err error) {
	label := cmp.Or(l.Label, "production")
	at := server.At(url.Values{"label": {label}}, "api", "public", "v2", "prompts", key)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	err = server.Ask(req, func(_ http.Header, answer []byte) error {
		body = answer
		return nil
	})
	var fault *remote.Fault
	errors.As(err, &fault)
	switch {
	case fault == nil:
		return body, err
	case fault.Status == http.StatusNotFound:
		return nil, fmt.Errorf("%w with label %q (HTTP 404); create it, or give that label to a version of it", errNoSuchPrompt, label)
	case fault.Refused():
		return nil, fmt.Errorf("access was refused (HTTP %d); check [prompts.langfuse] public_key and secret_key", fault.Status)
	case fault.Status == 0:
		return nil, fmt.Errorf("the server could not be asked: %w; raise [prompts.langfuse] timeout if it is slow", fault)
	}
	return nil, fault
}

// cutOptionalHead removes a head like that of our files, if there is one.
func cutOptionalHead(text string) string {
	if strings.HasPrefix(text, "---") {
		if _, body, err := cutHead(text); err == nil {
			return body
		}
	}
	return text
}

// dataAlone matches the whole of a user message.
var dataAlone = text.NewPattern(`^\s*\{\{\s*data\s*\}\}\s*$`)

// readChat parses the messages of a chat prompt, and returns the JSON that is hashed.
func readChat(key string, raw json.RawMessage) (*promptText, string, error) {
	var messages []struct {
		Type    string `json:"type,omitempty"` // it is not hashed
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	if err := json.Unmarshal(raw, &messages); err != nil {
		return nil, "", fmt.Errorf("its messages cannot be read: %w", err)
	}
	var system []string
	users := 0
	for i, m := range messages {
		switch {
		case m.Type == "placeholder":
			return nil, "", fmt.Errorf("its message %d is a placeholder; write system messages and at most one of the user", i+1)
		case m.Role == "system":
			system = append(system, strings.TrimSpace(m.Content))
		case m.Role == "user" && users == 0:
			if users++; !dataAlone.MatchString(m.Content) {
				return nil, "", fmt.Errorf("its message %d is of the user and says more than {{data}}; put all else into a "+
					"system message", i+1)
			}
		default:
			return nil, "", fmt.Errorf("its message %d has role %.20q; write system messages and at most one of the user", i+1, m.Role)
		}
		messages[i].Type = ""
	}
	if len(system) == 0 {
		return nil, "", errors.New("it has no system message, which is what our text stands in")
	}
	source, err := encode(messages)
	if err != nil {
		return nil, "", fmt.Errorf("its messages cannot be written as JSON: %w", err)
	}
	t, err := tried(key, cutOptionalHead(strings.Join(system, "\n\n")))
	return t, source, err
}
