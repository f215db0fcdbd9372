package e2e

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
	"time"

	"reverie/store/pgtest"
)

// BenchmarkStart starts a program anew each time: true, which does nothing, the binary that says its version, and the
// binary until it listens. ms-cpu is the processor's time of a start, x-true how often that of true goes into it.
func BenchmarkStart(b *testing.B) {
	binary := buildBinary(b)
	env := []string{"HOME=" + b.TempDir(), "PATH=/usr/bin:/bin", "REVERIE_DATABASE_URL=" + pgtest.URL(b), "REVERIE_LLM_PROVIDER=offline",
		"REVERIE_LOG_FORMAT=json"}
	var least time.Duration
	for _, args := range [][]string{{"true"}, {binary, "version"}, {binary, "serve", "--listen", "127.0.0.1:0"}} {
		name := args[len(args)-1]
		if len(args) > 2 {
			name = args[1]
		}
		b.Run("program="+name, func(b *testing.B) {
			var used time.Duration
			for b.Loop() {
				cmd := exec.CommandContext(b.Context(), args[0], args[1:]...)
				cmd.Env, cmd.Dir = env, b.TempDir()
				said, err := cmd.StderrPipe()
				if err != nil {
					b.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					b.Fatal(err)
				}
				listens := false
				for lines := bufio.NewScanner(said); !listens && lines.Scan(); {
					listens = strings.Contains(lines.Text(), `"msg":"serving"`)
				}
				if listens {
					_ = cmd.Process.Kill() // it may have ended
				}
				if err := cmd.Wait(); !listens && (err != nil || name == "serve") {
					b.Fatalf("%s: it does not start: %v", name, err)
				}
				used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			}
			used /= time.Duration(b.N)
			if least == 0 {
				least = max(used, 1)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(1000*b.Elapsed().Seconds()/float64(b.N), "ms")
			b.ReportMetric(1000*used.Seconds(), "ms-cpu")
			b.ReportMetric(float64(used)/float64(least), "x-true")
		})
	}
}
