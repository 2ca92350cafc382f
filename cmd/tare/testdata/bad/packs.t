Packs. Each is good.yaml with an edit.

  $ cat >good.yaml <<'E'
  > workload: mine
  > title: A number
  > stresses: cpu
  > image: {packages: [redis-server]}
  > parameters:
  >   size: {default: 10, min: 1, max: 100}
  > servers:
  >   - role: server
  >     run: serve ${size}
  >     ready: {tcp: "127.0.0.1:7311"}
  > driver:
  >   role: driver
  >   run: drive ${size}
  > parser: {regex: ['value (?P<value>\d+)']}
  > metrics: [{name: value, unit: op, better: higher, primary: true}]
  > E
  $ sed 's/workload: mine/workloud: mine/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:1:1: unknown key "workloud"; did you mean "workload"? (known: workload, title, stresses, image, parameters, roles, begin, end, setup, servers, warmup, driver, length, open_loop, closed_loop, teardown, cold, empty_cache, setup_time, parser, metrics, operations, touches, configuration, fresh, startup, rest, known_limits, cautions)
  bad.yaml:1:1: workload: "" is not a valid name: use lower-case letters, digits and single dashes
  [2]
  $ sed 's/workload: mine//' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:2:1: workload: "" is not a valid name: use lower-case letters, digits and single dashes
  [2]
  $ sed 's/workload: mine/workload: Mine and yours/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:1:11: workload: "Mine and yours" is not a valid name: use lower-case letters, digits and single dashes
  [2]
  $ sed 's/stresses: cpu/stresses: nerves/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:3:11: unknown stresses "nerves"; known: cpu, memory, syscalls, disk, network, start
  [2]
  $ sed 's/title:.*/title: [a]/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:2:8: expected text, found a list
  [2]
  $ sed 's/packages: .*}/packages: "redis server"}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:4:19: expected a list, found "redis server"
  [2]
  $ sed 's/packages: .*}/pakages: []}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:4:9: unknown key "pakages"; did you mean "packages"? (known: suite, components, packages, fetch, files, commands)
  [2]
  $ sed 's/size:/use:/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:6:3: a parameter cannot be named "use": studies have a key with this name
  bad.yaml:9:10: unknown parameter "size"; known: address, address.driver, address.server, addresses.driver, addresses.server, index, use; write $${size} for the shell's own variable
  bad.yaml:13:8: unknown parameter "size"; known: address, address.driver, address.server, addresses.driver, addresses.server, index, use; write $${size} for the shell's own variable
  [2]
  $ sed 's/default: 10/default: 1000/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:6:19: parameter size, default: 1000 is out of range: 1 to 100 are allowed
  [2]
  $ sed 's/default: 10/default: ten/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:6:19: parameter size, default: "ten" is not a number: 1 to 100 are allowed
  [2]
  $ sed 's/max: 100/max: lots/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:6:19: parameter size, default: 10 is out of range: 1 to 0 are allowed
  bad.yaml:6:28: parameter size: min is above max
  bad.yaml:6:36: expected a number, found "lots"
  [2]
  $ sed 's/min: 1/min: 1000/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:6:19: parameter size, default: 10 is out of range: 1000 to 100 are allowed
  bad.yaml:6:28: parameter size: min is above max
  [2]
  $ sed 's/min: 1/values: [a, b], min: 1/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:6:9: parameter size has both values and a range; set one of them
  bad.yaml:6:19: parameter size, default: unknown value "10"; known: a, b
  [2]
  $ sed 's/serve ${size}/serve ${sise}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:9:10: unknown parameter "sise"; did you mean "size"? (known: address, address.driver, address.server, addresses.driver, addresses.server, index, size); write $${sise} for the shell's own variable
  [2]
  $ sed 's/serve ${size}/serve ${address.databse}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:9:10: unknown parameter "address.databse"; known: address, address.driver, address.server, addresses.driver, addresses.server, index, size; write $${address.databse} for the shell's own variable
  [2]
  $ sed 's/run: serve.*/run: ""/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:8:5: a step needs exactly one of run (a shell command line), argv (a list) and entrypoint: true (the image's own command), has 0
  [2]
  $ sed 's/run: serve.*/entrypoint: true/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: workload mine starts the image's own command, and an image that is built from packages has none: name an image with `image: {reference: ...}` in the study, or with --image of `tare workload check`
  [2]
  $ sed 's/run: serve.*/runs: serve/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:8:5: a step needs exactly one of run (a shell command line), argv (a list) and entrypoint: true (the image's own command), has 0
  bad.yaml:9:5: unknown key "runs"; did you mean "run"? (known: run, argv, entrypoint, env, dir, stdin, user, role, timeout, any_status, ready, stop)
  [2]
  $ sed 's/role: server/role: two words/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:8:11: "two words" is not a valid role name: use lower-case letters, digits and dashes
  [2]
  $ sed 's/role: server/rolle: server/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:8:5: unknown key "rolle"; did you mean "role"? (known: run, argv, entrypoint, env, dir, stdin, user, role, timeout, any_status, ready, stop)
  [2]
  $ sed 's/{tcp:.*}/{}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:10:12: ready: needs exactly one of tcp, http, unix and exec, has 0
  [2]
  $ sed 's/{tcp:.*}/{tcp: 7311}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:10:18: tcp: "7311" is not ADDRESS:PORT, such as ${address}:6379
  [2]
  $ sed 's/{tcp:.*}/{tcp: "127.0.0.1:99999"}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:10:18: tcp: "127.0.0.1:99999" is not ADDRESS:PORT, such as ${address}:6379
  [2]
  $ sed 's/{tcp:.*}/{http: "ftp:\/\/127.0.0.1"}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:10:19: http: "ftp://127.0.0.1" is not http://ADDRESS:PORT/PATH
  [2]
  $ sed 's/{tcp:.*}/{tcp: "127.0.0.1:1", exec: [true]}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:10:12: ready: needs exactly one of tcp, http, unix and exec, has 2
  [2]
  $ sed 's/ready:.*/timeout: never/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:8:5: ready: needs exactly one of tcp, http, unix and exec, has 0
  bad.yaml:10:14: "never" is not a duration: write a number with ms, s, m or h, such as 30s or 5m
  [2]
  $ sed 's/^  run: drive.*//' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:12:3: a step needs exactly one of run (a shell command line), argv (a list) and entrypoint: true (the image's own command), has 0
  [2]
  $ sed 's/^parser.*//' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:1:1: parser: needs exactly one of name, regex, json and csv, has 0
  bad.yaml:15:11: metric value: unknown field of the parser "value"; known: max_rss, memory_mean, ready_seconds, system_seconds, user_seconds, wall_seconds
  [2]
  $ sed 's/(?P<value>/(/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:14:18: the expression has no named group; write (?P<name>...) around the value
  bad.yaml:15:11: metric value: unknown field of the parser "value"; known: max_rss, memory_mean, ready_seconds, system_seconds, user_seconds, wall_seconds
  [2]
  $ sed 's/(?P<value>/(?P<value/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:14:18: error parsing regexp: invalid named capture: `(?P<value\d+)`
  bad.yaml:15:11: metric value: unknown field of the parser "value"; known: max_rss, memory_mean, ready_seconds, system_seconds, user_seconds, wall_seconds
  [2]
  $ sed 's/{regex:.*/{tool: sysbnch-cpu}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:14:9: parser: needs exactly one of name, regex, json and csv, has 0
  bad.yaml:14:10: unknown key "tool"; known: name, regex, json, csv
  bad.yaml:15:11: metric value: unknown field of the parser "value"; known: max_rss, memory_mean, ready_seconds, system_seconds, user_seconds, wall_seconds
  [2]
  $ sed 's/{regex:.*/fio/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:14:9: expected a mapping (key: value), found "fio"
  bad.yaml:15:11: metric value: unknown field of the parser "value"; known: max_rss, memory_mean, ready_seconds, system_seconds, user_seconds, wall_seconds
  [2]
  $ sed 's/name: value/name: values/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:15:11: metric values: unknown field of the parser "values"; did you mean "value"? (known: max_rss, memory_mean, ready_seconds, system_seconds, user_seconds, value, wall_seconds)
  [2]
  $ sed 's/name: value/name: Value 1/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:15:11: metric Value 1: unknown field of the parser "Value 1"; did you mean "value"? (known: max_rss, memory_mean, ready_seconds, system_seconds, user_seconds, value, wall_seconds)
  bad.yaml:15:18: "Value 1" is not a valid metric name: use lower-case letters, digits and _
  [2]
  $ sed 's/unit: op/unti: op/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:15:11: metric value: unit: is missing; 1 for a plain count
  bad.yaml:15:25: unknown key "unti"; did you mean "unit"? (known: name, unit, better, primary, field, percentile, of, across, about)
  [2]
  $ sed 's/better: higher/better: faster/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:15:43: unknown better "faster"; known: lower, higher
  [2]
  $ sed 's/, primary: true//' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:15:10: metrics: none is primary; mark the one that decides
  [2]
  $ sed 's/primary: true/percentile: 101, of: latency/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:15:10: metrics: none is primary; mark the one that decides
  bad.yaml:15:63: metric value: percentile: 101 is not between 0 and 100
  bad.yaml:15:72: metric value: the expression has no group for the values; write (?P<value>...) around each
  [2]
  $ sed 's/primary: true/across: median/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:15:10: metrics: none is primary; mark the one that decides
  bad.yaml:15:59: unknown across "median"; did you mean "mean"? (known: sum, mean, max, p50, p95, p99)
  [2]
  $ sed 's/^metrics.*/metrics: []/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:15:10: metrics: is missing; at least one is needed
  [2]
  $ sed 's/^metrics.*/metrics: [{name: value, unit: op, better: higher, primary: true}, {name: value, unit: op, better: higher}]/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:15:74: metric "value" is defined twice
  [2]
  $ sed 's/^metrics.*/&\noperations: nothing/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:16:13: unknown metric "nothing"; known: value
  [2]
  $ sed 's/^metrics.*/&\nlength: {time: seconds}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:16:9: length: sample: write the length of each of several samples, such as 100ms; at most 1h0m0s
  bad.yaml:16:16: length: time: unknown parameter "seconds"; known: size
  [2]
  $ sed 's/^metrics.*/&\nlength: {time: size, sample: 0s}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:16:16: length: time: parameter size needs the unit s or ms
  bad.yaml:16:30: length: sample: write the length of each of several samples, such as 100ms; at most 1h0m0s
  [2]
  $ sed 's/^metrics.*/&\nroles: {servr: {place: apart}}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:16:9: no step has the role servr
  [2]
  $ sed 's/^metrics.*/&\nroles: {server: {place: moon}}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:16:25: unknown place "moon"; known: together, apart, host
  [2]
  $ sed 's/^metrics.*/&\nroles: {server: {place: apart, count: "${sise}"}}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:16:39: unknown parameter "sise"; did you mean "size"? (known: address, address.driver, address.server, addresses.driver, addresses.server, index, size); write $${sise} for the shell's own variable
  [2]
  $ sed 's/^metrics.*/&\nsetup: [{run: x, timeout: -1s}]/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:16:27: "-1s" is not a duration: write a number with ms, s, m or h, such as 30s or 5m
  [2]
  $ sed 's/^metrics.*/&\nenv: {A=B: c}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:16:1: unknown key "env"; did you mean "end"? (known: workload, title, stresses, image, parameters, roles, begin, end, setup, servers, warmup, driver, length, open_loop, closed_loop, teardown, cold, empty_cache, setup_time, parser, metrics, operations, touches, configuration, fresh, startup, rest, known_limits, cautions)
  [2]
  $ sed 's/parser:.*/parser: {json: true}/; s/unit: op/unit: op, field: "$.jobs["/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:15:42: metric value: field: "$.jobs[" is not a JSONPath such as $.latency['p(99)'] or $.jobs[?@.name == 'read'].iops: not terminated at 8 in $.jobs[
  [2]
  $ sed 's/parser:.*/parser: {json: true}/; s/unit: op/unit: op, percentile: 99, of: "$..["/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:15:55: metric value: of: "$..[" is not a JSONPath such as $.latency['p(99)'] or $.jobs[?@.name == 'read'].iops: not terminated at 5 in $..[
  [2]
  $ sed 's/^metrics.*/&\nopen_loop: {rate: sise, latency: value, sent: rate}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:16:19: open_loop: rate: unknown parameter "sise"; did you mean "size"? (known: size)
  bad.yaml:16:34: open_loop: latency: metric value needs percentile and of
  [2]
  $ sed 's/^metrics.*/&\nopen_loop: {}/' good.yaml >bad.yaml
  $ tare workload check bad.yaml
  tare: bad.yaml:16:12: open_loop: rate: is missing; it names the parameter with the rate of the driver
  bad.yaml:16:12: open_loop: latency: is missing; it names a metric with a percentile
  bad.yaml:16:12: open_loop: sent: is missing; it names the field of the parser with the rate that the driver reached
  [2]
