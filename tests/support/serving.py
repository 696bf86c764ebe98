"""`peerlock serve` in a process of its own, and what it says."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from prometheus_client.parser import text_string_to_metric_families

DEADLINE = 60.0  # seconds for anything to happen, on a busy machine
SERVE = (sys.executable, "-m", "peerlock", "serve")


class Server:
    def __init__(self, cluster: str, *options: str, metrics: str = "127.0.0.1:0") -> None:
        self.process = subprocess.Popen(
            [
                *(*SERVE, "--log", "json"),
                *("--metrics", metrics, "--cluster", cluster, *options),
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.log = self.process.stderr
        self.address = self.until(event="joining")["metrics"]

    def until(self, **wanted: object) -> dict[str, object]:
        """The next line of the log that says all of this."""
        too_late = Timer(DEADLINE, self.process.kill)
        too_late.start()
        try:
            for line in self.log:
                told = dict(json.loads(line))
                if wanted.items() <= told.items():
                    return told
        finally:
            too_late.cancel()
        raise AssertionError(f"it ended, or was ended by us, without {wanted}")

    def get(self, page: str, method: str = "GET") -> tuple[int, str]:
        question = Request(f"http://{self.address}{page}", method=method)
        try:
            with urlopen(question, timeout=DEADLINE) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    def metrics(self) -> dict[str, float]:
        families = text_string_to_metric_families(self.get("/metrics")[1])
        return {
            sample.name + "".join(sample.labels.values()): sample.value
            for family in families
            for sample in family.samples
        }

    def has(self, what: str) -> int:
        """How many of its `task`s or `fd`s there are."""
        return len(os.listdir(f"/proc/{self.process.pid}/{what}"))

    def may_open(self, files: int) -> None:
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (files, files))


@contextmanager
def serving(cluster: str, *options: str, **more: str) -> Iterator[Server]:
    server = Server(cluster, *options, **more)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()
