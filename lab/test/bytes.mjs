// Python in the browser, under Node: a request on each line of the input, an answer on each of
// the output.  node test/bytes.mjs SOURCES
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { gunzipSync } from "node:zlib";
import { loadPyodide } from "pyodide";
import { engine, install } from "../python.mjs";

const python = await loadPyodide();
install(python, JSON.parse(gunzipSync(readFileSync(process.argv[2])).toString()));
const answer = engine(python);
for await (const line of createInterface({ input: process.stdin })) console.log(answer(line, () => undefined));
