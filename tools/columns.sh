#!/usr/bin/env bash
# Lists the lines of code and scripts that have more than 120 columns, as file:line. A tab counts as 4 in Go and as 8
# elsewhere. Exits 1 if there are any.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8

long=$(git ls-files '*.go' '*.c' '*.h' '*.cc' '*.cpp' '*.hpp' '*.inc' '*.rs' '*.sh' '*.py' Makefile .ci/run \
	'ui/*.ts' 'ui/*.tsx' 'ui/*.mjs' 'tests/browser/*.mjs' 'tests/stories/*.mjs' 'ui/src/*.css' |
	while read -r file; do
		tab=8
		[[ $file != *.go ]] || tab=4
		expand -t$tab "$file" | { grep -nE '.{121}' || true; } | sed -E "s|^([0-9]+):.*|$file:\1|"
	done)
[ -z "$long" ] || {
	echo "$long"
	exit 1
}
