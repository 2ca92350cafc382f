#!/usr/bin/env bash
# Starts a Kubernetes cluster on this machine for tests, and ends it.
#
#   start-cluster.sh up NODES
#   start-cluster.sh down
#
# Each node has a kubelet, a containerd, a bridge and a part of the cgroups of its
# own. Its mounts are in a namespace of its own, so that they go with its processes.
# All nodes share the host's network; one kube-proxy serves them. All state is in
# one folder, with a PID file for each part; FOLDER/launch PART starts one again, and
# FOLDER/import TAR gives an image to all nodes. There is one cluster a machine.
#
# RuntimeClasses: runc (the default), gvisor, and gvisor-ptrace, with gVisor's slower
# platform. StorageClass: host-path.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
bin=$here/../build/cluster/bin
runsc=$here/../build/bin/runsc
[ -x "$runsc" ] || runsc=$(command -v runsc || true)
# A path of the machine and not of the checkout: sockets have short names, and what
# an interrupted test left is found from every checkout.
folder=/var/tmp/tare-cluster
cgroup=tare-cluster
api=https://127.0.0.1:16443
dns=10.78.0.10
sysctls="vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes
	net/ipv4/ip_forward net/ipv4/conf/all/route_localnet net/bridge/bridge-nf-call-iptables net/netfilter/nf_conntrack_max
	net/netfilter/nf_conntrack_tcp_timeout_established net/netfilter/nf_conntrack_tcp_timeout_close_wait"
# What kubelet and containerd put outside of their folders.
places="/var/lib/kubelet /var/log/containers /var/lib/cni /run/containerd /run/netns"
PATH=$PATH:/usr/sbin:/sbin

say() { echo "start-cluster: $*" >&2; }
die() { say "$*"; exit 1; }
address() { echo "10.77.$1.1"; } # of a node, by number
bridge() { echo "tare-k8s-$1"; }
kubectl() { KUBECACHEDIR=$folder/cache "$bin/kubeall" kubectl --kubeconfig "$folder/admin.kubeconfig" "$@"; }

