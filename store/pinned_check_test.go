package store_test

// A statement is pinned to one group where each table with a group_id that it touches is held to a parameter
// by a condition on that table's own group_id, in a place where it holds for every row. What follows looks for
// that in PostgreSQL's parse tree, by the names that it has for its nodes.
const (
	textEquals = 98 // pg_operator: text = text

	commandSelect, commandUpdate, commandInsert               = "1", "2", "3"
	rangeTable, rangeQuery, rangeJoin, rangeValues, rangeWith = "0", "1", "2", "5", "6"
	innerJoin, leftJoin, rightJoin                            = "0", "1", "3"
)

// tenants are what of a database belongs to groups.
type tenants struct {
	tables    map[int]tenantTable // by number
	functions map[int]string      // those that read such tables, by number; their first argument is the group
	asked     map[*tree]bool      // queries that are followed: see returnsGroup
	named     map[string]bool     // the parameters that tables of the statement are held to
}

type tenantTable struct {
	name   string
	column int // that is group_id
}

// loose is a table, or a function, that a statement does not pin.
type loose struct {
	name string
	tied bool // by a condition of its group_id with that of another table, or with parameters
}

// level is one query of a statement.
type level struct {
	*tenants
	outer  *level
	query  *tree
	from   []*tree      // its tables, queries and joins, whose places count from 1
	pinned map[int]bool // by place
	tied   map[int]bool
}

// loose are all tables and functions that a statement does not pin.
func (t *tenants) loose(n *tree, outer *level) (found []loose) {
	switch {
	case n.label == "QUERY":
		outer = t.level(n, outer)
		found = outer.loose()
	case n.label == "FUNCEXPR" && t.functions[n.number("funcid")] != "":
		if args := n.list("args"); len(args) == 0 || !isParameter(args[0]) {
			found = append(found, loose{name: t.functions[n.number("funcid")]})
		}
	}
	n.children(func(child *tree) { found = append(found, t.loose(child, outer)...) })
	return found
}

func (t *tenants) level(query *tree, outer *level) *level {
	l := &level{t, outer, query, query.list("rtable"), map[int]bool{}, map[int]bool{}}
	l.restrict(query.node("jointree"))
	target := query.number("resultRelation")
	if target == 0 || l.groupColumn(target) == 0 {
		return l
	}
	switch given := targetOf(query.list("targetList"), l.groupColumn(target)); query.text("commandType") {
	case commandInsert:
		l.pinned[target] = given != nil && l.isGroup(given)
	case commandUpdate:
		l.pinned[target] = l.pinned[target] && (given == nil || l.isGroup(given))
	}
	return l
}

// loose are the tables of a level alone.
func (l *level) loose() (found []loose) {
	for i := range l.from {
		if l.groupColumn(i+1) > 0 && !l.pinned[i+1] {
			found = append(found, loose{l.tables[l.from[i].number("relid")].name, l.tied[i+1]})
		}
	}
	return found
}

// groupColumn is the number of the group_id of a table, 0 for what has none.
func (l *level) groupColumn(place int) int {
	of := l.from[place-1]
	if kind := of.text("relkind"); of.text("rtekind") != rangeTable || kind != "r" && kind != "p" {
		return 0
	}
	return l.tables[of.number("relid")].column
}

// restrict takes up the conditions of a part of FROM, and returns the places in it. What an outer join asks
// keeps no row of its other side away.
func (l *level) restrict(n *tree) (inside map[int]bool) {
	inside = map[int]bool{}
	within := func(n *tree) map[int]bool {
		part := l.restrict(n)
		for place := range part {
			inside[place] = true
		}
		return part
	}
	switch n.label {
	case "RANGETBLREF":
		inside[n.number("rtindex")] = true
	case "FROMEXPR":
		for _, item := range n.list("fromlist") {
			within(item)
		}
		l.hold(n.node("quals"), inside)
	case "JOINEXPR":
		left, right := within(n.node("larg")), within(n.node("rarg"))
		held := map[string]map[int]bool{innerJoin: inside, leftJoin: right, rightJoin: left}
		l.hold(n.node("quals"), held[n.text("jointype")])
	}
	return inside
}

