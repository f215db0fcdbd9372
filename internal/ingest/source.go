package ingest

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"reverie/internal/ingest/export"
	"reverie/internal/reverie"
)

// maxEntry is the maximum number of bytes read from one file of an archive.
const maxEntry = 4 << 30

var errLargeEntry = fmt.Errorf("the archive holds more than %d GiB in one file: %w", maxEntry>>30, reverie.ErrInvalid)

// Input is an open [Source].
type Input struct {
	Source
	read   *atomic.Int64
	ctx    context.Context
	closes []io.Closer
	broken error // why the list of an archive's files is incomplete
}

// BytesRead returns how much of Size has been read. Data that is read twice counts twice.
func (in *Input) BytesRead() int64 { return in.read.Load() }

// Close closes the source, and every file opened in it.
func (in *Input) Close() error {
	var err error
	for _, c := range in.closes {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Open opens a file, an archive (zip, tar, tar.gz), a folder, or stdin if the name is "-". It decompresses gz files
// while reading, and converts text in UTF-16, GB18030 or Latin-1 to UTF-8. It writes nothing to disk. Reading fails
// when the context ends.
func Open(ctx context.Context, name string, stdin io.Reader) (*Input, error) {
	in := &Input{ctx: ctx, read: new(atomic.Int64), Source: Source{Name: name}}
	if name == "-" {
		return in, in.stream(stdin)
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read %s: %w", name, errors.Unwrap(err))
	case info.IsDir():
		root, err := os.OpenRoot(name)
		if err != nil {
			return nil, fmt.Errorf("read the export: %w", err)
		}
		in.closes = append(in.closes, root)
		in.folder(filesOnly{root.FS()})
		return in, nil
	}
	in.Size = info.Size()
	f, err := os.Open(name)
	if err == nil {
		err = in.file(f)
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// Entry opens a file of the source's folder or archive as a separate source. In a folder the file may be an
// archive.
func (in *Input) Entry(name string) (*Input, error) {
	entry := &Input{ctx: in.ctx, read: in.read, Source: Source{Name: path.Join(filepath.ToSlash(in.Name), name)}}
	files := in.Files.(textFiles)
	if info, err := fs.Stat(files.raw, name); err == nil {
		entry.Size = info.Size()
	}
	f, err := files.raw.Open(name)
	if err == nil {
		err = entry.file(f)
	}
	if err != nil {
		return nil, errors.Join(err, entry.Close())
	}
	return entry, nil
}

// stream opens a source that can be read only once, from the beginning.
func (in *Input) stream(r io.Reader) error {
	plain, kind, err := unpack(in.counted(r))
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	if kind != plainFile {
		return fmt.Errorf("%s: an archive cannot be read from a stream; save it, and name the file: %w", in.Name,
			reverie.ErrInvalid)
	}
	in.Reader, in.Head, err = export.Decode(plain)
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	return nil
}

// file opens a file as a single source, or as a folder if it is an archive.
func (in *Input) file(f fs.File) error {
	in.closes = append(in.closes, f)
	before := in.read.Load()
	plain, kind, err := unpack(in.counted(f))
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	switch kind {
	case zipFile:
		at, ok := f.(io.ReaderAt)
		if !ok {
			return fmt.Errorf("%s: Reverie does not read an archive within an archive; unpack the outer one: %w", in.Name,
				reverie.ErrInvalid)
		}
		info, err := f.Stat()
		if err != nil {
			return fmt.Errorf("%s: %w", in.Name, err)
		}
		return in.zip(at, info.Size())
	case tarFile:
		err := in.tar(plain)
		in.read.Store(before) // its files have not been read yet
		return err
	}
	if in.Reader, in.Head, err = export.Decode(plain); err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	return nil
}

// folder sets the source's files.
func (in *Input) folder(files fs.FS) {
	in.Files = textFiles{in, files, &fileLog{done: map[string]bool{}}}
	in.Size = sizeOf(in.Files)
}

// fileLog records, if enabled, which files were read (opened); listings omit those in done.
type fileLog struct{ opened, done map[string]bool }

// textFiles are the files of a folder or archive, converted to UTF-8. A file larger than maxEntry is an error.
type textFiles struct {
	in  *Input
	raw fs.FS
	log *fileLog
}

// Open opens a file or a folder.
func (t textFiles) Open(name string) (fs.File, error) {
	if t.log.opened != nil {
		t.log.opened[name] = true
	}
	return t.Peek(name)
}

// Peek opens a file or folder without recording it as read.
func (t textFiles) Peek(name string) (fs.File, error) {
	if err := t.in.ctx.Err(); err != nil { // many files are examined before any is read
		return nil, err
	}
	f, err := t.raw.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return f, err
	}
	r, _, err := export.Decode(&limited{r: t.in.counted(f), left: maxEntry})
	if err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: err}, f.Close())
	}
	return textFile{f, r}, nil
}

