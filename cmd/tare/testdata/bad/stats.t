Tables for tare stats.

Flags

  $ printf 'block,environment,value\n1,a,1\n1,b,2\n' >good.csv
  $ tare stats good.csv
  tare: --baseline is missing: name the environment that the others are compared with
  [2]
  $ tare stats good.csv --baseline c
  tare: good.csv has no environment "c" to compare with: it has a, b
  [2]
  $ tare stats good.csv --baseline ""
  tare: --baseline is empty: give it a value, or leave it out
  [2]
  $ tare stats good.csv --baseline a --better faster
  tare: --better: "faster" is neither lower nor higher
  [2]
  $ tare stats good.csv --baseline a --margin 0
  tare: --margin: 0% is not between 0% and 100%
  [2]
  $ tare stats good.csv --baseline a --margin 2
  tare: --margin: 200% is not between 0% and 100%
  [2]
  $ tare stats good.csv --baseline a --margin NaN
  tare: --margin: "NaN" is not a share: write a percentage such as 2%, or a number such as 0.02
  [2]
  $ tare stats good.csv --baseline a --margin -2%
  tare: --margin: -2% is not between 0% and 100%
  [2]
  $ tare stats good.csv --baseline a --blocks-fixed=3
  tare: --blocks-fixed 3: must be true or false (`tare stats --help` lists the flags)
  [2]
  $ tare stats good.csv good.csv --baseline a
  tare: good.csv is named twice: a measurement counts only once
  [2]
  $ tare stats --baseline a
  tare: an argument is missing; usage: tare stats FILE... --baseline NAME [flags]
  [2]
  $ tare stats missing.csv --baseline a
  tare: missing.csv: no such file or directory
  [2]
  $ tare stats . --baseline a
  tare: .: is a directory
  [2]
  $ tare stats "" --baseline a
  tare: argument 1 is empty; usage: tare stats FILE... --baseline NAME [flags]
  [2]
  $ tare stats /dev/null --baseline a
  tare: /dev/null is empty: its first line must name the columns, such as block,environment,value
  [2]
  $ mkfifo pipe.csv
  $ tare stats pipe.csv --baseline a
  tare: pipe.csv: it is a pipe that nobody writes to
  [2]
  $ printf '' | tare stats - --baseline a
  tare: standard input is empty: its first line must name the columns, such as block,environment,value
  [2]
  $ printf 'x' | tare stats - --baseline a
  tare: standard input:1: there is no column value: the first line must name environment and value, best with block, and may name workload, metric, level and round; it names "x"; say which columns are meant, as in --value COLUMN
  [2]

Tables

  $ printf '' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv is empty: its first line must name the columns, such as block,environment,value
  [2]
  $ printf 'block,environment,value\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv has a header and no rows
  [2]
  $ printf 'environment,value,value\na,1,2\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:1: duplicate column value
  [2]
  $ printf 'environment\na\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:1: there is no column value: the first line must name environment and value, best with block, and may name workload, metric, level and round; it names "environment"; say which columns are meant, as in --value COLUMN
  [2]
  $ printf 'value,block\n1,2\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:1: there is no column environment: the first line must name environment and value, best with block, and may name workload, metric, level and round; it names "value, block"; say which columns are meant, as in --environment COLUMN
  [2]
  $ printf 'block,environment,valeu\n1,a,1\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:1: there is no column value: the first line must name environment and value, best with block, and may name workload, metric, level and round; it names "block, environment, valeu"; say which columns are meant, as in --value COLUMN
  [2]
  $ printf '1,a,1\n1,b,2\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:1: there is no column value: the first line is "1, a, 1"; if it has values already, add --no-header, and say which columns are meant by their numbers, as in --value 1
  [2]
  $ printf 'block;environment;value\n1;a;1\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv has only the baseline "a": there is nothing to compare
  [2]
  $ printf 'block\tenvironment\tvalue\n1\ta\t1\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv has only the baseline "a": there is nothing to compare
  [2]
  $ printf 'round,environment,value\n1,a,1\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:1: there is a column round and no column block: rounds are those of a block
  [2]
  $ printf 'block,environment,value\n1,a,fast\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:2:5: "fast" is not a number: the column has one finite number per row, without its unit
  [2]
  $ printf 'block,environment,value\n1,a,\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:2:5: "" is not a number: the column has one finite number per row, without its unit
  [2]
  $ printf 'block,environment,value\n1,a,NaN\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:2:5: "NaN" is not a number: a value is one finite number
  [2]
  $ printf 'block,environment,value\n1,a,Inf\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:2:5: "Inf" is not a number: a value is one finite number
  [2]
  $ printf 'block,environment,value\n1,a,"1,5"\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:2:5: "1,5" is not a number: if its comma is a decimal one, add --decimal-comma; separators of thousands are not read
  [2]
  $ printf 'block,environment,value\n1,a,1e308\n1,b,1e-308\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:2:5: "1e308" is out of range: values are 0, or between 1e-150 and 1e+150
  [2]
  $ printf 'block,environment,value\n1,,1\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:2:3: the environment is empty: each row needs one
  [2]
  $ printf 'block,environment,value\n,a,1\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:2:1: the block is empty: each row needs one, or leave the column out
  [2]
  $ printf 'block,environment,value\n1,a\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:2:1: the row has more or fewer fields than the header
  [2]
  $ printf 'block,environment,value\n1,a,1,2\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:2:1: the row has more or fewer fields than the header
  [2]
  $ printf 'block,environment,value\n1,"a,1\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:2:8: a quoted field is not closed, or goes on after its quote
  [2]
  $ printf 'block,environment,value\n1,a"b,1\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:2:4: a field with a quote must be quoted, and the quote written twice: "a""b"
  [2]
  $ printf 'block,round,environment,value\n1,,a,1\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:2:3: the round is empty: each row needs one, or leave the column out
  [2]
  $ printf 'block,round,environment,value\n1,1,a,1\n1,1,a,2\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:3:7: a second value of a in round 1 of block 1: a round has one sample of each environment
  [2]
  $ printf 'block,environment,value\n1,a,1\n2,a,2\n' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv has only the baseline "a": there is nothing to compare
  [2]
  $ printf '\000\001\002' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv: it has bytes of 0: is it UTF-16? Save it as UTF-8
  [2]
  $ printf '\037\213\010\000' >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv: it has bytes of 0: is it UTF-16? Save it as UTF-8
  [2]
  $ { printf 'block,environment,value\n1,a,1\n1,'; head -c 5000000 /dev/zero | tr '\0' n; printf ',2\n'; } >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:3: the field "nnnnnnnnnnnnnnnnnnnn"… has 5000000 bytes: at most 200 are allowed
  [2]
  $ { head -c 5000000 /dev/zero | tr '\0' n; printf ',value\n'; } >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:1: there is no column environment: the first line must name environment and value, best with block, and may name workload, metric, level and round; it names "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"… (5000007 bytes); say which columns are meant, as in --environment COLUMN
  [2]
  $ { printf 'environment,value\na,'; head -c 70000000 /dev/zero | tr '\0' 1; } >bad.csv
  $ tare stats bad.csv --baseline a
  tare: bad.csv:2:3: "1111111111111111111111111111111111111111" is not a number: a value is one finite number
  [2]
