"""The API for other languages, over real sockets, in the test's own event loop."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

import peerlock
from peerlock.api.names import asked_for
from peerlock.node import presence
from peerlock.node.node import Node
from peerlock.node.waiters import Waiter
from peerlock.serve.access import Keys, tokens_in
from peerlock.serve.api import Api
from peerlock.serve.http import Visitor
from peerlock.serve.openapi import description
from peerlock.serve.ports import Ports
from peerlock.serve.sessions import ClaimPhase
from tests.support.http import Served, reader, served

Talk = Callable[[Served], Awaitable[None]]
TOKEN = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def on_unix(tmp_path: Path) -> Callable[[Talk], None]:
    def run(talk: Talk) -> None:
        async def main() -> None:
            async with served(f"unix:{tmp_path}/a") as there:
                await talk(there)

        asyncio.run(main())

    return run


@pytest.fixture
def on_tcp(tmp_path: Path) -> Callable[[Talk], None]:
    file = tmp_path / "tokens"
    file.touch(mode=0o600)
    file.write_text(f"{TOKEN}\n")

    def run(talk: Talk) -> None:
        async def main() -> None:
            keys = Keys(tokens_in(str(file)))
            async with served("127.0.0.1:0", keys=keys) as there:
                await talk(there)

        asyncio.run(main())

    return run


def test_a_lock_is_acquired_and_released(on_unix: Callable[[Talk], None]) -> None:
    async def talk(there: Served) -> None:
        async with there.client() as client:
            mine = await client.session(ttl=5, label="billing-3")
            status, held = await client.ask("PUT", f"{mine}/locks/a%2Fb%20%C3%A9")
            assert (status, held["state"], held["name"]) == (200, "held", "a/b é")
            _, again = await client.ask("GET", f"{mine}/locks/a%2Fb%20%C3%A9")
            assert again == held
            _, shown = await client.ask("GET", mine)
            assert (shown["label"], shown["locks"]) == ("billing-3", [held])
            lock = there.node.lock("a/b é", timeout=0)
            with pytest.raises(peerlock.Timeout):
                await lock.acquire()
            status, told = await client.ask("DELETE", f"{mine}/locks/a%2Fb%20%C3%A9")
            assert (status, told["state"]) == (200, "released")
            grant = await lock.acquire()
            assert 0 < held["fence"] < grant.fence < 2**53
            assert (await client.ask("DELETE", f"{mine}/locks/a%2Fb%20%C3%A9"))[0] == 404
            assert (await client.ask("POST", f"{mine}/renew")) == (200, {"ttl": 5.0})
            assert (await client.ask("DELETE", mine)) == (200, {"state": "closed"})
            assert (await client.ask("POST", f"{mine}/renew"))[0] == 404

    on_unix(talk)


def test_members_hear_of_a_request_and_of_a_release_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not with the next tick."""
    for pace in ("POLL", "POLL_IDLE"):
        monkeypatch.setattr(presence, pace, 1e6)

    async def main() -> None:
        async with (
            served(f"unix:{tmp_path}/a", lease=None) as there,
            peerlock.join("memory://served", lease=None) as other,
            there.client() as client,
        ):
            mine = await client.session()
            for _ in range(3):
                grant = await other.lock("x", timeout=20).acquire()
                client.send("PUT", f"{mine}/locks/x", {"wait": 20})
                while not await waiters(there):
                    await asyncio.sleep(0)
                grant.release()
                assert (await client.answer())[0] == 200
                waiting = asyncio.ensure_future(other.lock("x", timeout=20).acquire())
                while not list(other.host.node.waiting()):
                    await asyncio.sleep(0.001)
                await client.ask("DELETE", f"{mine}/locks/x")
                (await waiting).release()

    asyncio.run(main())


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("ending", ["held", "dropped", "session"])
def test_a_long_poll_is_answered_when_its_claim_changes(
    on_unix: Callable[[Talk], None], ending: str, late: bool
) -> None:
    """Also if that happens right after the request has come, before its task has begun."""

    async def talk(there: Served) -> None:
        async with there.client() as one, there.client() as other:
            assert there.ports.api is not None
            first, second = await one.session(), await one.session(ttl=3600)
            await one.ask("PUT", f"{first}/locks/x")
            assert (await other.ask("PUT", f"{second}/locks/x", {"wait": 0}))[0] == 202
            other.send("GET", f"{second}/locks/x?wait=1800")  # longer than the test
            while late and not there.ports.api._polls:
                await asyncio.sleep(0)
            changes = {
                "held": f"{first}/locks/x",
                "dropped": f"{second}/locks/x",
                "session": second,
            }
            await one.ask("DELETE", changes[ending])
            status, told = await other.answer()
            assert status == (200 if ending == "held" else 404), told
            assert there.ports.api._polls == {}

    on_unix(talk)


