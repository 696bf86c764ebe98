// Watch a simulated run: play, pause, speed; messages per entry as it goes.

import { button, choice, count, h, keepNames, labelled } from "./dom.ts";
import type { Engine } from "./engine.ts";
import type { Setup, Watched } from "./protocol.ts";
import { Reveal } from "./reveal.ts";

const LOADS: [string, string][] = [["heavy", "heavy"], ["light", "light"], ["0.1", "0.1"], ["0.3", "0.3"]];
const LATENCIES: [string, string][] = [
  ["uniform:0.5,1.5", "uniform 0.5–1.5"],
  ["constant:1", "constant 1"],
  ["exponential:1", "exponential, mean 1"],
  ["matrix:1,5/5,1", "two sites: 1 within, 5 between"],
];
const SPEEDS: [string, string][] = [["0.5", "half"], ["1", "1"], ["2", "2"], ["5", "5"], ["20", "20"]];

export class Watch {
  readonly element = h("section", { class: "watch", "aria-label": "Simulated run" });
  private readonly paper = h("div", { class: "paper", tabindex: 0, "aria-label": "Diagram" });
  private readonly counts = h("p", { class: "counts", role: "status" });
  private readonly now = h("p", { class: "now" });
  private readonly slider = h("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Step", input: () => this.seek(Number(this.slider.value)) });
  private readonly playButton = button("Play", () => this.toggle(), { class: "primary" });
  private readonly asked: Record<string, string> = { load: "heavy", latency: "uniform:0.5,1.5", entries: "8", seed: "1", hold: "1" };
  private speed = 1;
  private run: Watched | null = null;
  private reveal: Reveal | null = null;
  private time = 0;
  private frame = 0;

  constructor(
    private readonly engine: Engine,
    private readonly setup: () => Setup,
    private readonly say: (error: unknown) => void,
  ) {
    const number = (name: string, min: number, max: number): HTMLInputElement => {
      const field = h("input", { type: "number", min, max, value: this.asked[name] ?? "", change: () => this.choose(name, field.value) });
      return field;
    };
    keepNames(this.paper);
    this.element.append(
      h(
        "div",
        { class: "options" },
        labelled("load", choice(LOADS, "heavy", (value) => this.choose("load", value))),
        labelled("latency", choice(LATENCIES, "uniform:0.5,1.5", (value) => this.choose("latency", value))),
        labelled("entries", number("entries", 1, 200)),
        labelled("inside for", number("hold", 0, 100)),
        labelled("seed", number("seed", 0, 1e9)),
        labelled("speed", choice(SPEEDS, "1", (value) => (this.speed = Number(value)))),
      ),
      h("div", { class: "tools" }, this.playButton, button("◀ Step", () => this.step(-1)), button("Step ▶", () => this.step(1)), this.slider),
      this.counts,
      this.paper,
      this.now,
    );
  }

  private choose(name: string, value: string): void {
    this.asked[name] = value;
    void this.load();
  }

  async load(): Promise<void> {
    this.pause();
    try {
      this.run = await this.engine.ask<Watched>({ do: "watch", ...this.setup(), ...this.asked });
    } catch (error) {
      this.say(error);
      return;
    }
    this.reveal = new Reveal(this.paper, this.run.svg);
    this.slider.max = String(this.run.steps.length - 1);
    this.seek(0);
    this.say(this.run.trouble);
  }

  private get at(): number {
    const times = this.run?.times ?? [];
    const after = times.findIndex((time) => time > this.time);
    return (after < 0 ? times.length : after) - 1;
  }

  private seek(step: number): void {
    this.time = this.run?.times[step] ?? 0;
    this.show(step);
  }

  private step(by: number): void {
    this.pause();
    const last = (this.run?.steps.length ?? 1) - 1;
    this.seek(Math.min(Math.max(Number(this.slider.value) + by, 0), last));
  }

  private show(step: number): void {
    const run = this.run;
    if (!run) return;
    const [messages, entries] = [run.messages[step] ?? 0, run.entries[step] ?? 0];
    this.reveal?.to(this.place());
    this.slider.value = String(step);
    this.now.textContent = run.steps[step] ?? "";
    const each = entries ? (messages / entries).toFixed(2) : "–";
    const counted = `${count(messages, "message", "messages")}, ${count(entries, "entry", "entries")}`;
    this.counts.textContent = `${counted}: ${each} per entry. According to the source: ${run.formula}`;
  }

  // Between two steps time passes evenly, so that arrows grow.
  private place(): number {
    const { times, places } = this.run as Watched;
    const at = this.at;
    const [t0, t1, x0, x1] = [times[at] ?? 0, times[at + 1], places[at] ?? 0, places[at + 1]];
    if (t1 === undefined || x1 === undefined || t1 === t0) return x0;
    return x0 + ((x1 - x0) * (this.time - t0)) / (t1 - t0);
  }

  private toggle(): void {
    if (this.frame) this.pause();
    else this.play();
  }

  private play(): void {
    const end = this.run?.times.at(-1) ?? 0;
    if (this.time >= end) this.seek(0);
    this.playButton.textContent = "Pause";
    let before = performance.now();
    const tick = (now: number): void => {
      this.time = Math.min(this.time + ((now - before) / 1000) * this.speed, end);
      before = now;
      this.show(this.at);
      if (this.time >= end) this.pause();
      else this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }

  pause(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.playButton.textContent = "Play";
  }
}
