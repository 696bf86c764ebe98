"""The page about other languages, run as it stands, and its clients in JavaScript and C."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

import peerlock
from peerlock.api.threads import LockNode
from tests.support.relay import Relay
from tests.support.serving import DEADLINE, serving

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "other-languages.md").read_text()
NODE, CC = shutil.which("node"), shutil.which("gcc") or shutil.which("cc")

SLACK = 3.0  # seconds by which a busy machine may be late

needs_node = pytest.mark.skipif(NODE is None, reason="no Node here")
needs_cc = pytest.mark.skipif(CC is None, reason="no C compiler here")


def blocks() -> Iterator[tuple[str, str]]:
    """What is to be run, and what it prints."""
    found = re.findall(r"^```(bash|text)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for (kind, code), (then, output) in zip(found, [*found[1:], ("", "")], strict=True):
        if kind == "bash":
            yield code, output if then == "text" else ""


def without_numbers(text: str) -> str:
    text = re.sub(r'"fence":\d+', '"fence":1', text)
    return re.sub(r'"session":"[^"]+"', '"session":"s"', text)


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
def test_the_commands_on_the_page_print_what_it_says(short_path: Path) -> None:
    shown = list(blocks())
    script = "".join(f"{code}printf '\\1'\n" for code, _ in shown)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=short_path,
        env={**os.environ, "PATH": path, "PEERLOCK_CLUSTER": f"sqlite://{short_path}/c.db"},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split("\1")[:-1]
    expected = [output for _, output in shown]
    assert list(map(without_numbers, printed)) == list(map(without_numbers, expected))


# JavaScript


@pytest.fixture(scope="module")
def shared() -> Iterator[str]:
    """A cluster with a server, for all tests that leave it as it was."""
    with (
        tempfile.TemporaryDirectory(prefix="pl", dir="/tmp") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("XDG_RUNTIME_DIR", folder)
        with serving(f"sqlite://{folder}/c.db", "--api", f"unix:{folder}/api") as server:
            server.until(event="joined")
            yield folder


@pytest.fixture
def api(shared: str) -> str:
    return f"unix:{shared}/api"


@pytest.fixture
def beside(shared: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[LockNode]:
    """A member in this process."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", shared)
    with peerlock.sync.join(f"sqlite://{shared}/c.db") as node:
        yield node


