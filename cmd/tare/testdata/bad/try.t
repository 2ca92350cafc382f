Command lines of tare try.

The image

  $ tare try
  tare: an argument is missing; usage: tare try [flags] IMAGE [-- ARGUMENTS...]
  [2]
  $ tare try a b
  tare: too many arguments; usage: tare try [flags] IMAGE [-- ARGUMENTS...]
  [2]
  $ tare try ""
  tare: argument 1 is empty; usage: tare try [flags] IMAGE [-- ARGUMENTS...]
  [2]
  $ tare try --env native tar:no-such.tar
  tare: image tar:no-such.tar: no such file or directory
  [2]
  $ tare try --env native "Not A Reference"
  tare: image "Not A Reference" is not a reference: use NAME[:TAG], REGISTRY/NAME[:TAG], docker-daemon:NAME, oci:DIRECTORY[:TAG] or tar:FILE
  [2]
  $ tare try --env native docker-daemon:
  tare: image "docker-daemon:": docker-daemon: needs a name, as docker images prints it
  [2]
  $ tare try --env native oci:no-such-directory
  tare: image oci:no-such-directory: no-such-directory is not an OCI layout: no such file or directory
  [2]
  $ echo no image > no.tar
  $ tare try --env native tar:/
  tare: image tar:/: is a directory
  [2]

Environments

  $ tare try --env martian tar:no.tar
  tare: environment martian: unknown kind of environment "martian"; known: bubblewrap, cloud-hypervisor, containerd, docker, firecracker, gvisor, kubernetes, machine, native, oci, podman, qemu, virtualbox, vsphere
  [2]
  $ tare try --env "" tar:no.tar
  tare: --env is empty: give it a value, or leave it out
  [2]
  $ tare try --env native,native tar:no.tar
  tare: environment native: "native" is set twice
  [2]
  $ tare try --env docker+network=bridged tar:no.tar
  tare: environment docker-network-bridged: network: "bridged" is not known: choose one of bridge, nat, publish, publish-loopback, host, none
  [2]
  $ tare try --env docker+network tar:no.tar
  tare: --env docker+network: "network" is not OPTION=VALUE
  [2]

The load, its port and its page

  $ tare try --env native --load reddis tar:no.tar
  tare: --load reddis: unknown load "reddis"; did you mean "redis"? (known: http, redis, postgres, mysql, tcp, job)
  [2]
  $ tare try --env native --load "" tar:no.tar
  tare: --load is empty: give it a value, or leave it out
  [2]
  $ tare try --env native --load ./no-such.yaml tar:no.tar
  tare: --load ./no-such.yaml: use: workload pack no-such.yaml: no such file or directory
  [2]
  $ echo "workload: x" >no-pack.yaml
  $ tare try --env native --load ./no-pack.yaml tar:no.tar
  tare: --load ./no-pack.yaml: no-pack.yaml:1:1: stresses: is missing; one of cpu, memory, syscalls, disk, network, start
  [2]
  $ tare try --env native --port 0 tar:no.tar
  tare: --port 0: must be more than 0
  [2]
  $ tare try --env native --port 65536 tar:no.tar
  tare: --port 65536: a port is a number from 1 to 65535
  [2]
  $ tare try --env native --port -1 tar:no.tar
  tare: --port -1: must be more than 0
  [2]
  $ tare try --env native --port http tar:no.tar
  tare: --port http: must be a whole number (`tare try --help` lists the flags)
  [2]
  $ tare try --env native --url health tar:no.tar
  tare: --url health: is neither a path, such as /health, nor http://localhost:PORT/PATH
  [2]
  $ tare try --env native --url https://localhost/ tar:no.tar
  tare: --url https://localhost/: is neither a path, such as /health, nor http://localhost:PORT/PATH
  [2]
  $ tare try --env native --url http://example.com/ tar:no.tar
  tare: --url http://example.com/: is neither a path, such as /health, nor http://localhost:PORT/PATH
  [2]
  $ tare try --env native --url http://localhost:99999/ tar:no.tar
  tare: --url http://localhost:99999/: a port is a number from 1 to 65535
  [2]
  $ tare try --env native --url http://localhost:81/ --port 80 tar:no.tar
  tare: --url http://localhost:81/: has another port than --port 80
  [2]
  $ tare try --env native --url "/a b" tar:no.tar
  tare: --url /a b: "/a b" is not the path of a page, such as /items?page=2: letters, digits and _ . / : = , @ % + - ~ ? & ; are allowed; write other characters as %XX
  [2]
  $ tare try --env native --url /x --load redis tar:no.tar
  tare: --url /x: only --load http has a URL
  [2]
  $ tare try --env native --port 80 --load job tar:no.tar
  tare: --load job: a job has no port: leave out --port and --url
  [2]

