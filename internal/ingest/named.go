package ingest

import (
	"bytes"
	"io/fs"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// namedIn returns the names, without their folders, of those files that the text of others has: as they
// are, escaped in JSON, or as an address. Neither a part of a longer name counts, nor one without an ending.
func namedIn(files textFiles, texts, names []string) map[string]bool {
	spelled, endings, lengths := map[string]string{}, map[string]bool{}, map[int]bool{}
	longest := 0
	for _, name := range names {
		base := path.Base(name)
		for _, s := range []string{base, strings.Trim(strconv.QuoteToASCII(base), `"`), url.PathEscape(base)} {
			spelled[s], lengths[len(s)], longest = base, true, max(longest, len(s))
		}
		endings[path.Ext(base)] = true
	}
	delete(endings, "")
	found := map[string]bool{}
	if len(endings) == 0 {
		return found
	}
	for _, name := range texts {
		inPieces(files, name, longest+utf8.UTFMax, func(text []byte) {
			for ending := range endings {
				for at := 0; ; {
					next := bytes.Index(text[at:], []byte(ending))
					if next < 0 {
						break
					}
					at += next + len(ending)
					for n := range lengths {
						if base, ok := spelled[string(text[max(0, at-n):at])]; ok && wholeName(text[:at-n]) {
							found[base] = true
						}
					}
				}
			}
		})
	}
	return found
}

// wholeName tells whether a name begins behind a text, rather than goes on.
func wholeName(before []byte) bool {
	last, _ := utf8.DecodeLastRune(before)
	return !unicode.IsLetter(last) && !unicode.IsDigit(last) && !strings.ContainsRune("_-.)", last)
}

// inPieces hands over a file in pieces, each of which repeats the end of the one before, of so many bytes.
func inPieces(files textFiles, name string, repeated int, take func([]byte)) {
	f, err := files.Peek(name)
	if info, serr := fs.Stat(files, name); err != nil || serr != nil || info.IsDir() {
		return
	}
	defer f.Close()
	buf, kept := make([]byte, repeated+1<<16), 0
	for err == nil {
		var n int
		n, err = f.Read(buf[kept:])
		take(buf[:kept+n])
		kept = copy(buf, buf[max(0, kept+n-repeated):kept+n])
	}
}