# wait_for SECONDS WHAT COMMAND... : until the command succeeds.
wait_for() {
	local left=$(($1 * 10)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ "$left" -gt 0 ] || { tail -n 5 "$folder"/log/*.log >&2; die "$what: not there in time; the ends of the logs stand above, $* fails"; }
		left=$((left - 1))
		sleep 0.1
	done
}

certificate() { # NAME SUBJECT USAGE [ADDRESSES]
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$1.key" -out "$1.csr" -subj "$2" 2>/dev/null
	printf 'basicConstraints=CA:FALSE\nkeyUsage=digitalSignature\nextendedKeyUsage=%s\n' "$3" >"$1.ext"
	[ -z "${4:-}" ] || echo "subjectAltName=$4" >>"$1.ext"
	openssl x509 -req -in "$1.csr" -CA "${authority:-ca}.crt" -CAkey "${authority:-ca}.key" -CAcreateserial -out "$1.crt" -days 365 -extfile "$1.ext" 2>/dev/null
}

client() { # NAME SUBJECT : a certificate, and a configuration that holds it
	certificate "$1" "$2" clientAuth
	cat >"$folder/$1.kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: tare, cluster: {server: "$api", certificate-authority-data: $(base64 -w0 ca.crt)}}]
users: [{name: $1, user: {client-certificate-data: $(base64 -w0 "$1.crt"), client-key-data: $(base64 -w0 "$1.key")}}]
contexts: [{name: tare, context: {cluster: tare, user: $1}}]
current-context: tare
YAML
}

make_certificates() { # NODES
	mkdir -m 700 "$folder/pki"
	cd "$folder/pki"
	local n
	for n in ca front-ca; do
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout $n.key -out $n.crt -days 365 -subj "/CN=tare-cluster-$n" 2>/dev/null
	done
	certificate apiserver /CN=kube-apiserver serverAuth "IP:127.0.0.1,IP:$(address 1),IP:10.78.0.1,DNS:localhost,DNS:kubernetes.default.svc"
	client admin /O=system:masters/CN=admin
	client controllers /O=system:masters/CN=system:kube-controller-manager
	client scheduler /CN=system:kube-scheduler
	client proxy /CN=system:kube-proxy
	client dns /O=system:masters/CN=dns
	client metrics /O=system:masters/CN=metrics
	certificate metrics-server /CN=metrics-server serverAuth "DNS:metrics-server.kube-system.svc"
	certificate apiserver-kubelet /O=system:masters/CN=apiserver-kubelet clientAuth
	# Signed by an authority of its own: who has it speaks for every user.
	authority=front-ca certificate front-proxy /CN=front-proxy clientAuth
	for n in $(seq "$1"); do
		certificate "node-$n-server" "/CN=node-$n" serverAuth "IP:$(address "$n"),DNS:node-$n"
		client "node-$n" "/O=system:nodes/CN=system:node:node-$n"
	done
	openssl genrsa -out tokens.key 2048 2>/dev/null
	openssl rsa -in tokens.key -pubout -out tokens.pub 2>/dev/null
	cd - >/dev/null
}

# part NAME COMMAND... : writes down how a part is started, in the group of all.
part() {
	local name=$1 group
	shift
	for group in /sys/fs/cgroup/{freezer/,}$cgroup/parts; do
		[ ! -d "$group" ] || break
	done
	printf '#!/bin/sh\necho $$ >%s/cgroup.procs\nexec %s\n' "$group" "$*" >"$folder/parts/$name"
}

start() { # PART...
	for name; do "$folder/launch" "$name"; done
}

make_groups() { # NODES
	local root n file hierarchies=(/sys/fs/cgroup/*/)
	# Where v2 is alone, what is below are groups of it.
	[ ! -e /sys/fs/cgroup/cgroup.procs ] || hierarchies=(/sys/fs/cgroup/)
	for root in "${hierarchies[@]}"; do
		if [ ! -e "$root/cgroup.procs" ] || [ "$root" = /sys/fs/cgroup/unified/ ]; then continue; fi
		mkdir "$root/$cgroup" "$root/$cgroup/parts"
		for n in $(seq "$1"); do mkdir "$root/$cgroup/node-$n"; done
		for file in cpuset.cpus cpuset.mems; do
			if [ ! -e "$root/cgroup.clone_children" ] || [ ! -e "$root/$file" ]; then continue; fi
			for n in . parts $(seq -f node-%g "$1"); do cat "$root/$file" >"$root/$cgroup/$n/$file"; done
		done
		[ ! -e "$root/cgroup.subtree_control" ] || for n in . $cgroup $(seq -f $cgroup/node-%g "$1"); do
			sed 's/\([a-z]\+\)/+\1/g' "$root/$n/cgroup.controllers" >"$root/$n/cgroup.subtree_control"
		done
	done
}

write_node() { # NUMBER
	local n=$1 name=node-$1 state=$folder/node-$1 place platform binds=
	mkdir -p "$state"/{cni,containerd,logs,plugins}
	cat >"$state/cni/10-tare.conflist" <<JSON
{"cniVersion": "0.4.0", "name": "tare", "plugins": [{"type": "bridge", "bridge": "$(bridge "$n")", "isGateway": true, "hairpinMode": true,
 "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.77.$n.0/24", "rangeStart": "10.77.$n.10"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
JSON
	# Without root's right to lower a score, containerd has to keep it.
	cat >"$state/containerd.toml" <<TOML
version = 2
root = "$state/containerd/root"
state = "$state/containerd/state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt"]
[grpc]
  address = "$state/containerd.sock"
[plugins."io.containerd.nri.v1.nri"]
  disable = true
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$state/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runsc]
    runtime_type = "io.containerd.runsc.v1"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runsc.options]
      TypeUrl = "io.containerd.runsc.v1.options"
      ConfigPath = "$state/runsc-systrap.toml"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runsc-ptrace]
    runtime_type = "io.containerd.runsc.v1"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runsc-ptrace.options]
      TypeUrl = "io.containerd.runsc.v1.options"
      ConfigPath = "$state/runsc-ptrace.toml"
TOML
	for platform in systrap ptrace; do
		cat >"$state/runsc-$platform.toml" <<TOML
binary_name = "$runsc"
root = "$state/runsc"
[runsc_config]
  platform = "$platform"
TOML
	done
	cat >"$state/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $(address "$n")
