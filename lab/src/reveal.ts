// A drawing that is shown up to a moment: what lies to the right of it is not drawn.  Words are
// shown as a whole or not at all.

import { placeNames, s } from "./dom.ts";

let count = 0;

export class Reveal {
  private readonly window: SVGElement;
  private readonly cursor: SVGElement;
  private readonly words: { drawn: SVGElement; x: number }[] = []; // by their places
  private said = 0; // how many of them are shown
  readonly width: number;

  constructor(private readonly host: HTMLElement, drawing: string) {
    host.innerHTML = drawing;
    const svg = host.querySelector("svg") as SVGSVGElement;
    const { width, height } = svg.viewBox.baseVal;
    this.width = width;
    const id = `shown-${++count}`;
    this.window = s("rect", { x: 0, y: 0, width, height });
    this.cursor = s("line", { class: "cursor", y1: 0, y2: height, x1: width, x2: width });
    const fixed = new Set(["title", "desc", "style", "defs"]);
    const past = s("g", { "clip-path": `url(#${id})` });
    const words = s("g");
    for (const child of [...svg.children] as SVGElement[]) {
      if (fixed.has(child.tagName) || child.matches(".paper, .names, .life, .axis")) continue;
      (child.tagName === "text" ? words : past).append(child);
    }
    this.words = ([...words.children] as SVGElement[]).map((drawn) => ({ drawn, x: Number(drawn.getAttribute("x")) }));
    this.words.sort((a, b) => a.x - b.x);
    this.said = this.words.length;
    svg.append(s("clipPath", { id }, this.window), past, words, this.cursor);
    const names = svg.querySelector(":scope > .names");
    if (names) svg.append(names);
    placeNames(host);
  }

  to(x: number, follow = true): void {
    this.window.setAttribute("width", String(Math.max(0, x + 1)));
    this.cursor.setAttribute("x1", String(x));
    this.cursor.setAttribute("x2", String(x));
    for (; (this.words[this.said]?.x ?? Infinity) <= x; this.said += 1) this.words[this.said]?.drawn.removeAttribute("visibility");
    for (; (this.words[this.said - 1]?.x ?? -Infinity) > x; this.said -= 1) this.words[this.said - 1]?.drawn.setAttribute("visibility", "hidden");
    const { scrollLeft, clientWidth } = this.host;
    if (follow && (x > scrollLeft + 0.85 * clientWidth || x < scrollLeft + 80)) this.host.scrollLeft = x - clientWidth / 2;
  }

  mark(x: number): void {
    const svg = this.host.querySelector("svg");
    svg?.append(s("line", { class: "difference", x1: x, x2: x, y1: 0, y2: svg.viewBox.baseVal.height }));
  }
}
