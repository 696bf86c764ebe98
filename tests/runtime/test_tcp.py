"""Clusters over TCP, with TLS and without, on loopback; one real etcd keeps the members."""

import asyncio
import gc
import os
import resource
import signal
import socket
import ssl
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

import peerlock
from peerlock import Reach
from peerlock.api.status import survey
from peerlock.api.tasks import LockNode
from peerlock.core.errors import UsageError
from peerlock.membership.engine import ClusterError
from peerlock.membership.etcd import EtcdEngine
from peerlock.node.views import View
from peerlock.runtime import door, host, transport
from peerlock.runtime.certificates import (
    issue,
    new_authority,
    renew_authority,
    retire_authorities,
)
from peerlock.runtime.codec import LENGTH, MOST_BYTES, VERSION, Ask, Hello, Seen, encode
from peerlock.runtime.connection import Connection
from peerlock.runtime.door import MOST
from peerlock.runtime.tls import Files, Mutual, client_context
from peerlock.runtime.transport import Tcp, host_and_port, own_hosts
from tests.support.etcd_servers import Server, Wire, servers
from tests.support.listening import Listener
from tests.support.loops import delivered, in_time, on_each_loop, until

LEASE = 3
INSECURE = Reach(listen="127.0.0.1:0", insecure=True)
names = count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with servers(tmp_path_factory.mktemp("etcd")) as [one]:
        yield one


@pytest.fixture
def url(server: Server) -> str:
    """A cluster that nobody has used yet."""
    return f"etcd://{server.address}/c{next(names)}"


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    place = tmp_path / "certs"
    new_authority(place)
    issue(place, "127.0.0.1", ["::1", "localhost"])
    return place


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """The same, of another authority."""
    place = tmp_path / "foreign"
    new_authority(place)
    issue(place, "127.0.0.1", ["::1", "localhost"])
    return place


@pytest.fixture(params=["plain", "tls"])
def reach(request: pytest.FixtureRequest) -> Reach:
    if request.param == "plain":
        return INSECURE
    place = request.getfixturevalue("certificates")
    return Reach(listen="127.0.0.1:0", certificates=place)


@pytest.fixture
def secure(certificates: Path) -> Reach:
    return Reach(listen="127.0.0.1:0", certificates=certificates)


@asynccontextmanager
async def nodes(url: str, *reaches: Reach, lease: float = LEASE) -> AsyncIterator[Any]:
    """As many as there are ways to reach them, all connected: they have used a lock."""
    async with AsyncExitStack() as stack:
        made = [
            await stack.enter_async_context(peerlock.join(url, lease=lease, reach=reach))
            for reach in reaches
        ]
        for node in made:
            async with node.lock("introduction"):
                pass
        await delivered(*made)
        yield made


@asynccontextmanager
async def in_use(*users: LockNode) -> AsyncIterator[Callable[[], int]]:
    """They pass a lock to and fro all the time; how often they did.  None may lose it."""
    entries = 0

    async def work(node: LockNode) -> None:
        nonlocal entries
        while True:
            async with node.lock("busy"):
                entries += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work(node)) for node in users]
        yield lambda: entries
        so_far = entries
        await until(lambda: entries > so_far + 20)
        for task in tasks:
            task.cancel()
    assert sum(node.statistics().lost for node in users) == 0


# Locks


@on_each_loop
async def test_locks_are_exclusive_and_handed_over(url: str, reach: Reach) -> None:
    async with nodes(url, reach, reach, reach) as (a, b, c):
        fences = []
        for node in (a, b, c, a):
            async with node.lock("x") as grant:
                fences.append(grant.fence)
                with pytest.raises(peerlock.WouldBlock):
                    await (b if node is a else a).lock("x").try_acquire()
        assert fences == sorted(set(fences))
        held = await a.lock("x").acquire()
        waiting = asyncio.create_task(b.lock("x").acquire(timeout=10))
        with pytest.raises(peerlock.Timeout):
            await c.lock("x").acquire(timeout=0.05)
        held.release()
        (await waiting).release()


