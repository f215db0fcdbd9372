#!/usr/bin/env bash
# Grows the committed corpora of fuzz tests: scripts/corpus.sh ./internal/ingest FuzzSlack ...
#
# Fuzzes each test that is named (all of the package without names) for FUZZTIME, and keeps of
# what was found, the smallest first, each input that reaches code which neither the seeds nor
# those before it reach, and as many in any case as make a dozen. It is for people who have
# changed a parser: plain tests run what lies in testdata/fuzz, and fuzzing begins from it.
# Files that are named by words were written by hand, each for what its name says.
set -euo pipefail
cd "$(dirname "$0")/.."

least=${LEAST:-12}      # inputs that are kept of a test, whatever they reach
most=${MOST:-30}        # and at most
largest=${LARGEST:-600} # bytes of one
tries=${TRIES:-200}     # how many of what was found are tried, of all sizes

pkg=${1:?a package, such as ./internal/ingest, and names of fuzz tests}
shift
dir=$(go list -f '{{.Dir}}' "$pkg")
found=$(go env GOCACHE)/fuzz/$(go list -f '{{.ImportPath}}' "$pkg")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

go test -c -cover -coverpkg="$(go list -deps "$pkg" | grep '^reverie' | paste -sd,)" -o "$work/test" "$pkg"
if [ $# -eq 0 ]; then
	mapfile -t names < <(GOCOVERDIR="$work" "$work/test" -test.list '^Fuzz')
	set -- "${names[@]}"
fi

# The tests run in a room of their own, where inputs are tried without touching the tree.
mkdir -p "$work/room/testdata/fuzz"
for entry in "$dir"/*; do [ "$(basename "$entry")" = testdata ] || ln -s "$entry" "$work/room/"; done
for entry in "$dir"/testdata/*; do
	[ ! -e "$entry" ] || [ "$(basename "$entry")" = fuzz ] || ln -s "$entry" "$work/room/testdata/"
done

reached() { # NAME-PATTERN: the blocks of code that a run of these inputs reaches
	(cd "$work/room" && "$work/test" -test.run "$1" -test.coverprofile="$work/profile" >"$work/log") || { cat "$work/log" >&2; return 1; }
	awk 'NR > 1 && $NF > 0 { print $1 }' "$work/profile" | sort -u
}

for name in "$@"; do
	go test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-1m}" -fuzzminimizetime 20x -parallel 2 "$pkg" | tail -n 2
	kept=$dir/testdata/fuzz/$name room=$work/room/testdata/fuzz/$name
	mkdir -p "$room" "$kept"
	cp -r "$kept/." "$room/"
	reached "^$name\$" >"$work/known"
	count=$(find "$kept" -type f | wc -l)
	mapfile -t list < <(find "$found/$name" -type f -size "-${largest}c" -printf '%s %p\n' 2>/dev/null | sort -n | cut -d' ' -f2-)
	step=$(((${#list[@]} + tries) / tries))
	for ((i = 0; i < ${#list[@]} && count < most; i += step)); do
		input=${list[i]}
		base=$(basename "$input")
		[ ! -e "$room/$base" ] || continue
		cp "$input" "$room/"
		reached "^$name\$/^$base\$" >"$work/one"
		if [ "$count" -lt "$least" ] || [ -n "$(comm -13 "$work/known" "$work/one")" ]; then
			cp "$input" "$kept/"
			sort -u -o "$work/known" "$work/known" "$work/one"
			count=$((count + 1))
		else
			rm "$room/$base"
		fi
	done
	rmdir --ignore-fail-on-non-empty "$kept"
	echo "$pkg $name: $count inputs are kept"
done
