//go:build unix

package localdb

import (
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestDefaultDir(t *testing.T) {
	home := "/home/ada/.local/share/reverie"
	if runtime.GOOS == "darwin" {
		home = "/home/ada/Library/Application Support/reverie"
	}
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"HOME": "/home/ada"}, home},
		{map[string]string{"HOME": "/home/ada", "XDG_DATA_HOME": "/data"}, "/data/reverie"},
		{map[string]string{"HOME": "/home/ada", "XDG_DATA_HOME": "relative"}, home},
		{map[string]string{"XDG_DATA_HOME": "/data"}, "/data/reverie"},
		{map[string]string{"HOME": "relative"}, ""},
		{nil, ""},
	} {
		got, err := DefaultDir(func(name string) string { return c.env[name] })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("DefaultDir with %v = %q, %v, want %q", c.env, got, err, c.want)
		}
	}
}

func TestLocateGivesOneDirectoryOneName(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(top, link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(top)
	want, err := Locate(filepath.Join(top, "not", "yet"))
	if err != nil {
		t.Fatal(err)
	}
	if want.Asked != filepath.Join(top, "not", "yet") {
		t.Errorf("asked for %q", want.Asked)
	}
	for _, dir := range []string{filepath.Join(link, "not", "yet"), "not/yet", "./not/../not/yet/"} {
		got, err := Locate(dir)
		if err != nil || got.Dir != want.Dir || got.Asked != want.Asked || got.Socket != want.Socket {
			t.Errorf("Locate(%q) = %+v, %v, want %+v", dir, got, err, want)
		}
	}
	if _, err := Locate(""); err == nil {
		t.Error("located nothing")
	}
}

func TestSocketDirFits(t *testing.T) {
	seen := map[string]string{}
	for n := range 200 {
		dir := "/" + strings.Repeat("d", n+1)
		socket := socketDir(dir)
		if len(socket)+len("/.s.PGSQL.5432") >= 104 {
			t.Errorf("%s: the socket in %s does not fit", dir, socket)
		}
		if other := seen[socket]; other != "" {
			t.Errorf("%s and %s share %s", dir, other, socket)
		}
		seen[socket] = dir
	}
}

// In /tmp anybody can be there first.
func TestSocketDirOfAnotherIsRefused(t *testing.T) {
	loc, err := Locate(filepath.Join(newDir(t), strings.Repeat("long/", 20)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), loc.Socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(loc.Socket) })
	if err := loc.prepareSocket(); err == nil || !strings.Contains(err.Error(), "is not a directory of user") {
		t.Errorf("prepareSocket on a symbolic link: %v", err)
	}
	if os.Geteuid() != 0 {
		return // only root can give things away
	}
	os.Remove(loc.Socket)
	if err := os.Mkdir(loc.Socket, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(loc.Socket, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if err := loc.prepareSocket(); err == nil || !strings.Contains(err.Error(), "is not a directory of user") {
		t.Errorf("prepareSocket on another's directory: %v", err)
	}
}

func TestURLIsOneThatDriversRead(t *testing.T) {
	u, err := url.Parse(Location{Socket: "/a dir/with & and ü"}.url("na me?"))
	if err != nil {
		t.Fatal(err)
	}
	if u.Path != "/na me?" || u.Query().Get("host") != "/a dir/with & and ü" || u.Query().Get("sslmode") != "disable" {
		t.Errorf("url is %s", u)
	}
}

// Root's own directories are closed to the server's account.
func TestRootMovesOutOfItsHome(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs the server as somebody else")
	}
	top, err := os.MkdirTemp("/tmp", "reverie-local-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	home := filepath.Join(top, "home") // below a directory of mode 0700
	loc, err := Locate(home)
	if err != nil {
		t.Fatal(err)
	}
	if !loc.Moved() || filepath.Dir(loc.Dir) != varDir || loc.User == "" || loc.User == "root" {
		t.Errorf("the cluster is at %+v", loc)
	}
	other, err := Locate(home + "2")
	if err != nil {
		t.Fatal(err)
	}
	if other.Dir == loc.Dir {
		t.Error("two clusters moved to one place")
	}
	if err := os.Chmod(top, 0o711); err != nil {
		t.Fatal(err)
	}
	if loc, err = Locate(home); err != nil || loc.Moved() {
		t.Errorf("moved to %+v, %v, without need", loc, err)
	}
}

func TestRootStartsAMovedCluster(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs the server as somebody else")
	}
	dir := newDir(t)
	if err := os.Chmod(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	c := start(t, testOptions(dir))
	if !c.Location().Moved() {
		t.Errorf("the cluster is at %+v", c.Location())
	}
	if got := mustAsk(t, c, "SELECT 'up'"); got != "up" {
		t.Errorf("got %q", got)
	}
}

// Data that belongs to a user is served as that user, whoever root prefers.
func TestRootServesDataAsItsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs the server as somebody else")
	}
	dir := newDir(t)
	data := filepath.Join(dir, "data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(data, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	loc, err := Locate(dir)
	if err != nil {
		t.Fatal(err)
	}
	if loc.account == nil || loc.account.uid != 65534 {
		t.Errorf("served as %q", loc.User)
	}
}
