package prompts_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/prompts"
)

// TestLangfuseAnswersThatAreNotUsed wants a warning for each that names the
// prompt, says why and what is used instead, and the texts as they were.
func TestLangfuseAnswersThatAreNotUsed(t *testing.T) {
	chat := func(messages ...message) string { return reply(t, 3, messages) }
	keep := message{"role": "system", "content": "Keep."}
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"missing":           {404, `{"message":"not found"}`, `none with label "production" (HTTP 404)`},
		"refused":           {401, `{"message":"no such key ` + secretKey + `"}`, "access was refused (HTTP 401); check [prompts.langfuse] public_key and secret_key"},
		"forbidden":         {403, "", "access was refused (HTTP 403)"},
		"failing":           {500, strings.Repeat("<html>", 1000), "HTTP 500"},
		"too many":          {429, "", "HTTP 429"},
		"a page":            {200, "<html>sign in</html>", "not Langfuse's: invalid character"},
		"nothing":           {200, "", "not Langfuse's"},
		"cut off":           {200, reply(t, 3, "Keep.")[:20], "not Langfuse's"},
		"too large":         {200, reply(t, 3, strings.Repeat("Keep. ", 1<<18)), "more than 1048576 bytes"},
		"no version":        {200, `{"type":"text","prompt":"Keep."}`, "it has no version"},
		"odd version":       {200, `{"version":"` + secretKey + `","type":"text","prompt":"Keep."}`, "not Langfuse's"},
		"another type":      {200, `{"version":3,"type":"` + secretKey + `","prompt":"Keep."}`, `its type is "[token]"`},
		"no text":           {200, `{"version":3,"type":"text"}`, "its text cannot be read"},
		"empty":             {200, reply(t, 3, " \n"), "its text is empty"},
		"empty but a head":  {200, reply(t, 3, "---\nname: memory_evolve\nversion: 1\n---\n"), "its text is empty"},
		"messages as text":  {200, `{"version":3,"type":"text","prompt":[{"role":"system","content":"Keep."}]}`, "its text cannot be read"},
		"text as messages":  {200, `{"version":3,"type":"chat","prompt":"Keep."}`, "its messages cannot be read"},
		"unknown variable":  {200, reply(t, 3, "Keep {{actives}}."), `"actives"`},
		"the key as one":    {200, reply(t, 3, "Keep {{"+secretKey+"}}."), "template"},
		"unknown field":     {200, reply(t, 3, "Keep {{.Actives}}."), "Actives"},
		"one side only":     {200, reply(t, 3, "{{if gt .Active .Target}}{{.Actives}}{{end}}"), "Actives"},
		"broken template":   {200, reply(t, 3, "Keep {{if}}."), "missing value for if"},
		"data in a text":    {200, reply(t, 3, "Keep {{data}}."), `"data"`},
		"a long name":       {200, reply(t, 3, "{{"+strings.Repeat("long", 1000)+"}}"), "…"},
		"no evidence":       {200, reply(t, 3, `Say {"action":"create","old_id":"m1","statement":"..."}.`), `it never names "evidence", "quote"`},
		"evidence in prose": {200, reply(t, 3, "Lines have `action`, `old_id` and `statement`. Judge by the evidence, and quote nobody."), `it never names "evidence", "quote"`},
		"at times":          {200, reply(t, 3, "Keep.{{if .Active}}"+asks+"{{end}}"), `it never names "action", "old_id", "statement", "evidence", "quote"`},
		"messages without":  {200, chat(keep, message{"role": "system", "content": strings.ReplaceAll(asks, "quote", "words")}), `it never names "quote", without`},
		"endless":           {200, reply(t, 3, `{{define "x"}}{{template "x"}}{{end}}{{template "x"}}`), "maximum template depth"},
		"no message":        {200, chat(), "no system message"},
		"no system message": {200, chat(message{"role": "user", "content": "{{data}}"}), "no system message"},
		"empty system":      {200, chat(message{"role": "system", "content": " "}), "its text is empty"},
		"data in system":    {200, chat(message{"role": "system", "content": "{{data}}"}), `"data"`},
		"assistant":         {200, chat(keep, message{"role": "assistant", "content": "Yes."}), `its message 2 has role "assistant"`},
		"two users":         {200, chat(keep, message{"role": "user", "content": "{{data}}"}, message{"role": "user", "content": "Now."}), `its message 3 has role "user"`},
		"placeholder":       {200, chat(keep, message{"type": "placeholder", "name": "history"}), "its message 2 is a placeholder"},
		"no data":           {200, chat(keep, message{"role": "user", "content": "Now."}), "says more than {{data}}"},
		"data twice":        {200, chat(keep, message{"role": "user", "content": "{{data}}{{data}}"}), "says more than {{data}}"},
		"data at times":     {200, chat(keep, message{"role": "user", "content": "{{if .Active}}{{data}}{{end}}"}), "says more than {{data}}"},
		"data with a mark":  {200, chat(keep, message{"role": "user", "content": "{{data}}\x00data\x00"}), "says more than {{data}}"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			switch {
			case !strings.Contains(req.URL.Path, prompts.MemoryEvolve): // the project keeps one prompt only
				w.WriteHeader(http.StatusNotFound)
				return
			case strings.Contains(req.URL.Path, ".zh"): // all is well with the other language
				_, _ = w.Write([]byte(reply(t, 3, "保留。"+asks)))
				return
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		before := open(t, "")
		s, warnings := before.With(t.Context(), &prompts.Langfuse{BaseURL: srv.URL, PublicKey: publicKey, SecretKey: secretKey})
		srv.Close()
		if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "prompt memory_evolve.en from Langfuse: ") ||
			!strings.Contains(warnings[0], c.want) || !strings.HasSuffix(warnings[0], "; using the built-in text") {
			t.Errorf("%s: warnings %q", name, warnings)
		}
		if all := strings.Join(warnings, ""); strings.Contains(all, secretKey) || len(all) > 500 {
			t.Errorf("%s: too much is said: %s", name, all)
		}
		if diff := cmp.Diff(evolve(t, before, prompts.English, crowded), evolve(t, s, prompts.English, crowded)); diff != "" {
			t.Errorf("%s: -before +now\n%s", name, diff)
		}
		if got := evolve(t, s, prompts.Chinese, system); got.System != "保留。"+asks {
			t.Errorf("%s: the other language has %q", name, got.System)
		}
	}
}

