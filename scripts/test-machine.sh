#!/usr/bin/env bash
# Makes a machine as users have it, and runs tests of tare there: systemd is PID 1, cgroup
# v2 the only hierarchy, and KVM works, by QEMU's emulation of AMD's SVM. It needs root.
#
#   test-machine.sh make             builds its disk, if it is not there
#   test-machine.sh boot             starts it and waits until it answers
#   test-machine.sh ssh [COMMAND]    a shell in it, or a command; as root, or as $AS
#   test-machine.sh stop             ends it; what was written to its disk is gone
#   test-machine.sh run [FLAG...]    boots it, runs the tests, ends it; -run PATTERN
#
# SUITE is Debian's: trixie, or sid, which has newer programs. It has CPUS processors (4),
# in NODES NUMA nodes (1). All state is in build/machine-SUITE. Each boot begins with the
# disk that make built. The checkout is at /share in it, read-only. TARE_TEST_SHORT=1 leaves
# out what takes hours; SMALL=1 is a machine of one processor, without engines, images and a
# QEMU, for the tests of what an ordinary user does under systemd. PROGRAMS is a directory
# that is copied over its root: firecracker, jailer and cloud-hypervisor below usr/local/bin
# are tested too, and a Kata Containers. KINDS is for the suite of these kinds and nothing
# else: "docker, podman rootless". SELINUX=1 is for SELinux, enforcing, in place of AppArmor;
# not on sid.
set -euo pipefail

cd "$(dirname "$0")/.."
suite=${SUITE:-trixie}
small=${SMALL:-}
folder=build/machine-$suite${small:+-small}
PATH=$PWD/build/bin:$PATH:/usr/sbin:/sbin
export images=/var/lib/tare/images # in the machine

packages=linux-image-amd64,initramfs-tools,systemd-sysv,libpam-systemd,dbus,dbus-user-session,udev,kmod,openssh-server,procps
variant=minbase units=(systemd-networkd ssh) policy=
if [ -z "$small" ]; then
	packages+=,systemd-resolved,polkitd,apparmor,openssh-client,sudo,iproute2,iptables,nftables,ca-certificates,netbase,e2fsprogs
	packages+=,docker.io,docker-cli,podman,crun,runc,uidmap,slirp4netns,passt,rootlesskit,fuse-overlayfs,bubblewrap
	packages+=,qemu-system-x86,qemu-utils,mmdebstrap,virtiofsd
	# Sid's policy (2.20261022) does not install: "semodule: Failed on likewise!"
	[ "$suite" = sid ] || policy=default packages+=,selinux-policy-default,policycoreutils
	variant=important units+=(systemd-resolved podman.socket)
fi

say() { echo "test-machine: $*" >&2; }
die() { say "$*"; exit 1; }

# mirror : of Debian, as apt of this machine has it.
# shellcheck disable=SC2016 # of apt-get
mirror() { apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1; }

