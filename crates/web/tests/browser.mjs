// Tests the page in Chromium: node browser.mjs PAGE CHROMIUM SCIBIN
//
// Opens every golden file, compares the trees of ASDF files and the pixels of an image with the output of the command
// line, opens hostile and huge files, and records all requests.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import zlib from "node:zlib";

const root = path.resolve(import.meta.dirname, "../../..");
const require = createRequire(path.join(root, "target/tools/node/"));
const { chromium } = require("playwright-core");
const [address, executablePath, scibin] = process.argv.slice(2);
const testdata = path.join(root, "crates/testdata");
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "scibin-web-"));
const KIB = 1024;
const MIB = 1024 * KIB;

/** Runs the command-line program, and returns its output, or `null` if it fails. */
function command(...words) {
  try {
    return execFileSync(scibin, words, { stdio: ["ignore", "pipe", "ignore"], maxBuffer: 256 * MIB });
  } catch {
    return null;
  }
}

function check(isTrue, message) {
  if (!isTrue) throw new Error(message);
}

function equal(found, expected, message) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  check(a === b, `${message}: found ${a.slice(0, 400)}, expected ${b.slice(0, 400)}`);
}

/** Writes a sparse ASDF file with an image whose first row counts up from 0, and whose other rows are zeros. */
function sparse(name, rows, columns) {
  const file = path.join(folder, name);
  const size = 4 * rows * columns;
  const tree =
    "#ASDF 1.0.0\n#ASDF_STANDARD 1.5.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n" +
    `image: !core/ndarray-1.0.0 {source: 0, datatype: float32, byteorder: little, shape: [${rows}, ${columns}]}\n...\n`;
  const header = Buffer.alloc(54);
  header.write("\xd3BLK", 0, "latin1");
  header.writeUInt16BE(48, 4);
  for (const at of [14, 22, 30]) header.writeBigUInt64BE(BigInt(size), at);
  const row = new Float32Array(columns).map((_, index) => index);
  const start = Buffer.concat([Buffer.from(tree), header, Buffer.from(row.buffer)]);
  fs.writeFileSync(file, start);
  fs.truncateSync(file, start.length - 4 * columns + size);
  return file;
}

/** Serves a file to range requests, and records the ranges. */
function serve(file) {
  const ranges = [];
  const size = fs.statSync(file).size;
  const server = http.createServer((request, response) => {
    const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "");
    ranges.push(range ? `${range[1]}-${range[2]}` : request.method);
    const headers = { "Access-Control-Allow-Origin": "*", "Cache-Control": "no-store" };
    if (!range) {
      response.writeHead(200, { ...headers, "Content-Length": size });
      response.end();
      return;
    }
    const [start, end] = [Number(range[1]), Math.min(Number(range[2]), size - 1)];
    const exposed = { "Access-Control-Expose-Headers": "Content-Range", "Content-Range": `bytes ${start}-${end}/${size}` };
    response.writeHead(206, { ...headers, ...exposed, "Content-Length": end - start + 1 });
    fs.createReadStream(file, { start, end }).pipe(response);
  });
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      const url = `http://127.0.0.1:${server.address().port}/${path.basename(file)}`;
      resolve({ url, ranges, size, close: () => server.close() });
    }),
  );
}

/** Returns the memory in bytes that the renderer processes of the test browser use. */
function rendererMemory(profile) {
  let total = 0;
  for (const id of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const line = fs.readFileSync(`/proc/${id}/cmdline`, "utf8");
      if (!line.includes("--type=renderer") || !line.includes(profile)) continue;
      total += Number(/RssAnon:\s+(\d+)/.exec(fs.readFileSync(`/proc/${id}/status`, "utf8"))[1]) * KIB;
    } catch {
      // The process has ended.
    }
  }
  return total;
}

const profile = path.join(folder, "profile");
const context = await chromium.launchPersistentContext(profile, {
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
  viewport: { width: 1280, height: 800 },
  colorScheme: "light",
});
const page = context.pages()[0] ?? (await context.newPage());
const problems = [];
page.on("pageerror", (error) => problems.push(error.message));
page.on("console", (message) => {
  if (message.type() === "error") problems.push(message.text());
});
const requests = [];
context.on("request", (request) => requests.push(request.url()));

/** Opens local files, and returns the message of the page, which is empty if the files could be opened. */
async function open(...files) {
  await page.evaluate(() => (document.querySelector("#message").textContent = "waiting"));
  await page.setInputFiles("#file-input", files);
  await page.waitForFunction(() => {
    const message = document.querySelector("#message");
    const isOpen = document.querySelector("#tree > ul") && document.body.ariaBusy === "false";
    return message.textContent !== "waiting" && (message.textContent || isOpen);
  });
  return page.textContent("#message");
}

const call = (...values) => page.evaluate((values) => window.scibin.call(...values), values);
const line = (key) => page.locator(`#tree .line:has(> .key:text-is("${key}"))`).first();

