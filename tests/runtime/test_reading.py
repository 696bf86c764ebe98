"""Connections that a waiting thread reads: nothing is lost, doubled or left unread."""

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest

from peerlock.core.peer import RemoteError
from peerlock.runtime.codec import VERSION, Foreign, Frame, Hello, encode
from peerlock.runtime.connection import Connection
from peerlock.runtime.host import Host
from peerlock.runtime.reading import Reading
from tests.support.threads import PATIENCE, Thread, until


def frame(number: int) -> bytes:
    return encode(Hello(VERSION, "x" * 1_000, number))


class Node:
    """The node's side: its loop, in a thread of its own, and a connection to it.

    The gate opens when the frame `opens` is heard.
    """

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = Thread(self.loop.run_forever)
        self.guard = threading.RLock()
        self.is_busy = False
        self.heard: list[int] = []
        self.threads: list[int | None] = []
        self.on_frame: Callable[[int], object] = lambda number: None
        self.is_closed = False
        self.followed = 0
        self.reading = Reading(cast(Host, self), self.soon, lambda: None)
        ours, self.theirs = socket.socketpair()
        self.connection = Connection(cast(Any, self))
        self.do(self._begin(ours))

    async def _begin(self, ours: socket.socket) -> None:
        self.reading.begin()
        connection = self.connection
        await self.loop.create_unix_connection(lambda: connection, sock=ours)
        connection.welcome()
        self.reading.share(connection)

    @property
    def its_thread(self) -> int | None:
        return self._thread.ident

    def do(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)

    def soon(self, work: Callable[..., object], *arguments: Any) -> None:
        self.loop.call_soon_threadsafe(work, *arguments)

    def send(self, *numbers: int) -> None:
        self.theirs.sendall(b"".join(map(frame, numbers)))

    def follow_batch(self) -> None:
        self.followed += 1

    def frame(self, connection: Connection, frame: Frame | Foreign) -> None:
        assert isinstance(frame, Hello)
        assert self.is_busy
        self.on_frame(frame.sender)
        self.heard.append(frame.sender)
        self.threads.append(threading.get_ident())

    def closed(self, connection: Connection) -> None:
        self.is_closed = True
        self.reading.closed(connection)

    def end(self) -> None:
        self.do(self._end())
        self.soon(self.loop.stop)
        self._thread.join(PATIENCE)
        self.loop.close()
        self.theirs.close()

    async def _end(self) -> None:
        self.connection.end()
        await asyncio.sleep(0)
        self.reading.close()


@pytest.fixture
def node() -> Iterator[Node]:
    one = Node()
    until(lambda: one.connection.lent)
    yield one
    one.end()
    assert one.is_closed


