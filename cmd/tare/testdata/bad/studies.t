Studies. Each is good.yaml with an edit.

  $ cat >good.yaml <<E
  > study: one
  > baseline: native
  > limits: {cpus: 1, memory: 512MiB}
  > environments:
  >   native: {}
  >   docker: {network: host}
  > workloads:
  >   - use: redis
  >     clients: [1, 10]
  > design: {blocks: 8}
  > E

Keys and names

  $ sed 's/baseline/basline/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:2:1: unknown key "basline"; did you mean "baseline"? (known: study, baseline, limits, hosts, nodes, parallel, secret, mounts, inputs, environments, image, workloads, price, accept, sampling, design, scales)
  [2]
  $ sed 's/^study: one//' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:2:1: study: is missing; it is the title of the report
  [2]
  $ sed 's/study: one/study: [one]/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:1:8: expected text, found a list
  [2]
  $ sed 's/study: one/study: ""/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:1:8: study: is missing; it is the title of the report
  [2]
  $ sed 's/baseline: native/baseline: podman/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:2:11: baseline: unknown environment "podman"; known: native, docker
  [2]
  $ sed 's/^  native: {}/  nativ: {}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:2:11: baseline: unknown environment "native"; did you mean "nativ"? (known: nativ, docker)
  bad.yaml:5:3: unknown kind of environment "nativ"; did you mean "native"? (known: bubblewrap, cloud-hypervisor, containerd, docker, firecracker, gvisor, kubernetes, machine, native, oci, podman, qemu, virtualbox, vsphere); if the name is not the kind, add kind: below it
  [2]
  $ sed 's/docker:/dokcer:/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:3: unknown kind of environment "dokcer"; did you mean "docker"? (known: bubblewrap, cloud-hypervisor, containerd, docker, firecracker, gvisor, kubernetes, machine, native, oci, podman, qemu, virtualbox, vsphere); if the name is not the kind, add kind: below it
  [2]
  $ sed 's/docker:/"two words":/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:3: "two words" is not a valid name of an environment: use letters, digits and single dashes
  bad.yaml:6:3: unknown kind of environment "two words"; known: bubblewrap, cloud-hypervisor, containerd, docker, firecracker, gvisor, kubernetes, machine, native, oci, podman, qemu, virtualbox, vsphere; if the name is not the kind, add kind: below it
  [2]
  $ sed 's/docker:/..:/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:3: ".." is not a valid name of an environment: use letters, digits and single dashes
  bad.yaml:6:3: unknown kind of environment ".."; known: bubblewrap, cloud-hypervisor, containerd, docker, firecracker, gvisor, kubernetes, machine, native, oci, podman, qemu, virtualbox, vsphere; if the name is not the kind, add kind: below it
  [2]
  $ sed 's/docker:/native:/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:3: the key "native" is already in line 5
  [2]
  $ sed 's/network/networ/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:12: unknown key "networ"; did you mean "network"? (known: socket, runtime, network, ports, log, seccomp, data, kind, limits, inside, system, host, with)
  [2]
  $ sed 's/host/moon/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:21: network: "moon" is not known: choose one of bridge, nat, publish, publish-loopback, host, none
  [2]
  $ sed 's/host/[host, none]/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:21: expected text, found a list
  [2]
  $ sed 's/{network: host}/{kind: kubernetes, network: bridge, ports: [80], data: bind}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:39: network: "bridge" is not known: choose one of cni, host
  bad.yaml:6:54: ports: all ports of a pod's IP are reached: only service: cluster_ip and node_port list them
  bad.yaml:6:66: data: "bind" is not known: choose one of emptydir, memory, pvc
  [2]
  $ sed 's/{network: host}/{kind: kubernetes, service: node_port, ports: [6379], runtimeclass: gvisor}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:57: ports: 6379 cannot be a NodePort: the range is 30000 to 32767; the workload's servers listen at the same port
  bad.yaml:6:65: unknown key "runtimeclass"; did you mean "runtime_class"? (known: as, kubeconfig, context, namespace, runtime_class, node_selector, tolerations, network, service, ports, data, storage_class, storage_size, priority_class, seccomp, capabilities, run_as_user, read_only_root, image, images, pull, pull_secrets, usage, agent_image, template, snapshot, mode, cpus, memory, user, port, identity, known_hosts, key_alias, host_key, rootfs, start_timeout, kind, limits, inside, system, host, with)
  [2]
  $ sed 's/{network: host}/{kind: kubernetes}/; s/^limits.*/limits: {cpus: 1, pids: 100, io: {read_ops: 100}, pin: {server: [0], driver: [1]}}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:3: docker: limits: pin: a pod cannot name its cores: remove the cores of roles; for cores of its own, limit whole CPUs and memory on nodes whose kubelet has the CPU manager policy static
  bad.yaml:6:3: docker: limits: pids: a pod cannot limit its processes: remove it; the kubelets limit those of every pod (podPidsLimit)
  bad.yaml:6:3: docker: limits: io: a pod cannot limit its I/O: remove it
  [2]
  $ sed 's/{network: host}/{kind: kubernetes, as: vmi, template: debian}/; s/^limits.*/limits: {pin: {server: [0]}}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:3: docker: limits: pin: KubeVirt does not let a VM choose its cores: remove the cores of roles; dedicatedCpuPlacement in the template gives it cores of its own
  [2]
  $ sed 's/{network: host}/{kind: kubernetes, as: machine}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:34: as: "machine" is not known: choose one of pod, vmi
  [2]
  $ sed 's/{network: host}/{kind: kubernetes, as: vmi, template: debian, runtime_class: kata}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:72: runtime_class: a VM of KubeVirt (as: vmi) does not have it; remove it
  [2]
  $ sed 's/{network: host}/{kind: kubernetes, as: vmi, template: debian, mode: clone}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:63: mode: clone is not supported on KubeVirt, which copies disks only with snapshots of the storage or CDI: use linked, whose writes are discarded, or start
  [2]
  $ sed 's/{network: host}/{kind: kubernetes, template: debian}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:40: template: a pod does not have it; remove it
  [2]
  $ sed 's/{network: host}/{kind: kubernetes, tolerations: [{key: a, effekt: NoSchedule}]}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:53: unknown key "effekt"; did you mean "effect"? (known: key, operator, value, effect)
  [2]
  $ sed 's/{network: host}/{kind: qemu, machine: q36}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:33: machine: "q36" is not known: choose one of q35, microvm
  [2]
  $ sed 's/{network: host}/{kind: qemu, memory: 1 parsec}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:32: "1 parsec" is not a size: write a number with B, kB, KiB, MB, MiB, GB, GiB, TB or TiB, such as 512MiB
  [2]
  $ sed 's/{network: host}/{kind: oci, runtime: ""}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:32: runtime: name an OCI runtime's program, such as runc, crun or /usr/local/bin/runsc
  [2]
  $ sed 's/{network: host}/{kind: oci, capabilities: [CAP_FLY]}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:37: expected text, found a list
  [2]
  $ sed 's/{network: host}/{network: publish, ports: [0, 99999]}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:37: ports: 0 is not a port: the range is 1 to 65535
  bad.yaml:6:37: ports: 99999 is not a port: the range is 1 to 65535
  [2]
  $ sed 's/{network: host}/{network: publish, ports: [80]}/; s/- use: redis/- {use: nginx, place: {driver: host}}/; s/^    clients.*//' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:37: ports: workload nginx listens on 13080, which is not among 80
  [2]
  $ sed 's/{network: host}/{inside: vm}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:20: inside: unknown environment "vm"; known: native
  [2]
  $ sed 's/{network: host}/{inside: {on: vm}}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:20: inside: to have all instances of a workload in one machine, write {one: NAME}
  bad.yaml:6:21: unknown key "on"; did you mean "one"? (known: one)
  [2]
  $ sed 's/{network: host}/{inside: docker}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:20: inside: docker is inside docker: this is a cycle
  [2]
  $ sed 's/{network: host}/{system: {suite: trixie}}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:20: system: is that of the machine which contains an environment: add inside: with the name of a virtual machine, or leave system: out
  [2]
  $ sed 's/{network: host}/{inside: vm, system: {kernel: stok}}\n  vm: {kind: qemu}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:41: kernel: "stok" is not one of cloud, stock, image, and no path, which has a slash
  [2]
  $ sed 's/{network: host}/{inside: vm, system: {reference: "oci:nowhere", kernel: .\/no}}\n  vm: {kind: qemu}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:44: reference: image oci:nowhere: nowhere is not an OCI layout: no such file or directory
  bad.yaml:6:67: kernel: stat $PWD/no: no such file or directory
  [2]
  $ sed 's/{network: host}/{inside: vm, system: {disk: no.qcow2, suite: trixie}}\n  vm: {kind: qemu}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:33: unknown key "disk"; known: suite, reference, kernel, modules
  [2]
  $ sed 's/{network: host}/{inside: vm, system: {disk: good.yaml, reference: "debian:12"}}\n  vm: {kind: qemu}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:33: unknown key "disk"; known: suite, reference, kernel, modules
  [2]
  $ sed 's/{network: host}/{host: nowhere}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:18: host: unknown host "nowhere": the study defines none; add hosts: {nowhere: {ssh: user@name}}
  [2]
  $ sed 's/{network: host}/{host: h1}/; s/^design/hosts: {h1: {ssh: h1}}\nnodes: [h1]\ndesign/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:12: host: nodes: puts all environments of a block onto one host; leave host: out
  [2]
  $ sed 's/^design/nodes: [h1, h2]\ndesign/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:5:3: native: kind native does not run on nodes of a cluster: name hosts of the study in nodes: (hosts: says how to reach them)
  bad.yaml:6:3: docker: kind docker does not run on nodes of a cluster: name hosts of the study in nodes: (hosts: says how to reach them)
  [2]
  $ sed 's/^design/nodes: all\ndesign/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:5:3: native: kind native does not run on nodes of a cluster: name hosts of the study in nodes: (hosts: says how to reach them)
  bad.yaml:6:3: docker: kind docker does not run on nodes of a cluster: name hosts of the study in nodes: (hosts: says how to reach them)
  [2]
  $ sed 's/^design/nodes: 0\ndesign/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:8: nodes: must be at least 1, or all, or a list of names
  [2]
  $ sed 's/^design/nodes: []\ndesign/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:8: nodes: names no node; leave it out to run on this machine
  [2]
  $ sed 's/^design/hosts: {h1: {ssh: h1}}\nnodes: [h1, h2]\ndesign/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:11:13: nodes: are hosts of the study or nodes of a cluster, and not both: the hosts are h1
  [2]
  $ sed 's/^design/hosts: {h1: {ssh: h1}, h2: {ssh: h2}}\nnodes: [h1, h2+h1]\ndesign/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:11:8: nodes: the second node of a pair is for roles on the host, and no workload has any: add place: {driver: host}
  bad.yaml:11:13: nodes: h1 is listed twice, and would run two blocks at the same time
  [2]
  $ sed 's/^design/hosts: {h1: {ssh: h1}}\nnodes: [h1+h1]\ndesign/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:11:8: nodes: the second node of a pair is for roles on the host, and no workload has any: add place: {driver: host}
  bad.yaml:11:9: nodes: "h1+h1" is neither a name nor a pair of two, such as h1+h2
  [2]
  $ sed 's/^design/hosts: {h1: {ssh: h1}, h2: {ssh: h2}}\nnodes: [h1+h2]\ndesign/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:11:8: nodes: the second node of a pair is for roles on the host, and no workload has any: add place: {driver: host}
  [2]
  $ sed 's/- use: redis/- use: redis\n    place: {driver: {host: h2}}/; s/^design/hosts: {h1: {ssh: h1}, h2: {ssh: h2}}\nnodes: [h1]\ndesign/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:8:5: place: role driver of workload redis is on h2, and with nodes: several blocks would use it at the same time; place it on host, and name pairs of hosts: nodes: [h1+h2]
  [2]
  $ sed 's/^design.*/hosts: {h1: {ssh: h1}, h2: {ssh: h2}}\nnodes: [h1, h2]\ndesign: {order: sequential}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:12:17: order: sequential runs all blocks of an environment before the next, so they cannot run side by side on several nodes
  [2]
  $ sed 's/{network: host}/{inside: vm}\n  vm: {kind: qemu}/; s/^design/hosts: {h1: {ssh: h1}}\nnodes: [h1]\ndesign/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:12: inside: only instances that are started on this machine can contain others, and nodes: names hosts
  [2]
  $ sed 's/^design/parallel: 2\ndesign/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:1: parallel: is how many nodes work at the same time, so it needs nodes:
  [2]
  $ sed 's/^design/hosts: {h1: {ssh: h1}}\nnodes: [h1]\nparallel: 0\ndesign/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:12:11: parallel: must be at least 1
  [2]
  $ tare run good.yaml --parallel 2
  tare: parallel: is how many nodes work at the same time, and the study has no nodes:
  [2]
  $ sed 's/{network: host}/{with: {redis: {clients: 3}}}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:27: with: clients is swept by workload redis, and levels must be the same in every environment
  [2]
  $ sed 's/{network: host}/{with: {rdis: {size: 3}}}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:19: with: unknown workload "rdis"; did you mean "redis"? (known: redis)
  [2]
  $ sed 's/^environments:/environments: {}\nlimts:/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:5:1: unknown key "limts"; did you mean "limits"? (known: study, baseline, limits, hosts, nodes, parallel, secret, mounts, inputs, environments, image, workloads, price, accept, sampling, design, scales)
  [2]

