#!/usr/bin/env bash
# Fuzzes every fuzz target for a while, one after the other.
#
#   fuzz.sh [TIME [PACKAGE...]]
set -euo pipefail

cd "$(dirname "$0")/.."
time=${1:-20s}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- ./...

# Read from the files: go test -list links every package's tests only to ask them.
go list -f '{{.Dir}} {{.ImportPath}}' "$@" |
	while read -r folder package; do
		cat "$folder"/*_test.go 2>/dev/null | sed -n "s|^func \(Fuzz[A-Za-z0-9_]*\)(.*|$package \1|p" || true
	done |
	while read -r package target; do
		echo "fuzz: $package $target for $time"
		# Making an input of many kilobytes small would take all of the time.
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 20x "$package" </dev/null
	done
