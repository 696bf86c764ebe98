// The sources of the engine in the file system of Pyodide; shared by the worker and Node.
export const FOLDER = "/lib/peerlock";

export function install(python, sources) {
  for (const [path, text] of Object.entries(sources)) {
    const file = `${FOLDER}/${path}`;
    python.FS.mkdirTree(file.slice(0, file.lastIndexOf("/")));
    python.FS.writeFile(file, text);
  }
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
