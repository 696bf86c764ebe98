// Break it: the source in an editor, checked through every schedule.

import { python } from "@codemirror/lang-python";
import { syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { goToNextChunk, unifiedMergeView } from "@codemirror/merge";
import { Compartment } from "@codemirror/state";
import { classHighlighter } from "@lezer/highlight";
import { EditorView, basicSetup } from "codemirror";
import { button, choice, h, labelled } from "./dom.ts";
import { type Engine, EngineError, Stopped } from "./engine.ts";
import type { Description, Setup, Verdict } from "./protocol.ts";

export interface Bench {
  readonly setup: Setup; // without the edit
  edited(source: string | null): Promise<void>;
  found(verdict: Verdict): Promise<void>;
}

const STATES: [string, string][] = [
  ["100000", "100,000"],
  ["400000", "400,000"],
  ["2000000", "2,000,000"],
];

export class Editor {
  readonly element = h("section", { class: "editor", "aria-label": "Source" });
  private readonly host = h("div", { class: "code" });
  private readonly verdict = h("p", { class: "verdict", role: "status", "aria-live": "polite" });
  private readonly options = h("div", { class: "options" });
  private readonly diff = new Compartment();
  private readonly checkButton = button("Check", () => void this.check(), { class: "primary" });
  private readonly stopButton = button("Stop", () => this.engine.stop(), { disabled: true });
  private readonly diffButton = button("Diff with ours", () => this.toggleDiff(), { "aria-pressed": "false" });
  private view: EditorView | null = null;
  private original = "";
  private asked = 0; // checks and algorithms: only the latest is told
  private requests = "1";
  private losses = "0";
  private crashes = "0";
  private states = "400000";

  constructor(
    private readonly engine: Engine,
    private readonly bench: Bench,
  ) {
    const play = button("Play this edit", () => void this.apply());
    const restore = button("Restore", () => void this.restore());
    const tools = h("div", { class: "tools" }, this.checkButton, this.stopButton, play, restore, this.diffButton);
    this.element.append(this.options, tools, this.verdict, this.host);
  }

  load(description: Description, source?: string): void {
    if (!this.stopButton.disabled) this.engine.stop(); // what it searches is not shown any more
    this.asked += 1;
    this.original = description.source;
    const shown = description.exhibit;
    this.requests = shown.requests;
    this.losses = String(shown.losses);
    this.crashes = String(shown.crashes);
    this.view?.destroy();
    const view = new EditorView({
      parent: this.host,
      doc: source ?? this.original,
      extensions: [
        basicSetup,
        python(),
        syntaxHighlighting(classHighlighter), // in the colours of lab.css, light and dark
        lintGutter(),
        EditorView.lineWrapping,
        this.diff.of([]),
        EditorView.contentAttributes.of({ "aria-label": "Source of the algorithm" }),
      ],
    });
    this.view = view;
    this.diffButton.setAttribute("aria-pressed", "false");
    this.verdict.textContent = "Delete a line, then press Check.";
    this.verdict.className = "verdict";
    this.scrollTo(`class ${description.class}(`);
    this.showOptions();
  }

  private scrollTo(text: string): void {
    const at = this.view?.state.doc.toString().indexOf(text) ?? -1;
    if (at >= 0) this.view?.dispatch({ effects: EditorView.scrollIntoView(at, { y: "start" }) });
  }

  private showOptions(): void {
    const few = [...new Set([this.requests, "1", "2", "endless"])].map((n): [string, string] => [n, n]);
    const numbers = ["0", "1", "2"].map((n): [string, string] => [n, n]);
    this.options.replaceChildren(
      labelled("requests each", choice(few, this.requests, (value) => (this.requests = value))),
      labelled("losses", choice(numbers, this.losses, (value) => (this.losses = value))),
      labelled("crashes", choice(numbers, this.crashes, (value) => (this.crashes = value))),
      labelled("states at most", choice(STATES, this.states, (value) => (this.states = value))),
    );
  }

  get source(): string | null {
    const text = this.view?.state.doc.toString() ?? this.original;
    return text === this.original ? null : text;
  }

  set text(source: string) {
    this.view?.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: source } });
  }

  private async check(): Promise<void> {
    const number = ++this.asked;
    this.mark(null);
    this.busy(true);
    this.tell("searching …");
    const source = this.source;
    const asked = { ...this.bench.setup, ...(source === null ? {} : { source }) };
    const limits = { requests: this.requests, losses: this.losses, crashes: this.crashes, states: this.states };
    try {
      const found = await this.engine.ask<Verdict>({ do: "check", ...asked, ...limits }, (progress) => {
        this.tell(`${progress.phase} … ${Number(progress.states).toLocaleString("en")} states, depth ${progress.depth}`);
      });
      if (number !== this.asked) return;
      this.tell(found.text, found.verdict === "holds" ? "holds" : "fails");
      await this.bench.found({ ...found, run: asked });
    } catch (error) {
      if (number === this.asked) this.fail(error);
    } finally {
      this.busy(false);
    }
  }

  private async apply(): Promise<void> {
    this.mark(null);
    try {
      await this.bench.edited(this.source);
      this.tell(this.source === null ? "This is our own source." : "The edit is being played.");
    } catch (error) {
      this.fail(error);
    }
  }

  private async restore(): Promise<void> {
    this.text = this.original;
    await this.apply();
  }

  fail(error: unknown): void {
    if (error instanceof Stopped) this.tell("stopped: this proves nothing");
    else {
      const line = error instanceof EngineError ? error.line : null;
      const words = error instanceof Error ? error.message : String(error);
      this.tell(line ? `line ${line}: ${words}` : words, "fails");
      this.mark(line, words);
    }
  }

  private mark(line: number | null, message = ""): void {
    const view = this.view;
    if (!view) return;
    const at = line && line <= view.state.doc.lines ? view.state.doc.line(line) : null;
    view.dispatch(setDiagnostics(view.state, at ? [{ from: at.from, to: at.to, severity: "error", message }] : []));
    if (at) view.dispatch({ effects: EditorView.scrollIntoView(at.from, { y: "center" }) });
  }

  private toggleDiff(): void {
    const on = this.diffButton.getAttribute("aria-pressed") === "false";
    this.diffButton.setAttribute("aria-pressed", String(on));
    const extension = on ? unifiedMergeView({ original: this.original, mergeControls: false }) : [];
    const view = this.view as EditorView;
    view.dispatch({ effects: this.diff.reconfigure(extension), selection: { anchor: 0 } });
    if (on) goToNextChunk(view);
  }

  private busy(on: boolean): void {
    const [over, next] = on ? [this.checkButton, this.stopButton] : [this.stopButton, this.checkButton];
    const focused = document.activeElement === over;
    next.disabled = false;
    if (focused) next.focus();
    over.disabled = true;
  }

  private tell(words: string, how = ""): void {
    this.verdict.textContent = words;
    this.verdict.className = `verdict ${how}`;
  }
}
