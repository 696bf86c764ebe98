"""What a lock costs through `peerlock serve --api`, beside a plain GET on the same server.

    python -m bench.serve [--rounds 5] [--requests 500] [--json FILE]

One client, one connection that is kept open, one request after the other.  The kinds of
requests take turns, so that a noisy machine is noisy for all of them; the median of all
requests of a kind is compared with that of the plain GET.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from peerlock.cli.ending import end_with

GET, GRANT, RELEASE, NEW = "GET /healthz", "grant", "release", "grant of a new name"
BOTH = "grant and release"
AT_MOST = 3.0  # times a GET, for a grant
TOKEN = secrets.token_hex(32)


class Client:
    def __init__(self, where: str) -> None:
        if where.startswith("unix:"):
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(where.removeprefix("unix:"))
        else:
            host, _, port = where.rpartition(":")
            self._socket = socket.create_connection((host, int(port)))
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._head = f"HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n"

    def ask(self, method: str, path: str, body: str = "") -> tuple[int, bytes]:
        sized = f"Content-Length: {len(body)}\r\n\r\n{body}"
        self._socket.sendall(f"{method} {path} {self._head}{sized}".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self._socket.recv(1 << 16)
        head, _, rest = answer.partition(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        while len(rest) < length:
            rest += self._socket.recv(1 << 16)
        return int(head.split(b" ")[1]), rest

    def seconds(self, method: str, path: str) -> float:
        began = time.perf_counter()
        status, said = self.ask(method, path)
        took = time.perf_counter() - began
        assert status == 200, said
        return took


@contextmanager
def server(folder: Path, api: str) -> Iterator[str]:
    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(TOKEN)
    command = [sys.executable, "-m", "peerlock", "serve", "--log", "json"]
    command += ["--metrics", "127.0.0.1:0", "--api", api, "--token-file", str(token)]
    command += ["--cluster", f"sqlite://{folder}/c.db"]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                told = json.loads(line)
                if told["event"] == "joined":
                    yield told["api"]
                    return
            raise SystemExit("the server did not start")
        finally:
            process.terminate()


def measured(where: str, rounds: int, requests: int) -> dict[str, float]:
    """Seconds, by kind of request."""
    client = Client(where)
    mine = json.loads(client.ask("POST", "/v1/sessions", '{"ttl": 600}')[1])["session"]
    locks = f"/v1/sessions/{mine}/locks"
    took: dict[str, list[float]] = {kind: [] for kind in (GET, GRANT, RELEASE, NEW, BOTH)}
    for number in range(rounds):
        for _ in range(requests):
            took[GET].append(client.seconds("GET", "/healthz"))
        for _ in range(requests):
            took[GRANT].append(client.seconds("PUT", f"{locks}/x"))
            took[RELEASE].append(client.seconds("DELETE", f"{locks}/x"))
            took[BOTH].append(took[GRANT][-1] + took[RELEASE][-1])
        for i in range(requests):
            took[NEW].append(client.seconds("PUT", f"{locks}/{number}.{i}"))
            client.ask("DELETE", f"{locks}/{number}.{i}")
    return {kind: median(times) for kind, times in took.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description="What a lock costs through the API.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    results: dict[str, Any] = {}
    for kind in ("unix socket", "tcp"):
        with tempfile.TemporaryDirectory(prefix="pl") as name:
            api = f"unix:{name}/api" if kind == "unix socket" else "127.0.0.1:0"
            with server(Path(name), api) as where:
                results[kind] = measured(where, given.rounds, given.requests)
    good = True
    for kind, took in results.items():
        print(f"{kind}:")
        for what, seconds in took.items():
            ratio = seconds / took[GET]
            good = good and (what == BOTH or ratio <= AT_MOST)
            print(f"  {what:<22}{1e6 * seconds:8.0f} µs {ratio:6.2f} × a GET")
    if given.json:
        given.json.write_text(json.dumps(results, indent=2) + "\n")
    print(f"a grant costs at most {AT_MOST:g} × a GET: {'yes' if good else 'NO'}")
    return 0 if good else 1


if __name__ == "__main__":
    end_with(main)
