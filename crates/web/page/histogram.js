// A histogram that shows the values drawn in the darkest and the lightest colour, and lets the user drag these limits.

import { color, element, fitted, short } from "./dom.js";

export class Histogram {
  #canvas = element("canvas", { className: "histogram", role: "img" });
  #data = null;
  #limits = null;

  /** `onlimits(low, high)` is called when a limit is dragged. Without it, no limits are shown. */
  constructor(onlimits = null) {
    this.box = this.#canvas;
    if (onlimits) this.#canvas.onpointerdown = (event) => this.#drag(event, onlimits);
    new ResizeObserver(() => this.#draw()).observe(this.#canvas);
  }

  show(data, limits = null) {
    this.#data = data;
    this.#limits = limits;
    this.#draw();
  }

  #draw() {
    const { context, width, height } = fitted(this.#canvas);
    const { min, max, counts } = this.#data ?? { counts: [] };
    if (!counts.length) return;
    this.#canvas.ariaLabel = `Histogram from ${short(min)} to ${short(max)}`;
    const plot = height - 16;
    const highest = Math.log1p(Math.max(...counts));
    const bar = width / counts.length;
    context.fillStyle = color("--accent");
    counts.forEach((count, index) => {
      const size = highest ? (Math.log1p(count) / highest) * (plot - 2) : 0;
      context.fillRect(index * bar, plot - size, Math.max(1, bar - 0.5), size);
    });
    context.fillStyle = color("--quiet");
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "bottom";
    context.fillText(short(min), 0, height);
    context.textAlign = "right";
    context.fillText(short(max), width, height);
    context.fillStyle = color("--text");
    for (const limit of this.#limits ?? []) {
      const x = ((limit - min) / (max - min || 1)) * width;
      context.fillRect(Math.min(width - 2, Math.max(0, x - 1)), 0, 2, plot);
    }
  }

  #drag(event, onlimits) {
    if (!this.#data?.counts.length || !this.#limits) return;
    const { min, max } = this.#data;
    const box = this.#canvas.getBoundingClientRect();
    const value = ({ clientX }) => {
      const part = Math.min(1, Math.max(0, (clientX - box.left) / box.width));
      return min + part * (max - min);
    };
    const [low, high] = this.#limits;
    const isLow = Math.abs(value(event) - low) < Math.abs(value(event) - high);
    const move = (moved) => {
      const at = value(moved);
      onlimits(isLow ? Math.min(at, high) : low, isLow ? high : Math.max(at, low));
    };
    this.#canvas.setPointerCapture(event.pointerId);
    this.#canvas.onpointermove = move;
    this.#canvas.onpointerup = () => (this.#canvas.onpointermove = null);
    move(event);
  }
}
