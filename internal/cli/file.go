package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteWhole writes a file that is there whole or, where writing failed, not at
// all; one that was there stays until then, and so does a link to it. Nobody else
// may read it. What is no file but a pipe or a device is written as it is.
func WriteWhole(name string, write func(io.Writer) error) error {
	place, special, err := whereToWrite(name)
	if err != nil {
		return fmt.Errorf("find the place of the file %s: %w", name, err)
	}
	if special {
		f, err := os.OpenFile(place, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("open %s: %w", name, err)
		}
		if err := errors.Join(write(f), f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(place), "."+filepath.Base(place)+".*")
	if err != nil {
		return fmt.Errorf("make the file %s: %w", name, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // renamed by then, or unfinished
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := os.Rename(f.Name(), place); err != nil {
		return fmt.Errorf("put %s in its place: %w", name, err)
	}
	return nil
}

// whereToWrite follows the links that a name may be, also to a file that is not
// there yet, and tells whether something is there that is no regular file.
func whereToWrite(name string) (place string, special bool, err error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return name, true, nil // by its name: what /dev/stdout leads to may have none
	case err == nil:
		place, err = filepath.EvalSymlinks(name)
		return place, false, err
	case !errors.Is(err, fs.ErrNotExist):
		return "", false, err
	}
	target, err := os.Readlink(name)
	if err != nil {
		return name, false, nil // no link, or nothing at all
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(name), target)
	}
	return whereToWrite(target) // links in a circle are an error of Stat
}

// Seekable opens a file that is read several times. Standard input is copied to a
// temporary one, which goes when it is closed.
func (con *Console) Seekable(ctx context.Context, name string) (io.ReadSeekCloser, error) {
	in, _, err := con.Input(ctx, name)
	if err != nil {
		return nil, err
	}
	if f, ok := in.(*os.File); ok && name != "-" {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return f, nil
		}
	}
	defer in.Close()
	f, err := os.CreateTemp("", "reverie-import-*")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file for what is imported: %w", err)
	}
	spool := spooled{f}
	if _, err := io.Copy(f, in); err != nil {
		return nil, errors.Join(fmt.Errorf("copy %s to the temporary file %s: %w", name, f.Name(), err), spool.Close())
	}
	return spool, nil
}

// spooled is a temporary file that is removed when it is closed.
type spooled struct{ *os.File }

func (s spooled) Close() error { return errors.Join(s.File.Close(), os.Remove(s.Name())) }
