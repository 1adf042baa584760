#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests of the unwinder, outside of the agent. Prints a line for each; exits 1 if one fails. Needs gcc; uses clang if it
# is there. About a minute on two cores.
set -eu
cd "$(dirname "$0")"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failed=0

warn=(-Wall -Wextra -Werror -g)
pure=(../src/cfi.c ../src/cfi_step.c ../src/maps.c ../src/modules.c ../src/cct.c)
all=(cfi cfi_step maps modules rules cct stack full memo unwind)

try() {
	"$@" || { failed=1; echo "FAILED: $*"; }
}

# The pure parts, with sanitizers.
san=(-O1 -fsanitize=address -fsanitize=undefined -fno-sanitize-recover=undefined)
gcc "${warn[@]}" "${san[@]}" test_cfi.c fake.c "${pure[@]}" -o "$out/test_cfi" &
gcc "${warn[@]}" "${san[@]}" fuzz_cfi.c fake.c "${pure[@]}" -o "$out/fuzz_cfi" &
wait %1 && wait %2
try "$out/test_cfi"
try "$out/fuzz_cfi" "${FUZZ_SECONDS:-4}"

# The rest, as the agent has it.
objects=()
for f in "${all[@]}"; do
	gcc "${warn[@]}" -O2 -fPIC -fvisibility=hidden -fasynchronous-unwind-tables -c "../src/$f.c" -o "$out/$f.o"
	objects+=("$out/$f.o")
done
gcc "${warn[@]}" -O2 -c fake.c -o "$out/fake.o"
gcc "${warn[@]}" -O2 -fno-omit-frame-pointer -c check.c -o "$out/check.o"
objects+=("$out/fake.o")

gcc "${warn[@]}" -O2 test_frames.c "$out/check.o" "${objects[@]}" -o "$out/frames" -pthread
try "$out/frames"

for n in a b c; do
	gcc "${warn[@]}" -O2 -fPIC -shared -Wl,--build-id "-DNAME=\"$n\"" plugin.c -o "$out/plugin_$n.so"
done
gcc "${warn[@]}" -O2 -fno-omit-frame-pointer -rdynamic test_unload.c "${objects[@]}" -o "$out/unload" -ldl
try "$out/unload" "$out/plugin_a.so" "$out/plugin_b.so" "$out/plugin_c.so"

# The same without _dl_find_object, as with older C libraries.
gcc "${warn[@]}" -O2 -DOLD_LIBC -c fake.c -o "$out/fake_old.o"
old=("${objects[@]/$out\/fake.o/$out/fake_old.o}")
gcc "${warn[@]}" -O2 -fno-omit-frame-pointer -rdynamic test_unload.c "${old[@]}" -o "$out/unload-old" -ldl
try "$out/unload-old" "$out/plugin_a.so" "$out/plugin_b.so" "$out/plugin_c.so"
g++ -O2 -g scenarios.cc "$out/check.o" "${old[@]}" -o "$out/gcc-O2-old" -pthread -ldl
try "$out/gcc-O2-old" threads 300

# Stacks against libgcc's, from code compiled in many ways.
scenario() { # name, compiler, flags...
	local name=$1
	shift
	"$@" -g scenarios.cc "$out/check.o" "${objects[@]}" -o "$out/$name" -pthread -ldl
	for what in all threads timers escapes; do
		try "$out/$name" "$what" 500
	done
}
scenario gcc-O0 g++ -O0
scenario gcc-O2 g++ -O2
scenario gcc-O3-fp g++ -O3 -fno-omit-frame-pointer
scenario gcc-Os-shadow g++ -Os -fcf-protection
if grep -q avx2 /proc/cpuinfo; then
	scenario gcc-O3-avx g++ -O3 -mavx2
fi
if command -v clang++ >/dev/null; then
	scenario clang-O0 clang++ -O0
	scenario clang-O2 clang++ -O2
	scenario clang-O1-fp clang++ -O1 -fno-omit-frame-pointer
fi

[ $failed = 0 ] && echo "unwinder: all tests passed"
exit $failed
