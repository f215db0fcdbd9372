#!/usr/bin/env bash
# Checks the Python client and the examples in Python, from nothing: format, types, tests against the binary,
# and the wheel in a clean environment.
#
#   clients/python/check.sh              # all but AstrBot, which is large
#   ASTRBOT=1 clients/python/check.sh    # AstrBot's plugin, too
#   REVERIE_BINARY=PATH, PYTHON=python3.10 name others than bin/reverie and python3.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

umask 022 # the database server of root runs as somebody else, and must read what is its
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export REVERIE_BINARY=${REVERIE_BINARY:-$PWD/../../bin/reverie} PYTHONDONTWRITEBYTECODE=1

step() { echo "=== $* ($((SECONDS / 60))m$(printf %02d $((SECONDS % 60)))s)"; }

environment() { # DIRECTORY WHAT...
	"${PYTHON:-python3}" -m venv "$1"
	"$1/bin/python" -m pip install --quiet --disable-pip-version-check "${@:2}"
}

[ -x "$REVERIE_BINARY" ] || { echo "check.sh: there is no $REVERIE_BINARY: run make build" >&2; exit 2; }

step "install"
environment "$work/dev" -c constraints.txt -e ".[dev]"
bin=$work/dev/bin

step "format, lint, types"
"$bin/ruff" format --no-cache --check . ../../examples
"$bin/ruff" check --no-cache . ../../examples
"$bin/mypy" --cache-dir "$work/mypy"

step "tests"
"$bin/pytest" -p no:cacheprovider

if [ -n "${ASTRBOT:-}" ]; then
	step "AstrBot" # it wants versions of its own
	environment "$work/astrbot" -e ".[astrbot]" pytest pytest-asyncio
	"$work/astrbot/bin/python" -m pytest -p no:cacheprovider tests/test_examples.py -k astrbot
fi

step "wheel"
"$bin/python" -m build --no-isolation --outdir "$work/dist" . >"$work/build.log" 2>&1 || { cat "$work/build.log" >&2; exit 1; }
environment "$work/clean" -c constraints.txt "$work"/dist/*.whl
(cd tests && "$work/clean/bin/python" smoke.py)
"$bin/mypy" --cache-dir "$work/mypy" --config-file= --strict --python-executable "$work/clean/bin/python" tests/smoke.py

step "passed"
