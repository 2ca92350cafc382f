#!/usr/bin/env bash
# The quick check: form of the code, then all tests that need only Go, with the
# race detector and in parallel. It needs no root, no engine and no network.
# Arguments are packages; without any it is all of them.
set -euo pipefail

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- ./...
status=0
scripts/lint.sh "$@" || status=1

# With CI=true a test that is skipped for another reason than -short fails the
# check, unless scripts/allowed-skips has the reason.
strict=false
[ "${CI:-}" != true ] && [ "${TARE_CI_STRICT:-}" != 1 ] || strict=true

# vet is left out because golangci-lint runs it; -w leaves out the debugger's
# tables, which take a third of the linker's time.
CGO_ENABLED=1 go test -json -race -short -vet=off -ldflags=-w -timeout 10m "$@" |
	go run ./internal/testing/summary -brief -allowed scripts/allowed-skips -strict="$strict" || status=1
exit "$status"