# settle ROOT : what an administrator does after the installation.
settle() {
	local root=${1:?} unit
	echo machine >"$root/etc/hostname"
	printf '127.0.0.1 localhost\n127.0.1.1 machine\n::1 localhost\n' >"$root/etc/hosts"
	echo '/dev/vda / ext4 defaults 0 1' >"$root/etc/fstab"
	printf '[Match]\nName=en*\n[Network]\nDHCP=yes\n' >"$root/etc/systemd/network/ethernet.network"
	for unit in apt-daily apt-daily-upgrade man-db e2scrub_all fstrim dpkg-db-backup; do
		ln -sf /dev/null "$root/etc/systemd/system/$unit.timer"
	done
	chroot "$root" systemctl enable --quiet "${units[@]}"
	chroot "$root" useradd --create-home --shell /bin/bash user
	# Nobody writes there, and systemd would wait for it.
	ln -sf /dev/null "$root/etc/systemd/system/serial-getty@ttyS0.service"
	install -d -m 700 "$root/root/.ssh"
	install -m 600 "$folder/key.pub" "$root/root/.ssh/authorized_keys"
	install -d -m 700 -o 1000 -g 1000 "$root/home/user/.ssh"
	install -m 600 -o 1000 -g 1000 "$folder/key.pub" "$root/home/user/.ssh/authorized_keys"
	# The kernel rewrites its scheduler and KVM when the first virtual machine, its first
	# processor without an APIC (as tare's probe makes it), the first quota of CPU and the first
	# performance counter of a process are made, and when the last one ends; other emulated
	# processors run into that now and then. Here there is one processor until one of each is
	# made, and these stay.
	printf '%s\n' '[Unit]' DefaultDependencies=no After=systemd-modules-load.service Before=sysinit.target \
		'[Service]' Type=forking ExecStart=/usr/local/sbin/processors '[Install]' WantedBy=sysinit.target \
		>"$root/etc/systemd/system/processors.service"
	install -m 755 /dev/stdin "$root/usr/local/sbin/processors" <<'END'
#!/usr/bin/perl
use autodie;
pipe my $ready, my $done;
if (fork) { # waits until the child has made all that it holds
	close $done;
	<$ready>;
	exit;
}
system "modprobe", "kvm_amd";
open my $kvm, "+<", "/dev/kvm";
open my $machine, "+<&=", ioctl $kvm, 0xAE01, 0; # KVM_CREATE_VM
ioctl $machine, 0xAE41, 0; # KVM_CREATE_VCPU
my ($perf_event_open, $group) = (298, "/sys/fs/cgroup/quota");
my $counter = syscall $perf_event_open, pack("L2Q5L2Q", 1, 64, (0) x 8), 0, -1, -1, 0;
mkdir $group;
for (["/sys/fs/cgroup/cgroup.subtree_control", "+cpu"], ["$group/cpu.max", "50000 100000"]) {
	open my $file, ">", $_->[0];
	print $file $_->[1];
	close $file;
}
for my $file (glob "/sys/devices/system/cpu/cpu[1-9]*/online") {
	open my $online, ">", $file;
	print $online 1;
	close $online;
}
close $done;
sleep;
END
	[ -n "$small" ] || chroot "$root" systemctl enable --quiet processors
	mkdir "$root/share"
	# For a boot with SELINUX=1. Debian's policy denies engines what they need, so it is enforced
	# for their containers alone; these may use all capabilities, as on Fedora
	# (virt_sandbox_use_all_caps).
	if [ -n "$policy" ]; then
		{
			printf '(typepermissive %s)\n' dockerd_t iptables_t kmod_t podman_conmon_t podman_t
			echo '(allow container_t self (capability (all)))'
		} >"$root/root/engines.cil"
		chroot "$root" semodule -i /root/engines.cil
		chroot "$root" setfiles /etc/selinux/default/contexts/files/file_contexts / >&2
	fi
	cp "$root"/boot/vmlinuz-* "$folder/vmlinuz"
	cp "$root"/boot/initrd.img-* "$folder/initrd"
}

# enter ROOT COMMAND... : runs a command there, with the network of this machine. What
# builds images takes far longer where all is emulated.
enter() {
	# shellcheck disable=SC2016 # of the inner shell
	unshare --mount --pid --fork --kill-child sh -euc 'root=$1; shift
		mount --bind "$root" "$root"; mount -t proc proc "$root/proc"; mount -t sysfs sysfs "$root/sys"; mount --rbind /dev "$root/dev"
		mount -t tmpfs tmpfs "$root/run"; mkdir -p "$root/run/systemd/resolve"; cp -L /etc/resolv.conf "$root/run/systemd/resolve/stub-resolv.conf"
		mount --bind . "$root/share"; exec chroot "$root" env PATH=/usr/sbin:/usr/bin TARE_TEST_MACHINE=1 TARE_TEST_IMAGES="$images" "$@"' sh "$@" >&2
}

