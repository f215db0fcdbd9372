// Package lazyregexp has regular expressions that are compiled when they are first used.
// All packages of the binary have theirs so: most starts need few of them, and waited a
// tenth of a second for those of one package that reads chats alone.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is an expression of a package variable. Its methods are those of
// [regexp.Regexp], and panic where the expression is wrong: [CompileAll] is for tests
// that none is.
type Regexp struct {
	expr     string
	compiled func() *regexp.Regexp
}

var all struct {
	sync.Mutex
	made []*Regexp
}

// New keeps an expression for the rest of the process.
func New(expr string) *Regexp {
	r := &Regexp{expr: expr, compiled: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
	all.Lock()
	defer all.Unlock()
	all.made = append(all.made, r)
	return r
}

// CompileAll compiles all that the packages linked in have made, and says how many
// those are. It panics at one that is wrong.
func CompileAll() int {
	all.Lock()
	defer all.Unlock()
	for _, r := range all.made {
		r.compiled()
	}
	return len(all.made)
}

func (r *Regexp) String() string                       { return r.expr }
func (r *Regexp) Match(b []byte) bool                  { return r.compiled().Match(b) }
func (r *Regexp) MatchString(s string) bool            { return r.compiled().MatchString(s) }
func (r *Regexp) FindString(s string) string           { return r.compiled().FindString(s) }
func (r *Regexp) FindStringIndex(s string) []int       { return r.compiled().FindStringIndex(s) }
func (r *Regexp) FindSubmatch(b []byte) [][]byte       { return r.compiled().FindSubmatch(b) }
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }
func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}
func (r *Regexp) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}
func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.compiled().FindAllSubmatch(b, n)
}
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}
func (r *Regexp) ReplaceAllString(s, by string) string { return r.compiled().ReplaceAllString(s, by) }
func (r *Regexp) ReplaceAllLiteralString(s, by string) string {
	return r.compiled().ReplaceAllLiteralString(s, by)
}
func (r *Regexp) ReplaceAllStringFunc(s string, by func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, by)
}
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}
func (r *Regexp) SubexpIndex(name string) int    { return r.compiled().SubexpIndex(name) }
func (r *Regexp) Split(s string, n int) []string { return r.compiled().Split(s, n) }
