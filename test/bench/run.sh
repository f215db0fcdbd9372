#!/usr/bin/env bash
# Measures what suite.txt lists, and writes the figures into docs/benchmarks.txt with the
# machine and the versions; or runs benchmarks of two revisions in turns, for benchstat.
#
#   test/bench/run.sh [-only PART,PART] [-short] [-suite DIR] [-out FILE]
#   test/bench/run.sh -compare REV [-pkg ./store [-bench RE] [-benchtime T]] [-count N]
#
# A sample (-short) shows that all works, and is written to bin/bench/short.md.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
readonly here root work=$root/bin/bench limit=15m

suite=$here only="" short="" out="" base="" pkg="" bench="" count=6 benchtime="" server=""

say() { echo "bench: $*" >&2; }

die() {
	say "$*"
	exit 1
}

main() {
	while [ $# -gt 0 ]; do
		case $1 in
		-short) short=yes && shift && continue ;;
		-only) only=$2 ;;
		-suite) suite=$2 ;;
		-out) out=$2 ;;
		-compare) base=$2 ;;
		-pkg) pkg=$2 ;;
		-bench) bench=$2 ;;
		-benchtime) benchtime=$2 ;;
		-count) count=$2 ;;
		*) die "what is \"$1\"? Read the head of test/bench/run.sh" ;;
		esac
		shift 2 || die "$1 is said without its value"
	done
	[ -n "$pkg" ] || [ -z "$bench$benchtime" ] || die "name the package of the benchmarks, too: -pkg ./store"
	[ "$count" -ge 1 ] || die "-count $count: run each side at least once; benchstat needs 6 to tell noise from change"
	cd "$root"
	mkdir -p "$work"
	ulimit -n "$(ulimit -H -n)"
	trap stop_server EXIT
	trap 'exit 130' HUP INT TERM
	start_server
	if [ -n "$base" ]; then
		compare
	else
		report
	fi
}

# --- PostgreSQL ----------------------------------------------------------------

# start_server starts a cluster that syncs as PostgreSQL does by itself, which the tests' own
# does not, unless REVERIE_TEST_DATABASE_URL names one. Its buffers hold the tables of the
# largest cases. Nothing else of the caller's environment chooses other cases.
start_server() {
	local url=${REVERIE_TEST_DATABASE_URL:-} name bin as=()
	for name in GORACE ${!REVERIE_@}; do unset "$name"; done
	if [ -z "$url" ]; then
		bin=$("$root/scripts/setup.sh" | sed -n 's/.* in //p')
		server=$(mktemp -d /var/tmp/reverie-bench.XXXXXX)
		if [ "$(id -u)" = 0 ]; then # which PostgreSQL refuses to run as
			as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
			chown postgres "$server"
		fi
		(cd / && "${as[@]}" "$bin/initdb" -D "$server/data" -E UTF8 --locale=C.UTF-8 -A trust -U reverie >/dev/null)
		(cd / && "${as[@]}" "$bin/postgres" -D "$server/data" -k "$server" -c listen_addresses= -c max_connections=200 \
			-c shared_buffers=1GB >"$server/log" 2>&1) &
		url="postgres://reverie@/postgres?host=$server&sslmode=disable"
		until psql "$url" -qc '' 2>/dev/null; do
			kill -0 $! 2>/dev/null || die "PostgreSQL does not start: $(cat "$server/log")"
			sleep 0.1
		done
	fi
	export REVERIE_TEST_DATABASE_URL=$url
}

stop_server() {
	[ -n "$server" ] || return 0
	[ ! -e "$server/data/postmaster.pid" ] || kill -INT "$(head -n 1 "$server/data/postmaster.pid")"
	wait
	rm -rf "$server"
}

