// The space-time diagram of a run by hand: nodes and messages to click, heads to drag.

import { button, h, keepNames, placeNames, refill, s, stepsOf } from "./dom.ts";
import type { Flight, NodeView, View } from "./protocol.ts";

export interface Hands {
  make(move: string): void;
  reorder(at: number, to: number): void;
  say(words: string): void;
}

const PHASES = { idle: "idle", waiting: "waits", inside: "inside", down: "down" };

export class Stage {
  readonly element = h("section", { class: "stage", "aria-label": "Space-time diagram" });
  readonly messages = h("section", { class: "messages", tabindex: -1, "aria-label": "Messages under way" });
  private readonly cards = h("div", { class: "cards" });
  private readonly paper = h("div", { class: "paper", tabindex: 0, "aria-label": "Diagram" });
  private readonly tip = h("div", { class: "tip", role: "tooltip", hidden: true });
  private view: View | null = null;

  constructor(private readonly hands: Hands) {
    this.element.append(this.cards, this.paper, this.tip);
    keepNames(this.paper);
    this.paper.addEventListener("pointermove", (event) => this.hover(event));
    this.paper.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.paper.addEventListener("pointerdown", (event) => this.press(event));
  }

  show(view: View): void {
    this.view = view;
    this.paper.innerHTML = view.svg;
    for (const title of this.paper.querySelectorAll("[data-steps] > title")) title.remove();
    for (const flight of view.flying) this.mark(flight);
    this.showCards(view);
    this.showMessages(view);
    this.paper.scrollLeft = (view.places.at(-1) ?? 0) + 170 - this.paper.clientWidth;
    placeNames(this.paper); // there is no event if it was there already
  }

  private mark(flight: Flight): void {
    for (const drawn of this.drawn(flight.step)) {
      drawn.classList.add(flight.blocked ? "blocked" : "deliverable");
    }
  }

  private drawn(step: number | null): Element[] {
    const all = [...this.paper.querySelectorAll(".message[data-steps], .label[data-steps]")];
    return all.filter((element) => stepsOf(element)[0] === step);
  }

  // Nodes, each beside its life line

  private showCards(view: View): void {
    const rows = Object.values(view.rows);
    const gap = rows.length > 1 ? (rows[1] ?? 0) - (rows[0] ?? 0) : 110;
    const above = Math.max(0, gap / 2 - (rows[0] ?? 0)); // room for the first card
    this.paper.style.paddingTop = `${above}px`;
    this.cards.style.setProperty("--height", `${(rows.at(-1) ?? 0) + gap / 2 + above}px`);
    const top = (node: NodeView): number => (view.rows[String(node.node)] ?? 0) - gap / 2 + above;
    refill(this.cards, view.nodes.map((node) => this.card(node, top(node), gap)));
  }

  private card(node: NodeView, top: number, height: number): HTMLElement {
    const actions = node.actions.map((action) =>
      button(action.words, () => this.hands.make(action.move), { "data-move": action.move }),
    );
    const fields = node.fields.map((field) =>
      h(
        "span",
        { class: field.before === null ? "field" : "field changed", title: field.before === null ? field.name : `before: ${field.before}` },
        h("i", {}, field.name),
        " ",
        h("b", {}, field.value),
      ),
    );
    return h(
      "article",
      { class: `card ${node.phase}`, "data-node": node.node, tabindex: -1, style: `--top:${top}px;--size:${height}px` },
      h("header", {}, h("strong", {}, `node ${node.node}`), h("em", {}, PHASES[node.phase]), ...actions),
      h("p", { class: "fields" }, ...fields),
    );
  }

  // Messages under way, as buttons

  private showMessages(view: View): void {
    const rows = view.flying.map((flight) => this.row(flight, view));
    const { lose, duplicate } = view.forbids;
    const faults = [lose && "lost", duplicate && "duplicated"].filter(Boolean).join(" or ");
    const forbids = `No message is ${faults} here; the network of this algorithm: ${lose || duplicate}.`;
    const content = [
      h("h2", {}, "Under way ", h("small", {}, String(view.flying.length))),
      rows.length ? h("ul", {}, ...rows) : h("p", { class: "faint" }, "No message is under way."),
      rows.length > 0 && faults !== "" && h("p", { class: "faint forbids" }, forbids),
    ];
    refill(this.messages, content, ".deliver:enabled");
  }