Limits

  $ sed 's/cpus: 1/cpus: -1/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:3:16: cpus: must not be negative
  [2]
  $ sed 's/cpus: 1/cpus: .inf/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:3:16: expected a number, found ".inf"
  [2]
  $ sed 's/cpus: 1/cpus: 100000/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: limits: cpus: the study gives all environments 100000 CPUs, and this machine has 2: run it on a machine that has as many, or with less: limits: {cpus: 2}
  [2]
  $ sed 's/cpus: 1/cpu: 1/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:3:10: unknown key "cpu"; did you mean "cpus"? (known: cpus, memory, pids, io, pin)
  [2]
  $ sed 's/512MiB/12 parsecs/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:3:27: "12 parsecs" is not a size: write a number with B, kB, KiB, MB, MiB, GB, GiB, TB or TiB, such as 512MiB
  [2]
  $ sed 's/512MiB/-5/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:3:27: "-5" is not a size: write a number with B, kB, KiB, MB, MiB, GB, GiB, TB or TiB, such as 512MiB
  [2]
  $ sed 's/512MiB/99999999999999999999TiB/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:3:27: "99999999999999999999TiB" is not a size: write a number with B, kB, KiB, MB, MiB, GB, GiB, TB or TiB, such as 512MiB
  [2]
  $ sed 's/{cpus: 1/{pin: {serwer: [0]}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:3:16: unknown role "serwer"; did you mean "server"? (known: driver, server)
  [2]
  $ sed 's/{cpus: 1/{pin: {server: [4096]}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:3:25: there is no core 4096
  [2]
  $ sed 's/{cpus: 1/{pin: {server: []}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:3:24: role server has no cores; remove the role to let it run on all cores
  [2]
  $ sed 's/{cpus: 1/{io: {read: fast}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:3:21: "fast" is not a size: write a number with B, kB, KiB, MB, MiB, GB, GiB, TB or TiB, such as 512MiB
  [2]
  $ sed 's/{cpus: 1/{pids: 1.5/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:3:16: expected a whole number, found "1.5"
  [2]

