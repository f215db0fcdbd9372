# Makes of what go test -v -bench prints a table for each benchmark: a row for each of its
# sizes, a column for each of its units. What go test counts for all benchmarks is left out
# where one reports figures of its own. Benchmarks that were skipped are named at the end.

# figure has three significant digits, and no fraction from 100 on.
function figure(v) { return v >= 100 || v <= -100 ? sprintf("%.0f", v) : sprintf("%.3g", v) }

function without_processors(name) { sub(/-[0-9]+$/, "", name); return name }

function flush(    i, j, line) {
	if (!rows) return
	line = "\n| " benchmark " |"
	for (j = 1; j <= columns; j++) line = line " " unit[j] " |"
	line = line "\n| ---"
	for (j = 1; j <= columns; j++) line = line " | ---:"
	print line " |"
	for (i = 1; i <= rows; i++) {
		line = "| " size[i] " |"
		for (j = 1; j <= columns; j++) line = line " " value[i, unit[j]] " |"
		print line
	}
	rows = columns = 0
	split("", known)
	split("", value)
}

/^--- SKIP: Benchmark/ { skipped = skipped "\nNot measured here: " without_processors($3) ": " said ".\n"; next }

/^    / { said = $0; sub(/^ *[^ ]*: /, "", said); next } # a benchmark's log: file.go:12: words

/^Benchmark/ && NF >= 4 && NF % 2 == 0 {
	name = without_processors($1)
	sizes = ""
	if (i = index(name, "/")) {
		sizes = substr(name, i + 1)
		name = substr(name, 1, i - 1)
	}
	if (name != benchmark) flush()
	benchmark = name
	gsub("/", ", ", sizes)
	size[++rows] = sizes
	own = 0
	for (i = 4; i <= NF; i += 2) own = own || $i !~ /^(ns\/op|B\/op|allocs\/op|MB\/s)$/
	for (i = 4; i <= NF; i += 2) {
		if (own && $i ~ /^(ns\/op|B\/op|allocs\/op|MB\/s)$/) continue
		if (!($i in known)) { known[$i] = 1; unit[++columns] = $i }
		value[rows, $i] = figure($(i - 1))
	}
}

END { flush(); printf "%s", skipped }
