#!/usr/bin/env bash
# Runs a command that prints what `go test -json` prints, and shows with gotestsum a
# line for each package and failures in full, as they happen. The events go to
# build/tools/NAME.json, from which scripts/summary.sh counts.
#
#   gotestsum.sh NAME COMMAND...
#
# With CI=true a test that failed runs once more, alone, if no more than eight failed.
# gotestsum then adds -test.run=PATTERN and the package to the command.
set -euo pipefail

[ $# -ge 2 ] || { sed -n '6s/^# *//p' "$0" >&2; exit 2; }
here=$(dirname "$0")
build=$here/../build
events=$build/tools/$1.json
shift
mkdir -p "$build/tools"
: >"$events"
again=()
[ "${CI:-}" != true ] || again=(--rerun-fails=1 --rerun-fails-max-failures=8)
"$here/install-tools.sh" "$build/bin" gotestsum >&2
exec "$build/bin/gotestsum" --raw-command --format=pkgname-and-test-fails --format-icons=text --hide-summary=skipped \
	--jsonfile="$events" "${again[@]}" -- "$@"
