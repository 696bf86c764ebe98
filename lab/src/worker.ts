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

// WebAssembly is compiled while the snapshot is unpacked; Pyodide would do one after the other.
function compileAhead(): void {
  const compiled = WebAssembly.compileStreaming(fetch(`${PYODIDE}pyodide.asm.wasm`));
  compiled.catch(() => undefined); // then Pyodide compiles it, and says what is wrong
  const { instantiateStreaming } = WebAssembly;
  WebAssembly.instantiateStreaming = async (source, imports) => {
    try {
      const module = await compiled;
      return { module, instance: await WebAssembly.instantiate(module, imports) };
    } catch {
      return instantiateStreaming(source, imports);
    }
  };
}

async function python(): Promise<unknown> {
  compileAhead();
  const script = import(`${PYODIDE}pyodide.asm.mjs`); // the one that loadPyodide imports
  script.catch(() => undefined);
  try {
    const memory = unpacked("snapshot.gz").then((found) => found.arrayBuffer());
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
