//go:build unix

package localdb

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

// varDir holds root's clusters whose own directory the server's account cannot reach. Tests replace it.
var varDir = "/var/lib/reverie"

// maxSocketDir bounds a socket's directory, in bytes: a socket's whole path
// must fit into 104 (macOS) or 108 (Linux).
const maxSocketDir = 104 - len("/.s.PGSQL.5432") - 1

// Location is where a cluster is and which account runs it.
type Location struct {
	Asked  string // the requested directory, absolute
	Dir    string // the directory in use
	Socket string // the directory of the Unix socket
	User   string // the account that runs the server; "" for the current one

	account *account // nil for the current one
}

// Moved reports whether Dir differs from the requested directory. This happens for root, whose home directory the
// server's account cannot enter.
func (l Location) Moved() bool { return l.Asked != l.Dir }

// data returns PostgreSQL's data directory.
func (l Location) data() string { return filepath.Join(l.Dir, "data") }

// path returns the path of a file in the cluster's directory.
func (l Location) path(name string) string { return filepath.Join(l.Dir, name) }

// DefaultDir returns the directory of a cluster if none is configured: $XDG_DATA_HOME/reverie or
// ~/.local/share/reverie, on macOS ~/Library/Application Support/reverie. getenv is [os.Getenv] or a replacement.
// It fails if there is no home directory.
func DefaultDir(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "reverie"), nil
	}
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("no place for the private database: HOME is not set; set XDG_DATA_HOME or REVERIE_DATABASE_URL")
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "reverie"), nil
	}
	return filepath.Join(home, ".local", "share", "reverie"), nil
}

// Locate returns where the cluster requested at dir is, without creating anything. All processes of a user get the
// same answer for the same dir.
func Locate(dir string) (Location, error) {
	if dir == "" {
		return Location{}, errors.New("locate the private database: no directory given")
	}
	asked, err := canonical(dir)
	if err != nil {
		return Location{}, fmt.Errorf("locate the private database: %w", err)
	}
	loc := Location{Asked: asked, Dir: asked}
	if os.Geteuid() == 0 {
		if err := loc.forRoot(); err != nil {
			return Location{}, err
		}
	}
	loc.Socket = socketDir(loc.Dir)
	return loc, nil
}

// forRoot picks an account for the server, which refuses to run as root, and a directory that this account can
// enter.
func (l *Location) forRoot() error {
	acc, err := serverAccount(l.data())
	if err != nil {
		return err
	}
	if !acc.canEnter(filepath.Dir(l.Dir)) {
		l.Dir = filepath.Join(varDir, shortHash(l.Asked))
		if acc, err = serverAccount(l.data()); err != nil {
			return err
		}
	}
	l.account, l.User = acc, acc.name
	return nil
}

// socketDir returns the directory of the socket: the cluster's own, or a short one in /tmp if that path is too
// long. It does not use TMPDIR, which may differ between the processes.
func socketDir(dir string) string {
	own := filepath.Join(dir, "run")
	if len(own) <= maxSocketDir {
		return own
	}
	return filepath.Join("/tmp", "reverie-"+shortHash(dir+"\x00"+strconv.Itoa(os.Geteuid())))
}

// prepare creates the directories with the necessary modes and owners.
func (l Location) prepare() error {
	mode := os.FileMode(0o700)
	if l.account != nil {
		mode = 0o711 // the server's account must pass through
	}
	if err := makeDirs(l.Dir, mode); err != nil {
		return fmt.Errorf("make the private database's directory: %w", err)
	}
	return l.prepareSocket()
}

// makeDirs creates dir with the mode, and its missing parents readable by all, whatever the umask.
func makeDirs(dir string, mode os.FileMode) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s is not a directory", dir)
		}
		return nil
	}
	if err := makeDirs(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	err := os.Mkdir(dir, mode)
	switch {
	case errors.Is(err, os.ErrExist): // another starter was faster
		return nil
	case err != nil:
		return err
	}
	return os.Chmod(dir, mode)
}

// prepareSocket creates the socket's directory, closed to other users. In /tmp anybody can create an entry first,
// so an existing one must be a directory of the account.
func (l Location) prepareSocket() error {
	if err := os.Mkdir(l.Socket, 0o700); err == nil {
		return l.account.own(l.Socket)
	} else if !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make the socket's directory: %w", err)
	}
	info, err := os.Lstat(l.Socket)
	if err != nil {
		return fmt.Errorf("look at the socket's directory: %w", err)
	}
	owner, want := info.Sys().(*syscall.Stat_t).Uid, uint32(os.Geteuid())
	if !info.IsDir() || owner != want && (l.account == nil || owner != l.account.uid) {
		return fmt.Errorf("%s is not a directory of user id %d: remove it, or use another data directory", l.Socket, want)
	}
	if err := os.Chmod(l.Socket, 0o700); err != nil {
		return fmt.Errorf("close the socket's directory to others: %w", err)
	}
	return l.account.own(l.Socket)
}

// canonical makes dir absolute and resolves symbolic links in its existing part, so that each directory has one
// name.
func canonical(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	rest := ""
	for at := abs; ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, os.ErrNotExist) || at == filepath.Dir(at) {
			return "", err
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// account is the account that runs the server if this process is root. nil is the current account.
type account struct {
	name string
	uid  uint32
	gid  uint32
}

// serverAccount returns the account: the owner of an existing data directory, otherwise postgres, otherwise nobody.
func serverAccount(data string) (*account, error) {
	info, err := os.Stat(data)
	switch {
	case err == nil:
		if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 0 {
			return accountOf(user.LookupId(strconv.Itoa(int(uid))))
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("look at the private database's data: %w", err)
	}
	for _, name := range []string{"postgres", "nobody"} {
		if acc, err := accountOf(user.Lookup(name)); err == nil {
			return acc, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody to run it: " +
		"run as another user, or set REVERIE_DATABASE_URL")
}

func accountOf(u *user.User, err error) (*account, error) {
	if err != nil {
		return nil, fmt.Errorf("find the account for the server: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: id %q: %w", u.Username, u.Uid, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: group id %q: %w", u.Username, u.Gid, err)
	}
	return &account{name: u.Username, uid: uint32(uid), gid: uint32(gid)}, nil
}

// canEnter asks the kernel whether the account can pass through dir. A missing directory counts as enterable, since
// it is created that way.
func (a *account) canEnter(dir string) bool {
	for _, err := os.Stat(dir); err != nil && dir != filepath.Dir(dir); _, err = os.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	cmd := exec.Command("test", "-x", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.credential()}
	return cmd.Run() == nil
}

// own gives path to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	if err := os.Lchown(path, int(a.uid), int(a.gid)); err != nil {
		return fmt.Errorf("give %s to %s: %w", path, a.name, err)
	}
	return nil
}

// credential makes a process run as the account; nil for the current one.
func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}