class Gate:
    """As a thread has it for what it waits for."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.lock = threading.Lock()
        self.lock.acquire()

    def open(self, *_: object) -> None:
        with self.node.guard:
            self.lock.release()
            self.node.reading.nudge(self.lock)

    def wait(self, timeout: float = PATIENCE) -> bool:
        return self.node.reading.wait(self.lock, timeout)


@contextmanager
def a_reader(node: Node) -> Iterator[Gate]:
    """A thread waits, and reads; then its gate is opened."""
    gate = Gate(node)
    thread = Thread(gate.wait)
    until(lambda: node.reading._gate is gate.lock)
    yield gate
    gate.open()
    assert thread.result() is True


def test_without_a_reader_the_nodes_thread_reads(node: Node) -> None:
    node.send(1, 2, 3)
    until(lambda: node.heard == [1, 2, 3])
    assert set(node.threads) == {node.its_thread}
    assert node.followed


def test_a_thread_that_waits_reads_what_it_waits_for(node: Node) -> None:
    gate = Gate(node)

    def open_at_last(number: int) -> None:
        if number == 100:
            gate.open()

    node.on_frame = open_at_last
    node.send(*range(101))
    assert gate.wait()
    until(lambda: len(node.heard) == 101)
    assert node.heard == list(range(101))


def test_what_comes_is_heard_once_and_in_order_by_whichever_thread(node: Node) -> None:
    with a_reader(node):
        for number in range(50):
            node.send(number)
            if number % 3:
                until(lambda number=number: node.heard[-1:] == [number])  # type: ignore[misc]
        until(lambda: len(node.heard) == 50)
    assert node.heard == list(range(50))


def test_a_signal_handler_that_waits_reads_what_its_thread_was_about_to(node: Node) -> None:
    """The kernel has notified the thread, and it has not come to read."""
    outer, inner = Gate(node), Gate(node)
    honest = node.reading._hear

    def hear(number: int) -> None:
        if threading.get_ident() == node.its_thread:
            return  # it leaves that to the other one
        node.reading._hear = honest  # type: ignore[method-assign]
        node.on_frame = inner.open
        assert inner.wait()  # as in a handler
        assert node.heard == [1]
        Thread(outer.open)

    node.reading._hear = hear  # type: ignore[method-assign]
    thread = Thread(outer.wait)
    waits(node, outer)
    node.send(1)
    assert thread.result() is True
    assert node.reading._gate is None


def test_a_reader_is_woken_by_its_own_signal_handler(node: Node) -> None:
    """Which opens the gate of the thread that it interrupts."""
    gate = Gate(node)

    def interrupt() -> None:
        waits(node, gate)
        signal.pthread_kill(main, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, gate.open)
    main = threading.get_ident()
    began = time.monotonic()
    try:
        Thread(interrupt)
        assert gate.wait()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert time.monotonic() - began < PATIENCE / 2


def test_what_a_reader_is_kept_from_reading_is_read_by_the_nodes_thread(node: Node) -> None:
    """As by a signal handler that runs between two instructions."""
    gate, kept = Gate(node), threading.Event()
    honest = node.reading._hear

    def hear(number: int) -> None:
        if threading.get_ident() != node.its_thread:
            assert kept.wait(PATIENCE)
        honest(number)

    node.reading._hear = hear  # type: ignore[method-assign]
    thread = Thread(gate.wait)
    waits(node, gate)
    node.send(1)
    waits(node, gate)
    node.send(2)  # now no thread waits
    until(lambda: node.heard == [1, 2])
    kept.set()
    gate.open()
    assert thread.result() is True


def test_the_event_of_the_reader_is_left_to_it(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node's thread looks into the same set, and may be quicker."""
    gate, sockets, may_look = Gate(node), node.reading._ours, threading.Event()

    def poll(timeout: float) -> Any:
        if threading.get_ident() == thread.ident:
            assert may_look.wait(PATIENCE)
        return sockets.poll(timeout)

    with node.guard:
        thread = Thread(gate.wait)
        kept = SimpleNamespace(
            poll=poll, unregister=sockets.unregister, close=sockets.close
        )
        monkeypatch.setattr(node.reading, "_ours", kept)
    until(lambda: node.reading._gate is gate.lock)
    gate.open()
    node.do(run(node.reading.hear_all))
    may_look.set()
    assert thread.result() is True


def test_a_reader_is_woken_by_another_thread(node: Node) -> None:
    with a_reader(node):
        pass
    with a_reader(node):  # and the next one, too
        pass


def test_others_that_wait_are_woken_one_by_one(node: Node) -> None:
    gates = [Gate(node) for _ in range(5)]
    threads = [Thread(gate.wait) for gate in gates]
    node.on_frame = lambda number: gates[number].open()
    for number in (3, 0, 4, 1, 2):
        node.send(number)
        assert threads[number].result() is True
    assert not any(thread.is_alive() for thread in threads)


def test_a_wait_ends_in_time(node: Node) -> None:
    began = time.monotonic()
    assert not Gate(node).wait(0.05)
    assert 0.04 < time.monotonic() - began < PATIENCE / 2
    node.send(1)
    until(lambda: node.heard == [1])


def test_a_wait_may_be_longer_than_epoll_takes(node: Node) -> None:
    gate = Gate(node)
    node.on_frame = gate.open
    thread = Thread(lambda: gate.wait(threading.TIMEOUT_MAX))
    until(lambda: node.reading._gate is gate.lock)
    node.send(1)
    assert thread.result() is True


