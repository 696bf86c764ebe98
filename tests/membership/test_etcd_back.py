"""An etcd that goes back, and another etcd in its place: against real servers."""

import asyncio
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from peerlock.membership.clock import now
from peerlock.membership.engine import ClusterError, Gone
from peerlock.membership.etcd import EtcdEngine
from peerlock.membership.etcd_gateway import EtcdAnswer, encoded
from peerlock.membership.etcd_keys import NOTHING, EtcdKeys, EtcdMark
from peerlock.membership.etcd_views import Views
from peerlock.node.register import Register
from tests.support.etcd_members import (
    Member,
    fresh,
    ids,
    in_time,
    keys_of,
    members,
    renewed,
    same,
    see_one_pass,
)
from tests.support.etcd_servers import Server, Wire, servers


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with servers(tmp_path) as [one]:
        yield one


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Server, Server]]:
    """That have nothing to do with one another."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    with servers(tmp_path / "one") as [one], servers(tmp_path / "other") as [other]:
        yield one, other


# Restored from a snapshot


@in_time
async def test_a_member_that_etcd_has_forgotten_keeps_its_lease(server: Server) -> None:
    """It is cut off from etcd alone, and may hold a lock."""
    url = fresh(server)
    async with members(url, 1, lease=2) as a, Wire(server.port) as wire:
        forgotten, late = Member(same(url, wire), lease=5), Member(url, lease=2)
        try:
            await forgotten.join()  # now the longest lease is in the view's key
            await forgotten.engine.leave(forgotten.me)
            backup = server.back_up()
            await forgotten.join()
            await a.until(lambda view: forgotten.me in ids(view))
            deadline = (await forgotten.engine.renew(forgotten.me)).deadline
            wire.hold()
            await asyncio.to_thread(server.restore, backup)
            await a.until_told_to_look()
            with pytest.raises(Gone, match="gone back"):
                await a.engine.renew(a.me)
            assert now() < deadline, "this machine is too slow for this test to say much"
            for joining in asyncio.as_completed([a.join(), late.join()]):
                await joining
                assert now() >= deadline
            assert min(a.me, late.me) > forgotten.me
        finally:
            forgotten.die()
            late.die()


@pytest.mark.parametrize("token", ["etcd-cluster", "another"])
@in_time
async def test_a_newcomer_to_a_restored_etcd_waits_and_numbers_grow(
    server: Server, token: str
) -> None:
    """With the same token, etcd has the same cluster_id as before."""
    url = fresh(server)
    async with members(url, 1, lease=2) as a:
        backup = server.back_up()
        limit = await a.engine.reserve()
        await asyncio.to_thread(server.restore, backup, token)
        restored = now()
        async with members(url, 1, lease=2) as late:
            assert now() >= restored + 2
            assert late.joined.view.number > limit
        if token == "another":
            with pytest.raises(ClusterError, match="it is another etcd") as error:
                await a.engine.renew(a.me)
            assert "restart this process if etcd was restored" in str(error.value)
            with pytest.raises(ClusterError, match="it is another etcd"):
                await a.join()


@in_time
async def test_those_who_were_there_do_not_hide_a_restored_etcd_from_a_newcomer(
    server: Server,
) -> None:
    """They may change the view without knowing."""
    url = fresh(server)
    async with members(url, 2, lease=2) as (a, b):
        backup = server.back_up()
        await asyncio.to_thread(server.restore, backup)
        before = now()
        await a.engine.leave(b.me)
        async with members(url, 1, lease=2):
            assert now() >= before + 2


@in_time
async def test_a_join_that_fails_does_not_wait_from_the_beginning_again(
    server: Server,
) -> None:
    url = fresh(server)
    async with members(url, 1, lease=3):
        backup = server.back_up()
    await asyncio.to_thread(server.restore, backup)
    late = Member(url, lease=3)
    before = now()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await late.join()
    await late.join()
    assert before + 3 <= now() < before + 4, "or this machine is very slow"
    late.die()


# Deleted


@in_time
async def test_if_the_keys_are_deleted_whoever_knew_them_waits_for_all_others(
    server: Server,
) -> None:
    url = fresh(server)
    async with (
        Wire(server.port) as wire,
        members(url, 1) as a,
        members(same(url, wire), 1, lease=4) as forgotten,
    ):
        await a.until(lambda view: forgotten.me in ids(view))
        deadline = (await forgotten.engine.renew(forgotten.me)).deadline
        wire.hold()
        server.delete(keys_of(url))
        await a.until_told_to_look()
        with pytest.raises(Gone, match="removed"):
            await a.engine.renew(a.me)
        await a.join(a.views[-1].number)
        assert now() >= deadline
        assert a.me > forgotten.me


@in_time
async def test_a_member_knows_its_numbers_though_the_keys_and_the_time_are_lost(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock was set back by an hour."""
    url, tell = fresh(server), time.time
    async with members(url, 1) as a:
        limit = await a.engine.reserve()
        monkeypatch.setattr(time, "time", lambda: tell() - 3600)
        server.delete(keys_of(url))
        with pytest.raises(Gone, match="removed"):
            await a.engine.renew(a.me)
        await a.join(a.views[-1].number)
        assert a.joined.view.number > limit


