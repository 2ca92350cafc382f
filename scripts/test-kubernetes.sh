#!/usr/bin/env bash
# Runs the tests that need a Kubernetes cluster, with one of two nodes, and sums them
# up: those below internal/environment/kubernetes, and those of other packages with
# kubernetes in their names. The arguments are those of `go test`, except packages.
set -euo pipefail

cd "$(dirname "$0")/.."

# On a CI machine everything can be installed, so that a skip tells of a mistake. It is
# shared: a test that fails runs once more, alone, and is listed.
strict=false again=()
[ "${CI:-}" != true ] && [ "${TARE_CI_STRICT:-}" != 1 ] || strict=true again=(-again)

if [ "${1:-}" = --inside ]; then # of the cluster
	shift
	mapfile -t packages < <(grep -rlE --include='*_test.go' 'needs\.Cluster\(|/clustertest"' internal cmd | xargs -r dirname | sort -u)
	for package in "${packages[@]}"; do
		only=(-run '(?i)kubernetes')
		[[ $package != internal/testing/conformance ]] || only=(-run '/(?i)kubernetes')
		[[ $package != internal/environment/kubernetes* ]] || only=()
		build/tools/runner "${again[@]}" "${only[@]}" "$@" "./$package"
	done
	exit
fi

# Here nothing may be skipped for want of a cluster.
allowed=build/tools/allowed-skips-kubernetes
mkdir -p build/tools
grep -vi cluster scripts/allowed-skips >$allowed

# -trimpath as in `make build`, so that both share the build cache.
export GOFLAGS="${GOFLAGS:-} -trimpath"
go build -o build/tools/runner ./internal/testing/runner
go build -o build/tools/summary ./internal/testing/summary
scripts/with-engines.sh docker -- scripts/with-cluster.sh --nodes 2 -- scripts/test-kubernetes.sh --inside "$@" |
	build/tools/summary -slowest 20 -allowed $allowed -strict="$strict"