healthzPort: 0
clusterDomain: cluster.local
clusterDNS: [$dns]
resolvConf: $folder/resolv.conf
tlsCertFile: $folder/pki/$name-server.crt
tlsPrivateKeyFile: $folder/pki/$name-server.key
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: $folder/pki/ca.crt}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://$state/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /$cgroup/$name
failSwapOn: false
failCgroupV1: false
makeIPTablesUtilChains: false
oomScoreAdj: 0
evictionHard: {memory.available: "100Mi", nodefs.available: "100Mi", nodefs.inodesFree: "0.1%", imagefs.available: "100Mi", imagefs.inodesFree: "0.1%"}
evictionPressureTransitionPeriod: 10s
imageGCHighThresholdPercent: 100
syncFrequency: 10s
volumeStatsAggPeriod: 5s
nodeStatusUpdateFrequency: 2s
nodeLeaseDurationSeconds: 8
registryPullQPS: 0
podLogsDir: $state/logs
volumePluginDir: $state/plugins
YAML
	for place in $places; do
		mkdir -p "$state$place"
		binds+="mount --bind $state$place $place; "
	done
	part "$name-containerd" "unshare -m --propagation private sh -c '$binds mount --make-rshared /; PATH=$bin:\$PATH exec $bin/containerd -c $state/containerd.toml'"
	part "$name-kubelet" "nsenter --mount=/proc/\$(cat $folder/$name-containerd.pid)/ns/mnt $bin/kubeall kubelet --config $state/kubelet.yaml" \
		"--kubeconfig $folder/$name.kubeconfig --hostname-override $name --node-ip $(address "$n")"
}

write_control() {
	local pki=$folder/pki
	part etcd "$bin/kubeall etcd --name tare --data-dir $folder/etcd --unsafe-no-fsync --log-level warn" \
		"--listen-client-urls http://127.0.0.1:12379 --advertise-client-urls http://127.0.0.1:12379" \
		"--listen-peer-urls http://127.0.0.1:12380 --initial-advertise-peer-urls http://127.0.0.1:12380 --initial-cluster tare=http://127.0.0.1:12380"
	part kube-apiserver "$bin/kubeall kube-apiserver --etcd-servers http://127.0.0.1:12379 --secure-port 16443 --advertise-address $(address 1)" \
		"--service-cluster-ip-range 10.78.0.0/24 --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction --allow-privileged" \
		"--client-ca-file $pki/ca.crt --tls-cert-file $pki/apiserver.crt --tls-private-key-file $pki/apiserver.key" \
		"--service-account-issuer https://kubernetes.default.svc --service-account-key-file $pki/tokens.pub --service-account-signing-key-file $pki/tokens.key" \
		"--kubelet-client-certificate $pki/apiserver-kubelet.crt --kubelet-client-key $pki/apiserver-kubelet.key" \
		"--kubelet-certificate-authority $pki/ca.crt --kubelet-preferred-address-types InternalIP" \
		"--enable-aggregator-routing --requestheader-client-ca-file $pki/front-ca.crt --requestheader-allowed-names front-proxy --requestheader-username-headers X-Remote-User" \
		"--requestheader-group-headers X-Remote-Group --requestheader-extra-headers-prefix X-Remote-Extra-" \
		"--proxy-client-cert-file $pki/front-proxy.crt --proxy-client-key-file $pki/front-proxy.key"
	# A node is called gone after 16 s and not 50, since tests wait for it.
	part kube-controller-manager "$bin/kubeall kube-controller-manager --kubeconfig $folder/controllers.kubeconfig --leader-elect=false --secure-port 0" \
		"--service-account-private-key-file $pki/tokens.key --root-ca-file $pki/ca.crt --flex-volume-plugin-dir $folder/plugins" \
		"--enable-hostpath-provisioner --node-monitor-period 2s --node-monitor-grace-period 16s"
	part kube-scheduler "$bin/kubeall kube-scheduler --kubeconfig $folder/scheduler.kubeconfig --leader-elect=false --secure-port 0"
	# Pods of one bridge answer each other past the host, where the address of a
	# service is translated back: so the host is the sender.
	part kube-proxy "$bin/kubeall kube-proxy --kubeconfig $folder/proxy.kubeconfig --hostname-override node-1 --proxy-mode iptables --masquerade-all" \
		"--conntrack-max-per-core 0 --conntrack-tcp-timeout-established 0 --conntrack-tcp-timeout-close-wait 0 --iptables-localhost-nodeports=false" \
		"--healthz-bind-address '' --metrics-bind-address 127.0.0.1:16449"
}

write_dns() {
	echo ". {
	bind $(address 1)
	errors
	kubernetes cluster.local {
		kubeconfig $folder/dns.kubeconfig
	}
}" >"$folder/Corefile"
	part dns "$bin/dns -conf $folder/Corefile"
}

