// Package answer reads the JSON Lines that a model answers with. It is the one
// reader of answers: whatever asks a model reads through it.
//
// Models decorate and bend JSON. The reader sees through what is harmless
// (fences, bullets, comments, thoughts, arrays, full-width punctuation, missing
// quotes around keys, stray commas) and says what it skipped. It never guesses
// at content: an object that is cut off, that holds a key twice, or whose
// strings could be divided in more than one way is skipped whole, and nothing
// that the answer does not literally say can come out.
//
// # What counts as a line
//
// An object counts where it starts a line, after indentation, a bullet, a number
// or a backtick, or where it directly follows another object or an array's
// punctuation. An object in the middle of a sentence is prose.
//
// # Thoughts
//
// A <think> block (also <thinking>, <thought>, <reasoning>) is dropped where its
// tag starts a line; one that is never closed hides the rest of the answer. Some
// servers swallow the opening tag, so a closing tag on its own means that all
// before it was thinking, drafted objects included. Tags inside an object's
// strings are text.
package answer

import (
	"encoding/json"
	"slices"
	"strings"
)

// The bounds of what is read. What lies beyond is reported as skipped.
const (
	MaxAnswer = 4 << 20  // bytes of an answer
	MaxObject = 64 << 10 // bytes of an object, as written and as returned
	MaxLines  = 10_000   // objects of an answer, and skips of an answer
	MaxDepth  = 32       // objects and arrays inside each other
)

// The reasons of a [Skip].
const (
	ReasonProse     = "prose"            // not JSON, or JSON inside a sentence
	ReasonCutOff    = "cut off"          // the object has no end; it is never completed
	ReasonBroken    = "broken"           // no JSON object, even with goodwill
	ReasonAmbiguous = "ambiguous"        // a key twice, or text that can be read in two ways
	ReasonTooLong   = "too long"         // beyond MaxAnswer or MaxObject
	ReasonTooDeep   = "too deep"         // beyond MaxDepth
	ReasonTooMany   = "too many"         // beyond MaxLines; nothing after it was read
	ReasonTangled   = "too tangled"      // not to be had in linear time
	ReasonThought   = "thought"          // a thought never closed, or what stands before a bare closing tag
	ReasonComment   = "unclosed comment" // hides the rest of the answer
)

// Result is what an answer holds, in the order of the answer.
type Result struct {
	Lines   []Line
	Skipped []Skip
}

// Line is one object of the answer.
type Line struct {
	No       int             // 1-based line of the answer where the object starts
	Object   json.RawMessage // one valid compact JSON object; no key twice, at any level, whatever its case
	Repaired bool            // the answer's own text was not valid JSON
}

// Skip is a part of the answer that was not used.
type Skip struct {
	No      int    // 1-based line of the answer where it starts
	Reason  string // one of the Reason constants
	Excerpt string // its beginning: one line, at most 120 characters, nothing invisible
}

// Read reads an answer. It never fails: what cannot be used is in Skipped. It
// takes time in proportion to the answer's length, whatever the answer. Bytes
// that are not UTF-8 become U+FFFD.
//
// A response that the model did not finish must not be read at all: its last
// object is cut off at best, and what it lacks may change what the rest means.
func Read(answer string) Result {
	src, rest := bound(strings.ToValidUTF8(answer, "\uFFFD"))
	r := newReader(src)
	for r.pos < len(r.src) && !r.stopped {
		r.step()
	}
	if rest != "" && !r.stopped {
		r.skip(len(src), ReasonTooLong, rest)
	}
	slices.SortStableFunc(r.res.Skipped, func(a, b Skip) int { return a.No - b.No })
	return r.res
}

// bound divides an answer into what is read and the rest, between two lines
// where there are lines.
func bound(s string) (src, rest string) {
	if len(s) <= MaxAnswer {
		return s, ""
	}
	end := strings.LastIndexByte(s[:MaxAnswer], '\n') + 1
	return s[:end], s[end:]
}
