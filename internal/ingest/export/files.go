package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// EachPart hands over the values of a file of an export that says what others mean by
// their ids. A file that is not there has none; one that is broken is an error.
func EachPart(files fs.FS, name string, take func(Part), patterns ...string) error {
	f, err := files.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer f.Close()
	for part, err := range JSONParts(f, patterns...) {
		var bad *Bad
		switch {
		case errors.As(err, &bad): // too long to be one
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		default:
			take(part)
		}
	}
	return nil
}

// InArchiveOrder sorts the names of files into the order that they can be read in without
// beginning anew each time: that of a tar archive, and else by name.
func InArchiveOrder(files fs.FS, names []string) {
	slices.Sort(names)
	if in, ok := files.(ordered); ok {
		slices.SortStableFunc(names, func(a, b string) int { return in.Order(a) - in.Order(b) })
	}
}

// FileNames lists the files of a folder or archive by name, without what systems leave
// there for themselves.
func FileNames(files fs.FS) ([]string, error) {
	var all []string
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return fmt.Errorf("list the files: %w", err)
		case d.IsDir() && base == "__MACOSX":
			return fs.SkipDir
		case !d.Type().IsRegular() || strings.HasPrefix(base, "._") || base == ".DS_Store" ||
			strings.EqualFold(base, "Thumbs.db") || strings.EqualFold(base, "desktop.ini"):
			return nil
		}
		all = append(all, name)
		return nil
	})
	return all, err
}

// HeadOf returns what a file of a folder or archive begins with, at most HeadSize bytes,
// and nothing where it cannot be read.
func HeadOf(files fs.FS, name string) []byte {
	look := files.Open
	if p, ok := files.(peeker); ok {
		look = p.Peek
	}
	f, err := look(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, HeadSize)
	n, _ := io.ReadFull(f, head)
	return head[:n]
}

// KnownFiles lists the files of a folder or archive whose name ends in one of these ways
// and whose beginning is known.
func KnownFiles(files fs.FS, endings []string, known func(head []byte) bool) (list []string) {
	all, _ := FileNames(files) // what cannot be listed is not there
	InArchiveOrder(files, all)
	for _, name := range all {
		ends := func(ending string) bool { return strings.HasSuffix(strings.ToLower(name), ending) }
		if slices.ContainsFunc(endings, ends) && known(HeadOf(files, name)) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// peeker is a folder or archive that notes which of its files are read: Peek opens one of
// which only a look is taken.
type peeker interface {
	Peek(name string) (fs.File, error)
}

// ordered is an archive that is read from front to back: Order is where a file stands in it.
type ordered interface {
	Order(name string) int
}
