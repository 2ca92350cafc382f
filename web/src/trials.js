// Every trial as a point. On the left the measured value, one strip per environment
// with the blocks from top to bottom; on the right the difference from the baseline in
// each block or, for unpaired imported results, from the baseline's median, with the
// estimate that comes of them. A click on a point leads to its trial in the list.
import { axisFy, axisX, axisY, dot, gridX, gridY, plot, rect, ruleX, ruleY, tickX } from "@observablehq/plot";
import { change, changeScale, figure, frame, identities, median, plain, tick } from "./scales.js";

export function trials(data, { workload, metric, level, width }) {
  const w = data.workloads[workload];
  const m = w.metrics[metric];
  const ids = identities(data);
  const all = data.trials
    .map((t, i) => ({ trial: i + 1, block: t[0], e: t[1], w: t[2], l: t[3], values: t[4] }))
    .filter((t) => t.w === workload && t.l === level)
    .map((t) => ({ ...t, environment: data.environments[t.e].shown, value: t.values?.[metric] }));
  const rows = all.filter((t) => t.value != null);
  if (!rows.length) return [message("No trial has this figure.")];
  const failed = all.filter((t) => !t.values);
  const own = rows.filter((r) => r.e === data.baseline);
  const byBlock = new Map(own.map((r) => [r.block, r.value]));
  const base = data.unpaired ? () => (own.length ? median(own.map((r) => r.value)) : 0) : (r) => byBlock.get(r.block);
  const given = (data.pairs ?? []).filter((p) => p.w === workload && p.l === level && p.m === metric);
  const byPlace = new Map(rows.map((r) => [`${r.e} ${r.block}`, r]));
  const pairs = given.length
    ? given.flatMap((p) => p.blocks.map(([block, ratio]) => ({ ...byPlace.get(`${p.e} ${block}`), block, e: p.e, environment: data.environments[p.e].shown, ratio })))
    : rows.filter((r) => r.e !== data.baseline && base(r) > 0 && r.value > 0).map((r) => ({ ...r, ratio: Math.log(r.value / base(r)) }));
  const estimates = data.contrasts
    .filter((c) => c.w === workload && c.l === level && c.m === metric)
    .map((c) => ({ ...c, environment: data.environments[c.e].shown }));
  const half = width >= 640 ? Math.floor((width - 32) / 2) : width;
  const name = `${w.name}${w.levels[level] ? ", " + w.levels[level] : ""}, ${m.title}`;
  return [absolute(data, { rows, failed, ids, m, name, width: half }), differences(data, { pairs, estimates, ids, name, width: half })];
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
  return captioned(`Each trial${m.unit ? ", " + m.unit : ""}; ${m.better} is better`, width, leading(plot({
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
  })));
}

function differences(data, { pairs, estimates, ids, name, width }) {
  const against = data.environments[data.baseline].shown;
  const noun = data.unpaired ? "result" : "block";
  if (!pairs.length) return message(`No block has both this figure and that of ${against}.`);
  const shown = ids.domain.filter((e) => pairs.some((p) => p.environment === e));
  const marginLeft = Math.min(150, 14 + Math.max(...shown.map((e) => e.length)) * 7);
  const blocks = pairs.map((p) => p.block);
  const x = { domain: [Math.min(...blocks), Math.max(...blocks)], label: null, inset: 8 };
  const column = document.createElement("div");
  // Each has a scale of its own, so that one far away does not press the others flat.
  column.append(...shown.map((environment, i) => {
    const own = pairs.filter((p) => p.environment === environment);
    const c = estimates.filter((c) => c.environment === environment);
    const y = changeScale(data, [...own.map((p) => p.ratio), ...c.flatMap((c) => [c.estimate, c.low, c.high])], 90);
    const last = i === shown.length - 1;
    const k = ids.domain.indexOf(environment);
    const colour = ids.colours[k];
    return leading(plot({
      ...frame(width, `${name}: ${environment}, difference from ${against} by ${noun}`, `median ${change(median(own.map((p) => p.ratio)))}`),
      height: last ? 114 : 80,
      marginLeft, marginRight: 58, marginBottom: last ? 38 : 4, marginTop: 4,
      x, y: { ...y, label: null },
      fy: { domain: [environment], label: null },
      symbol: { type: "identity" },
      marks: [
        rect([0], { y1: -data.margin, y2: data.margin, fill: "var(--band)" }),
        gridY(y.ticks, { stroke: "var(--grid)", strokeOpacity: 1 }),
        ruleY([0], { stroke: "var(--ink-soft)" }),
        axisFy({ anchor: "left", tickSize: 0, label: null }),
        axisY(y.ticks, { anchor: "right", tickFormat: y.tickFormat, tickSize: 0, label: null }),
        last ? axisX({ tickSize: 4, label: noun, labelArrow: "none", labelAnchor: "center", tickFormat: (v) => (Number.isInteger(v) ? plain(v) : "") }) : axisX({ ticks: [], tickSize: 0, label: null }),
        rect(c.filter((c) => c.verdict !== "no verdict"), { y1: (c) => c.low ?? y.domain[0], y2: (c) => c.high ?? y.domain[1], fill: colour, fillOpacity: 0.14 }),
        ruleY(c, { y: "estimate", stroke: colour, strokeWidth: 1.5 }),
        ruleX(own, { x: "block", y1: 0, y2: "ratio", stroke: colour, strokeOpacity: own.length > 60 ? 0.15 : 0.45 }),
        dot(own, { x: "block", y: "ratio", fy: "environment", fill: colour, symbol: () => ids.symbols[k], r: 3,
          title: (r) => `${r.environment}, ${noun} ${r.block}\n${change(r.ratio)}`, tip: true }),
      ],
    }));
  }));
  return captioned(data.unpaired ? `Each result against the median of ${against}` : `Difference from ${against} in each block; the line is the estimate, with its interval`, width, column);
}

// A click on a point leads to its trial in the list.
function leading(drawing) {
  drawing.addEventListener("click", () => {
    if (drawing.value?.trial) location.hash = `t${drawing.value.trial}`;
  });
  return drawing;
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
