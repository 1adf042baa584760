#!/usr/bin/env bash
# Builds the agent's libraries and the player of heaptap replay, or checks the committed ones.
#
#   tools/agent.sh build    build the files in agent/lib and store a hash of their sources
#   tools/agent.sh check    fail if the sources have changed since; if the compiler is the same, also rebuild and fail
#                           if the bytes differ
#
# The bytes depend only on the sources, the flags, the compiler and the linker: no paths, times or random build ids.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C SOURCE_DATE_EPOCH=0

: "${CC:=gcc}"
lib=agent/lib/libheaptap.amd64.so
none32=agent/lib/none32.so
player=agent/lib/player.amd64
empty=agent/lib/empty.amd64.so
sum=agent/lib/libheaptap.amd64.sum

# -fexceptions: C++ exceptions pass through the agent's frames. -fno-omit-frame-pointer: hooks read the caller's frame.
# -falign-functions: the fast path of a hook spans as few cache lines as possible.
# --sort-section=name: HT_LARGE data comes last. noseparate-code: two segments instead of four, which the loader maps,
# and fewer pages to fault in.
flags=(-O2 -Iagent/src -std=gnu11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -ftls-model=initial-exec -fexceptions
	-fasynchronous-unwind-tables -falign-functions=64 -fno-omit-frame-pointer -fno-plt -fno-stack-protector
	-fcf-protection=none -U_FORTIFY_SOURCE -Wall -Wextra -Werror "-ffile-prefix-map=$PWD=.")
link=(-shared "-Wl,-z,now" "-Wl,-z,relro" "-Wl,-z,noexecstack" "-Wl,--build-id=sha1" "-Wl,--hash-style=both"
	"-Wl,-soname,libheaptap.so" "-Wl,--sort-section=name" "-Wl,-z,noseparate-code" -s)

# The player needs glibc 2.17, and libpthread where that is not part of libc. start.c takes the place of the compiler's
# start files, which need a newer one.
player_flags=(-O2 -std=gnu11 -fPIE -fno-stack-protector -fcf-protection=none -U_FORTIFY_SOURCE -Wall -Wextra -Werror
	"-ffile-prefix-map=$PWD=.")
player_link=(-pie -nostartfiles "-Wl,--no-as-needed" -l:libpthread.so.0 "-Wl,-z,now" "-Wl,-z,relro"
	"-Wl,-z,noexecstack" "-Wl,--build-id=sha1" "-Wl,--hash-style=both" -s)

sources() { find agent/src include/heaptap agent/none32 agent/player -name '*.[ch]' 2>/dev/null | sort; }
hash_of_sources() {
	{
		sources | while read -r f; do
			printf '%s\n' "$f"
			cat "$f"
		done
		printf '%s\n' "${flags[@]/$PWD/}" "${link[@]}" "${player_flags[@]/$PWD/}" "${player_link[@]}"
	} | sha256sum | cut -d' ' -f1
}
compiler() { echo "$("$CC" --version | head -n 1) / $(ld --version | head -n 1)"; }

build() { # into a folder
	mapfile -t c < <(find agent/src -name '*.c' | sort)
	"$CC" "${flags[@]}" "${link[@]}" -o "$1/libheaptap.amd64.so" "${c[@]}"
	"$CC" "${player_flags[@]}" agent/player/{player,calls,start}.c "${player_link[@]}" -o "$1/player.amd64"
	"$CC" "${flags[@]}" "${link[@]}" -o "$1/empty.amd64.so" agent/player/empty.c
	chmod 644 "$1"/*
	# Some compilers cannot build 32-bit files; then the committed one stays.
	if "$CC" -m32 -Wall -Wextra -Werror -fPIC -fno-asynchronous-unwind-tables -nostdlib -shared -s \
		-Wl,-z,noseparate-code -Wl,-z,norelro -Wl,-z,noexecstack -Wl,--hash-style=sysv -Wl,--build-id=none \
		-Wl,-soname,libheaptap.so -o "$1/none32.so" agent/none32/none.c 2>"$1/m32.log"; then
		chmod 644 "$1/none32.so"
	else
		rm -f "$1/none32.so"
	fi
	rm -f "$1/m32.log"
}

case "${1-}" in
build)
	temp=$(mktemp -d)
	trap 'rm -rf "$temp"' EXIT
	build "$temp"
	# Rename instead of overwriting: a running program may have the old file mapped.
	for f in "$temp"/*; do
		cp "$f" "agent/lib/$(basename "$f").new"
		mv -f "agent/lib/$(basename "$f").new" "agent/lib/$(basename "$f")"
	done
	{
		echo "sources $(hash_of_sources)"
		echo "library $(sha256sum <$lib | cut -d' ' -f1)"
		echo "none32 $(sha256sum <$none32 | cut -d' ' -f1)"
		echo "player $(sha256sum <$player | cut -d' ' -f1)"
		echo "empty $(sha256sum <$empty | cut -d' ' -f1)"
		echo "compiler $(compiler)"
	} >$sum
	echo "$lib: $(wc -c <$lib) bytes"
	;;
check)
	noted() { sed -n "s/^$1 //p" $sum; }
	if [ "$(noted sources)" != "$(hash_of_sources)" ]; then
		echo "$lib is older than its sources: run \`make agent\` and commit agent/lib" >&2
		exit 1
	fi
	for pair in "library $lib" "none32 $none32" "player $player" "empty $empty"; do
		read -r name file <<<"$pair"
		if [ "$(noted "$name")" != "$(sha256sum <"$file" | cut -d' ' -f1)" ]; then
			echo "$file is not the file that $sum describes: run \`make agent\` and commit agent/lib" >&2
			exit 1
		fi
	done
	if ! command -v "$CC" >/dev/null || [ "$(noted compiler)" != "$(compiler)" ]; then
		echo "agent: the hash of the sources is right; the bytes are not compared, because they were made by" \
			"$(noted compiler)"
		exit 0
	fi
	temp=$(mktemp -d)
	trap 'rm -rf "$temp"' EXIT
	build "$temp"
	cmp "$temp/libheaptap.amd64.so" $lib
	cmp "$temp/player.amd64" $player
	cmp "$temp/empty.amd64.so" $empty
	[ ! -e "$temp/none32.so" ] || cmp "$temp/none32.so" $none32
	echo "agent: the committed libraries equal a rebuild from their sources"
	;;
*)
	echo "usage: tools/agent.sh build|check" >&2
	exit 2
	;;
esac
