// A run with its past and its future: step back, go on differently, return to a branch.

import type { Run, Setup } from "./protocol.ts";

const MOST_BRANCHES = 12;

export class History {
  moves: string[] = []; // of the whole branch
  at = 0; // how many of them have been made
  branches: string[][] = []; // those that were left for another

  constructor(public setup: Setup) {}

  get run(): Run {
    return { ...this.setup, moves: this.moves.slice(0, this.at) };
  }

  // Make a move here.  What was done from here on is kept as a branch.
  make(move: string): void {
    if (this.moves[this.at] !== move) this.leaveFor([...this.moves.slice(0, this.at), move]);
    this.at += 1;
  }

  go(to: number): void {
    this.at = Math.min(Math.max(to, 0), this.moves.length);
  }

  replace(moves: string[], at = moves.length): void {
    this.leaveFor([...moves]);
    this.at = at;
  }

  restore(branch: number): void {
    const [chosen] = this.branches.splice(branch, 1);
    if (chosen) this.replace(chosen);
  }

  // Keep the present branch, unless the next one begins with all of it.
  private leaveFor(next: string[]): void {
    const [left, begun] = [this.moves.join(" "), next.slice(0, this.moves.length).join(" ")];
    if (left !== begun) {
      this.branches = [this.moves, ...this.branches.filter((b) => b.join(" ") !== left)].slice(0, MOST_BRANCHES);
    }
    this.moves = next;
  }
}