# A data directory that was copied back


@in_time
async def test_a_copied_back_directory_is_noticed_and_numbers_grow_all_the_same(
    server: Server,
) -> None:
    url, backup = fresh(server), server.data.with_name("backup")
    async with members(url, 1) as a:
        server.crash()
        shutil.copytree(server.data, backup)
        server.restart()
        passed = await see_one_pass(url)
        await a.until(lambda view: view == passed)
        seen = passed.number
        server.crash()
        shutil.rmtree(server.data)
        backup.rename(server.data)
        server.restart()
        with pytest.raises(Gone, match="backup"):
            await a.engine.renew(a.me)
        async with members(url, 1) as late:  # which cannot know
            assert late.joined.view.number > seen
        await a.join(seen)
        assert await renewed(a) > now()


# Gone back, and forward again


@in_time
async def test_etcd_that_went_back_and_was_changed_since_is_noticed(server: Server) -> None:
    """Nothing is lower than it was: but what was known never happened."""
    async with Wire(server.port) as wire:
        url = fresh(wire)
        async with members(url, 1, lease=20) as a:
            backup = server.back_up()
            seen = await see_one_pass(same(url, server))
            await a.until(lambda view: view == seen)
            wire.hold()
            await asyncio.to_thread(server.restore, backup)
            change_the_view(server, url)
            await wire.hang_up()
            wire.let_go()
            await a.until_told_to_look()
            assert a.views[-1] == seen
            with pytest.raises(Gone, match="gone back"):
                await a.engine.renew(a.me)
            with pytest.raises(Gone, match="gone back"):
                await a.engine.reserve()


def change_the_view(server: Server, url: str) -> None:
    key = f"{keys_of(url)}view"
    view = server.pairs(keys_of(url))[key]
    for _ in range(20):
        view["number"] += 1000
        view["highest"] += 1000
        server.put(key, json.dumps(view).encode())


class Told:
    """What etcd answers: a revision, and a view of this number or none."""

    def __init__(self) -> None:
        self.revision = 10
        self.highest = 5
        self.written = 1

    async def ask(self, path: str, question: Any, patience: float) -> EtcdAnswer:
        state = NOTHING._replace(register=Register(self.highest, self.highest))
        pair = {"key": encoded(b"/peerlock/x/view"), "value": encoded(state.encode())}
        pair |= {"create_revision": "1", "mod_revision": str(self.written)}
        header = {"revision": str(self.revision), "raft_term": "1"}
        return EtcdAnswer(0.0, {"header": header, "kvs": [pair] if self.highest else []})


