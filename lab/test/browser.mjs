// Each thing that a person can do, in a real browser: node --test test/browser.mjs
//
// The page is that of out/site/lab; `make lab` builds it.  Screenshots go to SHOTS, if set.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const SITE = new URL("../../out/site/lab/", import.meta.url).pathname;
const CHROMIUM = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".json": "application/json" };
const NATIVE = process.env.LAB; // the address of `peerlock lab`, to test that instead
const SHOTS = process.env.SHOTS;
const SLOW = 60_000;

let server, browser, context, page, address;
const wrong = []; // errors in the console, requests to other hosts

function serve(request, response) {
  const path = join(SITE, new URL(request.url, "http://x").pathname.replace(/\/$/, "/index.html"));
  if (!path.startsWith(SITE) || !existsSync(path)) return response.writeHead(404).end();
  const headers = { "Content-Type": TYPES[extname(path)] ?? "application/octet-stream", "Cache-Control": "max-age=3600" };
  return response.writeHead(200, headers).end(readFileSync(path));
}

async function visit(options = {}) {
  const made = await browser.newContext({ viewport: { width: 1366, height: 900 }, acceptDownloads: true, ...options });
  const shown = await made.newPage();
  shown.setDefaultTimeout(SLOW);
  shown.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  shown.on("pageerror", (error) => wrong.push(String(error)));
  shown.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(address) && !/^(data|blob):/.test(url)) wrong.push(`request to ${url}`);
  });
  return shown;
}

async function open(hash = "", shown = page, search = "") {
  await shown.goto("about:blank");
  await shown.goto(`${address}${search}${hash}`);
  await shown.waitForSelector("body.ready");
}

const step = (shown = page) => shown.textContent(".play .tools .faint");
const shot = async (name, shown = page) => SHOTS && shown.screenshot({ path: join(SHOTS, `${name}.png`) });

async function move(name, shown = page) {
  const before = await step(shown);
  await shown.click(`[data-move="${name}"]`);
  await shown.waitForFunction((was) => document.querySelector(".play .tools .faint").textContent !== was, before);
}

async function read(form, shown = page) {
  const [file] = await Promise.all([shown.waitForEvent("download"), shown.selectOption("#download", form)]);
  return readFileSync(await file.path(), "utf8");
}

before(async () => {
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  if (NATIVE) address = NATIVE;
  else {
    server = createServer(serve).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    address = `http://127.0.0.1:${server.address().port}/`;
  }
  page = await visit();
  context = page.context();
});

after(async () => {
  await browser?.close();
  server?.close();
});

test("it starts, cold and warm", { timeout: 2 * SLOW }, async () => {
  const times = [];
  for (const _ of ["cold", "warm"]) {
    const began = performance.now();
    await open();
    times.push(Math.round(performance.now() - began));
  }
  console.log(`# ready after ${times[0]} ms cold, ${times[1]} ms warm`);
  assert.equal(await page.textContent("#notice"), "");
});

test("1: play by hand, until a node is inside", { timeout: SLOW }, async () => {
  await open("#algorithm=ricart-agrawala");
  await move("r1");
  assert.equal(await page.locator(".paper .deliverable.message").count(), 2);
  await page.locator(".paper .deliverable.message .hit").first().click({ force: true });
  await page.waitForFunction(() => /step 2/.test(document.querySelector(".play .tools .faint").textContent));
  await page.click(".play .tools button:has-text('Deliver all')");
  await page.waitForSelector(".card.inside[data-node='1']");
  await move("l1");
  await move("c2");
  assert.equal(await page.locator(".card.down").count(), 1);
  await move("s2");
  await move("r3");
  assert.match(await step(), /step \d+ of \d+/);
});

test("1: messages are lost and duplicated where the network allows it", { timeout: SLOW }, async () => {
  await open("#algorithm=ricart-agrawala");
  await move("r1");
  assert.equal(await page.locator(".messages button:has-text('lose')").count(), 0);
  assert.match(await page.textContent(".forbids"), /No message is lost or duplicated here.*no loss, no duplicates/);
  await open("#algorithm=nishio-li-manning");
  await move("r2");
  await page.click(".messages button:has-text('lose') >> nth=0");
  assert.equal(await page.locator(".messages button:has-text('twice')").count(), 0);
  assert.match(await page.textContent(".play .tools .faint"), /step 2/);
});

test("2: step back, branch, share, download", { timeout: SLOW }, async () => {
  await open("#algorithm=ricart-agrawala");
  for (const name of ["r1", "r2", "d1"]) await move(name);
  await page.click(".play .tools button:has-text('Back')");
  await page.waitForFunction(() => /step 2 of 3/.test(document.querySelector(".play .tools .faint").textContent));
  await move("d3");
  await page.click('[data-side="steps"]');
  assert.equal(await page.locator(".steps ul li").count(), 1, "the other branch is kept");
  const link = page.url();
  const data = await read(".jsonl");
  const drawing = await read(".svg");
  assert.match(drawing, /^<\?xml/);
  assert.match(await read(".py"), /def test_the_run_is_the_same/);
  const other = await visit();
  await open(new URL(link).hash, other, "?embed");
  assert.equal(await read(".jsonl", other), data);
  assert.equal(await read(".svg", other), drawing);
  assert.equal(await other.locator("h1").isVisible(), false, "?embed shows less");
  await other.context().close();
});

