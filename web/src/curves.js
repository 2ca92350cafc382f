// A swept workload over its levels: the measured values, and the change vs the
// baseline with its interval as a band.
import { areaY, axisX, axisY, dot, gridY, line, plot, rect, ruleY } from "@observablehq/plot";
import { change, changeScale, figure, frame, identities, median, tick } from "./scales.js";
import { captioned } from "./trials.js";

export function curves(data, { workload, metric, width }) {
  const w = data.workloads[workload];
  const m = w.metrics[metric];
  const ids = identities(data);
  const axis = levelAxis(w.levels);
  const half = width >= 760 ? Math.floor((width - 32) / 2) : width;
  const against = data.environments[data.baseline].shown;

  const points = data.trials
    .filter((t) => t[2] === workload && t[4]?.[metric] != null)
    .map((t) => ({ x: axis.at(t[3]), environment: data.environments[t[1]].shown, value: t[4][metric] }));
  const groups = new Map();
  for (const p of points) {
    const key = p.environment + "\u0000" + p.x;
    if (!groups.has(key)) groups.set(key, { x: p.x, environment: p.environment, values: [] });
    groups.get(key).values.push(p.value);
  }
  const medians = [...groups.values()].map((g) => ({ ...g, value: median(g.values) })).sort((a, b) => axis.compare(a.x, b.x));
  const bands = data.contrasts
    .filter((c) => c.w === workload && c.m === metric)
    .map((c) => ({ ...c, x: axis.at(c.l), environment: data.environments[c.e].shown }))
    .sort((a, b) => axis.compare(a.x, b.x));
  const present = ids.domain.filter((e) => medians.some((d) => d.environment === e));
  const compared = present.filter((e) => bands.some((b) => b.environment === e));
  const colour = (names) => ({ domain: names, range: names.map((e) => ids.colours[ids.domain.indexOf(e)]) });
  const symbol = (names) => ({ domain: names, range: names.map((e) => ids.symbols[ids.domain.indexOf(e)]), legend: true });
  const common = { height: 290, marginLeft: 58, marginRight: 14, marginBottom: 40, marginTop: 8, x: { ...axis.scale, label: null } };
  const xAxis = axisX(axis.ticks, { tickSize: 4, label: axis.label, labelAnchor: "center", labelArrow: "none", tickFormat: axis.format });

  const y = changeScale(data, bands.flatMap((b) => [b.low, b.high, b.estimate]), 420);
  const end = (v, i) => (v === null ? y.domain[i] : v);
  const drawings = [captioned(`Median${m.unit ? ", " + m.unit : ""}, with each trial; ${m.better} is better`, half, plot({
    ...frame(half, `${w.name}, ${m.title}: median by ${axis.label ?? "level"}`, present.join(", ")),
    ...common,
    y: { label: null, zero: true, nice: true },
    color: colour(present), symbol: symbol(present),
    marks: [
      gridY({ stroke: "var(--grid)", strokeOpacity: 1, ticks: 5 }),
      axisY({ tickSize: 0, ticks: 5, label: null, tickFormat: (v) => tick(v, m) }),
      xAxis,
      dot(points, { x: "x", y: "value", fill: "environment", r: 1.6, fillOpacity: 0.45 }),
      line(medians, { x: "x", y: "value", stroke: "environment", strokeWidth: 1.8 }),
      dot(medians, { x: "x", y: "value", fill: "environment", symbol: "environment", r: 4, title: (d) => `${d.environment}, ${axis.name(d.x)}\nmedian ${figure(d.value, m)}`, tip: true }),
    ],
  }))];
  if (bands.length) {
    drawings.push(captioned(`Change against ${against}, with its interval`, half, plot({
      ...frame(half, `${w.name}, ${m.title}: change against ${against} by ${axis.label ?? "level"}`, bands.map((b) => `${b.environment} ${axis.name(b.x)} ${change(b.estimate)}`).join("; ")),
      ...common,
      y: { ...y, label: null },
      color: colour(compared), symbol: symbol(compared),
      marks: [
        rect([0], { y1: -data.margin, y2: data.margin, fill: "var(--band)" }),
        gridY(y.ticks, { stroke: "var(--grid)", strokeOpacity: 1 }),
        ruleY([0], { stroke: "var(--ink-soft)" }),
        axisY(y.ticks, { tickFormat: y.tickFormat, tickSize: 0, label: null }),
        xAxis,
        areaY(bands, { x: "x", y1: (b) => end(b.low, 0), y2: (b) => end(b.high, 1), fill: "environment", fillOpacity: 0.18 }),
        line(bands, { x: "x", y: "estimate", stroke: "environment", strokeWidth: 1.8 }),
        dot(bands, { x: "x", y: "estimate", fill: "environment", symbol: "environment", r: 4, title: (b) => `${b.environment}, ${axis.name(b.x)}\n${change(b.estimate)}\n${b.verdict}`, tip: true }),
      ],
    })));
  }
  return drawings;
}

// Levels of one numeric parameter are placed at their number, all others side by
// side in the study's order.
function levelAxis(levels) {
  const parts = levels.map((l) => l.match(/^([^=,]+)=(-?[0-9]+(?:\.[0-9]+)?)$/));
  const one = parts.every(Boolean) && new Set(parts.map((p) => p[1])).size === 1;
  if (!one) {
    return {
      scale: { type: "point", domain: levels }, ticks: levels, format: (v) => v, label: null,
      at: (i) => levels[i], name: (v) => v, compare: (a, b) => levels.indexOf(a) - levels.indexOf(b),
    };
  }
  const numbers = parts.map((p) => Number(p[2]));
  const log = Math.min(...numbers) > 0 && Math.max(...numbers) / Math.min(...numbers) >= 8;
  // Logarithms are taken here, so that every level keeps its own tick.
  const places = log ? numbers.map(Math.log) : numbers;
  const name = (v) => parts[places.indexOf(v)]?.[2] ?? "";
  return {
    scale: { type: "linear", inset: 8 }, ticks: places, format: name, label: parts[0][1],
    at: (i) => places[i], name: (v) => `${parts[0][1]}=${name(v)}`, compare: (a, b) => a - b,
  };
}
