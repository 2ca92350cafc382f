#!/bin/sh
# Starts the container engines that tare's environments of Docker, Podman and
# containerd talk to, where none answers yet, and ends exactly what it started.
#
#   start-dockerd.sh start docker FOLDER [RUNSC]
#   start-dockerd.sh start podman|containerd FOLDER
#   start-dockerd.sh stop  docker|podman|containerd FOLDER
#
# FOLDER keeps the pid file, the log and (for Podman) the configuration. An
# engine that answers already is left as it is: nothing is started, and stop
# has nothing to end. RUNSC is gVisor's program; by default the one on PATH.
set -eu

here=$(basename "$0")
say() { echo "$here: $*"; }
die() { echo "$here: $*" >&2; exit 1; }
usage() { sed -n '6,8s/^# *//p' "$0" >&2; exit 2; }

# wait_for SECONDS PID COMMAND... : until the command succeeds; fails at once
# when the process is gone (PID 0: no process to watch).
wait_for() {
	left=$(($1 * 10))
	watched=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ "$left" -gt 0 ] || return 1
		[ "$watched" = 0 ] || kill -0 "$watched" 2>/dev/null || return 1
		left=$((left - 1))
		sleep 0.1
	done
}

# started PID : the kernel's start time of a process, so that a later process
# with the same number is never taken for ours.
started() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# launch NAME COMMAND... : in a session and folder of its own, with log and pid
# file. Conmon leaves a file where Podman's service was started.
launch() {
	name=$1
	shift
	mkdir -p "$folder"
	(cd "$folder" && exec setsid "$@") >"$folder/$name.log" 2>&1 </dev/null &
	pid=$!
	echo "$pid $(started "$pid")" >"$folder/$name.pid"
}

# start_unit NAME UNIT : asks systemd, and notes what to ask of it at the end.
start_unit() {
	systemctl start "$2"
	mkdir -p "$folder"
	echo "unit $2" >"$folder/$1.pid"
}

give_up() { # NAME SECONDS
	tail -n 15 "$folder/$1.log" >&2 || true
	if kill -0 "$pid" 2>/dev/null; then why="did not answer within $2 s"; else why="ended before it answered"; fi
	end "$1"
	die "$1 $why; its last lines stand above, the rest in $folder/$1.log"
}

end() { # NAME
	file=$folder/$1.pid
	if [ ! -s "$file" ]; then
		say "$1 was not started from $folder: nothing to end"
		return
	fi
	read -r pid since <"$file"
	if [ "$pid" = unit ]; then
		systemctl stop "$since"
		say "$since has been stopped"
	elif [ "$(started "$pid")" = "$since" ] && kill "$pid" 2>/dev/null; then
		gone() { [ "$(started "$pid")" != "$since" ]; }
		wait_for 30 0 gone || die "$1 (pid $pid) still runs 30 s after SIGTERM"
		say "$1 (pid $pid) has ended"
	fi
	rm -f "$file"
}

# nobody_listens SOCKET : the kernel refuses a connection.
nobody_listens() {
	perl -MIO::Socket::UNIX -MErrno=ECONNREFUSED -e 'exit 1 if IO::Socket::UNIX->new(shift); exit($! == ECONNREFUSED ? 0 : 1)' "$1"
}

docker_answers() { docker version --format '{{.Server.Version}}'; }

start_docker() {
	command -v docker >/dev/null || die "no docker command: apt-get install docker.io"
	if docker_answers >/dev/null 2>&1; then
		say "a Docker daemon answers already: $(docker_answers)"
		return
	fi
	if [ -d /run/systemd/system ]; then
		start_unit dockerd docker.service
		wait_for 60 0 docker_answers || die "the docker service runs but does not answer: journalctl -u docker"
		say "started by systemd: Docker $(docker_answers)"
		return
	fi
	command -v dockerd >/dev/null || die "no dockerd: apt-get install docker.io"
	# dockerd waits a minute for a containerd whose socket it finds, also of one that was killed.
	socket=/run/containerd/containerd.sock
	if [ -S "$socket" ] && nobody_listens "$socket"; then rm -f "$socket"; fi
	set --
	# A runtime that stands in daemon.json as well would keep dockerd from starting.
	if [ -x "$runsc" ] && ! grep -qs '"runtimes"' /etc/docker/daemon.json; then
		set -- --add-runtime "runsc=$runsc"
	fi
	launch dockerd dockerd "$@"
	wait_for 60 "$pid" docker_answers || give_up dockerd 60
	say "started: Docker $(docker_answers), pid $pid"
}

podman_socket=/run/podman/podman.sock
podman_answers() { podman --remote --url "unix://$podman_socket" version; }

start_podman() {
	command -v podman >/dev/null || die "no podman command: apt-get install podman"
	if [ -S "$podman_socket" ] && podman_answers >/dev/null 2>&1; then
		say "a Podman service answers already on $podman_socket"
		return
	fi
	if [ -d /run/systemd/system ]; then
		start_unit podman podman.socket
		wait_for 60 0 podman_answers || die "podman.socket runs but does not answer: journalctl -u podman"
		say "started by systemd: Podman on $podman_socket"
		return
	fi
	mkdir -p "$folder" "$(dirname "$podman_socket")"
	# Without systemd nobody else makes the cgroups. Limits above the hard
	# limits of this shell could not be set, and crun does not know cgroup v1
	# with a v2 hierarchy beside it.
	{
		echo '[engine]'
		echo 'cgroup_manager = "cgroupfs"'
		echo 'events_logger = "file"'
		if [ -d /sys/fs/cgroup/unified ] && command -v runc >/dev/null; then
			echo 'runtime = "runc"'
		fi
		echo '[containers]'
		echo 'default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]'
	} >"$folder/containers.conf"
	launch podman env CONTAINERS_CONF="$folder/containers.conf" \
		podman system service --time=0 "unix://$podman_socket"
	wait_for 60 "$pid" podman_answers || give_up podman 60
	say "started: Podman on $podman_socket, pid $pid"
}

# ctr waits ten seconds for a socket that does not exist.
containerd_answers() { [ -S /run/containerd/containerd.sock ] && ctr version; }

start_containerd() {
	command -v containerd >/dev/null || die "no containerd command: apt-get install containerd"
	if containerd_answers >/dev/null 2>&1; then
		say "a containerd answers already"
		return
	fi
	if [ -d /run/systemd/system ]; then
		start_unit containerd containerd.service
		wait_for 60 0 containerd_answers || die "the containerd service runs but does not answer: journalctl -u containerd"
		say "started by systemd: containerd"
		return
	fi
	mkdir -p "$folder"
	# Nobody asks it for pods.
	printf 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n' >"$folder/containerd.toml"
	launch containerd containerd --config "$folder/containerd.toml"
	wait_for 60 "$pid" containerd_answers || give_up containerd 60
	say "started: containerd, pid $pid"
}

[ $# -ge 3 ] || usage
case $3 in
/*) folder=$3 ;;
*) folder=$PWD/$3 ;;
esac
runsc=${4:-$(command -v runsc || true)}
case "$1 $2" in
"start docker") start_docker ;;
"start podman") start_podman ;;
"start containerd") start_containerd ;;
"stop docker") end dockerd ;;
"stop podman") end podman ;;
"stop containerd") end containerd ;;
*) usage ;;
esac
