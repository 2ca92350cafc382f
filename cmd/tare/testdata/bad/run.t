Command lines of tare run.

What to run

  $ tare run
  tare: name either a study or --resume RUN; usage: tare run STUDY | --resume RUN [flags]
  [2]
  $ tare run quick noise
  tare: name either a study or --resume RUN; usage: tare run STUDY | --resume RUN [flags]
  [2]
  $ tare run ""
  tare: argument 1 is empty; usage: tare run STUDY | --resume RUN [flags]
  [2]
  $ tare run quik
  tare: unknown study "quik"; did you mean "quick"? (known: aspernas-nensen-2016, aspernas-nensen-2016-hosts, caiola-2025, cassandra-scaling, density, engines, guests, heino-2025, heino-2025-mysql, heino-2025-nginx, heino-2025-redis, karna-2021, load, microvm-in-vm, mixes, networks, noise, noisy-neighbour, prices, queries, quick, scaling, security); to use a file, give its path, such as ./quik.yaml
  [2]
  $ tare run ./missing.yaml
  tare: study file ./missing.yaml: no such file or directory
  [2]
  $ tare run missing.yaml
  tare: study file missing.yaml: no such file or directory
  [2]
  $ tare run .
  tare: study file .: is a directory
  [2]
  $ tare run /
  tare: study file /: is a directory
  [2]
  $ tare run /dev/null
  tare: /dev/null:1:1: the file is empty
  [2]
  $ tare run /proc/self/mem
  tare: study file /proc/self/mem: input/output error
  [2]
  $ mkfifo pipe.yaml
  $ tare run pipe.yaml
  tare: study file pipe.yaml: it is a pipe that nobody writes to
  [2]
  $ ln -s loop.yaml loop.yaml
  $ tare run loop.yaml
  tare: study file loop.yaml: too many levels of symbolic links
  [2]
  $ mkdir directory.yaml
  $ tare run directory.yaml
  tare: study file directory.yaml: is a directory
  [2]

Flags

  $ tare run quick --blcks 3
  tare: unknown flag: --blcks; did you mean --blocks? (`tare run --help` lists the flags)
  [2]
  $ tare run quick --blocks many
  tare: --blocks many: must be a whole number (`tare run --help` lists the flags)
  [2]
  $ tare run quick --blocks 3.5
  tare: --blocks 3.5: must be a whole number (`tare run --help` lists the flags)
  [2]
  $ tare run quick --blocks 0
  tare: --blocks 0: must be more than 0
  [2]
  $ tare run quick --blocks -2
  tare: --blocks -2: must be more than 0
  [2]
  $ tare run quick --blocks 99999999999999999999
  tare: --blocks 99999999999999999999: is out of range (`tare run --help` lists the flags)
  [2]
  $ tare run quick --blocks
  tare: flag needs an argument: --blocks (`tare run --help` lists the flags)
  [2]
  $ tare run --resume nothing --parallel 0
  tare: --parallel 0: must be more than 0
  [2]
  $ tare bench --parallel 2 -- true
  tare: unknown flag: --parallel; only `tare run` works on several machines side by side, the nodes of a study (`tare bench --help` lists the flags)
  [2]
  $ tare try redis --parallel 2
  tare: unknown flag: --parallel; only `tare run` works on several machines side by side, the nodes of a study (`tare try --help` lists the flags)
  [2]
  $ tare run quick --parallel 0
  tare: --parallel 0: must be more than 0
  [2]
  $ tare run quick --budget 5
  tare: --budget 5: must be a duration with a unit, such as 90s, 5m or 1h30m (`tare run --help` lists the flags)
  [2]
  $ tare run quick --budget -5m
  tare: --budget -5m0s: must be more than 0
  [2]
  $ tare run quick --budget 0s
  tare: --budget 0s: must be more than 0
  [2]
  $ tare run quick --budget 9999999h
  tare: --budget 9999999h: must be a duration with a unit, such as 90s, 5m or 1h30m (`tare run --help` lists the flags)
  [2]
  $ tare run quick --budget ""
  tare: --budget "": must be a duration with a unit, such as 90s, 5m or 1h30m (`tare run --help` lists the flags)
  [2]
  $ tare run quick --scale tiny
  tare: scale: unknown scale "tiny"; known: inside
  [2]
  $ tare run quick --scale ""
  tare: --scale is empty: give it a value, or leave it out
  [2]
  $ tare run karna-2021 --scale smal
  tare: scale: unknown scale "smal"; did you mean "small"? (known: small)
  [2]
  $ tare run quick --only nativ
  tare: only: unknown environment or workload "nativ"; did you mean "native"? (known: native, docker, gvisor, vm, startup, compute, copy, getpid, fio-randread, fio-randwrite, redis, nginx)
  [2]
  $ tare run quick --only ""
  tare: --only is empty: give it a value, or leave it out
  [2]
  $ tare run quick --only native --only ,
  tare: --only is empty: give it a value, or leave it out
  [2]
  $ tare run quick --only noisy
  tare: only: unknown environment or workload "noisy"; known: native, docker, gvisor, vm, startup, compute, copy, getpid, fio-randread, fio-randwrite, redis, nginx
  [2]
  $ tare run quick --seed -1
  tare: --seed -1: must be a whole number that is not negative (`tare run --help` lists the flags)
  [2]
  $ tare run quick --seed 99999999999999999999
  tare: --seed 99999999999999999999: is out of range (`tare run --help` lists the flags)
  [2]
  $ tare run quick --seed x
  tare: --seed x: must be a whole number that is not negative (`tare run --help` lists the flags)
  [2]
  $ tare run quick --strict --dry-run
  tare: --strict and --dry-run cannot be combined: --strict starts every environment, and --dry-run starts nothing
  [2]
  $ tare run quick --or-resume
  tare: --or-resume needs --out: the directory of the run
  [2]
  $ tare run quick --or-resume --dry-run --out run
  tare: --or-resume and --dry-run cannot be combined: --dry-run starts nothing, and continues nothing
  [2]
  $ tare run --resume no-such-run --or-resume
  tare: --resume uses the plan and the directory of the run: leave out --or-resume, or start a new run
  [2]
  $ tare run quick --out "" --or-resume
  tare: --out is empty: give it a value, or leave it out
  [2]
  $ tare run quick --quiet=x
  tare: --quiet x: must be true or false (`tare run --help` lists the flags)
  [2]

