#!/usr/bin/env bash
# Builds the programs that the checks use into a directory, in the versions that
# tools/go.mod and tools/release/go.mod pin. The modules are apart from tare's own, so
# that their dependencies are not tare's.
#
#   install-tools.sh DIRECTORY PROGRAM...
#
# Nothing is built, or printed, for a program that is there in this version.
set -euo pipefail

[ $# -ge 2 ] || { sed -n '6s/^# *//p' "$0" >&2; exit 2; }
mkdir -p "$1"
bin=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../tools"

for program; do
	for module in . release; do
		package=$(sed -n "s|^\(tool \)\?[[:space:]]*\([^ ]*/$program\)\$|\2|p" "$module/go.mod")
		[ -z "$package" ] || break
	done
	[ -n "$package" ] || { echo "install-tools: no module in tools has the tool $program" >&2; exit 1; }
	# Every dependency counts, and the Go that built it: it reads Go's export data.
	version=$(go env GOVERSION && cd "$module" && sha256sum go.mod go.sum)
	if [ -x "$bin/$program" ] && [ "$(cat "$bin/$program.version" 2>/dev/null)" = "$version" ]; then
		continue
	fi
	echo "install-tools: building $package (a minute or two)"
	# With this GOGC the compiler takes less time, within the limit of memory.
	CGO_ENABLED=0 GOGC="${GOGC:-400}" GOMEMLIMIT="${GOMEMLIMIT:-2GiB}" go -C "$module" build -trimpath -ldflags "-s -w" -o "$bin/$program.new" "$package"
	mv "$bin/$program.new" "$bin/$program"
	echo "$version" >"$bin/$program.version"
done
