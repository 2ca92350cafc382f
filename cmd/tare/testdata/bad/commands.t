Commands, and flags that all have.

Words that are no commands

  $ tare rn quick
  tare: unknown command "rn"; did you mean "run"? (`tare --help` lists the commands)
  [2]
  $ tare perpetuate
  tare: unknown command "perpetuate" (`tare --help` lists the commands)
  [2]
  $ tare --home elsewhere parit quick
  tare: unknown command "parit"; did you mean "parity"? (`tare --help` lists the commands)
  [2]
  $ tare workload chek x.yaml
  tare: unknown command "chek"; did you mean "check"? (`tare workload --help` lists the commands)
  [2]
  $ tare workload x.yaml
  tare: unknown command "x.yaml" (`tare workload --help` lists the commands)
  [2]
  $ tare completion fsh
  tare: unknown command "fsh"; did you mean "fish"? (`tare completion --help` lists the commands)
  [2]
  $ tare help rn
  tare: unknown command "rn"; did you mean "run"? (`tare --help` lists the commands)
  [2]
  $ tare "run quick"
  tare: unknown command "run quick" (`tare --help` lists the commands)
  [2]
  $ tare "$(printf 'a\033[31mb')"
  tare: unknown command "a\x1b[31mb" (`tare --help` lists the commands)
  [2]
  $ tare "$(printf '\377\376')"
  tare: unknown command "\xff\xfe" (`tare --help` lists the commands)
  [2]

Flags

  $ tare --hom elsewhere ls
  tare: unknown flag: --hom; did you mean --home? (`tare ls --help` lists the flags)
  [2]
  $ tare ls --home
  tare: flag needs an argument: --home (`tare ls --help` lists the flags)
  [2]
  $ tare ls -x
  tare: unknown shorthand flag: 'x' in -x (`tare ls --help` lists the flags)
  [2]
  $ tare ls --json=perhaps
  tare: --json perhaps: must be true or false (`tare ls --help` lists the flags)
  [2]
  $ tare --version=maybe
  tare: --version maybe: must be true or false (`tare --help` lists the flags)
  [2]
  $ tare doctor --noise=yes
  tare: --noise yes: must be true or false (`tare doctor --help` lists the flags)
  [2]
  $ tare doctor docker
  tare: `tare doctor` takes no argument, but got "docker"; see `tare doctor --help`
  [2]
  $ tare doctor --json --noise
  tare: --json and --noise cannot be combined: the noise floor is measured by a run, which has its own report
  [2]
  $ tare clean everything
  tare: `tare clean` takes no argument, but got "everything"; see `tare clean --help`
  [2]
  $ tare clean --all
  tare: unknown flag: --all (`tare clean --help` lists the flags)
  [2]

Homes

  $ tare --home "" ls
  tare: --home is empty: give it a value, or leave it out
  [2]
  $ tare --home /proc/none run quick --only native
  tare: tare's home /proc/none cannot be made: no such file or directory; choose another directory with --home
  [2]
  $ tare --home a,comma run quick --only native
  tare: the path of tare's home "$PWD/a,comma" has a comma, a colon, a double quote or a newline, which engines and mounts treat as separators: choose another directory with --home
  [2]
  $ tare --home "a:colon" bench --env native -- true
  tare: the path of tare's home "$PWD/a:colon" has a comma, a colon, a double quote or a newline, which engines and mounts treat as separators: choose another directory with --home
  [2]
  $ touch file
  $ tare --home file ls
  tare: tare's home file is not a directory: name one with --home
  [2]
  $ tare --home file run quick --only native
  tare: tare's home file is not a directory: name one with --home
  [2]
  $ tare --home file/below clean
  tare: tare's home file/below is not a directory: name one with --home
  [2]
  $ ln -s nowhere dangling
  $ tare --home dangling run quick --only native
  tare: tare's home dangling cannot be made: file exists; choose another directory with --home
  [2]
  $ mkdir -m 777 open
  $ tare --home open clean
  tare: every user may write to $PWD/open: another user could redirect what tare writes, removes and kills; take that permission away (chmod o-w), or name another directory with --home
  [2]
  $ tare --home open run quick --only native
  tare: every user may write to $PWD/open: another user could redirect what tare writes, removes and kills; take that permission away (chmod o-w), or name another directory with --home
  [2]
  $ tare --home open rm a-run
  tare: every user may write to $PWD/open: another user could redirect what tare writes, removes and kills; take that permission away (chmod o-w), or name another directory with --home
  [2]
  $ tare --home open workload check syscalls
  tare: every user may write to $PWD/open: another user could redirect what tare writes, removes and kills; take that permission away (chmod o-w), or name another directory with --home
  [2]

The shell completes names of environments and, of a study, what it has:

  $ tare __complete explain --study quick redis --to '' 2>/dev/null
  native
  docker
  gvisor
  vm
  :32
  $ tare __complete run quick --only native,d 2>/dev/null
  native,docker
  native,gvisor
  native,vm
  native,startup	Start and stop of an instance
  native,compute	One operation many times (a system call, arithmetic, a copy)
  native,copy	One operation many times (a system call, arithmetic, a copy)
  native,getpid	One operation many times (a system call, arithmetic, a copy)
  native,fio-randread	Small random disk accesses (fio)
  native,fio-randwrite	Small random disk accesses (fio)
  native,redis	Redis under redis-benchmark
  native,nginx	Static pages (nginx under wrk)
  :32
  $ tare __complete run karna-2021 --scale '' 2>/dev/null
  small
  :32
