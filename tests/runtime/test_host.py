"""What a host does about members that it cannot reach, and about faults of its own."""

import asyncio
import time
from collections.abc import Callable, Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import peerlock
from peerlock.membership import clock
from peerlock.membership.engine import ClusterError, Renewed
from peerlock.membership.memory import MemoryEngine
from peerlock.node import presence
from peerlock.node.terms import demand
from peerlock.node.views import MemberId, View
from peerlock.node.waiters import State, Waiter
from peerlock.runtime import host as runtime_host
from peerlock.runtime.connection import Connection
from peerlock.runtime.host import Host
from peerlock.runtime.transport import Tcp
from tests.support.hosts import NEAR, Asked, FarAway, suspended_for
from tests.support.listening import Listener
from tests.support.loops import on_each_loop, until

NOBODY = "127.0.0.1:9"


@pytest.mark.parametrize("what", [None, "dirty", "marked", "resting", "must_act"])
def test_what_follows_from_a_step(what: str | None) -> None:
    """There is something to say, a turn is due, or the presence has to act."""
    turnstile = SimpleNamespace(marked=what == "marked", resting=what == "resting")
    mail = SimpleNamespace(dirty=what == "dirty")
    presence = SimpleNamespace(must_act=what == "must_act")
    node = SimpleNamespace(mail=mail, turnstile=turnstile)
    host: Any = SimpleNamespace(node=node, presence=presence)
    assert Host.something_follows(host) is (what is not None)


class Watching(Asked):
    on_change: Callable[[View | None], None]

    def __init__(self, name: str, lease: float | None) -> None:
        super().__init__(name, lease)
        self.on_change = lambda view: None


@pytest.mark.parametrize("kind", [Asked, Watching])
@on_each_loop
async def test_who_cannot_be_reached_is_asked_about_unless_we_are_told(
    kind: type[Asked],
) -> None:
    name = f"out of reach, {kind.__name__}"
    engine, other = kind(name, None), (await MemoryEngine(name, None).join(NOBODY)).me
    host = Host(engine, Tcp("127.0.0.1", None, NEAR, None))
    await host.start()
    try:
        host._tell(host.presence.wanted, other)
        line = host.presence._lines[other]
        await until(lambda: line.pause > 0.05)  # after half a dozen attempts
        assert not engine.times if kind is Watching else engine.times > 3
        await until(lambda: host.trouble is not None)
        assert f"cannot reach the member at {NOBODY}: Connect" in str(host.trouble)
    finally:
        await host.stop()


@on_each_loop
async def test_a_step_that_ends_in_the_middle_is_followed_by_a_fresh_start(
    cluster: str,
) -> None:
    """Holders are notified, others continue, and we are in again."""
    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
    async with peerlock.join(cluster) as node, peerlock.join(cluster) as other:
        grant = await node.lock("x").acquire()
        another = await node.lock("y").acquire()
        pure, first = node.host.node, node.host.node.me
        sound = pure.receive

        def unsound(sender: MemberId, batch: Any) -> None:
            pure.receive = sound  # type: ignore[method-assign]
            pure.release(grant._user)
            raise AssertionError("half of it is done")

        waiting = asyncio.create_task(other.lock("x").acquire())
        pure.receive = unsound  # type: ignore[method-assign]
        second = await waiting
        assert await another.lost and pure.me != first
        second.release()
        async with node.lock("x", timeout=10):
            pass
    assert [str(fault["exception"]) for fault in faults] == ["half of it is done"]


@pytest.mark.parametrize("turns", range(6))
@on_each_loop
async def test_who_does_not_wait_until_we_have_left_leaves_no_member_behind(
    cluster: str, turns: int
) -> None:
    """Cancelled at whichever moment; without a lease it would be a member for ever."""
    async with peerlock.join(cluster, lease=None) as other:
        node = await peerlock.join(cluster, lease=None)
        leaving = asyncio.create_task(node.leave())
        for _ in range(turns):
            await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.wait([leaving])
        async with other.lock("x", timeout=10):
            pass
        await node.leave()
        await until(lambda: len(other.host.node.view.members) == 1)
        assert not node.host._connections


@on_each_loop
async def test_an_address_that_makes_no_sense_is_dialled_like_any_other() -> None:
    other = (await MemoryEngine("nonsense", 10.0).join("a..b:7000")).me
    engine = MemoryEngine("nonsense", 10.0)
    host = Host(engine, Tcp("127.0.0.1", None, NEAR, None))
    await host.start()
    try:
        host._tell(host.presence.wanted, other)
        await until(lambda: host.presence._lines[other].pause > 0.01)
        assert host.presence._lines[other].dialling
    finally:
        await host.stop()


