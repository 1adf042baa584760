#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares stacks with libgcc's, in code compiled with many flags: every scenario of scenarios.cc, at least EVENTS
# events of each, with each compiler and set of flags. Prints a table; exits 1 if a stack differs. run.sh passes the
# objects.
#
#   stacks.sh FOLDER EVENTS OBJECT...
set -eu
cd "$(dirname "$0")"
out=$1 events=$2
shift 2
sources=(scenarios.cc tree.cc nonlocal_exits.cc generated.cc stepping.cc)
failed=0

compilers=(g++)
if command -v clang++ >/dev/null; then
	compilers+=(clang++)
fi
builds=()
for c in "${compilers[@]}"; do
	for o in -O0 -O1 -O2 -O3; do
		for fp in "" -fno-omit-frame-pointer; do
			builds+=("$c $o $fp")
		done
	done
done
builds+=("g++ -Os -fcf-protection")
if grep -q avx2 /proc/cpuinfo; then
	builds+=("g++ -O3 -mavx2")
fi

build() { # number, objects...
	local n=$1
	shift
	# shellcheck disable=SC2086 # the flags are words
	${builds[n]} -Wall -Wextra "${sources[@]}" "$@" -o "$out/stacks-$n" -pthread -ldl -Wl,-z,lazy
}
for ((n = 0; n < ${#builds[@]}; n += 2)); do
	build $n "$@" &
	build $((n + 1)) "$@" &
	wait
done

mapfile -t scenarios < <("$out/stacks-0")
run() { # number
	local s most try status
	for s in "${scenarios[@]}"; do
		most=$events
		[ "$s" = steps ] && most=$((events * 15)) # they look alike
		# How many signals arrive where the call frame information is wrong differs from run to run: too many of
		# those stacks in three runs in a row are a fault. A stack that differs is one at once.
		for ((try = 0; try < 3; try++)); do
			status=0
			timeout 300 "$out/stacks-$1" "$s" "$most" >"$out/result-$1-$s" 2>&1 || status=$?
			[ $status = 3 ] || break
		done
		[ $status = 0 ] || echo "FAILED $s: ${builds[$1]}: status $status" >>"$out/result-$1-$s"
	done
}
for ((n = 0; n < ${#builds[@]}; n += 2)); do
	run $n &
	[ $((n + 1)) -lt ${#builds[@]} ] && run $((n + 1)) &
	wait
done

printf '%-16s' "stacks compared"
for ((n = 0; n < ${#builds[@]}; n++)); do
	printf ' %8s' "[$n]"
done
printf ' %10s %s\n' all mismatches
for s in "${scenarios[@]}"; do
	total=0 wrong=0
	printf '%-16s' "$s"
	for ((n = 0; n < ${#builds[@]}; n++)); do
		read -r count bad < <(awk '/ stacks, / { print $2, $4 }' "$out/result-$n-$s") || count=0 bad=0
		printf ' %8d' "$count"
		total=$((total + count)) wrong=$((wrong + bad))
	done
	printf ' %10d %d\n' $total $wrong
done
for ((n = 0; n < ${#builds[@]}; n++)); do
	echo "[$n] ${builds[n]}"
done
cat "$out"/result-* | sed -n 's/ *compared up to \(.*\) only: \(.*\)/\1 \2/p' |
	awk '{ n[$1] += $2 } END { for (f in n) print "compared up to " f " only, whose information is wrong: " n[f] }'
for f in "$out"/result-*; do
	if grep -q FAILED "$f"; then
		cat "$f"
		failed=1
	fi
done
exit $failed
