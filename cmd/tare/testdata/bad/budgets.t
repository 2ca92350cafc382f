Budgets of tare check: a rule a line.

  $ tare check a-run
  tare: --budget is missing: name a file with a rule a line, such as nginx requests_per_second docker/native >= 0.9
  [2]
  $ tare check a-run --budget none.txt
  tare: read the budget none.txt: no such file or directory
  [2]
  $ : >empty.txt
  $ tare check a-run --budget empty.txt
  tare: empty.txt has no rule; write one a line: [WORKLOAD [PARAMETER=VALUE...]] METRIC ENVIRONMENT[/BASELINE] >= or <= BOUND, such as nginx requests_per_second docker/native >= 0.9
  [2]
  $ echo 'tiny value docker/native > 0.9' >bad.txt
  $ tare check a-run --budget bad.txt
  tare: bad.txt:1: ">" in "tiny value docker/native > 0.9" is not a comparison; write >= or <=
  [2]
  $ printf 'value docker/native >= fast\nvalue / >= 0.9\n' >bad.txt
  $ tare check a-run --budget bad.txt
  tare: bad.txt:1: "fast" is not a ratio above 0; write 0.9, 90%, ×1.5 or, as a change, -10%
  bad.txt:2: "value/ >= 0.9" is not a rule; write [WORKLOAD [PARAMETER=VALUE...]] METRIC ENVIRONMENT[/BASELINE] >= or <= BOUND, such as nginx requests_per_second docker/native >= 0.9
  [2]
  $ echo 'value docker/native >= -100%' >bad.txt
  $ tare check a-run --budget bad.txt
  tare: bad.txt:1: "-100%" is not a ratio above 0; write 0.9, 90%, ×1.5 or, as a change, -10%
  [2]
  $ echo 'value docker/native >= 0.9' >good.txt
  $ tare check a-run --budget good.txt --format yaml
  tare: --format yaml is not known: choose one of text, json, junit, md, github
  [2]
  $ tare check a-run --budget good.txt
  tare: there is no run a-run: neither a directory of that name nor home/runs/a-run exists; `tare ls` lists the runs
  [2]
