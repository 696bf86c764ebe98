// Stories as guided tours, and challenges; solved ones are remembered in this browser.

import { button, h, refill } from "./dom.ts";
import type { Engine } from "./engine.ts";
import type { Catalogue, Challenge, Run, Story } from "./protocol.ts";

export interface Guide {
  start(run: Run, at: number): Promise<void>; // play it, in the tab for that
  go(run: Run, at: number): Promise<void>;
  say(error: unknown): void;
}

const KEY = "peerlock-lab-solved";

export class Tours {
  readonly element = h("section", { class: "tours", "aria-label": "Stories and challenges" });
  readonly banner = h("aside", { class: "banner", hidden: true, tabindex: -1, "aria-live": "polite" });
  private story: Story | null = null;
  private stop = 0;
  private challenge: Challenge | null = null;

  constructor(
    private readonly engine: Engine,
    private readonly catalogue: Catalogue,
    private readonly guide: Guide,
  ) {
    this.list();
  }

  private list(): void {
    const solved = this.solved();
    const stories = this.catalogue.stories.map(({ name, title }) => h("li", {}, button(title, () => this.guard(this.tell(name)), { "data-story": name })));
    const challenges = this.catalogue.challenges.map((challenge) =>
      h(
        "li",
        { class: solved.has(challenge.name) ? "solved" : "" },
        button(challenge.title, () => this.guard(this.take(challenge)), { "data-challenge": challenge.name }),
        h("p", {}, challenge.text, " ", h("small", {}, `(${challenge.run.algorithm}, ${challenge.run.nodes} nodes)`)),
      ),
    );
    this.element.replaceChildren(
      h("h2", {}, "Stories"),
      h("p", { class: "faint" }, "The papers' own examples, step by step."),
      h("ul", {}, ...stories),
      h("h2", {}, "Challenges"),
      h("ul", {}, ...challenges),
    );
  }

  private solved(): Set<string> {
    try {
      return new Set(JSON.parse(localStorage.getItem(KEY) ?? "[]") as string[]);
    } catch {
      return new Set(); // this browser keeps nothing
    }
  }

  private remember(name: string): void {
    try {
      localStorage.setItem(KEY, JSON.stringify([...this.solved().add(name)]));
    } catch {
      // it is solved all the same
    }
    this.list();
  }

  // Stories

  async tell(name: string): Promise<void> {
    this.story = await this.engine.ask<Story>({ do: "story", name });
    this.challenge = null;
    this.stop = 0;
    await this.guide.start(this.story.run, this.story.stops[0]?.at ?? 0);
    this.showStop();
    this.banner.focus();
  }

  private async turn(by: number): Promise<void> {
    const story = this.story;
    const stop = story?.stops[this.stop + by];
    if (!story || !stop) return;
    this.stop += by;
    // What a stop says is about the steps that follow it: they are shown with it.
    const next = story.stops[this.stop + 1];
    await this.guide.go(story.run, next ? next.at : stop.at);
    this.showStop();
  }

  private showStop(): void {
    const story = this.story as Story;
    const last = story.stops.length - 1;
    const tools = [
      button("Back", () => void this.turn(-1), { disabled: this.stop === 0, "data-turn": "back" }),
      button("Next", () => void this.turn(1), { class: "primary", disabled: this.stop === last, "data-turn": "next" }),
      h("small", {}, `${this.stop + 1} of ${last + 1}`),
      button("Leave the tour", () => this.leave()),
    ];
    this.banner.hidden = false;
    const text = story.stops[this.stop]?.text ?? "";
    refill(this.banner, [h("strong", {}, story.title), h("p", {}, text), h("div", { class: "tools" }, ...tools)]);
  }

  // Challenges

  private async take(challenge: Challenge): Promise<void> {
    this.story = null;
    this.challenge = challenge;
    await this.guide.start(challenge.run, challenge.run.moves.length);
    this.showChallenge("");
    this.banner.focus();
  }

  private showChallenge(outcome: string): void {
    const challenge = this.challenge as Challenge;
    const choices = challenge.choices.map((node) => button(`node ${node}`, () => this.guard(this.judge({ choice: node })), { "data-choice": node }));
    this.banner.hidden = false;
    refill(this.banner, [
      h("strong", {}, challenge.title),
      h("p", {}, challenge.text),
      outcome !== "" && h("p", { class: "outcome" }, outcome),
      h("div", { class: "tools" }, ...choices, button("Leave the challenge", () => this.leave())),
    ]);
  }

  // After each step: is it solved?
  watch(run: Run): void {
    if (this.challenge && !this.challenge.choices.length) this.guard(this.judge({ run }));
  }

  private async judge(asked: object): Promise<void> {
    const challenge = this.challenge as Challenge;
    const found = await this.engine.ask<{ solved: boolean; text: string }>({ do: "judge", challenge: challenge.name, ...asked });
    if (this.challenge !== challenge) return;
    if (found.solved) this.remember(challenge.name);
    if (found.text) this.showChallenge(found.text);
  }

  private guard(doing: Promise<void>): void {
    doing.catch((error: unknown) => this.guide.say(error));
  }

  leave(): void {
    this.story = this.challenge = null;
    this.banner.hidden = true;
  }
}
