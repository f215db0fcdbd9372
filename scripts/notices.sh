#!/usr/bin/env bash
# Writes THIRD_PARTY_NOTICES.txt: the modules that end up in the binary, on any of the
# systems that it is built for, each with its licence. Equal texts stand once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly out=${1:-THIRD_PARTY_NOTICES.txt}
work=""

# modules prints path, version and directory of each.
modules() {
	local system
	for system in linux darwin windows; do
		GOOS=$system CGO_ENABLED=0 go list -deps \
			-f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/reverie
	done | sort -u
}

# add notes that WHAT is under the licence in FILE.
add() {
	local sum
	sum=$(tr -d '\r' <"$2" | sha256sum | cut -d ' ' -f 1)
	tr -d '\r' <"$2" >"$work/$sum.text"
	echo "$1" >>"$work/$sum.users"
}

main() {
	local path version dir file found
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	modules >"$work/modules"
	while read -r path version dir; do
		found=no
		for file in "$dir"/LICEN[CS]E* "$dir"/COPYING* "$dir"/NOTICE*; do
			[ -f "$file" ] || continue
			case $file in *.go) continue ;; */LICEN* | */COPYING*) found=yes ;; esac
			add "$path $version" "$file"
		done
		if [ "$found" = no ]; then
			echo "notices: $path $version has no licence file in $dir: look for its licence and add it by hand" >&2
			exit 1
		fi
	done <"$work/modules"

	add "rules of gitleaks (internal/safety/gitleaks/rules.toml)" internal/safety/gitleaks/LICENSE
	grep '^#' internal/text/simplified.txt | sed 's/^# \{0,1\}//' >"$work/icu"
	add "table of simplified characters (internal/text/simplified.txt)" "$work/icu"
	grep '^#' internal/ingest/export/months.txt | sed 's/^# \{0,1\}//' >"$work/months"
	add "names of months (internal/ingest/export/months.txt)" "$work/months"

	{
		echo "Reverie contains the Go modules and the data below, each under the licence that follows it."
		echo "Made by make notices."
		# In the order of the first module that has the text.
		for file in "$work"/*.users; do
			printf '%s\t%s\n' "$(head -n 1 "$file")" "$(basename "$file" .users)"
		done | sort | while IFS=$'\t' read -r _ sum; do
			printf '\n%s\n\n' "================================================================================"
			cat "$work/$sum.users"
			printf '\n%s\n\n' "--------------------------------------------------------------------------------"
			sed 's/[[:space:]]*$//' "$work/$sum.text"
		done
	} >"$out"
	echo "notices: $(wc -l <"$work/modules") modules in $out"
}

main
