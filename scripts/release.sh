#!/usr/bin/env bash
# Builds the files of a release into a directory, build/release by default:
#
#   release.sh [--no-image] [DIRECTORY]
#
# For amd64 and arm64 (or those of $ARCHITECTURES) a tarball, a .deb, a .rpm and a bill of materials (SBOM); an OCI
# image for the machine's own architecture, which needs root and mmdebstrap; checksums;
# and the provenance. With the same commit and the same Go all of them are the same bytes,
# but for the image, whose packages are those of the day.
#
# The version is $VERSION, else the tag v1.2.3 of the commit, else one that comes before
# all releases: 0.0.0 with the date and the commit.
set -euo pipefail

cd "$(dirname "$0")/.."
image=yes
if [ "${1:-}" = --no-image ]; then
	image=
	shift
fi
if [ $# -gt 1 ] || [[ ${1:-} == -* ]]; then
	sed -n '4s/^# *//p' "$0" >&2
	exit 2
fi
out=$(realpath -m "${1:-build/release}")
say() { echo "release: $*"; }
die() { echo "release: $*" >&2; exit 1; }

commit=$(git rev-parse HEAD) || die "the source is no git checkout"
[ -z "$(git status --porcelain)" ] || commit+=-dirty
seconds=$(git log -1 --format=%ct)
date=$(date -u -d "@$seconds" +%Y-%m-%dT%H:%M:%SZ)
if [ -z "${VERSION:-}" ]; then
	VERSION=$(git describe --exact-match --tags --match 'v[0-9]*' 2>/dev/null || true)
	VERSION=${VERSION#v}
	[ -z "$VERSION" ] || [[ $commit != *-dirty ]] || die "$VERSION is tagged, and files were changed since: commit them, or name another VERSION"
fi
[ -n "$VERSION" ] || VERSION=0.0.0-$(date -u -d "@$seconds" +%Y%m%d%H%M%S).${commit:0:12}${commit:40}
[[ $VERSION =~ ^[0-9]+\.[0-9]+\.[0-9]+([-.][0-9A-Za-z.-]+)?$ ]] || die "the version $VERSION is not of the form 1.2.3 or 1.2.3-rc.1"
# The flags of the Makefile; with -trimpath the build cache serves every copy of the source.
export VERSION SOURCE_DATE_EPOCH=$seconds CGO_ENABLED=0 GOFLAGS='-buildvcs=false -trimpath -gcflags=all=-dwarf=false' TZ=UTC0 LC_ALL=C
umask 022

[ "$out" != "$PWD/build/release" ] || rm -rf "$out"
mkdir -p "$out"
[ -z "$(ls -A "$out")" ] || die "$out is not empty"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A copy is built, since a program embeds the agent of its architecture from the tree.
mkdir "$work/source"
git ls-files -z --cached --others --exclude-standard |
	tar --create --null --files-from - --ignore-failed-read 2>/dev/null | tar --extract --directory "$work/source"
tools=$PWD/build/bin images=${TARE_TEST_IMAGES:-$PWD/build/test-images}
cd "$work/source"

say "version $VERSION"
build() { # ARCHITECTURE
	say "building the program for $1"
	GOARCH=$1 go build -ldflags "-s -w" -o internal/agent/program/tare-agent ./cmd/tare-agent
	GOARCH=$1 go build -ldflags "-s -w -X main.version=$VERSION -X main.commit=$commit -X main.date=$date" -o "$work/$1/tare" ./cmd/tare
}
for ARCH in ${ARCHITECTURES:=amd64 arm64}; do build "$ARCH"; done

say "manual pages, completions, licences"
own=$work/$(go env GOHOSTARCH)/tare
mkdir "$work/all" "$work/all/completions"
go run ./site -manuals "$work/all/man" -version "$VERSION" -date "$seconds"
for shell in bash fish; do "$own" completion $shell >"$work/all/completions/tare.$shell"; done
"$own" completion zsh >"$work/all/completions/_tare"
go run ./deploy/release -notices "$work/all/THIRD-PARTY-LICENSES" ./cmd/tare ./cmd/tare-agent
cp README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE "$work/all"
cp -r docs examples schema "$work/all" # what the README and messages refer to

# What the packages have where Debian's policy wants it.
mkdir "$work/packaged"
cp -r "$work/all"/{man,completions,docs,examples,schema} README.md CONTRIBUTING.md SECURITY.md "$work/packaged"
gzip -9 -n "$work"/packaged/man/*
gzip -9 -n <CHANGELOG.md >"$work/packaged/changelog.gz"
{
	echo "tare, by the tare authors, is under the Apache License, Version 2.0, which is"
	echo "in /usr/share/common-licenses/Apache-2.0 on Debian, and at its end here."
	echo
	cat "$work/all/THIRD-PARTY-LICENSES"
	printf '\n%s\nThe licence of tare\n\n' "$(printf '=%.0s' {1..72})"
	cat LICENSE
} >"$work/packaged/copyright"

for ARCH in $ARCHITECTURES; do
	export ARCH
	name=tare-$VERSION-linux-$ARCH
	say "$ARCH: tarball, packages, bill of materials"
	mkdir "$work/$name"
	cp -r "$work/$ARCH/tare" "$work/all/." "$work/$name"
	tar --create --directory "$work" --sort=name --mtime="@$seconds" --owner=0 --group=0 --numeric-owner --format=ustar "$name" |
		gzip -n >"$out/$name.tar.gz"
	FILES=$work/packaged
	export FILES
	cp "$work/$ARCH/tare" "$FILES"
	for format in deb rpm; do
		"$tools/nfpm" package --config deploy/release/nfpm.yaml --packager $format --target "$out" >/dev/null
	done
	"$tools/cyclonedx-gomod" bin -json -licenses -std -noserial -notimestamp -version "$VERSION" -output "$out/$name.cdx.json" "$work/$ARCH/tare" 2>"$work/sbom.log" ||
		{ cat "$work/sbom.log" >&2; die "the bill of materials of $ARCH could not be made"; }
done

if [ -n "$image" ]; then
	ARCH=$(go env GOHOSTARCH)
	say "OCI image for $ARCH"
	as_root=()
	[ "$(id -u)" = 0 ] || as_root=(sudo env "PATH=$PATH")
	"${as_root[@]}" go run ./deploy/image -tare "$own" -out "$out/tare-$VERSION-image-$ARCH.tar" -images "$images" -name "localhost/tare:$VERSION"
fi

cd "$out"
artifacts=(*)
(cd "$work/source" && go run ./deploy/release -provenance "$out/tare-$VERSION.intoto.json" -version "$VERSION" -commit "$commit" "${artifacts[@]/#/$out/}")
sha256sum -- * >SHA256SUMS
say "in $out, with their checksums in SHA256SUMS:"
du -b -- * | awk '{printf "%8.1f MB  %s\n", $1 / 1e6, $2}'