@on_each_loop
async def test_readers_and_semaphores(url: str, reach: Reach) -> None:
    async with nodes(url, reach, reach) as (a, b):
        async with a.lock("r", shared=True), b.lock("r", shared=True):
            writing = asyncio.create_task(a.lock("r").acquire(timeout=0.05))
            with pytest.raises(peerlock.Timeout):
                await writing
        async with b.lock("r"):
            pass
        first, second = a.semaphore("s", 2), b.semaphore("s", 2)
        grants = [await first.acquire(), await second.acquire()]
        with pytest.raises(peerlock.Timeout):
            await first.acquire(timeout=0.05)
        waiting = asyncio.create_task(a.semaphore("s", 2).acquire(timeout=10))
        grants.pop().release()
        grants.append(await waiting)
        for grant in grants:
            grant.release()


@on_each_loop
async def test_whoever_is_no_member_may_ask_if_he_can_show_who_he_is(
    url: str, reach: Reach
) -> None:
    async with nodes(url, reach, reach) as (a, b):
        async with a.lock("x"):
            waiting = asyncio.create_task(b.lock("x").acquire())
            await until(lambda: any(True for _ in b.host.node.waiting()))
            told = await survey(url, reach)
        (await waiting).release()
    assert [member["answers"] for member in told["members"]] == [True, True]
    [lock] = told["locks"]
    assert (lock["name"], len(lock["holders"]), len(lock["waiters"])) == ("x", 1, 1)


@on_each_loop
async def test_what_is_lost_is_told(url: str, reach: Reach, server: Server) -> None:
    """An operator removes a member; it learns that, and comes back as another."""
    async with nodes(url, reach, reach) as (a, b):
        grant = await a.lock("x").acquire()
        me = a.host.node.me
        server.delete(f"/peerlock/{url.rpartition('/')[2]}/members/")
        assert await grant.lost
        with pytest.raises(peerlock.Lost):
            grant.release()
        for node in (a, b):
            async with node.lock("x", timeout=15) as again:
                assert again.fence > grant.fence
        assert a.host.node.me != me


# Addresses


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
@on_each_loop
async def test_ipv6(url: str, reach: Reach) -> None:
    async with nodes(url, replace(reach, listen="[::1]:0"), reach) as (six, four):
        assert six.host.address.startswith("[::1]:")
        for node in (six, four, six):
            async with node.lock("x", timeout=10):
                pass


@on_each_loop
async def test_host_names(url: str, reach: Reach) -> None:
    named = replace(reach, listen="localhost:0")
    async with nodes(url, named, named) as (a, b):
        assert a.host.address.startswith("localhost:")
        for node in (a, b, a):
            async with node.lock("x", timeout=10):
                pass


@on_each_loop
async def test_listening_everywhere_one_is_reached_where_etcd_is(
    url: str, reach: Reach
) -> None:
    reaches = [replace(reach, listen=listen) for listen in ("", "0.0.0.0:0", "[::]:0")]
    async with nodes(url, *reaches) as all_:
        for node in all_:
            assert node.host.address.startswith("127.0.0.1:")
            async with node.lock("x", timeout=10):
                pass


