// The answers of the engine, as src/peerlock/playground/protocol.py describes them.

export interface Setup {
  algorithm: string;
  nodes: number;
  settings: Record<string, string>;
  source?: string;
}

export interface Run extends Setup {
  moves: string[];
}

export interface Listed {
  name: string;
  source: string;
  family: string;
  verdict: string;
  headline: string;
}

export interface Challenge {
  name: string;
  title: string;
  text: string;
  run: Run;
  choices: number[];
}

export interface Catalogue {
  families: Record<string, string>;
  algorithms: Listed[];
  stories: { name: string; title: string }[];
  challenges: Challenge[];
}

export interface Description {
  name: string;
  title: string;
  idea: string;
  messages: string;
  network: string;
  fifo: boolean;
  verdict: string;
  setting: null | { name: string; form: string; help: string; choices: string[]; default: string };
  exhibit: {
    nodes: number;
    settings: Record<string, string>;
    requests: string;
    losses: number;
    crashes: number;
  };
  class: string;
  source: string;
}

export interface Action {
  move: string;
  words: string;
}

export interface NodeView {
  node: number;
  phase: "idle" | "waiting" | "inside" | "down";
  actions: Action[];
  fields: { name: string; value: string; before: string | null }[];
}

export interface Flight {
  number: number;
  sender: number;
  receiver: number;
  label: string;
  step: number | null;
  blocked: string;
  faults: boolean;
}

export interface Relations {
  kind: "quorums" | "tree" | "pointers" | "token" | "answers";
  waits: { from: number; to: number; why: string }[];
  cycle: number[];
  sets: { node: number; members: number[] }[];
  locks: { member: number; for: number }[];
  owed: { from: number; to: number; what: string }[];
  pointers: { from: number; to: number; name: string }[];
  queues: Record<string, string>;
  token: number[];
  carried: { from: number; to: number }[];
}

export interface View {
  run: Run;
  link: string;
  told: string[];
  did: string[][];
  ends: number[];
  steps: string[];
  svg: string;
  places: number[];
  rows: Record<string, number>;
  nodes: NodeView[];
  flying: Flight[];
  relations: Relations;
  forbids: { lose: string; duplicate: string };
  status: { kind: "broken" | "deadlock" | "quiet" | "running"; text: string; line?: number | null };
  counts: { messages: number; entries: number };
  dropped?: string[];
}

export interface Verdict {
  verdict: string;
  text: string;
  assumptions: string;
  states: number;
  moves: string[] | null;
  run: Setup;
}

export interface Watched {
  svg: string;
  steps: string[];
  times: number[];
  places: number[];
  messages: number[];
  entries: number[];
  run: Setup;
  formula: string;
  trouble: string;
}

export interface Beside {
  left: Watched;
  right: Watched;
  difference: { text: string; left: number | null; right: number | null };
}

export interface Story {
  name: string;
  title: string;
  run: Run;
  stops: { at: number; text: string }[];
}
