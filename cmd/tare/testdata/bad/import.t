Command lines and manifests of tare import.

  $ cat >tiny.yaml <<'E'
  > workload: tiny
  > title: A number
  > stresses: cpu
  > image: {}
  > driver: {run: echo value 1}
  > parser: {regex: ['value (?P<value>\d+)']}
  > metrics: [{name: value, unit: op, better: higher, primary: true}]
  > E
  $ for e in native docker; do for b in 1 2 3 4; do echo "value 10$b" "$e" >$e-$b.log; done; done; echo nothing >bad.log

Flags

  $ tare import
  tare: name the files, or a manifest; `tare import --help` has examples
  [2]
  $ tare import native-1.log
  tare: --tool is missing: name what wrote native-1.log: a parser (ab, boot-times, cassandra-stress, dd, fio, ghz, h2load, hpl, ioping, iozone, iperf3, jmeter, k6, latencies, memtier, netperf, pgbench, redis-benchmark, stages, stress-ng, sysbench-cpu, sysbench-fileio, sysbench-memory, sysbench-oltp, sysbench-threads, vegeta-csv, wrk, wrk2), or a workload pack
  [2]
  $ tare import --tool ./tiny.yaml
  tare: name the files, or a manifest; `tare import --help` has examples
  [2]
  $ tare import --tool tiny native-1.log
  tare: --tool: unknown tool "tiny"; known: ab, boot, boot-times, calls, cassandra, cassandra-stress, ci-pipeline, dd, fio, fio-once, ghz, grpc, h2load, hpl, image-command, ioping, iozone, iperf3, iperf3-udp, jmeter, k6, latencies, memtier, mysql-configured, mysql-oltp, netperf, nginx, nginx-configured, nginx-open, packets, pgbench, postgres, redis, redis-benchmark, sql-insert, sql-select, stages, startup, startup-cold, startup-many, startup-port, startup-service, stress-ng, stress-ng-cpu, stress-ng-vm, sysbench-cpu, sysbench-fileio, sysbench-memory, sysbench-oltp, sysbench-threads, syscalls, vegeta-csv, wordpress-ab, wordpress-jmeter, wrk, wrk2; to use your own workload pack, give its path, such as ./tiny.yaml
  [2]
  $ tare import --tool sysbnch-cpu --environment native native-1.log
  tare: --tool: unknown tool "sysbnch-cpu"; did you mean "sysbench-cpu"? (known: ab, boot, boot-times, calls, cassandra, cassandra-stress, ci-pipeline, dd, fio, fio-once, ghz, grpc, h2load, hpl, image-command, ioping, iozone, iperf3, iperf3-udp, jmeter, k6, latencies, memtier, mysql-configured, mysql-oltp, netperf, nginx, nginx-configured, nginx-open, packets, pgbench, postgres, redis, redis-benchmark, sql-insert, sql-select, stages, startup, startup-cold, startup-many, startup-port, startup-service, stress-ng, stress-ng-cpu, stress-ng-vm, sysbench-cpu, sysbench-fileio, sysbench-memory, sysbench-oltp, sysbench-threads, syscalls, vegeta-csv, wordpress-ab, wordpress-jmeter, wrk, wrk2); to use your own workload pack, give its path, such as ./sysbnch-cpu.yaml
  [2]
  $ tare import --tool ./missing.yaml --environment native native-1.log
  tare: --tool: workload pack ./missing.yaml: no such file or directory
  [2]
  $ tare import --tool "" --environment native native-1.log
  tare: --tool is empty: give it a value, or leave it out
  [2]
  $ tare import --tool ./tiny.yaml native-1.log
  tare: the environment of native-1.log is unknown: name it with environment, or with a group (?P<environment>...) of the pattern of file names
  [2]
  $ tare import --tool ./tiny.yaml --environment native --into a --out b native-1.log
  tare: --into and --out cannot be combined: --into adds to an existing run, --out names the directory of a new one
  [2]
  $ tare import --tool ./tiny.yaml --environment native missing.log
  tare: there is no file missing.log
  [2]
  $ tare import --tool ./tiny.yaml --environment native .
  tare: . is a directory: name the files in it, such as *.log
  [2]
  $ tare import --tool ./tiny.yaml --environment native /dev/null
  tare: /dev/null:1: result 1: parsing the output of workload tiny: nothing matches value (?P<value>\d+); it printed nothing
  nothing was imported; with --skip-bad such results are kept as failed trials, with the reason
  [2]
  $ tare import --tool ./tiny.yaml --environment native native-1.log native-1.log
  tare: native-1.log is named twice
  [2]
  $ tare import --tool ./tiny.yaml --environment native bad.log
  tare: bad.log:1: result 1: parsing the output of workload tiny: nothing matches value (?P<value>\d+); the last line is "nothing"
  nothing was imported; with --skip-bad such results are kept as failed trials, with the reason
  [2]
  $ tare import --tool ./tiny.yaml --environment native native-1.log bad.log
  tare: bad.log:1: result 1: parsing the output of workload tiny: nothing matches value (?P<value>\d+); the last line is "nothing"
  nothing was imported; with --skip-bad such results are kept as failed trials, with the reason
  [2]
  $ tare import --tool ./tiny.yaml --environment native --metric value:sideways native-1.log
  tare: --metric value:sideways: write a field and its better direction, such as events_per_second:higher
  [2]
  $ tare import --tool ./tiny.yaml --environment native --metric valeu:lower native-1.log
  tare: native-1.log:1: result 1: the output of workload tiny has no valeu, the primary metric
  nothing was imported; with --skip-bad such results are kept as failed trials, with the reason
  [2]
  $ tare import --tool ./tiny.yaml --environment native --names "(?P<enviroment>native)" native-1.log
  tare: --names: the pattern of file names has a group "enviroment"; did you mean "environment"? (time, environment and block are known, any other is a swept parameter)
  [2]
  $ tare import --tool ./tiny.yaml --environment native --names "(?P<environment>x" native-1.log
  tare: --names: the pattern of file names: error parsing regexp: missing closing ): `(?P<environment>x`
  [2]
  $ tare import --tool ./tiny.yaml --environment native --names "(?P<environment>docker)-" native-1.log
  tare: the name of native-1.log does not match (?P<environment>docker)-: leave the file out, or change the pattern
  [2]
  $ tare import --tool ./tiny.yaml --environment native --time-layout 2006 native-1.log
  tare: --time-layout and --zone are about the time in the names of the files, which --names finds: add it
  [2]
  $ tare import --tool ./tiny.yaml --environment native --names "(?P<time>.)" --time-layout 2006 native-1.log
  tare: the name of native-1.log: the time "n" is not written as "2006"
  [2]
  $ tare import --tool ./tiny.yaml --environment native --zone Mars/Base --names "(?P<time>.)" native-1.log
  tare: --zone: the zone "Mars/Base" is neither an offset such as +02:00 nor a name such as Europe/Helsinki
  [2]
  $ tare import --tool ./tiny.yaml --environment native --zone +02:00 native-1.log
  tare: --time-layout and --zone are about the time in the names of the files, which --names finds: add it
  [2]
  $ tare import --tool ./tiny.yaml --environment native --time-in start.time native-1.log
  tare: native-1.log:1: result 1: the output is not JSON: invalid character 'v' looking for beginning of value; the last line is "value 101 native"
  nothing was imported; with --skip-bad such results are kept as failed trials, with the reason
  [2]
  $ tare import --tool ./tiny.yaml --environment native --begins "(" native-1.log
  tare: --begins: error parsing regexp: missing closing ): `(`
  [2]
  $ tare import --tool ./tiny.yaml --environment native --begins x native-1.log
  tare: native-1.log:1: result 1: the file cannot be split into results: no line matches x, the beginning of a result
  nothing was imported; with --skip-bad such results are kept as failed trials, with the reason
  [2]
  $ tare import --tool ./tiny.yaml --environment native --level threads native-1.log
  tare: level threads: the results of ./tiny.yaml do not say how they were measured: take levels from the names of the files (--names; in a manifest names), or state them in a manifest (level)
  [2]
  $ tare import --tool ./tiny.yaml --environment native --level "" native-1.log
  tare: --level is empty: give it a value, or leave it out
  [2]
  $ tare import --tool ./tiny.yaml --environment native --level threads,mode,threads native-1.log
  tare: --level: threads is named twice
  [2]
  $ printf '399+0 records in\n399+0 records out\n399 bytes (399 B) copied, 0.5 s, 0.8 kB/s\n' >dd.log
  $ tare import --tool dd --environment native --level bs dd.log
  tare: level bs: the results of dd do not say how they were measured: take levels from the names of the files (--names; in a manifest names), or state them in a manifest (level)
  [2]
  $ printf 'rate=50\n1795238079087923204,200,1153650,0,2,,b2s=,calm,0,GET,http://h/,QQ==\n' >vegeta.log
  $ tare import --tool vegeta-csv --environment native --level rates vegeta.log
  tare: level rates: unknown setting of vegeta-csv "rates"; did you mean "rate"? (known: rate)
  [2]
  $ tare import --tool vegeta-csv --environment native --names "(?P<rate>v)" --level rate vegeta.log
  tare: --level: rate is already v for vegeta.log, by the names of the files or by level: leave one of them out
  [2]
  $ tare import --tool ./tiny.yaml --environment native --baseline docker native-1.log
  tare: the baseline docker has no results; there are results of native
  [2]
  $ tare import --tool ./tiny.yaml --environment native --fresh sometimes native-1.log
  tare: fresh: unknown value "sometimes"; known: trial, block, run, unknown
  [2]
  $ tare import --tool ./tiny.yaml --environment native --margin much native-1.log
  tare: --margin: "much" is not a share: write a percentage such as 2%, or a number such as 0.02
  [2]
  $ tare import --tool ./tiny.yaml --environment native --margin 0 native-1.log
  tare: the margin 0% is not between 0% and 100%
  [2]
  $ tare import --tool ./tiny.yaml --environment native --interleaved=often native-1.log
  tare: --interleaved often: must be true or false (`tare import --help` lists the flags)
  [2]
  $ tare import --tool ./tiny.yaml --environment native --into no-such-run native-1.log
  tare: there is no run no-such-run: neither a directory of that name nor home/runs/no-such-run exists; `tare ls` lists the runs
  [2]
  $ tare import --tool ./tiny.yaml --environment native --out /dev/null/x native-1.log
  tare: the run directory /dev/null/x cannot be made: not a directory; choose another one with --out
  [2]
  $ tare import --tool ./tiny.yaml --environment native --out . native-1.log
  tare: . is not empty: choose another directory with --out
  [2]
  $ mkfifo pipe.log
  $ tare import --tool ./tiny.yaml --environment native pipe.log
  tare: pipe.log: it is a pipe that nobody writes to
  [2]
  $ cp native-1.log copy.log
  $ tare import --tool ./tiny.yaml --environment native native-1.log copy.log
  tare: copy.log has the same bytes as native-1.log: a measurement counts only once
  [2]
  $ head -c 3000000 /dev/zero >zero.log
  $ tare import --tool ./tiny.yaml --environment native zero.log
  tare: zero.log:1: result 1: the file cannot be split into results: it has bytes of 0: is it UTF-16? Save it as UTF-8
  nothing was imported; with --skip-bad such results are kept as failed trials, with the reason
  [2]