@on_each_loop
async def test_who_has_lost_its_socket_makes_another(cluster: str) -> None:
    """Something has tidied up: newcomers would wait for a member they cannot reach."""
    async with peerlock.join(cluster) as node, node.lock("x"):
        Path(node.host.address).unlink()
        async with peerlock.join(cluster) as late, late.lock("y", timeout=10):
            assert Path(node.host.address).is_socket()


@pytest.mark.parametrize("first", [True, False])
@on_each_loop
async def test_a_silent_member_is_named_if_locks_wait_for_it(
    first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a member, and can be reached, but says nothing.  The first member is the home
    of every name; any other one that uses no lock is in nobody's way."""

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    monkeypatch.setattr(presence, "SLOW", 0.05)
    monkeypatch.setattr(presence, "POLL", 0.05)
    waiter = Waiter(demand())
    one, other = MemoryEngine("silent", None), MemoryEngine("silent", None)
    host = Host(one, Tcp("127.0.0.1", None, NEAR, None))
    async with Listener(listen) as silent:
        where = f"127.0.0.1:{silent.port}"
        if first:
            await other.join(where)
            await host.start()
        else:
            await host.start()
            await other.join(where)
        try:
            await until(lambda: host.node.member)
            host.step(host.node.acquire, "x", waiter)
            if first:
                await until(lambda: host.trouble is not None)
                told = f"locks wait for the member at {where}, which is silent"
                assert str(host.trouble) == told
            else:
                assert waiter.state is State.HOLDING and host.trouble is None
        finally:
            other.close()
            await host.stop()


# Connections


@on_each_loop
async def test_a_member_that_rests_is_awake_when_its_locks_are_used(cluster: str) -> None:
    """Otherwise it would keep a name that it no longer uses for longer than it should."""
    async with peerlock.join(cluster) as node, peerlock.join(cluster):
        state = node.host.presence
        await until(lambda: state.resting)
        async with node.lock("x"):
            used = clock.now()
        await until(lambda: not state.resting)
        assert clock.now() < used + presence.POLL_IDLE / 2
        assert state.wake_at <= clock.now() + presence.POLL


@on_each_loop
async def test_two_hosts_talk(cluster: str) -> None:
    async with peerlock.join(cluster) as one, peerlock.join(cluster) as other:
        async with other.lock("x", timeout=10):
            pass
        await until(lambda: one.host.node.running and other.host.node.running)
        assert one.host.door.strangers == other.host.door.strangers == 0


@on_each_loop
async def test_a_member_whose_connection_is_gone_is_dialled_when_wanted() -> None:
    """The home of every name; nobody is there, but it must be tried."""
    name = "wanted"
    home = MemoryEngine(name, None)
    await home.join(NOBODY)
    host = Host(Asked(name, None), Tcp("127.0.0.1", None, NEAR, None))
    await host.start()
    try:
        host.step(host.node.acquire, "x", Waiter(demand()))
        host.flush()
        lines = host.presence._lines
        await until(lambda: any(line.reason for line in lines.values()))
    finally:
        home.close()
        await host.stop()


@on_each_loop
async def test_an_alarm_that_is_due_may_be_set_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """uvloop then gives no handle of a timer."""
    monkeypatch.setattr(runtime_host, "PRECISION", 0.0)
    host = Host(Asked("due", None), Tcp("127.0.0.1", None, NEAR, None))
    await host.start()
    try:
        for _ in range(3):
            host._set_timer(0.0)
    finally:
        await host.stop()


@on_each_loop
async def test_the_end_of_a_members_connection_is_a_reason_to_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "incoming"
    engine = Asked(name, None)
    other = (await MemoryEngine(name, None).join(NOBODY)).me
    host = Host(engine, Tcp("127.0.0.1", None, NEAR, None))
    await host.start()
    try:
        told: list[MemberId] = []
        monkeypatch.setattr(host.presence, "suspect", told.append)
        connection = Connection(host)
        host._incoming[connection] = other
        connection.connection_lost(None)
        assert told == [other]
    finally:
        await host.stop()


@on_each_loop
async def test_a_connection_that_was_hung_up_while_it_was_dialled_is_closed() -> None:
    gone = asyncio.Event()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        gone.set()

    name = "hung up"
    other = MemoryEngine(name, None)
    engine = Asked(name, None)
    host = Host(engine, Tcp("127.0.0.1", None, NEAR, None))
    async with Listener(listen) as silent:
        member = (await other.join(f"127.0.0.1:{silent.port}")).me
        await host.start()
        try:
            host._tell(host.presence.wanted, member)
            assert member in host._dialling
            host._tell(host.presence.heard, View(999, (host.node.view.members[-1],)))
            await gone.wait()
            await until(lambda: not host._connections)
            assert host._lines == {}
        finally:
            other.close()
            await host.stop()


@on_each_loop
async def test_a_connection_that_comes_up_just_when_a_member_leaves_is_closed() -> None:
    """Its dialling is cancelled, and nothing else knows of it."""

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    other = MemoryEngine("just now", None)
    host = Host(MemoryEngine("just now", None), Tcp("127.0.0.1", None, NEAR, None))
    dialled: list[Connection] = []
    connect = host.transport.connect

    async def connect_and_stay(address: str, connection: Connection) -> None:
        await connect(address, connection)
        dialled.append(connection)
        await asyncio.Event().wait()

    host.transport.connect = connect_and_stay  # type: ignore[method-assign]
    async with Listener(listen) as silent:
        member = (await other.join(f"127.0.0.1:{silent.port}")).me
        await host.start()
        host._tell(host.presence.wanted, member)
        await until(lambda: bool(dialled))
        assert dialled[0].is_open
        await host.stop()
        assert not dialled[0].is_open
        other.close()


# Faults that nobody foresaw


def is_lost(waiter: Waiter) -> bool:
    return waiter.state is State.LOST


class Fault(Exception):
    pass


def once(owner: Any, name: str, error: Exception) -> None:
    """The next call of it fails."""
    sound = getattr(owner, name)

    def unsound(*arguments: Any) -> Any:
        setattr(owner, name, sound)
        raise error

    setattr(owner, name, unsound)


async def alone_in(engine: Asked, faults: list[str]) -> Host:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, told: faults.append(repr(told["exception"])))
    host = Host(engine, Tcp("127.0.0.1", None, NEAR, None))
    await host.start()
    return host


