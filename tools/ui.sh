#!/usr/bin/env bash
# Builds the web app, ui/dist, from its sources, or checks that the committed one is what they give.
#
#   tools/ui.sh install|build|check
#
# install only installs the packages that building and testing need, as ui/package-lock.json names them. Without node,
# check says so and leaves the comparison to CI; `go test ./ui` compares hashes without it.
set -euo pipefail
task=${1:?usage: tools/ui.sh install|build|check}
cd "$(dirname "$0")/../ui"

if ! command -v npm >/dev/null 2>&1; then
	echo "missing: nodejs and npm (names of Debian packages)" >&2
	if [ "$task" = check ] && [ -z "${CI-}" ]; then
		echo "ui/dist is not built again: CI compares it" >&2
		exit 0
	fi
	exit 1
fi
# npm writes this file last. It is as new as what is installed.
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
	echo "installing by npm: what ui/package-lock.json names"
	npm ci --ignore-scripts --silent
fi
case $task in
install) ;;
build) node build.mjs ;;
check) node build.mjs check ;;
*)
	echo "tools/ui.sh: unknown task $task" >&2
	exit 2
	;;
esac
