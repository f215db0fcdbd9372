package ingest

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"reverie/internal/reverie"
)

// tarFiles are the files of a tar archive. It is read from front to back: files that are
// opened in the archive's order cost one pass, one that stands further in front begins a
// new one.
type tarFiles struct {
	open    func() (io.ReadCloser, error) // the archive, from its beginning
	entries map[string]*tarEntry

	broken error // why the archive is not known to its end; nil where it is

	mu   sync.Mutex
	pass *tarPass // one that nobody is reading, or nil
}

// tarEntry is a file or a folder of an archive.
type tarEntry struct {
	name string // its last part
	no   int    // which file of the archive it is, from 1; 0 for a folder
	size int64
	time time.Time
	in   []fs.DirEntry // of a folder, by name
}

// tarPass is a way through the archive, behind its no-th file's header.
type tarPass struct {
	*tar.Reader
	from io.Closer
	no   int
}

func newTarFiles(open func() (io.ReadCloser, error)) (*tarFiles, error) {
	t := &tarFiles{open: open, entries: map[string]*tarEntry{".": {name: "."}}}
	p, err := t.begin()
	if err != nil {
		return nil, err
	}
	defer p.from.Close()
	var names []string
	var found []*tarEntry
	for {
		header, err := p.nextFile()
		if errors.Is(err, io.EOF) {
			break
		}
		if len(found) == maxFiles {
			err = fmt.Errorf("it holds more than %d files: %w", maxFiles, reverie.ErrInvalid)
		}
		if err != nil && len(found) == 0 {
			return nil, packedError{fmt.Errorf("read the tar archive: %w", err)}
		}
		if err != nil { // the files before that are there
			t.broken = fmt.Errorf("read the tar archive behind its %d files: %w", len(found), err)
			break
		}
		if name := cleanName(header.Name); fs.ValidPath(name) && name != "" {
			names = append(names, name)
			found = append(found, &tarEntry{no: p.no, size: header.Size, time: header.ModTime})
		}
	}
	for i, name := range apart(names) {
		found[i].name = path.Base(name)
		t.add(name, found[i])
	}
	for _, e := range t.entries {
		slices.SortFunc(e.in, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return t, nil
}

// add notes an entry and the folders above it. What a file stands in the way of is left
// out.
func (t *tarFiles) add(name string, e *tarEntry) {
	parent := path.Dir(name)
	if t.entries[parent] == nil {
		t.add(parent, &tarEntry{name: path.Base(parent)})
	}
	if p := t.entries[parent]; p != nil && p.no == 0 {
		t.entries[name] = e
		p.in = append(p.in, fs.FileInfoToDirEntry(e))
	}
}

func (t *tarFiles) begin() (*tarPass, error) {
	r, err := t.open()
	if err != nil {
		return nil, err
	}
	return &tarPass{tar.NewReader(r), r, 0}, nil
}

// nextFile goes on to the next regular file.
func (p *tarPass) nextFile() (*tar.Header, error) {
	for {
		header, err := p.Next()
		if err != nil {
			return nil, err
		}
		if header.Typeflag == tar.TypeReg {
			p.no++
			return header, nil
		}
	}
}

// Open opens a file, or a folder for its name and kind.
func (t *tarFiles) Open(name string) (fs.File, error) {
	e := t.entries[name]
	if e == nil || !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if e.IsDir() {
		return &openTarFile{tarEntry: e}, nil
	}
	t.mu.Lock()
	p := t.pass
	t.pass = nil
	t.mu.Unlock()
	if p != nil && p.no >= e.no {
		_ = p.from.Close() // it was only read
		p = nil
	}
	if p == nil {
		var err error
		if p, err = t.begin(); err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
	for p.no < e.no {
		if _, err := p.nextFile(); err != nil {
			return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: err}, p.from.Close())
		}
	}
	return &openTarFile{tarEntry: e, pass: p, files: t}, nil
}

// ReadDir lists a folder, by name.
func (t *tarFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	e := t.entries[name]
	if e == nil || !e.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Clone(e.in), nil
}

// Close ends the pass that nobody is reading.
func (t *tarFiles) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pass == nil {
		return nil
	}
	err := t.pass.from.Close()
	t.pass = nil
	return err
}

// openTarFile is an open file of an archive.
type openTarFile struct {
	*tarEntry
	pass  *tarPass // nil for a folder
	files *tarFiles
	told  int // how many of a folder's entries have been listed
}

// ReadDir lists the next n entries of a folder, or all that are left.
func (f *openTarFile) ReadDir(n int) ([]fs.DirEntry, error) {
	left := f.in[f.told:]
	switch {
	case !f.IsDir():
		return nil, &fs.PathError{Op: "readdir", Path: f.name, Err: fs.ErrInvalid}
	case n > 0 && len(left) == 0:
		return nil, io.EOF
	case n > 0:
		left = left[:min(n, len(left))]
	}
	f.told += len(left)
	return slices.Clone(left), nil
}

func (f *openTarFile) Stat() (fs.FileInfo, error) { return f.tarEntry, nil }

func (f *openTarFile) Read(p []byte) (int, error) {
	if f.pass == nil {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: fs.ErrInvalid}
	}
	return f.pass.Read(p)
}

// Close leaves the pass to whoever opens the next file.
func (f *openTarFile) Close() error {
	if f.pass == nil {
		return nil
	}
	p := f.pass
	f.pass = nil
	f.files.mu.Lock()
	defer f.files.mu.Unlock()
	if f.files.pass != nil {
		return p.from.Close()
	}
	f.files.pass = p
	return nil
}

// These describe an entry as an fs.FileInfo.

func (e *tarEntry) Name() string { return e.name }

func (e *tarEntry) Size() int64        { return e.size }
func (e *tarEntry) ModTime() time.Time { return e.time }
func (e *tarEntry) IsDir() bool        { return e.no == 0 }
func (e *tarEntry) Sys() any           { return nil }

// Mode tells files from folders.
func (e *tarEntry) Mode() fs.FileMode {
	if e.IsDir() {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
