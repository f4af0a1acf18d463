// The worker, which contains the WebAssembly module and the open file. Files are read synchronously, which only a
// worker can do, and the page cancels a call by terminating the worker.

import init, * as scibin from "./scibin_web.js";

let wasm;
let file;
let picture;

const ready = init().then((exports) => {
  wasm = exports;
  scibin.on_progress((done, total) => postMessage({ progress: { done, total } }));
});

/** Collects the pieces that `write` produces in a blob, which is outside the memory of the module. */
function collected(type, write) {
  const pieces = [];
  write((piece) => pieces.push(piece));
  return new Blob(pieces, { type });
}

/** Replaces the current picture, frees the memory of the old one, and returns a description of the new one. */
function keep(made) {
  picture?.free();
  picture = made;
  const { width, height, step, is_sampled } = made;
  return { width, height, step, isSampled: is_sampled, histogram: JSON.parse(made.histogram()) };
}

/** Returns the current picture. Fails if a new worker, which has no picture, has replaced a cancelled one. */
function shown() {
  if (!picture) throw new Error("Reading the image was cancelled. Select the array again.");
  return picture;
}

/** The functions that the page can call. */
const methods = {
  open({ files = [], url = null }) {
    for (const one of files) scibin.add_file(one.name, one);
    if (url !== null) scibin.add_url(url);
    file = scibin.Document.open();
    return JSON.parse(file.about());
  },
  children: (pointer, start, count) => JSON.parse(file.children(pointer, start, count)),
  node: (pointer) => JSON.parse(file.node(pointer)),
  search: (text) => JSON.parse(file.search(text)),
  text: (pointer) => file.text(pointer),
  json: () => file.json(),
  parts: () => JSON.parse(file.parts()),
  selected: (...selection) => JSON.parse(file.selected(...selection)),
  summary: (...selection) => file.summary(...selection),
  curve: (pointer, field, slice, columns) => JSON.parse(file.curve(pointer, field, slice, columns)),
  picture: (pointer, field, slice, side) => keep(file.picture(pointer, field, slice, side)),
  limits: (low, high) => shown().limits(low, high),
  render: (...stretch) => shown().render(...stretch),
  tile(pointer, field, slice, side, ...stretch) {
    const made = file.picture(pointer, field, slice, side);
    const { width, height, step } = made;
    const pixels = made.render(...stretch);
    made.free();
    return { width, height, step, pixels };
  },
  colorBar: (width, colors) => scibin.color_bar(width, colors),
  npy: (...selection) =>
    collected("application/octet-stream", (sink) => file.npy(...selection, sink)),
  content: (pointer) =>
    collected("application/octet-stream", (sink) => file.content(pointer, sink)),
  memory: () => wasm.memory.buffer.byteLength,
};

onmessage = async ({ data: { id, method, values } }) => {
  try {
    await ready;
    postMessage({ id, result: methods[method](...values) });
  } catch (error) {
    // After a trap, such as a stack overflow, the module cannot be used any more.
    const isBroken = error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
    postMessage({ id, error: String(error?.message ?? error), isBroken });
  }
};
