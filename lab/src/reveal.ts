// A drawing that is shown up to a moment: what lies to the right of it is not drawn.

import { s } from "./dom.ts";

let count = 0;

export class Reveal {
  private readonly window: SVGElement;
  private readonly cursor: SVGElement;
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
    for (const child of [...svg.children]) {
      if (!fixed.has(child.tagName) && !child.matches(".paper, .names, .life, .axis")) past.append(child);
    }
    svg.append(s("clipPath", { id }, this.window), past, this.cursor);
    const names = svg.querySelector(":scope > .names");
    if (names) svg.append(names);
  }

  to(x: number, follow = true): void {
    this.window.setAttribute("width", String(Math.max(0, x + 1)));
    this.cursor.setAttribute("x1", String(x));
    this.cursor.setAttribute("x2", String(x));
    const { scrollLeft, clientWidth } = this.host;
    if (follow && (x > scrollLeft + 0.85 * clientWidth || x < scrollLeft + 80)) this.host.scrollLeft = x - clientWidth / 2;
  }

  mark(x: number): void {
    const svg = this.host.querySelector("svg");
    svg?.append(s("line", { class: "difference", x1: x, x2: x, y1: 0, y2: svg.viewBox.baseVal.height }));
  }
}