Workloads

  $ sed 's/redis/redsi/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:8:10: use: unknown workload "redsi"; did you mean "redis"? (known: boot, calls, cassandra, ci-pipeline, fio, fio-once, grpc, hpl, image-command, ioping, iozone, iperf3, iperf3-udp, jmeter, k6, mysql-configured, mysql-oltp, nginx, nginx-configured, nginx-open, packets, postgres, redis, sql-insert, sql-select, startup, startup-cold, startup-many, startup-port, startup-service, stress-ng-cpu, stress-ng-vm, sysbench-cpu, sysbench-fileio, sysbench-memory, sysbench-threads, syscalls, wordpress-ab, wordpress-jmeter); to use a pack file, give its path, such as ./redsi.yaml
  [2]
  $ sed 's|redis|./strange.yaml|' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:8:10: use: workload pack strange.yaml: no such file or directory
  [2]
  $ sed 's/- use: redis/- redis/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:8:5: this is not YAML: unexpected key name
  [2]
  $ sed 's/- use: redis/- as: mine/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:8:5: use: is missing; it names a workload: boot, calls, cassandra, ci-pipeline, fio, fio-once, grpc, hpl, image-command, ioping, iozone, iperf3, iperf3-udp, jmeter, k6, mysql-configured, mysql-oltp, nginx, nginx-configured, nginx-open, packets, postgres, redis, sql-insert, sql-select, startup, startup-cold, startup-many, startup-port, startup-service, stress-ng-cpu, stress-ng-vm, sysbench-cpu, sysbench-fileio, sysbench-memory, sysbench-threads, syscalls, wordpress-ab, wordpress-jmeter
  [2]
  $ sed 's/clients:/client:/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:5: workload redis: unknown parameter "client"; did you mean "clients"? (known: use, as, server, env, arguments, fresh, place, instances, starting, neighbours, neighbour, sample, find, objective, load, pause, total, image, clients, pipeline, port, requests, seconds, size, tests, warmup)
  [2]
  $ sed 's/\[1, 10\]/[]/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:14: clients: the list is empty
  [2]
  $ sed 's/\[1, 10\]/[1, 1]/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:18: clients: 1 is listed twice
  [2]
  $ sed 's/\[1, 10\]/0/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:14: clients: 0 is out of range: 1 to 60000 are allowed
  [2]
  $ sed 's/\[1, 10\]/1e9/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:14: clients: "1e9" is not a whole number: 1 to 60000 are allowed
  [2]
  $ sed 's/\[1, 10\]/{from: 10, to: 1}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:14: clients: a range is {from: 1, to: 10, step: 3} or {from: 1, to: 100, factor: 10}
  [2]
  $ sed 's/\[1, 10\]/{from: 1, to: 1000000}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:14: clients: a range is {from: 1, to: 10, step: 3} or {from: 1, to: 100, factor: 10}
  [2]
  $ sed 's/\[1, 10\]/{from: 1, to: 10, factor: 1}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:14: clients: factor must be above 1, and from above 0
  [2]
  $ sed 's/\[1, 10\]/{from: 1, too: 10}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:14: clients: a range is {from: 1, to: 10, step: 3} or {from: 1, to: 100, factor: 10}
  bad.yaml:9:24: unknown key "too"; did you mean "to"? (known: from, to, step, factor)
  [2]
  $ sed 's/\[1, 10\]/"1; reboot"/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:14: clients: "1; reboot" is not a whole number: 1 to 60000 are allowed
  [2]
  $ sed 's/clients: .*/fresh: sometimes/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:12: fresh: unknown value "sometimes"; known: trial, block, run
  [2]
  $ sed 's/clients: .*/place: {driver: moon}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:21: unknown place "moon"; known: together, apart, host
  [2]
  $ sed 's/clients: .*/place: {drivr: host}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:13: workload redis: unknown role "drivr"; did you mean "driver"? (known: driver, server)
  [2]
  $ sed 's/clients: .*/place: {server: host}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:21: role server of workload redis is a server: its environment is measured, so it cannot run on the host
  [2]
  $ sed 's/clients: .*/instances: 0/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:16: instances: 0 is out of range: 1 to 1000 are allowed
  [2]
  $ sed 's/clients: .*/neighbours: -1/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:17: neighbours: -1 is out of range: 0 to 1000 are allowed
  [2]
  $ sed 's/clients: .*/neighbour: {use: redis}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:16: neighbour: has no effect without neighbours: set their number, such as neighbours: 2
  [2]
  $ sed 's/clients: .*/sample: 1ns/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:13: sample: needs a length from 1ms to 24h0m0s, such as 100ms
  [2]
  $ sed 's/clients: .*/starting: many/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:9:15: starting: "many" is not a whole number: 0 to 1000 are allowed
  [2]
  $ sed 's/^design/  - use: redis\ndesign/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:5: two workloads are called redis; give this one another name with as:
  [2]
  $ sed 's/^design/  - {use: redis, as: two words}\ndesign/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:22: as: "two words" is not a valid name of a workload: use letters, digits, dots and dashes
  [2]

