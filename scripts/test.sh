#!/usr/bin/env bash
# Runs the tests, with engines, and sums them up. The arguments are those of
# `go test`; without any it is everything.
#
# internal/testing/runner builds all test programs first, runs packages side by
# side that do not disturb each other, and then one at a time those that measure.
set -euo pipefail

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- ./...
[ "$(id -u)" = 0 ] || echo "test.sh: not root: whatever needs containers, cgroups or mounts is skipped" >&2

# On a CI machine everything can be installed, so that a skip tells of a mistake. It is
# shared: a test that fails runs once more, alone, and is listed.
strict=false again=()
[ "${CI:-}" != true ] && [ "${TARE_CI_STRICT:-}" != 1 ] || strict=true again=(-again)

# Engines of an ordinary user's take root to start.
rootless=(scripts/with-rootless.sh podman docker --)
[ "$(id -u)" = 0 ] || rootless=()

# -trimpath as in `make build`, so that both share the build cache.
export GOFLAGS="${GOFLAGS:-} -trimpath"
mkdir -p build/tools
go build -o build/tools/runner ./internal/testing/runner
go build -o build/tools/summary ./internal/testing/summary
scripts/with-engines.sh docker podman -- "${rootless[@]}" build/tools/runner "${again[@]}" "$@" |
	build/tools/summary -slowest 20 -allowed scripts/allowed-skips -strict="$strict"
