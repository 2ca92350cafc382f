#!/usr/bin/env bash
# Runs `go test -json`, for scripts/gotestsum.sh. Arguments are those of `go test`;
# packages begin with ./
#
#   go-test.sh [--check|--phases|--linked] [FLAG...] [PACKAGE...] [-test.run=PATTERN PACKAGE]
#
# --check runs those tests anew that read the whole tree, and reuses results of others.
# --phases runs the packages and parts of packages in the order of scripts/test-phases:
# those that do not disturb each other side by side, then one at a time those that
# measure. Tests that the caller picks run in one go. --linked runs them in the program that
# --phases links, where both have the same $TARE_TEST_PROGRAMS. What -test.run picks, which
# gotestsum adds, runs instead of all the packages.
#
# It knows no test, except for the list.
set -euo pipefail

cd "$(dirname "$0")/.."
lanes=4
form=
case "${1:-}" in --check | --phases | --linked)
	form=$1
	shift
	;;
esac
flags=() building=() testing=() packages=() pattern=
while [ $# -gt 0 ]; do
	case $1 in
	-test.run=*) pattern=${1#*=} packages=("$2") && shift ;;
	-run | -skip | -bench) flags+=("$1=$2") && form=${form#--phases} form=${form#--check} && shift ;;
	-run=* | -skip=* | -bench=*) flags+=("$1") form=${form#--phases} form=${form#--check} ;;
	./*) packages+=("$1") ;;
	*) flags+=("$1") ;;
	esac
	shift
done

# named PART : names a part behind its package in events, each in one write, since others
# print at the same time.
named() {
	# shellcheck disable=SC2016 # of Perl
	perl -ne 'BEGIN { $part = shift } s/"Package":"[^"]*/$& ($part)/ if $part; syswrite STDOUT, $_' "$1"
}

# events PART ARGUMENT... : of go test.
events() {
	local part=$1
	shift
	go test -json "${flags[@]}" "$@" | named "$part"
}

# also PACKAGE : the tests that each part of it has.
also() { sed -n "s|^also  *$1  *||p" scripts/test-phases; }

