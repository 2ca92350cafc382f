#!/usr/bin/env bash
# Runs the tests, with engines, and sums them up. The arguments are those of
# `go test`; without any it is everything.
#
# One package at a time: there are tests that watch cgroups, engines and clocks,
# and a machine that is busy with other tests disturbs them.
set -euo pipefail

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- ./...
[ "$(id -u)" = 0 ] || echo "test.sh: not root: whatever needs containers, cgroups or mounts is skipped" >&2

# On a CI machine everything can be installed, so that a skip tells of a mistake.
strict=false
[ "${CI:-}" != true ] && [ "${TARE_CI_STRICT:-}" != 1 ] || strict=true

# Engines of an ordinary user's take root to start.
rootless=(scripts/with-rootless.sh podman docker --)
[ "$(id -u)" = 0 ] || rootless=()

scripts/with-engines.sh docker podman -- "${rootless[@]}" go test -json -count=1 -p 1 -timeout 40m "$@" |
	go run ./internal/testing/summary -allowed scripts/allowed-skips -strict="$strict"
