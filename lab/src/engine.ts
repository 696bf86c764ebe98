// The engine: Python in a worker of the browser, or behind `peerlock lab`.
//
// It can be ended at any time, and is started again when it is next asked.

export class EngineError extends Error {
  constructor(text: string, readonly line: number | null = null) {
    super(text);
  }
}

export class Stopped extends Error {}

type Progress = (progress: Record<string, number | string>) => void;

interface Reply {
  id: number;
  answer?: unknown;
  progress?: Record<string, number | string>;
  error?: { text: string; line?: number | null };
}

interface Pending {
  resolve: (answer: unknown) => void;
  reject: (error: Error) => void;
  progress: Progress | undefined;
  timer: number;
}

export interface Engine {
  readonly ready: Promise<void>;
  ask<T>(request: object, progress?: Progress): Promise<T>;
  stop(): void;
}

const PATIENCE = 15_000; // milliseconds for a request without progress, once the engine runs
const LOOPS = "the algorithm did not answer for 15 seconds and was stopped: does the edit loop?";
const STOPPED = "the engine has stopped, perhaps for lack of memory: try again";

class BrowserEngine implements Engine {
  ready: Promise<void> = Promise.resolve();
  private worker: Worker | null = null;
  private giveUp: (error: Error) => void = () => undefined; // starting
  private pending = new Map<number, Pending>();
  private count = 0;

  constructor() {
    this.start();
  }

  private start(): void {
    const worker = new Worker(new URL("worker.js", document.baseURI), { type: "module" });
    this.worker = worker;
    let runs = false;
    this.ready = new Promise((resolve, reject) => {
      this.giveUp = reject;
      worker.onmessage = ({ data }: MessageEvent<string | { ready?: true; failed?: string }>) => {
        if (typeof data === "string") this.take(JSON.parse(data) as Reply);
        else if (data.ready) {
          runs = true;
          resolve();
        } else reject(new EngineError(`Python could not be started here: ${data.failed}`));
      };
      worker.onerror = (event) => {
        event.preventDefault();
        this.end(new EngineError(runs ? STOPPED : `Python could not be started here: ${event.message || "worker.js is missing"}`));
      };
    });
    this.ready.catch(() => undefined); // told where it is asked
  }

  async ask<T>(request: object, progress?: Progress): Promise<T> {
    if (!this.worker) this.start();
    await this.ready;
    const id = ++this.count;
    return new Promise<T>((resolve, reject) => {
      const timer = progress ? 0 : window.setTimeout(() => this.end(new EngineError(LOOPS)), PATIENCE);
      this.pending.set(id, { resolve: resolve as (answer: unknown) => void, reject, progress, timer });
      this.worker?.postMessage(JSON.stringify({ ...request, id }));
    });
  }

  private take(reply: Reply): void {
    const asked = this.pending.get(reply.id);
    if (!asked) return;
    if (reply.progress) {
      asked.progress?.(reply.progress);
      return;
    }
    this.pending.delete(reply.id);
    clearTimeout(asked.timer);
    if (reply.error) asked.reject(new EngineError(reply.error.text, reply.error.line ?? null));
    else asked.resolve(reply.answer);
  }

  stop(): void {
    this.end(new Stopped("stopped"));
  }

  private end(error: Error): void {
    this.worker?.terminate();
    this.worker = null;
    this.giveUp(error);
    for (const asked of this.pending.values()) {
      clearTimeout(asked.timer);
      asked.reject(error);
    }
    this.pending.clear();
  }
}

class NativeEngine implements Engine {
  readonly ready = Promise.resolve();
  private under = new Set<AbortController>();

  constructor(private readonly name: string) {}

  async ask<T>(request: object, progress?: Progress): Promise<T> {
    const abort = new AbortController();
    this.under.add(abort);
    const timer = progress ? 0 : window.setTimeout(() => abort.abort(LOOPS), PATIENCE);
    try {
      const response = await fetch(`engine/${this.name}`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(request),
        signal: abort.signal,
      });
      if (!response.ok || !response.body) throw new EngineError(await response.text());
      return (await last(response.body, progress)) as T;
    } catch (error) {
      if (abort.signal.reason === LOOPS) throw new EngineError(LOOPS);
      if (abort.signal.aborted) throw new Stopped("stopped");
      if (error instanceof TypeError) throw new EngineError("peerlock lab has ended: start it again");
      throw error;
    } finally {
      clearTimeout(timer);
      this.under.delete(abort);
    }
  }

  stop(): void {
    for (const abort of this.under) abort.abort();
  }
}

// The answer is the last of the lines; those before it are progress.
async function last(body: ReadableStream<Uint8Array>, progress?: Progress): Promise<unknown> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new EngineError("the engine has stopped: try again");
    text += value;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      const reply = JSON.parse(text.slice(0, end)) as Reply;
      text = text.slice(end + 1);
      if (reply.error) throw new EngineError(reply.error.text, reply.error.line ?? null);
      if (reply.answer !== undefined) return reply.answer;
      if (reply.progress) progress?.(reply.progress);
    }
  }
}

const native = document.querySelector('meta[name="engine"]')?.getAttribute("content") === "native";

export function engine(name: "play" | "check"): Engine {
  return native ? new NativeEngine(name) : new BrowserEngine();
}

// What this browser lacks, in a line; or nothing.
export function lacking(): string {
  if (native) return "";
  if (location.protocol === "file:") {
    return "This page must be served: run `peerlock lab`, or `python -m http.server` in the folder of the site.";
  }
  const needed = { WebAssembly: "WebAssembly", Worker: "Worker", DecompressionStream: "DecompressionStream" };
  const missing = Object.keys(needed).filter((name) => !(name in globalThis));
  return missing.length ? `This browser lacks ${missing.join(" and ")}: use a newer one, or run \`peerlock lab\`.` : "";
}
