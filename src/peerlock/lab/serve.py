"""The server behind `peerlock lab`: the files of the page, and Python behind it.

The rules:
  * It listens on 127.0.0.1 only.  The page runs Python that is written into it, so every
    path begins with a secret, which only the printed address contains: other users of the
    machine and other sites in the browser cannot use it.
  * A request for another host is refused, so that no name of another site can be pointed
    here.
  * An engine is a process of its own.  If its visitor goes away, the engine is ended while
    it computes, and the next request starts another.
"""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from secrets import token_urlsafe
from threading import Lock

from peerlock.core.errors import UsageError

PAGE = Path(__file__).parent / "page"
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css"}
LARGEST = 2_000_000  # bytes of a request
OFTEN = 0.2  # seconds between checks for a visitor that has gone
NAMES = ("play", "check")


class EngineProcess:
    """One process, and one request at a time."""

    def __init__(self) -> None:
        self.lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, request: bytes) -> subprocess.Popen[bytes]:
        """The process, which has been asked."""
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-m", "peerlock.lab.engine"]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        assert self._process.stdin is not None
        self._process.stdin.write(request + b"\n")
        self._process.stdin.flush()
        return self._process

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


class Lab(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, page: Path = PAGE) -> None:
        if not (page / "index.html").exists():
            raise UsageError(
                "the page of the lab is not built: run `make lab` in the source tree, "
                "which needs npm"
            )
        self.page = page
        self.secret = token_urlsafe(18)
        self.engines = {name: EngineProcess() for name in NAMES}
        try:
            super().__init__(("127.0.0.1", port), Visit)
        except OSError as error:
            raise UsageError(
                f"cannot listen on port {port}: {error.strerror}; use another --port"
            ) from None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/{self.secret}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """A visitor that goes away in the middle of an answer is not an error."""

    def server_close(self) -> None:
        super().server_close()
        for engine in self.engines.values():
            engine.end()


class Visit(BaseHTTPRequestHandler):
    server: Lab
    server_version = "peerlock"
    sys_version = ""
    timeout = 30

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Silent."""

    def do_GET(self) -> None:
        name = self._path()
        if name is None:
            return self._refuse()
        file = self.server.page / (name or "index.html")
        if file.name != (name or "index.html") or not file.is_file():
            return self._answer(
                HTTPStatus.NOT_FOUND, b"there is no such file", "text/plain"
            )
        data = file.read_bytes()
        if file.name == "index.html":
            data = data.replace(
                b'name="engine" content="browser"', b'name="engine" content="native"'
            )
        self._answer(HTTPStatus.OK, data, TYPES.get(file.suffix, "text/plain"))

    def do_POST(self) -> None:
        name = self._path()
        if name is None or name.removeprefix("engine/") not in NAMES:
            return self._refuse()
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST:
            return self._answer(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                b"the request is too large",
                "text/plain",
            )
        try:
            request = json.dumps(json.loads(self.rfile.read(int(length)))).encode()
        except ValueError:
            return self._answer(HTTPStatus.BAD_REQUEST, b"this is not JSON", "text/plain")
        engine = self.server.engines[name.removeprefix("engine/")]
        with engine.lock:
            self._relay(engine, request)

    def _path(self) -> str | None:
        """Below the secret; None if this visitor does not know it."""
        port = self.server.server_port
        known = self.headers.get("Host") in (f"127.0.0.1:{port}", f"localhost:{port}")
        prefix = f"/{self.server.secret}/"
        path = self.path.partition("?")[0]
        return path.removeprefix(prefix) if known and path.startswith(prefix) else None

    def _refuse(self) -> None:
        words = b"open the address that peerlock lab has printed"
        self._answer(HTTPStatus.NOT_FOUND, words, "text/plain")

    def _head(self, status: HTTPStatus, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")

    def _answer(self, status: HTTPStatus, data: bytes, kind: str) -> None:
        self._head(status, kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _relay(self, engine: EngineProcess, request: bytes) -> None:
        """Lines of progress, then the answer; the connection ends with it."""
        process = engine.ask(request)
        assert process.stdout is not None
        self._head(HTTPStatus.OK, "application/x-ndjson")
        self.end_headers()
        try:
            while True:
                while not select.select([process.stdout], [], [], OFTEN)[0]:
                    if _has_gone(self.connection):
                        return engine.end()
                line = process.stdout.readline()
                self.wfile.write(line)
                if not line or b'"progress"' not in line[:40]:
                    return None
        except OSError:
            engine.end()


def _has_gone(connection: socket.socket) -> bool:
    if not select.select([connection], [], [], 0)[0]:
        return False
    return connection.recv(1, socket.MSG_PEEK) == b""
