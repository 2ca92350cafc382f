// The percentiles of a distribution, one curve per environment: medians over the
// trials, with each trial as a small dot. The further right, the rarer; the largest
// value has no place on such an axis, and is in the table.
import { axisX, axisY, dot, gridX, gridY, line, plot } from "@observablehq/plot";
import { figure, frame, identities, median, tick } from "./scales.js";
import { message } from "./trials.js";

export function percentiles(data, { workload, metric, level, width }) {
  const w = data.workloads[workload];
  const d = w.distributions[metric];
  const ids = identities(data);
  const ranks = d.percentiles.map((p, k) => ({ p, m: d.metrics[k], x: 100 / (100 - p) })).filter((r) => r.p < 100);
  const points = data.trials.flatMap((t, i) => (t[2] === workload && t[3] === level && t[4]
    ? ranks.filter((r) => t[4][r.m] != null).map((r) => ({ ...r, trial: i + 1, block: t[0], y: t[4][r.m], environment: data.environments[t[1]].shown })) : []));
  if (!points.length) return [message("No trial has these figures.")];
  const m = w.metrics[ranks[0].m];
  const present = ids.domain.filter((e) => points.some((p) => p.environment === e));
  const medians = present.flatMap((environment) => ranks
    .map((r) => ({ ...r, environment, y: points.filter((p) => p.environment === environment && p.m === r.m).map((p) => p.y) }))
    .filter((r) => r.y.length)
    .map((r) => ({ ...r, y: median(r.y) })));
  const values = points.map((p) => p.y);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const log = least > 0 && most / least > 12;
  const of = { domain: present, range: present.map((e) => ids.colours[ids.domain.indexOf(e)]) };
  const name = (p) => (p === 0 ? "least" : `p${p}`);
  return [plot({
    ...frame(width, `${w.name}${w.levels[level] ? ", " + w.levels[level] : ""}: percentiles of ${d.name}`, medians.map((r) => `${r.environment} ${name(r.p)} ${figure(r.y, m)}`).join("; ")),
    height: 280, marginLeft: 64, marginRight: 20, marginBottom: 34, marginTop: 8,
    x: { type: "log", label: null, inset: 14, domain: [ranks[0].x, ranks[ranks.length - 1].x * (ranks.length === 1 ? 1.01 : 1)] },
    y: { type: log ? "log" : "linear", zero: !log, nice: !log, label: null },
    color: { ...of, legend: true },
    symbol: { domain: present, range: present.map((e) => ids.symbols[ids.domain.indexOf(e)]) },
    marks: [
      gridX(ranks.map((r) => r.x), { stroke: "var(--grid)", strokeOpacity: 1 }),
      gridY({ stroke: "var(--grid)", strokeOpacity: 1, ticks: 5 }),
      axisX(ranks.map((r) => r.x), { tickSize: 4, label: null, tickFormat: (x) => name(ranks.find((r) => r.x === x)?.p) }),
      axisY({ tickSize: 0, ticks: 5, label: null, tickFormat: (v) => tick(v, m) }),
      dot(points, { x: "x", y: "y", fill: "environment", r: 1.6, fillOpacity: 0.35 }),
      line(medians, { x: "x", y: "y", stroke: "environment", strokeWidth: 1.8 }),
      dot(medians, { x: "x", y: "y", fill: "environment", symbol: "environment", r: 4, stroke: "var(--paper)", strokeWidth: 1,
        title: (r) => `${r.environment}, ${name(r.p)}\n${figure(r.y, m)}`, tip: true }),
    ],
  })];
}
