// Scales, colours and labels that all charts share.

// Only filled symbols: a cross of strokes marks a failed trial.
export const symbols = ["circle", "square", "triangle", "diamond", "star", "wye", "cross"];
export const verdictSymbols = { slower: "circle", faster: "triangle", equivalent: "square", inconclusive: "diamond" };

export const colourOf = (i) => (i === 0 ? "var(--env-0)" : `var(--env-${((i - 1) % 6) + 1})`);
export const verdictColour = (verdict) => `var(--${verdict === "no verdict" ? "inconclusive" : verdict})`;

// Environments with the baseline first, so that it has the neutral colour in
// every chart.
export function identities(data) {
  const rest = data.environments.map((_, i) => i).filter((i) => i !== data.baseline);
  const places = [data.baseline, ...rest];
  return {
    domain: places.map((i) => data.environments[i].shown),
    colours: places.map((_, k) => colourOf(k)),
    symbols: places.map((_, k) => symbols[k % symbols.length]),
  };
}

// Changes use a scale that is linear near zero, where the margin is, and
// logarithmic further out, so that 3% and a factor of 40 fit on one axis.
export function changeScale(data, values, width) {
  const constant = 5 * data.margin;
  const reach = Math.max(3 * data.margin, ...values.filter(Number.isFinite).map(Math.abs));
  const low = Math.min(-2 * data.margin, ...values.filter(Number.isFinite)) - reach * 0.04;
  const high = Math.max(2 * data.margin, ...values.filter(Number.isFinite)) + reach * 0.04;
  return { type: "symlog", constant, domain: [low, high], ticks: changeTicks(low, high, constant, width), tickFormat: tickChange };
}

const ratios = [1, 0.5, 2, 0.1, 10, 0.9, 1.1, 0.2, 5, 0.01, 100, 0.8, 1.2, 0.95, 1.05, 1.02, 0.98, 0.02, 50, 0.05, 20, 1.5, 3, 0.7, 0.001, 1000];

// Ticks by priority; a tick that would overlap an earlier one is left out.
function changeTicks(low, high, constant, width) {
  const bend = (d) => Math.sign(d) * Math.log1p(Math.abs(d) / constant);
  const pixel = (d) => ((bend(d) - bend(low)) / (bend(high) - bend(low))) * width;
  const kept = [];
  for (const d of ratios.map(Math.log)) {
    if (d < low || d > high) continue;
    if (kept.every((k) => Math.abs(pixel(k) - pixel(d)) >= 46)) kept.push(d);
  }
  return kept.sort((a, b) => a - b);
}

const factorFrom = 1.995;
export const change = (d) => changeTo(d, 1);
const tickChange = (d) => changeTo(d, 0);

// An interval has the form of its change, as in the tables.
export function ends(estimate, low, high) {
  const factor = Math.exp(estimate) >= factorFrom;
  const end = (d) => (d === null ? "unbounded" : changeTo(d, 1, factor));
  return `[${end(low)}, ${end(high)}]`;
}

function changeTo(d, places, factor = Math.exp(d) >= factorFrom) {
  const ratio = Math.exp(d);
  if (factor) return "×" + (places ? times(ratio) : plain(ratio));
  const p = (ratio - 1) * 100;
  const text = p.toFixed(places);
  if (Number(text) === 0) return places ? "0.0%" : "0%";
  return (p > 0 ? "+" : "") + text.replace("-", "−") + "%";
}

// Three significant digits, two places below one, or all of the whole part, as the tables have them.
const times = (ratio) => (ratio < 1 ? ratio.toFixed(2) : ratio < 999.5 ? ratio.toPrecision(3) : ratio.toFixed(0));

export function plain(v) {
  if (v === 0) return "0";
  return String(Number(v.toPrecision(3)));
}

// A value of a metric with its unit, in the larger of the metric's two scales
// that keeps a digit before the decimal point.
export function figure(v, metric) {
  return written(v, metric.scale, metric.small);
}

// The same for an axis: without the noun of a rate, which the caption has.
export function tick(v, metric) {
  return v === 0 ? "0" : written(v, metric.axis, metric.smallAxis);
}

function written(v, scale, small) {
  const s = small && Math.abs(v * scale.factor) < 0.9995 ? small : scale;
  return plain(v * s.factor) + s.suffix;
}

export function median(values) {
  const s = [...values].sort((a, b) => a - b);
  const n = s.length;
  return n % 2 ? s[(n - 1) / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
}

// Every chart gets the same font, and a description for screen readers.
export function frame(width, label, description) {
  return {
    width,
    ariaLabel: label,
    ariaDescription: description,
    className: "chart",
    style: { fontSize: "12px", fontFamily: "inherit", background: "none", overflow: "visible" },
  };
}
