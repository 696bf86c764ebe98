// Elements in one expression, and what is shared by the panels.

type Child = Node | string | null | false;
type Properties = Record<string, string | number | boolean | EventListener | null>;

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, String(value));
  }
  made.append(...shown(children));
  return made;
}

function shown(children: Child[]): (Node | string)[] {
  return children.filter((child): child is Node | string => child !== null && child !== false);
}

// 1 entry, 2 entries
export function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

const SVG = "http://www.w3.org/2000/svg";

export function s(tag: string, properties: Record<string, string | number> = {}, ...children: (Node | string)[]): SVGElement {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(properties)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

export function button(words: string, click: () => void, more: Properties = {}): HTMLButtonElement {
  return h("button", { type: "button", click, ...more }, words);
}

export function labelled(words: string, field: HTMLElement): HTMLLabelElement {
  return h("label", {}, h("span", {}, words), field);
}

export function choice(options: [string, string][], chosen: string, change: (value: string) => void): HTMLSelectElement {
  const made = h("select", { change: () => change(made.value) });
  for (const [value, words] of options) made.append(new Option(words, value, false, value === chosen));
  return made;
}

// Put other children into a host.  The focus stays where it was: on the same element, on the one
// that has taken its place in the list (`rows`), or else around it.
export function refill(host: HTMLElement, children: Child[], rows = ""): void {
  const focused = document.activeElement;
  const list = (): Element[] => (rows ? [...host.querySelectorAll(rows)] : []);
  const place = focused ? list().indexOf(focused) : -1;
  const around = focused && focused !== host && host.contains(focused) ? selectors(focused, host) : [];
  host.replaceChildren(...shown(children));
  if (!around.length) return;
  const next = place < 0 ? [] : list().slice(0, place + 1).slice(-1);
  const again = around.map((selector) => host.querySelector(selector));
  for (const found of [again[0], ...next, ...again, host] as (HTMLElement | null)[]) {
    found?.focus({ preventScroll: true });
    if (found && found === document.activeElement) return;
  }
}

// What names an element, and those around it, up to a host.
function selectors(element: Element, host: Element): string[] {
  const found = [];
  for (let at: Element | null = element; at && at !== host; at = at.parentElement) {
    const name = [...at.attributes].find(({ name }) => name === "id" || name.startsWith("data-"));
    found.push(name ? `[${name.name}="${CSS.escape(name.value)}"]` : ":not(*)");
  }
  return found;
}

// The steps that an element of a drawing stands for.
export function stepsOf(drawn: Element): number[] {
  return (drawn.getAttribute("data-steps") ?? "").split(" ").filter(Boolean).map(Number);
}

export function download(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// The names of the nodes stay in sight while a diagram is scrolled.
export function keepNames(paper: HTMLElement): void {
  paper.addEventListener("scroll", () => placeNames(paper));
}

export function placeNames(paper: HTMLElement): void {
  paper.querySelector("svg > .names")?.setAttribute("transform", `translate(${paper.scrollLeft} 0)`);
}