def test_a_broken_connection_keeps_the_place(on_tcp: Callable[[Talk], None]) -> None:
    """In the middle of a long poll; another session that came later is served later."""

    async def talk(there: Served) -> None:
        async with there.client() as one, there.client() as third:
            one.headers = third.headers = {"Authorization": f"Bearer {TOKEN}"}
            holder, mine, late = await one.session(), await one.session(), ""
            await one.ask("PUT", f"{holder}/locks/x")
            async with there.client() as broken:
                broken.headers = one.headers
                broken.send("PUT", f"{mine}/locks/x", {"wait": 4})
                while await waiters(there) < 1:
                    await asyncio.sleep(0)
            late = await third.session()
            third.send("PUT", f"{late}/locks/x", {"wait": 4})
            while await waiters(there) < 2:
                await asyncio.sleep(0)
            one.send("DELETE", f"{holder}/locks/x")
            assert (await one.answer())[0] == 200
            status, held = await one.ask("PUT", f"{mine}/locks/x", {"wait": 4})
            assert (status, held["state"]) == (200, "held")
            await one.ask("DELETE", f"{mine}/locks/x")
            status, then = await third.answer()
            assert (status, then["fence"] > held["fence"]) == (200, True)

    on_tcp(talk)


async def waiters(there: Served) -> int:
    await asyncio.sleep(0.001)
    return len(list(there.node.host.node.waiting()))


def test_a_stream_begins_with_all_that_is_and_then_tells_changes(
    on_tcp: Callable[[Talk], None],
) -> None:
    async def talk(there: Served) -> None:
        known = {"Authorization": f"Bearer {TOKEN}"}
        async with there.client() as one, there.client() as other:
            one.headers = other.headers = known
            holder, mine = await one.session(), await one.session()
            await one.ask("PUT", f"{holder}/locks/x")
            await one.ask("PUT", f"{mine}/locks/x", {"wait": 0})
            other.send("GET", f"{mine}/events")
            assert (await other.head())[0] == 200
            kind, told = await other.event()
            assert (kind, [c["state"] for c in told["locks"]]) == ("session", ["waiting"])
            await one.ask("DELETE", f"{holder}/locks/x")
            assert (await other.event())[0] == "held"
            async with there.client() as another:  # as after a broken connection
                another.headers = known
                another.send("GET", f"{mine}/events")
                await another.head()
                _, told = await another.event()
                assert [c["state"] for c in told["locks"]] == ["held"]
                with pytest.raises(EOFError):  # the new stream has ended the old one
                    await other.event()
                await one.ask("DELETE", mine)
                assert await another.event() == ("end", {"reason": "closed"})
                with pytest.raises(EOFError):
                    await another.event()

    on_tcp(talk)


def test_a_loss_is_pushed_and_stays_until_it_was_seen(
    on_unix: Callable[[Talk], None],
) -> None:
    async def talk(there: Served) -> None:
        async with there.client() as client, there.client() as stream:
            stream.send("POST", "/v1/sessions", {"ttl": 5}, Accept="text/event-stream")
            await stream.head()
            mine = f"/v1/sessions/{(await stream.event())[1]['session']}"
            await client.ask("PUT", f"{mine}/locks/x")
            assert (await stream.event())[0] == "held"
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)
            with suppress(ZeroDivisionError):  # a fault: the node loses what it holds
                there.node.host.step(lambda: 1 / 0)
            kind, told = await stream.event()
            assert (kind, told["state"]) == ("lost", "lost")
            assert (await client.ask("GET", f"{mine}/locks/x"))[0] == 410
            assert (await client.ask("PUT", f"{mine}/locks/x"))[0] == 410
            assert (await client.ask("DELETE", f"{mine}/locks/x"))[0] == 410
            assert (await client.ask("DELETE", f"{mine}/locks/x"))[0] == 404

    on_unix(talk)


