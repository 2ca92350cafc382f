// A metric over the run time of the driver, one curve per environment: medians
// over the trials.
import { axisX, axisY, gridY, line, plot } from "@observablehq/plot";
import { frame, identities, plain } from "./scales.js";

export function series(data, { workload, metric, level, width }) {
  const ids = identities(data);
  const curves = data.series.filter((s) => s.w === workload && s.l === level && s.name === metric);
  const points = curves.flatMap((s) => s.points.map(([x, y]) => ({ x, y, environment: data.environments[s.e].shown })));
  if (!points.length) return [];
  const present = ids.domain.filter((e) => points.some((p) => p.environment === e));
  return [plot({
    ...frame(width, `${data.workloads[workload].name}: ${metric} over time`, present.join(", ")),
    height: 260, marginLeft: 58, marginRight: 14, marginBottom: 40, marginTop: 8,
    x: { label: null },
    y: { label: null, zero: true, nice: true },
    color: { domain: present, range: present.map((e) => ids.colours[ids.domain.indexOf(e)]), legend: true },
    marks: [
      gridY({ stroke: "var(--grid)", strokeOpacity: 1, ticks: 5 }),
      axisY({ tickSize: 0, ticks: 5, label: null, tickFormat: plain }),
      axisX({ tickSize: 4, label: "seconds of the driver", labelAnchor: "center", labelArrow: "none" }),
      line(points, { x: "x", y: "y", stroke: "environment", strokeWidth: 1.8, title: (p) => `${p.environment}\n${plain(p.x)} s: ${plain(p.y)}`, tip: true }),
    ],
  })];
}
