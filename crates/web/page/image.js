// A view of an image, with controls for stretch, colours and zoom, and the values of pixels.

import { element, fitted, select, short } from "./dom.js";
import { Cancelled } from "./client.js";
import { Histogram } from "./histogram.js";

/** The maximum width and height in pixels of the picture that shows the whole image. */
const MAX_SIDE = 1024;

/** The ranges of values to show, as two percentiles, or "own" for values that the user enters. */
const RANGES = [
  ["0.5,99.5", "0.5 % – 99.5 %"],
  ["0,100", "minimum – maximum"],
  ["1,99", "1 % – 99 %"],
  ["5,95", "5 % – 95 %"],
  ["own", "own values"],
];

const settings = { scale: "linear", colors: "grey", range: "0.5,99.5", isFlipped: false };

export class ImageView {
  #client;
  #selection;
  #rows;
  #columns;
  #canvas = element("canvas", { className: "image", tabIndex: 0, role: "img" });
  #readout = element("output", { className: "readout" });
  #note = element("span", { className: "quiet" });
  #histogram = new Histogram((low, high) => this.#setLimits(low, high, true));
  #picture = null;
  #pixels = null;
  #tile = null;
  #limits = [0, 1];
  #view = { zoom: 1, x: 0, y: 0 };
  #pending = 0;
  #isAsking = false;
  #wanted = null;

  /** Creates a view of a selection `{pointer, field, prefix}`, whose last two axes have these lengths. */
  constructor(client, selection, [rows, columns]) {
    this.#client = client;
    this.#selection = selection;
    this.#rows = rows;
    this.#columns = columns;
    this.box = this.#build();
  }

