# Makes of what go test -v -bench prints a table for each benchmark: a row for each of its
# sizes, a column for each of its units, or of those that a line "show: p50-ms,x-raw" names
# ("-" for all). A row that has no unit in common with those before begins another table.
# With one unit there is a column for each value of the last size. What go test counts for
# all benchmarks is left out where one reports figures of its own. Benchmarks that were
# skipped are named at the end.

# figure has three significant digits, and no fraction from 100 on.
function figure(v) { return v >= 100 || v <= -100 ? sprintf("%.0f", v) : sprintf("%.3g", v) }

function without_processors(name) { sub(/-[0-9]+$/, "", name); return name }

function shown(u) { return show == "" || show == "-" || index("," show ",", "," u ",") }

function add_column(u) { if (!(u in known)) { known[u] = 1; unit[++columns] = u } }

# turn makes columns of the last size, where there is one unit and each row has such a size.
function turn(    i, n, of, last, seen, single) {
	if (columns != 1 || rows < 2) return
	for (i = 1; i <= rows; i++) if (size[i] !~ /\/[^\/=]+=[^\/]+$/) return
	single = unit[1]
	benchmark = benchmark ", " single
	columns = 0
	split("", known)
	for (i = 1; i <= rows; i++) {
		last = of = size[i]
		sub(/.*\//, "", last)
		sub(/\/[^\/]*$/, "", of)
		if (!(of in seen)) { seen[of] = ++n; size[n] = of }
		add_column(last)
		turned[seen[of], last] = value[i, single]
	}
	rows = n
	split("", value)
	for (i in turned) value[i] = turned[i]
	split("", turned)
}

function flush(    i, j, line, width, name) {
	if (!rows) return
	name = benchmark
	turn()
	width[0] = length(benchmark)
	for (i = 1; i <= rows; i++) if (length(size[i]) > width[0]) width[0] = length(size[i])
	for (j = 1; j <= columns; j++) {
		width[j] = length(unit[j])
		for (i = 1; i <= rows; i++) if (length(value[i, unit[j]]) > width[j]) width[j] = length(value[i, unit[j]])
	}
	print "\n```"
	for (i = 0; i <= rows; i++) {
		line = sprintf("%-" width[0] "s", i ? size[i] : benchmark)
		for (j = 1; j <= columns; j++) line = line "  " sprintf("%" width[j] "s", i ? value[i, unit[j]] : unit[j])
		sub(/ +$/, "", line)
		print line
	}
	print "```"
	benchmark = name
	rows = columns = 0
	split("", known)
	split("", value)
}

/^show: / { show = $2; next }

/^--- SKIP: Benchmark/ { skipped = skipped "\nNot measured here: " without_processors($3) ": " said ".\n"; next }

/^    / { said = $0; sub(/^ *[^ ]*: /, "", said); next } # a benchmark's log: file.go:12: words

/^Benchmark/ && NF >= 4 && NF % 2 == 0 {
	name = without_processors($1)
	sizes = ""
	if (i = index(name, "/")) {
		sizes = substr(name, i + 1)
		name = substr(name, 1, i - 1)
	}
	own = 0
	for (i = 4; i <= NF; i += 2) own = own || $i !~ /^(ns\/op|B\/op|allocs\/op|MB\/s)$/
	common = any = 0
	for (i = 4; i <= NF; i += 2) {
		keep[i] = shown($i) && !(own && $i ~ /^(ns\/op|B\/op|allocs\/op|MB\/s)$/)
		any = any || keep[i]
		common = common || keep[i] && $i in known
	}
	if (!any) next
	if (name != benchmark || !common) flush()
	benchmark = name
	size[++rows] = sizes
	for (i = 4; i <= NF; i += 2) if (keep[i]) {
		add_column($i)
		value[rows, $i] = figure($(i - 1))
	}
}

END { flush(); printf "%s", skipped }