write_metrics() {
	part metrics "$bin/metrics -kubeconfig $folder/metrics.kubeconfig -address $(address 1) -port 16444 -certificate $folder/pki/metrics-server"
}

write_commands() { # NODES
	cat >"$folder/launch" <<SH
#!/bin/sh
# launch PART : starts a part of the cluster and writes its PID file.
cd $folder
setsid sh "parts/\$1" >>"log/\$1.log" 2>&1 </dev/null &
echo \$! >"\$1.pid"
SH
	cat >"$folder/import" <<SH
#!/bin/sh
# import TAR : gives the images of an archive to all nodes.
set -e
for socket in $folder/node-*/containerd.sock; do
	$bin/ctr -a "\$socket" -n k8s.io images import "\$1"
done
SH
	chmod +x "$folder/launch" "$folder/import"
	mkdir "$folder/bin"
	ln -s "$bin/kubeall" "$folder/bin/kubectl"
}

# room NODES : fails where there is less space than the images of the tests take on each
# node, and what its kubelet wants to be free: it would evict all pods.
room() {
	local need=$((1024 + $1 * 1024)) free
	free=$(df --output=avail --block-size=1M "$(dirname "$folder")" | tail -n 1 | tr -d ' ')
	[ "$free" -ge "$need" ] || die "$(dirname "$folder") has $free MiB free, and $1 nodes need $need MiB: their kubelets would evict the pods (DiskPressure). Free some space"
}

ready() { curl -sf --cacert "$folder/pki/ca.crt" --cert "$folder/pki/admin.crt" --key "$folder/pki/admin.key" "$api/readyz"; }

up() { # NODES
	local n place file
	[ -x "$bin/kubeall" ] || die "no programs of a cluster in $bin: run scripts/install-cluster.sh build/cluster/bin"
	[ -n "$runsc" ] || die "no runsc: run scripts/install-runsc.sh build/bin"
	[ "$(id -u)" = 0 ] || die "needs root: for bridges, mounts and cgroups"
	room "$1"
	[ -z "$(rules)" ] || die "another cluster's kube-proxy has rules here, which would be removed with this one's"
	mkdir -p "$folder"/{log,parts}
	for file in $sysctls; do
		[ ! -e "/proc/sys/$file" ] || echo "$file $(cat "/proc/sys/$file")"
	done >"$folder/sysctls"
	for place in $places /tmp/hostpath_pv; do
		[ -d "$place" ] || { mkdir -p "$place"; echo "$place" >>"$folder/places"; }
	done
	echo "nameserver 127.0.0.1" >"$folder/resolv.conf"
	make_certificates "$1"
	make_groups "$1"
	write_commands
	write_control
	write_dns
	write_metrics
	for n in $(seq "$1"); do
		ip link add "$(bridge "$n")" type bridge
		ip addr add "$(address "$n")/24" dev "$(bridge "$n")"
		ip link set "$(bridge "$n")" up
		write_node "$n"
	done
	echo 1 >/proc/sys/net/ipv4/ip_forward
	# Docker's daemon has all that is forwarded dropped.
	iptables -I FORWARD -i tare-k8s-+ -j ACCEPT
	iptables -I FORWARD -o tare-k8s-+ -j ACCEPT

	for n in $(seq "$1"); do start "node-$n-containerd"; done
	start etcd kube-apiserver
	for n in $(seq "$1"); do
		wait_for 60 "containerd of node-$n" "$bin/ctr" -a "$folder/node-$n/containerd.sock" version
	done
	"$folder/import" "$bin/pause.tar" >"$folder/log/import.log"
	wait_for 120 "the API server" ready
	start kube-controller-manager kube-scheduler kube-proxy dns metrics
	for n in $(seq "$1"); do start "node-$n-kubelet"; done
	kubectl apply -f - >/dev/null <<YAML
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: runc}
handler: runc
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: gvisor}
handler: runsc
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: gvisor-ptrace}
handler: runsc-ptrace
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: host-path, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: kubernetes.io/host-path
---
apiVersion: v1
kind: Service
metadata: {name: kube-dns, namespace: kube-system}
spec: {clusterIP: $dns, ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: kube-dns, namespace: kube-system, labels: {kubernetes.io/service-name: kube-dns}}
addressType: IPv4
endpoints: [{addresses: [$(address 1)]}]
ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]
---
apiVersion: v1
kind: Service
metadata: {name: metrics-server, namespace: kube-system}
spec: {ports: [{name: https, port: 443, targetPort: 16444}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: metrics-server, namespace: kube-system, labels: {kubernetes.io/service-name: metrics-server}}
addressType: IPv4
endpoints: [{addresses: [$(address 1)]}]
ports: [{name: https, port: 16444, protocol: TCP}]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  caBundle: $(base64 -w0 "$folder/pki/ca.crt")
  service: {name: metrics-server, namespace: kube-system}
YAML
	for n in $(seq "$1"); do
		wait_for 120 "node-$n" kubectl wait --for=condition=Ready "node/node-$n" --timeout=1s
	done
	wait_for 60 "the default service account" kubectl get serviceaccount default
	say "$1 nodes of $(kubectl version -o yaml | sed -n 's/^ *gitVersion: //p' | tail -n 1) are ready after $SECONDS s"
}

