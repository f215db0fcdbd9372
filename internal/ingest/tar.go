package ingest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"reverie/internal/reverie"
)

const (
	maxFiles  = 1 << 20   // maximum number of files of a tar archive, of any kind
	maxPacked = 256 << 20 // maximum bytes held of it, compressed
)

var errHoldsTooMuch = fmt.Errorf("it is too large; unpack it first: %w", reverie.ErrInvalid)

// held is the compressed archive in memory, with its limit.
type held struct {
	bytes.Buffer
	most int
}

// from returns a reader that fails when the limit is reached.
func (h *held) from(r io.Reader) io.Reader { return &holding{r, h} }

type holding struct {
	io.Reader
	held *held
}

func (h *holding) Read(p []byte) (int, error) {
	if h.held.Len() > h.held.most {
		return 0, errHoldsTooMuch
	}
	return h.Reader.Read(p)
}

// tar sets the files of a tar archive that may be exports as the source's. A tar can be read only in order, and
// exports need another order: so it is held as a zip archive.
func (in *Input) tar(r io.Reader) error {
	packed := &held{most: maxPacked}
	z := zip.NewWriter(packed)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestSpeed)
	})
	files, err := repack(z, tar.NewReader(r), packed)
	if err != nil && files == 0 {
		return fmt.Errorf("%s: read the tar archive: %w", in.Name, err)
	}
	if err != nil { // the earlier files are available
		in.broken = fmt.Errorf("%s: read the tar archive behind its %d files: %w", in.Name, files, err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("%s: hold the tar archive: %w", in.Name, err)
	}
	return in.zip(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
}

// repack copies the files of a tar archive into a zip archive, and counts those that may be exports. It stops where
// an archive is truncated.
func repack(z *zip.Writer, from *tar.Reader, packed *held) (files int, err error) {
	for n := 0; ; n++ {
		header, err := from.Next()
		switch {
		case errors.Is(err, io.EOF):
			return files, nil
		case err != nil:
			return files, err
		case n == maxFiles:
			return files, errHoldsTooMuch
		}
		name := cleanName(header.Name)
		if header.Typeflag != tar.TypeReg || !fs.ValidPath(name) {
			continue
		}
		w, err := z.Create(name)
		if err == nil && mayBeExport(name) { // of other files only the name is needed
			files++
			_, err = io.Copy(w, io.LimitReader(packed.from(from), maxEntry+1))
		}
		if err != nil {
			return files, err
		}
	}
}