# about says what figures are taken on: the machine, and the versions of what takes part.
about() {
	echo -n "$(nproc) x $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1); "
	echo -n "$(awk '$1 == "MemTotal:" { print int($2 / 1024) }' /proc/meminfo) MiB; $(uname -sr); "
	echo -n "disk $(df --output=source,fstype "${server:-$work}" | awk 'NR == 2 { print $1, $2 }'); "
	echo -n "$(go env GOVERSION); PostgreSQL "
	psql "$REVERIE_TEST_DATABASE_URL" -Atc "select format('%s (fsync %s, synchronous_commit %s, shared_buffers %s), pgvector %s',
		split_part(current_setting('server_version'), ' ', 1), current_setting('fsync'), current_setting('synchronous_commit'),
		current_setting('shared_buffers'), (select default_version from pg_available_extensions where name = 'vector'))" 2>/dev/null |
		tr -d '\n' || echo -n unknown
	if node --version >/dev/null 2>&1; then
		echo -n "; Node $(node --version); mem0ai $(sed -n 's/.*"mem0ai": "\(.*\)".*/\1/p' "$here/peer/package.json")"
	fi
}

# --- one run -------------------------------------------------------------------

# build ROOT PACKAGE BINARY compiles the tests of a package.
build() { (cd "$1/$2" && go test -c -vet=off -o "$3" .); }

# run ROOT PACKAGE BINARY EXPRESSION TIME [FLAG...] prints what benchmarks print. The limit
# that go test has is for tests alone.
run() {
	local dir=$1/$2 binary=$3 expression=$4 time=$5
	shift 5
	(cd "$dir" && timeout --foreground "$limit" "$binary" -test.run '^$' -test.bench "$expression" -test.benchtime "$time" \
		-test.benchmem "$@")
}

# --- the page ------------------------------------------------------------------

rows() { grep -v '^#' "$1" | awk NF; }