def test_a_release_after_the_lease_says_that_the_lock_was_lost(
    on_unix: Callable[[Talk], None],
) -> None:
    """The node has not noticed by itself yet."""

    async def talk(there: Served) -> None:
        async with there.client() as client:
            mine = await client.session()
            await client.ask("PUT", f"{mine}/locks/x")
            await asyncio.sleep(0.01)  # its turn is over
            there.node.host.node.renewed(0.0)
            status, told = await client.ask("DELETE", f"{mine}/locks/x")
            assert (status, told["state"]) == (410, "lost")

    on_unix(talk)


def test_when_the_server_ends_its_clients_are_told(on_unix: Callable[[Talk], None]) -> None:
    async def talk(there: Served) -> None:
        async with there.client() as client:
            client.send("POST", "/v1/sessions", {}, Accept="text/event-stream")
            await client.head()
            mine = f"/v1/sessions/{(await client.event())[1]['session']}"
            async with there.client() as other:
                await other.ask("PUT", f"{mine}/locks/x")
            assert (await client.event())[0] == "held"
            there.ports.end_sessions()
            assert await client.event() == ("end", {"reason": "the server has ended"})
            await there.node.lock("x", timeout=20).acquire()

    on_unix(talk)


def test_a_node_that_leaves_takes_no_more_claims(on_unix: Callable[[Talk], None]) -> None:
    async def talk(there: Served) -> None:
        async with there.client() as client:
            mine = await client.session()
            there.node.host.refuse_users()
            status, told = await client.ask("PUT", f"{mine}/locks/x")
            assert (status, told) == (503, {"error": "the node has left the cluster"})
            assert (await client.ask("GET", mine))[1]["locks"] == []

    on_unix(talk)


@pytest.mark.parametrize("as_stream", [False, True])
def test_a_client_that_dies_on_the_unix_socket_loses_its_locks_at_once(
    on_unix: Callable[[Talk], None], as_stream: bool
) -> None:
    async def talk(there: Served) -> None:
        async with there.client() as other:
            client = await there.client().__aenter__()
            accept = {"Accept": "text/event-stream"} if as_stream else {}
            client.send("POST", "/v1/sessions", {"ttl": 3600}, **accept)
            if as_stream:
                await client.head()
            _, told = await (client.event() if as_stream else client.answer())
            mine = f"/v1/sessions/{told['session']}"
            await other.ask("PUT", f"{mine}/locks/x")
            waiting = asyncio.ensure_future(there.node.lock("x", timeout=20).acquire())
            await asyncio.sleep(0.01)
            assert not waiting.done()
            client.writer.transport.abort()
            await waiting
            assert (await other.ask("GET", mine))[0] == 404

    on_unix(talk)


def test_a_client_that_dies_on_tcp_loses_its_locks_within_its_time_to_live(
    on_tcp: Callable[[Talk], None],
) -> None:
    async def talk(there: Served) -> None:
        async with there.client() as client:
            client.headers = {"Authorization": f"Bearer {TOKEN}"}
            mine = await client.session(ttl=0.3)
            await client.ask("PUT", f"{mine}/locks/x")
            began = asyncio.get_running_loop().time()
        await there.node.lock("x", timeout=20).acquire()
        assert 0.25 < asyncio.get_running_loop().time() - began < 5

    on_tcp(talk)


def test_a_poll_that_waits_is_answered_when_its_claim_ends(
    on_unix: Callable[[Talk], None],
) -> None:
    async def talk(there: Served) -> None:
        async with there.client() as one, there.client() as other:
            mine = await one.session(ttl=3600)  # nothing is answered before its time
            await one.ask("PUT", f"{mine}/locks/x")
            for ending in (f"{mine}/locks/y", mine):
                other.send("PUT", f"{mine}/locks/y", {"name": "x"})
                while await waiters(there) < 1:
                    await asyncio.sleep(0)
                await one.ask("DELETE", ending)
                assert (await other.answer())[0] == 404

    on_unix(talk)


def test_a_poll_is_answered_while_its_session_lives(on_tcp: Callable[[Talk], None]) -> None:
    """A client that would wait for longer than its time to live is asked to ask again."""

    async def talk(there: Served) -> None:
        async with there.client() as client, there.node.lock("x"):
            client.headers = {"Authorization": f"Bearer {TOKEN}"}
            mine = await client.session(ttl=2)
            status, told = await client.ask("PUT", f"{mine}/locks/x", {"wait": 60})
            assert (status, told["state"]) == (202, "waiting")
            assert there.ports.api is not None
            assert there.ports.api._polls == {}

    on_tcp(talk)


