package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reverie/store/pgtest"
)

// envServe is how many idle connections BenchmarkServe holds, 500 by default. A tenth of
// that many send their headers slowly, a twentieth their bodies, and a twentieth do not
// read what they are answered.
const envServe = "REVERIE_BENCH_SERVE"

// searchers is how many clients search at a time.
const searchers = 8

// BenchmarkServe searches over HTTP, first on a quiet server and then while it has all
// those connections, and says how long an answer took, how many failed, and how much
// memory the process has used at most. docs/benchmarks.txt says what came of it.
func BenchmarkServe(b *testing.B) {
	idle := 500
	if text := os.Getenv(envServe); text != "" {
		var err error
		if idle, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	w := newServeWorld(b)
	quiet := w.search(b.N)
	crowd := &lodgers{addr: w.addr}
	defer crowd.leave()
	crowd.come(idle, crowd.idle)
	crowd.come(idle/10, crowd.slowHeader)
	crowd.come(idle/20, crowd.slowBody)
	crowd.come(idle/20, crowd.slowReader)
	if came := crowd.here.Load(); int(came) < idle {
		b.Fatalf("only %d of %d connections came about", came, idle)
	}
	b.ResetTimer()
	crowded := w.search(b.N)
	b.StopTimer()
	large := w.oversized(200)
	quiet.laps.Report(b, "quiet-")
	crowded.laps.Report(b, "crowded-")
	b.ReportMetric(float64(quiet.failed.Load()+crowded.failed.Load()), "failures")
	b.ReportMetric(float64(crowd.here.Load()), "conns")
	b.ReportMetric(float64(large), "oversized-refused")
	b.ReportMetric(w.peak(), "MiB-peak")
}

// serveWorld is a server with a group of 20 memories, and where it is.
type serveWorld struct {
	b    *testing.B
	p    *process
	addr string
}

func newServeWorld(b *testing.B) *serveWorld {
	b.Helper()
	env := []string{"HOME=" + b.TempDir(), "PATH=/usr/local/bin:/usr/bin:/bin", "REVERIE_DATABASE_URL=" + pgtest.URL(b), "REVERIE_LLM_PROVIDER=offline",
		"REVERIE_LOG_FORMAT=json", "REVERIE_LOG_LEVEL=warn", "REVERIE_HTTP_REQUESTS_PER_SECOND=0", "GOMEMLIMIT=460MiB"} // as in k8s/
	var lines strings.Builder
	for i := range 400 {
		fmt.Fprintf(&lines, `{"id":"%d","author":"Lin","text":"I always drink tea number %d from the mountain %d, and I prefer it without sugar","sent_at":"2026-01-%02dT20:01:00Z"}`+"\n", i, i%20, i%20, 1+i%20)
	}
	for _, args := range [][]string{{"import", "-", "--group", "g1"}, {"evolve", "--group", "g1"}} {
		if o := invoke(b.Context(), env, lines.String(), args...); o.code != 0 {
			b.Fatal(o.stderr)
		}
	}
	p := start(b, append(env, "REVERIE_LOG_LEVEL=info"), "serve", "--listen", "127.0.0.1:0")
	until(b, "it serves", func() bool { return servesAt.MatchString(p.err.String()) })
	return &serveWorld{b, p, strings.TrimPrefix(servesAt.FindStringSubmatch(p.err.String())[1], "http://")}
}

// found is what came of searches.
type found struct {
	laps   pgtest.Laps
	failed atomic.Int64
}

// search asks n times, by several clients at a time.
func (w *serveWorld) search(n int) *found {
	f := &found{}
	var left atomic.Int64
	left.Store(int64(n))
	var mu sync.Mutex
	var all sync.WaitGroup
	transport := &http.Transport{MaxIdleConnsPerHost: searchers}
	defer transport.CloseIdleConnections()
	clients := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	for range searchers {
		all.Go(func() {
			for i := left.Add(-1); i >= 0; i = left.Add(-1) {
				began := time.Now()
				resp, err := clients.Get("http://" + w.addr + "/memory/search/g1?limit=5&threshold=0&q=" + url.QueryEscape(fmt.Sprintf("tea %d", i%20)))
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				took := time.Since(began)
				if err != nil || resp.StatusCode != http.StatusOK {
					f.failed.Add(1)
					continue
				}
				mu.Lock()
				f.laps = append(f.laps, took)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return f
}

// oversized sends bodies that are too large, half of them without saying so before, and
// counts those that are refused as such.
func (w *serveWorld) oversized(n int) (refused int) {
	for i := range n {
		var body io.Reader = strings.NewReader(`{"response":"` + strings.Repeat("x", 2<<20) + `"}`)
		if i%2 == 0 {
			body = io.MultiReader(body) // no Content-Length
		}
		resp, err := http.Post("http://"+w.addr+"/v1/groups/g1/feedback", "application/json", body)
		if err != nil {
			continue // it was broken off while we were sending
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusRequestEntityTooLarge {
			refused++
		}
	}
	return refused
}

// peak is how much memory the process has used at most, in MiB.
func (w *serveWorld) peak() float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kib / 1024
}

// lodgers are connections that want nothing but to be there.
type lodgers struct {
	addr  string
	here  atomic.Int64
	mu    sync.Mutex
	conns []net.Conn
	gone  sync.WaitGroup
}

// come opens so many, 50 at a time, each of which does something before it counts.
func (c *lodgers) come(n int, greet func(net.Conn) error) {
	var all sync.WaitGroup
	for batch := range 50 {
		all.Go(func() {
			for i := batch; i < n; i += 50 {
				conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", c.addr)
				if err != nil {
					continue
				}
				if err := greet(conn); err != nil {
					conn.Close()
					continue
				}
				c.here.Add(1)
				c.mu.Lock()
				c.conns = append(c.conns, conn)
				c.mu.Unlock()
			}
		})
	}
	all.Wait()
}

// leave closes them.
func (c *lodgers) leave() {
	c.mu.Lock()
	for _, conn := range c.conns {
		conn.Close()
	}
	c.mu.Unlock()
	c.gone.Wait()
}

// idle asks once and keeps its connection.
func (c *lodgers) idle(conn net.Conn) error {
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: "+c.addr+"\r\n\r\n"); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// slowHeader begins a request, and goes on with a byte a second until it is thrown out.
func (c *lodgers) slowHeader(conn net.Conn) error {
	return c.drip(conn, "GET / HTTP/1.1\r\nHost: "+c.addr+"\r\nX-Slow: ")
}

// slowBody brings messages in, a byte a second.
func (c *lodgers) slowBody(conn net.Conn) error {
	return c.drip(conn, "POST /v1/groups/slow/messages HTTP/1.1\r\nHost: "+c.addr+"\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n")
}

func (c *lodgers) drip(conn net.Conn, begin string) error {
	if _, err := io.WriteString(conn, begin); err != nil {
		return err
	}
	c.gone.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for range tick.C {
			if _, err := conn.Write([]byte(" ")); err != nil {
				return
			}
		}
	})
	return nil
}

// slowReader asks for the largest document again and again, and reads none of it.
func (c *lodgers) slowReader(conn net.Conn) error {
	_, err := io.WriteString(conn, strings.Repeat("GET /openapi.json HTTP/1.1\r\nHost: "+c.addr+"\r\n\r\n", 50))
	return err
}