async def renewed_for_long(host: Host, engine: Asked) -> None:
    """More often than five times, and so for longer than a lease; then nothing is lost."""
    times = engine.times
    await until(lambda: engine.times > times + 6)
    await until(lambda: host.node.running)
    held = Waiter(demand())
    host.step(host.node.acquire, "x", held)
    times = engine.times
    await until(lambda: engine.times > times + 6)
    assert held.state is State.HOLDING


@on_each_loop
async def test_a_tick_that_fails_is_reported_and_the_heart_beats_on() -> None:
    faults: list[str] = []
    engine = Asked("tick fails", 0.25)
    host = await alone_in(engine, faults)
    try:
        held, first = Waiter(demand()), host.node.me
        host.step(host.node.acquire, "x", held)
        once(host.node, "tick", AssertionError("odd"))
        await until(lambda: faults != [])
        assert "AssertionError('odd')" in str(host.trouble)
        assert held.state is State.LOST and host.node.statistics.faults == 1
        await renewed_for_long(host, engine)
        assert host.node.me != first and host.trouble is None
        assert faults == ["AssertionError('odd')"]
    finally:
        await host.stop()


async def after_not_being_found(error: Exception, trouble: str) -> list[str]:
    """The faults that were reported."""
    faults: list[str] = []
    engine = Asked(f"no look at {error!r}", 0.25)
    host = await alone_in(engine, faults)
    try:
        held = Waiter(demand())
        host.step(host.node.acquire, "x", held)
        once(host.transport, "can_be_found", error)
        await until(lambda: host.trouble is not None)
        assert trouble in str(host.trouble)
        assert held.state is State.HOLDING
        assert host.node.statistics.faults == len(faults)
        host.step(host.node.release, held)
        await renewed_for_long(host, engine)
        assert host.trouble is None
    finally:
        await host.stop()
    return faults


@on_each_loop
async def test_a_socket_that_cannot_be_looked_at_does_not_end_the_renewals() -> None:
    """As while its directory is closed to everybody, for a second."""
    error = PermissionError(13, "Permission denied")
    trouble = "cannot be reached by others: Permission denied"
    assert await after_not_being_found(error, trouble) == []


@on_each_loop
async def test_a_fault_in_carrying_something_out_does_not_end_the_renewals() -> None:
    assert await after_not_being_found(Fault(), "Fault()") == ["Fault()"]


