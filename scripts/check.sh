#!/usr/bin/env bash
# The quick check: form of the code, then all tests that need only Go, with the
# race detector and in parallel. It needs no root, no engine and no network: known
# vulnerabilities are looked for if their database can be reached.
# Arguments are packages; without any it is all of them.
set -euo pipefail

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- ./...

# All that follows is built with the same flags, so that nothing is compiled twice.
# -w leaves out the debugger's tables, which take a third of the linker's time.
# With this GOGC the compiler and golangci-lint take less time, within the limit of
# memory. By default each program with the race detector sleeps for a second before
# it exits.
flags=(-race -ldflags=-w)
export CGO_ENABLED=1 GOGC="${GOGC:-400}" GOMEMLIMIT="${GOMEMLIMIT:-2GiB}" GORACE="${GORACE:-atexit_sleep_ms=0}"

# The tests embed an agent of these flags. It is not static, so it is not left
# where a later build of tare would embed it.
agent=internal/agent/program/tare-agent aside=build/tools/tare-agent
mkdir -p build/tools
[ ! -f "$agent" ] || mv "$agent" "$aside"
trap 'rm -f "$agent"; [ ! -f "$aside" ] || mv "$aside" "$agent"' EXIT
go build "${flags[@]}" -o "$agent" ./cmd/tare-agent

status=0
scripts/lint.sh "$@" || status=1
scripts/vulncheck.sh --if-reachable "$@" || status=1

# With CI=true a test that is skipped for another reason than -short fails the
# check, unless scripts/allowed-skips has the reason.
strict=false
[ "${CI:-}" != true ] && [ "${TARE_CI_STRICT:-}" != 1 ] || strict=true

# It is shared: a test that fails runs once more, alone, and is listed.
events=build/tools/check.json
again() {
	[ "$strict" = true ] || return 0
	CGO_ENABLED=0 go build -o build/tools/runner ./internal/testing/runner
	build/tools/runner -again-of "$events" -short "${flags[@]}"
}

# vet is left out because golangci-lint runs it. Tests that fail are among the events,
# and the summary counts them; else go itself failed.
go build "${flags[@]}" -o build/tools/summary-race ./internal/testing/summary
{
	go test -json -short -vet=off "${flags[@]}" -timeout 10m "$@" | tee "$events" ||
		{ grep -q '"Action":"fail"' "$events" && again; }
} | build/tools/summary-race -brief -allowed scripts/allowed-skips -strict="$strict" || status=1
exit "$status"
