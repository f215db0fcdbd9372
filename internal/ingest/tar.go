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
	maxFiles  = 1 << 20 // of a tar archive
	maxPacked = 1 << 30 // how much is held of it, in bytes, packed
)

// tar makes the files of a tar archive that may be exports the source's. It can only be read from front
// to back, and exports are read in an order of their own: so it is held as a zip archive.
func (in *Input) tar(r io.Reader) error {
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestSpeed)
	})
	files, err := repack(z, tar.NewReader(r), &packed)
	if err != nil && files == 0 {
		return fmt.Errorf("%s: read the tar archive: %w", in.Name, err)
	}
	if err != nil { // the files before that are there
		in.broken = fmt.Errorf("%s: read the tar archive behind its %d files: %w", in.Name, files, err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("%s: hold the tar archive: %w", in.Name, err)
	}
	return in.zip(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
}

// repack puts the files of a tar archive into a zip archive, and counts those that may be exports. One that is cut off ends there.
func repack(z *zip.Writer, from *tar.Reader, packed *bytes.Buffer) (files int, err error) {
	for {
		header, err := from.Next()
		switch {
		case errors.Is(err, io.EOF):
			return files, nil
		case err != nil:
			return files, err
		case files == maxFiles || packed.Len() > maxPacked:
			return files, fmt.Errorf("it holds too much; unpack it first: %w", reverie.ErrInvalid)
		}
		name := cleanName(header.Name)
		if header.Typeflag != tar.TypeReg || !fs.ValidPath(name) {
			continue
		}
		w, err := z.Create(name)
		if err == nil && mayBeExport(name) { // of any other its name will do
			files++
			_, err = io.Copy(w, io.LimitReader(from, maxEntry+1))
		}
		if err != nil {
			return files, err
		}
	}
}