// filesOnly opens only files and folders. Opening a pipe or a device may block for ever.
type filesOnly struct{ fs.FS }

func (f filesOnly) Open(name string) (fs.File, error) {
	if info, err := f.Stat(name); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("neither a file nor a folder: %w", reverie.ErrInvalid)}
	}
	return f.FS.Open(name)
}

func (f filesOnly) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.FS, name) }

// ReadDir lists a folder by name, without the files already imported.
func (t textFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(t.raw, name)
	return slices.DeleteFunc(all, func(d fs.DirEntry) bool { return t.log.done[path.Join(name, d.Name())] }), err
}

// Stat describes a file before its text is converted.
func (t textFiles) Stat(name string) (fs.FileInfo, error) { return fs.Stat(t.raw, name) }

type textFile struct {
	fs.File
	text io.Reader
}

func (f textFile) Read(p []byte) (int, error) { return f.text.Read(p) }

// sizeOf returns the total size of the files, in bytes, as far as it is known.
func sizeOf(files fs.FS) int64 {
	var sum int64
	_ = fs.WalkDir(files, ".", func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}

type fileKind int

const (
	plainFile fileKind = iota
	zipFile
	tarFile
)

// unpack removes the outermost compression and returns the kind of the content.
func unpack(r io.Reader) (io.Reader, fileKind, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	head, _ := in.Peek(512) // an error will occur again when it is read
	if bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return nil, 0, fmt.Errorf("read the gz file: %w", err)
		}
		in = bufio.NewReaderSize(unzipped, 1<<16)
		head, _ = in.Peek(512)
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return in, zipFile, nil
	case len(head) == 512 && bytes.HasPrefix(head[257:], []byte("ustar")):
		return in, tarFile, nil
	}
	for name, magic := range map[string]string{"7z": "7z\xbc\xaf", "rar": "Rar!\x1a", "bzip2": "BZh",
		"xz": "\xfd7zXZ\x00", "zstd": "\x28\xb5\x2f\xfd"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return nil, 0, fmt.Errorf("it is compressed with %s, which Reverie cannot read; unpack it first: %w", name,
				reverie.ErrInvalid)
		}
	}
	return in, plainFile, nil
}

// counted counts the bytes read, and fails when the context ends.
func (in *Input) counted(r io.Reader) io.Reader { return countedReader{in, r} }

type countedReader struct {
	in *Input
	r  io.Reader
}

func (c countedReader) Read(p []byte) (int, error) {
	if err := c.in.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.in.read.Add(int64(n))
	return n, err
}

// limited fails when too much is read, instead of ending.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errLargeEntry
	}
	return n, err
}

// zip sets the files of an archive as the source's.
func (in *Input) zip(at io.ReaderAt, size int64) error {
	files, err := zip.NewReader(at, size)
	if err != nil {
		return fmt.Errorf("%s: read the archive: %w; it is cut off or broken: get the whole file", in.Name, err)
	}
	var names []string
	packed := uint64(0)
	for _, f := range files.File {
		packed += min(f.CompressedSize64, uint64(size)+1)
		switch {
		case packed > uint64(size): // each of many files may be the same bytes, and expand to gigabytes
			return fmt.Errorf("%s: the files of the archive overlap, so it is broken or forged; get the export again: %w", in.Name,
				reverie.ErrInvalid)
		case f.Flags&1 != 0:
			return fmt.Errorf("%s: the archive is protected by a password; unpack it first: %w", in.Name,
				reverie.ErrInvalid)
		case !strings.HasSuffix(f.Name, "/"):
			names = append(names, cleanName(f.Name))
		}
	}
	names = apart(names)
	for _, f := range files.File { // files with such names could not be opened otherwise
		if strings.HasSuffix(f.Name, "/") {
			f.Name = cleanName(f.Name) + "/"
		} else {
			f.Name, names = names[0], names[1:]
		}
	}
	in.folder(files)
	return nil
}

