#!/usr/bin/env bash
# Runs a command whose temporary files are in memory: it mounts a file system for them,
# which $TMPDIR names, and unmounts it afterwards, however the command ended. Making many
# small files and taking them away again takes several times as long on a disk. With
# CI=true and 20 GiB of free memory the images of tests, which are 12, are there too, since
# nobody uses them again.
#
#   with-memory.sh COMMAND...
#
# Tests that are about a disk use /var/tmp (needs.Disk). Without the right to mount, with
# less than 12 GiB of free memory, or below another of these, the command runs as it is.
set -euo pipefail

[ $# -gt 0 ] || { sed -n '8s/^# *//p' "$0" >&2; exit 2; }
# shellcheck source=/dev/null
. "$(dirname "$0")/run.bash"
least=$((12 << 20)) # KiB
free=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
if [ -n "${TARE_TEST_MEMORY:-}" ] || [ "$(id -u)" != 0 ] || [ "${free:-0}" -lt "$least" ]; then exec "$@"; fi

# A short path, since those of sockets are limited. One that was killed has left its own.
# A link is not followed: anybody can make one there, to a file system of others.
for left in /tmp/tare.[0-9]*; do
	[ ! -d "$left" ] || [ -L "$left" ] || [ -d "/proc/${left##*.}" ] || { umount -R "$left" && rmdir "$left"; } || true
done
memory=/tmp/tare.$$
mkdir "$memory"
mount -t tmpfs -o size=70%,mode=1777 tare "$memory" || { rmdir "$memory"; exec "$@"; }
export TARE_TEST_MEMORY=$memory TMPDIR=$memory
[ "${CI:-}" != true ] || [ "$free" -lt $((20 << 20)) ] || export TARE_TEST_IMAGES=$memory/images

# shellcheck disable=SC2317 # the trap calls it
end() {
	# What still has a file open there keeps it, and nobody else finds it.
	umount -R "$memory" 2>/dev/null || umount -R -l "$memory"
	rmdir "$memory"
}
trap end EXIT
run "$@"
