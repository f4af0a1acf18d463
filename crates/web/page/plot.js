// A view of the curve of a one-dimensional array.

import { color, element, fitted, short } from "./dom.js";
import { Histogram } from "./histogram.js";

const LEFT = 64;
const BOTTOM = 22;

export class PlotView {
  #client;
  #selection;
  #length;
  #canvas = element("canvas", { className: "plot", tabIndex: 0, role: "img" });
  #readout = element("output", { className: "readout" });
  #facts = element("dl", { className: "facts" });
  #histogram = new Histogram();
  #range;
  #curve = null;

  /** Creates a view of a selection `{pointer, field, prefix}`, whose last axis has this length. */
  constructor(client, selection, length) {
    this.#client = client;
    this.#selection = selection;
    this.#length = length;
    this.#range = [0, length];
    this.#listen();
    const button = (text, title, onclick) => element("button", { type: "button", title, onclick }, text);
    const zoom = element(
      "div",
      { className: "zoom" },
      button("−", "Zoom out (−)", () => this.#zoom(2)),
      button("+", "Zoom in (+)", () => this.#zoom(0.5)),
      button("Fit", "Show the whole curve (0)", () => this.#move(0, this.#length)),
    );
    const stage = element("div", { className: "stage" }, this.#canvas, zoom, this.#readout);
    this.box = element("div", { className: "plot-view" }, stage, this.#facts, this.#histogram.box);
  }

  /** Reads the curve and shows it. */
  async show() {
    const { pointer, field, prefix } = this.#selection;
    const [start, end] = this.#range;
    const columns = Math.max(64, Math.min(2000, this.#canvas.clientWidth - LEFT || 800));
    this.#curve = await this.#client.call("curve", pointer, field, `${prefix}${start}:${end}`, Math.round(columns));
    this.#curve.range = [start, end];
    const { min, median, max, nan, step, histogram } = this.#curve;
    const facts = [["minimum", short(min)], ["median", short(median)], ["maximum", short(max)], ["NaN", nan]];
    if (step > 1) facts.push(["sampled", `1 in ${step} elements`]);
    this.#facts.replaceChildren(...facts.map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, String(value)))));
    this.#histogram.show(histogram);
    this.#canvas.ariaLabel = `Curve from ${start} to ${end}: minimum ${short(min)}, maximum ${short(max)}`;
    if (!this.observer) {
      this.observer = new ResizeObserver(() => this.#draw());
      this.observer.observe(this.#canvas);
    }
    this.#draw();
  }

  #draw() {
    if (!this.#curve) return;
    const { context, width, height } = fitted(this.#canvas);
    const { columns, range: [start, end] } = this.#curve;
    const spans = columns.filter((span) => span);
    const low = Math.min(...spans.map((span) => span[0]));
    const high = Math.max(...spans.map((span) => span[1]));
    if (!spans.length) return;
    const margin = (high - low) * 0.05 || Math.abs(high) * 0.1 || 1;
    const [bottom, top] = [low - margin, high + margin];
    const plot = { width: width - LEFT - 8, height: height - BOTTOM - 8 };
    const x = (column) => LEFT + ((column + 0.5) / columns.length) * plot.width;
    const y = (value) => 8 + ((top - value) / (top - bottom)) * plot.height;
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = color("--quiet");
    context.strokeStyle = color("--line");
    context.lineWidth = 1;
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const tick of ticks(bottom, top, plot.height / 40)) {
      context.strokeRect(LEFT, Math.round(y(tick)) + 0.5, plot.width, 0);
      context.fillText(short(tick), LEFT - 6, y(tick));
    }
    context.textBaseline = "top";
    context.textAlign = "center";
    for (const tick of ticks(start, end, plot.width / 90)) {
      const at = LEFT + ((tick - start + 0.5) / (end - start)) * plot.width;
      context.fillText(short(tick), Math.min(at, width - 24), height - BOTTOM + 6);
    }
    context.strokeStyle = color("--accent");
    context.lineWidth = 1.5;
    context.lineJoin = "round";
    context.beginPath();
    let isDown = false;
    columns.forEach((span, column) => {
      if (!span) {
        isDown = false;
        return;
      }
      const [from, to] = span.map(y);
      if (isDown) context.lineTo(x(column), to);
      else context.moveTo(x(column), to);
      context.lineTo(x(column), Math.max(from, to + 0.5));
      isDown = true;
    });
    context.stroke();
  }

  #move(start, end) {
    const size = Math.max(2, Math.min(this.#length, Math.round(end - start)));
    const first = Math.max(0, Math.min(this.#length - size, Math.round(start)));
    this.#range = [first, Math.min(this.#length, first + size)];
    clearTimeout(this.moving);
    this.moving = setTimeout(() => this.show().catch((error) => (this.#readout.textContent = error.message)), 80);
  }

  #zoom(factor, part = 0.5) {
    const [start, end] = this.#range;
    const size = (end - start) * factor;
    const center = start + (end - start) * part;
    this.#move(center - size * part, center + size * (1 - part));
  }

  #pan(part) {
    const [start, end] = this.#range;
    const by = (end - start) * part;
    this.#move(start + by, end + by);
  }

  #listen() {
    const canvas = this.#canvas;
    const part = (event) =>
      Math.min(1, Math.max(0, (event.offsetX - LEFT) / (canvas.clientWidth - LEFT - 8)));
    canvas.onwheel = (event) => {
      event.preventDefault();
      this.#zoom(Math.exp(event.deltaY / 300), part(event));
    };
    canvas.onpointermove = (event) => {
      if (!this.#curve) return;
      const { columns, range: [start, end] } = this.#curve;
      const column = Math.min(columns.length - 1, Math.floor(part(event) * columns.length));
      const index = Math.floor(start + (column / columns.length) * (end - start));
      const span = columns[column];
      const value = !span ? "NaN" : span[0] === span[1] ? short(span[0]) : `${short(span[0])} to ${short(span[1])}`;
      this.#readout.textContent = `index ${index}: ${value}`;
    };
    canvas.onkeydown = (event) => {
      const actions = {
        "+": () => this.#zoom(0.5),
        "=": () => this.#zoom(0.5),
        "-": () => this.#zoom(2),
        0: () => this.#move(0, this.#length),
        ArrowLeft: () => this.#pan(-0.2),
        ArrowRight: () => this.#pan(0.2),
      };
      if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      actions[event.key]();
    };
  }
}

/** Returns about `count` round numbers between two values. */
function ticks(low, high, count) {
  const rough = (high - low) / Math.max(2, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
  const found = [];
  if (!(step > 0) || !Number.isFinite(step)) return found;
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) found.push(tick);
  return found;
}
