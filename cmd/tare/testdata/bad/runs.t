Run directories that somebody edited, and command lines about runs.

  $ cat >tiny.yaml <<'E'
  > workload: tiny
  > title: A number
  > stresses: cpu
  > image: {}
  > driver: {run: echo value 1}
  > parser: {regex: ['value (?P<value>\d+)']}
  > metrics: [{name: value, unit: op, better: higher, primary: true}]
  > E
  $ for e in native docker; do for b in 1 2 3 4; do echo "value 10$b" "$e" >$e-$b.log; done; done
  $ tare import --tool ./tiny.yaml --interleaved --names '^(?P<environment>native|docker)-(?P<block>[0-9]).log$' --baseline native --out good native-*.log docker-*.log >out.txt

Command lines

  $ tare report
  tare: an argument is missing; usage: tare report RUN [flags]
  [2]
  $ tare report no-such-run
  tare: there is no run no-such-run: neither a directory of that name nor home/runs/no-such-run exists; `tare ls` lists the runs
  [2]
  $ tare report good good
  tare: too many arguments; usage: tare report RUN [flags]
  [2]
  $ tare report ""
  tare: argument 1 is empty; usage: tare report RUN [flags]
  [2]
  $ tare report .
  tare: . is not a run: it has no manifest.json; `tare ls` lists the runs
  [2]
  $ tare report /dev/null
  tare: there is no run /dev/null: no directory has that name; `tare ls` lists the runs
  [2]
  $ tare report good --format docx
  tare: --format docx is not known: choose one of html, md, text, brief, openmetrics, csv, json, parquet, svg, pdf, tex, methods, bib, cff, benchstat, github, bencher
  [2]
  $ tare report good --format html,docx
  tare: --format docx is not known: choose one of html, md, text, brief, openmetrics, csv, json, parquet, svg, pdf, tex, methods, bib, cff, benchstat, github, bencher
  [2]
  $ tare report good --format ""
  tare: --format is empty: give it a value, or leave it out
  [2]
  $ tare report good --format html,md --out -
  tare: --out - is one file, and --format asks for 2 formats: give a directory, or one format
  [2]
  $ tare report good --format csv --out -
  tare: csv is several files (observations.csv, contrasts.csv): give --out a directory
  [2]
  $ tare report good --format csv --out good/plan.json
  tare: write the export to good/plan.json/observations.csv: not a directory; choose another directory with --out
  [1]
  $ tare report good --format csv,json --out /proc/x
  tare: write the export to /proc/x/observations.csv: no such file or directory; choose another directory with --out
  [1]
  $ tare report good --out /proc/x
  tare: write the report to /proc/x: no such file or directory; choose another file with --out
  [1]
  $ tare report good --out missing/x.html
  tare: write the report to missing/x.html: no such file or directory; choose another file with --out
  [1]
  $ tare report good --out .
  tare: write the report to .: is a directory; choose another file with --out
  [1]
  $ tare report good --score nothing
  tare: unknown profile "nothing"; known: karna-2021; to use a file, give its path, such as ./profile.yaml
  [2]
  $ tare report good --score ./missing.yaml
  tare: profile ./missing.yaml: no such file or directory; the built-in profiles are karna-2021
  [2]
  $ tare report good --against nothing
  tare: unknown published study "nothing"; known: aspernas-nensen-2016, caiola-2025, cassandra-scaling, heino-2025, karna-2021
  [2]
  $ tare report good --figures nothing
  tare: unknown published study "nothing"; known: aspernas-nensen-2016, caiola-2025, cassandra-scaling, heino-2025, karna-2021
  [2]
  $ tare report ../good
  tare: there is no run ../good: no directory has that name; `tare ls` lists the runs
  [2]
  $ tare report --format text
  tare: an argument is missing; usage: tare report RUN [flags]
  [2]
  $ tare compare good
  tare: an argument is missing; usage: tare compare RUN RUN [flags]
  [2]
  $ tare compare good no-such-run
  tare: there is no run no-such-run: neither a directory of that name nor home/runs/no-such-run exists; `tare ls` lists the runs
  [2]
  $ tare compare "" ""
  tare: argument 1 is empty; usage: tare compare RUN RUN [flags]
  [2]
  $ tare compare good good good
  tare: too many arguments; usage: tare compare RUN RUN [flags]
  [2]
  $ tare show good --verify --jsn
  tare: unknown flag: --jsn; did you mean --json? (`tare show --help` lists the flags)
  [2]
  $ tare parity good
  tare: good has no fingerprints: it was imported, or made by a version without them; `tare parity STUDY` takes them
  [2]
  $ tare parity good --only dockr
  tare: only: unknown environment or workload "dockr"; did you mean "docker"? (known: native, docker, tiny)
  [2]
  $ tare parity good --scale small
  tare: --scale small: good is a run, whose scale is fixed; use --scale with `tare parity STUDY`
  [2]
  $ tare run --resume good
  tare: good was imported, so it cannot be resumed; tare import --into adds results to it
  [2]
  $ tare explain --resume good
  tare: good is a run without a ladder: continue it with `tare run --resume good`
  [2]
  $ tare import --tool ./tiny.yaml --environment native --into good native-1.log
  tare: good: its results are interleaved, and these would not be: use --interleaved for all imports or for none
  [2]
  $ tare import --tool ./tiny.yaml --environment native --into . native-1.log
  tare: . is not a run: it has no manifest.json; `tare ls` lists the runs
  [2]
  $ tare score good --profile karna-2021 --out missing/x
  tare: write the score sheet to missing/x: no such file or directory; choose another file with --out
  [1]
  $ tare rm good
  tare: there is no run good: home/runs/good does not exist; `tare ls runs` lists them
  [2]
  $ tare rm ./good
  tare: "./good" is not the name of a run; tare removes only runs below home/runs, and images by their digest
  [2]

