// Every trial as a point. On the left the measured value, one strip per environment
// with the blocks from top to bottom; on the right the ratio to the baseline in the
// same block or, for unpaired imported results, to the baseline's median.
import { axisX, axisY, dot, gridX, gridY, plot, rect, ruleY, tickX } from "@observablehq/plot";
import { change, changeScale, figure, frame, identities, median, plain, tick } from "./scales.js";

export function trials(data, { workload, metric, level, width }) {
  const w = data.workloads[workload];
  const m = w.metrics[metric];
  const ids = identities(data);
  const rows = data.trials
    .filter((t) => t[2] === workload && t[3] === level && t[4]?.[metric] != null)
    .map((t) => ({ block: t[0], e: t[1], environment: data.environments[t[1]].shown, value: t[4][metric] }));
  if (!rows.length) return [message("No trial has this figure.")];
  const failed = data.trials
    .filter((t) => t[2] === workload && t[3] === level && !t[4])
    .map((t) => ({ block: t[0], environment: data.environments[t[1]].shown }));
  const own = rows.filter((r) => r.e === data.baseline);
  const byBlock = new Map(own.map((r) => [r.block, r.value]));
  const base = data.unpaired ? () => (own.length ? median(own.map((r) => r.value)) : 0) : (r) => byBlock.get(r.block);
  const pairs = rows
    .filter((r) => r.e !== data.baseline && base(r) > 0 && r.value > 0)
    .map((r) => ({ ...r, ratio: Math.log(r.value / base(r)) }));
  const half = width >= 760 ? Math.floor((width - 32) / 2) : width;
  const name = `${w.name}${w.levels[level] ? ", " + w.levels[level] : ""}, ${m.title}`;
  return [absolute(data, { rows, failed, ids, m, name, width: half }), ratios(data, { pairs, ids, name, width: half })];
}

const identity = (ids) => ({ color: { domain: ids.domain, range: ids.colours }, symbol: { domain: ids.domain, range: ids.symbols } });

function absolute(data, { rows, failed, ids, m, name, width }) {
  const order = ids.domain.filter((e) => rows.some((r) => r.environment === e) || failed.some((r) => r.environment === e));
  const values = rows.map((r) => r.value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const log = least > 0 && most / least > 12;
  const blocks = Math.max(...rows.map((r) => r.block), ...failed.map((r) => r.block));
  const medians = order.filter((e) => rows.some((r) => r.environment === e))
    .map((e) => ({ environment: e, value: median(rows.filter((r) => r.environment === e).map((r) => r.value)) }));
  const marginLeft = Math.min(150, 14 + Math.max(...order.map((e) => e.length)) * 7);
  const room = Math.max(2, Math.floor((width - marginLeft) / 78));
  return captioned(`Each trial${m.unit ? ", " + m.unit : ""}; ${m.better} is better`, width, plot({
    ...frame(width, `${name}: each trial by environment`, medians.map((d) => `${d.environment} median ${figure(d.value, m)}`).join("; ")),
    height: 44 + order.length * 62,
    marginLeft, marginRight: 14, marginBottom: 34, marginTop: 4,
    x: { type: log ? "log" : "linear", nice: !log, label: null, insetLeft: 6, insetRight: 6 },
    y: { domain: [0.2, blocks + 0.8], reverse: true, axis: null },
    fy: { domain: order, label: null, padding: 0.12 },
    ...identity(ids),
    marks: [
      gridX({ stroke: "var(--grid)", strokeOpacity: 1, ticks: log ? Math.max(2, width / 130) : room }),
      axisX({ tickSize: 4, label: null, ticks: log ? Math.max(2, width / 130) : room, tickFormat: (v) => tick(v, m) }),
      tickX(medians, { x: "value", fy: "environment", stroke: "environment", strokeWidth: 2 }),
      dot(rows, { x: "value", y: "block", fy: "environment", fill: "environment", symbol: "environment", r: 3, fillOpacity: 0.8,
        title: (r) => `${r.environment}, block ${r.block}\n${figure(r.value, m)}`, tip: true }),
      dot(failed, { frameAnchor: "right", y: "block", fy: "environment", symbol: "times", stroke: "var(--slower)", r: 3.5, title: (r) => `${r.environment}, block ${r.block}: no figure` }),
    ],
  }));
}

function ratios(data, { pairs, ids, name, width }) {
  const against = data.environments[data.baseline].shown;
  const noun = data.unpaired ? "result" : "block";
  if (!pairs.length) return message(`No block has both this figure and that of ${against}.`);
  const shown = ids.domain.filter((e) => pairs.some((p) => p.environment === e));
  const height = Math.max(220, 44 + (shown.length + 1) * 62);
  const y = changeScale(data, pairs.map((p) => p.ratio), height * 1.6);
  return captioned(data.unpaired ? `Each result against the median of ${against}` : `Change against ${against} in the same block`, width, plot({
    ...frame(width, `${name}: change against ${against}, by ${noun}`, shown.map((e) => `${e} median ${change(median(pairs.filter((p) => p.environment === e).map((p) => p.ratio)))}`).join("; ")),
    height, marginLeft: 54, marginRight: 10, marginBottom: 34, marginTop: 8,
    x: { label: null, inset: 8 },
    y: { ...y, label: null },
    color: { domain: shown, range: shown.map((e) => ids.colours[ids.domain.indexOf(e)]) },
    symbol: { domain: shown, range: shown.map((e) => ids.symbols[ids.domain.indexOf(e)]), legend: true },
    marks: [
      rect([0], { y1: -data.margin, y2: data.margin, fill: "var(--band)" }),
      gridY(y.ticks, { stroke: "var(--grid)", strokeOpacity: 1 }),
      ruleY([0], { stroke: "var(--ink-soft)" }),
      axisY(y.ticks, { tickFormat: y.tickFormat, tickSize: 0, label: null }),
      axisX({ tickSize: 4, label: noun, labelArrow: "none", labelAnchor: "center", tickFormat: (v) => (Number.isInteger(v) ? plain(v) : "") }),
      dot(pairs, { x: "block", y: "ratio", fill: "environment", symbol: "environment", r: 3.5,
        title: (r) => `${r.environment}, ${noun} ${r.block}\n${change(r.ratio)}`, tip: true }),
    ],
  }));
}

// A drawing below its caption, no wider than the drawing: a long legend wraps
// instead of pushing the drawing below its neighbour.
export function captioned(words, width, drawing) {
  const box = document.createElement("div");
  box.className = "panel";
  box.style.maxWidth = `${width}px`;
  const caption = document.createElement("p");
  caption.className = "panel-title";
  caption.textContent = words;
  box.append(caption, drawing);
  return box;
}

export function message(words) {
  const p = document.createElement("p");
  p.className = "quiet";
  p.textContent = words;
  return p;
}
