#!/usr/bin/env bash
# The quick check: form of the code, then all tests that need only Go. It needs no
# root, no engine and no network: known vulnerabilities are looked for if their
# database can be reached. Results of tests are reused while nothing that they read
# has changed.
#
#   check.sh [-race] [PACKAGE...]
#
# Without packages it is all of them.
set -euo pipefail

cd "$(dirname "$0")/.."
race=
if [ "${1:-}" = -race ]; then
	race=-race
	shift
fi
[ $# -gt 0 ] || set -- ./...

status=0
scripts/lint.sh "$@" || status=1
# golangci-lint runs vet. -w leaves out the debugger's tables, which take a third of
# the linker's time.
# shellcheck disable=SC2086 # a flag or none
scripts/gotestsum.sh check scripts/go-test.sh --check -short -vet=off -ldflags=-w -timeout=10m $race "$@" || status=1
scripts/summary.sh check || status=1
exit "$status"
