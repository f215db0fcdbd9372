//go:build torture

package e2e

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// disk is a small file system of its own for a database, which can be filled. Where none can be mounted, a trigger says
// what PostgreSQL says of a full one.
type disk struct {
	t    *testing.T
	root string
	of   *stage // whose database it has
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "reverie-disk") // short, for a socket's sake
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=512m,mode=0755"); err != nil {
		t.Logf("no file system can be mounted (%v): a trigger says that the disk is full", err)
		return &disk{t: t}
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(root, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return &disk{t: t, root: root}
}

// dir is where a database may be.
func (d *disk) dir(t *testing.T) string {
	t.Helper()
	at := d.root
	if at == "" {
		at = "/tmp"
	}
	dir, err := os.MkdirTemp(at, "r")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

const fullTrigger = `create function full_disk() returns trigger language plpgsql as $$ begin
		raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$;
	create trigger full_disk before insert or update on run_chunks execute function full_disk()`

// fill leaves no room.
func (d *disk) fill() {
	d.t.Helper()
	if d.root == "" {
		d.of.exec(fullTrigger)
		return
	}
	file, err := os.Create(filepath.Join(d.root, "ballast"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer file.Close()
	for block := bytes.Repeat([]byte{1}, 1<<20); len(block) > 512; {
		if _, err := file.Write(block); errors.Is(err, syscall.ENOSPC) {
			block = block[:len(block)/2]
		} else if err != nil {
			d.t.Fatal(err)
		}
	}
}

// empty makes room again.
func (d *disk) empty() {
	d.t.Helper()
	if d.root == "" {
		d.of.exec(`drop function full_disk cascade`)
	} else if err := os.Remove(filepath.Join(d.root, "ballast")); err != nil {
		d.t.Fatal(err)
	}
}

// answers waits for the server, and starts it where it has ended by itself: PostgreSQL does where its log has no room.
func (v *server) answers() {
	v.t.Helper()
	ended := func() bool {
		select {
		case <-v.gone:
			return true
		default:
			return false
		}
	}
	until(v.t, "a server that answers, or has ended", func() bool { return ended() || v.pings() })
	if ended() {
		v.up()
	}
}