@pytest.mark.parametrize(
    ("ways", "expected"),
    [
        ([["127.0.0.1"]], "127.0.0.1"),
        ([["127.0.0.1"], ["192.0.2.7"]], "192.0.2.7"),
        ([["::1", "127.0.0.1"], ["127.0.0.1"]], "::1"),
        ([[""], ["192.0.2.7"]], "192.0.2.7"),
        ([[""], ["127.0.0.1"]], None),
        ([[""], [""]], None),
    ],
)
def test_which_of_our_addresses_others_are_told(
    ways: list[list[str]], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not one that means another machine over there, if there are others."""

    async def own_hosts(near: tuple[str, int], family: int) -> list[str]:
        return ways[near[1]]

    monkeypatch.setattr(transport, "own_hosts", own_hosts)
    made = Tcp("", None, tuple(("etcd", number) for number in range(len(ways))), None)
    if expected:
        assert asyncio.run(made._own_host()) == expected
    else:
        with pytest.raises(ClusterError, match="--advertise"):
            asyncio.run(made._own_host())


def test_a_name_that_nobody_knows_is_no_way_to_find_out() -> None:
    assert asyncio.run(own_hosts(("no.such.invalid", 1), 0)) == [""]
    assert asyncio.run(own_hosts(("a..b", 1), 0)) == [""]
    assert asyncio.run(own_hosts(("127.0.0.1", 1), 0)) == ["127.0.0.1"]


@on_each_loop
async def test_one_may_be_reached_by_another_address(url: str, reach: Reach) -> None:
    named = replace(reach, listen="0.0.0.0:0", advertise="localhost")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    async with Wire(port) as wire:
        behind = replace(reach, listen=f"127.0.0.1:{port}", advertise=wire.address)
        async with nodes(url, named, behind) as (a, b):
            assert a.host.address.startswith("localhost:")
            assert b.host.address == wire.address
            assert wire.accepted == 1
            for node in (a, b, a):
                async with node.lock("x", timeout=10):
                    pass
            await wire.hang_up()
            for node in (a, b, a):
                async with node.lock("x", timeout=10):
                    pass


# What must be asked for by name, and what is invalid


def test_nobody_is_insecure_by_accident(
    url: str, certificates: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PEERLOCK_CERTIFICATES", raising=False)
    for reach in (Reach(), Reach(listen="127.0.0.1:0")):
        with pytest.raises(UsageError, match=r"certs`, or ask for insecure by name"):
            peerlock.join(url, reach=reach)
    monkeypatch.setenv("PEERLOCK_CERTIFICATES", str(certificates))
    assert shown_by(peerlock.join(url, reach=Reach(listen="127.0.0.1:0")))


def shown_by(node: LockNode) -> Files:
    assert isinstance(node.host.transport, Tcp)
    security = node.host.transport._security
    assert isinstance(security, Mutual)
    return security.files


@pytest.mark.parametrize(
    ("reach", "text"),
    [
        (Reach(insecure=True, certificates="x"), "exclude each other"),
        (Reach(insecure=True, listen="a/b:1"), "invalid address 'a/b:1': use HOST:PORT"),
        (Reach(insecure=True, listen="h:99999"), "invalid address"),
        (Reach(insecure=True, listen="h:port"), "invalid address"),
        (Reach(insecure=True, listen="[::1"), "invalid address"),
        (Reach(insecure=True, listen="[::1]7000"), "invalid address"),
        (Reach(insecure=True, listen="::1"), "invalid address"),
        (Reach(insecure=True, advertise="h:-1"), "invalid address"),
        (Reach(insecure=True, advertise=":7000"), "use an address that others can dial"),
        (Reach(insecure=True, advertise="0.0.0.0:7000"), "that others can dial"),
        (Reach(certificates="/no/where"), "there is no directory /no/where"),
    ],
)
def test_what_makes_no_sense(reach: Reach, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        peerlock.join("etcd://127.0.0.1:1/x", reach=reach)


def test_one_machine_needs_none_of_it(cluster: str) -> None:
    with pytest.raises(UsageError, match="are for clusters between"):
        peerlock.join(cluster, reach=Reach(insecure=True))


def test_where_nobody_can_listen(url: str) -> None:
    async def join(listen: str) -> None:
        async with peerlock.join(url, reach=Reach(listen=listen, insecure=True)):
            pass

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for listen in (f"127.0.0.1:{port}", "192.0.2.1:0", "a..b:0"):
            with pytest.raises(ClusterError, match=f"cannot listen at {listen}: "):
                asyncio.run(in_time(join(listen)))


def test_a_certificate_is_found_by_the_name_that_others_dial(tmp_path: Path) -> None:
    new_authority(tmp_path)
    for name in ("a.example", "b.example"):
        issue(tmp_path, name)
    here = "etcd://127.0.0.1:1/x"
    for reach in (Reach(listen="a.example:1"), Reach("0.0.0.0:1", "a.example:1")):
        made = peerlock.join(here, reach=replace(reach, certificates=tmp_path))
        assert shown_by(made).key.name == "a.example.key"
    with pytest.raises(UsageError, match="There is none for "):
        peerlock.join(here, reach=Reach(certificates=tmp_path))


# Strangers


Greeting = Callable[[LockNode, Path, Path], tuple[ssl.SSLContext | None, bytes]]


def question(node: LockNode) -> bytes:
    """What a member answers, if it hears it."""
    return encode(Ask(VERSION, node.host.engine.cluster))


def no_certificate(node: LockNode, ours: Path, foreign: Path) -> Any:
    return ssl.create_default_context(cafile=ours / "ca.pem"), question(node)


def foreign_certificate(node: LockNode, ours: Path, foreign: Path) -> Any:
    mixed = Files(ours / "ca.pem", foreign / "127.0.0.1.pem", foreign / "127.0.0.1.key")
    return client_context(mixed), question(node)


def no_tls(node: LockNode, ours: Path, foreign: Path) -> Any:
    return None, question(node)


def a_web_browser(node: LockNode, ours: Path, foreign: Path) -> Any:
    return None, b"GET / HTTP/1.1\r\n\r\n"


def old_tls(node: LockNode, ours: Path, foreign: Path) -> Any:
    context = client_context(Files.of_host(ours, "127.0.0.1"))._inner
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context, question(node)


def another_cluster(node: LockNode, ours: Path, foreign: Path) -> Any:
    context = client_context(Files.of_host(ours, "127.0.0.1"))
    return context, encode(Ask(VERSION, "another"))


async def heard(node: LockNode, security: ssl.SSLContext | None, said: bytes) -> bytes:
    """All that one hears until the connection is ended from over there."""
    where, port = host_and_port(node.host.address)
    with suppress(OSError):
        reader, writer = await asyncio.open_connection(
            where, port, ssl=security, server_hostname=where if security else None
        )
        try:
            writer.write(said)
            return await reader.read()
        finally:
            writer.transport.abort()
    return b""


def no_data(heard: bytes) -> bool:
    """Nothing, or a TLS alert (21) of two bytes."""
    return not heard or (heard[0] == 21 and len(heard) == 7)


@pytest.mark.parametrize(
    "greet",
    [
        no_certificate,
        foreign_certificate,
        no_tls,
        a_web_browser,
        old_tls,
        another_cluster,
    ],
)
@on_each_loop
async def test_strangers_hear_nothing(
    url: str, secure: Reach, certificates: Path, foreign: Path, greet: Greeting
) -> None:
    async with nodes(url, secure, secure) as (a, b):
        connections = len(a.host._connections)
        async with in_use(a, b):
            for _ in range(3):
                security, said = greet(a, certificates, foreign)
                assert no_data(await heard(a, security, said))
            await until(lambda: not len(a.host.door))
        await until(lambda: len(a.host._connections) == connections)
        ours = client_context(Files.of_host(certificates, "127.0.0.1"))
        asked = asyncio.create_task(heard(a, ours, question(a)))
        assert await survey(url, secure)
        asked.cancel()


@pytest.mark.parametrize(
    ("who", "text"),
    [
        ("foreign", "certificate is not trusted|does not trust our certificate"),
        ("insecure", "it has closed the connection"),
    ],
)
@on_each_loop
async def test_who_cannot_talk_with_the_members_does_not_join(
    url: str, secure: Reach, foreign: Path, who: str, text: str
) -> None:
    """They would wait for it, and nobody would get a lock any more."""
    odd = replace(secure, certificates=foreign) if who == "foreign" else INSECURE
    async with nodes(url, secure) as (a,):
        view = a.host.node.view
        with pytest.raises(ClusterError, match=f"do not talk with us: .*({text})"):
            await peerlock.join(url, lease=LEASE, reach=odd)
        assert a.host.node.view == view
        async with nodes(url, secure) as (b,), b.lock("x", timeout=10):
            pass


@on_each_loop
async def test_who_does_not_want_tls_from_us_is_not_joined(url: str, secure: Reach) -> None:
    async with nodes(url, INSECURE) as (a,), a.lock("x"):
        with pytest.raises(ClusterError, match="do not talk with us"):
            await peerlock.join(url, lease=LEASE, reach=secure)


@on_each_loop
async def test_who_hangs_up_because_he_leaves_does_not_keep_us_out(
    url: str, reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with nodes(url, reach) as (a,):

        def refuse(connection: Connection) -> None:
            a.driver.end()
            connection.end()

        monkeypatch.setattr(a.host, "_answer", refuse)
        async with nodes(url, reach) as (b,), b.lock("x", timeout=10):
            assert len(b.host.node.view.members) == 1


@on_each_loop
async def test_who_is_not_trusted_gets_no_answer(
    url: str, secure: Reach, foreign: Path
) -> None:
    async with nodes(url, secure) as (a,), a.lock("x"):
        strangers = replace(secure, certificates=foreign), Reach(insecure=True)
        for stranger in strangers:
            told = await survey(url, stranger)
            assert [member["answers"] for member in told["members"]] == [False]
            assert told["locks"] == []
        assert (await survey(url, secure))["locks"]


@on_each_loop
async def test_a_certificate_for_another_host_is_not_taken(
    url: str, secure: Reach, certificates: Path, tmp_path: Path
) -> None:
    """Others would not talk with us, and we would hold them up."""
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    for name in ("ca.pem", "ca.key"):
        (wrong / name).write_bytes((certificates / name).read_bytes())
    issue(wrong, "elsewhere.example")
    misled = replace(secure, certificates=wrong)
    async with peerlock.join(url, lease=LEASE, reach=secure) as a:
        text = "others will not trust .*elsewhere.example.pem: .* not valid for '127.0.0.1'"
        with pytest.raises(ClusterError, match=text):
            await peerlock.join(url, lease=LEASE, reach=misled)
        issue(wrong, "elsewhere.example", ["127.0.0.1"], force=True)
        async with peerlock.join(url, lease=LEASE, reach=misled) as b:
            for node in (a, b):
                async with node.lock("x", timeout=10):
                    pass


# Certificates are replaced


def break_connections(*users: LockNode) -> None:
    """New ones are made, and show what there is now."""
    for node in users:
        for connection in list(node.host._connections):
            node.driver.soon(connection.end)


@on_each_loop
async def test_certificates_and_authorities_are_replaced_while_locks_are_used(
    url: str, secure: Reach, certificates: Path
) -> None:
    old = client_context(Files.of_host(certificates, "127.0.0.1"))._inner
    async with nodes(url, secure, secure) as (a, b):
        held = await a.lock("held").acquire()
        async with in_use(a, b) as entries:
            reissue = partial(issue, certificates, "127.0.0.1", ["::1"], force=True)
            renew = partial(renew_authority, certificates)
            retire = partial(retire_authorities, certificates)
            steps: list[Callable[[], object]] = [reissue, renew, reissue, retire]
            for step in steps:
                step()
                so_far = entries()
                break_connections(a, b)
                while entries() < so_far + 20:
                    await asyncio.sleep(0)
            assert no_data(await heard(a, old, question(a)))
        assert not held.is_lost
        held.release()
        assert a.host.node.view == b.host.node.view


# Peers that say nothing, or too much


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "PATIENCE", 0.3)
    monkeypatch.setattr(door, "HANDSHAKE", 0.3)


def half_a_hello() -> bytes:
    """The beginning of a TLS handshake."""
    outgoing = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, False, "h")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()[:50]


@pytest.mark.parametrize("said", [b"", b"\0", half_a_hello()], ids=len)
@on_each_loop
async def test_silent_connections_are_dropped(
    url: str, reach: Reach, said: bytes, impatient: None
) -> None:
    async with nodes(url, reach, reach) as (a, b):
        connections = len(a.host._connections)
        async with in_use(a, b):
            began = time.monotonic()
            assert no_data(await heard(a, None, said))
            assert time.monotonic() - began < 5
            await until(lambda: not len(a.host.door))
        await until(lambda: len(a.host._connections) == connections)


@on_each_loop
async def test_who_shows_a_certificate_and_then_says_nothing_is_dropped(
    url: str, secure: Reach, certificates: Path, impatient: None
) -> None:
    async with nodes(url, secure) as (a,):
        ours = client_context(Files.of_host(certificates, "127.0.0.1"))
        assert await heard(a, ours, b"") == b""
        await until(lambda: not a.host._connections)
        assert a.host.door.strangers == 1


@on_each_loop
async def test_the_kernel_looks_after_silent_peers(url: str, reach: Reach) -> None:
    async with nodes(url, reach, reach) as (a, b):
        for connection in {*a.host._connections, *b.host._connections}:
            own = connection._transport.get_extra_info("socket")
            assert own.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 2
            assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 5000


def trusted(reach: Reach) -> ssl.SSLContext | None:
    """A client that members admit, if certificates are what they ask for."""
    if reach.certificates is None:
        return None
    return client_context(Files.of_host(Path(reach.certificates), "127.0.0.1"))


@on_each_loop
async def test_frames_that_are_too_large_end_the_connection(url: str, reach: Reach) -> None:
    async with nodes(url, reach, reach) as (a, b), in_use(a, b):
        too_large = (MOST_BYTES + 1).to_bytes(LENGTH, "big")
        assert await heard(a, trusted(reach), too_large + bytes(100)) == b""


@on_each_loop
async def test_views_that_cannot_be_are_not_believed(url: str, reach: Reach) -> None:
    async with nodes(url, reach, reach) as (a, b), in_use(a, b):
        view, me = a.host.node.view, a.host.node.me
        twice = View(view.number + 1, (view.members[0], view.members[0]))
        for odd in (View(2**41, view.members), View(-1, ()), twice):
            said = encode(Hello(VERSION, a.host.engine.cluster, me)) + encode(Seen(odd))
            assert await heard(a, trusted(reach), said) == b""
        assert a.host.node.view == view


@on_each_loop
async def test_a_flood_of_connections_is_borne(url: str, reach: Reach) -> None:
    """A thousand at once: they take few descriptors, and members still get in."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with nodes(url, reach, reach) as (a, b), in_use(a, b) as entries:
        where = host_and_port(a.host.address)
        strangers: list[socket.socket] = []
        before = len(os.listdir("/proc/self/fd"))
        try:
            while len(strangers) < min(1000, soft // 3):
                strangers.append(socket.socket())
                strangers[-1].setblocking(False)
                with suppress(BlockingIOError):
                    strangers[-1].connect(where)
                if len(strangers) % 20 == 0:
                    await asyncio.sleep(0)
            so_far = entries()
            await until(lambda: entries() > so_far + 50)
            await until(lambda: len(a.host.door) <= MOST)
            ours = len(os.listdir("/proc/self/fd")) - len(strangers) - before
            assert ours <= MOST + 50
            joining = peerlock.join(url, lease=LEASE, reach=reach)
            async with joining as late, late.lock("busy", timeout=10):
                pass
        finally:
            for stranger in strangers:
                stranger.close()


@pytest.mark.parametrize("at_once", [1, 400])
@on_each_loop
async def test_of_those_who_have_come_and_gone_nothing_is_kept(
    url: str, reach: Reach, at_once: int
) -> None:
    """Not for a while, either: they can come faster than a collector runs."""
    async with nodes(url, reach) as (a,):
        gc.collect()
        gc.disable()
        try:
            for _ in range(400 // at_once):
                with ExitStack() as stack:
                    for _ in range(at_once):
                        came = socket.create_connection(host_and_port(a.host.address))
                        stack.enter_context(came)
                        await asyncio.sleep(0)
            await until(lambda: a.host.door.strangers == 400)
            for _ in range(10):
                await asyncio.sleep(0)
            assert sum(isinstance(each, Connection) for each in gc.get_objects()) < 50
        finally:
            gc.enable()


@on_each_loop
async def test_who_lets_us_in_and_then_does_not_want_us_is_not_called_all_the_time(
    url: str, reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one whose authority we do not know, or of another version."""
    monkeypatch.setattr(host, "must_be_welcome", AsyncMock())  # as if it came after us
    accepted = 0

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1

    plain = replace(reach, insecure=True, certificates=None)
    engine = EtcdEngine(url, LEASE)
    async with Listener(accept) as refusing:
        try:
            await engine.join(f"127.0.0.1:{refusing.port}")
            async with peerlock.join(url, lease=LEASE, reach=plain) as node:
                asking = asyncio.create_task(node.lock("x").acquire())
                await until(lambda: accepted >= 2)
                await asyncio.sleep(1)
                assert accepted < 30
                asking.cancel()
        finally:
            engine.close()


# etcd is away

ANOTHER_PROCESS = """
import asyncio, sys, peerlock

async def main(url, certificates):
    reach = peerlock.Reach(listen="127.0.0.1:0", certificates=certificates)
    async with peerlock.join(url, lease=3, reach=reach) as node:
        while True:
            async with node.lock("busy") as grant:
                print(grant.fence, flush=True)
            await asyncio.sleep(0.005)

asyncio.run(main(*sys.argv[1:]))
"""


async def fences_are_reserved(*nodes: LockNode) -> None:
    """As they are soon in a view in which locks are used."""
    known = [node.host.node.fences for node in nodes]
    while any(fences.limit - fences.highest < 100_000 for fences in known):
        async with nodes[0].lock("often used"):
            pass
        await asyncio.sleep(0)


@on_each_loop
async def test_while_etcd_is_away_for_less_than_the_lease_locks_go_on(
    url: str, secure: Reach, certificates: Path, server: Server
) -> None:
    another = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        ANOTHER_PROCESS,
        url,
        str(certificates),
        stdout=asyncio.subprocess.PIPE,
    )
    assert another.stdout is not None
    try:
        await another.stdout.readline()
        async with nodes(url, secure, secure) as (a, b):
            held = await b.lock("held").acquire()
            await fences_are_reserved(a, b)
            theirs = asyncio.create_task(fences_of(another.stdout, 10))
            server.pause()
            async with in_use(a, b):
                since = time.monotonic()
                fences = await theirs
                await asyncio.sleep(since + 1.2 - time.monotonic())
                assert fences == sorted(set(fences))
            server.resume()
            assert not held.is_lost
            held.release()
    finally:
        server.resume()
        with suppress(ProcessLookupError):
            another.kill()
        await another.wait()


async def fences_of(lines: asyncio.StreamReader, number: int) -> list[int]:
    return [int(await lines.readline()) for _ in range(number)]


@on_each_loop
async def test_when_etcd_is_away_for_longer_holders_are_told_before_their_lease_ends(
    url: str, reach: Reach, server: Server
) -> None:
    async with nodes(url, reach, reach, lease=2) as (a, b):
        grants = [await a.lock("x").acquire(), await b.lock("y").acquire()]
        waiting = asyncio.create_task(b.lock("x").acquire())
        server.signal(signal.SIGSTOP)
        stopped = time.monotonic()
        try:
            for grant in grants:
                assert await grant.lost
            assert time.monotonic() - stopped < 2.0  # the lease of etcd cannot be over
        finally:
            server.signal(signal.SIGCONT)
        again = await waiting  # who waited still waits, and is served when etcd is back
        assert again.fence > grants[0].fence
        again.release()
