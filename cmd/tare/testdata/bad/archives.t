Run archives: what is refused before anything is read or started.

  $ tare pack a-run
  tare: there is no run a-run: neither a directory of that name nor home/runs/a-run exists; `tare ls` lists the runs
  [2]
  $ tare pack ./a-run --out here.tare
  tare: there is no run ./a-run: no directory has that name; `tare ls` lists the runs
  [2]
  $ tare pack
  tare: an argument is missing; usage: tare pack RUN [flags]
  [2]
  $ tare rerun a-run
  tare: there is no run a-run: neither a directory of that name nor home/runs/a-run exists; `tare ls` lists the runs
  [2]
  $ printf '\050\265\057\375nothing more' >bad.tare
  $ tare report bad.tare --format text
  tare: unpack bad.tare: it is not a run archive: reserved bit set on frame header
  [2]
  $ tare rerun bad.tare
  tare: unpack bad.tare: it is not a run archive: reserved bit set on frame header
  [2]
  $ tare rerun none.tare
  tare: there is no run none.tare: neither a directory of that name nor home/runs/none.tare exists; `tare ls` lists the runs
  [2]
  $ : >empty.tare
  $ tare rerun empty.tare
  tare: empty.tare is neither a run nor a run archive: it is neither compressed with zstd nor a zip
  [2]
