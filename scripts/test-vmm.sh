#!/usr/bin/env bash
# Runs the tests of the kinds firecracker and cloud-hypervisor with the real programs, which
# FIRECRACKER, JAILER and CLOUD_HYPERVISOR name, or the PATH. It needs root and a KVM.
#
#   test-vmm.sh compile            compiles the test programs to build/vmm, with Go
#   test-vmm.sh tests [FLAG...]    runs them, without Go: in another machine too that has
#                                  this checkout; flags are those of test programs
set -euo pipefail

cd "$(dirname "$0")/.."
kinds="environment/firecracker environment/cloudhypervisor"
suite=testing/conformance

compile() {
	local package
	mkdir -p build/vmm
	for package in $kinds $suite; do
		go test -c -ldflags='-s -w' -o "build/vmm/$(basename "$package").test" "./internal/$package"
	done
}

# one PACKAGE FLAG... : runs the tests of a package in its folder, as go test does.
one() (
	program=$PWD/build/vmm/$(basename "$1").test
	cd "internal/$1"
	shift
	"$program" -test.v -test.timeout=2h "$@"
)

tests() {
	local package status=0
	for package in $kinds; do
		one "$package" "$@" || status=1
	done
	one "$suite" -test.run='TestEveryProviderDoesWhatAnInstancePromises/^(firecracker|cloud-hypervisor)' "$@" || status=1
	return $status
}

case "${1:-}" in
compile) compile ;;
tests) shift && tests "$@" ;;
*) sed -n '5,7s/^# *//p' "$0" >&2; exit 2 ;;
esac
