Command lines of tare init.

What the study is of

  $ tare init
  tare: name an image, a Compose file, or a command after --; usage: tare init [flags] IMAGE | FILE... | -- CMD ARGS...
  [2]
  $ tare init ""
  tare: argument 1 is empty; usage: tare init [flags] IMAGE | FILE... | -- CMD ARGS...
  [2]
  $ tare init a b
  tare: a is not a Compose file, and only those can be several: write a command after --
  [2]
  $ tare init a -- b
  tare: a and a command after --: name one of them; usage: tare init [flags] IMAGE | FILE... | -- CMD ARGS...
  [2]
  $ tare init --
  tare: name an image, a Compose file, or a command after --; usage: tare init [flags] IMAGE | FILE... | -- CMD ARGS...
  [2]
  $ tare init -- ""
  tare: argument 1 is empty; usage: tare init [flags] IMAGE | FILE... | -- CMD ARGS...
  [2]
  $ tare init "Not A Reference"
  tare: image "Not A Reference" is not a reference: use NAME[:TAG], REGISTRY/NAME[:TAG], docker-daemon:NAME, oci:DIRECTORY[:TAG] or tar:FILE
  [2]
  $ tare init tar:no-such.tar
  tare: image tar:no-such.tar: no such file or directory
  [2]
  $ tare init no-such.yaml
  tare: Compose file no-such.yaml: no such file or directory
  [2]
  $ mkdir empty built here && touch built/Dockerfile api.tar
  $ printf 'services: {web: {image: nginx, ports: [80]}}\n' > here/compose.yaml
  $ tare init ./empty
  tare: ./empty has no Compose file (compose.yaml, compose.yml, docker-compose.yml or docker-compose.yaml) and no manifests
  [2]
  $ tare init ./built
  tare: ./built has a Dockerfile and no Compose file: build its image, docker build -t NAME ./built, then `tare init docker-daemon:NAME`
  [2]
  $ tare init api.tar
  tare: api.tar is a file: if it is an image as docker save writes it, write tar:api.tar
  [2]
  $ touch Dockerfile job.py
  $ tare init ./job.py
  tare: ./job.py is a file: for a command write `tare init -- ./job.py`, and for an image of this name job.py:TAG
  [2]
  $ tare init Dockerfile
  tare: Dockerfile is a Dockerfile: build its image, docker build -t NAME -f Dockerfile ., then `tare init docker-daemon:NAME`
  [2]
  $ tare init
  tare: name an image, a Compose file, or a command after --; here is a Dockerfile: docker build -t NAME ., then `tare init docker-daemon:NAME`; usage: tare init [flags] IMAGE | FILE... | -- CMD ARGS...
  [2]
  $ cp here/compose.yaml compose.yaml
  $ tare init
  tare: name an image, a Compose file, or a command after --; here is compose.yaml: `tare init compose.yaml`; usage: tare init [flags] IMAGE | FILE... | -- CMD ARGS...
  [2]

The Compose file

  $ echo 'services: {web: {image: nginx, port: 80}}' > key.yaml
  $ tare init key.yaml
  tare: key.yaml: services.web.port: Compose has no such key; did you mean "ports"?
  [2]
  $ printf 'services:\n  web:\n    image: nginx\n   ports: [80]\n' > syntax.yaml
  $ tare init syntax.yaml
  tare: syntax.yaml:4:4: this is not YAML: value is not allowed in this context
  [2]
  $ echo 'services: {a: {image: x, depends_on: [a]}}' > cycle.yaml
  $ tare init cycle.yaml
  tare: cycle.yaml: dependency cycle detected: a -> a
  [2]
  $ echo 'include: [https://compose.example/a.yaml]' > remote.yaml
  $ tare init remote.yaml
  tare: remote.yaml: https://compose.example/a.yaml is not a file of this machine, and nothing is fetched: download it and give its path
  [2]

Where it goes

  $ tare init --env docker --out no/such/study.yaml here/compose.yaml
  tare: --out no/such/study.yaml: no/such: no such file or directory
  [2]
  $ tare init --env docker --out / here/compose.yaml
  tare: --out /: it is a directory: name a file
  [2]
  $ tare init --env docker --out "" here/compose.yaml
  tare: --out is empty: give it a value, or leave it out
  [2]
  $ touch study.yaml new-command.yaml
  $ tare init --env docker here/compose.yaml
  tare: study.yaml exists: --force replaces it, and --out names another file
  [2]
  $ tare init --env docker -o new.yaml -- gzip
  tare: new-command.yaml exists: --force replaces it, and --out names another file
  [2]
  $ tare init --env docker -o x.yaml -- ./no-such-tool
  tare: ./no-such-tool, which the command runs: no such file or directory
  [2]
  $ tare init --env docker -o x.yaml -- sh no-such-script.sh
  tare: no-such-script.sh, which the command runs: no such file or directory
  [2]
  $ tare init --env docker --out - -- gzip
  tare: a command needs two files, the study and its workload: name the study with --out FILE
  [2]

Environments

  $ tare init --env "" here/compose.yaml
  tare: --env is empty: give it a value, or leave it out
  [2]
  $ tare init --env docker+network --out x.yaml here/compose.yaml
  tare: --env docker+network: "network" is not OPTION=VALUE
  [2]
  $ tare init --env native,native --out x.yaml here/compose.yaml
  tare: environment native: "native" is set twice
  [2]
  $ tare init --env martian --out x.yaml here/compose.yaml
  tare: environment martian: unknown kind of environment "martian"; known: bubblewrap, cloud-hypervisor, containerd, docker, firecracker, gvisor, kubernetes, machine, native, oci, podman, qemu, virtualbox, vsphere
  [2]