def test_what_comes_while_the_reader_is_in_a_signal_handler_is_read(node: Node) -> None:
    """By the node's thread, or by the handler if that waits."""
    inner = Gate(node)

    def handler(*_: object) -> None:
        node.send(1)
        until(lambda: node.heard == [1])
        node.on_frame = inner.open
        node.send(2)
        assert inner.wait()
        outer.open()

    def interrupt() -> None:
        waits(node, outer)
        signal.pthread_kill(main, signal.SIGUSR1)

    outer = Gate(node)
    before = signal.signal(signal.SIGUSR1, handler)
    main = threading.get_ident()
    try:
        Thread(interrupt)
        assert outer.wait()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert node.threads[0] == node.its_thread
    assert node.heard == [1, 2]


def waits(node: Node, gate: Gate) -> None:
    until(lambda: node.reading._gate is gate.lock)
    time.sleep(0.05)


@pytest.mark.parametrize("error", [RemoteError("nonsense"), KeyboardInterrupt()])
def test_an_error_ends_the_connection(node: Node, error: BaseException) -> None:
    def fail(number: int) -> None:
        if threading.get_ident() != node.its_thread:
            raise error

    node.on_frame = fail
    gate = Gate(node)
    thread = Thread(gate.wait)
    waits(node, gate)
    while not node.is_closed:  # the node's thread may be quicker
        with suppress(OSError):
            node.send(1)
        time.sleep(0.001)
    gate.open()
    result = thread.result()
    assert result is True if isinstance(error, RemoteError) else result is error
    assert not node.is_busy


def test_after_an_interruption_the_nodes_thread_reads_on(node: Node) -> None:
    """The kernel had notified the reader, which did not come to read."""
    gate = Gate(node)

    def interrupted(number: int) -> None:
        if threading.get_ident() != node.its_thread:
            raise KeyboardInterrupt

    honest, node.reading._hear = node.reading._hear, interrupted  # type: ignore[method-assign]
    thread = Thread(gate.wait)
    waits(node, gate)
    asked: list[object] = []
    node.reading._soon = lambda work, *arguments: asked.append(work)
    node.send(1)
    assert isinstance(thread.result(), KeyboardInterrupt)
    node.reading._hear = honest  # type: ignore[method-assign]
    assert asked == [node.reading._readable]
    node.do(run(node.reading._readable))
    until(lambda: node.heard == [1])
    node.reading._soon = node.soon


async def run(work: Callable[[], None]) -> None:
    work()


@pytest.mark.parametrize("reads", [True, False])
def test_the_end_of_a_connection_is_noticed(node: Node, reads: bool) -> None:
    if reads:
        with a_reader(node):
            node.theirs.shutdown(socket.SHUT_RDWR)
            until(lambda: node.is_closed)
    else:
        node.theirs.shutdown(socket.SHUT_RDWR)
        until(lambda: node.is_closed)
    assert not node.reading._shared


def test_before_a_turn_everything_is_heard(node: Node) -> None:
    """Though the reader was notified, and not the node's thread."""
    with a_reader(node), node.guard:
        node.send(1)
        node.reading.hear_all()
        assert node.heard == [1]


def test_a_reader_ends_when_the_node_leaves() -> None:
    """And all descriptors are closed, by the last one that uses them."""
    before = len(os.listdir("/proc/self/fd"))
    one = Node()
    until(lambda: one.connection.lent)
    gate = Gate(one)
    thread = Thread(gate.wait)
    until(lambda: one.reading._gate is gate.lock)
    one.end()
    assert thread.is_alive()
    gate.open()
    assert thread.result() is True
    assert len(os.listdir("/proc/self/fd")) == before


def test_encrypted_connections_are_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "can_be_lent", False)
    one = Node()
    try:
        one.do(asyncio.sleep(0))
        assert not one.connection.lent and not one.reading._shared
        gate = Gate(one)
        thread = Thread(gate.wait)
        gate.open()
        assert thread.result() is True
    finally:
        one.end()
