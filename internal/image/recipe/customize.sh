#!/bin/sh
# Runs outside of a new root file system, which is $1: installs the recipe's packages, puts
# what it fetches and its files in place, runs its commands inside, and takes away whatever
# would differ from one build to the next.
set -eu
root=$1
build=$TARE_BUILD

inside() {
	chroot "$root" /usr/bin/env -i \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" "$@"
}

# Through the chroot, so that links in the root file system lead nowhere else.
put() { # PATH MODE, content on stdin
	inside /bin/sh -euc 'mkdir -p "$(dirname "$1")"; rm -f "$1"; cat >"$1"; chmod "$2" "$1"' put "$1" "$2"
}

# apt works outside, where its keys and certificates are, and dpkg inside, as mmdebstrap
# has them do.
apt() {
	APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get --yes -o Dir::Bin::dpkg=env \
		-o DPkg::Options::=--unset=TMPDIR -o DPkg::Options::=dpkg -o DPkg::Chroot-Directory="$root" "$@"
}

if [ -e "$build/base.tar" ] && ! apt --simulate dist-upgrade | grep -q '^0 upgraded, 0 newly installed, 0 to remove'; then
	: >"$build/stale"
	exit 1
fi
echo "tare: installing packages"
# shellcheck disable=SC2046 # names of packages have no spaces
[ ! -s "$build/packages.txt" ] || apt install $(cat "$build/packages.txt")

for fetched in "$build"/fetch/*.tar; do
	[ -e "$fetched" ] || continue
	inside /bin/sh -euc 'mkdir -p "$1"; tar -x -C "$1" --same-permissions --no-same-owner' put "$(cat "${fetched%.tar}.path")" <"$fetched"
done

for content in "$build"/files/*.content; do
	[ -e "$content" ] || continue
	base=${content%.content}
	put "$(cat "$base.path")" "$(cat "$base.mode")" <"$content"
done

for command in "$build"/commands/*; do
	[ -e "$command" ] || continue
	index=$(basename "$command" | sed 's/^0*\(.\)/\1/')
	echo "tare: running: $(head -n 1 "$command")"
	status=0
	inside /bin/sh -c "$(cat "$command")" </dev/null >"$build/output" 2>&1 || status=$?
	if [ "$status" -ne 0 ]; then
		echo "$index $status" >"$build/failed"
		exit 1
	fi
done

inside dpkg-query -W -f '${Package} ${Version} ${Architecture}\n' >"$build/packages"

# A recipe's own file of these names stays.
ours() {
	grep -qsxF "$1" "$build"/files/*.path && return 0
	put "$1" 0644
}
ours /etc/hostname <<-END
	tare
END
ours /etc/resolv.conf <<-END
	# Whoever runs this image puts the name servers here.
END
ours /etc/hosts <<-END
	127.0.0.1 localhost
	127.0.1.1 tare
	::1 localhost ip6-localhost ip6-loopback
	ff02::1 ip6-allnodes
	ff02::2 ip6-allrouters
END

# Inside as well: a command may have made a link of any of these.
inside /bin/sh -euc '
cd /
# Where packages came from concerns the host alone.
rm -rf etc/apt/sources.list etc/apt/sources.list.d/* etc/apt/apt.conf.d/99mmdebstrap
rm -f etc/dpkg/dpkg.cfg.d/99mmdebstrap
rm -rf var/lib/apt/lists/* var/cache/apt/*.bin var/cache/apt/archives/*
# Logs, backups, caches and identities made by the build itself.
rm -f var/log/dpkg.log var/log/alternatives.log var/log/bootstrap.log var/log/apt/*
rm -f etc/passwd- etc/group- etc/shadow- etc/gshadow- etc/subuid- etc/subgid-
rm -f var/cache/debconf/*-old var/lib/dpkg/*-old var/cache/ldconfig/aux-cache
rm -f var/lib/dbus/machine-id etc/ssh/ssh_host_*_key etc/ssh/ssh_host_*_key.pub
rm -f var/lib/systemd/random-seed root/.bash_history
# apt writes them in an order that depends on what was installed together.
if [ -e var/lib/apt/extended_states ]; then
	perl -00 -ne "s/\n*\$/\n\n/; push @all, \$_; END { print sort @all }" var/lib/apt/extended_states >var/lib/apt/sorted
	mv var/lib/apt/sorted var/lib/apt/extended_states
fi
find var/log -type f -exec truncate -s 0 {} +
if [ -e etc/machine-id ]; then : >etc/machine-id; fi
'