  #slice(rows = ":", columns = ":") {
    return `${this.#selection.prefix}${rows},${columns}`;
  }

  #build() {
    const scale = select("Scale", ["linear", "sqrt", "log", "asinh"].map((name) => [name, name]), (value) => {
      settings.scale = value;
      this.#render();
    });
    const colors = select("Colours", ["grey", "viridis", "inferno"].map((name) => [name, name]), (value) => {
      settings.colors = value;
      this.#render();
    });
    const range = select("Range", RANGES, (value) => {
      settings.range = value;
      this.#stretch();
    });
    [scale.list.value, colors.list.value, range.list.value] = [settings.scale, settings.colors, settings.range];
    this.rangeList = range.list;
    const number = (label) => {
      const input = element("input", { type: "number", step: "any", onchange: () => this.#typed() });
      return { input, box: element("label", {}, element("span", {}, label), input) };
    };
    this.low = number("Black");
    this.high = number("White");
    const flip = element("input", { type: "checkbox", checked: settings.isFlipped });
    flip.onchange = () => {
      settings.isFlipped = flip.checked;
      this.#fit();
    };
    const button = (text, title, onclick) => element("button", { type: "button", title, onclick }, text);
    const zoom = element(
      "div",
      { className: "zoom" },
      button("−", "Zoom out (−)", () => this.#zoom(1 / 1.5)),
      button("+", "Zoom in (+)", () => this.#zoom(1.5)),
      button("Fit", "Show the whole image (0)", () => this.#fit()),
      button("1:1", "One pixel per element (1)", () => this.#zoom(1 / this.#view.zoom)),
    );
    this.#canvas.ariaLabel = `Image with ${this.#rows} rows and ${this.#columns} columns`;
    this.#listen();
    return element(
      "div",
      { className: "image-view" },
      element("div", { className: "stage" }, this.#canvas, zoom, this.#readout),
      element(
        "div",
        { className: "controls" },
        range.box,
        scale.box,
        colors.box,
        this.low.box,
        this.high.box,
        element("label", { className: "check" }, flip, element("span", {}, "Row 0 at the bottom")),
      ),
      this.#histogram.box,
      this.#note,
    );
  }

  /** Reads the image and shows it. */
  async show() {
    const { pointer, field } = this.#selection;
    this.#picture = await this.#client.call("picture", pointer, field, this.#slice(), MAX_SIDE);
    const { step, isSampled, histogram } = this.#picture;
    const parts = [];
    if (isSampled) parts.push(`Shows 1 in ${step} rows and columns`);
    else if (step > 1) parts.push(`Each pixel is the mean of ${step} × ${step} elements`);
    if (histogram.nan) parts.push(`${histogram.nan} pixels without a value`);
    this.#note.textContent = parts.join(" · ");
    new ResizeObserver(() => this.#fit()).observe(this.#canvas);
    await this.#stretch();
  }

  async #stretch() {
    if (settings.range === "own") return;
    const [low, high] = settings.range.split(",").map(Number);
    const limits = await this.#client.call("limits", low, high);
    await this.#setLimits(...(limits.length ? limits : [0, 1]), false);
  }

  #typed() {
    const [low, high] = [this.low, this.high].map(({ input }) => input.valueAsNumber);
    if (low <= high) this.#setLimits(low, high, true);
  }

  async #setLimits(low, high, isOwn) {
    this.#limits = [low, high];
    if (isOwn) settings.range = this.rangeList.value = "own";
    [this.low.input.value, this.high.input.value] = [short(low), short(high)];
    this.#histogram.show(this.#picture.histogram, this.#limits);
    await this.#render();
  }

  /** Renders the picture with the current settings. Several calls before the next frame render it only once. */
  async #render() {
    this.#tile = null;
    const number = ++this.#pending;
    await new Promise(requestAnimationFrame);
    if (number !== this.#pending) return;
    const pixels = await this.#client.call("render", ...this.#limits, settings.scale, settings.colors);
    this.#pixels = painted(pixels, this.#picture.width, this.#picture.height);
    this.#draw();
  }

  #fit() {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    if (!width || !this.#picture) return;
    const zoom = Math.min(width / this.#columns, height / this.#rows);
    this.#view = { zoom, x: (width - zoom * this.#columns) / 2, y: (height - zoom * this.#rows) / 2 };
    this.#tile = null;
    this.#draw();
  }

  #zoom(factor, x = this.#canvas.clientWidth / 2, y = this.#canvas.clientHeight / 2) {
    const view = this.#view;
    const zoom = Math.min(64, Math.max(1e-4, view.zoom * factor));
    const by = zoom / view.zoom;
    this.#view = { zoom, x: x - (x - view.x) * by, y: y - (y - view.y) * by };
    this.#draw();
  }

  #pan(x, y) {
    this.#view.x += x;
    this.#view.y += y;
    this.#draw();
  }

  /** Returns the row and column at a position on the canvas, which need not be integers. */
  #at(x, y) {
    const { zoom, x: left, y: top } = this.#view;
    const row = (y - top) / zoom;
    return { row: settings.isFlipped ? this.#rows - row : row, column: (x - left) / zoom };
  }

  #draw() {
    if (!this.#pixels) return;
    const { context, width, height } = fitted(this.#canvas);
    const { zoom, x, y } = this.#view;
    context.translate(x, y);
    context.scale(zoom, zoom);
    if (settings.isFlipped) {
      context.translate(0, this.#rows);
      context.scale(1, -1);
    }
    context.beginPath();
    context.rect(0, 0, this.#columns, this.#rows);
    context.clip();
    const { step } = this.#picture;
    context.imageSmoothingEnabled = zoom * step < 1;
    context.drawImage(this.#pixels, 0, 0, this.#pixels.width * step, this.#pixels.height * step);
    if (this.#tile) {
      const { image, row, column, step: fine } = this.#tile;
      context.imageSmoothingEnabled = zoom * fine < 1;
      context.drawImage(image, column, row, image.width * fine, image.height * fine);
    }
    if (step > 1 && zoom * step > 1.5) this.#refine(width, height);
  }

  /** Reads the visible part in more detail after the view has not moved for a moment. */
  #refine(width, height) {
    clearTimeout(this.refining);
    this.refining = setTimeout(async () => {
      const clamp = (value, most) => Math.min(most, Math.max(0, value));
      const [a, b] = [this.#at(0, 0), this.#at(width, height)];
      const [first, last] = [Math.min(a.row, b.row), Math.max(a.row, b.row)];
      const rows = [clamp(Math.floor(first), this.#rows), clamp(Math.ceil(last), this.#rows)];
      const columns = [clamp(Math.floor(a.column), this.#columns), clamp(Math.ceil(b.column), this.#columns)];
      const part = `${rows}/${columns}`;
      if (rows[0] === rows[1] || columns[0] === columns[1] || this.#tile?.part === part) return;
      const { pointer, field } = this.#selection;
      const slice = this.#slice(rows.join(":"), columns.join(":"));
      const side = Math.round(Math.max(width, height) * (window.devicePixelRatio || 1));
      const stretch = [...this.#limits, settings.scale, settings.colors];
      const number = this.#pending;
      try {
        const tile = await this.#client.call("tile", pointer, field, slice, side, ...stretch);
        if (number !== this.#pending) return;
        const image = painted(tile.pixels, tile.width, tile.height);
        this.#tile = { image, row: rows[0], column: columns[0], step: tile.step, part };
        this.#draw();
      } catch (error) {
        if (!(error instanceof Cancelled)) this.#note.textContent = error.message;
      }
    }, 120);
  }

  /** Shows the value at a position. While a value is being read, only the latest position is kept. */
  async #read(position) {
    const row = Math.floor(position.row);
    const column = Math.floor(position.column);
    if (row < 0 || column < 0 || row >= this.#rows || column >= this.#columns) {
      this.#readout.textContent = "";
      return;
    }
    this.#wanted = { row, column };
    if (this.#isAsking) return;
    this.#isAsking = true;
    while (this.#wanted) {
      const { row, column } = this.#wanted;
      this.#wanted = null;
      const { pointer, field } = this.#selection;
      try {
        const value = await this.#client.call("summary", pointer, field, this.#slice(row, column));
        this.#readout.textContent = `row ${row}, column ${column}: ${value.trim()}`;
      } catch (error) {
        this.#readout.textContent = error instanceof Cancelled ? "" : error.message;
      }
    }
    this.#isAsking = false;
  }

  #listen() {
    const canvas = this.#canvas;
    const pointers = new Map();
    canvas.onwheel = (event) => {
      event.preventDefault();
      this.#zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
    };
    canvas.onpointerdown = (event) => {
      pointers.set(event.pointerId, event);
      canvas.setPointerCapture(event.pointerId);
    };
    canvas.onpointerup = canvas.onpointercancel = (event) => pointers.delete(event.pointerId);
    canvas.onpointermove = (event) => {
      const last = pointers.get(event.pointerId);
      if (last && pointers.size === 1) {
        this.#pan(event.clientX - last.clientX, event.clientY - last.clientY);
      } else if (last) {
        const other = [...pointers.values()].find((one) => one.pointerId !== event.pointerId);
        const distance = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
        const box = canvas.getBoundingClientRect();
        this.#zoom(distance(event) / Math.max(1, distance(last)), other.clientX - box.left, other.clientY - box.top);
      }
      if (last) pointers.set(event.pointerId, event);
      this.#read(this.#at(event.offsetX, event.offsetY));
    };
    canvas.onkeydown = (event) => {
      const actions = {
        "+": () => this.#zoom(1.5),
        "=": () => this.#zoom(1.5),
        "-": () => this.#zoom(1 / 1.5),
        0: () => this.#fit(),
        1: () => this.#zoom(1 / this.#view.zoom),
        ArrowLeft: () => this.#pan(40, 0),
        ArrowRight: () => this.#pan(-40, 0),
        ArrowUp: () => this.#pan(0, 40),
        ArrowDown: () => this.#pan(0, -40),
      };
      if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      actions[event.key]();
      this.#read(this.#at(canvas.clientWidth / 2, canvas.clientHeight / 2));
    };
  }
}

/** Returns a canvas with these pixels. */
function painted(pixels, width, height) {
  const canvas = new OffscreenCanvas(width, height);
  canvas.getContext("2d").putImageData(new ImageData(pixels, width, height), 0, 0);
  return canvas;
}
