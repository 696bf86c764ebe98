"""`peerlock lock --no-fork`: this process becomes the command."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

import peerlock

LOCK = [sys.executable, "-m", "peerlock", "lock"]
PATIENCE = 20.0
LEFT = "sleep 60 >/dev/null 2>&1 & echo $!"


def until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.005)


def free(node: peerlock.sync.LockNode) -> bool:
    lock = node.lock("x")
    held = not lock.acquire(blocking=False)
    if not held:
        lock.release()
    return not held


def until_the_keeper_has_left(node: peerlock.sync.LockNode) -> None:
    """It outlives the command, and writes to the cluster's directory until it has left."""
    until(lambda: free(node))
    until(lambda: len(node.status().members) == 1)


def test_the_process_becomes_the_command_and_holds(cluster: str) -> None:
    line = [*LOCK, "--cluster", cluster, "-F", "x", "--", "sh", "-c"]
    with peerlock.sync.join(cluster) as node:
        pipe = subprocess.PIPE
        script = "echo $$ $PEERLOCK_FENCE $PEERLOCK_NAME; read end; exit 7"
        with subprocess.Popen(
            [*line, script], stdin=pipe, stdout=pipe, text=True
        ) as process:
            assert process.stdin and process.stdout
            pid, fence, name = process.stdout.readline().split()
            assert (int(pid), name) == (process.pid, "x")
            assert int(fence) > 0
            assert not free(node)
            process.stdin.write("\n")
            process.stdin.close()
            assert process.wait(PATIENCE) == 7
        until_the_keeper_has_left(node)


def test_what_it_leaves_behind_keeps_the_lock(cluster: str) -> None:
    line = [*LOCK, "--cluster", cluster, "-F", "x", "sh", "-c", LEFT]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    with peerlock.sync.join(cluster) as node:
        assert not free(node)
        os.kill(int(done.stdout), signal.SIGKILL)
        until_the_keeper_has_left(node)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("-n", "-E", "9"), 9, ""),
        (("-w", "0.05"), 1, ""),
        (("--permits", "3"), 64, "'x'"),
        (("-o",), 64, "-o and -F exclude each other"),
        (("--algorithm", "nosuch"), 64, "nosuch"),
        (("--cluster", "sqlite:///no/such/file"), 69, "no directory"),
    ],
)
def test_why_it_does_not_run(
    cluster: str, options: tuple[str, ...], code: int, said: str
) -> None:
    with peerlock.sync.join(cluster) as node, node.lock("x"):
        line = [*LOCK, "--cluster", cluster, "-F", *options, "x", "echo", "ran"]
        done = subprocess.run(line, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (code, "")
        assert said in done.stderr
        assert bool(said) == bool(done.stderr)


def test_ctrl_c_while_it_waits_leaves_nothing(cluster: str) -> None:
    with peerlock.sync.join(cluster) as node:
        with node.lock("x"):
            line = [*LOCK, "--cluster", cluster, "-F", "x", "echo", "ran"]
            with subprocess.Popen(line) as process:
                until(lambda: bool([w for k in node.status().locks for w in k.waiters]))
                process.send_signal(signal.SIGINT)
                assert process.wait(PATIENCE) == -signal.SIGINT
        until_the_keeper_has_left(node)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["kill", "stop"])
def test_without_its_keeper_the_command_ends_in_time(
    cluster: str, number: signal.Signals
) -> None:
    line = [*LOCK, "--cluster", cluster, "--lease", "3", "-F", "x", "sleep", "60"]
    with peerlock.sync.join(cluster) as node, subprocess.Popen(line) as process:
        until(lambda: node.lock("x").holder() is not None)  # and no longer waits
        holder = node.lock("x").holder()
        assert holder and holder.pid != process.pid
        os.kill(holder.pid, number)
        assert process.wait(PATIENCE) == -signal.SIGKILL
        until(lambda: free(node))
        if number == signal.SIGSTOP:
            os.kill(holder.pid, signal.SIGKILL)


def test_a_command_that_cannot_be_run(cluster: str) -> None:
    line = [*LOCK, "--cluster", cluster, "-F", "x", "/no/such/command"]
    with peerlock.sync.join(cluster) as node:
        done = subprocess.run(line, capture_output=True, text=True)
        assert done.returncode == 69
        assert "cannot run /no/such/command" in done.stderr
        until_the_keeper_has_left(node)
