package localdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"reverie/internal/reverie"
)

// installation is PostgreSQL as found on the machine.
type installation struct {
	bin    string // where initdb and postgres are
	major  int
	vector bool // pgvector is installed for it
}

// binDirs are patterns of where packages put PostgreSQL. A variable, so that
// tests can look elsewhere.
var binDirs = []string{
	"/usr/lib/postgresql/*/bin",         // Debian, Ubuntu
	"/usr/pgsql-*/bin",                  // Red Hat, from postgresql.org
	"/usr/libexec/postgresql*",          // Alpine
	"/opt/homebrew/opt/postgresql*/bin", // Homebrew
	"/usr/local/opt/postgresql*/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// findInstallation returns the installation to use: the one in binDir if given,
// else the highest version that has pgvector. With major > 0, the version of
// existing data, it must be that one. data is for the error's text.
func findInstallation(ctx context.Context, binDir, data string, major int) (installation, error) {
	var dirs []string
	if binDir != "" {
		dirs = []string{binDir}
	} else {
		dirs = candidates(ctx)
	}
	if ctx.Err() != nil {
		return installation{}, fmt.Errorf("look for PostgreSQL: %w", context.Cause(ctx))
	}
	var found, tooOld []installation
	for _, dir := range dirs {
		in, err := inspect(ctx, dir)
		switch {
		case err != nil && binDir != "":
			return in, &missing{ErrNoPostgres, err.Error(), "Give the directory that holds postgres and initdb, " + elsewhere}
		case err != nil: // not a PostgreSQL, or one that does not run here
		case in.major < minMajor:
			tooOld = append(tooOld, in)
		default:
			found = append(found, in)
		}
	}
	return pick(found, tooOld, data, major)
}

// pick chooses among what was found.
func pick(found, tooOld []installation, data string, major int) (installation, error) {
	if len(found) == 0 {
		return installation{}, noPostgres(tooOld)
	}
	slices.SortStableFunc(found, func(a, b installation) int { return cmp.Compare(b.major, a.major) })
	fit := found
	if major > 0 {
		fit = slices.DeleteFunc(slices.Clone(found), func(in installation) bool { return in.major != major })
		if len(fit) == 0 {
			return installation{}, wrongVersion(data, major, found)
		}
	}
	for _, in := range fit {
		if in.vector {
			return in, nil
		}
	}
	return installation{}, noVector(fit)
}

// candidates lists the directories that may hold PostgreSQL, real paths, each
// once.
func candidates(ctx context.Context) []string {
	var dirs []string
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil { // a link in /usr/local/bin
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	for _, pattern := range binDirs {
		matches, _ := filepath.Glob(pattern) // fails on a bad pattern only
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

// inspect asks the programs in bin for their version and extensions.
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

// shareDirs are where the installation may keep its extensions: what its own
// pg_config says, else what packages do.
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

// parseMajor reads "postgres (PostgreSQL) 17.2 (Debian 17.2-1)"; betas and
// release candidates count as their version.
func parseMajor(version string) (int, error) {
	_, rest, ok := strings.Cut(version, "(PostgreSQL) ")
	digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(rest)
	}
	major, err := strconv.Atoi(rest[:digits])
	if !ok || err != nil {
		return 0, fmt.Errorf("not a PostgreSQL version: %q", strings.TrimSpace(version))
	}
	return major, nil
}

// dataMajor is the version that made the data directory, 0 if there is none.
func dataMajor(data string) (int, error) {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the version of the private database: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s/PG_VERSION: not a version: %w", data, err)
	}
	return major, nil
}

// minMajor is the oldest PostgreSQL that will do.
const minMajor = 15

// The reasons why there is no private cluster. Each comes with the command to
// run, and is a [reverie.ErrConfiguration].
var (
	// ErrNoPostgres: no PostgreSQL 15 or later was found.
	ErrNoPostgres = errors.New("no PostgreSQL found")
	// ErrNoVector: PostgreSQL was found, but pgvector is not installed for it.
	ErrNoVector = errors.New("no pgvector found")
	// ErrVersion: the data was made by another major version of PostgreSQL.
	ErrVersion = errors.New("data of another PostgreSQL version")
)

// missing is one of the reasons, told with what was found and what to do.
type missing struct {
	reason error
	what   string
	remedy string
}

func (e *missing) Error() string { return e.what + ". " + e.remedy }

// Is makes both the reason and reverie.ErrConfiguration match.
func (e *missing) Is(target error) bool {
	return target == e.reason || target == reverie.ErrConfiguration
}

// elsewhere ends every remedy.
const elsewhere = "or set REVERIE_DATABASE_URL to a PostgreSQL with pgvector"

func noPostgres(tooOld []installation) error {
	what := "the private database needs PostgreSQL 15 or later with pgvector, and none was found"
	if len(tooOld) > 0 {
		what += fmt.Sprintf(" (only %s)", names(tooOld))
	}
	return &missing{ErrNoPostgres, what, "Run scripts/setup.sh, or `" + packages(17) + "`, " + elsewhere}
}

func noVector(found []installation) error {
	return &missing{
		ErrNoVector,
		fmt.Sprintf("the private database needs pgvector, which is not installed for %s", names(found)),
		"Run scripts/setup.sh, or `" + packages(found[0].major) + "`, " + elsewhere,
	}
}

func wrongVersion(data string, major int, found []installation) error {
	return &missing{
		ErrVersion,
		fmt.Sprintf("%s was made by PostgreSQL %d, and what was found is %s; nothing was touched", data, major, names(found)),
		fmt.Sprintf("Run `%s`, or move that directory away to start afresh, %s", packages(major), elsewhere),
	}
}

// packages is the command that installs a major version with pgvector.
func packages(major int) string {
	if runtime.GOOS == "darwin" {
		return fmt.Sprintf("brew install postgresql@%d pgvector", major)
	}
	return fmt.Sprintf("sudo apt-get install postgresql-%d postgresql-%d-pgvector", major, major)
}

func names(found []installation) string {
	all := make([]string, len(found))
	for i, in := range found {
		all[i] = fmt.Sprintf("PostgreSQL %d in %s", in.major, in.bin)
	}
	return strings.Join(all, ", ")
}