const tests = {
  async "the page opens the golden files, and shows ASDF trees as the command line does"() {
    const files = fs.readdirSync(testdata, { recursive: true }).map((name) => path.join(testdata, name));
    const golden = files.filter((name) => /\.(asdf|blp|dud|bd)$|flux\/\w+\.json$/.test(name)).sort();
    const found = { shown: 0, rejected: 0 };
    for (const file of golden) {
      const name = path.relative(testdata, file);
      const message = await open(file);
      found[message ? "rejected" : "shown"] += 1;
      if (!file.endsWith(".asdf")) continue;
      const tree = command("asdf", "tree", "--json", file);
      if (message) {
        check(tree === null, `${name}: ${message}`);
        continue;
      }
      const json = await call("json").catch(() => null);
      equal(json && `${json}\n`, tree && tree.toString(), name);
    }
    check(found.shown > 200, JSON.stringify(found));
    return `${found.shown} shown, ${found.rejected} rejected with a message`;
  },

  async "the pixels of an image equal those from the command line"() {
    const file = path.join(testdata, "asdf/science.asdf");
    await open(file);
    await line("image").click();
    await line("data").click();
    await page.waitForSelector(".image-view");
    for (const [scale, colors] of [["linear", "grey"], ["asinh", "viridis"], ["log", "inferno"]]) {
      const png = command("get", file, "/image/data", "--png", "-", "--size", "1024", "--scale", scale, "--colors", colors);
      const isEqual = await page.evaluate(async ([png, scale, colors]) => {
        const bytes = Uint8Array.from(atob(png), (character) => character.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
        const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
        canvas.drawImage(image, 0, 0);
        const expected = canvas.getImageData(0, 0, image.width, image.height).data;
        const limits = await window.scibin.call("limits", 0.5, 99.5);
        const found = await window.scibin.call("render", ...limits, scale, colors);
        return found.length === expected.length && found.every((value, index) => value === expected[index]);
      }, [png.toString("base64"), scale, colors]);
      check(isEqual, `${scale}, ${colors}`);
    }
    await page.getByLabel("Scale").selectOption("asinh");
    await page.getByLabel("Colours").selectOption("inferno");
    const box = await page.locator("canvas.image").boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.waitForFunction(() => document.querySelector(".readout").textContent);
    const [, row, column, value] = /row (\d+), column (\d+): (.+)/.exec(await page.textContent(".readout"));
    const expected = command("get", file, "/image/data", "--slice", `${row},${column}`).toString().trim();
    equal(value, expected, "the value below the pointer");
    await page.waitForTimeout(200);
    await page.screenshot({ path: path.join(root, "target/web/screenshot.png") });
  },

  async "a part is saved as the same .npy file that the command line writes"() {
    const file = path.join(testdata, "asdf/science.asdf");
    const saved = path.join(folder, "part.npy");
    command("get", file, "/image/data", "--slice", "3:9, ::2", "-o", saved);
    await page.fill(".saving input", "3:9, ::2");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(".saving button")]);
    equal(fs.readFileSync(await download.path(), "base64"), fs.readFileSync(saved, "base64"), "npy");
  },

  async "the tree can be used with the keyboard"() {
    await open(path.join(testdata, "asdf/science.asdf"));
    await page.locator("#tree [tabindex='0']").focus();
    for (const key of ["End", "Home", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown", "Enter"]) {
      await page.keyboard.press(key);
      await page.waitForTimeout(60);
    }
    await page.waitForSelector(".image-view");
    equal(await page.textContent(".heading code"), "/image/data", "selected");
  },

  async "search finds keys"() {
    await page.fill("#search", "exposure");
    await page.waitForSelector("#tree .line:has-text('exposure_time')");
    await page.fill("#search", "");
  },

  async "a hostile file causes a message, and the page can still be used"() {
    const junk = path.join(folder, "junk.bin");
    fs.writeFileSync(junk, Buffer.from("\x1f\x8b\x08 not a file of ours", "latin1"));
    check((await open(junk)).includes("This is a gzip file"), "junk");
    const markup = path.join(folder, "markup.asdf");
    fs.writeFileSync(markup, "#ASDF 1.0.0\n%YAML 1.1\n---\n<script>alert(1)</script>: <img src=x onerror=alert(1)>\n...\n");
    equal(await open(markup), "", "markup");
    check((await page.textContent("#tree")).includes("<script>"), "markup is shown as text");
    const deep = path.join(folder, "deep.asdf");
    fs.writeFileSync(deep, `#ASDF 1.0.0\n%YAML 1.1\n---\na: ${"[".repeat(100_000)}\n...\n`);
    await open(deep);
    await page.click("#tab-about");
    check((await page.textContent("#about-panel")).includes("error"), "the nesting is reported");
    equal(await open(path.join(testdata, "asdf/science.asdf")), "", "afterwards");
  },

  async "a file of 3 GiB needs little memory, and reading it can be cancelled"() {
    const file = sparse("huge.asdf", 24 * KIB, 32 * KIB);
    const before = rendererMemory(profile);
    equal(await open(file), "", "open");
    await line("image").click();
    await page.waitForSelector(".image-view");
    await page.waitForFunction(() => document.body.ariaBusy === "false");
    equal((await call("summary", "/image", null, "0,7")).trim(), "7.0", "value");
    const memory = await call("memory");
    check(memory < 32 * MIB, `wasm memory of ${memory} bytes`);
    const grown = rendererMemory(profile) - before;
    check(grown < 200 * MIB, `the renderer grew by ${grown} bytes`);
    await page.fill(".saving input", "");
    await page.click(".saving button");
    await page.waitForSelector("#progress:not([hidden])");
    await page.click("#cancel");
    await page.waitForSelector(".saving .hint");
    equal((await call("summary", "/image", null, "0,9")).trim(), "9.0", "after cancelling");
    return `wasm memory ${(memory / MIB).toFixed(1)} MiB, renderer +${Math.max(0, grown / MIB).toFixed(0)} MiB`;
  },

  async "opening local files requests only the files of the page"() {
    const others = requests.filter((url) => !url.startsWith(address) && !url.startsWith("blob:"));
    equal(others, [], "requests");
  },

  async "only the ranges that are shown are requested from a URL"() {
    const file = sparse("remote.asdf", 8 * KIB, 8 * KIB);
    const server = await serve(file);
    const page256 = 256 * KIB;
    const range = (first, last = first) => `${first * page256}-${Math.min((last + 1) * page256, server.size) - 1}`;
    await page.click("#open-url");
    await page.fill("#url", server.url);
    await page.click("#url-form button");
    await page.waitForFunction(() => document.querySelector("#file-name").textContent === "remote.asdf");
    await line("image").waitFor();
    equal(server.ranges.splice(0), [range(0)], "opening");
    await call("children", "", 0, 10);
    await call("text", "/image");
    equal(server.ranges.splice(0), [], "the tree");
    await call("tile", "/image", null, "4000:4100,100:200", 512, 0, 1, "linear", "grey");
    // Each of the rows 4000 to 4099 has 32 KiB, and the data starts within the first KiB.
    const read = server.ranges.splice(0).map((one) => one.split("-").map(Number));
    const bytes = read.reduce((sum, [start, end]) => sum + end + 1 - start, 0);
    const [start, end] = [read[0][0], read.at(-1)[1]];
    check(start >= 4000 * 32 * KIB - page256 && end <= 4100 * 32 * KIB + page256, JSON.stringify(read));
    equal(bytes, end + 1 - start, "bytes of a tile, each once");
    await call("tile", "/image", null, "4000:4100,100:200", 512, 0, 1, "linear", "grey");
    equal(server.ranges.splice(0), [], "the same tile");
    server.close();
    return `a tile of 100 x 100 elements takes ${read.length} requests`;
  },

  async "a page of 360 pixels needs no horizontal scrolling"() {
    await page.setViewportSize({ width: 360, height: 740 });
    await open(path.join(testdata, "asdf/science.asdf"));
    for (const tab of ["tree", "data", "parts", "about"]) {
      await page.click(`#tab-${tab}`);
      equal(await page.evaluate(() => document.documentElement.scrollWidth), 360, tab);
    }
    await page.click("#tab-tree");
    await line("image").click();
    await line("data").click();
    await page.waitForSelector(".image-view");
    equal(await page.evaluate(() => document.documentElement.scrollWidth), 360, "image");
    await page.setViewportSize({ width: 1280, height: 800 });
  },

  async "a file of 256 MiB is opened and drawn"() {
    const file = path.join(folder, "large.asdf");
    const data = sparse("sparse.asdf", 8 * KIB, 8 * KIB);
    fs.copyFileSync(data, file);
    await open(file);
    const times = await page.evaluate(async () => {
      const start = performance.now();
      await window.scibin.call("node", "/image");
      const node = performance.now();
      await window.scibin.call("picture", "/image", null, ":,:", 1024);
      return [node - start, performance.now() - node];
    });
    return `node ${times[0].toFixed(0)} ms, image ${times[1].toFixed(0)} ms`;
  },
};

let failures = 0;
try {
  await page.goto(address);
  const module = fs.readFileSync(path.join(root, "target/web/scibin_web_bg.wasm"));
  console.log(`module: ${module.length} bytes, gzip ${zlib.gzipSync(module).length}`);
  for (const [name, test] of Object.entries(tests)) {
    const start = performance.now();
    try {
      const result = await test();
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      console.log(`ok: ${name} (${[result, `${seconds} s`].filter(Boolean).join("; ")})`);
    } catch (error) {
      failures += 1;
      console.log(`FAILED: ${name}: ${error.message}`);
    }
  }
  if (problems.length) {
    failures += 1;
    console.log(`FAILED: errors of the page: ${problems.join("\n")}`);
  }
} finally {
  await context.close();
  fs.rmSync(folder, { recursive: true, force: true });
}
process.exit(failures ? 1 : 0);
