// The state of every node and the wait-for graph at one step: showState(step).
//
// The page's data has changes only (traces/stepping.py): they are applied up to the step.
"use strict";

const showState = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const box = document.getElementById("now");
  const FEW = 6; // nodes whose states are all shown; of more, those that have changed
  const SVG = "http://www.w3.org/2000/svg";

  function make(name, attributes = {}, ...inside) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  }

  function draw(name, attributes, ...inside) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  }

  // At a step

  function statesAt(step) {
    const fields = new Map();
    let changed = null; // the last change: of which step and node, and the values before
    for (const [at, node, news] of data.states) {
      if (at > step) break;
      const now = fields.get(node) ?? {};
      const before = Object.fromEntries(Object.keys(news).map((name) => [name, now[name]]));
      changed = { at, node, before };
      fields.set(node, { ...now, ...news });
    }
    return { fields, changed };
  }

  function waitsAt(step) {
    const edges = new Map();
    let found = { at: -1, circle: [], owed: [] };
    for (const [at, begun, over, circle, owed] of data.waits) {
      if (at > step) break;
      for (const [node, other] of over) edges.delete(`${node} ${other}`);
      for (const edge of begun) edges.set(`${edge[0]} ${edge[1]}`, edge);
      found = { at, circle, owed };
    }
    return { ...found, edges: [...edges.values()] };
  }

  // The phases follow from the steps: their words are the page's own

  const lines = [...document.querySelectorAll("#steps li")];
  const phaseAfter = { requests: "waiting", enters: "inside", leaves: "", crashes: "down", restarts: "" };
  const said = lines.map((line) => /^\s*(\d+) (requests|enters|leaves|crashes|restarts)\b/.exec(line.lastChild.textContent));
  function phasesAt(step) {
    const phases = new Map();
    for (const words of said.slice(0, step + 1)) if (words) phases.set(Number(words[1]), phaseAfter[words[2]]);
    return phases;
  }

  // The graph

  function place(node, count, radius) {
    const angle = (2 * Math.PI * (node - 1)) / count - Math.PI / 2;
    return { x: radius * Math.cos(angle), y: radius * Math.sin(angle) };
  }

  function arrow(from, to, room, bend, name, words) {
    const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
    const middle = { x: (from.x + to.x) / 2 - bend * uy, y: (from.y + to.y) / 2 + bend * ux };
    const start = `${from.x + room * ux} ${from.y + room * uy}`;
    const end = `${to.x - room * ux} ${to.y - room * uy}`;
    const kind = name.split(" ").pop();
    const path = draw("path", { class: name, d: `M${start}Q${middle.x} ${middle.y} ${end}`, "marker-end": `url(#head-${kind})` });
    path.append(draw("title", {}, words));
    return { path, middle: { x: middle.x - bend * uy / 4, y: middle.y + bend * ux / 4 } };
  }

  function head(kind) {
    const shape = draw("path", { d: "M0 0L8 4L0 8Z" });
    return draw("marker", { id: `head-${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, shape);
  }

  function graph(found, phases, count) {
    const [radius, room, letters] = count > 14 ? [150, 9, 9] : [92, 15, 12];
    const size = radius + room + 12;
    const svg = draw("svg", { class: "graph", viewBox: `${-size} ${-size} ${2 * size} ${2 * size}`, role: "img", "aria-label": "which node waits for which" });
    svg.append(draw("defs", {}, ...["waits", "many", "circle", "owed"].map(head)));
    const { circle, owed, edges } = found;
    const next = new Map(circle.map((node, i) => [node, circle[(i + 1) % circle.length]]));
    const plain = edges.length > 60 ? "waits many" : "waits";
    const inCircle = ([node, other]) => next.get(node) === other;
    for (const edge of [...edges].sort((a, b) => inCircle(a) - inCircle(b))) {
      const [node, other, why] = edge;
      const name = inCircle(edge) ? "waits circle" : plain;
      svg.append(arrow(place(node, count, radius), place(other, count, radius), room, 10, name, `${node} waits for ${other}: ${why}`).path);
    }
    for (const [node, other, what] of owed) {
      const words = `${node} owes ${what} to ${other}`;
      const { path, middle } = arrow(place(node, count, radius), place(other, count, radius), room, 34, "owed", words);
      svg.append(path, draw("text", { class: "owes", x: middle.x, y: middle.y, "font-size": 11 }, `${what} owed`));
    }
    for (let node = 1; node <= count; node++) {
      const { x, y } = place(node, count, radius);
      const name = `${phases.get(node) ?? ""}${next.has(node) ? " circle" : ""}`;
      svg.append(draw("g", { class: name }, draw("circle", { cx: x, cy: y, r: room - 1 }), draw("text", { x, y: y + letters * 0.35, "font-size": letters }, String(node))));
    }
    return svg;
  }

  function reasons({ circle, owed, edges }) {
    const next = new Map(circle.map((node, i) => [node, circle[(i + 1) % circle.length]]));
    const because = edges.filter(([node, other]) => next.get(node) === other)
      .map(([node, other, why]) => make("li", {}, `${node} waits for ${other}: ${why}`));
    const missing = owed.map(([node, other, what]) => make("li", {}, `${node} owes ${what} to ${other}`));
    const heading = circle.length
      ? [make("p", { class: "alarm" }, `Circle of waits: ${[...circle, circle[0]].join(" → ")}`)]
      : [];
    return because.length + missing.length ? [...heading, make("ul", {}, ...because, ...missing)] : heading;
  }

  // The states

  function state(node, fields, before, phase) {
    const entries = Object.entries(fields).map(([name, value]) => {
      const was = before?.[name];
      const old = was === undefined ? [] : [make("del", {}, was), " → "];
      return make("div", before && name in before ? { class: "new" } : {}, make("dt", {}, name), make("dd", {}, ...old, value));
    });
    const title = make("b", {}, `node ${node} `, make("small", {}, phase ?? ""));
    return make("div", { class: before ? "state changed" : "state" }, title, make("dl", {}, ...entries));
  }

  function states(step, phases) {
    const { fields, changed } = statesAt(step);
    const latest = changed && changed.at >= 0 && moveOf(step) === changed.at ? changed : null;
    const shown = (node) => state(node, fields.get(node), latest?.node === node ? latest.before : null, phases.get(node));
    const nodes = [...fields.keys()].sort((a, b) => a - b);
    if (nodes.length <= FEW) return nodes.map(shown);
    const others = make("details", {}, make("summary", {}, latest ? "the other nodes" : "all nodes"));
    others.open = open;
    others.addEventListener("toggle", () => { open = others.open; });
    others.append(...nodes.filter((node) => node !== latest?.node).map(shown));
    return [...(latest ? [shown(latest.node)] : []), others];
  }
  let open = false;

  // The first step of the move that a step belongs to
  const starts = data.moves ?? [];
  const moveOf = (step) => starts.findLast((start) => start <= step) ?? -1;

  return (step) => {
    if (!data.states) return;
    box.hidden = false;
    const count = new Set(data.states.map(([, node]) => node)).size;
    const found = waitsAt(step);
    const phases = phasesAt(step);
    const place = step < 0 ? "" : ` at step ${step + 1} of ${lines.length}`;
    box.replaceChildren(
      make("h2", {}, "Waits", make("small", {}, place)),
      graph(found, phases, count),
      ...reasons(found),
      make("h2", {}, "State"),
      ...states(step, phases),
    );
  };
})();
