package e2e

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"reverie/store/pgtest"
)

// composed is what compose.yaml says of a service.
type composed struct {
	Restart     string
	Command     []string
	Environment map[string]string
	DependsOn   map[string]struct{ Condition string } `json:"depends_on"`
	Healthcheck *struct{ Test []string }
}

// composedRun is a command that its first lines name: what a user types.
var composedRun = regexp.MustCompile(`(?m)^#   docker compose run --rm (?:-T )?(\w+) (.*?)(?: < \S+)?$`)

// TestCompose does by hand, in its order, what `docker compose up` does: the commands and
// health checks of compose.yaml, with its environment, by the real binary. Then it does what
// the file tells a user to do next.
func TestCompose(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Services map[string]composed }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	db, migrate, daemon := file.Services["db"], file.Services["migrate"], file.Services["reverie"]
	if len(file.Services) != 3 || migrate.DependsOn["db"].Condition != "service_healthy" ||
		daemon.DependsOn["migrate"].Condition != "service_completed_successfully" {
		t.Errorf("the services are %+v", file.Services)
	}
	if db.Restart != "unless-stopped" || daemon.Restart != db.Restart || migrate.Restart != "no" {
		t.Errorf("restarted are db %s, migrate %s, reverie %s", db.Restart, migrate.Restart, daemon.Restart)
	}

	s := newStage(t)
	address, err := url.Parse(pgtest.NewEmpty(t))
	if err != nil {
		t.Fatal(err)
	}
	ready := strings.ReplaceAll(db.Healthcheck.Test[1], "--host=127.0.0.1", "--host="+address.Query().Get("host")+address.Hostname())
	check := exec.CommandContext(t.Context(), "sh", "-c", ready)
	check.Env = append(os.Environ(), "PGPORT="+address.Port()+address.Query().Get("port"))
	if out, err := check.CombinedOutput(); err != nil || db.Healthcheck.Test[0] != "CMD-SHELL" {
		t.Errorf("%s: %s%v", ready, out, err)
	}
	const inside = "postgres://reverie:${POSTGRES_PASSWORD:-reverie}@db:5432/reverie?sslmode=disable"
	s.env = []string{"HOME=" + s.home, "PATH=/"}
	for name, value := range daemon.Environment {
		if name == "REVERIE_DATABASE_URL" && value == inside {
			value = address.String()
		}
		s.set(name + "=" + value)
	}
	s.launch(migrate.Command...).end().want(t, 0)
	command := slices.Clone(daemon.Command)
	command[len(command)-1] = "127.0.0.1:0" // for its own port may be taken
	p := s.fork("REVERIE_LOG_FORMAT=json").launch(command...)
	p.says(`"msg":"running"`, 1)
	if n := strings.Count(p.err.String(), `"jobs":"evolve, extract, dream","reason":"no model is configured`); n != 1 {
		t.Errorf("it says %d times which jobs do not run:\n%s", n, p.err.String())
	}
	base := servesAt.FindStringSubmatch(p.err.String())[1]
	health := slices.Clone(daemon.Healthcheck.Test)
	health[len(health)-1] = strings.Replace(health[len(health)-1], "http://127.0.0.1:8470", base, 1)
	if dockerfile, err := os.ReadFile("../../Dockerfile"); err != nil || health[0] != "CMD" ||
		!bytes.Contains(dockerfile, []byte(`ENTRYPOINT ["`+health[1]+`"]`)) {
		t.Errorf("the health check runs %q: %v", health, err)
	}
	if o := s.launch(health[2:]...).end().want(t, 0).silent(t); o.stdout != "" {
		t.Errorf("a healthy daemon has %q", o.stdout)
	}

	// What a user does next: with a model, which .env names.
	s.set("REVERIE_LLM_BASE_URL="+s.model.URL("openai"), "REVERIE_EMBED_PROVIDER=offline")
	s.model.Respond(scribe(t))
	said := map[string]outcome{}
	for _, m := range composedRun.FindAllSubmatch(text, -1) {
		args := strings.Fields(string(m[2]))
		said[args[0]] = s.feed(jsonLines(t, chat(night(3), "note Lin drinks tea")), args...).want(t, 0)
		if string(m[1]) != "reverie" {
			t.Errorf("%s names no service that has it", m[0])
		}
	}
	said["evolve"].shows(t, "g1", "1 created", "  + Lin drinks tea\n")
	token := strings.TrimSpace(said["token"].stdout)
	for auth, want := range map[string]int{"": http.StatusUnauthorized, "Bearer " + token: http.StatusOK} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/v1/groups", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", auth)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _ = resp.Body.Close(); resp.StatusCode != want {
			t.Errorf("with %q it answers %s, want %d", auth, resp.Status, want)
		}
	}
	if code, page := get(t, base+"/ui/"); code != http.StatusOK || !strings.Contains(page, "<form") {
		t.Errorf("the page answers %d", code)
	}
	p.stop()
	s.launch(health[2:]...).end().want(t, 1, "reverie is not ready")
	s.run("doctor", "--ready", s.model.URL("nowhere")).want(t, 1, "reverie is not ready", "answers 404")
	s.run("doctor", "--ready", ":").want(t, 2, "http://127.0.0.1:8470/readyz")
}
