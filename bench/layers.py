"""What a message costs on its way from a release in one process to a grant in another, by
layer.

    python -m bench.layers [--rounds 3000]

Two nodes in one process hand a lock to and fro, and each step is timed; system calls are
timed on a pair of sockets, with the bytes of such a message, and waking another process by
a bare ping-pong.  Medians, in microseconds; on a busy machine all of them are larger.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from bench.ping_pong import GAMES, one_way

from peerlock.cli.ending import end_with
from peerlock.node.node import Node
from peerlock.node.terms import demand
from peerlock.node.views import Member, View
from peerlock.node.waiters import State, Waiter
from peerlock.runtime.codec import LENGTH, decode, encode

RESERVED = 1 << 20  # numbers: no grant waits for a fence

Times = dict[str, list[float]]


class Pair:
    """Two nodes that hand a lock to and fro."""

    def __init__(self) -> None:
        self.times: Times = {}
        self.bytes = b""  # of the last message
        self._nodes = {i: Node(time.monotonic) for i in (1, 2)}
        view = View(2, tuple(Member(i, f"at {i}", i) for i in self._nodes))
        for i, node in self._nodes.items():
            node.see(view, me=i)
            node.reserved(RESERVED, view.number)
        self._demand = demand()
        self._owner, self._holder = 1, Waiter(self._demand)
        self._nodes[1].acquire("x", self._holder)
        for _ in range(20):
            self._deliver()
            for node in self._nodes.values():
                node.turn()

    def hand_over(self) -> None:
        owner, other = self._owner, 3 - self._owner
        waiter = Waiter(self._demand)
        self._timed("a request", self._nodes[other].acquire, "x", waiter)
        self._deliver()
        self._timed("a release", self._released, self._nodes[owner])
        self._deliver()
        if waiter.state is not State.HOLDING:
            raise RuntimeError("the lock was not handed over")
        self._owner, self._holder = other, waiter

    def _released(self, node: Node) -> None:
        node.release(self._holder)
        if node.wants_turn:
            node.turn()

    def _deliver(self) -> None:
        while any(self._delivered(i, node) for i, node in self._nodes.items()):
            pass

    def _delivered(self, i: int, node: Node) -> bool:
        if not node.has_something_to_say:
            return False
        batches = self._timed("a batch is made", node.drain)
        for to, batch in batches:
            self.bytes = self._timed("encoded", encode, batch)
            decoded = self._timed("decoded", decode, self.bytes[LENGTH:])
            self._timed("received, into a grant", self._nodes[to].receive, i, decoded)
        return bool(batches)

    def _timed(self, what: str, work: Callable[..., Any], *arguments: Any) -> Any:
        began = time.perf_counter()
        result = work(*arguments)
        self.times.setdefault(what, []).append(time.perf_counter() - began)
        return result


def through_a_socket(message: bytes, rounds: int) -> Iterator[tuple[str, float]]:
    """Written and read by one process: nobody is woken."""
    one, other = socket.socketpair()
    written, read, buffer = [], [], memoryview(bytearray(64 * 1024))
    with one, other:
        for _ in range(rounds):
            began = time.perf_counter()
            os.write(one.fileno(), message)
            half = time.perf_counter()
            os.readv(other.fileno(), [buffer])
            written.append(half - began)
            read.append(time.perf_counter() - half)
    yield "written to a socket", median(written)
    yield "read from a socket", median(read)


def settle(future: asyncio.Future[float]) -> None:
    future.set_result(time.perf_counter())


async def to_a_task(rounds: int) -> tuple[float, float]:
    """From a grant until the task goes on: in its own loop, and from another thread."""
    loop = asyncio.get_running_loop()
    here, there = [], []
    for _ in range(rounds):
        future: asyncio.Future[float] = loop.create_future()
        loop.call_soon(settle, future)
        began = await future
        here.append(time.perf_counter() - began)
    calls: list[Callable[[], None]] = []
    wanted, over = threading.Semaphore(0), threading.Event()

    def other_thread() -> None:
        while wanted.acquire() and not over.is_set():
            time.sleep(0.0005)  # the loop is asleep by then
            calls.pop()()

    thread = threading.Thread(target=other_thread)
    thread.start()
    for _ in range(max(rounds // 10, 10)):
        future = loop.create_future()

        def grant(future: asyncio.Future[float] = future) -> None:
            loop.call_soon_threadsafe(future.set_result, time.perf_counter())

        calls.append(grant)
        wanted.release()
        began = await future
        there.append(time.perf_counter() - began)
    over.set()
    wanted.release()
    thread.join()
    return median(here), median(there)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3_000)
    rounds = parser.parse_args().rounds
    pair = Pair()
    for _ in range(rounds):
        pair.hand_over()
    rows = {what: median(times) for what, times in pair.times.items()}
    rows |= dict(through_a_socket(pair.bytes, rounds))
    rows["a task is woken in its own loop"], rows["a task is woken by another thread"] = (
        asyncio.run(to_a_task(rounds))
    )
    for who, game in GAMES.items():
        rows[f"{who}: one way"] = one_way(game, 1.0)
    print(f"a message of {len(pair.bytes)} bytes\n\n| layer | µs |\n| --- | ---: |")
    for what, seconds in rows.items():
        print(f"| {what} | {seconds * 1e6:.1f} |")


if __name__ == "__main__":
    end_with(main)
