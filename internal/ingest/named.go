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

// namedIn returns the files whose names, without folders, occur in the text of others: unchanged, escaped in JSON,
// or as an address. Parts of longer names, and names without extension, do not count.
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

// wholeName reports whether a name begins after before, instead of continuing a longer one.
func wholeName(before []byte) bool {
	last, _ := utf8.DecodeLastRune(before)
	return !unicode.IsLetter(last) && !unicode.IsDigit(last) && !strings.ContainsRune("_-.)", last)
}

// inPieces passes on a file in pieces. Each piece repeats the last bytes of the previous one.
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
