// What needs no browser: a run with its past, its future and its branches.
// node --test test/history.mjs
import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "esbuild";

const built = await build({ entryPoints: ["src/history.ts"], bundle: true, write: false, format: "esm" });
const { History } = await import(`data:text/javascript,${encodeURIComponent(built.outputFiles[0].text)}`);

function played(...moves) {
  const history = new History({ algorithm: "ricart-agrawala", nodes: 3, settings: {} });
  for (const move of moves) history.make(move);
  return history;
}

test("the run is what has been made, not what lies ahead", () => {
  const history = played("r1", "d1", "d2");
  history.go(1);
  assert.deepEqual(history.run.moves, ["r1"]);
  assert.deepEqual(history.moves, ["r1", "d1", "d2"]);
  history.go(99);
  assert.equal(history.at, 3);
  history.go(-1);
  assert.equal(history.at, 0);
});

test("the move that lies ahead is made again, and no branch is left", () => {
  const history = played("r1", "d1", "d2");
  history.go(1);
  history.make("d1");
  assert.deepEqual([history.at, history.moves, history.branches], [2, ["r1", "d1", "d2"], []]);
});

test("another move leaves a branch, to which one can return", () => {
  const history = played("r1", "d1", "d2");
  history.go(1);
  history.make("r2");
  assert.deepEqual(history.run.moves, ["r1", "r2"]);
  assert.deepEqual(history.branches, [["r1", "d1", "d2"]]);
  history.go(1);
  history.restore(0);
  assert.deepEqual(history.run.moves, ["r1", "d1", "d2"]);
  assert.deepEqual(history.branches, [["r1", "r2"]]);
});

test("a run that takes the place of another leaves it as a branch", () => {
  const history = played("r1", "d1", "d2");
  history.replace(["r1", "d2", "d1"]);
  assert.deepEqual([history.at, history.branches], [3, [["r1", "d1", "d2"]]]);
  history.replace(["r1", "d2", "d1", "r2"]);
  assert.equal(history.branches.length, 1, "it goes on");
});

test("a branch is kept once, and the oldest are forgotten", () => {
  const history = played("r1", "d1");
  for (const move of ["r2", "d1", "r2", "d1"]) {
    history.go(1);
    history.make(move);
    history.make("r3");
  }
  const kept = history.branches.map((branch) => branch.join(" "));
  assert.deepEqual(kept, [...new Set(kept)]);
  for (let i = 0; i < 30; i += 1) {
    history.go(0);
    history.make(`r${i + 4}`);
  }
  assert.equal(history.branches.length, 12);
});
