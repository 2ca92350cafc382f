#!/usr/bin/env bash
# Sums up the tests whose events are in build/tools/NAME.json: the slowest ones, those
# that were skipped, by reason, those that failed, and how many there were.
#
#   summary.sh NAME [ALLOWED]
#
# With CI=true or TARE_CI_STRICT=1 it fails for a skip whose reason is not in the file
# ALLOWED (scripts/allowed-skips): where everything can be installed, a test that did not
# run has a cause. With NIGHTLY=1 it fails for a test that passed only when it ran again.
set -euo pipefail

cd "$(dirname "$0")/.."
events=build/tools/$1.json
strict=false nightly=false
[ "${CI:-}" != true ] && [ "${TARE_CI_STRICT:-}" != 1 ] || strict=true
[ "${NIGHTLY:-}" != 1 ] || nightly=true

echo
echo "the slowest tests:"
build/bin/gotestsum tool slowest --threshold 2s --num 20 --jsonfile "$events"

# Of what tests print, only what stands behind a file and a line can be a reason.
{ grep -aE '"Action":"(run|pass|fail|skip|build-fail)"|\.go:[0-9]+: ' "$events" || true; } |
	jq -rn --rawfile allowed "${2:-scripts/allowed-skips}" --argjson strict $strict --argjson nightly $nightly -f scripts/summary.jq |
	{
		status=0
		while IFS= read -r line; do
			[ "$line" != "exit 1" ] || { status=1; continue; }
			printf '%s\n' "$line"
		done
		exit "$status"
	}
