// Write a memory snapshot of Python with the engine imported: node snapshot.mjs SOURCES SNAPSHOT
//
// It can be restored only if the memory has not grown beyond what Pyodide starts with, so
// not all algorithms are imported.
import { readFileSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { loadPyodide } from "pyodide";
import { engine, install } from "./python.mjs";

const [sources, snapshot] = process.argv.slice(2);
const python = await loadPyodide({ _makeSnapshot: true });
install(python, JSON.parse(gunzipSync(readFileSync(sources)).toString()));
const answer = engine(python);
answer('{"do": "describe", "algorithm": "ricart-agrawala"}');
answer('{"do": "play", "run": {"algorithm": "ricart-agrawala", "nodes": 3, "moves": ["r1"]}}');
answer.destroy();
const memory = python.makeMemorySnapshot();
await loadPyodide({ _loadSnapshot: memory }); // or it would be of no use
writeFileSync(snapshot, gzipSync(memory));