Design, sampling, prices, scales

  $ sed 's/blocks: 8/blocks: 0/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:18: blocks: must be at least 1
  [2]
  $ sed 's/blocks: 8/blocks: 8.5/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:18: expected a whole number, found "8.5"
  bad.yaml:10:18: blocks: must be at least 1
  [2]
  $ sed 's/blocks: 8/blocks: {min: 10, max: 4}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:24: min: is above max, 4
  [2]
  $ sed 's/blocks: 8/blocks: {max: 70}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:24: max: the last interim analysis is at 60 blocks; set a fixed number, blocks: 70, or max: none
  [2]
  $ sed 's/blocks: 8/block: 8/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:10: unknown key "block"; did you mean "blocks"? (known: order, rounds, waiting, blocks, margin, confidence, precision, budget, family, drop, fresh, quiet)
  [2]
  $ sed 's/blocks: 8/margin: 0/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:18: the margin must lie between 0% and 100%, such as 2%
  [2]
  $ sed 's/blocks: 8/margin: 2 percent/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:18: "2 percent" is not a share: write a percentage such as 2%, or a number such as 0.02
  bad.yaml:10:18: the margin must lie between 0% and 100%, such as 2%
  [2]
  $ sed 's/blocks: 8/confidence: 100%/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:22: confidence: must lie between 50% and 100%, such as 95%
  [2]
  $ sed 's/blocks: 8/precision: 0%/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:21: precision: must lie between 1% and 100% of the change, such as 25%
  [2]
  $ sed 's/blocks: 8/order: alternatingly/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:17: order: unknown value "alternatingly"; did you mean "alternating"? (known: alternating, interleaved, sequential)
  [2]
  $ sed 's/blocks: 8/rounds: 0/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:18: rounds: must be 1 to 1000 samples of each environment per block, or auto
  [2]
  $ sed 's/blocks: 8/budget: 5 minutes/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:18: "5 minutes" is not a duration: write a number with ms, s, m or h, such as 30s or 5m
  [2]
  $ sed 's/blocks: 8/budget: -5m/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:18: "-5m" is not a duration: write a number with ms, s, m or h, such as 30s or 5m
  [2]
  $ sed 's/blocks: 8/family: all/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:18: family: unknown value "all"; known: metric, study
  [2]
  $ sed 's/blocks: 8/quiet: -1s/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:17: "-1s" is not a duration: write a number with ms, s, m or h, such as 30s or 5m
  [2]
  $ sed 's/blocks: 8/fresh: never/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:17: fresh: unknown value "never"; known: trial, block, run
  [2]
  $ sed 's/^design.*/sampling: {rate: 1000}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:18: rate: must be 1 to 100 readings per second, or off (one reading at the start and one at the end)
  [2]
  $ sed 's/^design.*/sampling: {traced: -1}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:20: traced: must be 0 to 100 trials per workload and environment
  [2]
  $ sed 's/^design.*/accept: [direct IO in the sandbox]/' good.yaml >bad.yaml
  $ tare run bad.yaml --dry-run
  tare: bad.yaml:10:10: accept: unknown confound "direct IO in the sandbox"; did you mean "direct I/O in the sandbox"? (known: log path, overlay, data directory's file system, configuration, direct I/O in the sandbox, mount options, another disk, host's page cache behind the guest's disk, syncs are ignored, parameters, command line, another build, C library and allocator, environment variables, time zone and locale, limits, share against neighbours, scheduling, user of the server, number of open files, clock of the instance, another kernel, processor, features of the processor, mitigations, huge pages, processors and memory, network settings of the kernel, settings of the kernel, network path, packet filter, the node, the pod's network, exclusive cores)
  [2]

  $ sed 's/^design.*/price: {cpu_hour: 1}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:8: currency: must be a word such as EUR, not ""
  [2]
  $ sed 's/^design.*/price: {currency: EUR, cpu_hour: -1}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:34: cpu_hour: must not be negative
  [2]
  $ sed 's/^design.*/scales: {small: {workloads: {redsi: {clients: 1}}}}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:30: unknown workload "redsi"; did you mean "redis"? (known: redis)
  [2]
  $ sed 's/^design.*/scales: {small: {environment: {}}}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:18: unknown key "environment"; did you mean "environments"? (known: limits, environments, workloads, design)
  bad.yaml:10:18: unknown key "environment"; did you mean "environments"? (known: limits, environments, workloads, design)
  [2]
  $ sed 's/^design.*/hosts: {far: {}}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:14: ssh: is missing; write how to reach the host: user@name, or a Host of the ssh_config
  [2]
  $ sed 's/^design.*/hosts: {far: {ssh: "-oProxyCommand=x"}}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:20: ssh: "-oProxyCommand=x" is not a machine; write NAME, USER@NAME or USER@NAME:PORT
  [2]
  $ sed 's/^design.*/image: {reference: redis, packages: [x]}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:8: image: has a reference and a recipe; a referenced image is used unchanged, so add what is missing to that image
  [2]
  $ sed 's/^design.*/image: {packages: ["x;reboot"]}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:8: image: recipe: "x;reboot" is not a package name: an entry is one name, optionally with =VERSION or /SUITE
  [2]
  $ sed 's/^design.*/image: {files: [{path: ..\/x, content: y}]}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:8: image: recipe: file path "../x": it must be absolute, such as /etc/app.conf
  [2]
  $ sed 's/^design.*/image: {fetch: [{url: ftp:\/\/x}]}/' good.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:10:8: image: recipe: an entry of fetch has either maven or go
  bad.yaml:10:18: unknown key "url"; known: maven, go, to, dependencies, unpack
  [2]

