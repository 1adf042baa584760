#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Counts what a pair of malloc and free costs in instructions, mispredicted branches and cache misses. valgrind
# simulates them, so the numbers are the same on every machine and under any load. Prints a table: what the loops of
# tests/programs/src/w.c take with the forwarding shim of bench/src, and what the agent adds. The rows monitor and
# measure are exact mode with an empty monitor and with a measure of the main thread. Needs gcc and valgrind; takes four
# minutes.
#
#   instructions.sh [LIBRARY]      default: the committed one
#
# A row is the difference between two lengths of the same loop, so start and end do not count. There is no recorder:
# full chunks go to the spill file (a system call for each 64 KiB, of which the kernel's part is not counted).
set -eu
cd "$(dirname "$0")/../.."
library=$(realpath "${1:-agent/lib/libheaptap.amd64.so}")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
short=50000 long=150000

gcc -O2 -fPIC -shared bench/src/shim.c -o "$out/shim.so" -ldl
gcc -O2 -fPIC -shared -Iinclude bench/src/monitor.c -o "$out/monitor.so"
gcc -O2 tests/programs/src/w.c -o "$out/w" -pthread

# Instructions, data references, mispredictions, first-level and last-level data misses of one run.
count() { # loop, pairs, variables...
	local loop=$1 pairs=$2
	shift 2
	mkdir "$out/run"
	env "$@" HEAPTAP_DIR="$out/run" valgrind --tool=callgrind --cache-sim=yes --branch-sim=yes \
		--callgrind-out-file=/dev/null "$out/w" "$loop" "$pairs" 2>&1 >/dev/null |
		sed -n 's/,//g; s/^==[0-9]*== *//
			s/^Collected *: //p' |
		# Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim
		awk '{ print $1, $2 + $3, $11 + $13, $4, $5 + $6, $8 + $9 }'
	rm -rf "$out/run"
}

per_pair() { # loop, variables...
	local loop=$1 a b
	shift
	a=$(count "$loop" $short "$@")
	b=$(count "$loop" $long "$@")
	echo "$a $b" | awk -v n=$((long - short)) '{ for (i = 1; i <= 6; i++) printf "%.3f ", ($(i + 6) - $i) / n }'
}

row() { # loop, name, the shim's numbers; standard input: this one's
	awk -v loop="$1" -v name="$2" -v base="$3" '
	{
		split(base, b)
		printf "%-8s %-18s %8.1f %8.1f %10.3f %8.3f %8.3f %8.3f\n", loop, name,
			$1 - b[1], $2 - b[2], $3 - b[3], $4 - b[4], $5 - b[5], $6 - b[6]
	}'
}

printf '%-8s %-18s %8s %8s %10s %8s %8s %8s\n' loop mode instr data mispredict I1-miss D1-miss LL-miss
for loop in ${LOOPS:-w1 w1d w2}; do
	shim=$(per_pair "$loop" LD_PRELOAD="$out/shim.so")
	echo "$shim" | row "$loop" "shim, all of it" "0 0 0 0 0 0"
	for mode in "exact HEAPTAP_MODE=exact" "free-stacks HEAPTAP_FREE_STACKS=1" "sampled-512K HEAPTAP_MODE=sampled" \
		"count HEAPTAP_MODE=count" "off HEAPTAP_MODE=off" \
		"monitor HEAPTAP_MONITOR_LIBRARIES=$out/monitor.so:" \
		"measure HEAPTAP_MONITOR_LIBRARIES=$out/monitor.so:measure"; do
		preload=$library
		[[ $mode != *monitor.so:* ]] || preload+=:$out/monitor.so
		per_pair "$loop" LD_PRELOAD="$preload" "${mode#* }" | row "$loop" "${mode%% *}" "$shim"
	done
done
