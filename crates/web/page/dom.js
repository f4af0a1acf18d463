// Creating elements. Text from files is always inserted as text, never as HTML.

/** Returns the element of the page that has this id. */
export const byId = (id) => document.getElementById(id);

/** Creates an element with properties, such as `{className: "quiet", onclick: f}`, and children. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("aria-") || name === "role") {
      made.setAttribute(name, value);
    } else {
      made[name] = value;
    }
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Creates a labelled drop-down list from `[value, text]` pairs. */
export function select(label, options, onchange) {
  const list = element("select", { onchange: () => onchange(list.value) });
  list.append(...options.map(([value, text]) => element("option", { value }, text)));
  return { list, box: element("label", {}, element("span", {}, label), list) };
}

/** Formats a number with at most six significant digits. */
export function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const rounded = Number(value.toPrecision(6));
  const size = Math.abs(rounded);
  return rounded !== 0 && (size < 1e-4 || size >= 1e7) ? rounded.toExponential() : String(rounded);
}

/** Sets the resolution of a canvas to its size on the screen. Returns a context that draws in CSS pixels. */
export function fitted(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(1, canvas.clientWidth);
  const height = Math.max(1, canvas.clientHeight);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { context, width, height, ratio };
}

const probe = document.body.appendChild(element("span", { hidden: true }));

/** Returns the value of a colour that the style sheet defines, such as `--line`. */
export function color(name) {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

/** Saves a blob as a file. */
export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
