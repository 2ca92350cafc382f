Profiles. Each is good.yaml with an edit.

  $ cat >good.yaml <<E
  > profile: mine
  > importance: {high: 2, low: 1}
  > features:
  >   - {name: Value, group: all, importance: high, workload: tiny, metric: value, at_least: [60%, 80%], minimum: 1}
  > E
  $ sed 's/profile:/profil:/' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:1:1: unknown key "profil"; did you mean "profile"? (known: profile, about, importance, total, features)
  bad.yaml:1:1: the profile has no title: profile: what it is for
  [2]
  $ sed 's/^profile.*//' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:2:1: the profile has no title: profile: what it is for
  [2]
  $ sed 's/high: 2/high: -2/' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:2:20: high: a weight is a number of at least 0
  [2]
  $ sed 's/high: 2/high: heavy/' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:2:20: expected a number, found "heavy"
  [2]
  $ sed 's/importance: high/importance: highest/' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:4:43: unknown importance "highest"; known: high, low
  [2]
  $ sed 's/name: Value, //' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:4:5: the feature has no name
  [2]
  $ sed 's/workload: tiny, //' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:4:5: the feature has no workload
  [2]
  $ sed 's/metric: value, //' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:4:5: the feature has no metric
  [2]
  $ sed 's/, at_least: [^]]*]//' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:4:5: give the thresholds of scores 1, 2, 3 ... as one list: at_least: [60%, 80%] where more is better, at_most: [140%, 120%] where less is
  [2]
  $ sed 's/60%, 80%/80%, 60%/' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:4:96: 60% after 80%: the thresholds must rise, since each is that of the next score
  [2]
  $ sed 's/60%, 80%/60%, 60%/' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:4:96: 60% after 60%: the thresholds must rise, since each is that of the next score
  [2]
  $ sed 's/60%, 80%//' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:4:5: give the thresholds of scores 1, 2, 3 ... as one list: at_least: [60%, 80%] where more is better, at_most: [140%, 120%] where less is
  [2]
  $ sed 's/60%, 80%/a, b/' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:4:91: "a" is not a share: write a percentage such as 2%, or a number such as 0.02
  bad.yaml:4:91: a threshold is a share of the baseline above 0%
  bad.yaml:4:94: "b" is not a share: write a percentage such as 2%, or a number such as 0.02
  bad.yaml:4:94: a threshold is a share of the baseline above 0%
  bad.yaml:4:94: 0% after 0%: the thresholds must rise, since each is that of the next score
  [2]
  $ sed 's/at_least/at_most/' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:4:95: 80% after 60%: the thresholds must fall, since each is that of the next score
  [2]
  $ sed 's/at_least: /at_most: [2, 1], at_least: /' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:4:5: give the thresholds of scores 1, 2, 3 ... as one list: at_least: [60%, 80%] where more is better, at_most: [140%, 120%] where less is
  [2]
  $ sed 's/minimum: 1/minimum: 3/' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:4:111: the minimum is a score from 1 to 2
  [2]
  $ sed 's/minimum: 1/minimum: -1/' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:4:111: the minimum is a score from 1 to 2
  [2]
  $ sed 's/minimum: 1/weight: -1/' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:4:110: a weight is a number of at least 0
  [2]
  $ sed 's/minimum: 1/combine: median/' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:4:111: unknown way to combine levels "median"; did you mean "mean"? (known: mean, geometric, worst)
  [2]
  $ sed 's/^features:/features: []\nx:/' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:3:11: the profile has no features
  bad.yaml:4:1: unknown key "x"; known: profile, about, importance, total, features
  [2]
  $ sed 's/^  - .*/  - {}/' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:4:5: the feature has no name
  bad.yaml:4:5: the feature has no workload
  bad.yaml:4:5: the feature has no metric
  bad.yaml:4:5: give the thresholds of scores 1, 2, 3 ... as one list: at_least: [60%, 80%] where more is better, at_most: [140%, 120%] where less is
  [2]
  $ sed 's/^  - .*/&\n&/' good.yaml >bad.yaml
  $ tare score a-run --profile bad.yaml
  tare: bad.yaml:5:12: duplicate feature "Value"
  [2]

Which profile

  $ tare score a-run
  tare: --profile is missing: name a built-in profile (karna-2021) or a file
  [2]
  $ tare score
  tare: an argument is missing; usage: tare score RUN --profile NAME|FILE [flags]
  [2]
  $ tare score a-run --profile nothing
  tare: unknown profile "nothing"; known: karna-2021; to use a file, give its path, such as ./profile.yaml
  [2]
  $ tare score a-run --profile ./missing.yaml
  tare: profile ./missing.yaml: no such file or directory; the built-in profiles are karna-2021
  [2]
  $ tare score a-run --profile good.yaml --format docx
  tare: --format docx is not known: choose one of html, md, text
  [2]
  $ tare score a-run b-run --profile good.yaml
  tare: too many arguments; usage: tare score RUN --profile NAME|FILE [flags]
  [2]
  $ tare score '' --profile good.yaml
  tare: argument 1 is empty; usage: tare score RUN --profile NAME|FILE [flags]
  [2]