Folders. Each is good with an edit

  $ rm -rf bad && cp -a good bad && cd bad && rm manifest.json
  $ tare report bad --format text >/dev/null
  tare: bad is not a run: it has no manifest.json; `tare ls` lists the runs
  [2]
  $ cp -a good "$(printf 'good: 8 trials, all files are unchanged\nx')"
  $ tare show --verify "$(printf 'good: 8 trials, all files are unchanged\nx')"
  tare: the path of the run good: 8 trials, all files are unchanged\u000ax has a line break: rename the directory
  [2]
  $ tare compare good "$(printf 'good: 8 trials, all files are unchanged\nx')"
  tare: the path of the run good: 8 trials, all files are unchanged\u000ax has a line break: rename the directory
  [2]
  $ tare run quick --out "$(printf 'new\nx')"
  tare: the path of the run new\u000ax has a line break: rename the directory
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && rm journal.jsonl
  $ tare import --tool ./tiny.yaml --environment native --into bad native-1.log
  tare: bad lists 8 results and has 0: an earlier import into it was interrupted; remove the run (tare rm) and import everything again
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && rm plan.json
  $ tare report bad --format text >/dev/null
  tare: bad has no plan.json; the run was changed after it was written: restore it
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && rm journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl is not as it was when the run ended: results may be missing or changed; restore it
  [3]
  $ rm -rf bad && cp -a good bad && cd bad && echo '{}' >plan.json
  $ tare report bad --format text >/dev/null
  tare: bad/plan.json: it has no environments; the run was changed after it was written: restore it
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && echo '{}' >manifest.json
  $ tare report bad --format text >/dev/null
  tare: bad/manifest.json has no format, so bad is not a run; the run was changed after it was written: restore it
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && echo '[]' >manifest.json
  $ tare report bad --format text >/dev/null
  tare: bad/manifest.json: a value of the wrong type (array) at byte 1
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && echo null >plan.json
  $ tare report bad --format text >/dev/null
  tare: bad/plan.json: it has no environments; the run was changed after it was written: restore it
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && : >journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl is not as it was when the run ended: results may be missing or changed; restore it
  [3]
  $ rm -rf bad && cp -a good bad && cd bad && : >manifest.json
  $ tare report bad --format text >/dev/null
  tare: bad/manifest.json: it is not JSON from byte 0 on
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && echo '{' >plan.json
  $ tare report bad --format text >/dev/null
  tare: bad/plan.json: it is not JSON from byte 2 on
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && printf '{"format": 1' >manifest.json
  $ tare report bad --format text >/dev/null
  tare: bad/manifest.json: it is not JSON from byte 12 on
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && head -c 700 journal.jsonl >x; mv x journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl is not as it was when the run ended: results may be missing or changed; restore it
  [3]
  $ rm -rf bad && cp -a good bad && cd bad && head -n 3 journal.jsonl >x; mv x journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl is not as it was when the run ended: results may be missing or changed; restore it
  [3]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i 2d journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl is not as it was when the run ended: results may be missing or changed; restore it
  [3]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i '2s/.*/garbage/' journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl: line 2 is not a trial: it is not JSON from byte 1 on; the file was changed after it was written: restore it, or cut it before that line
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i '2s/.*/{}/' journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl: line 2 is not a trial: its status is "", not ok, failed or skipped; the file was changed after it was written: restore it, or cut it before that line
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i '2p' journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl is not as it was when the run ended: results may be missing or changed; restore it
  [3]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i 's/"status":"ok"/"status":"fine"/' journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl: line 1 is not a trial: its status is "fine", not ok, failed or skipped; the file was changed after it was written: restore it, or cut it before that line
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i '1s/"environment":"[a-z]*"/"environment":"podman"/' journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl: trial 1 is of the environment "podman", which the plan does not have; the run was changed after it was written: restore it
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i '1s/"workload":"tiny"/"workload":"big"/' journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl: trial 1 is of the workload "big", which the plan does not have; the run was changed after it was written: restore it
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i '1s/"block":1/"block":-1/' journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl is not as it was when the run ended: results may be missing or changed; restore it
  [3]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i '1s/"block":1/"block":"x"/' journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl: line 1 is not a trial: block has a value of the wrong type (string) at byte 12; the file was changed after it was written: restore it, or cut it before that line
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i '1s/"value":[0-9]*/"value":1e999/' journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl: line 1 is not a trial: metrics has a value of the wrong type (number 1e999) at byte 211; the file was changed after it was written: restore it, or cut it before that line
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i '1s/"value":[0-9]*/"value":1e308/' journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl: line 1 is not a trial: Metrics: value: 1e+308 is out of range: numbers are 0, or between 1e-150 and 1e+150; the file was changed after it was written: restore it, or cut it before that line
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i '1s/"value":[0-9]*/"value":"x"/' journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl: line 1 is not a trial: metrics has a value of the wrong type (string) at byte 209; the file was changed after it was written: restore it, or cut it before that line
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i '1s/"value":[0-9]*/"value":105/' journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl is not as it was when the run ended: results may be missing or changed; restore it
  [3]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i 's/"format": 1/"format": 99/' manifest.json
  $ tare report bad --format text >/dev/null
  tare: bad has format 99 of the run directory, and this version of tare reads format 1: use the version that wrote it (development)
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i 's/"format": 1/"format": "1"/' manifest.json
  $ tare report bad --format text >/dev/null
  tare: bad/manifest.json: format has a value of the wrong type (string) at byte 17
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i 's/"format": 1/"format": 99/' plan.json
  $ tare report bad --format text >/dev/null
  tare: bad/plan.json: it has format 99, and this version of tare reads format 1; the run was changed after it was written: restore it
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i 's/"baseline": "native"/"baseline": "x"/' plan.json
  $ tare report bad --format text >/dev/null
  tare: bad/plan.json: the baseline "x" is not one of its environments; the run was changed after it was written: restore it
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i 's/"name": "docker"/"name": "native"/' plan.json
  $ tare report bad --format text >/dev/null
  tare: bad/plan.json: two of its environments or workloads have the name "native"; the run was changed after it was written: restore it
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i 's/"levels": \[/"levels": [], "x": [/' plan.json
  $ tare report bad --format text >/dev/null
  tare: bad/plan.json: the workload tiny has no level; the run was changed after it was written: restore it
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i 's/"better": "higher"/"better": "faster"/' plan.json
  $ tare report bad --format text >/dev/null
  tare: bad/plan.json: of the metric value "faster" is better, and not lower or higher; the run was changed after it was written: restore it
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i 's/"created": "[^"]*"/"created": "yesterday"/' manifest.json
  $ tare report bad --format text >/dev/null
  tare: bad/manifest.json: yesterday is not a time such as 2026-11-21T01:45:00Z
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && rm journal.jsonl; mkfifo journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl is not a regular file
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && rm journal.jsonl; mkdir journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl is not a regular file
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && rm journal.jsonl; ln -s /etc/passwd journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl is a link to /etc/passwd, and tare follows none out of a run: replace it by the file
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && rm plan.json; ln -s ../good/plan.json plan.json
  $ tare report bad --format text >/dev/null
  tare: bad/plan.json is a link to ../good/plan.json, and tare follows none out of a run: replace it by the file
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && rm manifest.json; mkfifo manifest.json
  $ tare report bad --format text >/dev/null
  tare: bad/manifest.json is not a regular file
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && truncate -s 100M manifest.json
  $ tare report bad --format text >/dev/null
  tare: bad/manifest.json: it is too long: the limit is 64MiB
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && truncate -s 100M journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl: line 9 is not a trial: it is too long: the limit of a line is 64MiB; the file was changed after it was written: restore it, or cut it before that line
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && head -c 70000000 /dev/zero | tr '\0' x >journal.jsonl
  $ tare report bad --format text >/dev/null
  tare: bad/journal.jsonl: line 1 is not a trial: it is too long: the limit of a line is 64MiB; the file was changed after it was written: restore it, or cut it before that line
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && mkfifo x; rm SHA256SUMS; mv x SHA256SUMS
  $ tare report bad --format text >/dev/null
  tare: bad/SHA256SUMS is not a regular file
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && head -c 100000 /dev/zero | tr '\0' '[' >plan.json
  $ tare report bad --format text >/dev/null
  tare: bad/plan.json: it is not JSON from byte 10001 on
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && printf '\377\376' >manifest.json
  $ tare report bad --format text >/dev/null
  tare: bad/manifest.json: it is not JSON from byte 1 on
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && echo x >>raw/imported/tiny/native/native-1.log
  $ tare show bad --verify
  raw/imported/tiny/native/native-1.log: differs from the output that the journal recorded
  raw/imported/tiny/native/native-1.log: changed since the run ended
  tare: bad was changed; the lines above say where
  [1]
  $ rm -rf bad && cp -a good bad && cd bad && rm -r raw
  $ tare show bad --verify
  raw/imported/tiny/native/native-1.log: differs from the output that the journal recorded
  raw/imported/tiny/native/native-2.log: differs from the output that the journal recorded
  raw/imported/tiny/native/native-3.log: differs from the output that the journal recorded
  raw/imported/tiny/native/native-4.log: differs from the output that the journal recorded
  raw/imported/tiny/docker/docker-1.log: differs from the output that the journal recorded
  raw/imported/tiny/docker/docker-2.log: differs from the output that the journal recorded
  raw/imported/tiny/docker/docker-3.log: differs from the output that the journal recorded
  raw/imported/tiny/docker/docker-4.log: differs from the output that the journal recorded
  raw/imported/tiny/docker/docker-1.log: changed since the run ended
  raw/imported/tiny/docker/docker-2.log: changed since the run ended
  raw/imported/tiny/docker/docker-3.log: changed since the run ended
  raw/imported/tiny/docker/docker-4.log: changed since the run ended
  raw/imported/tiny/native/native-1.log: changed since the run ended
  raw/imported/tiny/native/native-2.log: changed since the run ended
  raw/imported/tiny/native/native-3.log: changed since the run ended
  raw/imported/tiny/native/native-4.log: changed since the run ended
  tare: bad was changed; the lines above say where
  [1]
  $ rm -rf bad && cp -a good bad && cd bad && echo y >SHA256SUMS
  $ tare show bad --verify
  SHA256SUMS: "y" is not a checksum and a name
  tare: bad was changed; the lines above say where
  [1]
  $ rm -rf bad && cp -a good bad && cd bad && rm SHA256SUMS
  $ tare show bad --verify
  SHA256SUMS: missing: the run has not ended
  tare: bad was changed; the lines above say where
  [1]
  $ rm -rf bad && cp -a good bad && cd bad && rm plan.json
  $ tare compare good bad
  tare: bad has no plan.json; the run was changed after it was written: restore it
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && sed -i 's/"name": "tiny"/"name": "other"/' plan.json
  $ tare compare good bad
  tare: bad/journal.jsonl: trial 1 is of the workload "tiny", which the plan does not have; the run was changed after it was written: restore it
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && head -n 3 journal.jsonl >x; mv x journal.jsonl
  $ tare compare good bad >/dev/null
  tare: bad/journal.jsonl is not as it was when the run ended: results may be missing or changed; restore it
  [3]
  $ rm -rf bad && cp -a good bad && cd bad && echo '{}' >plan.json
  $ tare show bad --json
  tare: bad/plan.json: it has no environments; the run was changed after it was written: restore it
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && echo '{}' >plan.json
  $ tare run --resume bad
  tare: bad/plan.json: it has no environments; the run was changed after it was written: restore it
  [2]
  $ rm -rf bad && cp -a good bad && cd bad && head -n 3 journal.jsonl >x; mv x journal.jsonl
  $ tare score bad --profile karna-2021 >/dev/null
  tare: bad/journal.jsonl is not as it was when the run ended: results may be missing or changed; restore it
  [3]
  $ rm -rf bad && cp -a good bad && cd bad && chmod 0 manifest.json; mv manifest.json x; mkdir manifest.json
  $ tare report bad
  tare: bad/manifest.json is not a regular file
  [2]
  $ rm -rf bad && cp -a good bad && echo '{"environments": {}}' >bad/plan.json
  $ tare report bad
  tare: bad/plan.json: environments has a value of the wrong type (object) at byte 18
  [2]