Manifests. Each is good.yaml with an edit

  $ cat >good.yaml <<'E'
  > import: mine
  > environments: {native: {}, docker: {}}
  > results:
  >   - tool: ./tiny.yaml
  >     environment: native
  >     files: [native-1.log]
  > E
  $ sed 's/import:/imprt:/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:1:1: unknown key "imprt"; did you mean "import"? (known: import, baseline, machine, margin, confidence, interleaved, fresh, skip_bad, environments, results)
  bad.yaml:1:1: import: is missing; it is the title of the report
  [2]
  $ sed 's/^import.*//' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:2:1: import: is missing; it is the title of the report
  [2]
  $ sed 's/^import.*/&\nbaseline: podman/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:2:11: unknown environment "podman"; known: native
  bad.yaml:3:28: no file has the environment "docker"; they have native
  [2]
  $ sed 's/, docker: {}//; s/^import.*/&\nmargin: 200%/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: the margin 200% is not between 0% and 100%
  [2]
  $ sed 's/^import.*/&\nfresh: sometimes/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:2:8: unknown value "sometimes"; known: trial, block, run, unknown
  [2]
  $ sed 's/^import.*/&\ninterleaved: often/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:2:14: expected true or false, found "often"
  [2]
  $ sed 's/native: {}/native: {knd: native}/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:2:25: unknown key "knd"; did you mean "kind"? (known: kind, label, about)
  [2]
  $ sed 's/native: {}/"two words": {}/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:2:15: files have the environment "native", which is not listed
  bad.yaml:2:16: no file has the environment "two words"; they have native
  bad.yaml:2:33: no file has the environment "docker"; they have native
  [2]
  $ sed 's/environments: .*/environments: []/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:2:15: expected a mapping (key: value), found a list
  [2]
  $ sed 's/tool: .*/tol: x/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:4:5: unknown key "tol"; did you mean "tool"? (known: workload, tool, metrics, begins, time_in, level, levels, environment, files, names, time_layout, zone, taken, place, columns)
  bad.yaml:4:5: tool: is missing; name a parser or a workload pack
  [2]
  $ sed 's/tool: .*/tool: sysbnch-cpu/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:4:11: unknown tool "sysbnch-cpu"; did you mean "sysbench-cpu"? (known: ab, boot, boot-times, calls, cassandra, cassandra-stress, ci-pipeline, dd, fio, fio-once, ghz, grpc, h2load, hpl, image-command, ioping, iozone, iperf3, iperf3-udp, jmeter, k6, latencies, memtier, mysql-configured, mysql-oltp, netperf, nginx, nginx-configured, nginx-open, packets, pgbench, postgres, redis, redis-benchmark, sql-insert, sql-select, stages, startup, startup-cold, startup-many, startup-port, startup-service, stress-ng, stress-ng-cpu, stress-ng-vm, sysbench-cpu, sysbench-fileio, sysbench-memory, sysbench-oltp, sysbench-threads, syscalls, vegeta-csv, wordpress-ab, wordpress-jmeter, wrk, wrk2); to use your own workload pack, give its path, such as ./sysbnch-cpu.yaml
  [2]
  $ sed 's/tool: .*/tool: .\/missing.yaml/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:4:11: workload pack missing.yaml: no such file or directory
  [2]
  $ sed 's/environment: native/environment: podman/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:2:15: files have the environment "podman", which is not listed
  bad.yaml:2:16: no file has the environment "native"; they have podman
  bad.yaml:2:28: no file has the environment "docker"; they have podman
  [2]
  $ sed 's/environment: native/enviroment: native/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:5:5: unknown key "enviroment"; did you mean "environment"? (known: workload, tool, metrics, begins, time_in, level, levels, environment, files, names, time_layout, zone, taken, place, columns)
  bad.yaml:6:12: the environment of native-1.log is unknown: name it with environment, or with a group (?P<environment>...) of the pattern of file names
  [2]
  $ sed 's/native-1.log/absent-*.log/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:6:13: there is no file absent-*.log
  [2]
  $ sed 's/native-1.log/"[a"/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:6:13: [a: syntax error in pattern
  [2]
  $ sed 's/files: .*/files: []/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:4:5: files: is missing
  [2]
  $ sed 's/files: .*/files: native-1.log/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:4:5: files: is missing
  bad.yaml:6:12: expected a list, found "native-1.log"
  [2]
  $ sed 's/files: .*/&\n    names: "(?P<time>x"/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:7:12: the pattern of file names: error parsing regexp: missing closing ): `(?P<time>x`
  [2]
  $ sed 's/files: .*/&\n    metrics: [{name: value, better: faster}]/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:4:11: metric value: better is "faster", but must be lower or higher
  [2]
  $ sed 's/, docker: {}//; s/files: .*/&\n    levels: threads/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:7:13: expected a list, found "threads"
  [2]
  $ sed 's/, docker: {}//; s/files: .*/&\n    levels: [threads, threads]/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:7:13: threads is named twice
  [2]
  $ sed 's/, docker: {}//; s/files: .*/&\n    level: {threads: 4}\n    levels: [threads]/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:8:13: threads is already 4 for native-1.log, by the names of the files or by level: leave one of them out
  [2]
  $ sed 's/files: .*/&\n    time_in: [a]/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:7:14: expected text, found a list
  [2]
  $ sed 's/^results:/results: []\nx:/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:4:1: unknown key "x"; known: import, baseline, machine, margin, confidence, interleaved, fresh, skip_bad, environments, results
  [2]
  $ sed 's/^import.*/&\nbaselin: native\nfresh: sometimes/; s/native-1.log/absent.log/' good.yaml >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:2:1: unknown key "baselin"; did you mean "baseline"? (known: import, baseline, machine, margin, confidence, interleaved, fresh, skip_bad, environments, results)
  bad.yaml:3:8: unknown value "sometimes"; known: trial, block, run, unknown
  bad.yaml:8:13: there is no file absent.log
  [2]
  $ rm bad.yaml; mkfifo bad.yaml
  $ tare import bad.yaml
  tare: import manifest bad.yaml: it is a pipe that nobody writes to
  [2]
  $ rm bad.yaml; : >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:1:1: the file is empty
  [2]
  $ printf 'import: [' >bad.yaml
  $ tare import bad.yaml
  tare: bad.yaml:1:9: this is not YAML: sequence end token ']' not found
  [2]
  $ tare import good.yaml --environment native
  tare: --environment describes files on the command line; write it into good.yaml
  [2]
  $ tare import good.yaml good.yaml
  tare: --tool is missing: name what wrote good.yaml: a parser (ab, boot-times, cassandra-stress, dd, fio, ghz, h2load, hpl, ioping, iozone, iperf3, jmeter, k6, latencies, memtier, netperf, pgbench, redis-benchmark, stages, stress-ng, sysbench-cpu, sysbench-fileio, sysbench-memory, sysbench-oltp, sysbench-threads, vegeta-csv, wrk, wrk2), or a workload pack
  [2]
  $ tare import missing.yaml
  tare: import manifest missing.yaml: no such file or directory
  [2]
