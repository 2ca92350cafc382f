#!/usr/bin/env bash
# Runs a command while a Kubernetes cluster of this machine answers, and ends the
# cluster afterwards, however the command ended. Fails if something of it is left.
#
#   with-cluster.sh [--nodes N] -- COMMAND...
#
# The command finds it by $KUBECONFIG (an administrator's) and by $TARE_TEST_CLUSTER,
# the folder that scripts/start-cluster.sh describes; kubectl is on its PATH. It
# needs root. A second one waits until the first has ended.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/run.bash"
nodes=1
if [ "${1:-}" = --nodes ]; then
	nodes=${2:-}
	shift 2
fi
if [ "${1:-}" != -- ] || [ $# -lt 2 ]; then
	sed -n '5s/^# *//p' "$0" >&2
	exit 2
fi
shift

"$here/install-runsc.sh" "$here/../build/bin" >&2
"$here/install-cluster.sh" "$here/../build/cluster/bin" >&2

# No part of the cluster may inherit the lock.
exec 9>/run/lock/tare-cluster
flock 9
status=1

# shellcheck disable=SC2317 # the trap calls it
end() {
	"$here/start-cluster.sh" down 9>&- >&2 || { [ "$status" != 0 ] || status=1; }
	exit "$status"
}
trap end EXIT
# One that was killed has left its cluster.
"$here/start-cluster.sh" down 9>&- >&2
"$here/start-cluster.sh" up "$nodes" 9>&- >&2
export KUBECONFIG=/var/tmp/tare-cluster/admin.kubeconfig TARE_TEST_CLUSTER=/var/tmp/tare-cluster
PATH=$TARE_TEST_CLUSTER/bin:$PATH run "$@" 9>&- && status=0 || status=$?