YAML

  $ : >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:1:1: the file is empty
  [2]
  $ printf '# nothing\n' >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:1:1: the file is empty
  [2]
  $ printf 'study: [\n' >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:1:8: this is not YAML: sequence end token ']' not found
  [2]
  $ printf -- '- a\n- b\n' >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:1:1: expected a mapping (key: value), found a list
  [2]
  $ printf 'just words\n' >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:1:1: expected a mapping (key: value), found "just words"
  [2]
  $ printf 'study: one\nstudy: two\n' >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:2:1: the key "study" is already in line 1
  [2]
  $ printf 'study: &a one\nbaseline: *b\n' >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:1:1: environments: is missing; name at least one, such as native: {}
  bad.yaml:1:1: workloads: is missing; name at least one, such as - use: boot
  bad.yaml:2:11: an alias of an unknown anchor
  [2]
  $ printf 'study: one\n\tbaseline: native\n' >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:2:1: this is not YAML: found character '	' that cannot start any token
  [2]
  $ printf 'study: "a\\0b"\n' >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:1:1: environments: is missing; name at least one, such as native: {}
  bad.yaml:1:1: workloads: is missing; name at least one, such as - use: boot
  bad.yaml:1:8: a value has a NUL character
  [2]
  $ printf 'study: \377\376\n' >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:1:8: the file is not text in UTF-8
  [2]
  $ printf '\376\377\0s\0t' >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:1:1: the file is not text in UTF-8
  [2]
  $ printf -- '---\nstudy: one\n---\nstudy: two\n' >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:4:1: a second document: a file must have only one
  [2]
  $ printf '{"study": 1' >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:1:1: this is not YAML: could not find flow mapping end token '}'
  [2]
  $ printf '? [a]\n: b\n' >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:2:1: this is not YAML: found an invalid key for this map
  [2]
  $ head -c 3000 /dev/zero | tr '\0' '[' >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:1:65: values are nested more than 64 deep
  [2]
  $ head -c 2000000 /dev/zero | tr '\0' 'x' >bad.yaml
  $ tare run bad.yaml
  tare: study file bad.yaml: it is too long: the limit is 1MiB
  [2]
  $ { echo study: one; head -c 500000 /dev/zero | tr '\0' k; echo ': 1'; } >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:1:1: environments: is missing; name at least one, such as native: {}
  bad.yaml:1:1: workloads: is missing; name at least one, such as - use: boot
  bad.yaml:2:1: unknown key "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"… (500000 bytes); known: study, baseline, limits, hosts, nodes, parallel, secret, mounts, inputs, environments, image, workloads, price, accept, sampling, design, scales
  [2]
  $ for i in $(seq 25000); do echo k$i: 1; done >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:20001:7: the file has more than 20000 keys
  [2]
  $ sed 's/^design.*/image: {files: [{path: \/x, from: gone.js}]}/' good.yaml >bad.yaml
  $ tare run --dry-run bad.yaml
  tare: bad.yaml:10:8: image: file /x, from gone.js: no such file or directory
  [2]
  $ sed 's/^design.*/image: {files: [{path: \/x, from: ..\/x.js}]}/' good.yaml >bad.yaml
  $ tare run --dry-run bad.yaml
  tare: bad.yaml:10:8: image: file /x, from ../x.js: it must be in the directory of the file that names it, or below: copy it there
  [2]
  $ sed 's/^design.*/image: {files: [{path: \/x, from: good.yaml, content: y}]}/' good.yaml >bad.yaml
  $ tare run --dry-run bad.yaml
  tare: bad.yaml:10:8: image: file /x has content and from; one of them
  [2]
  $ sed 's/clients: .*/env: {"A B": 1}/' good.yaml >bad.yaml
  $ tare run --dry-run bad.yaml
  tare: bad.yaml:9:11: env: "A B" is not a valid name of a variable: use letters, digits and _
  [2]
  $ sed 's/clients: .*/arguments: [a]/' good.yaml >bad.yaml
  $ tare run --dry-run bad.yaml
  tare: bad.yaml:9:16: arguments: workload redis does not start the image's own command, which would have them; with server: image one that has a server does
  [2]
  $ sed 's/clients: .*/arguments: a/' good.yaml >bad.yaml
  $ tare run --dry-run bad.yaml
  tare: bad.yaml:9:16: expected a list, found "a"
  [2]
  $ sed 's/clients: .*/env: [A=1]/' good.yaml >bad.yaml
  $ tare run --dry-run bad.yaml
  tare: bad.yaml:9:10: expected a mapping (key: value), found a list
  [2]

