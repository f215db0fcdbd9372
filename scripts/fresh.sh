#!/usr/bin/env bash
# Does what a newcomer does, as on a new machine: clones the repository as it is
# committed, and runs make demo and make test in the clone, with an empty home, caches
# of Go of their own and nothing of the caller's environment but the PATH and where
# modules come from. At the end it says how long each took, and fails if one failed.
# Nothing is left behind, whatever happens. Nobody is asked for anything meanwhile: where
# packages are missing and sudo wants a password, give it before (sudo -v).
#
#   scripts/fresh.sh                                  # make demo, make test
#   scripts/fresh.sh demo test lint "torture SHORT=1" # these, with the same caches
set -euo pipefail
umask 022 # the database server of root runs as somebody else, and must read what is its

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly wait_for_server=60 # seconds
work=""                     # all of it is in here
clean=()                    # the command that empties the environment
job=""                      # the process group of the make that runs
table=""
failed=0

main() {
	case ${1:-} in
	-*) die "usage: scripts/fresh.sh [\"TARGET OF MAKE\"...]" ;;
	esac
	[ $# -gt 0 ] || set -- demo test
	trap cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM

	open_to_all "${TMPDIR:-/tmp}"
	work=$(mktemp -d "${TMPDIR:-/tmp}/reverie-fresh.XXXXXX")
	chmod 755 "$work" # mktemp makes it one's own
	mkdir "$work/home"
	empty_environment
	clone
	local target
	for target in "$@"; do
		step "$target"
	done
	report
	[ "$failed" -eq 0 ] || die "not all of it worked; look above"
}

# open_to_all refuses a directory that the database server of root cannot enter: it would
# keep the demo's data elsewhere, where nobody removes them.
open_to_all() {
	local dir
	[ "$(id -u)" -eq 0 ] || return 0
	dir=$(cd "$1" && pwd -P) || die "TMPDIR is $1, which is not a directory; set another, such as TMPDIR=/tmp"
	while [ "$dir" != / ]; do
		case $(stat -c %A "$dir" 2>/dev/null || stat -f %Sp "$dir") in
		?????????[xt]*) ;;
		*) die "the database server, which does not run as root, cannot enter $dir, where TMPDIR ($1) is; set another, such as TMPDIR=/tmp" ;;
		esac
		dir=$(dirname "$dir")
	done
}

# clone copies what is committed, with no link to the repository that it comes from.
clone() {
	if [ -n "$(git -C "$root" status --porcelain)" ]; then
		say "what is not committed is left out"
	fi
	git clone --quiet --no-hardlinks "$root" "$work/reverie"
	say "cloned $(git -C "$work/reverie" log -1 --format='%h %s')"
}

# empty_environment keeps the PATH, where modules come from, and how the network is
# reached.
empty_environment() {
	clean=(env -i "PATH=$PATH" "HOME=$work/home" "GOMODCACHE=$work/modules" "GOCACHE=$work/builds")
	local name value
	for name in GOPROXY GONOPROXY GOPRIVATE GOSUMDB GONOSUMDB GOINSECURE GOTOOLCHAIN GOFLAGS; do
		value=$(cd "$root" && go env "$name")
		clean+=("$name=$value")
	done
	for name in TMPDIR HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy SSL_CERT_FILE SSL_CERT_DIR \
		PIP_INDEX_URL PIP_CERT NPM_CONFIG_REGISTRY NODE_EXTRA_CA_CERTS; do
		if [ -n "${!name:-}" ]; then
			clean+=("$name=${!name}")
		fi
	done
}

# step runs a target of make, given with its variables, and notes how long it took.
step() {
	local began=$SECONDS result=ok took
	echo
	say "=== make $1 ($(date -u +%H:%M:%S))"
	# shellcheck disable=SC2086 # the variables of make are words of their own
	if ! in_a_group "${clean[@]}" make -C "$work/reverie" --no-print-directory $1 || ! after "$1"; then
		result=FAILED
		failed=1
	fi
	took=$((SECONDS - began))
	table+=$(printf '%-24s %6s  %s' "make $1" "$((took / 60))m$(printf %02d $((took % 60)))s" "$result")$'\n'
}

# in_a_group runs a command in a process group of its own, which ends with this script:
# a shell that waits hears signals, and one that runs something does not.
in_a_group() {
	local result=0
	set -m
	"$@" </dev/null &
	job=$!
	set +m
	wait "$job" || result=$?
	job=""
	return "$result"
}

# after looks at what a target has left: the next command finds the demo's memories.
after() {
	[ "$1" = demo ] || return 0
	if ! (cd "$work/reverie" && "${clean[@]}" ./bin/reverie memory list --group demo --json) >"$work/list.json"; then
		return 1
	fi
	if ! grep -q '"success": *true' "$work/list.json" || ! grep -q '"statement": *"' "$work/list.json"; then
		say "the demo has left no memories: $(head -c 300 "$work/list.json")"
		return 1
	fi
}

report() {
	echo
	say "$(uname -sm), $(getconf _NPROCESSORS_ONLN) processors, modules $(size modules), builds $(size builds)"
	printf '%-24s %6s  %s\n%s' COMMAND TOOK RESULT "$table"
}

size() { du -sh "$work/$1" 2>/dev/null | cut -f 1 | grep . || echo none; }

# cleanup removes everything. The demo's server goes a moment after its last user, and
# lets go of its lock; the cache of modules is read-only.
cleanup() {
	stop_job
	[ -n "$work" ] || return 0
	local lock
	find "$work/home" -name server.lock 2>/dev/null | while IFS= read -r lock; do
		if command -v flock >/dev/null; then
			flock --wait "$wait_for_server" "$lock" true || say "the database server of the demo is still there"
		else
			sleep 5
		fi
	done
	chmod -R u+w "$work" 2>/dev/null || true # the server's own are removed as they are
	rm -rf "$work"
}

# stop_job ends what runs, and waits until all of it has gone.
stop_job() {
	[ -n "$job" ] || return 0
	local i
	kill -TERM -- "-$job" 2>/dev/null || true
	for ((i = 0; i < wait_for_server; i++)); do
		kill -0 -- "-$job" 2>/dev/null || break
		sleep 1
	done
	kill -KILL -- "-$job" 2>/dev/null || true
	job=""
}

say() { echo "fresh: $*"; }

die() {
	echo "fresh: $*" >&2
	exit 1
}

main "$@"
