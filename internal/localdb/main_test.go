//go:build unix

package localdb

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq"
	"go.uber.org/goleak"
)

// patience bounds every wait of the tests; it is never waited out.
const patience = 60 * time.Second

// TestMain makes the test binary stand in for the product: as the supervisor,
// and as one that uses the cluster and can be killed.
func TestMain(m *testing.M) {
	varDir = filepath.Join(os.TempDir(), "reverie-local-var")
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case "local-server":
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			finish(Supervise(ctx, os.Args[2]))
		case "use":
			finish(use(os.Args[2], os.Args[3:]))
		}
	}
	goleak.VerifyTestMain(m)
}

func finish(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// use joins the cluster, says so, and answers each line of its input, an SQL
// query, with one line. It starts a child first if asked to.
func use(dir string, args []string) error {
	c, err := Start(context.Background(), testOptions(dir))
	if err != nil {
		return err
	}
	defer c.Close()
	if len(args) > 0 {
		child := exec.Command("sleep", "60")
		if err := child.Start(); err != nil {
			return err
		}
		fmt.Println(child.Process.Pid)
	}
	answer, err := ask(c, "SELECT 'ready'")
	fmt.Println(answer)
	for in := bufio.NewScanner(os.Stdin); err == nil && in.Scan(); fmt.Println(answer) {
		answer, err = ask(c, in.Text())
	}
	return err
}

func testOptions(dir string) Options {
	return Options{Dir: dir, Settings: map[string]string{"fsync": "off"}, Linger: -1}
}

// ask runs one query on a connection of its own.
func ask(c *Cluster, query string) (string, error) {
	db, err := sqlx.Open("postgres", c.URL("postgres"))
	if err != nil {
		return "", err
	}
	defer db.Close()
	var answer string
	err = db.Get(&answer, query)
	return answer, err
}

// newDir is a directory for a cluster, which is gone at the end of the test.
// Tests that have one run in parallel.
func newDir(t *testing.T) string {
	t.Helper()
	t.Parallel()                                       // every directory is a cluster of its own
	top, err := os.MkdirTemp("/tmp", "reverie-local-") // short, for the socket's sake
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(top, 0o755); err != nil { // root's server account passes through
		t.Fatal(err)
	}
	dir := filepath.Join(top, "home")
	t.Cleanup(func() {
		awaitStop(t, dir)
		if loc, err := Locate(dir); err == nil {
			os.RemoveAll(loc.Dir)
			os.RemoveAll(loc.Socket)
		}
		if err := os.RemoveAll(top); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func awaitStop(t *testing.T, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := AwaitStop(ctx, dir); err != nil {
		t.Error(err)
	}
}

func start(t *testing.T, o Options) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func mustAsk(t *testing.T, c *Cluster, query string) string {
	t.Helper()
	answer, err := ask(c, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return answer
}

// client is another process that uses the cluster.
type client struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	err *strings.Builder
}

func launchClient(t *testing.T, dir string, args ...string) *client {
	t.Helper()
	u := &client{t: t, cmd: exec.Command("/proc/self/exe", append([]string{"use", dir}, args...)...), err: &strings.Builder{}}
	if _, err := os.Stat("/proc/self/exe"); err != nil {
		u.cmd.Path = os.Args[0]
	}
	u.cmd.Stderr = u.err
	in, err := u.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := u.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	u.in, u.out = in, bufio.NewReader(out)
	if err := u.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.kill)
	return u
}

// line is the process's next line of output.
func (u *client) line() string {
	u.t.Helper()
	line, err := u.out.ReadString('\n')
	if err != nil {
		u.cmd.Wait()
		u.t.Fatalf("a user of the cluster: %v\n%s", err, u.err)
	}
	return strings.TrimSpace(line)
}

func (u *client) ask(query string) string {
	u.t.Helper()
	if _, err := fmt.Fprintln(u.in, query); err != nil {
		u.t.Fatal(err)
	}
	return u.line()
}

// kill is kill -9.
func (u *client) kill() {
	if u.cmd.ProcessState == nil {
		u.cmd.Process.Kill()
		u.cmd.Wait()
	}
}

// leave ends the process in good order.
func (u *client) leave() {
	u.t.Helper()
	u.in.Close()
	if err := u.cmd.Wait(); err != nil {
		u.t.Fatalf("a user of the cluster: %v\n%s", err, u.err)
	}
}
