#!/usr/bin/env bash
# Checks the form of the code: gofmt, golangci-lint (.golangci.yml), shellcheck.
# Arguments are packages; without any it is all of them.
set -euo pipefail

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- ./...
failed=0

unformatted=$(git ls-files -z --cached --others --exclude-standard -- '*.go' | xargs -0 gofmt -l)
[ -z "$unformatted" ] || {
	echo "lint: not formatted; run gofmt -w on:" >&2
	echo "$unformatted" >&2
	failed=1
}

# The cache stays in the checkout, like all else that make builds. golangci-lint
# reads what the compiler exports; with -race it reads what the tests of make
# check need anyway, so that dependencies are compiled once and not twice.
CGO_ENABLED=1 GOFLAGS="${GOFLAGS:-} -race" \
	GOLANGCI_LINT_CACHE=${GOLANGCI_LINT_CACHE:-$PWD/build/cache/golangci-lint} golangci-lint run "$@" || failed=1
shellcheck scripts/*.sh .ci/run examples/ci/*.sh || failed=1
exit "$failed"
