// The tree, whose nodes are requested when they are shown.

import { element } from "./dom.js";

/** The number of children to show at a time. */
const PAGE = 200;

/** Returns the part of a line that describes a node. */
function description(node) {
  if (node.array) {
    const { dtype, shape } = node.array;
    const sides = shape.length ? shape.join(" × ") : "single value";
    return element("span", { className: "array" }, `${dtype} `, element("b", {}, sides));
  }
  if (node.kind === "mapping" || node.kind === "sequence") {
    const unit = node.kind === "mapping" ? ["entry", "entries"] : ["item", "items"];
    return element("span", { className: "quiet" }, `${node.count} ${unit[node.count === 1 ? 0 : 1]}`);
  }
  return element("span", { className: node.kind }, node.text);
}

export class Tree {
  #client;
  #box;
  #onselect;
  #selected = null;

  constructor(box, client, onselect) {
    this.#box = box;
    this.#client = client;
    this.#onselect = onselect;
    box.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Shows the tree of a file with its first level open. */
  async show(root) {
    const list = element("ul", { role: "tree", "aria-label": "Tree" });
    this.#box.replaceChildren(list);
    await this.#addChildren(list, root, 0, 1);
    const first = list.querySelector("[role=treeitem]");
    if (first) first.tabIndex = 0;
  }

  /** Shows the results of a search as a list. */
  showFound(nodes) {
    const list = element("ul", { role: "tree", "aria-label": "Search results" });
    const items = nodes.map((node) => this.#item(node, 1, true));
    list.append(...items);
    if (items.length) items[0].tabIndex = 0;
    else list.append(element("li", { className: "quiet", role: "none" }, "Nothing was found."));
    this.#box.replaceChildren(list);
  }

  async #addChildren(list, node, start, level) {
    const nodes = await this.#client.call("children", node.pointer, start, PAGE);
    list.append(...nodes.map((child) => this.#item(child, level, false)));
    const rest = node.count - start - nodes.length;
    if (rest > 0 && nodes.length > 0) {
      const more = element("button", { type: "button", className: "link" }, `Show more (${rest})`);
      const item = element("li", { role: "none" }, more);
      more.onclick = async () => {
        item.remove();
        await this.#addChildren(list, node, start + nodes.length, level);
      };
      list.append(item);
    }
  }

  #item(node, level, isFound) {
    const canOpen = !isFound && !node.array && node.count > 0;
    const line = element(
      "div",
      { className: "line" },
      element("span", { className: "mark" }),
      element("span", { className: "key" }, isFound ? node.pointer || "/" : node.key),
      description(node),
      node.tag ? element("span", { className: "tag" }, node.tag) : null,
    );
    const item = element("li", { role: "treeitem", tabIndex: -1, "aria-level": level }, line);
    item.node = node;
    if (canOpen) item.setAttribute("aria-expanded", "false");
    line.onclick = (event) => {
      if (canOpen && event.target.className === "mark") this.#toggle(item);
      else this.#select(item);
    };
    line.ondblclick = () => canOpen && this.#toggle(item);
    return item;
  }

  async #toggle(item, isOpen = item.ariaExpanded !== "true") {
    if (item.ariaExpanded === null || (item.ariaExpanded === "true") === isOpen) return;
    item.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) {
      item.querySelector("ul")?.remove();
      return;
    }
    const list = element("ul", { role: "group" });
    item.append(list);
    try {
      await this.#addChildren(list, item.node, 0, Number(item.ariaLevel) + 1);
    } catch (error) {
      list.append(element("li", { className: "error", role: "none" }, error.message));
    }
  }

  #select(item) {
    const wasSelected = this.#selected === item;
    this.#selected?.removeAttribute("aria-selected");
    this.#selected = item;
    item.setAttribute("aria-selected", "true");
    this.#focus(item);
    this.#toggle(item, item.ariaExpanded !== "true" || !wasSelected);
    this.#onselect(item.node);
  }

  #focus(item) {
    this.#box.querySelectorAll("[tabindex='0']").forEach((other) => (other.tabIndex = -1));
    item.tabIndex = 0;
    item.focus();
  }

  #key(event) {
    const item = event.target.closest("[role=treeitem]");
    if (!item || event.target !== item) return;
    const items = [...this.#box.querySelectorAll("[role=treeitem]")];
    const index = items.indexOf(item);
    const go = (target) => target && this.#focus(target);
    const actions = {
      ArrowDown: () => go(items[index + 1]),
      ArrowUp: () => go(items[index - 1]),
      Home: () => go(items[0]),
      End: () => go(items.at(-1)),
      ArrowRight: () =>
        item.ariaExpanded === "true" ? go(item.querySelector("[role=treeitem]")) : this.#toggle(item, true),
      ArrowLeft: () =>
        item.ariaExpanded === "true"
          ? this.#toggle(item, false)
          : go(item.parentElement.closest("[role=treeitem]")),
      Enter: () => this.#select(item),
      " ": () => this.#select(item),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }
}