Addresses of --listen are checked also where nothing is started

  $ tare run quick --dry-run --listen nonsense
  tare: --listen nonsense: must be HOST:PORT, such as 127.0.0.1:9464, or :9464 for all addresses (`tare run --help` lists the flags)
  [2]
  $ tare run quick --dry-run --listen ""
  tare: --listen "": must be HOST:PORT, such as 127.0.0.1:9464, or :9464 for all addresses (`tare run --help` lists the flags)
  [2]
  $ tare run quick --listen :99999
  tare: --listen :99999: must be HOST:PORT, such as 127.0.0.1:9464, or :9464 for all addresses (`tare run --help` lists the flags)
  [2]
  $ tare run quick --listen 127.0.0.1
  tare: --listen 127.0.0.1: must be HOST:PORT, such as 127.0.0.1:9464, or :9464 for all addresses (`tare run --help` lists the flags)
  [2]
  $ tare run quick --listen 127.0.0.1:http1
  tare: --listen 127.0.0.1:http1: must be HOST:PORT, such as 127.0.0.1:9464, or :9464 for all addresses (`tare run --help` lists the flags)
  [2]
  $ tare run quick --listen 300.1.1.1:80
  tare: --listen: cannot listen on 300.1.1.1:80: listen tcp: lookup 300.1.1.1: no such host; choose an address of this machine, such as 127.0.0.1:9464
  [2]
  $ tare run quick --listen unix:/tmp/socket
  tare: --listen unix:/tmp/socket: must be HOST:PORT, such as 127.0.0.1:9464, or :9464 for all addresses (`tare run --help` lists the flags)
  [2]

Directories

  $ tare run quick --out /dev/null/x
  tare: the run directory /dev/null/x cannot be made: not a directory; choose another one with --out
  [2]
  $ mkdir full; touch full/file
  $ tare run quick --out full
  tare: full is not empty: choose another directory with --out
  [2]
  $ tare run quick --out full/file
  tare: the run directory full/file cannot be made: not a directory; choose another one with --out
  [2]
  $ tare run quick --out full/file/below
  tare: the run directory full/file/below cannot be made: not a directory; choose another one with --out
  [2]
  $ tare run quick --out ""
  tare: --out is empty: give it a value, or leave it out
  [2]

Resuming

  $ tare run quick --resume a-run
  tare: name either a study or --resume RUN; usage: tare run STUDY | --resume RUN [flags]
  [2]
  $ tare run --resume no-such-run
  tare: there is no run no-such-run: neither a directory of that name nor home/runs/no-such-run exists; `tare ls` lists the runs
  [2]
  $ tare run --resume ""
  tare: name either a study or --resume RUN; usage: tare run STUDY | --resume RUN [flags]
  [2]
  $ tare run --resume /
  tare: / is not a run: it has no manifest.json; `tare ls` lists the runs
  [2]
  $ tare run --resume full
  tare: full is not a run: it has no manifest.json; `tare ls` lists the runs
  [2]
  $ tare run --resume a-run --blocks 3
  tare: --resume uses the plan and the directory of the run: leave out --blocks, or start a new run
  [2]
  $ tare run --resume a-run --dry-run
  tare: --resume and --dry-run cannot be combined: a resumed run already has its plan
  [2]
  $ tare run --resume a-run --budget 1m --out elsewhere --only native
  tare: --resume uses the plan and the directory of the run: leave out --budget, --only, --out, or start a new run
  [2]
  $ tare run --resume ../full
  tare: there is no run ../full: no directory has that name; `tare ls` lists the runs
  [2]
