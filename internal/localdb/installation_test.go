//go:build unix

package localdb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reverie/internal/reverie"
)

func TestParseMajor(t *testing.T) {
	for text, want := range map[string]int{
		"postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)\n": 15,
		"postgres (PostgreSQL) 17.2":                             17,
		"postgres (PostgreSQL) 18beta1":                          18,
		"postgres (PostgreSQL) 9.6.24":                           9,
		"postgres (PostgreSQL) 16":                               16,
		"postgres (PostgreSQL) ":                                 0,
		"postgres (EnterpriseDB) 15.1":                           0,
		"":                                                       0,
	} {
		got, err := parseMajor(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("parseMajor(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
}

// The reasons why there is no private cluster, as they are said.
const (
	noPostgres   = "PostgreSQL 15 or later"
	noVector     = "without pgvector"
	otherVersion = "was made by PostgreSQL 15"
)

// says tells whether an error gives a reason; without one there is no error.
func says(err error, reason string) bool {
	if reason == "" || err == nil {
		return reason == "" && err == nil
	}
	return errors.Is(err, reverie.ErrConfiguration) && strings.Contains(err.Error(), reason)
}

func TestPickInstallation(t *testing.T) {
	at := func(major int, vector bool) installation {
		return installation{bin: fmt.Sprintf("/pg/%d/%v", major, vector), major: major, vector: vector}
	}
	for name, c := range map[string]struct {
		found  []installation
		major  int // of the data
		want   installation
		reason string
		says   string
	}{
		"nothing":             {reason: noPostgres, says: "scripts/setup.sh"},
		"too old":             {found: []installation{at(14, true)}, reason: noPostgres, says: "found was only PostgreSQL 14 in /pg/14"},
		"the newest":          {found: []installation{at(15, true), at(17, true), at(16, true)}, want: at(17, true)},
		"with pgvector":       {found: []installation{at(17, false), at(15, true)}, want: at(15, true)},
		"one of two copies":   {found: []installation{at(17, false), at(17, true)}, want: at(17, true)},
		"without pgvector":    {found: []installation{at(16, false)}, reason: noVector, says: "postgresql-16-pgvector"},
		"the data's":          {found: []installation{at(15, true), at(17, true)}, major: 15, want: at(15, true)},
		"not the data's":      {found: []installation{at(17, true)}, major: 15, reason: otherVersion, says: "postgresql-15 "},
		"the data's, lacking": {found: []installation{at(15, false), at(17, true)}, major: 15, reason: noVector, says: "postgresql-15-pgvector"},
	} {
		got, err := pick(c.found, "/some/data", c.major)
		if got != c.want || !says(err, c.reason) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if c.reason == "" {
			continue
		}
		if !errors.Is(err, reverie.ErrConfiguration) || !strings.Contains(err.Error(), "REVERIE_DATABASE_URL") {
			t.Errorf("%s: %v: not a matter of configuration that says what to do", name, err)
		}
		if onLinux(c.says) && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v: does not say %q", name, err, c.says)
		}
	}
}

// onLinux leaves names of Debian's packages out where there are none.
func onLinux(says string) bool {
	_, err := os.Stat("/proc/self")
	return err == nil || !strings.HasPrefix(says, "postgresql-")
}

// fakePostgres makes a directory with programs that answer like PostgreSQL's.
func fakePostgres(t *testing.T, version string, vector bool) string {
	t.Helper()
	bin, share := filepath.Join(t.TempDir(), "bin"), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(bin, "postgres"):  "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n",
		filepath.Join(bin, "initdb"):    "#!/bin/sh\nexit 1\n",
		filepath.Join(bin, "pg_config"): "#!/bin/sh\necho '" + share + "'\n",
	} {
		write(t, path, text)
	}
	if vector {
		write(t, filepath.Join(share, "extension", "vector.control"), "")
	}
	return bin
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestStartWithoutWhatItNeedsTouchesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		bin     string
		version string // of data that is there
		reason  string
	}{
		"no PostgreSQL":   {bin: t.TempDir(), reason: "no PostgreSQL server programs"},
		"an old one":      {bin: fakePostgres(t, "14.3", true), reason: noPostgres},
		"no pgvector":     {bin: fakePostgres(t, "16.1", false), reason: noVector},
		"data of another": {bin: fakePostgres(t, "16.1", true), version: "15\n", reason: otherVersion},
	} {
		t.Run(name, func(t *testing.T) {
			o := testOptions(newDir(t))
			o.BinDir = c.bin
			data := filepath.Join(o.Dir, "data")
			if c.version != "" {
				write(t, filepath.Join(data, "PG_VERSION"), c.version)
			}
			if _, err := Start(t.Context(), o); !says(err, c.reason) {
				t.Errorf("Start = %v, want %v", err, c.reason)
			}
			left, _ := filepath.Glob(filepath.Join(data, "*"))
			if want := min(1, len(c.version)); len(left) != want {
				t.Errorf("data holds %v", left)
			}
			if _, err := os.Stat(filepath.Join(o.Dir, serverLog)); err == nil {
				t.Error("started a server that cannot run")
			}
		})
	}
}

func TestFindLooksInEveryPlaceOnce(t *testing.T) {
	old, without, with := fakePostgres(t, "13.1", true), fakePostgres(t, "98.0", false), fakePostgres(t, "97.5", true)
	t.Setenv("PATH", "/usr/bin:/bin:"+without)
	saved := binDirs
	t.Cleanup(func() { binDirs = saved })
	binDirs = []string{old, without, filepath.Dir(with) + "/b*", "/nowhere/*/bin"}
	all := candidates()
	seen := map[string]int{}
	for _, dir := range all {
		seen[dir]++
	}
	for _, dir := range []string{old, without, with} {
		if seen[dir] != 1 {
			t.Errorf("%s was listed %d times in %v", dir, seen[dir], all)
		}
	}
	in, err := findInstallation(t.Context(), "", "/data", 97)
	if err != nil || in.bin != with {
		t.Errorf("found %v, %v, want %s", in, err, with)
	}
}

func TestDataMajor(t *testing.T) {
	dir := t.TempDir()
	if got, err := dataMajor(dir); got != 0 || err != nil {
		t.Errorf("no data: %d, %v", got, err)
	}
	write(t, filepath.Join(dir, "PG_VERSION"), "17\n")
	if got, err := dataMajor(dir); got != 17 || err != nil {
		t.Errorf("data: %d, %v", got, err)
	}
	write(t, filepath.Join(dir, "PG_VERSION"), "huh\n")
	if _, err := dataMajor(dir); err == nil {
		t.Error("accepted a version that is none")
	}
}
