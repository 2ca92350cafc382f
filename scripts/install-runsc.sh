#!/bin/sh
# Builds gVisor's runsc from its Go module and leaves it in a folder, with the
# module's version beside it: the program itself says only VERSION_MISSING.
#
#   install-runsc.sh FOLDER
#
# Nothing is built, or said, when the folder has this version already.
set -eu

# The commit, not a tag: the module's own release tags are not Go versions.
version=v0.0.0-20260905035102-160fafc42237

[ $# -eq 1 ] || {
	sed -n '5s/^# *//p' "$0" >&2
	exit 2
}
mkdir -p "$1"
folder=$(cd "$1" && pwd)

if [ -x "$folder/runsc" ] && [ "$(cat "$folder/runsc.version" 2>/dev/null)" = "$version" ]; then
	exit 0
fi
command -v go >/dev/null || {
	echo "install-runsc.sh: no go command: install Go first" >&2
	exit 1
}

echo "install-runsc.sh: building gVisor $version into $folder (about a minute)"
# A folder of its own, so that a half-built program is never found by anybody.
# Static, because the sandbox executes it again from within an empty root: one
# that needs a loader there ends with "cannot read client sync file: EOF".
build=$(mktemp -d "$folder/.runsc.XXXXXX")
trap 'rm -rf "$build"' EXIT
trap 'exit 130' INT TERM
(cd "$build" && GOBIN=$build CGO_ENABLED=0 go install "gvisor.dev/gvisor/runsc@$version")
mv "$build/runsc" "$folder/runsc"
echo "$version" >"$folder/runsc.version"
echo "install-runsc.sh: $folder/runsc is $version"