# add_quick : puts the image of the study quick on the disk, which the long form runs.
add_quick() {
	[ ! -e "$folder/quick" ] || return 0
	local root
	root=$(mktemp -d /var/tmp/tare-machine-XXXXXX)
	mount -o loop "$folder/disk" "$root"
	# One of its images is in the program; the file is for a test of the other.
	# shellcheck disable=SC2016 # of the inner shell
	enter "$root" sh -euc 'cd /var/lib/tare; /share/bin/tare save quick both.tar; rm both.tar
		/share/bin/tare save "$(/share/bin/tare ls images --filter name=recipe --format "{{.Digest}}" | head -n 1)" quick.tar' ||
		say "going on without the image of quick"
	umount "$root"
	rmdir "$root"
	touch "$folder/quick"
}

make_disk() {
	local from key root
	key=$(echo "$packages $(declare -f settle)" | sha256sum | cut -c1-12)
	[ "$(cat "$folder/made" 2>/dev/null)" != "$key" ] || return 0
	[ "$(id -u)" = 0 ] || die "needs root: for the owners of files and for mounts"
	alive && die "the machine runs with an older disk: test-machine.sh stop"
	from=$(mirror)
	if [ -z "$from" ]; then
		apt-get update -qq
		from=$(mirror)
	fi
	[ -n "$from" ] || die "apt's lists here have no mirror of Debian"
	say "making the disk of $suite in $folder, which takes some minutes and 4 GB"
	mkdir -p "$folder"
	rm -f "$folder"/{made,disk,quick,key,key.pub}
	ssh-keygen -q -t ed25519 -N '' -C test-machine -f "$folder/key"
	root=$(mktemp -d /var/tmp/tare-machine-XXXXXX)
	# shellcheck disable=SC2064 # this one
	trap "rm -rf --one-file-system '$root'" EXIT
	# Its mounts are its own: they end with it, whoever looks into them. A mirror may be
	# behind. The initramfs has what leads to the disk, and no more: unpacking it takes time,
	# and with dracut's, sid's default, the machine did not come to its SSH server.
	# shellcheck disable=SC2016 # of the hooks
	unshare --mount mmdebstrap --quiet --variant="$variant" --dpkgopt=force-unsafe-io --aptopt='Acquire::Check-Valid-Until "false"' --include="$packages" \
		--essential-hook='mkdir -p "$1/etc/initramfs-tools/conf.d" && echo MODULES=list >"$1/etc/initramfs-tools/conf.d/list"' \
		--essential-hook='printf "%s\n" virtio_pci virtio_blk ext4 >"$1/etc/initramfs-tools/modules"' \
		"$suite" "$root" "deb $from $suite main"
	settle "$root"
	[ -n "$small" ] || enter "$root" "/share/$folder/tests/machine.test" -test.v -test.run=TestTheImagesOfTheTestsAreMade ||
		say "going on without the images of the tests, which make what is missing"
	truncate -s 30G "$folder/disk"
	mke2fs -q -t ext4 -L root -d "$root" "$folder/disk"
	rm -rf --one-file-system "$root"
	trap - EXIT
	echo "$key" >"$folder/made"
}

# alive : whether the machine runs that was started from here.
alive() { [ -s "$folder/pid" ] && grep -qs "$folder/key" "/proc/$(cat "$folder/pid")/cmdline"; }

inside() { # COMMAND...
	ssh -q -i "$folder/key" -p "$(cat "$folder/port")" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ConnectTimeout=120 \
		-o ServerAliveInterval=30 -o ServerAliveCountMax=20 "${AS:-root}@127.0.0.1" "$@"
}

# Its processor is without XSAVE and what needs it: a guest's XSETBV does not reach KVM with
# SVM as QEMU 7.2 emulates it. KVM then says a wrong size of what XSAVE writes, and Linux 7.2
# panics in such a guest.
processor=max,-xsave,-avx,-avx2,-f16c,-fma,-vaes,-mpx,-pku