test("3: the state, what has changed, and what a message did", { timeout: SLOW }, async () => {
  await open("#algorithm=ricart-agrawala");
  await move("r1");
  const changed = await page.locator(".card[data-node='1'] .changed").allTextContents();
  assert.ok(changed.some((text) => text.includes("our_sequence_number 1")), String(changed));
  await move("d1");
  await page.locator(".paper .message .hit").first().hover({ force: true });
  assert.match(await page.textContent(".tip"), /REQUEST\(1\) arrives[^]*then 2 ──▶ 1 {2}REPLY is sent/);
});

test("4: break it, and see the shortest schedule to the fault", { timeout: 3 * SLOW }, async () => {
  await open("#algorithm=ricart-agrawala");
  await page.click('[data-side="code"]');
  const check = ".editor button.primary";
  await page.click(check);
  await page.waitForSelector(".verdict.holds");
  assert.match(await page.textContent(".verdict"), /holds, [\d,]+ states/);
  await edit((text) => text.replace("self.reply_deferred |= 1 << j", "self.send(j, REPLY)"));
  await page.click(".editor button:has-text('Diff')");
  await page.waitForSelector(".cm-deletedChunk, .cm-changedLine");
  await page.click(check);
  await page.waitForSelector(".verdict.fails");
  assert.match(await page.textContent(".verdict"), /inside together/);
  await page.waitForSelector(".status.broken");
  await page.click('[data-side="code"]');
  await edit((text) => text.replace("self.reply_deferred >> j & 1:", "self.reply_deferred >> j & 1"));
  await page.click(check);
  await page.waitForFunction(() => /^line \d+: /.test(document.querySelector(".verdict").textContent));
  assert.ok((await page.locator(".cm-lint-marker-error").count()) > 0);
  await page.click(".editor button:has-text('Restore')");
  await page.waitForFunction(() => /our own/.test(document.querySelector(".verdict").textContent));
});

async function edit(change) {
  const all = await page.evaluate(() => document.querySelector(".cm-content").cmTile?.view?.state.doc.toString() ?? document.querySelector(".cm-content").cmView?.view.state.doc.toString());
  const next = change(all);
  assert.notEqual(next, all, "the edit changes something");
  await page.evaluate((text) => {
    const content = document.querySelector(".cm-content");
    const view = content.cmTile?.view ?? content.cmView?.view;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  }, next);
}

test("4 and 5: maekawa-1985 ends with the 14 steps of the command line, the circle marked", { timeout: 2 * SLOW }, async () => {
  await open("#algorithm=maekawa-1985");
  await page.click('[data-side="code"]');
  await page.click(".editor button.primary");
  await page.waitForSelector(".status.deadlock");
  await page.waitForSelector(".graph .edge.cycle");
  assert.match(await step(), /step 14 of 14/);
  assert.match(await page.textContent("#notice"), /14 steps, 135,540 states/);
  assert.match(await page.textContent(".lists .alarm"), /Circle: 2 → 3 → 2.*Node 4 owes FAILED to node 3/);
  await shot("lab-deadlock");
});

test("5: the token, its pointers and queues", { timeout: SLOW }, async () => {
  await open("#algorithm=raymond");
  await move("r3");
  await page.click('[data-side="graph"]');
  assert.equal(await page.locator(".graph .token").count(), 1);
  assert.ok((await page.locator(".graph .pointer.holder").count()) > 0);
  assert.match(await page.textContent(".lists"), /request_q \[3\]/);
});

test("6: drag an arrow's head; FIFO snaps back and says why", { timeout: SLOW }, async () => {
  await open("#algorithm=ricart-agrawala");
  for (const name of ["r1", "d1", "r3", "r2"]) await move(name);
  const order = () => page.evaluate(() => [...document.querySelectorAll(".steps ol li")].map((li) => li.textContent));
  await page.click('[data-side="steps"]');
  const before = await order();
  await drag(await page.locator(".paper .message .head").first().boundingBox(), 400);
  await page.waitForFunction((was) => document.querySelectorAll(".steps ol li")[1].textContent !== was, before[1]);
  assert.equal((await order()).at(-1), before[1]);

  await open("#algorithm=lamport");
  for (const name of ["r1", "d1", "d3", "r2", "d4"]) await move(name);
  await drag(await page.locator(".paper .message .head").nth(1).boundingBox(), -400);
  await page.waitForFunction(() => document.querySelector("#notice").textContent !== "");
  assert.match(await page.textContent("#notice"), /has not been sent|FIFO forbids/);
});

async function drag(box, by) {
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + by / 2, box.y, { steps: 4 });
  await page.mouse.move(box.x + by, box.y, { steps: 4 });
  await page.mouse.up();
}

