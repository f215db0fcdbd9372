package store_test

import (
	stdmaps "maps"
	"slices"
	"strconv"
	"strings"
)

// tree is a node of a statement as PostgreSQL's parser prints it: `{LABEL :field value ...}`.
// A value is a text, a node, or a list of values.
type tree struct {
	label  string
	fields map[string][]any
}

// parseTree reads a node.
func parseTree(printed string) *tree {
	p := &treeParser{rest: printed}
	p.next()
	return p.node()
}

type treeParser struct{ token, rest string }

// next takes a token: a bracket, or a text, in which a backslash quotes.
func (p *treeParser) next() {
	p.rest = strings.TrimLeft(p.rest, " \n")
	end := strings.IndexAny(p.rest, " \n(){}\\")
	switch {
	case end == 0 && p.rest[0] != '\\':
		end = 1
	case end < 0:
		end = len(p.rest)
	default:
		for end < len(p.rest) && !strings.ContainsRune(" \n(){}", rune(p.rest[end])) {
			if p.rest[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(p.rest))
	}
	p.token, p.rest = p.rest[:end], p.rest[end:]
}

func (p *treeParser) node() *tree {
	p.next() // {
	n := &tree{label: p.token, fields: map[string][]any{}}
	field := ""
	for p.next(); p.token != "}" && p.token != ""; {
		if name, ok := strings.CutPrefix(p.token, ":"); ok {
			field = name
			p.next()
			continue
		}
		n.fields[field] = append(n.fields[field], p.value())
	}
	p.next()
	return n
}

func (p *treeParser) value() any {
	switch p.token {
	case "{":
		return p.node()
	case "(":
		list := []any{}
		for p.next(); p.token != ")" && p.token != ""; {
			list = append(list, p.value())
		}
		p.next()
		return list
	}
	text := p.token
	p.next()
	return text
}

// text is a field that is one text.
func (n *tree) text(field string) string {
	if v := n.fields[field]; len(v) == 1 {
		s, _ := v[0].(string)
		return s
	}
	return ""
}

func (n *tree) number(field string) int {
	i, _ := strconv.Atoi(n.text(field))
	return i
}

// node is a field that is one node; one without fields where it is none.
func (n *tree) node(field string) *tree {
	if v := n.fields[field]; len(v) == 1 {
		if child, ok := v[0].(*tree); ok {
			return child
		}
	}
	return &tree{}
}

// list are the nodes of a field that is a list of them.
func (n *tree) list(field string) []*tree {
	if v := n.fields[field]; len(v) == 1 {
		return nodesOf(v[0])
	}
	return nil
}

// lists are those of a field that is a list of lists of nodes.
func (n *tree) lists(field string) (lists [][]*tree) {
	if v := n.fields[field]; len(v) == 1 {
		rows, _ := v[0].([]any)
		for _, row := range rows {
			lists = append(lists, nodesOf(row))
		}
	}
	return lists
}

func nodesOf(v any) (nodes []*tree) {
	list, _ := v.([]any)
	for _, e := range list {
		if child, ok := e.(*tree); ok {
			nodes = append(nodes, child)
		}
	}
	return nodes
}

// children visits the nodes that are right below.
func (n *tree) children(visit func(*tree)) {
	var within func(v any)
	within = func(v any) {
		switch v := v.(type) {
		case *tree:
			visit(v)
		case []any:
			for _, e := range v {
				within(e)
			}
		}
	}
	for _, field := range slices.Sorted(stdmaps.Keys(n.fields)) {
		within(n.fields[field])
	}
}
