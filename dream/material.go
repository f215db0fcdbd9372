package dream

import (
	"reverie/internal/reverie"
	"reverie/prompts"
)

// source is a memory that a model may name as what an item rests on.
type source struct {
	handle  string // s1..sN a session by its summary, f1..fN its facts, m1..mN memories of the group
	head    *reverie.HeadState
	fresh   bool // new to dreams, and not only shown beside
	summary bool // of a session
	fact    bool // of a session
}

// names are what the handles of one question stand for, and nothing else: d1..dN are
// items of earlier dreams; the others are sources, of c1..cN, the items of a part,
// several.
type names struct {
	sources map[string][]*source
	items   map[string]*reverie.HeadState
	parts   map[string]item // c1..cN; nil where the question is about material
}

// batch is the part of the material that one question is about.
type batch struct {
	sessions []prompts.DreamSessionView
	memories []prompts.DreamMemoryView // new ones
}

// handles are those of a batch, each of one version, in order.
func (b batch) handles() (list []string) {
	for _, v := range b.sessions {
		if v.ID != "" {
			list = append(list, v.ID)
		}
		for _, f := range v.Facts {
			list = append(list, f.ID)
		}
	}
	for _, v := range b.memories {
		list = append(list, v.ID)
	}
	return list
}

// proposal is one line of an answer that has the form of an item; nothing in it has
// been checked yet.
type proposal struct {
	line       int
	sort       reverie.DreamType
	content    string
	sources    []string // handles, as they were written
	confidence float64
	tags       []string
	replace    string // handle of an item; "" for a new one
	done       bool   // it closes the todo that it replaces
	keep       bool   // it only bears out the item that it replaces: content is of no matter
}

// narrative is the summary line of an answer.
type narrative struct {
	line    int
	content string
	sources []string
}

// answer is what the model said, read.
type answer struct {
	narrative *narrative // nil: it gave none
	proposals []proposal
	refused   []reverie.Refusal
}

// item is a proposal that has stood the checks.
type item struct {
	proposal
	target *reverie.HeadState // that it replaces; nil for a new one
	rests  []*source          // each once, in the order given
	hash   string             // of the content
}

// part is what one question came to.
type part struct {
	narrative string    // checked; "" where the answer had none that can be kept
	rests     []*source // of the narrative
	items     []item
	asOf      string // local date of the newest material that it is about
}
