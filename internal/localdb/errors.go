package localdb

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"reverie/internal/reverie"
)

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
