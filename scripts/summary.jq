# Counts the events of `go test -json`. A test with subtests is not counted beside
# them, except where it failed and none of them did. A test that failed and passed
# when it ran again has passed, and is listed. The last line is "exit 1" if the run
# failed.

# .tests has each test by package and name: its package, its parent, its last end and
# whether it failed before. .packages has those that failed while no test of theirs had.
reduce (inputs | select(.Package)) as $e ({tests: {}, failing: {}, packages: {}};
  if $e.Test == null then
    if $e.Action == "fail" and (.failing[$e.Package] // 0) == 0 then .packages[$e.Package] = true else . end
  else
    "\($e.Package) \($e.Test)" as $name
    | if $e.Action == "run" then
        .tests[$name] |= (. // {}) + {package: $e.Package, end: "did not end", parent: ($e.Test | if contains("/") then "\($e.Package) \(.[:rindex("/")])" else null end)}
      elif $e.Action == "output" then
        ($e.Output | capture("^\\s*[\\w.-]+\\.go:\\d+: (?<said>.*)") // null) as $m
        # testscript prints its whole log after the reason.
        | if $m and ((.tests[$name].said // "" | startswith("needs ") | not) or ($m.said | startswith("needs "))) then .tests[$name].said = $m.said else . end
      else
        .tests[$name].end = $e.Action
        | if $e.Action == "fail" then .tests[$name].failed = true | .failing[$e.Package] += 1 else . end
      end
  end)
| .packages as $packages
| .tests as $tests
| ([$tests[] | .parent | select(.)] | unique | map({key: ., value: true}) | from_entries) as $parents
| ([$tests[] | select(.end == "fail" or .end == "did not end") | .parent | select(.)] | map({key: ., value: true}) | from_entries) as $blamed
| [$tests | to_entries[] | {name: .key} + .value] as $all
| [$all[] | select(.end == "skip") | .reason = (.said // "no reason given")] as $skipped
| [$all[] | select(.end == "pass" and ($parents[.name] | not))] as $passed
| [$passed[] | select(.failed)] as $again
| ([$all[] | select((.end == "fail" or .end == "did not end") and ($blamed[.name] | not)) | "\(.name)\(if .end == "fail" then "" else " (did not end)" end)"]
  + [$packages | keys[]]) as $failed
| [$allowed | split("\n")[] | select(test("^\\s*(#|$)") | not)] as $patterns
| ($skipped | group_by(.reason) | map({reason: .[0].reason, names: map(.name), unwanted: (.[0].reason as $r | $strict and ([$patterns[] | . as $p | $r | test($p)] | any | not))})) as $groups
| ([$groups[] | select(.unwanted) | .names | length] | add // 0) as $unwanted
| "",
  (if $groups == [] then empty else "skipped, by reason:" end),
  ($groups[] | "\("    \(.names | length)"[-5:])  \(.reason)\(if .unwanted then "   <- not allowed here" else "" end)", (select(.unwanted or (.reason | test("left out by -short$|^needs the long form") | not)) | .names[] | "         \(.)")),
  (if $unwanted > 0 then "\($unwanted) skipped for reasons that are not allowed on a machine where all can be installed" else empty end),
  (if $again == [] then empty else "", "failed, and passed when they ran again alone: \($again | length)" end),
  ($again[] | "         \(.name): \(.said // "")"),
  (if $failed == [] then empty else "", "failed:" end),
  ($failed[] | "         \(.)"),
  "\($passed | length) passed, \($failed | length) failed, \($skipped | length) skipped",
  (if $failed != [] or $passed == [] or $unwanted > 0 or ($nightly and $again != []) then "exit 1" else empty end)
