// The panel that shows the selected node as an image, a curve, or text.

import { element, save, select } from "./dom.js";
import { Cancelled } from "./client.js";
import { ImageView } from "./image.js";
import { PlotView } from "./plot.js";

/** Returns true if values of a dtype can be drawn. */
const isDrawable = (dtype) => !/^(complex|record|ascii|ucs4|[<>|]?[cSUVO]\d*)/.test(dtype);

export class DataPanel {
  #client;
  #box;
  #fileName;

  constructor(box, client) {
    this.#box = box;
    this.#client = client;
  }

  /** Clears the panel, because another file has been opened. */
  clear(fileName) {
    this.#fileName = fileName;
    this.#box.replaceChildren(element("p", { className: "hint" }, "Select an entry in the tree."));
  }

  async show(node) {
    const heading = element(
      "div",
      { className: "heading" },
      element("h2", {}, node.key || this.#fileName),
      element("code", {}, node.pointer),
    );
    const content = element("div", {});
    this.#box.replaceChildren(heading, content);
    try {
      if (node.array) await this.#showArray(node, content);
      else await this.#showText(node, content);
    } catch (error) {
      content.append(failed(error));
    }
  }

  async #showText(node, content) {
    if (node.kind === "file") {
      const button = element("button", { type: "button" }, "Save file");
      button.onclick = async () => save(await this.#client.call("content", node.pointer), node.key);
      content.append(element("p", {}, button));
    }
    const text = await this.#client.call("text", node.pointer);
    const isContainer = node.kind === "mapping" || node.kind === "sequence";
    const shown = isContainer ? indented(text) : text || node.text;
    content.append(element("pre", { tabIndex: 0 }, shown));
  }

  async #showArray(node, content) {
    const { dtype, shape, size, storage, fields } = node.array;
    const facts = [["type", dtype], ["shape", shape.join(" × ") || "single value"], ["size", size]];
    if (storage) facts.push(["stored in", storage]);
    const list = facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
    const selectors = element("div", { className: "controls" });
    const view = element("div", {});
    content.append(element("dl", { className: "facts" }, ...list), selectors, view, this.#saving(node));
    let field = null;
    if (fields.length) {
      const options = [["", "all"], ...fields.map((name) => [name, name])];
      const chosen = select("Field", options, (value) => {
        field = value || null;
        this.#showPart(node, field, selectors, view);
      });
      field = fields[0];
      chosen.list.value = field;
      selectors.append(chosen.box);
    }
    await this.#showPart(node, field, selectors, view);
  }

  /** Shows an array or one of its fields. For every dimension before the last two, the user chooses an index. */
  async #showPart(node, field, selectors, view) {
    selectors.querySelectorAll(".axis").forEach((axis) => axis.remove());
    const { shape, dtype } = await this.#client.call("selected", node.pointer, field, "");
    const leading = shape.slice(0, Math.max(0, shape.length - 2));
    const indices = leading.map((length, axis) => {
      const input = element("input", { type: "number", min: 0, max: length - 1, value: 0 });
      input.onchange = () => draw();
      const text = `Axis ${axis} of ${length}`;
      selectors.append(element("label", { className: "axis" }, element("span", {}, text), input));
      return input;
    });
    const draw = async () => {
      const prefix = indices.map((input) => `${input.valueAsNumber || 0},`).join("");
      const selection = { pointer: node.pointer, field, prefix };
      const last = shape.slice(-2);
      try {
        if (shape.includes(0)) {
          view.replaceChildren(element("p", { className: "hint" }, "The array has no elements."));
        } else if (!shape.length || !isDrawable(dtype)) {
          await this.#showValues(selection, view);
        } else {
          const made = last.length === 1
            ? new PlotView(this.#client, selection, last[0])
            : new ImageView(this.#client, selection, last);
          view.replaceChildren(made.box, this.#values(selection));
          await made.show();
        }
      } catch (error) {
        view.replaceChildren(failed(error));
      }
    };
    await draw();
  }

  async #showValues({ pointer, field, prefix }, view) {
    const text = await this.#client.call("summary", pointer, field, prefix.replace(/,$/, ""));
    view.replaceChildren(element("pre", { tabIndex: 0 }, text));
  }

  /** Returns a section with the values, abbreviated if there are many. They are read when the section is opened. */
  #values(selection) {
    const box = element("div", {});
    const section = element("details", {}, element("summary", {}, "Values"), box);
    section.ontoggle = async () => {
      if (!section.open || box.childElementCount) return;
      try {
        await this.#showValues(selection, box);
      } catch (error) {
        box.replaceChildren(failed(error));
      }
    };
    return section;
  }

  /** Returns a form that saves a part of an array. */
  #saving(node) {
    const input = element("input", { type: "text", placeholder: "all, or 0:100, ::2", spellcheck: false });
    input.autocomplete = "off";
    const form = element(
      "form",
      { className: "saving" },
      element("label", {}, element("span", {}, "Part"), input),
      element("button", { type: "submit" }, "Save as .npy"),
    );
    form.onsubmit = async (event) => {
      event.preventDefault();
      form.querySelector(".error")?.remove();
      try {
        const part = await this.#client.call("npy", node.pointer, null, input.value);
        save(part, `${node.key || "array"}.npy`);
      } catch (error) {
        form.append(failed(error));
      }
    };
    return form;
  }
}

/** Indents JSON text, which may be truncated. The text is not parsed, so that numbers keep their digits. */
function indented(json) {
  let depth = 0;
  const line = () => `\n${"  ".repeat(depth)}`;
  return json.replace(/"(?:[^"\\]|\\.)*"|[[{]\s*[\]}]|[[{\]},:]/g, (token) => {
    if (token === ",") return `,${line()}`;
    if (token === ":") return ": ";
    if (token === "[" || token === "{") return token + (depth++, line());
    if (token === "]" || token === "}") return (depth--, line()) + token;
    return token;
  });
}

function failed(error) {
  const isCancelled = error instanceof Cancelled;
  return element("p", { className: isCancelled ? "hint" : "error", role: "alert" }, error.message);
}
