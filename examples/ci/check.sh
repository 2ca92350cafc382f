#!/bin/sh
# Runs a study and checks the run by a budget, for a CI job:
#
#   check.sh STUDY BUDGET [DIRECTORY]
#
# DIRECTORY (tare-results) gets the run, its report, and the check as JUnit XML and as
# Markdown for a comment. STUDY can also be the directory of a run. The exit status is
# that of tare check: 0 met, 6 broken, 7 undecided; or that of tare run, if it failed.
# TARE_BUDGET is how long the run may take (10m), and TARE_BASELINE the directory of an
# earlier run to compare with.
set -eu

study=$1 budget=$2 out=${3:-tare-results}
mkdir -p "$out"
if [ -d "$study" ]; then
	run=$study
else
	run=$out/run
	status=0
	tare run "$study" --out "$run" --budget "${TARE_BUDGET:-10m}" || status=$?
	# 3: some trials failed. The check says what could not be decided without them.
	[ "$status" = 0 ] || [ "$status" = 3 ] || exit "$status"
fi
tare report "$run" --format html --out "$out/report.html" >/dev/null

check() {
	tare check "$run" --budget "$budget" --allow-undecided "$@" || [ $? = 6 ]
}
check --format junit --out "$out/check.xml"
check --format md --out "$out/check.md"
[ "${GITHUB_ACTIONS:-}" != true ] || check --format github
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$out/check.md" >>"$GITHUB_STEP_SUMMARY"
[ -z "${TARE_BASELINE:-}" ] || tare compare "$TARE_BASELINE" "$run"
exec tare check "$run" --budget "$budget"
