#!/usr/bin/env bash
# Runs a command while engines of an ordinary user's answer, and says where in
# $TARE_TEST_ROOTLESS_PODMAN and $TARE_TEST_ROOTLESS_DOCKER. It makes the user
# and ends both afterwards, however the command ended. It needs root.
#
#   with-rootless.sh [podman] [docker] -- COMMAND...
#
# An engine that cannot be started costs its tests, not the command.
# Packages: uidmap slirp4netns rootlesskit, beside the engines.
set -euo pipefail

# shellcheck source=/dev/null
. "$(dirname "$0")/run.bash"
say() { echo "with-rootless.sh: $*" >&2; }
engines=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	engines+=("$1")
	shift
done
[ $# -gt 1 ] || { sed -n '6s/^# *//p' "$0" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { say "needs root, to make a user"; exit 1; }
shift

user=tare-rootless-$$
home=$(mktemp -d /var/tmp/tare-rootless-XXXXXX)
pids=()

# shellcheck disable=SC2317 # the trap calls it
end() {
	local pid
	for pid in "${pids[@]}"; do
		kill -TERM "$pid" 2>/dev/null || true
	done
	# The user was made for these engines, so what is left of it is theirs:
	# a pause process, monitors of containers.
	for _ in $(seq 50); do
		pgrep -u "$user" >/dev/null || break
		sleep 0.1
	done
	for pid in $(pgrep -u "$user"); do
		kill -KILL "$pid" 2>/dev/null || true
	done
	umount -R "$home" 2>/dev/null || true
	rm -rf "$home"
	userdel "$user" 2>/dev/null || true
	sed -i "/^$user:/d" /etc/subuid /etc/subgid
}
trap end EXIT

useradd --system --no-create-home --home-dir "$home" --shell /bin/sh "$user"
sed -i "/^$user:/d" /etc/subuid /etc/subgid
echo "$user:700000:65536" | tee -a /etc/subuid >>/etc/subgid
mkdir -m 700 "$home/run"
chown -R "$user:" "$home"

cat >"$home/containers.conf" <<'CONF'
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
CONF
# crun does not know cgroup v1 with a v2 hierarchy beside it.
if [ -d /sys/fs/cgroup/unified ] && command -v runc >/dev/null; then
	sed -i '/^\[engine\]/a runtime = "runc"' "$home/containers.conf"
fi

as_user() {
	setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups \
		env -i HOME="$home" USER="$user" PATH="$PATH:/usr/sbin:/sbin" XDG_RUNTIME_DIR="$home/run" CONTAINERS_CONF="$home/containers.conf" "$@"
}

# start ENGINE SOCKET COMMAND... : waits until the socket is there.
start() {
	local name=$1 socket=$2
	shift 2
	(cd "$home" && as_user "$@") >"$home/$name.log" 2>&1 </dev/null &
	pids+=("$!")
	for _ in $(seq 300); do
		[ ! -S "$socket" ] || return 0
		kill -0 "${pids[-1]}" 2>/dev/null || break
		sleep 0.1
	done
	tail -n 15 "$home/$name.log" >&2
	say "going on without a rootless $name"
	return 1
}

for engine in "${engines[@]}"; do
	case $engine in
	podman)
		if start podman "$home/podman.sock" podman system service --time=0 "unix://$home/podman.sock"; then
			export TARE_TEST_ROOTLESS_PODMAN=unix://$home/podman.sock
		fi
		;;
	docker)
		script=$(command -v dockerd-rootless.sh || echo /usr/share/docker.io/contrib/dockerd-rootless.sh)
		# Without a tun device for everybody there is no network of its own.
		net=
		[ -w /dev/net/tun ] && [ "$(stat -c %a /dev/net/tun)" = 666 ] ||
			net="DOCKERD_ROOTLESS_ROOTLESSKIT_NET=host DOCKERD_ROOTLESS_ROOTLESSKIT_PORT_DRIVER=none"
		# shellcheck disable=SC2086 # nothing, or two words
		if start docker "$home/run/docker.sock" env $net sh "$script" --iptables=false --bridge=none --exec-opt native.cgroupdriver=cgroupfs; then
			export TARE_TEST_ROOTLESS_DOCKER=unix://$home/run/docker.sock
		fi
		;;
	*) say "no such engine: $engine"; exit 2 ;;
	esac
done
status=0
run "$@" || status=$?
exit "$status"