@on_each_loop
async def test_an_engine_that_fails_in_an_unforeseen_way_is_asked_again() -> None:
    faults: list[str] = []
    engine = Asked("engine fails", 0.25)
    host = await alone_in(engine, faults)
    try:
        once(engine, "renew", Fault())
        await until(lambda: faults != [])
        assert "Fault()" in str(host.trouble) and host.node.statistics.faults == 1
        await renewed_for_long(host, engine)
    finally:
        await host.stop()


@on_each_loop
async def test_a_member_that_cannot_be_dialled_for_an_odd_reason_is_dialled_again() -> None:
    faults: list[str] = []
    other = (await MemoryEngine("odd dial", None).join(NOBODY)).me
    engine = Asked("odd dial", None)
    host = Host(engine, Tcp("127.0.0.1", None, NEAR, None))
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, told: faults.append(repr(told["exception"])))
    once(host.transport, "connect", Fault())
    await host.start()
    try:
        host._tell(host.presence.wanted, other)
        line = host.presence._lines[other]
        await until(lambda: line.pause > 0.01)
        assert faults == ["Fault()"]
    finally:
        await host.stop()


@on_each_loop
async def test_one_who_is_told_of_renewals_and_fails_does_not_end_them() -> None:
    faults: list[str] = []
    engine = Asked("told", 0.25)
    host = await alone_in(engine, faults)
    try:
        once(host, "on_renewal", Fault())
        await until(lambda: faults != [])
        await renewed_for_long(host, engine)
    finally:
        await host.stop()


# Clocks


class OutOfReach(Asked):
    """After joining, it is not answered any more."""

    async def renew(self, me: MemberId, suspects: Collection[MemberId] = ()) -> Renewed:
        await super().renew(me, suspects)
        raise ClusterError("etcd is out of reach")


@pytest.fixture
def suspended(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    return suspended_for(monkeypatch)


@pytest.mark.parametrize("first", ["take", "turn", "acquire", "look", "nothing"])
@on_each_loop
async def test_a_holder_that_was_suspended_has_lost(
    first: str, suspended: list[float]
) -> None:
    """Whatever runs first finds out; if nothing does, a tick.  The engine is silent."""
    host = Host(OutOfReach(f"suspended, {first}", 3.0), Tcp("127.0.0.1", None, NEAR, None))
    await host.start()
    try:
        held, next_one = Waiter(demand()), Waiter(demand())
        node = host.node
        host.step(node.acquire, "x", held)
        suspended[0] += 60.0
        match first:
            case "take":
                assert not host.step(node.take, "x", next_one)
                assert not host.step(node.check_lease)
            case "turn":
                host.step(node.turn)
            case "acquire":
                host.step(node.acquire, "x", next_one)
                assert next_one.state is State.WAITING
            case "look":
                host._look_soon()
                await until(lambda: held.state is State.LOST)
            case "nothing":
                began = host.loop.time()
                await until(lambda: held.state is State.LOST)
                assert host.loop.time() - began < 2.0
        assert held.state is State.LOST
    finally:
        await host.stop()


@on_each_loop
async def test_timers_are_set_again_by_the_difference_of_the_clocks(
    suspended: list[float],
) -> None:
    host = Host(OutOfReach("timers", 1000.0), Tcp("127.0.0.1", None, NEAR, None))
    await host.start()
    try:
        assert host._timer is not None
        before = host._timer_due - host.loop.time()
        suspended[0] += 0.9 * before
        host._look_soon()
        assert host._timer is not None
        assert host._timer_due - host.loop.time() < 0.2 * before
    finally:
        await host.stop()


@pytest.mark.parametrize("kind", [FarAway, Asked])
@on_each_loop
async def test_a_wall_clock_that_jumps_shortens_a_lease_between_machines(
    kind: type[Asked], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All clocks of a virtual machine stood still; then that of the wall is corrected."""
    jump = 0.0
    wall = SimpleNamespace(time=lambda: time.time() + jump)
    monkeypatch.setattr(runtime_host, "time", wall)
    engine = kind(f"jump, {kind.__name__}", 3600.0)
    host = Host(engine, Tcp("127.0.0.1", None, NEAR, None))
    await host.start()
    try:
        held, before = Waiter(demand()), host.node.deadline
        host.step(host.node.acquire, "x", held)
        jump = 3000.0
        host._wake()
        shortened = before - host.node.deadline
        assert shortened == pytest.approx(3000.0 if kind is FarAway else 0.0, abs=60.0)
        assert held.state is State.HOLDING
        if kind is FarAway:  # it has renewed at once
            await until(lambda: host.node.deadline > before)
            jump += 4000.0
            host._wake()
            assert is_lost(held)
    finally:
        await host.stop()
