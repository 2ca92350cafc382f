#!/usr/bin/env bash
# Builds tare and its agent in two directories and compares them byte by byte.
#
#   reproduce.sh [--from-nothing]
#
# What is committed, and what is changed in the checkout, is built. With
# --from-nothing each build has a cache of its own, so that every package is
# compiled twice: that takes some minutes. Without it, what both would compile
# alike is compiled once.
set -euo pipefail

cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case "${1:-}" in
"" | --from-nothing) ;;
*)
	sed -n '4s/^# *//p' "$0" >&2
	exit 2
	;;
esac

# Both are copied first: the checkout may change meanwhile. The paths differ in length.
one=$work/a other=$work/another/directory
mkdir -p "$one" "$other"
git ls-files -z --cached --others --exclude-standard |
	tar --create --null --files-from - --ignore-failed-read 2>/dev/null | tar --extract --directory "$one"
cp -a "$one/." "$other"
for copy in "$one" "$other"; do
	(
		cd "$copy"
		[ "${1:-}" != --from-nothing ] || export GOCACHE="$copy.cache"
		make --no-print-directory build VERSION=reproduced COMMIT=reproduced DATE=reproduced >&2
		sha256sum bin/tare internal/agent/program/tare-agent
	) >"$copy.sums"
done
if ! cmp --silent "$one.sums" "$other.sums"; then
	echo "reproduce: two builds of the same source differ:" >&2
	cat "$one.sums" "$other.sums" >&2
	exit 1
fi
cat "$one.sums"