def test_a_connection_may_be_idle_as_long_as_a_session_is_tied_to_it(
    on_unix: Callable[[Talk], None],
) -> None:
    async def talk(there: Served) -> None:
        assert there.ports.api is not None
        async with there.client() as client:
            first, second = await client.session(), await client.session()
            visitor = there.ports.api.sessions.renew(first.rsplit("/")[-1]).tie
            assert isinstance(visitor, Visitor)
            for mine, is_idle in ((first, False), (second, True)):
                await client.ask("DELETE", mine)
                assert visitor.is_idle == is_idle

    on_unix(talk)


def test_semaphores_readers_and_terms(on_unix: Callable[[Talk], None]) -> None:
    async def talk(there: Served) -> None:
        async with there.client() as client:
            mine = await client.session()
            for key in ("one", "two", "three"):
                wanted = {"name": "pool", "permits": 2, "wait": 0}
                status, told = await client.ask("PUT", f"{mine}/locks/{key}", wanted)
            assert (status, told["state"]) == (202, "waiting")
            await client.ask("DELETE", f"{mine}/locks/three")
            assert (await client.ask("PUT", f"{mine}/locks/pool"))[0] == 409
            wanted = {"name": "table", "shared": True}
            assert (await client.ask("PUT", f"{mine}/locks/r1", wanted))[0] == 200
            other = peerlock.join("memory://served", thread=False)
            async with other, other.lock("table", shared=True):
                wanted = {"name": "table", "nonblock": True}
                assert (await client.ask("PUT", f"{mine}/locks/w", wanted))[0] == 423
                assert (await client.ask("DELETE", f"{mine}/locks/w"))[0] == 200
            changed = {"name": "pool"}
            assert (await client.ask("PUT", f"{mine}/locks/r1", changed))[0] == 409

    on_unix(talk)


def test_a_client_that_was_told_busy_does_not_get_the_lock_afterwards(
    on_unix: Callable[[Talk], None],
) -> None:
    """It may become free before the node has heard that it is no longer wanted."""

    async def talk(there: Served) -> None:
        assert there.ports.api is not None
        sessions = there.ports.api.sessions
        async with there.client() as client:
            mine = await client.session()
            session = sessions.renew(mine.rsplit("/")[-1])
            holder = await there.node.lock("x").acquire()
            claim = sessions.claim(session, "x", *asked_for("x", None, 0, False), True)
            assert claim.phase is ClaimPhase.BUSY
            holder.release()
            assert claim.phase is ClaimPhase.BUSY
            await there.node.lock("x", timeout=20).acquire()
            status, told = await client.ask("GET", f"{mine}/locks/x")
            assert (status, "fence" in told) == (423, False)

    on_unix(talk)


