#!/usr/bin/env bash
# Runs the tests that need a Kubernetes cluster, with one of two nodes, and sums them
# up: those below internal/environment/kubernetes, and those of other packages with
# kubernetes in their names. The arguments are those of `go test`, except packages.
set -euo pipefail

cd "$(dirname "$0")/.."
# With this GOGC the parts of a cluster, the linker and tests take less time.
export GOGC="${GOGC:-400}"

if [ "${1:-}" = --inside ]; then # of the cluster
	shift
	case "${*: -2:1}" in -test.run=*) exec scripts/go-test.sh "$@" ;; esac # once more
	mapfile -t packages < <(grep -rlE --include='*_test.go' 'needs\.Cluster\(|/clustertest"' internal cmd | xargs -r dirname | sort -u)
	status=0
	for package in "${packages[@]}"; do
		only=(-run='(?i)kubernetes')
		[[ $package != internal/testing/conformance ]] || only=(-run='/(?i)kubernetes')
		[[ $package != internal/environment/kubernetes* ]] || only=()
		scripts/go-test.sh --linked "${only[@]}" "$@" "./$package" || status=1
	done
	exit "$status"
fi

# Here nothing may be skipped for want of a cluster.
allowed=build/tools/allowed-skips-kubernetes
mkdir -p build/tools
grep -vi cluster scripts/allowed-skips >$allowed

status=0
scripts/with-engines.sh docker -- scripts/with-cluster.sh --nodes 2 -- scripts/gotestsum.sh kubernetes scripts/test-kubernetes.sh --inside "$@" || status=1
scripts/summary.sh kubernetes $allowed || status=1
exit "$status"
