#!/usr/bin/env bash
# Checks the form of the code, without running it: gofmt, golangci-lint
# (.golangci.yml), shellcheck; and govulncheck, if its database can be reached.
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

# It reads what the compiler exports. The flags are those of make (GOFLAGS), so that
# what it has compiled is not compiled again for the tests. With this GOGC both take
# less time, within the limit of memory. Its results for packages, most of them
# dependencies, are kept in Go's cache, so that all checkouts share them.
GOGC="${GOGC:-400}" GOMEMLIMIT="${GOMEMLIMIT:-2GiB}" \
	GOLANGCI_LINT_CACHE=${GOLANGCI_LINT_CACHE:-$(go env GOCACHE)/golangci-lint} golangci-lint run "$@" || failed=1
shellcheck scripts/*.sh scripts/*.bash .ci/run examples/ci/*.sh || failed=1
scripts/vulncheck.sh --if-reachable "$@" || failed=1
exit "$failed"