// apart gives each file of an archive a unique name: an archive may contain several different files with one name.
// Names are cleaned for opening; repeated ones get a number.
func apart(names []string) []string {
	taken := map[string]bool{}
	for _, name := range names {
		for dir := path.Dir(name); dir != "." && !taken[dir]; dir = path.Dir(dir) {
			taken[dir] = true
		}
	}
	out, last := make([]string, len(names)), map[string]int{} // the last number of each name
	for i, name := range names {
		out[i] = name
		for n := max(2, last[name]+1); taken[out[i]]; n++ {
			ending := path.Ext(name)
			out[i], last[name] = fmt.Sprintf("%s (%d)%s", strings.TrimSuffix(name, ending), n, ending), n
		}
		taken[out[i]] = true
	}
	return out
}

// cleanName returns the path of a file in an archive; a path that leads out of it ends at its top.
func cleanName(name string) string {
	name = path.Clean("/" + strings.ReplaceAll(export.ReadableName(name), `\`, "/"))
	return strings.TrimPrefix(name, "/")
}

// Auto is the format name for detection by content.
const Auto = "auto"

// Input imports an opened source in the named format or [Auto]. A folder or archive may contain several exports.
// Then each file that is one is imported, and the others are returned as skipped. A failed file does not stop the
// rest, unless Strict is set or the context has ended.
func (im *Importer) Input(ctx context.Context, in *Input, format string,
	opts ReadOptions) (formats, passedOver []string, err error) {
	formats, passedOver, err = im.input(ctx, in, format, opts)
	if ctx.Err() != nil && (err == nil || errors.Is(err, ErrUnknown)) { // files look empty when the context ends
		err = fmt.Errorf("%s: %w", in.Name, ctx.Err())
	}
	return formats, passedOver, err
}

func (im *Importer) input(ctx context.Context, in *Input, format string,
	opts ReadOptions) (formats, passedOver []string, err error) {
	f, err := formatOf(in, format)
	switch {
	case err == nil && in.Files == nil:
		return []string{f.Name}, nil, im.Read(ctx, in.Source, f, opts)
	case err == nil:
		formats, passedOver, err = im.whole(ctx, in, f, format, opts)
		return formats, passedOver, errors.Join(err, in.broken)
	case in.Files == nil || !errors.Is(err, ErrUnknown):
		return nil, nil, err
	}
	names, listErr := export.FileNames(in.Files)
	if listErr != nil {
		return nil, nil, fmt.Errorf("%s: %w", in.Name, listErr)
	}
	formats, passedOver, failed := im.entries(ctx, in, names, format, opts)
	if failed = errors.Join(failed, in.broken); len(formats) == 0 && failed == nil {
		return nil, passedOver, err
	}
	return formats, passedOver, failed
}

// whole imports a folder or archive that is an export as a whole. Then it imports other exports in it: as wholes
// too, otherwise file by file. It skips files that an earlier export names, since they were sent in its chat.
func (im *Importer) whole(ctx context.Context, in *Input, f Format, format string,
	opts ReadOptions) (formats, passedOver []string, failed error) {
	files := in.Files.(textFiles)
	var others []string
	for known := error(nil); known == nil && !slices.Contains(formats, f.Name); f, known = Detect(in.Source) {
		files.log.opened = map[string]bool{}
		err := im.Read(ctx, in.Source, f, opts)
		own := slices.Sorted(maps.Keys(files.log.opened))
		files.log.opened = nil
		formats, failed = append(formats, f.Name), errors.Join(failed, err)
		if ctx.Err() != nil || err != nil && im.opts.Strict || format != Auto && format != "" {
			return formats, passedOver, failed
		}
		folders := map[string]bool{}
		for _, name := range own {
			folders[path.Dir(name)], files.log.done[name] = true, true
		}
		names, listErr := export.FileNames(in.Files)
		if listErr != nil {
			return formats, passedOver, errors.Join(failed, listErr)
		}
		var beside []string
		others = nil
		for _, name := range names {
			switch {
			case !mayBeExport(name):
			case !within(folders, name):
				others = append(others, name)
			case err != nil: // it may be part of an export that failed
				files.log.done[name] = true
			default:
				beside = append(beside, name)
			}
		}
		sent := namedIn(files, own, beside)
		for _, name := range beside {
			if !sent[path.Base(name)] {
				others = append(others, name)
				continue
			}
			files.log.done[name] = true
			if _, err := Detect(Source{Name: name, Head: export.HeadOf(in.Files, name)}); err == nil {
				passedOver = append(passedOver, name)
			}
		}
	}
	more, passed, err := im.entries(ctx, in, others, format, opts)
	return append(formats, more...), append(passedOver, passed...), errors.Join(failed, err)
}

// within reports whether a file is in one of these folders, at any depth.
func within(folders map[string]bool, name string) bool {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if folders[dir] {
			return true
		}
		if dir == "." {
			return false
		}
	}
}

// mayBeExport reports by its name whether a file may be an export, not a picture.
func mayBeExport(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case "", ".json", ".jsonl", ".ndjson", ".txt", ".log", ".weechatlog", ".irclog", ".zip", ".gz", ".tgz", ".tar":
		return true
	}
	return false
}

// entries imports files of a folder or archive.
func (im *Importer) entries(ctx context.Context, in *Input, names []string, format string,
	opts ReadOptions) (formats, passedOver []string, failed error) {
	for _, name := range names {
		found, within, err := im.entry(ctx, in, name, format, opts)
		formats, passedOver = append(formats, found...), append(passedOver, within...)
		if errors.Is(err, ErrUnknown) && len(found) == 0 && ctx.Err() == nil {
			passedOver, err = append(passedOver, name), nil
		}
		failed = errors.Join(failed, err)
		if err != nil && (im.opts.Strict || ctx.Err() != nil) {
			break
		}
	}
	return formats, passedOver, failed
}

// entry imports a file of a folder or archive.
func (im *Importer) entry(ctx context.Context, in *Input, name, format string,
	opts ReadOptions) (formats, passedOver []string, err error) {
	file, err := in.Entry(name)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case !mayBeExport(name):
		return nil, nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	default:
		return nil, nil, im.Skip(&Bad{Place: name, Reason: "not readable", Err: err})
	}
	defer func() { _ = file.Close() }() // it was only read
	if file.Files == nil && len(file.Head) == 0 {
		if _, err := file.Reader.Read(make([]byte, 1)); err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
			return nil, nil, im.Skip(&Bad{Place: name, Reason: "broken file", Err: err})
		}
		return nil, nil, fmt.Errorf("%s is empty: %w", file.Name, ErrUnknown)
	}
	if f, err := Named(format); err == nil && file.Files == nil && f.Knows(file.Source) == 0 {
		return nil, nil, fmt.Errorf("%s: %w", file.Name, ErrUnknown) // it was only named because of the files in it
	}
	return im.Input(ctx, file, format, opts)
}

// formatOf returns the format of a source. A single file may be given a format that its content does not confirm.
func formatOf(in *Input, name string) (Format, error) {
	if name == Auto || name == "" {
		return Detect(in.Source)
	}
	f, err := Named(name)
	if err == nil && in.Files != nil && f.Knows(in.Source) == 0 {
		return Format{}, fmt.Errorf("%s: nothing in it is in format %s: %w", in.Name, name, ErrUnknown)
	}
	return f, err
}

// Chats returns the chats of an opened source, in order of appearance, and stops at more than most. It reads the
// whole source, so the caller must open it again for an import.
func Chats(ctx context.Context, in *Input, format string, opts ReadOptions, most int) ([]Chat, error) {
	var list []Chat
	enough := fmt.Errorf("there are more than %d chats: %w", most, reverie.ErrInvalid)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	im := NewImporter(nil, Options{Group: func(_ context.Context, _ string, chat Chat) (string, error) {
		list = append(list, chat)
		if len(list) > most {
			stop()
			return "", enough
		}
		return "any", nil
	}})
	_, _, err := im.Input(ctx, in, format, opts)
	if errors.Is(err, enough) {
		err = nil
	}
	return list, err
}