groups() { find /sys/fs/cgroup -maxdepth 2 -name $cgroup; }

# processes : of all parts and pods.
processes() {
	local group
	for group in $(groups); do
		find "$group" -name cgroup.procs -exec cat {} + 2>/dev/null
	done | sort -un
}

end_processes() {
	local pid
	for _ in $(seq 100); do
		[ -n "$(processes)" ] || return 0
		for pid in $(processes); do kill -KILL "$pid" 2>/dev/null || true; done
		sleep 0.1
	done
}

down() {
	local place name value
	[ -d "$folder" ] || return 0
	# What is frozen or stopped would not die.
	find /sys/fs/cgroup/freezer/$cgroup -name freezer.state -exec sh -c 'for f; do echo THAWED >"$f"; done' sh {} + 2>/dev/null || true
	end_processes
	"$bin/kubeall" kube-proxy --cleanup >/dev/null 2>&1 || true
	# It leaves this one, for the kubelets of its time.
	for name in INPUT OUTPUT; do iptables -D $name -j KUBE-FIREWALL 2>/dev/null || true; done
	iptables -F KUBE-FIREWALL 2>/dev/null && iptables -X KUBE-FIREWALL
	while iptables -D FORWARD -i tare-k8s-+ -j ACCEPT 2>/dev/null; do :; done
	while iptables -D FORWARD -o tare-k8s-+ -j ACCEPT 2>/dev/null; do :; done
	for name in $(bridges); do ip link del "$name"; done
	for name in $(groups); do find "$name" -depth -type d -exec rmdir {} + 2>/dev/null || true; done
	[ ! -e "$folder/sysctls" ] || while read -r name value; do
		[ "$(cat "/proc/sys/$name")" = "$value" ] || echo "$value" >"/proc/sys/$name"
	done <"$folder/sysctls"
	[ ! -e "$folder/places" ] || while read -r place; do
		[ "$place" != /tmp/hostpath_pv ] || rm -rf --one-file-system "$place"
		rmdir "$place" 2>/dev/null || [ ! -e "$place" ] || say "$place is not empty"
	done <"$folder/places"
	left
	rm -rf --one-file-system "$folder"
}

bridges() { ip -o link show type bridge | sed -n 's/^[0-9]*: \(tare-k8s-[0-9]*\):.*/\1/p'; }

rules() { iptables-save 2>/dev/null | grep -E 'KUBE-|tare-k8s' || true; }

# left : says what is still there, and fails if something is.
left() {
	local found
	found=$(
		processes | sed 's/^/process /'
		groups | sed 's/^/cgroup /'
		bridges | sed 's/^/bridge /'
		sed -n "s|^[^ ]* \($folder/[^ ]*\) .*|mount \1|p" /proc/mounts
		rules | sed 's/^/rule /'
		# Podman has files in these two as well, while other tests run.
		[ ! -e "$folder/places" ] || grep -vx -e /var/lib/cni -e /run/netns "$folder/places" | while read -r place; do [ ! -e "$place" ] || echo "folder $place"; done
		[ ! -e "$folder/sysctls" ] || while read -r name value; do [ "$(cat "/proc/sys/$name")" = "$value" ] || echo "sysctl $name"; done <"$folder/sysctls"
	) || true
	[ -z "$found" ] || die "left behind, with the logs in $folder/log: $found"
}

case "$*" in
"up "[1-9]) up "$2" ;;
down) down ;;
*) sed -n '4,5s/^# *//p' "$0" >&2; exit 2 ;;
esac
