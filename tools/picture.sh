#!/usr/bin/env bash
# Records the README's example, the program of `make demo`, and draws its picture, docs/example/bookshop.svg. It prints
# what the README quotes.
set -euo pipefail
heaptap=$(realpath "${1:?usage: tools/picture.sh HEAPTAP}")
root=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$root/tools/demo/bookshop.amd64" bookshop
"$heaptap" run -o bookshop.htap ./bookshop
"$heaptap" leaks bookshop.htap
"$heaptap" export -f svg --metric peak -o bookshop.svg bookshop.htap
sed "s|$work/||g" bookshop.svg >"$root/docs/example/bookshop.svg"
