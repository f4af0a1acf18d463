// The page: opening files, switching tabs, and showing messages.

import { Cancelled, Client } from "./client.js";
import { DataPanel } from "./data.js";
import { byId, element } from "./dom.js";
import { Tree } from "./tree.js";

/** The time in milliseconds after which the progress of a call is shown. */
const PATIENCE = 200;

const client = new Client({ onbusy, onprogress });
const data = new DataPanel(byId("data-panel"), client);
const tree = new Tree(byId("tree"), client, (node) => {
  data.show(node);
  // On narrow screens, a container is opened in the tree, so keep showing the tree.
  if (!isNarrow.matches || node.array || node.count === 0) showTab("data");
});
let root = null;
let areParts = false;
let typing = 0;

// Progress.

let patience = 0;

function onbusy(isBusy) {
  clearTimeout(patience);
  byId("progress").hidden = true;
  document.body.ariaBusy = String(isBusy);
  if (!isBusy) return;
  byId("progress-bar").removeAttribute("value");
  byId("progress-text").textContent = "Reading…";
  patience = setTimeout(() => (byId("progress").hidden = false), PATIENCE);
}

function onprogress({ done, total }) {
  const part = Math.min(1, done / Math.max(1, total));
  byId("progress-bar").value = part;
  byId("progress-text").textContent = `Reading… ${Math.round(100 * part)} %`;
}

byId("cancel").onclick = () => client.cancel();

// Messages.

function say(text) {
  byId("message").hidden = !text;
  byId("message").textContent = text;
}

// Show the errors of calls that are not awaited, such as those made by a control.
addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  if (!(event.reason instanceof Cancelled)) say(event.reason.message);
});

// Opening.

async function open(input) {
  say("");
  clearTimeout(typing);
  byId("welcome").hidden = false;
  byId("viewer").hidden = true;
  byId("tree").replaceChildren();
  byId("file-name").textContent = "";
  try {
    const about = await client.open(input);
    await show(about);
  } catch (error) {
    if (!(error instanceof Cancelled)) say(`${input.url ?? input.files[0].name}: ${error.message}`);
  }
}

async function show(about) {
  root = about.root;
  areParts = false;
  document.title = `${about.name} – scibin`;
  byId("file-name").textContent = about.name;
  byId("welcome").hidden = true;
  byId("viewer").hidden = false;
  byId("search").value = "";
  data.clear(about.name);
  showAbout(about);
  showTab("tree");
  await tree.show(root);
}

function showAbout({ about, diagnostics }) {
  const facts = about.map(([name, text]) => element("div", {}, element("dt", {}, name), element("dd", {}, text)));
  const list = diagnostics.map((found) =>
    element(
      "li",
      { className: found.severity },
      element("b", {}, `${found.severity} ${found.code}`),
      element("p", {}, found.message),
      found.pointer || found.line
        ? element("p", { className: "quiet" }, found.pointer ?? `line ${found.line}, column ${found.column}`)
        : null,
      found.help ? element("p", { className: "quiet" }, found.help) : null,
    ));
  const none = element("p", { className: "quiet" }, "No irregularities were found.");
  byId("about-panel").replaceChildren(
    element("dl", { className: "facts" }, ...facts),
    element("h2", {}, "Diagnostics"),
    list.length ? element("ul", { className: "diagnostics" }, ...list) : none,
  );
  byId("badge").textContent = diagnostics.length;
  byId("badge").hidden = diagnostics.length === 0;
}

byId("open-file").onclick = byId("choose").onclick = () => byId("file-input").click();
byId("file-input").onchange = ({ target }) => {
  if (target.files.length) open({ files: [...target.files] });
  target.value = "";
};
byId("open-url").onclick = () => {
  const form = byId("url-form");
  form.hidden = !form.hidden;
  byId("open-url").ariaExpanded = String(!form.hidden);
  if (!form.hidden) byId("url").focus();
};
byId("url-form").onsubmit = (event) => {
  event.preventDefault();
  open({ url: byId("url").value });
};

addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("dragging");
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) document.body.classList.remove("dragging");
});
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("dragging");
  const files = [...event.dataTransfer.files];
  if (files.length) open({ files });
});

// Tabs. On wide screens, the tree is always visible.

const TABS = ["tree", "data", "parts", "about"];
const isNarrow = matchMedia("(max-width: 52rem)");

function showTab(wanted) {
  const name = wanted === "tree" && !isNarrow.matches ? "data" : wanted;
  for (const tab of TABS) {
    const isShown = tab === name;
    byId(`tab-${tab}`).ariaSelected = String(isShown);
    byId(`tab-${tab}`).tabIndex = isShown ? 0 : -1;
    byId(`${tab}-panel`).hidden = !isShown && (tab !== "tree" || isNarrow.matches);
  }
  if (name === "parts") showParts();
}

for (const tab of TABS) byId(`tab-${tab}`).onclick = () => showTab(tab);
byId("tabs").onkeydown = (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!by) return;
  const shown = TABS.filter((tab) => byId(`tab-${tab}`).offsetParent);
  const index = shown.findIndex((tab) => byId(`tab-${tab}`).ariaSelected === "true");
  const next = shown[(index + by + shown.length) % shown.length];
  showTab(next);
  byId(`tab-${next}`).focus();
};
isNarrow.onchange = () => {
  const shown = TABS.find((tab) => byId(`tab-${tab}`).ariaSelected === "true");
  showTab(shown ?? "tree");
};
showTab("tree");

async function showParts() {
  if (areParts) return;
  areParts = true;
  const box = byId("parts-panel");
  box.replaceChildren();
  try {
    const { title, columns, rows, more } = await client.call("parts");
    byId("tab-parts").textContent = title;
    const head = element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name)));
    const body = rows.map((row) => element("tr", {}, ...row.map((cell) =>
      element("td", { className: /^\d+$/.test(cell) ? "number" : "" }, cell))));
    const table = element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
    const none = element("p", { className: "hint" }, "The table is empty.");
    box.append(rows.length ? element("div", { className: "scroll", tabIndex: 0 }, table) : none);
    if (more) box.append(element("p", { className: "quiet" }, `and ${more} more`));
  } catch (error) {
    areParts = false;
    box.append(element("p", { className: "error", role: "alert" }, error.message));
  }
}

// Search.

byId("search").oninput = ({ target }) => {
  clearTimeout(typing);
  typing = setTimeout(async () => {
    try {
      if (target.value) tree.showFound(await client.call("search", target.value));
      else await tree.show(root);
    } catch (error) {
      if (!(error instanceof Cancelled)) say(error.message);
    }
  }, 150);
};
byId("copy-json").onclick = async () => {
  try {
    await navigator.clipboard.writeText(await client.call("json"));
    byId("copy-json").textContent = "Copied";
    setTimeout(() => (byId("copy-json").textContent = "JSON"), 1500);
  } catch (error) {
    say(error.message);
  }
};

// The tests use the client.
window.scibin = client;