// refused wants no prompt of the project to be had, for that reason, and one
// warning of it.
func refused(t *testing.T, ctx context.Context, l *prompts.Langfuse, want string) {
	t.Helper()
	before := open(t, "")
	s, warnings := before.With(ctx, l)
	for _, w := range warnings {
		if !strings.Contains(w, want) || strings.Contains(w, secretKey) {
			t.Errorf("warning %q, want %q", w, want)
		}
	}
	if len(warnings) != 1 || strings.Count(warnings[0], ".zh") != 7 || cmp.Diff(evolve(t, before, prompts.Chinese, system), evolve(t, s, prompts.Chinese, system)) != "" {
		t.Errorf("%d warnings, or another text", len(warnings))
	}
}

func TestLangfuseThatCannotBeReached(t *testing.T) {
	r := newRemote(t, nil)
	l := r.project()
	r.Close()
	refused(t, t.Context(), l, "the server could not be asked: dial tcp")
	l.BaseURL = "langfuse.example"
	refused(t, t.Context(), l, "is not a URL")
	l.BaseURL = "http://" + publicKey + ":" + secretKey + "@[::1"
	refused(t, t.Context(), l, "base_url: the address of the server is not a URL")
}

func TestLangfuseWithAnotherKey(t *testing.T) {
	l := newRemote(t, map[string]string{"memory_evolve.en": reply(t, 1, asks)}).project()
	l.SecretKey = "sk-lf-3"
	refused(t, t.Context(), l, "HTTP 401")
}