  private row(flight: Flight, view: View): HTMLLIElement {
    const over = view.status.kind === "broken";
    const { number, sender, receiver, label, blocked } = flight;
    const what = `${label} from ${sender} to ${receiver}`;
    const more = (move: string, face: string, words: string): HTMLButtonElement =>
      button(face, () => this.hands.make(`${move}${number}`), { title: `${words} ${what}`, "aria-label": `${words} ${what}`, disabled: over });
    return h(
      "li",
      { mouseenter: () => this.light(flight.step, true), mouseleave: () => this.light(flight.step, false) },
      button(`${sender} → ${receiver} ${label}`, () => this.hands.make(`d${number}`), {
        class: "deliver",
        "data-move": `d${number}`,
        title: blocked || `deliver ${what}`,
        disabled: over || blocked !== "",
      }),
      flight.faults && !view.forbids.lose && more("x", "lose", "lose"),
      flight.faults && !view.forbids.duplicate && more("u", "twice", "duplicate"),
    );
  }

  private light(step: number | null, on: boolean): void {
    for (const drawn of this.drawn(step)) drawn.classList.toggle("lit", on);
  }

  // What a message did

  private hover(event: PointerEvent): void {
    const drawn = (event.target as Element).closest("[data-steps]");
    const words = drawn && this.view ? this.story(drawn) : "";
    this.tip.hidden = !words;
    this.tip.textContent = words;
    const box = this.element.getBoundingClientRect();
    this.tip.style.left = `${Math.min(event.clientX - box.left + 14, box.width - 260)}px`;
    this.tip.style.top = `${event.clientY - box.top + 18}px`;
  }

  private story(drawn: Element): string {
    const view = this.view as View;
    const steps = stepsOf(drawn);
    const lines = steps.map((step) => view.steps[step] ?? "");
    const last = steps.at(-1) ?? 0;
    const move = view.ends.findIndex((end) => end > last) - 1;
    if (move < 0) return lines.join("\n");
    const follows = view.steps.slice(last + 1, view.ends[move + 1]);
    return [...lines, ...follows.map((step) => `  then ${step}`), ...(view.did[move] ?? []).map((did) => `  ${did}`)].join("\n");
  }

  // Click to deliver, drag to deliver at another time

  private press(event: PointerEvent): void {
    const drawn = (event.target as Element).closest(".message, .label");
    const view = this.view;
    if (!drawn || !view || event.button !== 0) return;
    const steps = stepsOf(drawn);
    const flight = view.flying.find((found) => found.step === steps[0]);
    const arrival = steps[1];
    if (arrival === undefined || (flight && steps.length < 2)) {
      if (flight?.blocked) this.hands.say(flight.blocked);
      else if (flight) this.hands.make(`d${flight.number}`);
      return;
    }
    event.preventDefault();
    this.drag(event, view, arrival);
  }

  private drag(event: PointerEvent, view: View, arrival: number): void {
    const svg = this.paper.querySelector("svg");
    const at = view.ends.findIndex((end) => end > arrival) - 1;
    const leg = (event.target as Element).closest(".message")?.querySelector("path.leg, path.hit");
    const [, x0, y0] = /M(\S+) (\S+?)[LQ]/.exec(leg?.getAttribute("d") ?? "") ?? [];
    if (!svg || at < 0) return;
    const row = view.rows[view.steps[arrival]?.match(/▶ (\d+)/)?.[1] ?? ""] ?? 0;
    const ghost = s("line", { class: "ghost", x1: x0 ?? 0, y1: y0 ?? 0, x2: x0 ?? 0, y2: row });
    const place = (e: PointerEvent): number => e.clientX - svg.getBoundingClientRect().left;
    let moved = false;
    const move = (e: PointerEvent): void => {
      if (!moved && Math.abs(e.clientX - event.clientX) < 5) return;
      moved = true;
      svg.append(ghost);
      ghost.setAttribute("x2", String(place(e)));
    };
    const drop = (e: PointerEvent): void => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", drop);
      window.removeEventListener("pointercancel", drop); // the finger scrolls, and drags nothing
      ghost.remove();
      if (!moved || e.type === "pointercancel") return;
      const others = view.places.slice(1).filter((_, i) => i !== at);
      const to = others.filter((x) => x < place(e)).length;
      if (to !== at) this.hands.reorder(at, to);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", drop);
    window.addEventListener("pointercancel", drop);
  }
}
