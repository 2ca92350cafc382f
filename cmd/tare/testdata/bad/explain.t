Command lines of tare explain, parity, selftest and prices.

tare explain

  $ tare explain
  tare: name either a workload, --of RUN or --resume RUN; usage: tare explain WORKLOAD --to ENV [flags] | --of RUN | --resume RUN
  [2]
  $ tare explain nginx
  tare: --to is missing: name the last environment of the ladder (`tare ls environments` lists them)
  [2]
  $ tare explain nginx redis --to docker
  tare: name either a workload, --of RUN or --resume RUN; usage: tare explain WORKLOAD --to ENV [flags] | --of RUN | --resume RUN
  [2]
  $ tare explain nginx --of quick
  tare: name either a workload, --of RUN or --resume RUN; usage: tare explain WORKLOAD --to ENV [flags] | --of RUN | --resume RUN
  [2]
  $ tare explain --of nothing
  tare: there is no run nothing: neither a directory of that name nor home/runs/nothing exists; `tare ls` lists the runs
  [2]
  $ tare explain --of nothing --to docker
  tare: --of and --to cannot be combined: it is that of the run
  [2]
  $ tare explain ngnix --to docker
  tare: use: unknown workload "ngnix"; did you mean "nginx"? (known: boot, calls, cassandra, ci-pipeline, fio, fio-once, grpc, hpl, image-command, ioping, iozone, iperf3, iperf3-udp, jmeter, k6, mysql-configured, mysql-oltp, nginx, nginx-configured, nginx-open, packets, postgres, redis, sql-insert, sql-select, startup, startup-cold, startup-many, startup-port, startup-service, stress-ng-cpu, stress-ng-vm, sysbench-cpu, sysbench-fileio, sysbench-memory, sysbench-threads, syscalls, wordpress-ab, wordpress-jmeter); to use a pack file, give its path, such as ./ngnix.yaml
  [2]
  $ tare explain ./missing.yaml --to docker
  tare: use: workload pack missing.yaml: no such file or directory
  [2]
  $ tare explain nginx --to dockr
  tare: environment dockr: unknown kind of environment "dockr"; did you mean "docker"? (known: bubblewrap, cloud-hypervisor, containerd, docker, firecracker, gvisor, kubernetes, machine, native, oci, podman, qemu, virtualbox, vsphere)
  [2]
  $ tare explain nginx --from nativ --to docker
  tare: environment nativ: unknown kind of environment "nativ"; did you mean "native"? (known: bubblewrap, cloud-hypervisor, containerd, docker, firecracker, gvisor, kubernetes, machine, native, oci, podman, qemu, virtualbox, vsphere)
  [2]
  $ tare explain nginx --to native
  tare: --from and --to are both native: there is nothing to compare
  [2]
  $ tare explain nginx --from docker --to native
  tare: docker does not work on this machine: needs a Docker daemon that answers at unix:///nowhere/docker.sock: there is no socket /nowhere/docker.sock
  [2]
  $ tare explain nginx --to docker --via dockr
  tare: environment dockr: unknown kind of environment "dockr"; did you mean "docker"? (known: bubblewrap, cloud-hypervisor, containerd, docker, firecracker, gvisor, kubernetes, machine, native, oci, podman, qemu, virtualbox, vsphere)
  [2]
  $ tare explain nginx --to docker --via native
  tare: --via native: the ladder has this environment already
  [2]
  $ tare explain nginx --to docker --via ""
  tare: --via is empty: give it a value, or leave it out
  [2]
  $ tare explain nginx --to docker --via oci+runtme=crun
  tare: environment oci-runtme-crun: unknown key "runtme"; did you mean "runtime"? (known: runtime, runtime_args, platform, gvisor, namespaces, cgroup_limits, devices, masked, seccomp, capabilities, no_new_privs, root, data, network, log, kind, limits, inside, system, host, with)
  [2]
  $ tare explain nginx --study quick --from native --via gvisr --to docker
  tare: the study quick has no environment gvisr: it has native, docker, gvisor, vm
  [2]
  $ tare explain nginx --study quick --from native --via docker --via docker --to gvisor
  tare: --via docker: the ladder has this environment already
  [2]
  $ tare explain nginx --to docker --limits cpu=1
  tare: --limits: unknown key "cpu"; did you mean "cpus"? (known: cpus, memory, pids, io, pin)
  [2]
  $ tare explain nginx --to docker --limits cpus=none
  tare: --limits: expected a number, found "none"
  [2]
  $ tare explain nginx --to docker --limits memory
  tare: --limits: "memory" is not LIMIT=VALUE
  [2]
  $ tare explain nginx --to docker --margin much
  tare: --margin: "much" is not a share: write a percentage such as 2%, or a number such as 0.02
  [2]
  $ tare explain nginx --to docker --set port
  tare: --set: "port" is not PARAMETER=VALUE
  [2]
  $ tare explain nginx --to docker --set prot=80
  tare: workload nginx: unknown parameter "prot"; did you mean "port"? (known: use, as, server, env, arguments, fresh, place, instances, starting, neighbours, neighbour, sample, find, objective, load, pause, total, image, access_log, connections, keepalive_requests, keepalive_timeout, page, path, port, requests, seconds, threads, timeout, worker_connections, workers)
  [2]
  $ tare explain nginx --to docker --set port=eighty
  tare: port: "eighty" is not a whole number: 1 to 65535 are allowed
  [2]
  $ tare explain nginx --to docker --set connections=1,2
  tare: connections: "1,2" is not a whole number: 1 to 60000 are allowed
  [2]
  $ tare explain nginx --to docker --set-to port=99999999
  tare: port=99999999: 99999999 is out of range: 1 to 65535 are allowed
  [2]
  $ tare explain nginx --to docker --parts secomp
  tare: a ladder from native to docker: there is no part or group secomp; did you mean seccomp? (groups: runtime, namespaces, devices, root, capabilities, seccomp, network, log, engine; parts: runtime, namespaces.pid, namespaces.ipc, namespaces.uts, devices, root, capabilities, seccomp, network.bridge, log.pipe, rest)
  [2]
  $ tare explain nginx --to docker --group everything
  tare: --group: a ladder from native to docker: there is no group everything (groups: runtime, namespaces, devices, root, capabilities, seccomp, network, log, engine)
  [2]
  $ tare explain nginx --to docker --method guess
  tare: --method guess: unknown; choose ladder or shapley
  [2]
  $ tare explain nginx --to docker --orders 3
  tare: --orders 3: a ladder has one order; use --method shapley for several
  [2]
  $ tare explain nginx --to docker --method shapley --orders 0
  tare: --orders 0: must be more than 0
  [2]
  $ tare explain nginx --to docker --blocks -1
  tare: --blocks -1: must be more than 0
  [2]
  $ tare explain nginx --to docker --traced -1
  tare: --traced -1: must not be negative
  [2]
  $ tare explain nginx --to docker --study missing.yaml
  tare: study file missing.yaml: no such file or directory
  [2]
  $ tare explain nginx --to docker --study quick
  tare: docker does not work on this machine: needs a Docker daemon that answers at unix:///nowhere/docker.sock: there is no socket /nowhere/docker.sock
  [2]
  $ tare explain nginx --to docker --scale small
  tare: --scale selects a size of a study: name the study with --study; set the parameters of a workload with --set
  [2]
  $ tare explain nginx --to docker+network=bridge+network=host
  tare: environment docker-network-bridge-network-host: "network" is set twice
  [2]
  $ tare explain --resume no-such-run
  tare: there is no run no-such-run: neither a directory of that name nor home/runs/no-such-run exists; `tare ls` lists the runs
  [2]
  $ tare explain --resume R --to docker
  tare: --resume uses the plan and the directory of the run: leave out --to, or start a new run
  [2]
  $ tare explain --resume R --dry-run
  tare: --resume and --dry-run cannot be combined: a resumed run already has its plan
  [2]