A search for the capacity

  $ cat >open.yaml <<E
  > study: one
  > environments:
  >   native: {}
  >   docker: {}
  > workloads:
  >   - {use: nginx-open, find: capacity, objective: "p99 <= 50ms, errors <= 0.1%"}
  > E
  $ sed 's/find: capacity/find: capcity/' open.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:29: find: unknown word "capcity"; did you mean "capacity"? (known: capacity)
  [2]
  $ sed 's/, objective.*/}/' open.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:29: objective: is missing; it says what the capacity has to hold, such as objective: p99 <= 50ms, errors <= 0.1%
  [2]
  $ sed 's/find: capacity, //' open.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:23: objective: has no effect without find: capacity
  [2]
  $ sed 's/nginx-open/redis/' open.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:24: find: workload redis has no open loop: its driver does not send at a given rate. Workloads that have one: nginx-open; a pack of your own says so with open_loop
  [2]
  $ sed 's/p99 <= 50ms/p99 < 50ms/' open.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:50: objective: "p99 < 50ms": < is not known; a bound is <= or >=
  [2]
  $ sed 's/50ms/50/' open.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:50: objective: p99 <= 50: "50" is not a time such as 50ms
  [2]
  $ sed 's/p99/latency/' open.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:50: objective: unknown metric "latency"; known: p50, p99, p99.9, cpu, errors, latency_p99, latency_p50, latency_mean, latency_p999, latency_max, service_p99, send_delay_p99, throughput, success_ratio, requests, error_ratio
  [2]
  $ sed 's/0.1%/120%/' open.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:50: objective: errors <= 120%: 120% is above 100%
  [2]
  $ sed 's/find/rate: [100, 200], find/' open.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:29: rate: find: capacity searches it; write one value, the first rate that is tried
  [2]
  $ sed 's/find/instances: 4, find/' open.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:34: instances: find: capacity searches the rate of one copy
  [2]
  $ sed 's/find/load: 170%, find/' open.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:29: load: needs a share of the capacity from 1% to 100%, such as 70%
  [2]
  $ sed 's/find: capacity/load: 70%/; s/, objective.*/}/' open.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:6:23: load: is a share of the baseline's capacity, and needs find: capacity
  [2]
  $ { sed 's/find/load: 70%, find/' open.yaml; echo 'design: {order: interleaved}'; } >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:7:17: load: the rate of all environments follows from the baseline's search, so it needs order: alternating
  [2]

