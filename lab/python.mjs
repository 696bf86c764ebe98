// The sources of the engine in the file system of Pyodide; shared by the worker and Node.
export const FOLDER = "/lib/peerlock";

export function install(python, sources) {
  const files = Object.entries(sources).map(([path, text]) => [`${FOLDER}/${path}`, text]);
  const folders = new Set(files.map(([file]) => file.slice(0, file.lastIndexOf("/"))));
  for (const folder of folders) python.FS.mkdirTree(folder);
  const encoder = new TextEncoder(); // far faster than Pyodide's own, which takes letter by letter
  for (const [file, text] of files) python.FS.writeFile(file, encoder.encode(text), { canOwn: true });
}

// The function that answers requests: see playground/protocol.py.
export function engine(python) {
  return python.runPython(`
import sys
if "${FOLDER}" not in sys.path:
    sys.path.insert(0, "${FOLDER}")
from peerlock.playground import answer
answer
`);
}
