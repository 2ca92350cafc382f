#!/usr/bin/env bash
# Installs what the targets of the Makefile need and this machine lacks, and
# nothing else. What is to be installed is said before it is.
#
#   setup.sh GROUP...
#
# Groups: build, check, run, test, kubernetes, machine, bench, web, docs, release. Packages come from the distribution;
# a Go that is new enough and gVisor's runsc are left in build/bin.
set -euo pipefail

cd "$(dirname "$0")/.."
bin=$PWD/build/bin
PATH=$bin:$PATH:/usr/sbin:/sbin
export PATH DEBIAN_FRONTEND=noninteractive

say() { echo "setup: $*"; }
die() { echo "setup: $*" >&2; exit 1; }
# The comment above, without its signs.
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }

# What is missing: "PACKAGES|WHY" each, where PACKAGES are names for the same
# thing in different releases, the first known one to be taken.
missing=()
wants_go=
wants_runsc=
wants_tools=

need() { # COMMAND PACKAGES WHY
	command -v "$1" >/dev/null || missing+=("$2|$3")
}

group() {
	case "$1" in
	build)
		need git git "the version that the program tells"
		[ -s /etc/ssl/certs/ca-certificates.crt ] || missing+=("ca-certificates|fetching Go modules")
		wants_go=yes
		;;
	run)
		group build
		need mmdebstrap mmdebstrap "root file systems of images"
		need mke2fs e2fsprogs "disks of guests"
		need dockerd docker.io "environment docker"
		need docker "docker-cli docker.io" "environment docker"
		need iptables iptables "networks of containers"
		need runc runc "environment oci"
		need ssh openssh-client "environment machine, and hosts"
		if [ "$(uname -m)" = x86_64 ]; then
			need qemu-system-x86_64 qemu-system-x86 "environment qemu"
			need qemu-img qemu-utils "environment qemu"
			need depmod kmod "machines that hold other environments"
		fi
		wants_runsc=yes
		;;
	tests) # of any kind
		need jq jq "the summary of tests"
		wants_tools+=" gotestsum"
		[ -n "${RACE:-}" ] || return 0
		need gcc gcc "the race detector"
		[ -e /usr/include/stdlib.h ] || missing+=("libc6-dev|the race detector")
		;;
	test)
		group run
		group tests
		group web
		group docs
		group release
		need rpm rpm "the tests of the packages of a release"
		[ -x /usr/bin/qemu-aarch64-static ] || missing+=("qemu-user-static|the tests of the program for arm64")
		need podman podman "environment podman"
		need ctr containerd "environment containerd"
		need crun crun "environment oci"
		need strace strace "profiles where BPF is not permitted"
		need slirp4netns slirp4netns "environment oci"
		need pasta passt "environment oci"
		need rootlesskit rootlesskit "engines of an ordinary user's"
		need newuidmap uidmap "engines of an ordinary user's"
		need sshd openssh-server "environment machine"
		need bwrap bubblewrap "environment bubblewrap"
		# The packs of Cassandra and JMeter fetch what no Debian package has.
		need mvn maven "images with Maven artifacts"
		need prometheus prometheus "the tests of metrics, which a real Prometheus scrapes"
		need chromium chromium "the test that looks at the HTML report"
		need pdftotext poppler-utils "the tests that read exported PDF files"
		need pdflatex texlive-latex-recommended "the tests that compile exported LaTeX"
		[ -e /usr/share/texlive/texmf-dist/tex/latex/siunitx/siunitx.sty ] || missing+=("texlive-science|the tests that compile exported LaTeX")
		need clang clang "the test that rebuilds the BPF programs"
		need llvm-strip llvm "the test that rebuilds the BPF programs"
		[ -e /usr/include/bpf/bpf_helpers.h ] || missing+=("libbpf-dev|the test that rebuilds the BPF programs")
		;;
	kubernetes)
		group run
		group tests
		need openssl openssl "certificates of a cluster"
		need curl curl "waiting for a cluster"
		[ -x /usr/lib/cni/bridge ] || missing+=("containernetworking-plugins|networks of pods")
		;;
	machine)
		group run
		group tests
		;;
	web)
		need node nodejs "the script of the HTML report"
		need npm npm "the script of the HTML report"
		;;
	docs)
		group build
		need zstd zstd "the gallery of the documentation site"
		python3 -c 'import ensurepip' 2>/dev/null || missing+=("python3-venv|the generator of the documentation site")
		;;
	check)
		group build
		group tests
		need shellcheck shellcheck "checking the scripts"
		wants_tools+=" golangci-lint"
		;;
	release)
		group build
		need mmdebstrap mmdebstrap "the OCI image of a release"
		wants_tools+=" cyclonedx-gomod nfpm"
		;;
	bench)
		group run
		need hyperfine hyperfine "what tare is compared with"
		need bwrap bubblewrap "environment bubblewrap"
		need prometheus prometheus "what the sampler is compared with"
		need prometheus-node-exporter prometheus-node-exporter "what the sampler is compared with"
		;;
	*) usage ;;
	esac
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "installing needs root, and there is no sudo: run this as root: $*"
	fi
}

