Command lines of tare bench.

  $ tare bench
  tare: the command to measure is missing: write it after --; usage: tare bench [flags] -- CMD ARGS...
  [2]
  $ tare bench --
  tare: the command to measure is missing: write it after --; usage: tare bench [flags] -- CMD ARGS...
  [2]
  $ tare bench --env native
  tare: the command to measure is missing: write it after --; usage: tare bench [flags] -- CMD ARGS...
  [2]
  $ tare bench --image x --env martian -- true
  tare: environment martian: unknown kind of environment "martian"; known: bubblewrap, cloud-hypervisor, containerd, docker, firecracker, gvisor, kubernetes, machine, native, oci, podman, qemu, virtualbox, vsphere
  [2]
  $ tare bench --image x --env native,martian -- true
  tare: environment martian: unknown kind of environment "martian"; known: bubblewrap, cloud-hypervisor, containerd, docker, firecracker, gvisor, kubernetes, machine, native, oci, podman, qemu, virtualbox, vsphere
  [2]
  $ tare bench --env "" -- true
  tare: --env is empty: give it a value, or leave it out
  [2]
  $ tare bench --env native, -- true
  tare: --env is empty: give it a value, or leave it out
  [2]
  $ tare bench --image x --env native,native -- true
  tare: environment native: "native" is set twice
  [2]
  $ tare bench --env native+rootfs -- true
  tare: --env native+rootfs: "rootfs" is not OPTION=VALUE
  [2]
  $ tare bench --image x --env native+rootfs=moon -- true
  tare: environment native-rootfs-moon: rootfs: "moon" is not known: choose one of image, host
  [2]
  $ tare bench --image x --env native+rotfs=host -- true
  tare: environment native-rotfs-host: unknown key "rotfs"; did you mean "rootfs"? (known: rootfs, root, network, data, dev, proc, capabilities, kind, limits, inside, system, host, with)
  [2]
  $ tare bench --image x --env docker+network=bridged -- true
  tare: environment docker-network-bridged: network: "bridged" is not known: choose one of bridge, nat, publish, publish-loopback, host, none
  [2]
  $ tare bench --image x --env docker+memory=5 -- true
  tare: environment docker-memory-5: unknown key "memory"; known: socket, runtime, network, ports, log, seccomp, data, kind, limits, inside, system, host, with
  [2]
  $ tare bench --image x --env docker+network=host+network=none -- true
  tare: environment docker-network-host-network-none: "network" is set twice
  [2]
  $ tare bench --image x --env +network=host -- true
  tare: environment network-host: unknown kind of environment ""; known: bubblewrap, cloud-hypervisor, containerd, docker, firecracker, gvisor, kubernetes, machine, native, oci, podman, qemu, virtualbox, vsphere
  [2]
  $ tare bench --image x --env vm+memory=lots -- true
  tare: environment vm-memory-lots: "lots" is not a size: write a number with B, kB, KiB, MB, MiB, GB, GiB, TB or TiB, such as 512MiB
  [2]
  $ tare bench --image x --env qemu+memory=-1 -- true
  tare: environment qemu-memory-1: "-1" is not a size: write a number with B, kB, KiB, MB, MiB, GB, GiB, TB or TiB, such as 512MiB
  [2]
  $ tare bench --image x --env qemu+cpus=0.5 -- true
  tare: environment qemu-cpus-0-5: expected a whole number, found "0.5"
  [2]
  $ tare bench --env native -- ""
  tare: argument 1 is empty; usage: tare bench [flags] -- CMD ARGS...
  [2]
  $ tare bench --env native -- no-such-command
  tare: no-such-command: executable file not found in $PATH; native alone runs programs of this machine: --package NAME builds an image with that Debian package, --image REF uses an image that has the command
  [2]
  $ tare bench --env native -- ./no-such-command
  tare: ./no-such-command: no such file or directory; native alone runs programs of this machine: --package NAME builds an image with that Debian package, --image REF uses an image that has the command
  [2]
  $ tare bench --env native -- /
  tare: /: is a directory; native alone runs programs of this machine: --package NAME builds an image with that Debian package, --image REF uses an image that has the command
  [2]
  $ tare bench --env native "$(printf 'tr\033[2Jue')"
  tare: tr\u001b[2Jue: executable file not found in $PATH; native alone runs programs of this machine: --package NAME builds an image with that Debian package, --image REF uses an image that has the command
  [2]
  $ tare bench --env native --margin much -- true
  tare: --margin: "much" is not a share: write a percentage such as 2%, or a number such as 0.02
  [2]
  $ tare bench --env native --margin 0 -- true
  tare: --margin: the margin must lie between 0% and 100%, such as 2%
  [2]
  $ tare bench --env native --margin 200% -- true
  tare: --margin: the margin must lie between 0% and 100%, such as 2%
  [2]
  $ tare bench --env native --margin NaN -- true
  tare: --margin: "NaN" is not a share: write a percentage such as 2%, or a number such as 0.02
  [2]
  $ tare bench --env native --runs 0 -- true
  tare: --runs 0: must be more than 0
  [2]
  $ tare bench --env native --runs -1 -- true
  tare: --runs -1: must be more than 0
  [2]
  $ tare bench --env native --runs 1e3 -- true
  tare: --runs 1e3: must be a whole number (`tare bench --help` lists the flags)
  [2]
  $ tare bench --env native --warmup -1 -- true
  tare: --warmup -1: must not be negative
  [2]
  $ tare bench --env native --warmup few -- true
  tare: --warmup few: must be a whole number (`tare bench --help` lists the flags)
  [2]
  $ tare bench --env native --budget soon -- true
  tare: --budget soon: must be a duration with a unit, such as 90s, 5m or 1h30m (`tare bench --help` lists the flags)
  [2]
  $ tare bench --env native --fresh sometimes -- true
  tare: fresh: unknown value "sometimes"; known: trial, block, run
  [2]
  $ tare bench --env native --seed 1.5 -- true
  tare: --seed 1.5: must be a whole number that is not negative (`tare bench --help` lists the flags)
  [2]
  $ tare bench --env native --cold --fresh run -- true
  tare: --cold needs a fresh instance for every run, so it cannot be combined with --fresh run
  [2]
  $ tare bench --env native --out /dev/null/x -- true
  tare: the run directory /dev/null/x cannot be made: not a directory; choose another one with --out
  [2]
  $ tare bench --env native --export-json missing/out.json -- true
  tare: export to missing/out.json: missing: no such file or directory
  [2]
  $ tare bench --env native --export-csv /dev/null/x -- true
  tare: export to /dev/null/x: /dev/null is not a directory
  [2]
  $ tare bench --env native --export-markdown . -- true
  tare: export to .: it is a directory: name a file
  [2]
  $ tare bench --env native --listen nonsense -- true
  tare: --listen nonsense: must be HOST:PORT, such as 127.0.0.1:9464, or :9464 for all addresses (`tare bench --help` lists the flags)
  [2]
  $ tare bench --env native --package "no such package" -- true
  tare: image: recipe: "no such package" is not a package name: an entry is one name, optionally with =VERSION or /SUITE
  [2]
  $ tare bench --env native --package "$(printf 'x;reboot')" -- true
  tare: image: recipe: "x;reboot" is not a package name: an entry is one name, optionally with =VERSION or /SUITE
  [2]
  $ tare bench --env native --env-var 1A=b -- true
  tare: --env-var 1A=b: "1A" is not a name of an environment variable: write NAME=VALUE, or NAME for the value that tare has
  [2]
  $ tare bench --env native --env-var A-B -- true
  tare: --env-var A-B: "A-B" is not a name of an environment variable: write NAME=VALUE, or NAME for the value that tare has
  [2]
  $ tare bench --env native --env-var NO_SUCH_VARIABLE_HERE -- true
  tare: --env-var NO_SUCH_VARIABLE_HERE: tare's own environment does not have it: write NO_SUCH_VARIABLE_HERE=VALUE; sudo removes most variables, unless it is called with --preserve-env=NO_SUCH_VARIABLE_HERE
  [2]
  $ tare bench --env native --env-var ""  -- true
  tare: --env-var is empty: give it a value, or leave it out
  [2]
  $ tare bench --env native --workdir work -- true
  tare: --workdir work: must be an absolute path inside of the instances, such as /work
  [2]
  $ tare bench --env native --mount corpus -- true
  tare: --mount: "corpus" is not HOST:INSIDE or HOST:INSIDE:ro, such as ./corpus:/corpus:ro; neither path can have a colon
  [2]
  $ tare bench --env native --mount /missing:/work -- true
  tare: --mount: /missing: no such file or directory
  [2]
  $ tare bench --env native --mount /etc:/usr/etc -- true
  tare: --mount: /usr/etc: nothing can be added to /usr, which is the kernel's or the image's and not writable everywhere: choose another path inside, such as /work
  [2]
  $ tare bench --env native --mount /etc:/work --mount /etc:/work/x -- true
  tare: --mount: /work and /work/x are in each other's way inside
  [2]
  $ tare bench --env native --mount /etc:/work -- true
  tare: environment native: mounts: with rootfs: host it has the files of this machine at their own paths: name them by these, and leave the mount out
  [2]
  $ tare bench --env native --input /missing -- true
  tare: --input: /missing: no such file or directory
  [2]
  $ tare bench --env native --input /etc -- true
  tare: --input: /etc: is a directory
  [2]
  $ tare bench --env native --input "" -- true
  tare: --input is empty: give it a value, or leave it out
  [2]
  $ tare bench --env native --input /dev/null -- true
  tare: --input: /dev/null: /dev/null is not a regular file
  [2]
  $ tare bench --image x --env docker,vm --mount /etc:/work -- true
  tare: environment vm: mounts: its instances have disks of their own, with which tare shares no directory of this machine; leave the environment out, bring single files as inputs, or use an image that has the files
  [2]
  $ tare bench --image x --env docker --secret PATH --env-var PATH -- true
  tare: --env-var PATH: it is also a secret: use only one of them
  [2]
  $ tare bench --env native --figure 'rps' -- true
  tare: --figure "rps": expected NAME=SOURCE:WHERE,unit=UNIT,lower|higher, such as rps='json:$.rate,unit=op/s,higher'; SOURCE is json, csv or regex
  [2]
  $ tare bench --env native --figure 'rps=json:$.rate' -- true
  tare: --figure "rps=json:$.rate": expected NAME=SOURCE:WHERE,unit=UNIT,lower|higher, such as rps='json:$.rate,unit=op/s,higher'; SOURCE is json, csv or regex
  [2]
  $ tare bench --env native --figure 'rps=json:$.rate,unit=op/s,more' -- true
  tare: --figure "rps=json:$.rate,unit=op/s,more": expected NAME=SOURCE:WHERE,unit=UNIT,lower|higher, such as rps='json:$.rate,unit=op/s,higher'; SOURCE is json, csv or regex
  [2]
  $ tare bench --env native --figure 'rps=xml:rate,unit=op/s,higher' -- true
  tare: --figure "rps=xml:rate,unit=op/s,higher": expected NAME=SOURCE:WHERE,unit=UNIT,lower|higher, such as rps='json:$.rate,unit=op/s,higher'; SOURCE is json, csv or regex
  [2]
  $ tare bench --env native --figure 'RPS=json:$.rate,unit=op/s,higher' -- true
  tare: --figure RPS: "RPS" is not a valid metric name: use lower-case letters, digits and _
  [2]
  $ tare bench --env native --figure 'wall_seconds=json:$.rate,unit=s,lower' -- true
  tare: --figure wall_seconds: tare adds a metric "wall_seconds"; choose another name
  [2]
  $ tare bench --env native --figure 'rps=json:$.[,unit=op/s,higher' -- true
  tare: --figure rps: "$.[" is not a JSONPath such as $.latency['p(99)'] or $.jobs[?@.name == 'read'].iops: an expression fragment can not start with a '[' at 4 in $.[
  [2]
  $ tare bench --env native --figure 'rps=regex:rate ([0-9]+,unit=op/s,higher' -- true
  tare: --figure rps: error parsing regexp: missing closing ): `rate ([0-9]+`
  [2]
  $ tare bench --env native --figure 'rps=regex:rate,unit=op/s,higher' -- true
  tare: --figure rps: the expression rate needs exactly one group, around the value, and has 0; (?:...) groups without one
  [2]
  $ tare bench --env native --figure 'rps=regex:(a)(b),unit=op/s,higher' -- true
  tare: --figure rps: the expression (a)(b) needs exactly one group, around the value, and has 2; (?:...) groups without one
  [2]
  $ tare bench --env native --figure 'a=json:$.a,unit=s,lower' --figure 'b=csv:b,unit=s,lower' -- true
  tare: --figure b: all figures of a command come from one source, json, csv or regex; an expression can also match in JSON
  [2]
  $ tare bench --env native --figure 'a=json:$.a,unit=s,lower' --figure 'a=json:$.b,unit=s,lower' -- true
  tare: --figure a: it is named twice
  [2]
  $ tare bench --env native --figure 'a=json:max_rss,unit=B,lower' -- true
  tare: --figure a: max_rss is what tare itself measures: for a value of the output with this name write json:$.max_rss
  [2]
