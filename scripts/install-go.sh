#!/usr/bin/env bash
# Makes sure of a Go that is new enough for this module. Where the one on PATH
# is too old, FOLDER/go becomes a link to one that is.
#
#   install-go.sh FOLDER
#
# In this order: a Go that is installed; the distribution's newest; the one that
# go.mod asks for, which any older Go can fetch as a module.
set -euo pipefail

[ $# -eq 1 ] || { sed -n '5s/^# *//p' "$0" >&2; exit 2; }
mkdir -p "$1"
bin=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
wanted=$(sed -n 's/^go //p' go.mod)

say() { echo "install-go: $*"; }
give_up() {
	cat >&2 <<-END
		install-go: tare needs Go $wanted or newer: $*
		install-go: get one at https://go.dev/dl/ and unpack it to /usr/local, where it is found, then try again
	END
	exit 1
}

installed() { # every Go of this machine, the one on PATH first
	local found
	for found in "$(command -v go || true)" /usr/local/go/bin/go /usr/lib/go-*/bin/go /snap/bin/go; do
		[ ! -x "$found" ] || echo "$found"
	done
}

# new_enough GO: for itself or, where its settings let it, with the newer one
# that it fetches by itself as soon as it reads go.mod.
new_enough() {
	local version
	version=$("$1" env GOVERSION 2>/dev/null) || return 1
	printf '%s\n' "go$wanted" "$version" | sort -V -C
}

use() { # GO
	[ "$1" = "$(command -v go || true)" ] && return
	ln -sfn "$1" "$bin/go"
	say "$bin/go is now $1"
}

find_new_enough() {
	local go
	while read -r go; do
		if new_enough "$go"; then
			use "$go"
			return 0
		fi
	done < <(installed)
	return 1
}

install_from_distribution() {
	command -v apt-get >/dev/null || return 1
	local sudo=() newest
	if [ "$(id -u)" != 0 ]; then
		command -v sudo >/dev/null || give_up "there is none, and installing one needs root or sudo"
		sudo=(sudo)
	fi
	say "no Go here; reading the distribution's package lists"
	"${sudo[@]}" apt-get update -qq || true
	newest=$(apt-cache search --names-only '^golang-1\.[0-9]+-go$' | cut -d' ' -f1 | sort -V | tail -n 1)
	[ -n "$newest" ] || return 1
	say "installing $newest with apt-get"
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		-o Dpkg::Use-Pty=0 "$newest" </dev/null
}

# fetch GO: the toolchain is a module like any other, so that even a Go which
# does not know of toolchains can fetch it and check it against the public sums.
fetch() {
	local platform module folder
	platform=$("$1" env GOOS)-$("$1" env GOARCH)
	module=golang.org/toolchain@v0.0.1-go$wanted.$platform
	say "fetching Go $wanted with $1 (about 70 MB)"
	# Outside of this module, whose go.mod the older Go might not understand.
	(cd / && GOFLAGS='' "$1" mod download "$module") || return 1
	folder=$("$1" env GOMODCACHE)
	[ -n "$folder" ] || folder=$("$1" env GOPATH)/pkg/mod
	folder=$folder/$module
	# A module's files come without the permission to execute.
	chmod -R u+w "$folder/bin" "$folder/pkg/tool"
	chmod -R a+x "$folder/bin" "$folder/pkg/tool"
	use "$folder/bin/go"
}

find_new_enough && exit 0
if [ -z "$(installed)" ]; then
	install_from_distribution || give_up "there is none here, and the distribution has none"
	find_new_enough && exit 0
fi
older=$(installed | sed -n 1p)
# GOTOOLCHAIN is left out of what the old one does outside of this module.
have=$(cd / && GOTOOLCHAIN=local "$older" version | cut -d' ' -f3)
[ "${GOTOOLCHAIN:-auto}" != local ] || give_up "$older is $have, and GOTOOLCHAIN=local forbids it to fetch a newer one (unset it to let it)"
fetch "$older" || give_up "$older is $have, and could not fetch a newer one; its own words stand above"
new_enough "$bin/go" || give_up "$bin/go does not run"