tare parity

  $ tare parity
  tare: an argument is missing; usage: tare parity STUDY|RUN [flags]
  [2]
  $ tare parity quik
  tare: unknown study "quik"; did you mean "quick"? (known: aspernas-nensen-2016, aspernas-nensen-2016-hosts, caiola-2025, cassandra-scaling, density, engines, guests, heino-2025, heino-2025-mysql, heino-2025-nginx, heino-2025-redis, karna-2021, load, microvm-in-vm, mixes, networks, noise, noisy-neighbour, prices, queries, quick, scaling, security); to use a file, give its path, such as ./quik.yaml
  [2]
  $ tare parity ./missing.yaml
  tare: study file ./missing.yaml: no such file or directory
  [2]
  $ tare parity quick noise
  tare: too many arguments; usage: tare parity STUDY|RUN [flags]
  [2]
  $ tare parity quick --only nativ
  tare: only: unknown environment or workload "nativ"; did you mean "native"? (known: native, docker, gvisor, vm, startup, compute, copy, getpid, fio-randread, fio-randwrite, redis, nginx)
  [2]
  $ tare parity quick --workload redsi
  tare: only: unknown environment or workload "redsi"; did you mean "redis"? (known: native, docker, gvisor, vm, startup, compute, copy, getpid, fio-randread, fio-randwrite, redis, nginx)
  [2]
  $ tare parity quick --scale tiny
  tare: scale: unknown scale "tiny"; known: inside
  [2]
  $ tare parity ""
  tare: argument 1 is empty; usage: tare parity STUDY|RUN [flags]
  [2]

