#!/usr/bin/env bash
# Checks the form of the code: gofmt, go vet, shellcheck.
set -euo pipefail

cd "$(dirname "$0")/.."
unformatted=$(git ls-files -z --cached --others --exclude-standard -- '*.go' | xargs -0 gofmt -l)
[ -z "$unformatted" ] || {
	echo "lint: not as gofmt writes it:" >&2
	echo "$unformatted" >&2
	exit 1
}
go vet ./...
shellcheck scripts/*.sh .ci/run