Applications

  $ cat >compose.yaml <<E
  > services:
  >   api:
  >     image: api
  >     depends_on: [cache]
  >     volumes: [files:/files]
  >   cache:
  >     image: redis:7
  >     volumes: [files:/files]
  > volumes: {files: {}}
  > E
  $ cat >shop.yaml <<E
  > study: one
  > baseline: docker
  > environments:
  >   docker: {}
  >   gvisor: {}
  > workloads:
  >   - {use: nginx-open, server: {compose: ./compose.yaml, service: api, under: [api]}}
  > E
  $ sed 's/compose: .*, service/service/' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:7:31: server: compose: is missing; it names a Compose file, such as ./compose.yaml; or manifest:, a file of Kubernetes objects
  [2]
  $ sed 's/compose.yaml/absent.yaml/' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:7:41: compose: Compose file absent.yaml: no such file or directory
  [2]
  $ sed 's/service: api, //' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:7:31: server: service: is missing; it names the service that the load is for: cache, api
  [2]
  $ sed 's/service: api/service: apu/' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:7:66: service: unknown service "apu"; did you mean "api"? (known: cache, api)
  [2]
  $ sed 's/under: .api./under: [db]/' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:7:79: under: unknown service "db"; known: cache, api
  [2]
  $ sed 's/under: .api./under: []/' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:7:78: under: has no service, so nothing would be in the environment; leave it out for all
  [2]
  $ sed 's/under/beside/' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:7:71: unknown key "beside"; known: compose, manifest, service, under
  [2]
  $ sed 's/nginx-open/fio/' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:7:24: server: workload fio has no server that another one could replace
  [2]
  $ sed 's/gvisor: {}/podman: {}/' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:7:78: under: instances of podman (podman) and of the baseline docker (docker) cannot join one network, as containers of one engine with network: bridge can, also with gVisor as its runtime, and pods of one cluster with network: cni; leave out under:, so that all services are in the environment, or leave out the environment
  [2]
  $ sed 's/gvisor: {}/gvisor: {engine: direct}/' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:7:78: under: instances of gvisor (gvisor) and of the baseline docker (docker) cannot join one network, as containers of one engine with network: bridge can, also with gVisor as its runtime, and pods of one cluster with network: cni; leave out under:, so that all services are in the environment, or leave out the environment
  [2]
  $ sed 's/gvisor: {}/qemu: {network: bridge}/; s/, under: .api.//' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:7:31: server: environment qemu, services.cache.volumes: files: several services have it at the same time: its instances have disks of their own, with which tare shares no directory of this machine; leave the environment out, bring single files as inputs, or use an image that has the files
  bad.yaml:7:31: server: environment qemu, services.api.volumes: files: several services have it at the same time: its instances have disks of their own, with which tare shares no directory of this machine; leave the environment out, bring single files as inputs, or use an image that has the files
  [2]
  $ sed 's/gvisor: {}/pods: {kind: kubernetes, image: x}/; s/, under: .api.//' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:5:35: image: it names one image, and pods runs 3 (api, recipe, redis:7): name each in images: {"api": NAME, ...}
  bad.yaml:7:31: server: environment pods, services.cache.volumes: files: several services have it at the same time: its instances have disks of their own, with which tare shares no directory of this machine; leave the environment out, bring single files as inputs, or use an image that has the files
  bad.yaml:7:31: server: environment pods, services.api.volumes: files: several services have it at the same time: its instances have disks of their own, with which tare shares no directory of this machine; leave the environment out, bring single files as inputs, or use an image that has the files
  [2]
  $ sed 's/gvisor: {}/pods: {kind: kubernetes, images: {"redis:8": x}, image: y}/; s/, under: .api.//' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:5:36: images: pods runs no image redis:8: it runs api, recipe, redis:7
  bad.yaml:5:59: image: images names each image: remove image
  bad.yaml:5:59: image: it names one image, and pods runs 3 (api, recipe, redis:7): name each in images: {"api": NAME, ...}
  bad.yaml:7:31: server: environment pods, services.cache.volumes: files: several services have it at the same time: its instances have disks of their own, with which tare shares no directory of this machine; leave the environment out, bring single files as inputs, or use an image that has the files
  bad.yaml:7:31: server: environment pods, services.api.volumes: files: several services have it at the same time: its instances have disks of their own, with which tare shares no directory of this machine; leave the environment out, bring single files as inputs, or use an image that has the files
  [2]
  $ sed 's/image: api/&\n    privileged: true/' compose.yaml >privileged.yaml
  $ sed 's/compose.yaml/privileged.yaml/' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:7:41: compose: privileged.yaml: services.api.privileged: true: tare does not support this: if the application works without it, remove it in a second Compose file, services: {api: {privileged: !reset null}}, and name both files, compose: [compose.yaml, for-tare.yaml]
  [2]
  $ sed 's/files:.files/files:\/data/' compose.yaml >data.yaml
  $ sed 's/compose.yaml/data.yaml/' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:7:41: compose: data.yaml: services.cache.volumes: /data is each instance's own directory, at which nothing else can be: use another path, or a volume of this service alone
  bad.yaml:7:41: compose: data.yaml: services.api.volumes: /data is each instance's own directory, at which nothing else can be: use another path, or a volume of this service alone
  [2]
  $ sed 's/compose: /manifest: x.yaml, &/' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:7:42: manifest: compose: is there too: an application is of one or the other
  [2]
  $ printf abc >pin
  $ { sed 's/image: api/&\n    secrets: [pin]/' compose.yaml; echo 'secrets: {pin: {file: pin}}'; } >short.yaml
  $ sed 's/compose.yaml/short.yaml/' shop.yaml >bad.yaml
  $ tare run --dry-run bad.yaml
  tare: bad.yaml:7:41: compose: short.yaml: secrets.pin: the value from $PWD/pin has 3 characters; with fewer than 8 it could not be masked in outputs
  [2]
  $ sed 's/image: api/&\n    scale: 2/' compose.yaml >scaled.yaml
  $ sed 's/compose.yaml/scaled.yaml/' shop.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:7:41: compose: scaled.yaml: services.api.scale: 2: tare does not support this: if the application works without it, remove it in a second Compose file, services: {api: {scale: !reset null}}, and name both files, compose: [compose.yaml, for-tare.yaml]
  [2]

