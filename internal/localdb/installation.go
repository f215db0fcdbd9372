//go:build unix

package localdb

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// installation is a PostgreSQL installed on the machine.
type installation struct {
	bin    string // directory of initdb and postgres
	major  int
	vector bool // pgvector is installed for it
}

// binDirs are patterns of the directories in which packages install PostgreSQL. Tests replace them.
var binDirs = []string{
	"/usr/lib/postgresql/*/bin",         // Debian, Ubuntu
	"/usr/pgsql-*/bin",                  // Red Hat, from postgresql.org
	"/usr/libexec/postgresql*",          // Alpine
	"/opt/homebrew/opt/postgresql*/bin", // Homebrew
	"/usr/local/opt/postgresql*/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// findInstallation returns the installation to use: the one in binDir if given, otherwise the highest version with
// pgvector. If major > 0, the version of existing data, it must be that version. data is used in the error text.
func findInstallation(ctx context.Context, binDir, data string, major int) (installation, error) {
	dirs := []string{binDir}
	if binDir == "" {
		dirs = candidates()
	}
	if ctx.Err() != nil {
		return installation{}, fmt.Errorf("look for PostgreSQL: %w", context.Cause(ctx))
	}
	var found []installation
	for _, dir := range dirs {
		in, err := inspect(ctx, dir)
		if err != nil && binDir != "" {
			return in, missing(err.Error(), "give the directory that holds postgres and initdb")
		}
		if err == nil { // otherwise it is no PostgreSQL, or does not run here
			found = append(found, in)
		}
	}
	return pick(found, data, major)
}

// pick chooses one of the installations found.
func pick(found []installation, data string, major int) (installation, error) {
	slices.SortStableFunc(found, func(a, b installation) int { return cmp.Compare(b.major, a.major) })
	for _, in := range found {
		if in.vector && in.major >= minMajor && (major == 0 || in.major == major) {
			return in, nil
		}
	}
	need, version := "the private database needs PostgreSQL 15 or later with pgvector", 17
	switch {
	case major > 0:
		need, version = fmt.Sprintf("%s was made by PostgreSQL %d, and needs it with pgvector", data, major), major
	case len(found) > 0 && found[0].major >= minMajor:
		version = found[0].major
	}
	have := "none was found"
	if len(found) > 0 {
		have = "found was only " + names(found)
	}
	return installation{}, missing(need+"; "+have, "run scripts/setup.sh, or `"+packages(version)+"`")
}

// missing returns the error that no private cluster can be created, with a remedy.
func missing(what, remedy string) error {
	return fmt.Errorf("%s: %w: %s, or set REVERIE_DATABASE_URL to a PostgreSQL with pgvector", what,
		reverie.ErrConfiguration, remedy)
}

// candidates lists the directories that may contain PostgreSQL, with links resolved and without duplicates.
func candidates() []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil { // a link in /usr/local/bin
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	for _, pattern := range binDirs {
		matches, _ := filepath.Glob(pattern) // fails only for an invalid pattern
		dirs = append(dirs, matches...)
	}
	var once []string
	for _, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil && !slices.Contains(once, real) {
			once = append(once, real)
		}
	}
	return once
}

// inspect determines the version and extensions of the programs in bin.
func inspect(ctx context.Context, bin string) (installation, error) {
	in := installation{bin: bin}
	if _, err := os.Stat(filepath.Join(bin, "initdb")); err != nil {
		return in, fmt.Errorf("no PostgreSQL server programs in %s: %w", bin, err)
	}
	out, err := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return in, fmt.Errorf("ask %s for its version: %w", filepath.Join(bin, "postgres"), err)
	}
	if in.major, err = parseMajor(string(out)); err != nil {
		return in, fmt.Errorf("%s: %w", filepath.Join(bin, "postgres"), err)
	}
	for _, share := range shareDirs(ctx, in) {
		if _, err := os.Stat(filepath.Join(share, "extension", "vector.control")); err == nil {
			in.vector = true
		}
	}
	return in, nil
}

// shareDirs returns the directories that may hold the installation's extensions: the one that pg_config names, and
// those that packages use.
func shareDirs(ctx context.Context, in installation) []string {
	out, err := exec.CommandContext(ctx, filepath.Join(in.bin, "pg_config"), "--sharedir").Output()
	if err == nil {
		return []string{strings.TrimSpace(string(out))}
	}
	major := strconv.Itoa(in.major)
	return []string{
		"/usr/share/postgresql/" + major,
		"/usr/share/postgresql" + major,
		filepath.Join(in.bin, "..", "share", "postgresql"),
		filepath.Join(in.bin, "..", "share"),
	}
}

// versionOf matches "postgres (PostgreSQL) 17.2 (Debian 17.2-1)"; betas and release candidates count as their version.
var versionOf = text.NewPattern(`\(PostgreSQL\) (\d+)`)

func parseMajor(version string) (int, error) {
	m := versionOf.FindStringSubmatch(version)
	if m == nil {
		return 0, fmt.Errorf("not a PostgreSQL version: %q", strings.TrimSpace(version))
	}
	return strconv.Atoi(m[1])
}

// dataMajor returns the version that created the data directory, 0 if there is none.
func dataMajor(data string) (int, error) {
	raw, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the version of the private database: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return 0, fmt.Errorf("%s/PG_VERSION: not a version: %w", data, err)
	}
	return major, nil
}

// minMajor is the oldest supported PostgreSQL.
const minMajor = 15

// packages returns the command that installs a major version with pgvector.
func packages(major int) string {
	if runtime.GOOS == "darwin" {
		return fmt.Sprintf("brew install postgresql@%d pgvector", major)
	}
	return fmt.Sprintf("sudo apt-get install postgresql-%d postgresql-%d-pgvector", major, major)
}

func names(found []installation) string {
	all := make([]string, len(found))
	for i, in := range found {
		if all[i] = fmt.Sprintf("PostgreSQL %d in %s", in.major, in.bin); !in.vector {
			all[i] += " without pgvector"
		}
	}
	return strings.Join(all, ", ")
}
