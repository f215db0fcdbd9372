package localdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// account is who the server runs as when we are root. A nil account is
// whoever we are.
type account struct {
	name   string
	uid    uint32
	gid    uint32
	groups []uint32
}

// serverAccount picks the account: the owner of an existing data directory,
// else postgres, else nobody.
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
	acc := &account{name: u.Username, uid: uint32(uid), gid: uint32(gid)}
	ids, _ := u.GroupIds() // without them, only paths that everybody can enter
	for _, id := range ids {
		if n, err := strconv.ParseUint(id, 10, 32); err == nil {
			acc.groups = append(acc.groups, uint32(n))
		}
	}
	return acc, nil
}

// canEnter tells whether the account can pass through dir and all above it.
// What does not exist yet will be made so that it can.
func (a *account) canEnter(dir string) bool {
	for {
		if info, err := os.Stat(dir); err == nil && !a.canPass(info) {
			return false
		}
		up := filepath.Dir(dir)
		if up == dir {
			return true
		}
		dir = up
	}
}

func (a *account) canPass(info os.FileInfo) bool {
	stat, mode := info.Sys().(*syscall.Stat_t), info.Mode().Perm()
	switch {
	case stat.Uid == a.uid:
		return mode&0o100 != 0
	case stat.Gid == a.gid || slices.Contains(a.groups, stat.Gid):
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
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
	return &syscall.Credential{Uid: a.uid, Gid: a.gid, Groups: a.groups}
}

func (a *account) uidOrMine() uint32 {
	if a == nil {
		return uint32(os.Geteuid())
	}
	return a.uid
}
