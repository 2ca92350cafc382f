// The forest plot: one row per environment, with the estimate, its interval and
// the margin.
import { axisX, axisY, dot, gridX, plot, rect, ruleX, ruleY, text } from "@observablehq/plot";
import { change, changeScale, ends, frame, verdictColour, verdictSymbols } from "./scales.js";

export function forest(data, { workload, metric, width }) {
  const w = data.workloads[workload];
  const m = w.metrics[metric];
  const rows = data.contrasts
    .filter((c) => c.w === workload && c.m === metric)
    .map((c) => ({ ...c, environment: data.environments[c.e].shown, level: w.levels[c.l] }));
  if (!rows.length) return [];
  const swept = w.levels.length > 1;
  const wide = width >= 460;
  const marginRight = wide ? 140 : 16;
  const longest = Math.max(...rows.map((r) => r.environment.length));
  const marginLeft = Math.min(180, 16 + longest * 7);
  const x = changeScale(data, rows.flatMap((r) => [r.low, r.high, r.estimate]), width - marginLeft - marginRight);
  const order = data.environments.map((e) => e.shown).filter((e) => rows.some((r) => r.environment === e));
  const levels = swept ? w.levels.filter((l) => rows.some((r) => r.level === l)) : [""];
  const fy = swept ? "level" : undefined;
  const absent = levels.flatMap((level) => order.filter((e) => !rows.some((r) => r.environment === e && (!swept || r.level === level))).map((environment) => ({ environment, level })));
  const end = (v, i) => (v === null ? x.domain[i] : v);
  return [plot({
    ...frame(width, `${w.name}, ${m.title}: change against ${data.environments[data.baseline].shown}`,
      rows.map((r) => `${r.environment} ${r.level ?? ""} ${change(r.estimate)} ${r.verdict}`).join("; ")),
    height: 46 + levels.length * (order.length * 24 + (swept ? 38 : 2)),
    marginLeft, marginRight, marginBottom: 34, marginTop: swept ? 18 : 6,
    x: { ...x, label: null },
    y: { domain: order, label: null, padding: 0.2 },
    fy: { domain: levels, axis: null, padding: 0.32 },
    marks: [
      rect([0], { x1: -data.margin, x2: data.margin, fill: "var(--band)" }),
      gridX(x.ticks, { stroke: "var(--grid)", strokeOpacity: 1 }),
      ruleX([0], { stroke: "var(--ink-soft)" }),
      axisX(x.ticks, { tickFormat: x.tickFormat, tickSize: 4, label: m.better === "lower" ? "← better" : "better →", labelAnchor: m.better === "lower" ? "left" : "right", labelArrow: "none", labelOffset: 32 }),
      axisY({ tickSize: 0, label: null }),
      swept ? text(levels, { fy: (d) => d, text: (d) => d, frameAnchor: "top-left", dx: -marginLeft, dy: -15, fontWeight: 600, fill: "var(--ink)" }) : null,
      ruleY(rows.filter((r) => r.verdict === "no verdict"), { x1: (r) => end(r.low, 0), x2: (r) => end(r.high, 1), y: "environment", fy, stroke: "var(--inconclusive)", strokeDasharray: "2,3" }),
      ruleY(rows.filter((r) => r.verdict !== "no verdict"), { x1: (r) => end(r.low, 0), x2: (r) => end(r.high, 1), y: "environment", fy, stroke: (r) => verdictColour(r.verdict), strokeWidth: 3.5, strokeLinecap: "round", strokeOpacity: 0.55 }),
      dot(rows, { x: "estimate", y: "environment", fy, r: 4.5, fill: (r) => verdictColour(r.verdict), stroke: "var(--paper)", strokeWidth: 1, symbol: (r) => verdictSymbols[r.verdict] ?? "circle",
        title: (r) => `${r.environment}${r.level ? ", " + r.level : ""}\n${change(r.estimate)} ${ends(r.estimate, r.low, r.high)}\n${r.verdict}, ${r.n} blocks`, tip: true }),
      wide ? text(rows, { y: "environment", fy, frameAnchor: "right", textAnchor: "start", dx: 10, fill: "var(--ink-soft)", text: (r) => `${change(r.estimate)} ${r.verdict}` }) : null,
      text(absent, { y: "environment", fy, frameAnchor: wide ? "right" : "left", textAnchor: "start", dx: 10, fill: "var(--ink-soft)", text: () => "n/a" }),
    ],
    color: { type: "identity" },
    symbol: { type: "identity" },
  })];
}
