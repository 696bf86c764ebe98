// The page of the lab: what is chosen, the tabs, and the run by hand that they share.

import { SideBySide } from "./beside.ts";
import { button, count, download, h, refill } from "./dom.ts";
import { Editor } from "./editor.ts";
import { type Engine, EngineError, Stopped, engine as start, lacking } from "./engine.ts";
import { Head } from "./head.ts";
import { History } from "./history.ts";
import type { Catalogue, Description, Run, Setup, Verdict, View } from "./protocol.ts";
import { drawRelations } from "./relations.ts";
import { Stage } from "./stage.ts";
import { Tours } from "./tours.ts";
import { Watch } from "./watch.ts";

const FIRST = "ricart-agrawala";
const TABS = { play: "Play by hand", watch: "Watch", beside: "Side by side", tours: "Stories and challenges" };
type Tab = keyof typeof TABS;
const SIDES = { graph: "Waiting", steps: "Steps", code: "Break it" };
type Side = keyof typeof SIDES;
const find = (id: string): HTMLElement => document.getElementById(id) as HTMLElement;

class Lab {
  private history = new History({ algorithm: FIRST, nodes: 3, settings: {} });
  private description: Description | null = null;
  private view: View | null = null;
  private tab: Tab = "play";
  private side: Side = "graph";
  private making: Promise<void> = Promise.resolve(); // one move after the other: a refused one is undone
  private turn = 0; // of requests for a view: only the latest is shown
  private choosing = 0; // of algorithms: only the latest is begun
  private readonly checker: Engine;
  private readonly head: Head;
  private readonly stage: Stage;
  private readonly editor: Editor;
  private readonly watch: Watch;
  private readonly beside: SideBySide;
  private readonly tours: Tours;
  private readonly slider = h("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Step", input: () => void this.go(Number(this.slider.value)) });
  private readonly counts = h("span", { class: "faint" });
  private readonly status = h("p", { class: "status", role: "status", "aria-live": "polite" });
  private readonly sidebar = h("div", { class: "sidebar", tabindex: -1 });
  private readonly panels: Record<Tab, HTMLElement>;

  constructor(
    private readonly engine: Engine,
    catalogue: Catalogue,
  ) {
    this.head = new Head(find("head"), catalogue, {
      choose: (algorithm) => void this.guard(this.choose(algorithm)),
      change: (setup) => void this.change(setup),
      copy: () => void this.copy(),
      download: (form) => void this.guard(this.download(form)),
    });
    this.checker = lazily(() => start("check"));
    this.stage = new Stage({ make: (move) => void this.make(move), reorder: (at, to) => void this.reorder(at, to), say: (words) => this.say(words) });
    const lab = this;
    this.editor = new Editor(this.checker, {
      get setup() {
        const { algorithm, nodes, settings } = lab.history.setup;
        return { algorithm, nodes, settings };
      },
      edited: (source) => this.edited(source),
      found: (verdict) => this.found(verdict),
    });
    this.watch = new Watch(engine, () => this.history.setup, (error) => this.say(error));
    const names = catalogue.algorithms.map((a): [string, string] => [a.name, a.name]);
    this.beside = new SideBySide(engine, names, () => this.history.run, (error) => this.say(error));
    this.tours = new Tours(engine, catalogue, {
      start: (run, at) => this.begin(run, at),
      go: (run, at) => this.goTo(run, at),
      say: (error) => this.say(error),
    });
    this.panels = { play: this.playPanel(), watch: this.watch.element, beside: this.beside.element, tours: this.tours.element };
    this.navigation();
    window.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => void this.open());
  }

  // What the address asks for: #run=LINK, or #algorithm=NAME or #story=NAME

  async open(): Promise<void> {
    const asked = new URLSearchParams(location.hash.slice(1));
    try {
      if (asked.has("run")) {
        if (asked.get("run") === this.view?.link) return;
        const run = await this.engine.ask<Run>({ do: "open", link: asked.get("run") });
        await this.begin(run, run.moves.length);
      } else if (asked.has("story")) await this.tours.tell(asked.get("story") as string);
      else await this.choose(asked.get("algorithm") ?? FIRST);
    } catch (error) {
      await this.choose(FIRST);
      this.say(error);
    }
  }

  private async choose(algorithm: string): Promise<void> {
    const choosing = ++this.choosing;
    const description = await this.engine.ask<Description>({ do: "describe", algorithm });
    if (choosing !== this.choosing) return;
    const { nodes, settings } = description.exhibit;
    await this.begin({ algorithm, nodes, settings, moves: [] }, 0, description);
  }

  private async begin(run: Run, at: number, known?: Description): Promise<void> {
    this.description = known ?? (await this.engine.ask<Description>({ do: "describe", algorithm: run.algorithm }));
    const { moves, ...setup } = run;
    this.history = new History(setup);
    this.history.replace(moves, at);
    this.editor.load(this.description, run.source);
    this.beside.forget(moves.length > 0);
    this.head.show(this.history.setup, this.description);
    if (this.tab === "tours") this.show("play");
    await this.refresh();
    if (this.tab !== "play") this.show(this.tab);
  }

  private async change(setup: Partial<Setup>): Promise<void> {
    const before = this.history;
    this.history = new History({ ...before.setup, ...setup });
    if (!(await this.refresh())) this.history = before;
    this.head.show(this.history.setup, this.description);
    if (this.tab !== "play") this.show(this.tab);
  }

  // Moves

  private make(move: string): Promise<void> {
    this.making = this.making.then(() => this.makeNow(move)).catch((error: unknown) => this.say(error));
    return this.making;
  }

  private async makeNow(move: string): Promise<void> {
    const history = this.history;
    const { moves, at } = history;
    const branches = [...history.branches];
    history.make(move);
    if (await this.refresh()) this.tours.watch(history.run);
    else Object.assign(history, { moves, at: Math.min(at, history.at), branches });
  }

  private async go(to: number): Promise<void> {
    this.history.go(to);
    await this.refresh();
  }

  // A step of this very run, whatever has been played meanwhile.
  private async goTo(run: Run, at: number): Promise<void> {
    const { moves, ...setup } = run;
    if (JSON.stringify(setup) !== JSON.stringify(this.history.setup)) return this.begin(run, at);
    if (moves.join(" ") !== this.history.moves.join(" ")) this.history.replace(moves, at);
    await this.go(at);
  }

  // Make a step earlier or later; whether that was possible.
  private async reorder(at: number, to: number): Promise<boolean> {
    try {
      const view = await this.engine.ask<View>({ do: "move", run: this.history.run, at, to });
      this.history.replace(view.run.moves);
      await this.refresh();
      if (view.dropped?.length) this.say(`No longer possible, and left out: ${view.dropped.join("; ")}`);
      return true;
    } catch (error) {
      this.say(error);
      return false;
    }
  }

  // Deliver what is under way, the oldest first, until nothing is.
  private async settle(): Promise<void> {
    for (let left = 200; left > 0; left -= 1) {
      const next = this.view?.flying.find((flight) => !flight.blocked);
      if (!next || this.view?.status.kind === "broken") return;
      await this.make(`d${next.number}`);
    }
  }

  private async edited(source: string | null): Promise<void> {
    const before = this.history;
    const { source: _, ...setup } = before.setup;
    const next = new History(source === null ? setup : { ...setup, source });
    await this.engine.ask<View>({ do: "play", run: next.run }); // raises, if the edit is wrong
    if (this.history !== before) return; // the user went elsewhere
    this.history = next;
    this.head.show(this.history.setup, this.description);
    await this.refresh();
  }

  private async found(verdict: Verdict): Promise<void> {
    const { moves } = verdict;
    if (!moves || verdict.verdict === "holds") return;
    this.history = new History(verdict.run);
    this.history.replace(moves, 0);
    this.head.show(this.history.setup, this.description);
    const playing = this.history;
    for (let at = 1; at <= moves.length; at += 1) {
      if (this.history !== playing || playing.at !== at - 1) return; // the user went elsewhere
      await this.go(at);
      await new Promise((resolve) => setTimeout(resolve, 120));
    }
    this.aside(this.view?.status.kind === "deadlock" ? "graph" : this.side);
    this.say(verdict.text);
  }

  // Show the run as it is now; whether that was possible.
  private async refresh(): Promise<boolean> {
    const turn = ++this.turn;
    try {
      const view = await this.engine.ask<View>({ do: "play", run: this.history.run });
      if (turn !== this.turn) return true;
      this.say("");
      this.view = view;
      this.render(view);
      return true;
    } catch (error) {
      this.say(error);
      return false;
    }
  }

  private render(view: View): void {
    const { moves, at } = this.history;
    this.stage.show(view);
    this.slider.max = String(moves.length);
    this.slider.value = String(at);
    const { messages, entries } = view.counts;
    const counted = [count(messages, "message", "messages"), count(entries, "entry", "entries")];
    this.counts.textContent = `step ${at} of ${moves.length}; ${counted.join(", ")}`;
    this.status.className = `status ${view.status.kind}`;
    this.status.textContent = view.status.text || (at ? (view.told.at(-1) ?? "") : "Click a node to request.");
    this.aside(this.side);
    history.replaceState(null, "", `${location.search}#run=${view.link}`);
  }

  // The page

  private navigation(): void {
    const tabs = Object.entries(TABS).map(([tab, words]) => button(words, () => this.show(tab as Tab), { role: "tab", "aria-selected": String(tab === this.tab), "data-tab": tab }));
    find("main").before(h("nav", { role: "tablist", "aria-label": "What to do" }, ...tabs));
    this.show(this.tab);
  }

  private show(tab: Tab): void {
    this.tab = tab;
    if (tab !== "watch") this.watch.pause();
    find("main").replaceChildren(this.panels[tab]);
    for (const shown of document.querySelectorAll("[data-tab]")) shown.setAttribute("aria-selected", String(shown.getAttribute("data-tab") === tab));
    if (tab === "watch") void this.watch.load();
    if (tab === "beside") void this.beside.load();
  }

  private playPanel(): HTMLElement {
    const tools = h(
      "div",
      { class: "tools" },
      button("◀ Back", () => void this.go(this.history.at - 1), { title: "one step back (←)" }),
      button("Forward ▶", () => void this.go(this.history.at + 1), { title: "one step on (→)" }),
      this.slider,
      button("Deliver all", () => void this.settle()),
      button("Start again", () => void this.go(0)),
      this.counts,
    );
    const left = h("div", { class: "left" }, this.tours.banner, tools, this.status, this.stage.element, this.stage.messages);
    return h("section", { class: "play", "aria-label": "Play by hand" }, left, this.sidebar);
  }

  private aside(side: Side): void {
    const view = this.view;
    if (!view) return;
    const open = this.side;
    this.side = side;
    const tabs = Object.entries(SIDES).map(([name, words]) => button(words, () => this.aside(name as Side), { role: "tab", "aria-selected": String(name === side), "data-side": name }));
    const content = { graph: () => drawRelations(view.relations, view.nodes), steps: () => this.steps(view), code: () => this.editor.element }[side]();
    if (side === "code" && open === "code" && this.sidebar.contains(content)) return;
    refill(this.sidebar, [h("nav", { role: "tablist", "aria-label": "Beside the diagram" }, ...tabs), content]);
  }

  private steps(view: View): HTMLElement {
    const { at, branches, moves } = this.history;
    const rows = moves.map((move, i) =>
      h(
        "li",
        { class: i >= at ? "future" : "", "aria-current": i === at - 1 ? "step" : null },
        button(view.told[i] ?? `${move} …`, () => void this.go(i + 1), { class: "step", "data-step": i }),
        i < at && this.shift(i, -1, "▲", "earlier"),
        i < at && this.shift(i, 1, "▼", "later"),
      ),
    );
    const others = branches.map((branch, i) =>
      h("li", {}, button(`${branch.length} steps, ending ${branch.slice(-3).join(" ")}`, () => void this.restore(i), { class: "step", "data-branch": i })),
    );
    return h(
      "div",
      { class: "steps" },
      rows.length ? h("ol", {}, ...rows) : h("p", { class: "faint" }, "Nothing has happened yet."),
      others.length > 0 && h("h3", {}, "Branches"),
      others.length > 0 && h("ul", {}, ...others),
    );
  }

  // What dragging an arrow's head does, without a mouse.
  private shift(i: number, by: 1 | -1, face: string, words: string): HTMLButtonElement {
    const to = i + by;
    return button(face, () => void this.shifted(i, to, words), { "aria-label": words, title: words, [`data-${words}`]: i, disabled: to < 0 || to >= this.history.at });
  }

  private async shifted(at: number, to: number, words: string): Promise<void> {
    if (!(await this.reorder(at, to))) return;
    const again = [`[data-${words}="${to}"]:enabled`, `[data-step="${to}"]`].map((name) => this.sidebar.querySelector<HTMLElement>(name));
    (again[0] ?? again[1])?.focus();
  }

  private async restore(branch: number): Promise<void> {
    this.history.restore(branch);
    await this.refresh();
  }

  private async download(form: string): Promise<void> {
    const { name, text } = await this.engine.ask<{ name: string; text: string }>({ do: "export", run: this.history.run, form });
    download(name, text);
  }

  private async copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(location.href);
      this.say("The link is copied: it replays this run.");
    } catch {
      this.say("The address of this page is the link: it replays this run.");
    }
  }

  private async guard(doing: Promise<unknown>): Promise<void> {
    try {
      await doing;
    } catch (error) {
      this.say(error);
    }
  }

  say(what: unknown): void {
    if (what instanceof Stopped) return;
    const line = what instanceof EngineError && what.line ? `line ${what.line} of the edit: ` : "";
    notice(line + (what instanceof Error ? what.message : String(what)), what instanceof Error);
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (this.tab !== "play" || event.ctrlKey || event.metaKey || event.altKey || target.closest("input, select, .cm-editor, .paper")) return;
    if (event.key === "ArrowLeft") void this.go(this.history.at - 1);
    if (event.key === "ArrowRight") void this.go(this.history.at + 1);
  }
}

function notice(words: string, error = false): void {
  const element = find("notice");
  element.textContent = words;
  element.classList.toggle("error", error);
}

// An engine that is started when it is first asked.
function lazily(make: () => Engine): Engine {
  let made: Engine | null = null;
  const get = (): Engine => (made ??= make());
  return {
    get ready() {
      return get().ready;
    },
    ask: (request, progress) => get().ask(request, progress),
    stop: () => made?.stop(),
  };
}

async function main(): Promise<void> {
  find("unserved").remove();  // it is for a browser that did not load this script
  document.body.classList.toggle("embed", new URLSearchParams(location.search).has("embed"));
  const lack = lacking();
  if (lack) return notice(lack, true);
  const playing = start("play");
  try {
    const catalogue = await playing.ask<Catalogue>({ do: "catalogue" });
    await new Lab(playing, catalogue).open();
    document.body.classList.add("ready");
  } catch (error) {
    notice(error instanceof Error ? error.message : String(error), true);
  }
}

void main();
