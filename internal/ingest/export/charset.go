package export

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"reverie/internal/reverie"
)

var errCharset = fmt.Errorf("its text is not UTF-8, and the encoding is unknown; convert it first, such as with iconv "+
	"-f BIG5 -t UTF-8: %w", reverie.ErrInvalid)

// Decode returns a text as UTF-8 without a byte order mark, and its beginning. It detects the encoding by the
// beginning. Single bytes that are not UTF-8 stay unchanged.
func Decode(r io.Reader) (io.Reader, []byte, error) {
	in := bufio.NewReaderSize(r, HeadSize)
	head, _ := in.Peek(HeadSize) // an error will occur again when it is read
	from, err := charset(head)
	switch {
	case err != nil:
		return nil, nil, err
	case from != nil:
		in = bufio.NewReaderSize(transform.NewReader(in, from.NewDecoder()), HeadSize)
	case bytes.HasPrefix(head, byteOrderMark):
		_, _ = in.Discard(3)
	}
	head, _ = in.Peek(HeadSize)
	return in, bytes.Clone(head), nil
}

// charset detects the encoding of a text by its beginning; nil is UTF-8.
func charset(head []byte) (encoding.Encoding, error) {
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), nil
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM), nil
	case bytes.HasPrefix(head, byteOrderMark), bytes.IndexByte(head, 0) >= 0: // binary
		return nil, nil
	case !mostlyForeign(head):
		return nil, nil
	case eastAsian(head) != nil:
		return eastAsian(head), nil
	case latin(head):
		return charmap.Windows1252, nil
	}
	if start := bytes.TrimLeft(head, " \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		return nil, nil // JSON is UTF-8 by its standard
	}
	return nil, errCharset
}

// mostlyForeign reports whether more than half of the non-ASCII pieces of a text are not UTF-8, so that it is not a
// few bad bytes.
func mostlyForeign(head []byte) bool {
	for back := 1; back < utf8.UTFMax && back <= len(head); back++ { // the head may end inside a character
		if end := head[len(head)-back:]; utf8.RuneStart(end[0]) && !utf8.FullRune(end) {
			head = head[:len(head)-back]
			break
		}
	}
	good, bad := 0, 0
	for piece := range bytes.FieldsFuncSeq(head, func(c rune) bool { return c == '\n' || c == '"' }) {
		if high(piece) == 0 {
			continue
		}
		if utf8.Valid(piece) {
			good++
		} else {
			bad++
		}
	}
	return bad > good
}

func high(text []byte) int {
	n := 0
	for _, c := range text {
		if c >= utf8.RuneSelf {
			n++
		}
	}
	return n
}

// eastAsian returns GB18030 if the non-ASCII bytes are its pairs, mostly everyday characters of GB 2312. It returns
// EUC-KR if all of them are Korean syllables: of Chinese pairs, every second one is above those. nil is neither.
func eastAsian(head []byte) encoding.Encoding {
	pairs, everyday, above := 0, 0, 0
	for i := 0; i < len(head); i++ {
		if head[i] < utf8.RuneSelf {
			continue
		}
		if i+1 == len(head) {
			break
		}
		first, second := head[i], head[i+1]
		switch {
		case first == 0x80 || first == 0xff || second < 0x30 || second == 0x7f || second == 0xff:
			return nil
		case second <= 0x39: // the first half of a four-byte character
			i += 3
			continue
		case first >= 0xb0 && first <= 0xd7 && second >= 0xa1, first <= 0xa3 && first >= 0xa1: // or punctuation
			everyday++
		}
		if first > 0xc8 {
			above++
		}
		pairs++
		i++
	}
	switch {
	case pairs == 0 || everyday*10 < pairs*8:
		return nil
	case pairs >= 16 && above == 0:
		return korean.EUCKR
	}
	return simplifiedchinese.GB18030
}

// UTF8Line returns a line as UTF-8. A single line in another encoding comes from an author whose program used it.
// The encoding cannot always be detected.
func UTF8Line(raw []byte) string {
	if utf8.Valid(raw) {
		return string(raw)
	}
	whole := append(bytes.Clone(raw), '\n') // so that its last character is complete
	if from, err := charset(whole); err == nil && from != nil {
		if text, err := from.NewDecoder().Bytes(raw); err == nil {
			raw = text
		}
	}
	return strings.ToValidUTF8(string(raw), "\ufffd")
}

// latin reports whether the non-ASCII bytes are few, and are letters and punctuation of Western Europe.
func latin(head []byte) bool {
	all, letters := high(head), 0
	for _, c := range head {
		if c >= 0xc0 && c != 0xd7 && c != 0xf7 || c >= 0x91 && c <= 0x97 || c == 0x85 || c == 0x80 || c == 0xa0 ||
			c == 0xab || c == 0xbb || c == 0xa1 || c == 0xbf || c == 0xb0 {
			letters++
		}
	}
	return all*4 <= len(head) && letters*10 >= all*9
}

// ReadableName returns the name of a file in an archive as UTF-8.
func ReadableName(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	from := eastAsian([]byte(name))
	if from == nil {
		from = charmap.Windows1252
	}
	text, err := from.NewDecoder().String(name)
	if err != nil {
		return string(bytes.ToValidUTF8([]byte(name), []byte("_")))
	}
	return text
}