boot() {
	local began=$SECONDS cpus=${CPUS:-$((small ? 1 : 4))} nodes=${NODES:-1} memory=$((small ? 1024 : 6144)) node numa=()
	alive && die "the machine runs already"
	[ -z "${SELINUX:-}" ] || [ -n "$policy" ] || die "SELINUX=1: the disk of $suite${small:+, small,} has no policy"
	rm -f "$folder/run"
	qemu-img create -q -f qcow2 -b disk -F raw "$folder/run"
	perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1")->sockport' >"$folder/port"
	for ((node = 0; node < nodes && nodes > 1; node++)); do
		numa+=(-object "memory-backend-ram,id=m$node,size=$((memory / nodes))M")
		numa+=(-numa "node,nodeid=$node,memdev=m$node,cpus=$((node * cpus / nodes))-$(((node + 1) * cpus / nodes - 1))")
	done
	# The name says whose it is. Units start slowly where four processors are emulated. A panic
	# ends the machine: else whoever waits for it does for ten minutes.
	qemu-system-x86_64 -name "$folder/key" -no-reboot -machine q35 -accel tcg,thread=multi -cpu "$processor" -smp "$cpus" -m ${memory}M "${numa[@]}" \
		-kernel "$folder/vmlinuz" -initrd "$folder/initrd" \
		-append "root=/dev/vda rw console=ttyS0 quiet panic=-1 mitigations=off maxcpus=1 systemd.default_timeout_start_sec=600 ${SELINUX:+security=selinux}" \
		-drive "file=$folder/run,if=none,id=d0,format=qcow2,cache=unsafe" -device virtio-blk-pci,drive=d0 \
		-netdev "user,id=n0,hostfwd=tcp:127.0.0.1:$(cat "$folder/port")-:22" -device virtio-net-pci,netdev=n0 \
		-object rng-random,id=r0,filename=/dev/urandom -device virtio-rng-pci,rng=r0 \
		-virtfs "local,path=$PWD,mount_tag=share,security_model=none,readonly=on,multidevs=remap" \
		-display none -serial "file:$folder/console" -pidfile "$folder/pid" -daemonize
	until inside true </dev/null; do
		alive || die "the machine ended: $(tail -n 3 "$folder/console")"
		[ $((SECONDS - began)) -lt 1800 ] || die "the machine did not answer in 1800 s: $(tail -n 3 "$folder/console")"
		sleep 1
	done
	inside 'mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=512000 share /share; systemctl is-system-running --wait; systemctl --failed --no-legend' </dev/null >&2 || true
	say "$suite answers after $((SECONDS - began)) s: process $(cat "$folder/pid"), console $folder/console"
}

stop() {
	local pid
	if alive; then
		pid=$(cat "$folder/pid")
		kill "$pid"
		while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
		say "the machine (process $pid) has ended"
	fi
	rm -f "$folder"/{pid,port,run}
}

# compile PACKAGE... : test programs, below internal.
compile() {
	local package
	mkdir -p "$folder/tests"
	for package in "$@"; do
		go test -c -ldflags='-s -w' -o "$folder/tests/$(basename "$package").test" "./internal/$package"
	done
}

