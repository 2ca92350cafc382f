// Draws the charts of the report from the data in the page. The tables show the
// same data without JavaScript.
import { prepareControls } from "./controls.js";
import { curves } from "./curves.js";
import { forest } from "./forest.js";
import { percentiles } from "./percentiles.js";
import { phases } from "./phases.js";
import { series } from "./series.js";
import { trials } from "./trials.js";

const charts = { forest, trials, curves, percentiles, phases, series };
const data = JSON.parse(document.getElementById("data").textContent);

// The width of a page of paper between its margins, A4 or Letter, in pixels.
const paper = 680;

function draw(figure, width = Math.floor(figure.clientWidth)) {
  // Too narrow for a chart: layout is in progress, and another resize follows.
  if (width < 200 || figure.drawnAt === width) return;
  figure.drawnAt = width;
  const place = figure.querySelector(".drawing") ?? figure;
  const chosen = figure.querySelector("select")?.value ?? "0,0";
  // Metrics are referenced by number, time series by name.
  const [metric, level] = chosen.split(",").map((word) => (Number.isNaN(Number(word)) ? word : Number(word)));
  place.replaceChildren(...charts[figure.dataset.chart](data, {
    workload: Number(figure.dataset.workload),
    metric: figure.dataset.metric === undefined ? metric : Number(figure.dataset.metric),
    level,
    width,
  }));
  // A chart is one picture with a description; its parts have no roles of their own.
  for (const svg of place.querySelectorAll("svg[aria-label]")) svg.setAttribute("role", "img");
  for (const part of place.querySelectorAll("svg g[aria-label]")) part.removeAttribute("aria-label");
}

const figures = [...document.querySelectorAll("figure[data-chart]")];
const watcher = new ResizeObserver((entries) => entries.forEach((e) => draw(e.target)));
for (const figure of figures) {
  figure.hidden = false;
  figure.querySelector("select")?.addEventListener("change", () => {
    figure.drawnAt = 0;
    draw(figure);
  });
  draw(figure);
  watcher.observe(figure);
}
// On paper a chart is as wide as the page, or half of it beside another.
addEventListener("beforeprint", () => figures.forEach((f) => draw(f, f.parentElement.matches(".plots:has(> :nth-child(2))") ? (paper - 32) / 2 : paper)));
addEventListener("afterprint", () => figures.forEach((f) => draw(f)));
prepareControls();
document.documentElement.dataset.drawn = document.querySelectorAll("figure[data-chart] svg").length;
