package ingest

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// zip makes the files of an archive the source's.
func (in *Input) zip(f fs.File) error {
	at, ok := f.(io.ReaderAt)
	if !ok {
		return packedError{fmt.Errorf("%s: an archive within an archive is not read; unpack the outer one: %w", in.Name,
			reverie.ErrInvalid)}
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	files, err := zip.NewReader(countedAt{in, at}, info.Size())
	if err != nil {
		return packedError{fmt.Errorf("%s: read the archive: %w; it is cut off or broken: get the whole file", in.Name, err)}
	}
	var names []string
	for _, f := range files.File {
		switch {
		case f.Flags&1 != 0:
			return packedError{fmt.Errorf("%s: the archive is protected by a password; unpack it first: %w", in.Name,
				reverie.ErrInvalid)}
		case !strings.HasSuffix(f.Name, "/"):
			names = append(names, cleanName(f.Name))
		}
	}
	names = apart(names)
	for _, f := range files.File { // or files with such names could not be opened
		if strings.HasSuffix(f.Name, "/") {
			f.Name = cleanName(f.Name) + "/"
		} else {
			f.Name, names = names[0], names[1:]
		}
	}
	in.Files = textFiles{in, files, false, &fileLog{}}
	return nil
}

// packedError says why a file is not unpacked.
type packedError struct{ error }

func (e packedError) Unwrap() error { return e.error }

// maxFiles is how many files of an archive are known at most.
const maxFiles = 1 << 20

// apart gives each file of an archive a name that no other file or folder there has: an
// archive may hold several of one name, and they are not the same. Names are as they are
// cleaned for opening; the second gets a number.
func apart(names []string) []string {
	taken := map[string]bool{}
	for _, name := range names {
		for dir := path.Dir(name); dir != "." && !taken[dir]; dir = path.Dir(dir) {
			taken[dir] = true
		}
	}
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = name
		for n := 2; taken[out[i]]; n++ {
			ending := path.Ext(name)
			out[i] = fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(name, ending), n, ending)
		}
		taken[out[i]] = true
	}
	return out
}

// cleanName is the path of a file of an archive within it: one that leads out of it ends at
// its top.
func cleanName(name string) string {
	name = path.Clean("/" + strings.ReplaceAll(export.ReadableName(name), `\`, "/"))
	return strings.TrimPrefix(name, "/")
}