# events PACKAGE FLAG... : runs its tests in the machine and prints what go test -json does.
# What ends in "without root" runs as the ordinary user, in a subtree of cgroups.
events() {
	local package=${1#tare/internal/} name as=root store=$images scope=
	name=$(basename "${package%% *}").test
	case $package in *"without root)") as=user store=/home/user/images scope="systemd-run --user --scope --quiet -p Delegate=yes" ;; esac
	shift
	inside "cp -u /share/$folder/tests/$name /var/tmp/" </dev/null
	AS=$as inside "cd /share/internal/${package%% *} && TMPDIR=/var/tmp TARE_TEST_MACHINE=1 TARE_TEST_SHORT=${TARE_TEST_SHORT:-} TARE_TEST_IMAGES=$store \
		exec $scope /var/tmp/$name -test.v=test2json -test.timeout=2h $(printf ' %q' "${@/#-r/-test.r}")" </dev/null 2>&1 | go tool test2json -t -p "tare/internal/$package"
}

# restart_docker CONFIGURATION : with more of daemon.json than the runtime runsc.
restart_docker() {
	local with="${SELINUX:+, \"selinux-enabled\": true}$1"
	inside "mkdir -p /etc/docker && cat >/etc/docker/daemon.json && systemctl restart docker" <<<"{\"runtimes\": {\"runsc\": {\"path\": \"/usr/local/bin/runsc\"}}$with}"
}

containerd="docker (containerd's store)"

# kinds : those of the suite that KINDS names, else all, a line each.
kinds() {
	local all kind
	all=$(sed -n '/^var onMachine/,/^}/s/^\t{"\([^"]*\)".*/\1/p' internal/testing/conformance/suite_test.go)$'\n'$containerd
	[ -n "${KINDS:-}" ] || { echo "$all"; return; }
	tr , '\n' <<<"$KINDS" | sed 's/^ *//; s/ *$//' | while IFS= read -r kind; do
		grep -qxF -e "$kind" <<<"$all" || die "KINDS: the suite has no kind \"$kind\", but: ${all//$'\n'/, }"
		echo "$kind"
	done
}

# has_suite : whether the conformance suite runs.
has_suite() { [ -z "$small" ] && { [ -z "${TARE_TEST_SHORT:-}" ] || [ -n "${KINDS:-}" ]; }; }

# vmm_tests FLAG... : those of the kinds whose programs PROGRAMS brought.
vmm_tests() {
	local status=0
	if inside 'command -v firecracker' </dev/null >&2; then events environment/firecracker "$@" || status=1; fi
	if inside 'command -v cloud-hypervisor' </dev/null >&2; then events environment/cloudhypervisor "$@" || status=1; fi
	return $status
}

# tests [-run PATTERN] : those that need such a machine. The rest of a package needs Go, or
# another kind of machine.
tests() {
	local status=0
	case "${*: -2:1}" in -test.run=*) # once more
		events "${*: -1}" "${*: -2:1}"
		return
		;;
	esac
	if [ -n "$small" ]; then
		events testing/machine '-run=OrdinaryUserMeasures|ForbiddenUserNamespace' "$@"
		return
	fi
	if [ -z "${KINDS:-}" ]; then
		events testing/machine "$@" || status=1
		events linux/cgroup "$@" || status=1
		events environment/native -run=OrdinaryUser "$@" || status=1
		vmm_tests "$@" || status=1
	fi
	! has_suite || suite "$@" || status=1
	return $status
}

# suite FLAG... : the conformance suite, a process for each kind: an emulated machine ends or
# hangs now and then, which costs the rest of that kind alone.
suite() {
	local kind features status=0
	equip
	case " $* " in *" -run"*) # some cases, of all kinds
		restart_docker ""
		events testing/conformance "$@"
		return
		;;
	esac
	while IFS= read -r kind <&3; do
		if ! timeout 300 scripts/test-machine.sh ssh true </dev/null; then
			say "the machine does not answer and is started again, before $kind: $(tail -n 3 "$folder/console")"
			stop
			boot
			provide
			equip
		fi
		features=
		[ "$kind" != "$containerd" ] || features=', "features": {"containerd-snapshotter": true}'
		restart_docker "$features"
		events "testing/conformance ($kind)" "-run=TestEveryProviderDoesWhatAnInstancePromises/^$(tr ' ' _ <<<"${kind% (*}")\$" "$@" || status=1
	done 3< <(kinds)
	return $status
}

