#!/bin/sh
# Runs a study and checks the run by a budget, for a CI job:
#
#   check.sh STUDY BUDGET [DIRECTORY]
#
# DIRECTORY (tare-results) gets the run, its archive run.tare.tar.zst and its report, and
# the check as JUnit XML, as JSON and as Markdown for a comment. A run that is there from
# before is not measured over: remove it. STUDY can also be the directory of a run. The
# exit status is that of tare check: 0 met, 6 broken, 7 undecided; or that of tare run, if
# it failed. Variables:
#
#   TARE_BUDGET           how long the run may take (10m)
#   TARE_BASELINE         an earlier run to compare with: a directory, the file of tare
#                         pack, or the zip of a job's artifacts. Where no file is, as
#                         before the first run of the main branch, nothing is compared
#   TARE_ALLOW_UNDECIDED  true: end with 0 if no rule is broken
set -eu

study=$1 budget=$2 out=${3:-tare-results}
mkdir -p "$out"
rm -f "$out"/check.* "$out/run.tare.tar.zst"
# Later steps of a job are not root.
# shellcheck disable=SC2317 # the trap calls it
give_back() {
	[ -z "${SUDO_UID:-}" ] || chown -R "$SUDO_UID:${SUDO_GID:-}" "$out"
}
trap give_back EXIT
# dash skips the EXIT trap when a signal ends it, as when a CI job is cancelled.
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

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
tare pack "$run" --out "$out/run.tare.tar.zst" >/dev/null

# What the check says on stderr is said once, at the end.
check() {
	tare check "$run" --budget "$budget" --allow-undecided "$@" 2>"$out/check.log" || {
		status=$?
		[ "$status" = 6 ] || {
			cat "$out/check.log" >&2
			exit "$status"
		}
	}
	rm -f "$out/check.log"
}
check --format junit --out "$out/check.xml"
check --format json --out "$out/check.json"
check --format md --out "$out/check.md"
[ "${GITHUB_ACTIONS:-}" != true ] || check --format github
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$out/check.md" >>"$GITHUB_STEP_SUMMARY"

# A baseline that cannot be compared with, such as one of the study before a change, does
# not decide the job.
if [ -n "${TARE_BASELINE:-}" ]; then
	if [ -e "$TARE_BASELINE" ]; then
		status=0
		tare compare "$TARE_BASELINE" "$run" || status=$?
		# 3: a part of a run is missing, which tare says.
		[ "$status" = 0 ] || [ "$status" = 3 ] || echo "not compared with $TARE_BASELINE"
	else
		echo "no baseline: $TARE_BASELINE does not exist"
	fi
	echo
fi

status=0
allow=
[ "${TARE_ALLOW_UNDECIDED:-}" != true ] || allow=--allow-undecided
tare check "$run" --budget "$budget" ${allow:+"$allow"} || status=$?
exit "$status"
