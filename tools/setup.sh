#!/usr/bin/env bash
# Makes sure that the programs that a make target needs are installed. As root on Debian and its derivatives, it
# installs them with apt-get, and says so; otherwise it says what is missing and how to get it.
#
#   tools/setup.sh demo|lint|test|programs|bench
set -euo pipefail

for_=${1:?usage: tools/setup.sh demo|lint|test|programs|bench}
cd "$(dirname "$0")/.."

installs() { # whether this can install Debian's packages
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1
}

# apt PACKAGE...
apt() {
	echo "installing by apt-get: $*"
	[ -n "${updated-}" ] || apt-get update -qq
	updated=1
	# RUNLEVEL: the tests start servers of their own.
	RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# Go, first: without it, the rest is of no use. A Go that may download the version of go.mod does so here.
if ! go list -m >/dev/null 2>&1; then
	version=$(sed -n 's/^go //p' go.mod)
	found=$(go env GOVERSION 2>/dev/null) || found=$(go version 2>/dev/null | cut -d' ' -f3) || true
	candidate=
	if installs; then
		apt-get update -qq
		updated=1
		candidate=$(apt-cache policy golang-go | sed -n 's/^ *Candidate: //p')
	fi
	if [[ $candidate == [0-9]* ]] && dpkg --compare-versions "${candidate#*:}" ge "${version%.*}~"; then
		apt golang-go
	else
		echo "missing: Go $version or newer${found:+ (this is $found)}; see https://go.dev/doc/install" >&2
		exit 1
	fi
fi

# program:package
case $for_ in
demo) needs="" ;;
lint) needs="git:git clang-format:clang-format shellcheck:shellcheck gcc:gcc" ;;
test)
	needs="git:git gcc:gcc g++:g++ clang:clang nm:binutils addr2line:binutils python3:python3 sqlite3:sqlite3
		objcopy:binutils xmllint:libxml2-utils callgrind_annotate:valgrind heaptrack_print:heaptrack
		protoc:protobuf-compiler xz:xz-utils jeprof:libjemalloc-dev
		redis-server:redis-server redis-benchmark:redis-tools rustc:rustc llvm-dwp:llvm bwrap:bubblewrap
		ffmpeg:ffmpeg heaptrack:heaptrack make:make /usr/bin/time:time bash:bash
		valgrind:valgrind dwz:dwz llvm-symbolizer:llvm jq:jq curl:curl"
	;;
programs)
	needs="git:git gcc:gcc g++:g++ python3:python3 sqlite3:sqlite3 redis-server:redis-server
		redis-benchmark:redis-tools node:nodejs xz:xz-utils perf:linux-perf
		clang:clang gfortran:gfortran rustc:rustc objcopy:binutils llvm-symbolizer-19:llvm-19"
	;;
bench)
	needs="gcc:gcc g++:g++ python3:python3 sqlite3:sqlite3 redis-server:redis-server redis-benchmark:redis-tools
		heaptrack:heaptrack valgrind:valgrind perl:perl perf:linux-perf clang++:clang ld.lld:lld make:make
		git:git node:nodejs tsc:node-typescript objcopy:binutils"
	;;
*)
	echo "tools/setup.sh: unknown target $for_" >&2
	exit 2
	;;
esac
# What make lint builds again only where node is, except in CI.
[ "$for_" != lint ] || [ -z "${CI-}" ] || needs="$needs node:nodejs npm:npm"

packages=()
want() { # program package
	command -v "$1" >/dev/null 2>&1 && return
	local p
	for p in "${packages[@]+"${packages[@]}"}"; do
		[ "$p" != "$2" ] || return 0
	done
	packages+=("$2")
}
for need in $needs; do
	want "${need%%:*}" "${need#*:}"
done
# Other allocators, which the tests record; two have profilers of their own.
libs=""
case $for_ in
test) libs="jemalloc.so.2:libjemalloc2 tcmalloc.so.4:libgoogle-perftools4 mimalloc.so.2:libmimalloc2.0" ;;
bench) libs="jemalloc.so.2:libjemalloc2 tcmalloc.so.4:libgoogle-perftools4" ;;
esac
for lib in $libs; do
	ls /usr/lib/*/lib"${lib%%:*}" >/dev/null 2>&1 || packages+=("${lib#*:}")
done
# Test frameworks whose assertions the API's headers extend.
if [ "$for_" = test ]; then
	for header in gtest/gtest.h:libgtest-dev catch2/catch.hpp:catch2; do
		[ -e "/usr/include/${header%%:*}" ] || packages+=("${header#*:}")
	done
fi
# numpy, as a program of many small arrays.
if [ "$for_" = bench ]; then
	/usr/bin/python3 -c 'import numpy' >/dev/null 2>&1 || packages+=(python3-numpy)
fi
# The C library for 32-bit programs, which heaptap leaves alone.
if [ "$for_" = test ]; then
	[ -e /lib/ld-linux.so.2 ] || packages+=(libc6-i386)
fi
# libseccomp, for tests of programs that use it.
if [ "$for_" = test ]; then
	/usr/bin/python3 -c 'import seccomp' >/dev/null 2>&1 || packages+=(python3-seccomp)
fi
# Header-only C++ libraries, as input for compilers and symbolization.
if [ "$for_" = programs ]; then
	for header in nlohmann/json.hpp:nlohmann-json3-dev fmt/format.h:libfmt-dev; do
		[ -e "/usr/include/${header%%:*}" ] || packages+=("${header#*:}")
	done
fi
# Some packages of gcc come without the C library's headers.
if [ "$for_" != demo ] && [ ! -e /usr/include/stdlib.h ]; then
	packages+=(libc6-dev)
fi

if [ ${#packages[@]} -gt 0 ]; then
	if ! installs; then
		echo "missing: ${packages[*]} (names of Debian packages)" >&2
		echo "install them, for example: sudo apt-get install ${packages[*]}" >&2
		exit 1
	fi
	apt "${packages[@]}"
fi
[ "$for_" = test ] || exit 0

# What not every machine can have. Without it, its tests are skipped, and `make test` lists them; in CI they fail.
# A database that checks exported tables; not every release of Debian has it.
if ! command -v clickhouse-server >/dev/null 2>&1; then
	{ installs && apt clickhouse-server; } || echo "missing: clickhouse-server; its tests are skipped" >&2
fi
# node, for the tests of the web app and for viewers that check exports; a browser, for those of the pages.
[ -e /usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf ] || { installs && apt fonts-dejavu; } ||
	echo "missing: fonts-dejavu; pictures of pages are not compared" >&2
for need in node:nodejs npm:npm chromium:chromium; do
	command -v "${need%%:*}" >/dev/null 2>&1 || { installs && apt "${need#*:}"; } ||
		echo "missing: ${need#*:}; its tests are skipped" >&2
done
command -v npm >/dev/null 2>&1 || exit 0
tools/ui.sh install || echo "npm cannot install what the web app needs: its tests are skipped" >&2
# Viewers that check exports.
viewers=()
for p in speedscope hyparquet hyparquet-compressors @duckdb/node-api; do
	[ -e "$(npm root -g)/$p" ] || viewers+=("$p")
done
if [ ${#viewers[@]} -gt 0 ]; then
	echo "installing by npm: ${viewers[*]}"
	npm install -g --silent "${viewers[@]}" >/dev/null ||
		echo "npm cannot install ${viewers[*]}: their tests are skipped" >&2
fi
