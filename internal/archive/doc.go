// Package archive is the form in which memories travel between databases: JSON
// Lines, written and read as a stream.
//
// The first line is a [Header]. Then, group by group in the order of their ids,
// come records of the types in [reverie.RecordTypes] and in that order, each with
// the columns of its row by name:
//
//	{"type":"memory","row":{"memory_id":"…","statement":"…",…},"vector":"…"}
//
// A vector is its float32 values, little-endian, in base64. The last line counts
// the records of each type and has the SHA-256 of all bytes before it, so that a
// file which was cut off, changed or damaged is known as such before anything is
// made of it.
package archive

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"reverie/internal/reverie"
)

const (
	// Format is the name of the form.
	Format = "reverie-memories"
	// Version is the newest version of the form, and the one that is written.
	// Those before it are read, too: version 1 had no sources, and did not say what jobs
	// had taken in.
	Version = 2
)

// The types of the first and the last line.
const (
	typeHeader = "header"
	typeEnd    = "end"
)

// maxLine bounds one line, in bytes.
const maxLine = 64 << 20

// Header is the first line: what the file is and holds.
type Header struct {
	Type      string    `json:"type"` // header
	Format    string    `json:"format"`
	Version   int       `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	Groups    int       `json:"groups"`
	Vectors   bool      `json:"vectors"` // versions come with those that they have
}

// Summary says what a file holds.
type Summary struct {
	Records map[reverie.RecordType]int `json:"records"`
	SHA256  string                     `json:"sha256"` // of all lines but the last
}

// end is the last line.
type end struct {
	Type string `json:"type"` // end
	Summary
}

// line is every other line.
type line struct {
	Type   reverie.RecordType `json:"type"`
	Row    json.RawMessage    `json:"row"`
	Vector string             `json:"vector,omitempty"`
}

// anyLine is a line of either kind, to be read at once.
type anyLine struct {
	line
	Summary
}

// encodeVector is v as text, "" for none.
func encodeVector(v []float32) string {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// decodeVector reads what encodeVector wrote.
func decodeVector(text string) ([]float32, error) {
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(b)%4 != 0 {
		return nil, fmt.Errorf("its vector is not base64 of float32 values: %w", reverie.ErrInvalid)
	}
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v, nil
}