// TestLangfuseThatIsTooSlow answers nothing, or begins and does not end.
func TestLangfuseThatIsTooSlow(t *testing.T) {
	for _, begun := range []string{"", `{"version":`} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if begun != "" {
				_, _ = w.Write([]byte(begun))
				_ = http.NewResponseController(w).Flush()
			}
			<-req.Context().Done()
		}))
		l := &prompts.Langfuse{BaseURL: srv.URL, SecretKey: secretKey, Timeout: 300 * time.Millisecond}
		refused(t, t.Context(), l, "raise [prompts.langfuse] timeout")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		l.Timeout = 0
		refused(t, ctx, l, "context canceled")
		srv.CloseClientConnections()
		srv.Close()
	}
}

// TestKeysDoNotTravel follows no redirect, wherever it leads.
func TestKeysDoNotTravel(t *testing.T) {
	other := newRemote(t, map[string]string{"memory_evolve.en": reply(t, 1, asks), "memory_evolve.zh": reply(t, 1, asks)})
	for to, want := range map[string]string{
		other.URL + "/api/public/v2/prompts/memory_evolve.en?key=" + secretKey: "HTTP 307 Temporary Redirect: it redirects to " + other.URL,
		"":    "HTTP 307",
		"//[": "the server could not be asked",
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if to != "" {
				w.Header().Set("Location", to)
			}
			w.WriteHeader(http.StatusTemporaryRedirect)
		}))
		refused(t, t.Context(), &prompts.Langfuse{BaseURL: srv.URL, PublicKey: publicKey, SecretKey: secretKey}, want)
		srv.Close()
	}
	if len(other.asked) > 0 {
		t.Errorf("the other host was asked %q", other.asked)
	}
}

// TestProjectWithoutOurs has prompts of others only, and is said to have none.
func TestProjectWithoutOurs(t *testing.T) {
	refused(t, t.Context(), newRemote(t, map[string]string{"greeting.en": reply(t, 1, asks)}).project(), `there is none with label "production" (HTTP 404)`)
}

// TestProjectWithSome takes what the project has, and speaks of what it has in
// one language only.
func TestProjectWithSome(t *testing.T) {
	r := newRemote(t, map[string]string{"memory_compare.en": reply(t, 2, "Compare."), "memory_compare.zh": reply(t, 2, "比较。"),
		"memory_evolve.zh": reply(t, 1, "保留。"+asks)})
	s, warnings := open(t, "").With(t.Context(), r.project())
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "prompt memory_evolve.en from Langfuse: there is none") {
		t.Errorf("%q", warnings)
	}
	got, err := s.Render(prompts.English, compareSystem, compareUser)
	if err != nil || got.System != "Compare." || got.Version != "langfuse:2" {
		t.Errorf("%+v, %v", got, err)
	}
	embedded, _ := open(t, "").Version(prompts.ImpressionObserve, prompts.Chinese)
	if version, _ := s.Version(prompts.ImpressionObserve, prompts.Chinese); version != embedded {
		t.Errorf("a prompt that the project does not have has version %s", version)
	}
}

// TestWarningNamesTheFile says which of the operator's files is used instead.
func TestWarningNamesTheFile(t *testing.T) {
	dir := write(t, map[string]string{"memory_evolve.zh.md": head + "保留 {{active}}。" + asks})
	r := newRemote(t, map[string]string{"memory_evolve.en": reply(t, 2, "Keep."+asks)})
	s, warnings := open(t, dir).With(t.Context(), r.project())
	if len(warnings) != 1 || !strings.HasSuffix(warnings[0], "; using the file "+filepath.Join(dir, "memory_evolve.zh.md")) {
		t.Errorf("%q", warnings)
	}
	if zh, en := evolve(t, s, prompts.Chinese, system), evolve(t, s, prompts.English, system); zh.System != "保留 12。"+asks || en.System != "Keep."+asks {
		t.Errorf("%q, %q", zh.System, en.System)
	}
}