# report measures part after part, and writes those that went well into the page. What a
# part that fails has said is shown.
report() {
	local names part failed=0
	names=$(rows "$suite/suite.txt" | awk '!seen[$1]++ { print $1 }')
	for part in ${only//,/ }; do
		grep -qx "$part" <<<"$names" || die "there is no part \"$part\": write -only with some of ${names//$'\n'/,}"
	done
	out=${out:-$([ -n "$short" ] && echo "$work/short.md" || echo "$root/docs/benchmarks.txt")}
	rm -f "$work"/*.section
	for part in $names; do
		if [ -z "$only" ] && [[ $part =~ ^(serve|peers)$ ]] || [ -n "$only" ] && [[ ",${only// /}," != *",$part,"* ]]; then
			continue
		fi
		measure "$part" || { say "part $part failed"; failed=1; }
	done
	touch "$out"
	{
		cat "$here/head.md"
		for part in $names; do
			echo
			if [ -e "$work/$part.section" ]; then
				cat "$work/$part.section"
			else # as it was
				kept "$(head -n 1 "$suite/parts/$part.md")" "$out" | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
			fi
		done | awk '!/^Machine: / || $0 != said; /^Machine: / { said = $0 }' | cat -s
	} >"$work/page.md"
	mv "$work/page.md" "$out"
	say "wrote $out"
	return $failed
}

# kept TITLE PAGE prints a section of the page, with the machine that it was measured on: the
# page says that where it is another one than the section before had.
kept() {
	awk -v title="$1" '/^## / { kept = $0 == title } /^Machine: / { machine = $0; next } !kept { next }
		/^Measured / && machine { print machine } { print }' "$2"
}

# measure PART writes its section of the page.
measure() {
	local name package time expression sample units env raw=$work/$1.txt began load
	began=$(date -u +'%Y-%m-%d %H:%M UTC') load=$(cut -d ' ' -f 1 /proc/loadavg)
	: >"$raw"
	while read -r name package time expression sample units env <&3; do
		[ "$name" = "$1" ] || continue
		[ -z "$short" ] || expression=$sample time=1x
		say "$expression of $package"
		build "$root" "$package" "$work/run.test" || return 1
		# shellcheck disable=SC2086 # the environment is words
		([ -z "$env" ] || export $env && run "$root" "$package" "$work/run.test" "$expression" "$time" -test.v ${short:+-test.short}) 2>&1 |
			tee "$work/one.txt" >&2 || { say "$package: -bench '$expression' failed; see $work/one.txt"; return 1; }
		grep -q '^Benchmark.*[0-9]\|^--- SKIP' "$work/one.txt" || { say "nothing was measured: no benchmark of $package matches $expression"; return 1; }
		echo "show: $units" >>"$raw"
		cat "$work/one.txt" >>"$raw"
	done 3< <(rows "$suite/suite.txt")
	{
		cat "$suite/parts/$1.md"
		printf '\nMachine: %s.\nMeasured %s by `make bench BENCH="-only %s"`, at %s, load %s.\n' "$(about)" \
			"$began" "$1" "$(git describe --always --abbrev=12 --dirty --exclude='*')" "$load"
		awk -f "$here/table.awk" "$raw"
	} >"$work/$1.section"
}

# --- two revisions -------------------------------------------------------------

# compare runs the same benchmarks of a revision and of the checkout, in turns so that what
# drifts hits both.
compare() {
	git rev-parse -q --verify --end-of-options "$base^{commit}" >/dev/null ||
		die "there is no revision \"$base\": write make bench-compare BASE=HEAD~1, or a tag or a commit"
	trap 'git worktree remove --force "$work/base" 2>/dev/null || true; stop_server' EXIT
	git worktree remove --force "$work/base" 2>/dev/null || true # of a run that was killed
	git worktree add -q --force --detach "$work/base" "$base"
	: >"$work/base.txt" >"$work/new.txt"
	local package was time expression
	while read -r package was time expression <&3; do
		take_turns "$package" "$was" "$time" "$expression"
	done 3< <(if [ -n "$pkg" ]; then echo "$pkg - ${benchtime:-0.5s} ${bench:-.}"; else rows "$suite/compare.txt"; fi)
	[ -s "$work/new.txt" ] || die "no benchmark was run on both sides: choose others with PKG=./store BENCH=Search"
	go tool benchstat "base=$work/base.txt" "new=$work/new.txt"
}

# take_turns PACKAGE WAS TIME EXPRESSION builds both sides, and runs what both have.
take_turns() {
	local package=$1 old=$1 time=$3 expression=$4 top below="" both turn side sides
	compgen -G "$work/base/$old/*_test.go" >/dev/null || old=$2
	if ! compgen -G "$work/base/$old/*_test.go" >/dev/null; then
		say "left out $package: base does not have it"
		return
	fi
	top=${expression%%/*}
	[ "$top" = "$expression" ] || below=/${expression#*/}
	build "$work/base" "$old" "$work/base.test"
	build "$root" "$package" "$work/new.test"
	list() { (cd "$1" && "$2" -test.list "$top" | grep ^Benchmark | sort); }
	both=$(comm -12 <(list "$work/base/$old" "$work/base.test") <(list "$root/$package" "$work/new.test"))
	if [ -z "$both" ]; then
		say "left out $package: the sides have no benchmark in common"
		return
	fi
	sides="base new"
	for turn in $(seq "$count"); do
		say "$package, turn $turn of $count"
		for side in $sides; do
			local tree=$root dir=$package
			[ "$side" = new ] || tree=$work/base dir=$old
			run "$tree" "$dir" "$work/$side.test" "^(${both//$'\n'/|})\$$below" "$time" >"$work/one.txt" 2>&1 || die "$package of $side: $(cat "$work/one.txt")"
			{
				echo "pkg: $package"
				grep '^Benchmark\|^goos: \|^goarch: \|^cpu: ' "$work/one.txt"
			} >>"$work/$side.txt"
		done
		sides="${sides#* } ${sides% *}"
	done
}

main "$@"