if [ -n "$pattern" ]; then
	package=${packages[0]%% *} part=
	[ "$package" = "${packages[0]}" ] || { part=${packages[0]#*(} && part=${part%)}; }
	# A package that failed, while none of its tests did, is no better without them.
	[ "$pattern" != '^$' ] || exit 1
	also=$(also "${package#tare/}")
	events "$part" -count=1 "-run=$pattern${also:+|$also}" "$package"
	exit
fi

# With this GOGC the compiler, the linker, tests and what they start take less time.
export GOGC=${GOGC:-400}

case $form in
"")
	events "" "${packages[@]}"
	exit
	;;
--check)
	mapfile -t packages < <(go list "${packages[@]}")
	whole=() others=()
	for package in "${packages[@]}"; do
		case $package in
		tare/internal/testing/architecture | tare/internal/testing/doclinks | tare/internal/testing/supplychain) whole+=("$package") ;;
		*) others+=("$package") ;;
		esac
	done
	status=0
	[ ${#others[@]} -eq 0 ] || events "" "${others[@]}" || status=1
	[ ${#whole[@]} -eq 0 ] || events "" -count=1 "${whole[@]}" || status=1
	exit "$status"
	;;
esac

flags=(-count=1 -vet=off "-ldflags=-s -w" -timeout=30m "${flags[@]}")
# Programs that tests build are built once too (internal/testing/gobuild).
own=
if [ -z "${TARE_TEST_PROGRAMS:-}" ]; then
	own=$(mktemp -d)
	trap 'rm -rf "$own"' EXIT
fi
export TARE_TEST_PROGRAMS=${TARE_TEST_PROGRAMS:-$own}
programs=$TARE_TEST_PROGRAMS others=()
for flag in "${flags[@]}"; do
	case $flag in
	-race | -tags=* | -ldflags=* | -gcflags=*) building+=("$flag") ;;
	-v | -vet=*) ;;
	*) testing+=("-test.${flag#-}") ;;
	esac
done

# job PACKAGE PART PATTERN : prints its events. The test program of a package is linked
# once for all its parts, as go test does not.
job() {
	local also picked=("${others[@]/#-skip/-test.skip}") program=$programs/${1//\//-}.test
	also=$(also "$1")
	[ -z "$2" ] || picked=("-test.run=$3${also:+|$also}")
	# shellcheck disable=SC2016 # of the shell within
	if ! flock "$programs" sh -c 'file=$1 && shift && { [ -x "$file" ] || go test -c -o "$file" "$@"; }' link "$program" "${building[@]}" "./$1" >&2; then
		events "$2" "tare/$1" # says why
		return
	fi
	(cd "$1" && exec go tool test2json -t -p "tare/$1" "$program" -test.v=test2json -test.paniconexit0 "${testing[@]}" "${picked[@]}") | named "$2"
}

if [ "$form" = --linked ]; then
	status=0
	for package in "${packages[@]}"; do job "${package#./}" "" "" || status=1; done
	exit "$status"
fi

# Everything is compiled once, before several of go would each compile it.
GOMEMLIMIT="${GOMEMLIMIT:-2GiB}" go list -export -test -deps "${packages[@]}" >/dev/null 2>&1 || true
mapfile -t packages < <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "${packages[@]}")

# asked PACKAGE : whether it is among those to test.
asked() { [[ " ${packages[*]} " = *" tare/$1 "* ]]; }

listed=() skip=
while read -r phase package part run; do
	[[ $phase = first || $phase = alone ]] || continue
	[ -n "$part" ] || listed+=("tare/$package")
	[ -z "$run" ] || skip+="|$run"
done <scripts/test-phases
rest=()
for package in "${packages[@]}"; do
	[[ " ${listed[*]} " = *" $package "* ]] || rest+=("$package")
done
others=(${skip:+-skip="${skip#|}"})

# Each line is appended to a file in one write, and passed on from there: in a pipe,
# long lines of two programs would mix. It is on a disk, since no event may get lost where
# the memory for temporary files is used up.
mkdir -p build/tools
all=$(mktemp -p build/tools)
running=0 status=0
# shellcheck disable=SC2317 # the trap calls it
end() {
	local running
	running=$(jobs -p)
	# shellcheck disable=SC2046,SC2086 # numbers of processes
	kill -TERM $running $(for process in $running; do pgrep -P "$process" || true; done) 2>/dev/null || true
}
trap 'end; rm -rf "$all" ${own:+"$own"}' EXIT
trap 'exit 1' TERM HUP
# shellcheck disable=SC2016 # of Perl
perl -e '$| = 1; $all = shift; open F, "<", $all; for (;;) { $last = !-e $all; print while <F>; exit if $last; select undef, undef, undef, 0.2; seek F, 0, 1 }' "$all" &
passing=$!

# limit N : waits until fewer than N run.
limit() {
	while [ "$running" -ge "$1" ]; do
		wait -n || status=1
		running=$((running - 1))
	done
}

while read -r phase package part run; do
	case $phase in
	rest) [ ${#rest[@]} -gt 0 ] || continue ;;
	first) asked "$package" || continue ;;
	*) continue ;;
	esac
	limit $lanes
	if [ "$phase" = rest ]; then
		events "" -p=2 "${others[@]}" "${rest[@]}" >>"$all" &
	else
		job "$package" "$part" "$run" >>"$all" &
	fi
	running=$((running + 1))
done <scripts/test-phases
limit 1
# CI runs the tests of a cluster meanwhile.
[ ! -e build/cluster/.lock ] || flock build/cluster/.lock true
while read -r phase package part run; do
	if [ "$phase" != alone ] || ! asked "$package"; then continue; fi
	job "$package" "$part" "$run" >>"$all" || status=1
done <scripts/test-phases
rm "$all" # which ends what passes it on
wait "$passing"
exit "$status"
