// The second view: which node waits for which, and the structure behind it.

import { h, s } from "./dom.ts";
import type { NodeView, Relations } from "./protocol.ts";

const SIZE = 340;
const LARGEST = 15; // the radius of a node, where there is room
const MANY = 40; // waits: thinner arrows
const LETTERS = 11 / LARGEST;

type Place = { x: number; y: number };
type Plan = { places: Map<number, Place>; radius: number };

export function drawRelations(found: Relations, nodes: NodeView[]): HTMLElement {
  const plan = planned(found.kind === "tree" || found.kind === "pointers" ? layers(found, nodes) : circle(nodes));
  const svg = s("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, class: found.waits.length > MANY ? "graph many" : "graph", role: "img", "aria-label": inWords(found) });
  svg.append(defs());
  const cycle = new Set(found.cycle.map((node, i) => `${node} ${found.cycle[(i + 1) % found.cycle.length]}`));
  for (const { from, to, name } of found.pointers) edge(svg, plan, from, to, `pointer ${name}`, `${name} of ${from} is ${to}`, name);
  for (const { from, to } of found.carried) edge(svg, plan, from, to, "carried", `the token is on its way from ${from} to ${to}`, "token");
  for (const { from, to, why } of found.waits) {
    edge(svg, plan, from, to, cycle.has(`${from} ${to}`) ? "waits cycle" : "waits", `${from} waits for ${to}: ${why}`);
  }
  for (const { from, to, what } of found.owed) edge(svg, plan, from, to, "owed", `${from} owes ${what} to ${to}`, `${what} owed`);
  for (const node of nodes) svg.append(drawNode(node, plan, found));
  return h("div", { class: "relations" }, svg as unknown as HTMLElement, legend(found), lists(found));
}

// As large as their distances allow.
function planned(places: Map<number, Place>): Plan {
  const all = [...places.values()];
  const gaps = all.flatMap((a, i) => all.slice(i + 1).map((b) => Math.hypot(a.x - b.x, a.y - b.y)));
  return { places, radius: Math.min(LARGEST, 0.46 * Math.min(...gaps, 3 * LARGEST)) };
}

function circle(nodes: NodeView[]): Map<number, Place> {
  const middle = SIZE / 2;
  return new Map(
    nodes.map(({ node }, i) => {
      const angle = (2 * Math.PI * i) / nodes.length - Math.PI / 2;
      return [node, { x: middle + (middle - 42) * Math.cos(angle), y: middle + (middle - 42) * Math.sin(angle) }];
    }),
  );
}

// A tree by its pointers: those that point to nobody above, each other one below its target.
function layers(found: Relations, nodes: NodeView[]): Map<number, Place> {
  const name = found.kind === "tree" ? "holder" : "last";
  const above = new Map(found.pointers.filter((p) => p.name === name).map((p) => [p.from, p.to]));
  const depth = (node: number): number => {
    const seen = new Set<number>();
    let at = node;
    while (above.has(at) && !seen.has(at)) {
      seen.add(at);
      at = above.get(at) as number;
    }
    return seen.size;
  };
  const rows = new Map<number, number[]>();
  for (const { node } of nodes) rows.set(depth(node), [...(rows.get(depth(node)) ?? []), node]);
  const high = Math.max(...rows.keys()) + 1;
  const places = new Map<number, Place>();
  for (const [row, members] of rows) {
    members.forEach((node, i) => {
      const bend = row % 2 ? 14 : 0;
      places.set(node, { x: ((i + 0.5) * SIZE) / members.length + bend, y: 34 + (row * (SIZE - 80)) / Math.max(high - 1, 1) });
    });
  }
  return places;
}

function defs(): SVGElement {
  const heads = ["waits", "cycle", "pointer", "owed", "carried"].map((name) =>
    s("marker", { id: `head-${name}`, class: name, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" }, s("path", { d: "M0 0L8 4L0 8Z" })),
  );
  return s("defs", {}, ...heads);
}

const BEND: Record<string, number> = { waits: 0.12, owed: 0.3, carried: -0.25, next: 0.25 };

function edge(svg: SVGElement, { places, radius }: Plan, from: number, to: number, name: string, story: string, words = ""): void {
  const [a, b] = [places.get(from), places.get(to)];
  if (!a || !b || from === to) return;
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const length = Math.hypot(dx, dy) || 1;
  const bend = BEND[name.split(" ").at(-1) === "next" ? "next" : (name.split(" ")[0] as string)] ?? 0;
  const c = { x: (a.x + b.x) / 2 - bend * dy, y: (a.y + b.y) / 2 + bend * dx };
  const cut = (end: Place): Place => {
    const way = Math.hypot(c.x - end.x, c.y - end.y) || length;
    return { x: end.x + ((c.x - end.x) * (radius + 3)) / way, y: end.y + ((c.y - end.y) * (radius + 3)) / way };
  };
  const [start, end] = [cut(a), cut(b)];
  const head = name.includes("cycle") ? "cycle" : (name.split(" ")[0] as string);
  const line = s("path", { d: `M${start.x} ${start.y}Q${c.x} ${c.y} ${end.x} ${end.y}`, "marker-end": `url(#head-${head})` });
  const group = s("g", { class: `edge ${name}`, "data-from": from, "data-to": to }, s("title", {}, story), line);
  if (words) group.append(s("text", { x: (start.x + 2 * c.x + end.x) / 4, y: (start.y + 2 * c.y + end.y) / 4 - 3 }, words));
  svg.append(group);
}

function drawNode(node: NodeView, { places, radius }: Plan, found: Relations): SVGElement {
  const { x, y } = places.get(node.node) as Place;
  const lock = found.locks.find((l) => l.member === node.node);
  const face = s("text", { x, y: y + 0.27 * radius, style: `font-size:${LETTERS * radius}px` }, String(node.node));
  const group = s("g", { class: `node ${node.phase}${found.cycle.includes(node.node) ? " cycle" : ""}` }, s("circle", { cx: x, cy: y, r: radius }), face);
  const corner = 0.73 * radius;
  if (found.token.includes(node.node)) group.append(s("circle", { class: "token", cx: x + corner, cy: y - corner, r: 0.4 * radius }, s("title", {}, "has the token")));
  if (lock && radius === LARGEST) group.append(s("text", { class: "lock", x, y: y + radius + 12 }, `locked for ${lock.for}`));
  else if (lock) group.append(s("title", {}, `locked for ${lock.for}`));
  return group;
}

function legend(found: Relations): HTMLElement {
  const entries: [string, string][] = [];
  if (found.waits.length) entries.push(["waits", "waits for"]);
  if (found.cycle.length) entries.push(["cycle", "in a circle: no node gives way"]);
  if (found.owed.length) entries.push(["owed", "a FAILED that was never sent"]);
  if (found.token.length || found.carried.length) entries.push(["token", "the token"]);
  return h("p", { class: "keys" }, ...entries.map(([name, words]) => h("span", { class: `key ${name}` }, words)));
}

function lists(found: Relations): HTMLElement {
  const cycle = found.cycle.length ? [`Circle: ${[...found.cycle, found.cycle[0]].join(" → ")}`] : [];
  const owed = found.owed.map((o) => `Node ${o.from} owes ${o.what} to node ${o.to}.`);
  const waits = found.waits.map((w) => `${w.from} waits for ${w.to}: ${w.why}`);
  const sets = found.sets.map((set) => `S${set.node} = {${set.members.join(" ")}}`);
  const queues = Object.entries(found.queues).map(([node, queue]) => `${node}: ${queue}`);
  const part = (title: string, lines: string[], name = ""): HTMLElement | null =>
    lines.length ? h("div", { class: name }, h("h3", {}, title), h("ul", {}, ...lines.map((line) => h("li", {}, line)))) : null;
  return h(
    "div",
    { class: "lists" },
    part("Deadlocked", found.cycle.length ? [...cycle, ...owed] : [], "alarm"),
    part("Owed", found.cycle.length ? [] : owed),
    part("Waiting", [...new Set(waits)]),
    part("Queues", queues),
    part("Quorums", sets),
  );
}

function inWords(found: Relations): string {
  const waits = found.waits.map((w) => `${w.from} waits for ${w.to}`);
  return waits.length ? `Wait-for graph: ${waits.join(", ")}` : "Wait-for graph: no node waits for another";
}
