package text

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// Pattern is a regular expression that is compiled at its first use. All package-level expressions are patterns:
// compiling them took a tenth of a second of every start. The methods are those of [regexp.Regexp]. They panic if
// the expression is invalid; a test calls [CompileAll] to find that.
type Pattern struct {
	expr     string
	compiled func() *regexp.Regexp
}

var all struct {
	sync.Mutex
	made []*Pattern
}

// NewPattern registers an expression for the lifetime of the process.
func NewPattern(expr string) *Pattern {
	r := &Pattern{expr: expr, compiled: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
	all.Lock()
	defer all.Unlock()
	all.made = append(all.made, r)
	return r
}

// UnmarshalText reads an expression from a file. Line breaks in it only serve reading and are removed.
func (r *Pattern) UnmarshalText(expr []byte) error {
	*r = *NewPattern(strings.ReplaceAll(string(expr), "\n", ""))
	return nil
}

// WordSet is a set of words, written in a file as one text with white space between the words.
type WordSet map[string]bool

// UnmarshalText splits the text into words.
func (w *WordSet) UnmarshalText(list []byte) error {
	*w = WordSet{}
	for word := range strings.FieldsSeq(string(list)) {
		(*w)[word] = true
	}
	return nil
}

// ReadTOML parses an embedded file and refuses unknown keys. It panics on an error, which is a mistake in the
// program.
func ReadTOML[T any](file string) (data T) {
	if err := toml.NewDecoder(strings.NewReader(file)).DisallowUnknownFields().Decode(&data); err != nil {
		panic(fmt.Sprintf("a file of %T cannot be read: %v", data, err))
	}
	return data
}

// CompileAll compiles all patterns of the linked packages and returns their number. It panics if one is invalid.
func CompileAll() int {
	all.Lock()
	defer all.Unlock()
	for _, r := range all.made {
		r.compiled()
	}
	return len(all.made)
}

func (r *Pattern) String() string                       { return r.expr }
func (r *Pattern) Match(b []byte) bool                  { return r.compiled().Match(b) }
func (r *Pattern) MatchString(s string) bool            { return r.compiled().MatchString(s) }
func (r *Pattern) FindString(s string) string           { return r.compiled().FindString(s) }
func (r *Pattern) FindStringIndex(s string) []int       { return r.compiled().FindStringIndex(s) }
func (r *Pattern) FindSubmatch(b []byte) [][]byte       { return r.compiled().FindSubmatch(b) }
func (r *Pattern) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }
func (r *Pattern) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}
func (r *Pattern) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }
func (r *Pattern) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}
func (r *Pattern) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.compiled().FindAllSubmatch(b, n)
}
func (r *Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}
func (r *Pattern) ReplaceAllString(s, by string) string { return r.compiled().ReplaceAllString(s, by) }
func (r *Pattern) ReplaceAllStringFunc(s string, by func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, by)
}
func (r *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}
func (r *Pattern) SubexpIndex(name string) int { return r.compiled().SubexpIndex(name) }
