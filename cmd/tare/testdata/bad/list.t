Command lines of tare ls, show, rm, workload and published.

  $ tare ls everything
  tare: unknown list "everything"; known: runs, studies, environments, workloads, profiles, images
  [2]
  $ tare ls runs images
  tare: too many arguments; usage: tare ls [runs|studies|environments|workloads|profiles|images] [flags]
  [2]
  $ tare ls run
  tare: unknown list "run"; did you mean "runs"? (known: runs, studies, environments, workloads, profiles, images)
  [2]
  $ tare show
  tare: an argument is missing; usage: tare show NAME [flags]
  [2]
  $ tare show no-such-thing
  tare: there is no run, study, environment or workload "no-such-thing" (`tare ls` lists them)
  [2]
  $ tare show ngin
  tare: there is no run, study, environment or workload "ngin"; did you mean "nginx"? (`tare ls` lists them)
  [2]
  $ tare show native docker
  tare: too many arguments; usage: tare show NAME [flags]
  [2]
  $ tare show --verify native
  tare: --verify needs a run, and native is not one
  [2]
  $ tare show --all native
  tare: --all needs a run, and native is not one
  [2]
  $ tare show ""
  tare: argument 1 is empty; usage: tare show NAME [flags]
  [2]
  $ tare show ..
  tare: .. is not a run: it has no manifest.json; `tare ls` lists the runs
  [2]
  $ tare show /etc/passwd
  tare: there is no run, study, environment or workload "/etc/passwd" (`tare ls` lists them)
  [2]
  $ tare save
  tare: an argument is missing; usage: tare save STUDY|IMAGE FILE [flags]
  [2]
  $ tare save sha256:
  tare: an argument is missing; usage: tare save STUDY|IMAGE FILE [flags]
  [2]
  $ tare save sha256: image.tar
  tare: there is no image "sha256:" in the store home/images; `tare ls images` lists them
  [2]
  $ tare save nginx image.tar
  tare: unknown study "nginx"; known: aspernas-nensen-2016, aspernas-nensen-2016-hosts, caiola-2025, cassandra-scaling, density, engines, guests, heino-2025, heino-2025-mysql, heino-2025-nginx, heino-2025-redis, karna-2021, load, microvm-in-vm, mixes, networks, noise, noisy-neighbour, prices, queries, quick, scaling, security; to use a file, give its path, such as ./nginx.yaml
  [2]
  $ tare rm
  tare: an argument is missing; usage: tare rm NAME... [flags]
  [2]
  $ tare rm nosuch
  tare: there is no run nosuch: home/runs/nosuch does not exist; `tare ls runs` lists them
  [2]
  $ tare rm ""
  tare: argument 1 is empty; usage: tare rm NAME... [flags]
  [2]
  $ tare rm ..
  tare: ".." is not the name of a run; tare removes only runs below home/runs, and images by their digest
  [2]
  $ tare rm ../home
  tare: "../home" is not the name of a run; tare removes only runs below home/runs, and images by their digest
  [2]
  $ tare rm /
  tare: "/" is not the name of a run; tare removes only runs below home/runs, and images by their digest
  [2]
  $ tare rm .
  tare: "." is not the name of a run; tare removes only runs below home/runs, and images by their digest
  [2]
  $ tare rm sha256:
  tare: there is no image "sha256:" in the store $PWD/home/images; `tare ls images` lists them
  [2]
  $ tare rm sha256:abab
  tare: there is no image "sha256:abab" in the store $PWD/home/images; `tare ls images` lists them
  [2]
  $ tare rm sha256:cdcdcdcdcdcd
  tare: there is no image "sha256:cdcdcdcdcdcd" in the store $PWD/home/images; `tare ls images` lists them
  [2]
  $ tare rm sha256:XYZXYZXYZXYZ
  tare: there is no image "sha256:XYZXYZXYZXYZ" in the store $PWD/home/images; `tare ls images` lists them
  [2]
  $ tare rm "sha256:../../../x"
  tare: there is no image "sha256:../../../x" in the store $PWD/home/images; `tare ls images` lists them
  [2]
  $ tare rm a b
  tare: there is no run a: home/runs/a does not exist; `tare ls runs` lists them
  [2]
  $ tare workload check
  tare: an argument is missing; usage: tare workload check FILE [flags]
  [2]
  $ tare workload check a b
  tare: too many arguments; usage: tare workload check FILE [flags]
  [2]
  $ tare workload check ngnix
  tare: unknown workload "ngnix"; did you mean "nginx"? (known: boot, calls, cassandra, ci-pipeline, fio, fio-once, grpc, hpl, image-command, ioping, iozone, iperf3, iperf3-udp, jmeter, k6, mysql-configured, mysql-oltp, nginx, nginx-configured, nginx-open, packets, postgres, redis, sql-insert, sql-select, startup, startup-cold, startup-many, startup-port, startup-service, stress-ng-cpu, stress-ng-vm, sysbench-cpu, sysbench-fileio, sysbench-memory, sysbench-threads, syscalls, wordpress-ab, wordpress-jmeter); to use a pack file, give its path, such as ./ngnix.yaml
  [2]
  $ tare workload check ./missing.yaml
  tare: workload pack ./missing.yaml: no such file or directory
  [2]
  $ tare workload check nginx --env marsian
  tare: environment marsian: unknown kind of environment "marsian"; known: bubblewrap, cloud-hypervisor, containerd, docker, firecracker, gvisor, kubernetes, machine, native, oci, podman, qemu, virtualbox, vsphere
  [2]
  $ tare workload check nginx --env native+rootfs
  tare: --env native+rootfs: "rootfs" is not OPTION=VALUE
  [2]
  $ tare workload check nginx --set port
  tare: --set: "port" is not NAME=VALUE
  [2]
  $ tare workload check nginx --set prot=1
  tare: workload nginx: unknown parameter "prot"; did you mean "port"? (known: use, as, server, env, arguments, fresh, place, instances, starting, neighbours, neighbour, sample, find, objective, load, pause, total, image, access_log, connections, keepalive_requests, keepalive_timeout, page, path, port, requests, seconds, threads, timeout, worker_connections, workers)
  [2]
  $ tare workload check nginx --set port=x
  tare: port: "x" is not a whole number: 1 to 65535 are allowed
  [2]
  $ tare workload check "nginx;reboot"
  tare: unknown workload "nginx;reboot"; known: boot, calls, cassandra, ci-pipeline, fio, fio-once, grpc, hpl, image-command, ioping, iozone, iperf3, iperf3-udp, jmeter, k6, mysql-configured, mysql-oltp, nginx, nginx-configured, nginx-open, packets, postgres, redis, sql-insert, sql-select, startup, startup-cold, startup-many, startup-port, startup-service, stress-ng-cpu, stress-ng-vm, sysbench-cpu, sysbench-fileio, sysbench-memory, sysbench-threads, syscalls, wordpress-ab, wordpress-jmeter; to use a pack file, give its path, such as ./nginx;reboot.yaml
  [2]
  $ tare published karna
  tare: unknown published study "karna"; known: aspernas-nensen-2016, caiola-2025, cassandra-scaling, heino-2025, karna-2021
  [2]
  $ tare published karna-2021 heino-2025
  tare: too many arguments; usage: tare published [STUDY] [flags]
  [2]
  $ tare published ""
  tare: argument 1 is empty; usage: tare published [STUDY] [flags]
  [2]