What else can be set

  $ tare try --env native --env-var NAME tar:no.tar
  tare: --env-var NAME: is not NAME=VALUE
  [2]
  $ tare try --env native --env-var =x tar:no.tar
  tare: --env-var =x: is not NAME=VALUE
  [2]
  $ tare try --env native --env-var "A B=x" tar:no.tar
  tare: --env-var A B=x: is not NAME=VALUE
  [2]
  $ tare try --env native --secret 1A tar:no.tar
  tare: --secret 1A: "1A" is not a valid name of an environment variable: use letters, digits and _
  [2]
  $ tare try --env native --secret A= tar:no.tar
  tare: --secret A=: secret A: needs either file, a file with the value, or env, an environment variable of tare's
  [2]
  $ tare try --env native --secret A=no-such-file tar:no.tar
  tare: secret A: its file $PWD/no-such-file: no such file or directory
  [2]
  $ tare try --env native --secret NO_SUCH_VARIABLE tar:no.tar
  tare: secret NO_SUCH_VARIABLE: the environment variable NO_SUCH_VARIABLE, which has its value, is not set: export it, also to resume a run
  [2]
  $ tare try --env native --secret A --env-var A=1 tar:no.tar
  tare: --env-var A: it is also a secret: use only one of them
  [2]
  $ tare try --env native --secret A --secret A=no.tar tar:no.tar
  tare: --secret: "A" is set twice
  [2]
  $ tare try --env native -- tar:no.tar
  tare: the image is missing: its name is before --; usage: tare try [flags] IMAGE [-- ARGUMENTS...]
  [2]
  $ tare try --env native tar:no.tar other -- --port 80
  tare: too many arguments; usage: tare try [flags] IMAGE [-- ARGUMENTS...]
  [2]
  $ tare try --env native --margin much tar:no.tar
  tare: --margin: "much" is not a share: write a percentage such as 2%, or a number such as 0.02
  [2]
  $ tare try --env native --margin 0 tar:no.tar
  tare: --margin: the margin must lie between 0% and 100%, such as 2%
  [2]
  $ tare try --env native --budget 0 tar:no.tar
  tare: --budget 0s: must be more than 0
  [2]
  $ tare try --env native --budget soon tar:no.tar
  tare: --budget soon: must be a duration with a unit, such as 90s, 5m or 1h30m (`tare try --help` lists the flags)
  [2]
  $ tare try --env native --wait -1s tar:no.tar
  tare: --wait -1s: must be more than 0
  [2]
  $ tare try --env native --seed x tar:no.tar
  tare: --seed x: must be a whole number that is not negative (`tare try --help` lists the flags)
  [2]
  $ tare try --env native --save no/such/study.yaml tar:no.tar
  tare: --save no/such/study.yaml: no/such: no such file or directory
  [2]
  $ tare try --env native --save / tar:no.tar
  tare: --save /: it is a directory: name a file
  [2]
  $ mkdir full && touch full/file
  $ tare try --env native --out full tar:no.tar
  tare: full is not empty: choose another directory with --out
  [2]
  $ tare try --env native --sav x tar:no.tar
  tare: unknown flag: --sav; did you mean --save? (`tare try --help` lists the flags)
  [2]
