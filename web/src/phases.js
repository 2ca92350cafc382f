// The start of an instance, one bar per environment: mean time in each phase.
import { axisX, axisY, barX, gridX, plot } from "@observablehq/plot";
import { figure, frame, tick } from "./scales.js";

export function phases(data, { width }) {
  const time = data.time;
  const rows = data.phases.flatMap((p) => p.parts.map((part) => ({ environment: data.environments[p.e].shown, phase: part[0], value: part[1] })));
  if (!rows.length) return [];
  const order = [...new Set(rows.map((r) => r.environment))];
  const names = data.phaseNames;
  const longest = Math.max(...order.map((e) => e.length));
  return [plot({
    ...frame(width, "Mean time to ready by phase", rows.map((r) => `${r.environment} ${r.phase} ${figure(r.value, time)}`).join("; ")),
    height: 40 + order.length * 34,
    marginLeft: Math.min(180, 16 + longest * 7), marginRight: 16, marginBottom: 30, marginTop: 4,
    x: { label: null, nice: true },
    y: { domain: order, label: null, padding: 0.25 },
    color: { domain: names, range: names.map((_, i) => `var(--phase-${i % 5})`), legend: true },
    marks: [
      gridX({ stroke: "var(--grid)", strokeOpacity: 1, ticks: width / 90 }),
      axisX({ tickSize: 4, ticks: width / 90, label: null, tickFormat: (v) => tick(v, time) }),
      axisY({ tickSize: 0, label: null }),
      barX(rows, { x: "value", y: "environment", fill: "phase", insetRight: 1, title: (r) => `${r.environment}\n${r.phase}: ${figure(r.value, time)}`, tip: true }),
    ],
  })];
}