known() { # PACKAGE: does the distribution have it?
	local policy
	policy=$(LC_ALL=C apt-cache policy "$1" 2>/dev/null)
	grep -q '^  Candidate: [^(]' <<<"$policy"
}

install_packages() {
	[ ${#missing[@]} -gt 0 ] || return 0
	local entry names name why packages=()
	if ! command -v apt-get >/dev/null; then
		say "missing here, under the names of Debian's packages:"
		printf '  %s\n' "${missing[@]//|/: }"
		die "installing is done with apt-get only, and there is none: install these yourself, then try again"
	fi
	say "something is missing; reading the distribution's package lists"
	as_root apt-get update -qq || say "not all package lists could be read; going on with what is there"
	say "missing here, to be installed with apt-get:"
	for entry in "${missing[@]}"; do
		names=${entry%%|*} why=${entry#*|}
		for name in $names ""; do
			[ -z "$name" ] || ! known "$name" || break
		done
		if [ -z "$name" ]; then
			echo "  $names: not to be had from this distribution; what needs it is skipped ($why)"
		elif [[ " ${packages[*]} " != *" $name "* ]]; then # not for another command yet
			echo "  $name: $why"
			packages+=("$name")
		fi
	done
	[ ${#packages[@]} -gt 0 ] || return 0
	say "installing ${#packages[@]} packages with those that they need; apt-get writes to build/setup.log"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		-o Dpkg::Use-Pty=0 "${packages[@]}" </dev/null >build/setup.log 2>&1 || {
		tail -n 20 build/setup.log >&2
		die "apt-get could not install ${packages[*]}; its last lines stand above, the rest in build/setup.log"
	}
}

# A runsc of the user's own is the one to measure, unless it is too old: a
# distribution's of 2022 has no network and only the slowest platform.
install_runsc() {
	local found version
	found=$(command -v runsc || true)
	if [ -n "$found" ] && [ "$found" != "$bin/runsc" ]; then
		version=$("$found" --version 2>/dev/null || true)
		[[ ! $version =~ release-20(2[5-9]|[3-9]) ]] || return 0
	fi
	# One that cannot be built costs one environment, not all.
	scripts/install-runsc.sh "$bin" || say "without runsc: the environment gvisor will not be usable"
}

[ $# -gt 0 ] || usage
mkdir -p build
for name; do group "$name"; done
install_packages
[ -z "$wants_go" ] || scripts/install-go.sh "$bin"
# shellcheck disable=SC2086 # a list of programs
[ -z "$wants_tools" ] || scripts/install-tools.sh "$bin" $wants_tools
[ -z "$wants_runsc" ] || install_runsc