# provide : puts what is tested into the machine that has just started.
provide() {
	inside "install /share/bin/tare $([ -n "$small" ] || echo /share/build/bin/runsc) /usr/local/bin/" </dev/null
	if [ -n "${SELINUX:-}" ]; then
		inside 'restorecon -R /usr/local/bin /var/lib/tare && setenforce 1' </dev/null
		restart_docker ""
	fi
	[ -z "${PROGRAMS:-}" ] || tar -C "$PROGRAMS" --owner=0 --group=0 -c . | inside 'tar -C / -x --keep-directory-symlink'
}

# equip : lets packets between Podman's containers pass Docker's rules, and gives the ordinary
# user, where the kinds of the suite need one, engines, all controllers, as doctor says how, and
# the images of the tests.
equip() {
	# shellcheck disable=SC2016 # of the machine
	inside 'rule="DOCKER-USER -i podman+ -o podman+ -j ACCEPT"; iptables -C $rule 2>/dev/null || iptables -I $rule' </dev/null || true
	kinds | grep -E '(rootless|without root)$' >/dev/null || return 0
	! inside 'test -e /home/user/images' </dev/null || return 0
	inside "mkdir -p /etc/systemd/system/user@.service.d; printf '[Service]\nDelegate=cpu cpuset io memory pids\n' >/etc/systemd/system/user@.service.d/delegate.conf
		systemctl daemon-reload; loginctl enable-linger user; cp -r $images /home/user/images; chown -R user: /home/user/images" </dev/null
	# shellcheck disable=SC2016 # of the machine
	AS=user inside 'PATH=$PATH:/usr/share/docker.io/contrib:/usr/sbin; dockerd-rootless-setuptool.sh install; systemctl --user start podman.socket' </dev/null >&2 || true
}

# table : what became of the tests of each package, and of each kind of the suite.
table() {
	jq -rn '[inputs | select(.Package)] | group_by(.Package)[]
		| ([.[] | .Test // empty | split("/") | .[:-1] | join("/")] | unique) as $parents
		| ([.[] | select(.Test and (.Action | IN("run", "pass", "fail", "skip")) and (.Test | IN($parents[]) | not))] | group_by(.Test) | map(last.Action)) as $ends
		| def ended($how): $ends | map(select(. == $how)) | length;
		"\(.[0].Package | ltrimstr("tare/internal/")): \(ended("pass")) passed, \(ended("fail")) failed, \(ended("skip")) skipped, \(ended("run")) did not end; \([.[].Time | sub("[.].*"; "Z") | fromdate] | max - min) s"' build/tools/machine.json
}

run() {
	local status=0
	alive && die "the machine runs already: test-machine.sh stop"
	kinds >/dev/null
	case "${KINDS:-}:$* " in [!:]*:*"-run"*) die "KINDS and -run exclude each other: -run 'Promises/^docker$/^frozen$' is a case of a kind" ;; esac
	compile testing/machine
	[ -n "$small${KINDS:-}" ] || compile linux/cgroup environment/native environment/firecracker environment/cloudhypervisor
	! has_suite || compile testing/conformance
	make_disk
	[ -n "$small${TARE_TEST_SHORT:-}${KINDS:-}" ] || add_quick
	trap stop EXIT
	boot
	provide
	scripts/gotestsum.sh machine scripts/test-machine.sh tests "$@" || status=1
	! has_suite || table
	# Here KVM works.
	grep -vi kvm scripts/allowed-skips >build/tools/allowed-skips-machine
	scripts/summary.sh machine build/tools/allowed-skips-machine || status=1
	return $status
}

case "${1:-}" in
make) compile testing/machine && make_disk ;;
boot) compile testing/machine && make_disk && boot ;;
ssh) shift && inside "$@" ;;
stop) stop ;;
run) shift && run "$@" ;;
tests | suite) "$@" ;; # of run
*) sed -n '5,9s/^# *//p' "$0" >&2; exit 2 ;;
esac
