#!/usr/bin/env bash
# Makes sure that the programs that a make target needs are installed. As root on Debian and its derivatives, it
# installs them with apt-get, and says so; otherwise it says what is missing and how to get it.
#
#   tools/setup.sh demo|lint|test|programs|bench
set -euo pipefail

for_=${1:?usage: tools/setup.sh demo|lint|test|programs|bench}

# program:package
case $for_ in
demo) needs="" ;;
lint) needs="git:git clang-format:clang-format shellcheck:shellcheck gcc:gcc" ;;
test)
	needs="git:git gcc:gcc g++:g++ clang:clang nm:binutils addr2line:binutils python3:python3 sqlite3:sqlite3
		objcopy:binutils xmllint:libxml2-utils callgrind_annotate:valgrind heaptrack_print:heaptrack
		protoc:protobuf-compiler node:nodejs xz:xz-utils chromium:chromium jeprof:libjemalloc-dev
		redis-server:redis-server redis-benchmark:redis-tools rustc:rustc llvm-dwp:llvm bwrap:bubblewrap
		valgrind:valgrind dwz:dwz llvm-symbolizer:llvm"
	;;
programs)
	needs="git:git gcc:gcc g++:g++ python3:python3 sqlite3:sqlite3 redis-server:redis-server
		redis-benchmark:redis-tools node:nodejs xz:xz-utils perf:linux-perf
		clang:clang gfortran:gfortran rustc:rustc objcopy:binutils llvm-symbolizer-19:llvm-19"
	;;
bench)
	needs="gcc:gcc g++:g++ python3:python3 sqlite3:sqlite3 redis-server:redis-server redis-benchmark:redis-tools
		heaptrack:heaptrack valgrind:valgrind"
	;;
*)
	echo "tools/setup.sh: unknown target $for_" >&2
	exit 2
	;;
esac

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
if [ "$for_" = demo ] && ! command -v sqlite3 >/dev/null 2>&1 && ! command -v python3 >/dev/null 2>&1; then
	packages+=(sqlite3)
fi
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
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
		echo "installing by apt-get: ${packages[*]}"
		export DEBIAN_FRONTEND=noninteractive
		apt-get update -qq
		apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
	else
		echo "missing: ${packages[*]} (names of Debian packages)" >&2
		echo "install them, for example: sudo apt-get install ${packages[*]}" >&2
		exit 1
	fi
fi

# A database that checks exported tables; not every release of Debian has it. Without it, its tests are skipped, but
# fail in CI. Its service is not started: the tests start their own server.
if [ "$for_" = test ] && [ "$(id -u)" = 0 ] && ! command -v clickhouse-server >/dev/null 2>&1 &&
	command -v apt-get >/dev/null 2>&1; then
	echo "installing by apt-get: clickhouse-server"
	apt-get update -qq
	export DEBIAN_FRONTEND=noninteractive
	RUNLEVEL=1 apt-get install -y -qq --no-install-recommends clickhouse-server >/dev/null ||
		echo "apt-get cannot install clickhouse-server: its tests are skipped"
fi

# Viewers that check exports. Without them, or without npm, their tests are skipped, but fail in CI.
if [ "$for_" = test ] && [ "$(id -u)" = 0 ] && command -v npm >/dev/null 2>&1; then
	viewers=()
	for p in speedscope hyparquet hyparquet-compressors; do
		[ -e "$(npm root -g)/$p" ] || viewers+=("$p")
	done
	if [ ${#viewers[@]} -gt 0 ]; then
		echo "installing by npm: ${viewers[*]}"
		npm install -g --silent "${viewers[@]}" >/dev/null 2>&1 ||
			echo "npm cannot install ${viewers[*]}: their tests are skipped"
	fi
fi

if ! command -v go >/dev/null 2>&1; then
	echo "missing: Go, the version that go.mod names or newer; see https://go.dev/dl" >&2
	exit 1
fi
