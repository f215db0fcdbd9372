package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// onlyGitleaks is a token that our own rules do not know.
const onlyGitleaks = "duffel_live_" + "q7Rk2mZx9TvB4nLw8YpC1sJd6HgF3aKe5VuQ0iNoX7z"

// TestScanFile: every finding has its place and none tells the secret in
// lines of any length, and the exit code says whether there was one.
func TestScanFile(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	file := filepath.Join(t.TempDir(), "chat.txt")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("大家好\n周五聚餐，订单号 20240115123456789\n")
	if out := s.run("scan", file).want(t, 0).stdout; out != "nothing found in 2 texts\n" {
		t.Errorf("it prints %q", out)
	}
	const password, mail = "hunter22x", "anna@example.com"
	write("hi\n密码是" + password + "，邮箱 " + mail + " \x1b[31m\nbook " + onlyGitleaks + "\n")
	r := s.run("scan", file).want(t, 3)
	for _, want := range []string{"2:4 ", "[secret:password]", "2:17 ", "[pii:email]", "3:6 ", "duffel-api-token", "3 findings in 3 texts"} {
		if !strings.Contains(r.stdout+r.stderr, want) {
			t.Errorf("%q is missing in %s%s", want, r.stdout, r.stderr)
		}
	}
	long := strings.Repeat("a long line that goes on, ", 1<<20/26) + "password is " + password + strings.Repeat(" and on", 1<<20/7) + " pwd=" + password + "\nend"
	write(long)
	lines := strings.Split(strings.TrimSpace(s.run("scan", "--json", file).want(t, 3).stdout), "\n")
	if len(lines) != 3 {
		t.Fatalf("it prints %q", lines)
	}
	for i, at := range []int{strings.Index(long, password), strings.LastIndex(long, password)} {
		if want := fmt.Sprintf(`{"where":"1:%d","class":"secret","rule":"password",`, at+1); !strings.HasPrefix(lines[i], want) {
			t.Errorf("finding %d is %s, want %s…", i, lines[i], want)
		}
	}
	if want := fmt.Sprintf(`{"success":true,"texts":2,"bytes":%d,"found":2,"rules":[{"class":"secret","rule":"password","count":2}]}`, len(long)); lines[2] != want {
		t.Errorf("the counts are %s, want %s", lines[2], want)
	}
	for _, secret := range []string{password, mail, onlyGitleaks, "\x1b"} {
		if strings.Contains(r.stdout+r.stderr, secret) {
			t.Errorf("it tells %q", secret)
		}
	}
	s.run("scan").want(t, 2)
	s.run("scan", "--statements", file).want(t, 2)
	s.run("scan", file, "--group", "g1").want(t, 2)
	s.run("scan", filepath.Join(t.TempDir(), "none")).want(t, 1)
}

// TestScanGroup: what is stored of a group is found wherever it stands, and what only
// gitleaks knows is in no memory from the start.
func TestScanGroup(t *testing.T) {
	t.Parallel()
	s := untidy(t)
	s.run("scan", "--group", "g1").want(t, 0)
	const secret = "hunter22x"
	s.exec(`update messages set text = 'the password is ` + secret + `' where group_id = 'g1'`)
	s.exec(`update memories set tags = array['pw: ` + secret + `'], statement = 'her booking is ` + onlyGitleaks + `' where group_id = 'g1' and statement = 'Lin drinks tea'`)
	s.exec(`update memories set statement = 'the password is ` + secret + `' where group_id = 'g2'`)
	r := s.run("scan", "--group", "g1").want(t, 3)
	for _, want := range []string{"messages.text ", "memories.tags ", "memories.statement ", "duffel-api-token"} {
		if strings.Count(r.stdout, want) == 0 {
			t.Errorf("%q is missing in %s", want, r.stdout)
		}
	}
	if strings.Contains(r.stdout+r.stderr, secret) || strings.Contains(r.stdout+r.stderr, onlyGitleaks) {
		t.Errorf("it tells a secret: %s%s", r.stdout, r.stderr)
	}
	s.run("scan", "--group", "g9").want(t, 1)

	dump := s.run("memory", "export", "--group", "g1").want(t, 0).stdout
	if !strings.Contains(dump, onlyGitleaks) {
		t.Fatalf("the export is %s", dump)
	}
	refused := newStage(t).feed(dump, "memory", "import", "-").want(t, 2)
	if !strings.Contains(refused.stderr, "duffel-api-token") || strings.Contains(refused.stderr, onlyGitleaks) {
		t.Errorf("the import says %s", refused.stderr)
	}
}
