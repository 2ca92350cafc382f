#!/usr/bin/env bash
# Builds the programs of a Kubernetes cluster into a directory, in the versions that
# the module in tools/cluster pins: Kubernetes and etcd as one program, containerd,
# CoreDNS, metrics-server, and the image of the container that holds a pod. What they
# have in common is compiled once. gVisor's shim for containerd comes from its own module.
#
#   install-cluster.sh DIRECTORY
#
# Nothing is built, or printed, for what is there in this version.
set -euo pipefail

[ $# -eq 1 ] || { sed -n '7s/^# *//p' "$0" >&2; exit 2; }
mkdir -p "$1"
bin=$(cd "$1" && pwd)
# Of two at once the second waits.
exec 8>"$bin/.lock"
flock 8
cd "$(dirname "$0")/.."
# With this GOGC the compiler takes a sixth less time, within the limit of memory.
export CGO_ENABLED=0 GOGC="${GOGC:-400}" GOMEMLIMIT="${GOMEMLIMIT:-2GiB}"
go=$(go env GOVERSION)

# stale PROGRAM INPUTS... : whether the program has to be built; sets version.
stale() {
	local program=$1
	shift
	version=$(echo "$go" && sha256sum "$@")
	[ ! -x "$bin/$program" ] || [ "$(cat "$bin/$program.version" 2>/dev/null)" != "$version" ]
}

# built PROGRAM : notes what it was built from.
built() { echo "$version" >"$bin/$1.version"; }

module=tools/cluster
if stale kubeall $module/go.mod $module/go.sum $module/*/main.go scripts/install-cluster.sh; then
	release=$(sed -n 's|^[[:space:]]*k8s.io/kubernetes \(v[^ ]*\).*|\1|p' $module/go.mod)
	minor=${release#v*.}
	containerd=$(sed -n 's|^[[:space:]]*github.com/containerd/containerd/v2 \(v[^ ]*\).*|\1|p' $module/go.mod)
	echo "install-cluster: building Kubernetes $release, containerd $containerd, CoreDNS and metrics-server (five minutes, or more on a busy machine)"
	# Without a version the parts would be of different minor versions to each other.
	stamp=k8s.io/component-base/version
	# Without inlining the compiler takes a third less time, and without debug information
	# less again, which the linker would leave out. The cluster mostly waits.
	# What tare's build compiles in the same version keeps its flags, and comes from the cache.
	mapfile -t shared < <(go list -e -deps -f '{{if not .Standard}}-gcflags={{.ImportPath}}=-dwarf=false{{end}}' ./cmd/tare)
	go -C $module build -trimpath "-gcflags=all=-l -dwarf=false" -gcflags=std=-dwarf=false "${shared[@]}" -ldflags "-s -w -X $stamp.gitVersion=$release -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*} -X github.com/containerd/containerd/v2/version.Version=$containerd" -o "$bin/" ./... tool
	# An image of one layer, as docker save writes it.
	image=$(mktemp -d "$bin/.pause.XXXXXX")
	tar -C "$bin" --owner=0 --group=0 -cf "$image/layer.tar" pause
	layer=$(sha256sum "$image/layer.tar" | cut -d' ' -f1)
	echo "{\"architecture\":\"$(go env GOARCH)\",\"os\":\"linux\",\"config\":{\"Entrypoint\":[\"/pause\"]},\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"sha256:$layer\"]}}" >"$image/config.json"
	echo '[{"Config":"config.json","RepoTags":["localhost/pause:1"],"Layers":["layer.tar"]}]' >"$image/manifest.json"
	tar -C "$image" -cf "$bin/pause.tar" manifest.json config.json layer.tar
	rm -rf "$image"
	built kubeall
fi

if stale containerd-shim-runsc-v1 scripts/install-runsc.sh scripts/install-cluster.sh; then
	release=$(sed -n 's/^version=//p' scripts/install-runsc.sh)
	echo "install-cluster: building the shim of gVisor $release (seconds where runsc was built here, else a minute)"
	copy=$(mktemp -d "$bin/.shim.XXXXXX")
	trap 'rm -rf "$copy"' EXIT
	gvisor=$(cd "$copy" && go mod download -json "gvisor.dev/gvisor@$release" | jq -r .Dir)
	# A module of its own with changed copies of four packages. All others are those of
	# gVisor's module, so that what was compiled for runsc is not compiled again.
	sed "s|^module .*|module shim\nrequire gvisor.dev/gvisor $release|" "$gvisor/go.mod" >"$copy/go.mod"
	cat "$gvisor/go.sum" >"$copy/go.sum"
	for package in shim shim/v1/cli pkg/shim/v1 pkg/shim/v1/plugin; do
		mkdir -p "$copy/$package"
		for file in "$gvisor/$package"/*.go; do
			# The shim lowers its score for the killer of processes, which root in a
			# container may not, and ends if it cannot.
			sed 's#"gvisor.dev/gvisor/\(shim/v1/cli\|pkg/shim/v1\|pkg/shim/v1/plugin\)"#"shim/\1"#; s/^\(\toomScoreMax = \)-999$/\11/' "$file" >"$copy/$package/${file##*/}"
		done
	done
	grep -q 'oomScoreMax = 1$' "$copy/pkg/shim/v1/manager.go" || { echo "install-cluster: gVisor's shim has changed: no oomScoreMax = -999 in manager.go" >&2; exit 1; }
	go -C "$copy" build -mod=mod -trimpath -ldflags "-s -w" -o "$bin/containerd-shim-runsc-v1" ./shim
	built containerd-shim-runsc-v1
fi
