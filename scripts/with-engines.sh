#!/usr/bin/env bash
# Runs a command while the container engines answer: starts those that do not,
# and ends them again afterwards, however the command ended. One that answers
# already is left alone, then and later.
#
#   with-engines.sh [docker] [podman] [containerd] -- COMMAND...
#
# An engine that cannot be started costs its environments, not the command.
# Several of these may run at once: the last one to end ends the engines.
set -euo pipefail

here=$(dirname "$0")
build=$(cd "$here/.." && pwd)/build
folder=$build/engines
PATH=$build/bin:$PATH
# shellcheck source=/dev/null
. "$here/run.bash"
engines=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	engines+=("$1")
	shift
done
[ $# -gt 1 ] || { sed -n '6s/^# *//p' "$0" >&2; exit 2; }
shift

mkdir -p "$folder"
exec 9>"$folder/lock"

# The engines' messages go to the standard error: the output is the command's.
# None of the programs below may inherit the lock.
# shellcheck disable=SC2317 # the trap calls it
end_engines() {
	flock -u 9
	flock -xn 9 || return 0
	local engine
	for engine in docker podman containerd; do # also those that another has started
		compgen -G "$folder/$engine*.pid" >/dev/null || continue
		"$here/start-dockerd.sh" stop "$engine" "$folder" 9>&- >&2 &
	done
	wait
}

flock -s 9
trap end_engines EXIT
# One starts engines while others wait: of two daemons one would fail, and take the pid
# file of the other with it.
exec 8>"$folder/starting"
flock 8
for engine in "${engines[@]}"; do
	"$here/start-dockerd.sh" start "$engine" "$folder" 8>&- 9>&- >&2 ||
		echo "with-engines.sh: going on without $engine" >&2
done
exec 8>&-

status=0
run "$@" 9>&- || status=$?
exit "$status"
