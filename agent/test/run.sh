#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tests the unwinder outside of the agent, and the agent from inside. Prints a line for each test; exits 1 if one fails.
# Needs gcc; uses clang if it is installed. Takes two minutes on two cores.
#
#   run.sh [PART...]    all parts, or these: arrays cfi filters sampling inside observe frames deep unload stacks
#
# EVENTS=100000 makes 100,000 events of every kind with every compiler's flags, instead of with all of them together.
set -eu
cd "$(dirname "$0")"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failed=0

warn=(-Wall -Wextra -Werror -g -I../src)
pure=(../src/spool/sum.c ../src/unwind/{frames,cfi_find,cfi,cfi_step,maps,modules,cct}.c)
all=(spool/sum
	unwind/{frames,cfi_find,cfi,cfi_step,maps,modules,rules,cct,stack,full,complex,memo,settle,deep,walk,unwind})

try() {
	"$@" || { failed=1; echo "FAILED: $*"; }
}

# The pure parts, with sanitizers.
san=(-O1 -fsanitize=address -fsanitize=undefined -fno-sanitize-recover=undefined)
part_cfi() {
	gcc "${warn[@]}" "${san[@]}" test_cfi.c fake.c "${pure[@]}" -o "$out/test_cfi" &
	gcc "${warn[@]}" "${san[@]}" fuzz_cfi.c fake.c "${pure[@]}" -o "$out/fuzz_cfi" &
	wait %1 && wait %2
	try "$out/test_cfi"
	try "$out/fuzz_cfi" "${FUZZ_SECONDS:-4}"
}

# The spool's arrays, extended by many threads at once.
part_arrays() {
	gcc "${warn[@]}" -std=gnu11 -D_GNU_SOURCE -O2 test_arrays.c ../src/base/*.c ../src/spool/sum.c \
		-o "$out/arrays" -pthread
	try "$out/arrays" 20
}

# Seccomp filters, against the kernel.
part_filters() {
	gcc "${warn[@]}" "${san[@]}" test_bpf.c ../src/base/bpf.c -o "$out/test_bpf"
	gcc "${warn[@]}" -O2 test_bpf.c ../src/base/bpf.c -o "$out/judge_bpf"
	try "$out/test_bpf" cases
	try "$out/test_bpf" fuzz "${FUZZ_SECONDS:-4}"
	try "$out/judge_bpf" judge 2000
}

# Sampling, against the documented probabilities.
part_sampling() {
	gcc "${warn[@]}" -O2 -fsanitize=undefined -fno-sanitize-recover=undefined test_sampled.c -o "$out/sampled" -lm
	try "$out/sampled"
}

# The whole agent, with a probe inside.
part_inside() {
	gcc "${warn[@]}" -std=gnu11 -D_GNU_SOURCE -O2 -fPIC -fvisibility=hidden -ftls-model=initial-exec -fexceptions \
		-fno-omit-frame-pointer -fno-plt -fno-stack-protector -shared -Wl,-z,now -Wl,--wrap=ht_walk \
		../src/*/*.c probe.c -o "$out/probe.so"
	gcc "${warn[@]}" -D_GNU_SOURCE -O2 -fno-omit-frame-pointer inside.c -o "$out/inside" -pthread
	try env LD_PRELOAD="$out/probe.so" HEAPTAP_DIR="$out" "$out/inside"
}

# Measures and monitors in many threads, under ThreadSanitizer.
part_observe() {
	gcc "${warn[@]}" -O1 -fsanitize=thread test_observe.c ../src/observe/measure.c ../src/observe/monitor.c \
		-o "$out/observe" -pthread
	try "$out/observe"
}

# The unwinder, compiled as in the agent, once.
objects=()
need_objects() {
	[ ${#objects[@]} = 0 ] || return 0
	local f
	for f in "${all[@]}"; do
		gcc "${warn[@]}" -O2 -fPIC -fvisibility=hidden -fasynchronous-unwind-tables -c "../src/$f.c" \
			-o "$out/$(basename "$f").o"
		objects+=("$out/$(basename "$f").o")
	done
	gcc "${warn[@]}" -O2 -c fake.c -o "$out/fake.o"
	gcc "${warn[@]}" -O2 -fno-omit-frame-pointer -c check.c -o "$out/check.o"
	objects+=("$out/fake.o")
}

part_frames() {
	need_objects
	gcc "${warn[@]}" -O2 test_frames.c "$out/check.o" "${objects[@]}" -o "$out/frames" -pthread
	try "$out/frames"
}

part_deep() {
	need_objects
	gcc "${warn[@]}" -O2 -fno-optimize-sibling-calls test_deep.c "$out/check.o" "${objects[@]}" \
		-o "$out/deep" -pthread
	try "$out/deep"
	gcc "${warn[@]}" -O2 -fno-optimize-sibling-calls test_switch.c "$out/check.o" "${objects[@]}" \
		-o "$out/switch" -pthread
	try "$out/switch"
}

part_unload() {
	need_objects
	local n old
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
	g++ -O2 -g -I../src scenarios.cc tree.cc nonlocal_exits.cc generated.cc stepping.cc "$out/check.o" "${old[@]}" \
		-o "$out/old" -pthread -ldl
	try "$out/old" threads 20000
}

# Stacks against libgcc's, from code compiled in many ways.
part_stacks() {
	need_objects
	try ./stacks.sh "$out" "${EVENTS:-7000}" "$out/check.o" "${objects[@]}"
}

parts=("$@")
[ $# -gt 0 ] || parts=(arrays cfi filters sampling inside observe frames deep unload stacks)
for part in "${parts[@]}"; do
	case $part in
	arrays) part_arrays ;;
	cfi) part_cfi ;;
	filters) part_filters ;;
	sampling) part_sampling ;;
	inside) part_inside ;;
	observe) part_observe ;;
	frames) part_frames ;;
	deep) part_deep ;;
	unload) part_unload ;;
	stacks) part_stacks ;;
	*)
		echo "there is no part $part" >&2
		exit 2
		;;
	esac
done

[ $failed = 0 ] && echo "unwinder and agent: all tests passed"
exit $failed
