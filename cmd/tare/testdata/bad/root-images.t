Images that are not there, or are none. Only root gets as far as looking for one.

  $ tare bench --quiet --env native --image tar:nowhere.tar -- true
  tare: image tar:nowhere.tar: no such file or directory
  [2]
  $ tare bench --quiet --env native --image oci:nowhere -- true
  tare: image oci:nowhere: nowhere is not an OCI layout: no such file or directory
  [2]
  $ tare bench --quiet --env native --image docker-daemon:nothing -- true
  tare: image docker-daemon:nothing: the Docker daemon does not answer: dial unix /nowhere/docker.sock: connect: no such file or directory; start it (systemctl start docker), or see DOCKER_HOST
  [2]
  $ tare bench --quiet --env native --image podman-daemon: -- true
  tare: image "podman-daemon:" is not a reference: use NAME[:TAG], REGISTRY/NAME[:TAG], docker-daemon:NAME, oci:DIRECTORY[:TAG] or tar:FILE
  [2]
  $ tare bench --quiet --env native --image tar: -- true
  tare: image "tar:": tar: needs a file
  [2]
  $ tare bench --quiet --env native --image UPPER/Case -- true
  tare: image "UPPER/Case" is not a reference: use NAME[:TAG], REGISTRY/NAME[:TAG], docker-daemon:NAME, oci:DIRECTORY[:TAG] or tar:FILE
  [2]
  $ tare bench --quiet --env native --image localhost:1/none:1 -- true
  tare: image localhost:1/none:1: registry localhost:1 does not answer: connection refused; check the network and the name
  [2]
  $ tare bench --quiet --env native --image http://example.org/image -- true
  tare: image "http://example.org/image" is not a reference: use NAME[:TAG], REGISTRY/NAME[:TAG], docker-daemon:NAME, oci:DIRECTORY[:TAG] or tar:FILE
  [2]
  $ tare bench --quiet --env native --image redis:7:8 -- true
  tare: image "redis:7:8" is not a reference: use NAME[:TAG], REGISTRY/NAME[:TAG], docker-daemon:NAME, oci:DIRECTORY[:TAG] or tar:FILE
  [2]
  $ echo no archive >text.tar
  $ tare bench --quiet --env native --image tar:text.tar -- true
  tare: image tar:text.tar: text.tar is not a tar file, or is damaged, at entry 1: unexpected EOF
  [2]
  $ mkdir layout
  $ tare bench --quiet --env native --image oci:layout -- true
  tare: image oci:layout: layout is not an OCI layout: no such file or directory
  [2]
  $ mkfifo pipe.tar
  $ tare bench --quiet --env native --image tar:pipe.tar -- true
  tare: image tar:pipe.tar: pipe.tar is not a regular file
  [2]
