// Bundle the page: node build.mjs OUT.  With --pyodide, also Python for the browser.
import { copyFileSync, cpSync, mkdirSync } from "node:fs";
import { build } from "esbuild";

const out = process.argv[2];
const browser = process.argv.includes("--pyodide");
const PYODIDE = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip"];

mkdirSync(out, { recursive: true });
await build({
  entryPoints: browser ? ["src/lab.ts", "src/worker.ts"] : ["src/lab.ts"],
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  external: ["./pyodide/pyodide.mjs"],
  legalComments: "linked",
  logLevel: "warning",
});
for (const name of ["index.html", "lab.css", "old.js"]) copyFileSync(`src/${name}`, `${out}/${name}`);
if (browser) {
  for (const name of PYODIDE) cpSync(`node_modules/pyodide/${name}`, `${out}/pyodide/${name}`);
}
