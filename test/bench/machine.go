package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// about says what figures are taken on: the machine, and the versions of all that takes
// part.
func (s *server) about(ctx context.Context, root string) (string, error) {
	db, err := sql.Open("postgres", s.url)
	if err != nil {
		return "", fmt.Errorf("ask PostgreSQL for its version: %w", err)
	}
	defer db.Close()
	var postgres string
	err = db.QueryRowContext(ctx, `select format(
		'PostgreSQL %s (fsync %s, synchronous_commit %s, shared_buffers %s), pgvector %s',
		split_part(current_setting('server_version'), ' ', 1), current_setting('fsync'),
		current_setting('synchronous_commit'), current_setting('shared_buffers'),
		(select default_version from pg_available_extensions where name = 'vector'))`).Scan(&postgres)
	if err != nil {
		return "", fmt.Errorf("ask PostgreSQL for its version: %w", err)
	}
	list := []string{
		fmt.Sprintf("%d x %s", runtime.NumCPU(), field("/proc/cpuinfo", "model name")),
		field("/proc/meminfo", "MemTotal") + " of memory",
		output(ctx, "uname", "-srm"),
		"disk " + strings.Join(strings.Fields(output(ctx, "df", "--output=source,fstype", s.dir)), " "),
		"reverie " + revision(ctx, root),
		runtime.Version(),
		postgres,
	}
	if node := output(ctx, "node", "--version"); node != "" {
		list = append(list, "Node "+node, "mem0ai "+peerVersion(root))
	}
	return strings.Join(list, "; "), nil
}

// output is what a command says, nothing where it cannot be run.
func output(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// field is the first value of a name in a file of lines "name: value", "unknown" without.
func field(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		if key, v, ok := strings.Cut(in.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

// revision is the commit of the checkout, and whether files of it differ from that.
func revision(ctx context.Context, root string) string {
	commit, err := git(ctx, root, "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*")
	if err != nil {
		return "unknown"
	}
	return commit
}

// peerVersion is what test/bench/peer depends on.
func peerVersion(root string) string {
	raw, err := os.ReadFile(filepath.Join(root, "test", "bench", "peer", "package.json"))
	var doc struct{ Dependencies map[string]string }
	if err != nil || json.Unmarshal(raw, &doc) != nil {
		return "unknown"
	}
	return doc.Dependencies["mem0ai"]
}

// loadAverage is that of the last minute.
func loadAverage() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	load, _, _ := strings.Cut(string(raw), " ")
	return load
}
