// Python in a worker: requests and answers are lines of JSON, as in playground/protocol.py.
//
// From a memory snapshot, if there is one, Python starts in a second; otherwise it starts
// afresh, which takes some five.

// @ts-expect-error: it stands beside this file in the built page, not here
import { loadPyodide } from "./pyodide/pyodide.mjs";
import { engine, install } from "../python.mjs";

const HERE = new URL(".", import.meta.url).href;
const PYODIDE = `${HERE}pyodide/`;

async function unpacked(name: string): Promise<Response> {
  const response = await fetch(HERE + name);
  if (!response.ok || !response.body) throw new Error(`${name} is missing: ${response.status}`);
  return new Response(response.body.pipeThrough(new DecompressionStream("gzip")));
}

async function python(): Promise<unknown> {
  try {
    const memory = new Uint8Array(await (await unpacked("snapshot.gz")).arrayBuffer());
    return await loadPyodide({ indexURL: PYODIDE, _loadSnapshot: memory });
  } catch {
    return await loadPyodide({ indexURL: PYODIDE });
  }
}

async function start(): Promise<void> {
  const sources = unpacked("sources.gz").then((found) => found.json() as Promise<Record<string, string>>);
  const loaded = await python();
  install(loaded, await sources);
  const answer = engine(loaded);
  const progress = (line: string): void => postMessage(line);
  onmessage = ({ data }: MessageEvent<string>): void => postMessage(answer(data, progress));
  postMessage({ ready: true });
}

start().catch((error: unknown) => postMessage({ failed: String(error).slice(0, 300) }));
