#!/usr/bin/env bash
# Builds the program that `make demo` records, or checks the committed one.
#
#   tools/demo/build.sh build    build tools/demo/bookshop.amd64 and store a hash of its source
#   tools/demo/build.sh check    fail if the source has changed since; if the compiler is the same, also rebuild, and
#                                fail if the bytes differ
#
# The bytes depend only on the source, the flags, the compiler and the linker.
set -euo pipefail
cd "$(dirname "$0")"
export LC_ALL=C SOURCE_DATE_EPOCH=0

: "${CC:=gcc}"
program=bookshop.amd64
sum=bookshop.amd64.sum
flags=(-O1 -g -std=gnu11 -D_GNU_SOURCE -fPIE -pie -fcf-protection=none -U_FORTIFY_SOURCE -Wall -Wextra -Werror
	"-ffile-prefix-map=$PWD=." "-Wl,--build-id=sha1" "-Wl,--hash-style=both")

hash_of_source() {
	{
		cat bookshop.c
		printf '%s\n' "${flags[@]/$PWD/}"
	} | sha256sum | cut -d' ' -f1
}
compiler() { echo "$("$CC" --version | head -n 1) / $(ld --version | head -n 1)"; }
noted() { sed -n "s/^$1 //p" $sum; }

case "${1-}" in
build)
	"$CC" "${flags[@]}" -o $program bookshop.c
	{
		echo "source $(hash_of_source)"
		echo "program $(sha256sum <$program | cut -d' ' -f1)"
		echo "compiler $(compiler)"
	} >$sum
	;;
check)
	if [ "$(noted source)" != "$(hash_of_source)" ] ||
		[ "$(noted program)" != "$(sha256sum <$program | cut -d' ' -f1)" ]; then
		echo "tools/demo/$program is not built from its source: run tools/demo/build.sh build and commit it" >&2
		exit 1
	fi
	if ! command -v "$CC" >/dev/null || [ "$(noted compiler)" != "$(compiler)" ]; then
		echo "demo: the hash of the source is right; the bytes are not compared, because they were made by" \
			"$(noted compiler)"
		exit 0
	fi
	temp=$(mktemp)
	trap 'rm -f "$temp"' EXIT
	"$CC" "${flags[@]}" -o "$temp" bookshop.c
	cmp "$temp" $program
	echo "demo: the committed program equals a rebuild from its source"
	;;
*)
	echo "usage: tools/demo/build.sh build|check" >&2
	exit 2
	;;
esac