def views_of(told: Told) -> Views:
    made = Views(told, EtcdKeys("x"))  # type: ignore[arg-type]
    made.begin()
    return made


@pytest.mark.parametrize(
    ("revision", "highest", "text"),
    [(9, 5, "gone back"), (9, 6, "gone back"), (11, 4, "gone back"), (11, 0, "removed")],
)
@in_time
async def test_what_must_not_fall(revision: int, highest: int, text: str) -> None:
    told = Told()
    views = views_of(told)
    await views.snapshot(1)
    told.revision, told.highest = revision, highest
    with pytest.raises(Gone, match=text):
        await views.snapshot(1)
    told.revision, told.highest = 12, 5
    with pytest.raises(Gone, match=text):  # until it begins again
        await views.snapshot(1)
    views.begin()
    assert (await views.snapshot(1)).state.view.number == 5


@in_time
async def test_who_only_looks_takes_etcd_as_it_is() -> None:
    told = Told()
    views = Views(told, EtcdKeys("x"))  # type: ignore[arg-type]
    await views.snapshot(1)
    told.revision, told.highest = 1, 1
    assert (await views.snapshot(1)).state.view.number == 1


@in_time
async def test_an_answer_that_was_overtaken_is_not_the_newest() -> None:
    told = Told()
    views = views_of(told)
    older = (await views.snapshot(1)).state
    newer = older._replace(register=Register(6, 6), revision=2)
    views.learn(newer, 11)
    views.learn(older, 10)
    assert views.known == newer
    assert views.highest == 6


@pytest.mark.parametrize(
    ("earlier", "continues"),
    [
        (EtcdMark("a", 7, 100), True),
        (EtcdMark("a", 7, 101), False),
        (EtcdMark("b", 7, 1), False),
        (EtcdMark("", 0, 0), True),
        (EtcdMark("a", 9, 100), True),
    ],
)
def test_which_etcd_is_the_same(earlier: EtcdMark, continues: bool) -> None:
    assert EtcdMark("a", 8, 100).continues(earlier) is continues
    assert EtcdMark("a", 8, 0).continues(EtcdMark("a", 7, 100))


# Another etcd


@in_time
async def test_two_etcds_in_one_list_are_refused(two: tuple[Server, Server]) -> None:
    for first, second in (two, two[::-1]):
        member = Member(fresh(first, second))
        text = f"etcd at {second.address}: it is another etcd .* {first.address}"
        with pytest.raises(ClusterError, match=text) as error:
            await member.join()
        assert len(str(error.value).splitlines()) == 1
        assert not first.pairs("/peerlock/")
        assert not second.pairs("/peerlock/")
        member.die()


@in_time
async def test_nobody_moves_to_another_etcd(two: tuple[Server, Server]) -> None:
    one, other = two
    other.crash()
    async with members(fresh(one, other), 1, lease=20) as a:
        deadline = (await a.engine.renew(a.me)).deadline
        other.restart()
        while (found := await a.engine.renew(a.me)).trouble is None:
            await asyncio.sleep(0.05)  # until the other one has been looked at
        assert f"etcd at {other.address}: it is another etcd" in str(found.trouble)
        assert found.deadline > deadline
        one.crash()
        for _ in range(3):
            with pytest.raises(ClusterError, match="it is another etcd"):
                await a.engine.renew(a.me)
        with pytest.raises(ClusterError, match="it is another etcd"):
            await a.join()
        assert not other.pairs("/peerlock/")


@in_time
async def test_another_etcd_is_not_watched(two: tuple[Server, Server]) -> None:
    one, other = two
    engine = EtcdEngine(fresh(one, other), 2.0)
    gateway = engine._gateway
    await engine.read()
    gateway._current = 1
    with pytest.raises(ClusterError, match=f"etcd at {other.address}: it is another"):
        await anext(gateway.watch(b"a", b"b", 10))
    engine.close()