@contextmanager
def started(script: str, folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    assert NODE is not None
    shutil.copy(DOCS / "clients" / "peerlock.mjs", folder)
    (folder / "script.mjs").write_text(script)
    with running([NODE, str(folder / "script.mjs"), *arguments]) as process:
        yield process


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """It is killed at the end, and if it takes too long."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        too_late = Timer(DEADLINE, process.kill)
        too_late.start()
        try:
            yield process
        finally:
            too_late.cancel()
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@needs_node
def test_the_pages_javascript_runs(api: str, tmp_path: Path) -> None:
    (code,) = re.findall(r"^```javascript\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    with started(code.replace("unix:peerlock.sock", api), tmp_path) as process:
        assert re.fullmatch(r"held \d+ false", line(process))
        assert process.wait(DEADLINE) == 0


HOLD = """
import {Session} from "./peerlock.mjs";
const [where, token, ttl = 20] = process.argv.slice(2);
const session = await Session.open(where, {ttl: Number(ttl), label: "test", token});
await session.hold("a/b é", async ({fence, signal}) => {
  signal.addEventListener("abort", () => console.log(`lost: ${signal.reason.message}`));
  console.log(`held ${fence}`);
  await new Promise(resolve => process.stdin.on("data", resolve));
}).then(() => console.log("released"), error => console.log(error.constructor.name));
await session.close();
process.exit();
"""


@needs_node
def test_a_javascript_client_that_is_killed_releases_its_lock_at_once(
    api: str, beside: LockNode, tmp_path: Path
) -> None:
    with started(HOLD, tmp_path, api) as process:
        fence = int(line(process).removeprefix("held "))
        assert fence > 0
        assert not beside.lock("a/b é").acquire(timeout=0)
        process.kill()
        assert beside.lock("a/b é").acquire(timeout=10)  # its time to live is 20 seconds


TASKS = """
import {Session} from "./peerlock.mjs";
const session = await Session.open(process.argv[2], {ttl: 20});
let inside = 0, most = 0, fences = [];
const work = async ({fence}) => {
  most = Math.max(most, ++inside);
  fences.push(fence);
  await new Promise(resolve => setTimeout(resolve, 2));
  inside--;
};
await Promise.all([1, 2, 3, 4, 5].map(() => session.hold("x", work)));
console.log(most, fences.length, new Set(fences).size);
const mine = await session.acquire("x", {key: "mine"});
const other = {algorithm: "lamport", key: "other"};
for (const wanted of [{nonblock: true}, {key: "mine"}, other])
  await session.acquire("x", wanted).catch(error => console.log(error.message));
await session.release(mine);
const then = await session.acquire("x", {nonblock: true, key: "other"});
console.log(then.fence > mine.fence);
await session.close();
"""


@needs_node
def test_the_tasks_of_a_javascript_client_exclude_each_other(
    api: str, tmp_path: Path
) -> None:
    with started(TASKS, tmp_path, api) as process:
        assert line(process) == "1 5 5"
        assert line(process) == "busy"
        assert line(process) == "the key mine is in use"
        assert "lamport" in line(process)
        assert line(process) == "true"
        assert process.wait(DEADLINE) == 0


@needs_node
def test_a_javascript_client_is_told_when_the_server_is_killed(
    short_path: Path, cluster: str, tmp_path: Path
) -> None:
    where = f"unix:{short_path}/api"
    with serving(cluster, "--api", where) as server:
        server.until(event="joined")
        with started(HOLD, tmp_path, where) as process:
            assert line(process).startswith("held ")
            server.process.kill()
            assert line(process) == "lost: the server has ended"
            process.communicate("done\n")


@needs_node
def test_a_javascript_client_notices_a_server_that_answers_no_more(
    short_path: Path, cluster: str, tmp_path: Path
) -> None:
    """It is stopped: no connection breaks, and no request fails."""
    where = f"unix:{short_path}/api"
    with serving(cluster, "--api", where) as server:
        server.until(event="joined")
        with started(HOLD, tmp_path, where, "", "1") as process:
            assert line(process).startswith("held ")
            server.process.send_signal(signal.SIGSTOP)
            stopped = time.monotonic()
            assert line(process) == "lost: the server does not answer"
            assert time.monotonic() - stopped < 1 + SLACK


@needs_node
def test_broken_connections_lose_neither_the_place_nor_the_lock(
    short_path: Path, cluster: str, tmp_path: Path
) -> None:
    """All connections of a client on TCP are cut while it waits, and while it holds."""
    token = short_path / "token"
    token.touch(mode=0o600)
    token.write_text("0123456789abcdef")
    options = ("--api", "127.0.0.1:0", "--token-file", str(token))
    with serving(cluster, *options) as server, peerlock.sync.join(cluster) as node:
        where = str(server.until(event="joined")["api"])
        lock = node.lock("a/b é")
        lock.acquire()
        with Relay(where) as relay:
            address = f"http://{relay.address}"
            with started(HOLD, tmp_path, address, token.read_text()) as process:
                relay.wait_for(2)  # its stream, and its request
                relay.cut()
                relay.wait_for(2)
                lock.release()
                assert line(process).startswith("held ")
                relay.cut()
                relay.wait_for(1)
                assert not lock.acquire(timeout=0)
                said, _ = process.communicate("done\n")
                assert said == "released\n"
        assert lock.acquire(timeout=10)


# C


@pytest.fixture(scope="module")
def hold(tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(tmp_path_factory.mktemp("c"))


def compiled(folder: Path, *options: str) -> str:
    assert CC is not None
    strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", *options]
    made = str(folder / "hold")
    subprocess.run([CC, *strict, "-o", made, DOCS / "clients" / "peerlock.c"], check=True)
    return made


@needs_cc
def test_the_c_client_runs_a_command_under_the_lock(api: str, hold: str) -> None:
    path = api.removeprefix("unix:")
    command = [hold, path, "a/b é", "sh", "-c", "echo $PEERLOCK_FENCE; exit 7"]
    fences = []
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE)
        assert (done.returncode, done.stderr) == (7, "")
        fences.append(int(done.stdout))
    assert fences[0] < fences[1] < 2**53
    done = subprocess.run([hold, "/none", "x", "true"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (69, "hold: No such file or directory\n")


@needs_cc
def test_a_c_client_that_is_killed_releases_its_lock_at_once(
    api: str, hold: str, beside: LockNode
) -> None:
    path = api.removeprefix("unix:")
    command = [hold, path, "x", "sh", "-c", "echo held; exec sleep 60"]
    with running(command) as process:
        assert line(process) == "held"
        os.kill(process.pid, signal.SIGKILL)
        assert beside.lock("x").acquire(timeout=5)  # its time to live is 10 seconds


@needs_cc
def test_a_c_client_stops_its_command_if_the_server_answers_no_more(
    short_path: Path, cluster: str
) -> None:
    hold, path = compiled(short_path, "-DTTL=2"), f"{short_path}/api"
    with serving(cluster, "--api", f"unix:{path}") as server:
        server.until(event="joined")
        with running([hold, path, "x", "sh", "-c", "echo held; exec sleep 60"]) as process:
            assert line(process) == "held"
            server.process.send_signal(signal.SIGSTOP)
            stopped = time.monotonic()
            assert process.wait(DEADLINE) == 75
            assert time.monotonic() - stopped < 2 + SLACK
