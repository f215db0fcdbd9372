package prompts_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/prompts"
)

const (
	publicKey = "pk-lf-1"
	secretKey = "sk-lf-2"
)

// asks is what a text of memory_evolve cannot do without.
const asks = ` {"action":"update","old_id":"m1","statement":"","evidence":[{"message":1,"quote":""}]}`

// remote is a server that answers like Langfuse's: 404 for what it has not.
type remote struct {
	*httptest.Server
	mu      sync.Mutex
	replies map[string]string // by name
	asked   []string          // "path?query", in order of arrival
}

func newRemote(t *testing.T, replies map[string]string) *remote {
	t.Helper()
	r := &remote{replies: replies}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.asked = append(r.asked, req.RequestURI)
		r.mu.Unlock()
		if user, password, ok := req.BasicAuth(); !ok || user != publicKey || password != secretKey {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		name, ok := strings.CutPrefix(req.URL.Path, "/api/public/v2/prompts/")
		reply := replies[name]
		if req.Method != http.MethodGet || !ok || reply == "" {
			w.WriteHeader(http.StatusNotFound)
			reply = `{"message":"Prompt not found","error":"LangfuseNotFoundError"}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(reply))
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *remote) project() *prompts.Langfuse {
	return &prompts.Langfuse{BaseURL: r.URL, PublicKey: publicKey, SecretKey: secretKey}
}

// reply is what the server says of a prompt: a string is a text, anything else
// messages.
func reply(t *testing.T, version int, prompt any) string {
	t.Helper()
	kind := "chat"
	if _, ok := prompt.(string); ok {
		kind = "text"
	}
	b, err := json.Marshal(map[string]any{"id": "x", "name": "n", "version": version, "type": kind, "prompt": prompt, "labels": []string{"production", "latest"},
		"config": map[string]any{"temperature": 0.3}, "tags": []string{}, "commitMessage": nil, "resolutionGraph": nil})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

func evolve(t *testing.T, s *prompts.Set, language string, system prompts.EvolveSystem) prompts.Rendered {
	t.Helper()
	r, err := s.Render(language, system, user)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// with takes the prompts of a project and wants no warning.
func with(t *testing.T, s *prompts.Set, l *prompts.Langfuse) *prompts.Set {
	t.Helper()
	got, warnings := s.With(t.Context(), l)
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	return got
}

func TestLangfuseText(t *testing.T) {
	english := "Keep {{active}} of {{ target }}{{if gt .Active .Target}}, which are too many{{end}}, in {{.StatementLanguage}}." + asks + "\n"
	chinese := "用{{statement_language}}保留 {{active}}/{{shown}}/{{target}}/{{max_creates}}/{{max_statement}}/{{stale_days}} {{- active -}} ！" + asks
	r := newRemote(t, map[string]string{"memory_evolve.en": reply(t, 7, english), "memory_evolve.zh": reply(t, 12, chinese)})
	before := open(t, "")
	s := with(t, before, r.project())

	plain := evolve(t, before, prompts.English, system)
	for _, c := range []struct {
		language string
		system   prompts.EvolveSystem
		want     prompts.Rendered
	}{
		{prompts.English, system, prompts.Rendered{System: "Keep 12 of 30, in English." + asks, Name: "memory_evolve.en", Version: "langfuse:7", SHA256: sum(english)}},
		{prompts.English, crowded, prompts.Rendered{System: "Keep 58 of 30, which are too many, in English." + asks, Name: "memory_evolve.en", Version: "langfuse:7", SHA256: sum(english)}},
		{prompts.Chinese, crowded, prompts.Rendered{System: "用中文保留 58/50/30/3/500/2158！" + asks, Name: "memory_evolve.zh", Version: "langfuse:12", SHA256: sum(chinese)}},
	} {
		c.want.User = plain.User
		if diff := cmp.Diff(c.want, evolve(t, s, c.language, c.system)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if version, hash := s.Version(prompts.MemoryEvolve, c.language); version != c.want.Version || hash != c.want.SHA256 {
			t.Errorf("version %q, hash %q", version, hash)
		}
	}
	if plain.Version == "langfuse:7" || cmp.Diff(plain, evolve(t, before, prompts.English, system)) != "" {
		t.Error("the set that was asked has changed")
	}
}

// TestLangfuseHasOurFile puts our own files there, heads and all.
func TestLangfuseHasOurFile(t *testing.T) {
	replies := map[string]string{}
	for _, name := range []string{"memory_evolve.en", "memory_evolve.zh"} {
		raw, err := os.ReadFile(name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		replies[name] = reply(t, 1, strings.ReplaceAll(string(raw), "\n", "\r\n"))
	}
	before := open(t, "")
	s := with(t, before, newRemote(t, replies).project())
	for _, language := range []string{prompts.English, prompts.Chinese} {
		want, got := evolve(t, before, language, crowded), evolve(t, s, language, crowded)
		if got.System != want.System || got.User != want.User || got.Version != "langfuse:1" {
			t.Errorf("%s, version %s: -want +got\n%s", language, got.Version, cmp.Diff(want.System, got.System))
		}
	}
}

// TestTextBelowARule keeps a text whole that begins with a line of dashes.
func TestTextBelowARule(t *testing.T) {
	text := "---\nKeep: all\n---\nthat lasts." + asks
	r := newRemote(t, map[string]string{"memory_evolve.en": reply(t, 1, text), "memory_evolve.zh": reply(t, 1, text)})
	if got := evolve(t, with(t, open(t, ""), r.project()), prompts.English, system).System; got != text {
		t.Errorf("%q", got)
	}
}

type message map[string]string

func TestLangfuseChat(t *testing.T) {
	data := evolve(t, open(t, ""), prompts.English, system).User
	for name, c := range map[string]struct {
		messages            []message
		system, user, plain string
	}{
		"system alone": {[]message{{"role": "system", "content": " Keep {{active}}. "}}, "Keep 12.", data, `[{"role":"system","content":" Keep {{active}}. "}]`},
		"several": {[]message{{"type": "chatmessage", "role": "system", "content": "---\nname: memory_evolve\nversion: 3\n---\nKeep."}, {"role": "system", "content": "In {{statement_language}}, <b>."}},
			"Keep.\n\nIn English, <b>.", data, `[{"role":"system","content":"---\nname: memory_evolve\nversion: 3\n---\nKeep."},{"role":"system","content":"In {{statement_language}}, <b>."}]`},
		"with a user": {[]message{{"role": "system", "content": "Keep."}, {"content": "{{ data }}\n", "role": "user"}},
			"Keep.", data, `[{"role":"system","content":"Keep."},{"role":"user","content":"{{ data }}\n"}]`},
		"the user first": {[]message{{"role": "user", "content": "{{data}}"}, {"role": "system", "content": "Keep."}},
			"Keep.", data, `[{"role":"user","content":"{{data}}"},{"role":"system","content":"Keep."}]`},
	} {
		c.messages = append(c.messages, message{"role": "system", "content": asks})
		c.system, c.plain = c.system+"\n\n"+strings.TrimSpace(asks), strings.TrimSuffix(c.plain, "]")+`,{"role":"system","content":`+strconv.Quote(asks)+`}]`
		r := newRemote(t, map[string]string{"memory_evolve.en": reply(t, 4, c.messages), "memory_evolve.zh": reply(t, 4, c.messages)})
		want := prompts.Rendered{System: c.system, User: c.user, Name: "memory_evolve.en", Version: "langfuse:4", SHA256: sum(c.plain)}
		if diff := cmp.Diff(want, evolve(t, with(t, open(t, ""), r.project()), prompts.English, system)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestDataIsNoTemplate lets a chat say what a template would.
func TestDataIsNoTemplate(t *testing.T) {
	chat := reply(t, 1, []message{{"role": "system", "content": "Keep." + asks}, {"role": "user", "content": "{{data}}"}})
	s := with(t, open(t, ""), newRemote(t, map[string]string{"memory_evolve.en": chat, "memory_evolve.zh": chat}).project())
	said := prompts.EvolveUser{NewDiscussions: []prompts.MessageView{{ID: 1, Text: "{{data}} {{active}} {{.Active}} \x00data\x00"}}}
	r, err := s.Render(prompts.English, system, said)
	if err != nil {
		t.Fatal(err)
	}
	var back prompts.EvolveUser
	if err := json.Unmarshal([]byte(r.User), &back); err != nil || back.NewDiscussions[0].Text != said.NewDiscussions[0].Text {
		t.Errorf("%s: %v", r.User, err)
	}
}

func TestLangfuseIsAskedOnceEach(t *testing.T) {
	both := map[string]string{"memory_evolve.en": reply(t, 1, asks), "memory_evolve.zh": reply(t, 1, asks)}
	for label, query := range map[string]string{"": "production", "latest": "latest", "night shift&version=2": "night+shift%26version%3D2"} {
		r := newRemote(t, both)
		l := r.project()
		l.Label, l.BaseURL = label, l.BaseURL+"/"
		with(t, open(t, ""), l)
		want := map[string]int{}
		for _, name := range []string{prompts.MemoryEvolve, prompts.MemoryCompare, prompts.MemoryAsk, prompts.ImpressionObserve, prompts.SessionExtract, prompts.SessionSummarize, prompts.Dream} {
			want["/api/public/v2/prompts/"+name+".en?label="+query], want["/api/public/v2/prompts/"+name+".zh?label="+query] = 1, 1
		}
		got := map[string]int{}
		for _, uri := range r.asked {
			got[uri]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("label %q: -want +got\n%s", label, diff)
		}
	}
}

func TestNoLangfuse(t *testing.T) {
	s := open(t, "")
	for _, l := range []*prompts.Langfuse{nil, {PublicKey: publicKey}} {
		if got := with(t, s, l); got != s {
			t.Error("another set")
		}
	}
}

// TestLangfuseAtOnce takes prompts from one set in many runs at once, while
// others render it.
func TestLangfuseAtOnce(t *testing.T) {
	chat := reply(t, 2, []message{{"role": "system", "content": "Keep {{active}}." + asks}, {"role": "user", "content": "{{data}}"}})
	r := newRemote(t, map[string]string{"memory_evolve.en": chat, "memory_evolve.zh": chat})
	before := open(t, "")
	var runs sync.WaitGroup
	for range 8 {
		runs.Go(func() {
			s, warnings := before.With(t.Context(), r.project())
			for range 2 {
				runs.Go(func() {
					got, err := s.Render(prompts.Chinese, system, user)
					old, oldErr := before.Render(prompts.Chinese, system, user)
					if err != nil || oldErr != nil || got.System != "Keep 12."+asks || got.User != old.User || len(warnings) > 0 {
						t.Errorf("%+v, %v, %v, %v", got, err, oldErr, warnings)
					}
				})
			}
		})
	}
	runs.Wait()
}
