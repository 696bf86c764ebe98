// The head of the page: what is played, and what can be taken from it.
//
// Its fields are changed and not replaced: a new one would not know what is being typed.

import { button, choice, h, labelled, refill } from "./dom.ts";
import type { Catalogue, Description, Setup } from "./protocol.ts";

export interface Choices {
  choose(algorithm: string): void;
  change(setup: Partial<Setup>): void;
  copy(): void;
  download(form: string): void;
}

const FORMS: [string, string][] = [["", "Download …"], [".svg", "Drawing (.svg)"], [".html", "Page to step through (.html)"], [".jsonl", "Data (.jsonl)"], [".py", "Test in Python (.py)"]];

export class Head {
  private readonly algorithm: HTMLSelectElement;
  private readonly nodes = h("input", { id: "nodes", type: "number", min: 1, max: 60, change: () => this.choices.change({ nodes: Number(this.nodes.value) }) });
  private readonly setting = h("span");
  private readonly edited = h("span", { class: "edited" }, "edited");
  private readonly about = h("p", { class: "about" });
  private field: HTMLInputElement | HTMLSelectElement | null = null; // of the setting
  private described: Description | null = null;

  constructor(
    host: HTMLElement,
    catalogue: Catalogue,
    private readonly choices: Choices,
  ) {
    const groups = Object.entries(catalogue.families).map(([family, words]) => {
      const members = catalogue.algorithms.filter((a) => a.family === family);
      return h("optgroup", { label: words }, ...members.map((a) => new Option(a.name)));
    });
    this.algorithm = h("select", { id: "algorithm", change: () => choices.choose(this.algorithm.value) }, ...groups);
    host.replaceChildren(
      h("h1", {}, "peerlock lab"),
      labelled("algorithm", this.algorithm),
      labelled("nodes", this.nodes),
      this.setting,
      this.edited,
      h("span", { class: "space" }),
      button("Copy link", () => choices.copy()),
      this.downloads(),
      this.about,
    );
  }

  show({ algorithm, nodes, settings, source }: Setup, about: Description | null): void {
    this.algorithm.value = algorithm;
    this.nodes.value = String(nodes);
    this.edited.hidden = source === undefined;
    if (about !== this.described) this.describe(about);
    const takes = about?.setting;
    if (takes) this.set(takes, settings[takes.name] ?? takes.default);
  }

  private describe(about: Description | null): void {
    this.described = about;
    this.field = null;
    this.setting.replaceChildren();
    const fails = about?.verdict === "holds" ? "" : `Known to fail: ${about?.verdict}. `;
    this.about.replaceChildren(h("strong", {}, about?.title ?? ""), ` ${fails}`, h("span", { class: "faint" }, `Network: ${about?.network}.`));
  }

  private set(takes: NonNullable<Description["setting"]>, value: string): void {
    if (this.field) this.field.value = value;
    if (this.field?.value === value) return;
    const set = (chosen: string): void => this.choices.change({ settings: chosen ? { [takes.name]: chosen } : {} });
    const known = [...new Set([...takes.choices, value])].map((kind): [string, string] => [kind, kind.startsWith("given:") ? "as in the paper" : kind]);
    const field = takes.choices.length
      ? choice(known, value, set)
      : h("input", { value, size: 8, title: takes.help, placeholder: takes.form, change: () => set(field.value) });
    field.id = "setting";
    this.field = field;
    refill(this.setting, [labelled(takes.name, field)]);
  }

  private downloads(): HTMLElement {
    const menu = choice(FORMS, "", (form) => {
      menu.value = "";
      this.choices.download(form);
    });
    menu.id = "download";
    menu.setAttribute("aria-label", "Download");
    return menu;
  }
}
