#!/usr/bin/env bash
# Looks for known vulnerabilities in what the programs call, with govulncheck. It
# needs its database.
#
#   vulncheck.sh [--if-reachable] [ARGUMENT...]
#
# Arguments are those of govulncheck: -db URL for a copy of the database, packages.
# With --if-reachable a database that cannot be reached is said in one line, and is
# no failure.
set -euo pipefail

cd "$(dirname "$0")/.."
database=vuln.go.dev
optional=false
if [ "${1:-}" = --if-reachable ]; then
	optional=true
	shift
	# Asked first, since govulncheck takes a minute to build. A proxy is asked by
	# govulncheck alone.
	if [ -z "${HTTPS_PROXY:-}${https_proxy:-}" ] && ! timeout 5 bash -c ": </dev/tcp/$database/443" 2>/dev/null; then
		echo "vulncheck: known vulnerabilities were not looked for, since $database cannot be reached"
		exit 0
	fi
fi

status=0
{ scripts/install-tools.sh build/bin govulncheck && build/bin/govulncheck "$@"; } || status=$?
case $status in
0 | 3) exit "$status" ;; # 3: there are some
esac
if $optional; then
	echo "vulncheck: known vulnerabilities were not looked for: see the error above"
	exit 0
fi
echo "vulncheck: nothing was checked. It needs https://$database, or a copy of that database: make vulncheck ARGS=\"-db URL\"" >&2
exit 1