// hold takes up a condition that holds for the rows of some places.
func (l *level) hold(condition *tree, places map[int]bool) {
	args := condition.list("args")
	if condition.label == "BOOLEXPR" && condition.text("boolop") == "and" {
		for _, part := range args {
			l.hold(part, places)
		}
		return
	}
	if len(args) == 2 && condition.number("opno") == textEquals {
		for i, side := range args {
			if place, ok := l.groupOf(side); ok && places[place] {
				l.pinned[place] = l.namesGroup(condition, args[1-i]) || l.pinned[place]
				l.tied[place] = l.tied[place] || condition.label == "OPEXPR" && args[1-i].label == "VAR"
			}
		}
	}
	groups, parameters := map[int]bool{}, false
	var look func(*tree)
	look = func(n *tree) {
		if place, ok := l.groupOf(n); ok && places[place] {
			groups[place] = true
		}
		if parameters = parameters || isParameter(n); n.label != "QUERY" {
			n.children(look)
		}
	}
	look(condition)
	for place := range groups {
		l.tied[place] = l.tied[place] || parameters
	}
}

// namesGroup tells whether `= side` or `= any (side)` names a group, or none: what has an empty group_id is the
// deployment's.
func (l *level) namesGroup(condition, side *tree) bool {
	switch {
	case condition.label == "OPEXPR":
		return l.isNamed(side)
	case condition.label != "SCALARARRAYOPEXPR" || condition.text("useOr") != "true" || side.label != "ARRAYEXPR":
		return false
	}
	for _, e := range side.list("elements") {
		if !l.isNamed(e) {
			return false
		}
	}
	return true
}

// isNamed tells whether an expression is a parameter, of which there may be one, or no group.
func (l *level) isNamed(n *tree) bool {
	if isParameter(n) {
		l.named[n.text("paramid")] = true
	}
	return isParameter(n) || isNoGroup(n)
}

func isParameter(n *tree) bool { return n.label == "PARAM" && n.text("paramkind") == "0" }

// isNoGroup tells whether an expression is the empty text, which is nothing but its length of four bytes.
func isNoGroup(n *tree) bool {
	v := n.fields["constvalue"]
	return n.label == "CONST" && len(v) > 0 && v[0] == "4" && n.text("consttype") == "25"
}

// variable follows a column of joins to the place that it comes from.
func (l *level) variable(n *tree) (place, column int) {
	for n.label == "VAR" && n.number("varlevelsup") == 0 {
		place, column = n.number("varno"), n.number("varattno")
		joined := l.from[place-1].list("joinaliasvars")
		if l.from[place-1].text("rtekind") != rangeJoin {
			return place, column
		}
		if column < 1 || column > len(joined) {
			return 0, 0
		}
		n = joined[column-1]
	}
	return 0, 0
}

// groupOf is the place of the table whose group_id an expression is.
func (l *level) groupOf(n *tree) (place int, ok bool) {
	place, column := l.variable(n)
	return place, place > 0 && column > 0 && column == l.groupColumn(place)
}

// isGroup tells whether an expression that is written is a parameter, or comes from one, or from a table that is pinned.
func (l *level) isGroup(n *tree) bool {
	if l.isNamed(n) {
		return true
	}
	place, no := l.variable(n)
	if place == 0 {
		return false
	}
	of := l.from[place-1]
	switch of.text("rtekind") {
	case rangeTable:
		return l.pinned[place] && no == l.groupColumn(place)
	case rangeQuery:
		return l.returnsGroup(of.node("subquery"), no)
	case rangeValues:
		for _, row := range of.lists("values_lists") {
			if !l.isGroup(row[no-1]) {
				return false
			}
		}
		return true
	case rangeWith:
		query, at := l.with(of)
		return at.returnsGroup(query, no)
	}
	return false
}

// with is the query of WITH that a place of FROM means, and the level at which it stands.
func (l *level) with(of *tree) (query *tree, at *level) {
	at = l
	for range of.number("ctelevelsup") {
		at = at.outer
	}
	for _, w := range at.query.list("cteList") {
		if w.text("ctename") == of.text("ctename") {
			return w.node("ctequery"), at
		}
	}
	return &tree{}, at
}

// returnsGroup tells the same of a column of a query that stands in a level.
func (l *level) returnsGroup(query *tree, no int) bool {
	if l.asked[query] { // by itself: a recursive query
		return true
	}
	l.asked[query] = true
	defer delete(l.asked, query)
	inner := l.level(query, l)
	if query.node("setOperations").label != "" {
		for _, of := range inner.from {
			if of.text("rtekind") == rangeQuery && !inner.returnsGroup(of.node("subquery"), no) {
				return false
			}
		}
		return true
	}
	list := query.list("returningList")
	if query.text("commandType") == commandSelect {
		list = query.list("targetList")
	}
	e := targetOf(list, no)
	return e != nil && inner.isGroup(e)
}

// targetOf is what a list of columns says of one, nil for nothing.
func targetOf(list []*tree, no int) *tree {
	for _, e := range list {
		if e.number("resno") == no {
			return e.node("expr")
		}
	}
	return nil
}