def test_whether_a_lock_is_busy_is_asked_until_it_is_known(
    on_unix: Callable[[Talk], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new view discards the answers that are under way."""
    asked: list[Waiter] = []
    probe = Node.probe

    def discarded_once(node: Node, waiter: Waiter) -> None:
        asked.append(waiter)
        if len(asked) > 1:
            probe(node, waiter)

    async def talk(there: Served) -> None:
        monkeypatch.setattr(Node, "probe", discarded_once)
        async with there.client() as client, there.node.lock("x"):
            mine = await client.session(ttl=20)
            status, _ = await client.ask("PUT", f"{mine}/locks/x", {"nonblock": True})
            assert (status, len(asked)) == (423, 2)

    on_unix(talk)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("POST", "/v1/sessions", {"ttl": 0.01}, 400, "ttl must be 0.1 to 3600"),
        ("POST", "/v1/sessions", {"ttl": "10"}, 400, "Expected `float`"),
        ("POST", "/v1/sessions", {"tll": 10}, 400, "unknown field"),
        ("POST", "/v1/sessions", {"label": "x" * 101}, 400, "at most 100"),
        ("POST", "/v1/sessions", {"label": "\x1b[31m"}, 400, "must be printable"),
        ("POST", "/v1/sessions", [], 400, "Expected `object`"),
        ("PUT", "/v1/sessions/forged/locks/x", None, 404, "no such session"),
        ("GET", "/v1/sessions/forged/events", None, 404, "no such session"),
        ("PUT", "SESSION/locks/x", {"algorithm": "os:system"}, 400, "unknown algorithm"),
        ("PUT", "SESSION/locks/x", {"algorithm": "./evil.py"}, 400, "unknown algorithm"),
        ("PUT", "SESSION/locks/", None, 400, "1 to 1,000 characters"),
        ("PUT", "SESSION/locks/" + "x" * 1001, None, 400, "1 to 1,000 characters"),
        ("PUT", "SESSION/locks/%ff", None, 400, "utf-8"),
        ("PUT", "SESSION/locks/x", {"permits": 2, "shared": True}, 400, "cannot be shared"),
        ("PUT", "SESSION/locks/x", {"permits": -1}, 400, "permits"),
        ("GET", "SESSION/locks/x?wait=long", None, 404, "no claim"),
        ("GET", "SESSION/locks/x/y", None, 404, "no such page"),
        ("PATCH", "SESSION", None, 404, "no such page for PATCH"),
        ("GET", "/v1/", None, 404, "no such page"),
        ("GET", "/metrics", None, 404, "no such page"),
        ("OPTIONS", "*", None, 404, "no such page"),
        ("CONNECT", "example.org:443", None, 404, "no such page"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    on_unix: Callable[[Talk], None],
    method: str,
    path: str,
    body: object,
    status: int,
    words: str,
) -> None:
    async def talk(there: Served) -> None:
        async with there.client() as client:
            mine = await client.session()
            given, told = await client.ask(method, path.replace("SESSION", mine), body)
            assert (given, words in told["error"]) == (status, True), told
            assert there.ports.api is not None
            assert there.ports.api.sessions.claims == 0

    on_unix(talk)


def test_before_it_has_joined_it_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        node = peerlock.join("memory://served", thread=False)
        ports = Ports(node.host, reader, Keys(), "127.0.0.1:0", f"unix:{tmp_path}/a")
        async with ports.open() as where, Served(node, ports, where).client() as client:
            status, told = await client.ask("POST", "/v1/sessions")
            assert (status, "has not joined" in told["error"]) == (503, True)
            assert (await client.ask("GET", "/healthz"))[0] == 200

    asyncio.run(main())


def test_status_shows_holders_and_waiters_with_their_labels(
    on_unix: Callable[[Talk], None],
) -> None:
    async def talk(there: Served) -> None:
        async with there.client() as client:
            for label in ("first", "second"):
                mine = await client.session(label=label)
                await client.ask("PUT", f"{mine}/locks/x", {"wait": 0})
            _, told = await client.ask("GET", "/v1/status")
            (lock,) = told["locks"]
            assert [holder["label"] for holder in lock["holders"]] == ["first"]
            assert [waiter["label"] for waiter in lock["waiters"]] == ["second"]
            assert mine.rsplit("/")[-1] not in str(told)  # ids are secrets

    on_unix(talk)


def test_the_description_has_every_route_and_nothing_else() -> None:
    routes = {(method, place, last) for method, place, last in Api.routes(Api.__new__(Api))}
    described = set()
    for path, about in description()["paths"].items():
        parts = [part for part in path.split("/")[2:] if part]
        last = parts[2] if len(parts) > 2 else "*" if len(parts) == 2 else ""
        if parts:
            described |= {(m.upper(), parts[0], last) for m in about if m != "parameters"}
    assert described == routes


def test_the_description_refers_to_what_it_has() -> None:
    def references(value: object) -> set[str]:
        if isinstance(value, dict):
            found = {str(value["$ref"])} if "$ref" in value else set()
            return found.union(*map(references, value.values()))
        return set().union(*map(references, value)) if isinstance(value, list) else set()

    schemas = description()["components"]["schemas"]
    assert references(description()) == {f"#/components/schemas/{name}" for name in schemas}


def test_metrics_count_sessions(on_unix: Callable[[Talk], None]) -> None:
    async def talk(there: Served) -> None:
        async with there.client() as client, there.client("metrics") as monitor:
            mine = await client.session()
            await client.ask("PUT", f"{mine}/locks/x")
            _, text = await monitor.ask("GET", "/metrics")
            assert "peerlock_sessions 1.0" in text
            assert "peerlock_claims 1.0" in text

    on_unix(talk)