Manifests

  $ cat >app.yaml <<'E'
  > apiVersion: apps/v1
  > kind: Deployment
  > metadata: {name: api}
  > spec:
  >   selector: {matchLabels: {app: api}}
  >   template:
  >     metadata: {labels: {app: api}}
  >     spec:
  >       containers:
  >         - name: api
  >           image: api
  >           env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}]
  > ---
  > apiVersion: v1
  > kind: Secret
  > metadata: {name: db}
  > stringData: {password: long enough}
  > E
  $ cat >pods.yaml <<E
  > study: one
  > baseline: docker
  > environments: {docker: {}, gvisor: {}}
  > workloads:
  >   - {use: nginx-open, server: {manifest: ./app.yaml, service: api}}
  > E
  $ sed 's/app.yaml/absent.yaml/' pods.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:5:42: manifest: absent.yaml: no such file or directory
  [2]
  $ sed 's/service: api/service: apu/' pods.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:5:63: service: unknown service "apu"; did you mean "api"? (known: api)
  [2]
  $ sed 's/name: api$/&\n          prots: []\n          lifecycle: {preStop: {exec: {command: [x]}}}/' app.yaml >keys.yaml
  $ sed 's/app.yaml/keys.yaml/' pods.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:5:42: manifest: keys.yaml:11:11: deployment api: prots: Kubernetes has no such key in Container; did you mean "ports"?
  bad.yaml:5:42: manifest: keys.yaml:12:11: deployment api: lifecycle: make it a part of command:, or of the image
  [2]
  $ sed 's/      containers:/      hostNetwork: true\n&/; s/kind: Secret/kind: DaemonSet/' app.yaml >host.yaml
  $ sed 's/app.yaml/host.yaml/' pods.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:5:42: manifest: host.yaml:9:7: deployment api: hostNetwork: instances have nothing of their node: leave it out, if the application works without
  bad.yaml:5:42: manifest: host.yaml:15:1: daemonset db: there are no nodes here: make it a Deployment, or leave it out
  [2]
  $ sed 's/key: password/key: user/' app.yaml >key.yaml
  $ sed 's/app.yaml/key.yaml/' pods.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:5:42: manifest: key.yaml:12:17: deployment api: there is no Secret db with the key user in the files: add it, with kubectl get -o yaml from a cluster
  [2]
  $ sed 's/long enough/short/' app.yaml >short.yaml
  $ sed 's/app.yaml/short.yaml/' pods.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:5:42: manifest: short.yaml: services.api.env.PASSWORD: the value from the Secret db/password of $PWD/short.yaml has 5 characters; with fewer than 8 it could not be masked in outputs; a value that is not secret belongs in a ConfigMap
  [2]
  $ sed 's/metadata: .name: db./metadata: {name: db/' app.yaml >syntax.yaml
  $ sed 's/app.yaml/syntax.yaml/' pods.yaml >bad.yaml
  $ tare run bad.yaml
  tare: bad.yaml:5:42: manifest: syntax.yaml: this is not YAML: while parsing a flow mapping at line 15, column 11: line 16, column 11: did not find expected ',' or '}'
  [2]
