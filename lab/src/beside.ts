// Two algorithms side by side, on the same moves or the same requests.

import { button, choice, count, h, keepNames, labelled, refill } from "./dom.ts";
import type { Engine } from "./engine.ts";
import type { Beside, Run, Watched } from "./protocol.ts";
import { Reveal } from "./reveal.ts";

const HOW: [string, string][] = [["requests", "the same requests, simulated"], ["moves", "the steps played by hand"]];

export class SideBySide {
  readonly element = h("section", { class: "beside", "aria-label": "Side by side" });
  private readonly options = h("div", { class: "options" });
  private readonly words = h("p", { class: "verdict", role: "status" });
  private readonly pages = [h("div", { class: "half" }), h("div", { class: "half" })];
  private other = "";
  private how = "requests";
  private seed = 1;

  constructor(
    private readonly engine: Engine,
    private readonly names: [string, string][],
    private readonly run: () => Run,
    private readonly say: (error: unknown) => void,
  ) {
    this.element.append(this.options, this.words, ...this.pages);
  }

  // The other one, unless chosen: what a piece of the museum varies, or another name.
  private guess(name: string): string {
    const known = this.names.map(([value]) => value);
    const parts = name.split("-");
    for (let length = parts.length - 1; length > 0; length -= 1) {
      const shorter = parts.slice(0, length).join("-");
      if (known.includes(shorter)) return shorter;
    }
    return name === "ricart-agrawala" ? "maekawa" : "ricart-agrawala";
  }

  async load(): Promise<void> {
    const run = this.run();
    this.other ||= this.guess(run.algorithm);
    this.showOptions();
    const left = { ...run, moves: this.how === "moves" ? run.moves : [] };
    const settings = this.takesSame(run) ? run.settings : {};
    const right = { algorithm: this.other, nodes: run.nodes, settings };
    try {
      this.show(await this.ask(left, right));
      this.say("");
    } catch (error) {
      this.say(error);
    }
  }

  private showOptions(): void {
    const other = choice(this.names, this.other, (value) => this.set(() => (this.other = value)));
    const how = choice(HOW, this.how, (value) => this.set(() => (this.how = value)));
    const again = button("Other requests", () => this.set(() => (this.seed += 1)));
    [other, how, again].forEach((field, i) => (field.dataset.option = String(i)));
    refill(this.options, [labelled("beside", other), labelled("on", how), again]);
  }

  private takesSame(run: Run): boolean {
    return this.guess(run.algorithm) === this.other || run.algorithm === this.other;
  }

  private ask(left: Run, right: object): Promise<Beside> {
    return this.engine.ask<Beside>({ do: "beside", left, right, seed: this.seed, entries: 6 });
  }

  private set(change: () => void): void {
    change();
    void this.load();
  }

  forget(played: boolean): void {
    this.other = "";
    this.how = played ? "moves" : "requests";
  }

  private show(found: Beside): void {
    const { text, left } = found.difference;
    this.words.textContent = `${left === null ? "No difference" : "First difference"}: ${text}`;
    this.half(0, found.left, found.difference.left);
    this.half(1, found.right, found.difference.right);
  }

  private half(which: number, found: Watched, step: number | null): void {
    const paper = h("div", { class: "paper", tabindex: 0, "aria-label": `Diagram of ${found.run.algorithm}` });
    keepNames(paper);
    const [messages, entries] = [found.messages.at(-1) ?? 0, found.entries.at(-1) ?? 0];
    const counted = `${count(messages, "message", "messages")}, ${count(entries, "entry", "entries")}`;
    const counts = `${counted}${found.trouble ? `; ${found.trouble}` : ""}`;
    this.pages[which]?.replaceChildren(h("h2", {}, found.run.algorithm, " ", h("small", {}, counts)), paper);
    const reveal = new Reveal(paper, found.svg);
    reveal.to(reveal.width, false);
    const x = step === null ? undefined : found.places[step];
    if (x !== undefined) {
      reveal.mark(x);
      paper.scrollLeft = x - paper.clientWidth / 2;
    }
  }
}