test("7: watch a simulated run", { timeout: SLOW }, async () => {
  await open("#algorithm=maekawa");
  await page.click('[data-tab="watch"]');
  await page.waitForSelector(".watch svg .cursor", { state: "attached" });
  await page.selectOption(".watch label:has-text('speed') select", "20");
  await page.click(".watch button.primary");
  await page.waitForFunction(() => /8 entries: [\d.]+ per entry/.test(document.querySelector(".counts").textContent));
  assert.match(await page.textContent(".counts"), /According to the source: 3\(K−1\)/);
  await shot("lab-watch");
  await page.selectOption(".watch label:has-text('load') select", "light");
  await page.waitForFunction(() => /^0 messages, 0 entries/.test(document.querySelector(".counts").textContent));
});

test("8: two side by side, the first difference marked", { timeout: SLOW }, async () => {
  await open("#algorithm=ricart-agrawala");
  await page.click('[data-tab="beside"]');
  await page.waitForSelector(".beside .half + .half svg");
  assert.match(await page.textContent(".beside .verdict"), /First difference: (entry|the nodes)/);
  assert.match(await page.textContent(".beside"), /maekawa/);
  await shot("lab-beside");
});

test("9: stories and challenges; a solved one is remembered", { timeout: SLOW }, async () => {
  await open();
  await page.click('[data-tab="tours"]');
  await page.click('[data-story="maekawa-figure-2"]');
  await page.waitForSelector(".banner:not([hidden])");
  for (const _ of [1, 2, 3, 4]) await page.click(".banner button.primary");
  await page.waitForFunction(() => /step 14 of 38/.test(document.querySelector(".play .tools .faint").textContent));
  await page.waitForFunction(() => /7 waits for 11/.test(document.querySelector(".banner").textContent));
  await shot("lab-story");
  await page.click('[data-tab="tours"]');
  await page.click('[data-challenge="together"]');
  for (const name of ["r1", "r2", "d1", "d2", "d3"]) await move(name);
  for (let left = 4; left && !(await page.locator(".outcome").count()); left -= 1) {
    await page.click(".messages .deliver >> nth=0").catch(() => undefined);
    await page.waitForTimeout(300);
  }
  await page.waitForSelector(".outcome");
  await open();
  await page.click('[data-tab="tours"]');
  assert.equal(await page.locator(".tours .solved [data-challenge='together']").count(), 1);
  await page.click('[data-challenge="next"]');
  await page.click('[data-choice="3"]');
  await page.waitForFunction(() => /node 3 enters next/.test(document.querySelector(".banner").textContent));
});

test("by keyboard alone", { timeout: SLOW }, async () => {
  await open("#algorithm=ricart-agrawala");
  await page.focus('[data-move="r1"]');
  await page.keyboard.press("Enter");
  await page.waitForSelector(".messages .deliver");
  for (let left = 60; left; left -= 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.classList.contains("deliver"))) break;
  }
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /step 2 of 2/.test(document.querySelector(".play .tools .faint").textContent));
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => /step 1 of 2/.test(document.querySelector(".play .tools .faint").textContent));
});

test("a phone's width, and dark", { timeout: SLOW }, async () => {
  const phone = await visit({ viewport: { width: 390, height: 800 }, colorScheme: "dark", hasTouch: true });
  await open("#algorithm=maekawa-1985", phone);
  await move("r1", phone);
  const wide = await phone.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 390, `the page is ${wide} pixels wide`);
  const paper = await phone.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(paper, "rgb(20, 24, 29)");
  if (SHOTS) await phone.screenshot({ path: join(SHOTS, "lab-phone.png"), fullPage: true });
  await phone.context().close();
});

test("bad input: a line says so, and the page stays usable", { timeout: 3 * SLOW }, async () => {
  await open("#run=1nonsense");
  assert.match(await page.textContent("#notice"), /this link is damaged/);
  await move("r1");
  await open("#algorithm=no-such-thing");
  assert.match(await page.textContent("#notice"), /unknown algorithm/);
  await page.fill("#nodes", "1000");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /use 1 to 60/.test(document.querySelector("#notice").textContent));
  await page.click('[data-side="code"]');
  await edit((text) => text.replace("        assert not self.requesting_critical_section\n", "        while True:\n            pass\n"));
  await page.click(".editor button.primary");
  await page.waitForTimeout(1500);
  await page.click(".editor button:has-text('Stop')");
  await page.waitForFunction(() => /stopped/.test(document.querySelector(".verdict").textContent));
  await page.click(".editor button:has-text('Restore')");
  await page.waitForFunction(() => /our own/.test(document.querySelector(".verdict").textContent));
  await page.selectOption(".editor label:has-text('states') select", "100000");
  await page.fill("#nodes", "5");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".card[data-node='5']");
  await page.click(".editor button.primary");
  await page.waitForFunction(() => /no proof: the limit of 100,000 states/.test(document.querySelector(".verdict").textContent));
  await move("r1");
});

test("no error in the console, and no request to another host", () => {
  assert.deepEqual(wrong, []);
});