tare selftest

  $ tare selftest native
  tare: `tare selftest` takes no argument, but got "native"; see `tare selftest --help`
  [2]
  $ tare selftest --environment layerd
  tare: --environment layerd: environment baseline: unknown kind of environment "layerd"; known: bubblewrap, cloud-hypervisor, containerd, docker, firecracker, gvisor, kubernetes, machine, native, oci, podman, qemu, virtualbox, vsphere
  [2]
  $ tare selftest --environment ""
  tare: --environment is empty: give it a value, or leave it out
  [2]
  $ tare selftest --environment native+x
  tare: --environment native+x: "x" is not OPTION=VALUE
  [2]
  $ tare selftest --effects 5,-1
  tare: --effects -1: must be a percentage of more work from 0 to 1000, quota or delay
  [2]
  $ tare selftest --effects ""
  tare: --effects is empty: give it a value, or leave it out
  [2]
  $ tare selftest --effects quotas
  tare: --effects quotas: must be a percentage of more work from 0 to 1000, quota or delay
  [2]
  $ tare selftest --effects 1e9
  tare: --effects 1e9: must be a percentage of more work from 0 to 1000, quota or delay
  [2]
  $ tare selftest --margin much
  tare: --margin: "much" is not a share: write a percentage such as 2%, or a number such as 0.02
  [2]
  $ tare selftest --sample 1ms
  tare: --sample 1ms: must be from 20ms to 10s
  [2]
  $ tare selftest --sample 1h
  tare: --sample 1h0m0s: must be from 20ms to 10s
  [2]
  $ tare selftest --time 0s
  tare: --time 0s: must be more than 0
  [2]
  $ tare selftest --time -1m
  tare: --time -1m0s: must be more than 0
  [2]
  $ tare selftest --time long
  tare: --time long: must be a duration with a unit, such as 90s, 5m or 1h30m (`tare selftest --help` lists the flags)
  [2]

tare prices

  $ tare prices --measure --only dokcer
  tare: only: unknown environment or workload "dokcer"; did you mean "docker"? (known: native, docker, docker-host, docker-published, docker-logged, podman, gvisor, gvisor-host, gvisor-gofer, bubblewrap, oci, vm, calls, packets, between)
  [2]
  $ tare prices --only docker
  tare: --only is about a measurement: add --measure
  [2]
  $ tare prices --measure --budget 0s
  tare: --budget 0s: must be more than 0
  [2]
