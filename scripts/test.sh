#!/usr/bin/env bash
# Runs the tests, with engines, and sums them up. The arguments are those of
# `go test`; packages begin with ./ and without any it is everything.
set -euo pipefail

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- ./...
[ "$(id -u)" = 0 ] || echo "test.sh: not root: whatever needs containers, cgroups or mounts is skipped" >&2

# Engines of an ordinary user's take root to start.
rootless=(scripts/with-rootless.sh podman docker --)
[ "$(id -u)" = 0 ] || rootless=()

status=0
scripts/with-memory.sh scripts/with-engines.sh docker podman containerd -- "${rootless[@]}" scripts/gotestsum.sh test scripts/go-test.sh --phases "$@" || status=1
scripts/summary.sh test || status=1
exit "$status"
