"""Membership by etcd: against real servers, started here, killed, stopped, restored."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path
from typing import Any

import pytest

import peerlock
from peerlock.api.meeting import Reach
from peerlock.core.errors import UsageError
from peerlock.membership import etcd, etcd_gateway, etcd_views
from peerlock.membership.clock import now
from peerlock.membership.engine import (
    WATCHERS,
    BetweenMachines,
    ClusterError,
    Gone,
    Watching,
)
from peerlock.membership.etcd import AT_ONCE, EtcdEngine
from peerlock.membership.etcd_address import parse
from peerlock.membership.etcd_gateway import EtcdAnswer, Gateway, encoded
from peerlock.membership.place import engine_for
from peerlock.node.numbers import BLOCK, MOST, origin
from peerlock.node.views import View
from peerlock.runtime.certificates import issue, new_authority
from tests.membership.mutants import MUTANTS, PACKAGE, Mutant
from tests.support.etcd_members import (
    PATIENCE,
    Member,
    alone,
    fresh,
    ids,
    in_time,
    key_of,
    keys_of,
    members,
    renewed,
    same,
    see_one_pass,
)
from tests.support.etcd_servers import Server, Wire, servers
from tests.support.listening import Listener
from tests.support.loops import on_each_loop

UNREADABLE = "/proc/self/mem"  # it is there, and not even root can read its beginning


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with servers(tmp_path_factory.mktemp("etcd")) as [one]:
        yield one


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """For a test that does it harm."""
    with servers(tmp_path) as [one]:
        yield one


@pytest.fixture
def three(tmp_path: Path) -> Iterator[list[Server]]:
    with servers(tmp_path, 3) as all_three:
        yield all_three


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the servers were newer: 3.5.13 takes no key away too early."""

    async def is_hasty(engine: EtcdEngine) -> bool:
        return False

    monkeypatch.setattr(EtcdEngine, "_is_hasty", is_hasty)


# Coming and going


@on_each_loop
async def test_members_come_and_go_and_all_are_told(server: Server) -> None:
    url = fresh(server)
    async with members(url, 2) as (a, b):
        assert ids(await a.until(lambda view: len(view.members) == 2)) == [a.me, b.me]
        assert b.joined.view == a.views[-1]
        assert a.engine.cluster == b.engine.cluster != ""
        left = await b.engine.leave(b.me)
        assert await a.until(alone(a)) == left
        assert (await a.engine.renew(a.me)).view == left
        numbers = [view.number for view in a.views]
        assert numbers == sorted(set(numbers))


@in_time
async def test_a_key_per_member_says_where_it_is(server: Server) -> None:
    url = fresh(server)
    async with members(url, 1) as a:
        found = server.pairs(keys_of(url))
        [mine] = (found[key] for key in found if key.startswith(f"{keys_of(url)}members/"))
        assert (mine["address"], mine["pid"]) == ("there", os.getpid())
        assert mine["host"]
        assert found[f"{keys_of(url)}view"]["number"] == a.joined.view.number
        await a.engine.leave(a.me)
        assert list(server.pairs(keys_of(url))) == [f"{keys_of(url)}view"]


@in_time
async def test_whoever_dies_is_out_when_its_lease_is_and_not_before(
    server: Server, trusted: None
) -> None:
    async with members(fresh(server), 3) as (a, b, c):
        for survivor in (a, c):
            survivor.keep_renewing()
        deadline = (await b.engine.renew(b.me)).deadline
        b.die()
        for survivor in (a, c):
            view = await survivor.until(lambda view: b.me not in ids(view))
            assert now() >= deadline
            assert ids(view) == [a.me, c.me]
        assert a.views[-1] == c.views[-1]


@in_time
async def test_if_etcd_takes_a_key_away_too_early_nobody_is_out_too_early(
    server: Server,
) -> None:
    """As servers before 3.5.13 do when a leader was stopped."""
    url = fresh(server)
    async with members(url, 3) as (a, b, c):
        for survivor in (a, c):
            survivor.keep_renewing()
        deadline = (await b.engine.renew(b.me)).deadline
        server.delete(key_of(url, b))
        view = await a.until(lambda view: b.me not in ids(view))
        assert now() >= deadline
        assert await c.until(lambda view: b.me not in ids(view)) == view


@in_time
async def test_who_comes_back_after_that_need_not_wait(server: Server) -> None:
    url = fresh(server)
    async with members(url, 2, lease=2 * PATIENCE) as (a, b):
        former = b.me
        server.delete(key_of(url, b))
        await b.until_told_to_look()
        with pytest.raises(Gone, match="our lease ran out"):
            await b.engine.renew(b.me)
        await b.join(b.joined.view.number)
        view = await a.until(lambda view: former not in ids(view) and b.me in ids(view))
        assert ids(view) == [a.me, b.me]


@pytest.mark.parametrize(
    ("version", "hasty"),
    [
        ("3.5.1", True),
        ("3.4.40", True),
        ("3.5.12", True),
        ("3.5.13", False),
        ("3.6.0-rc.1", False),
        ("3.10.0", False),
        ("unknown", True),
        ("", True),
    ],
)
@in_time
async def test_which_servers_take_keys_away_too_early(
    version: str, hasty: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def call(*_: object) -> EtcdAnswer:
        return EtcdAnswer(0.0, {"etcdserver": version})

    engine = EtcdEngine("etcd://h/x", 2.0)
    monkeypatch.setattr(engine._gateway, "call", call)
    assert await engine._is_hasty() is hasty


@in_time
async def test_a_crowd_that_comes_at_once_sees_the_same_views(server: Server) -> None:
    url = fresh(server)
    crowd = [Member(url, lease=10) for _ in range(20)]
    try:
        await asyncio.gather(*(member.join() for member in crowd))
        for member in crowd:
            await member.finds(lambda view: len(view.members) == 20)
        await asyncio.gather(*(one.engine.leave(one.me) for one in crowd[::2]))
        for member in crowd[1::2]:
            await member.finds(lambda view: len(view.members) == 10)
        agree(crowd)
        assert len({member.me for member in crowd}) == 20
    finally:
        for member in crowd:
            member.die()


def agree(members: list[Member]) -> None:
    """Views of the same number are the same, and numbers grow."""
    by_number: dict[int, View] = {}
    for member in members:
        numbers = [view.number for view in member.views]
        assert numbers == sorted(set(numbers))
        for view in member.views:
            assert by_number.setdefault(view.number, view) == view


@asynccontextmanager
async def more_than_etcd_compares(url: str) -> AsyncIterator[list[Member]]:
    """They have not joined yet."""
    crowd = [Member(url, lease=60) for _ in range(140)]
    try:
        yield crowd
    finally:
        for member in crowd:
            member.die()


@in_time
async def test_more_may_come_and_die_at_once_than_etcd_compares(
    server: Server, trusted: None
) -> None:
    url = fresh(server)
    async with more_than_etcd_compares(url) as crowd:
        await asyncio.gather(*(member.join() for member in crowd))
        for member in crowd:
            await member.finds(lambda view: len(view.members) == len(crowd))
        agree(crowd)
        survivor, *others = sorted(crowd, key=lambda one: key_of(url, one))
        for member in others:
            member.die()
        server.delete_between(f"{key_of(url, survivor)}!", f"{keys_of(url)}n")
        await survivor.finds(alone(survivor))
        agree([survivor])


@in_time
async def test_if_many_died_and_nobody_was_there_whoever_joins_puts_all_out(
    server: Server, trusted: None
) -> None:
    url = fresh(server)
    async with more_than_etcd_compares(url) as crowd:
        await asyncio.gather(*(member.join() for member in crowd))
    server.delete(f"{keys_of(url)}members/")
    async with members(url, 1) as late:
        assert late.me in ids(late.joined.view)
        await late.finds(alone(late))


@in_time
async def test_whoever_joins_is_in_however_many_came_before_it(server: Server) -> None:
    url = fresh(server)
    async with more_than_etcd_compares(url) as crowd:
        waits = [slow_to_join(member) for member in crowd]
        joining = [asyncio.create_task(member.join()) for member in crowd]
        for there, _ in waits:
            await there.wait()
        async with members(url, 1, lease=60) as late:
            assert len(late.joined.view.members) == AT_ONCE
            for _, may_go_on in waits:
                may_go_on.set()
            await asyncio.gather(*joining)
            view = await late.finds(lambda view: len(view.members) == len(crowd) + 1)
            assert set(ids(view)) == {late.me, *(member.me for member in crowd)}


@in_time
async def test_the_first_members_watch_and_the_others_renew(server: Server) -> None:
    url = fresh(server)
    async with members(url, WATCHERS + 2, lease=60) as crowd:
        async with members(url, 1, lease=60) as newcomer:
            for member in crowd[:WATCHERS]:
                await member.until(lambda view: newcomer.me in ids(view))
            assert not any(newcomer.me in ids(one.views[-1]) for one in crowd[WATCHERS:])
            await crowd[-1].finds(lambda view: newcomer.me in ids(view))
        await asyncio.gather(*(one.engine.leave(one.me) for one in crowd[:WATCHERS]))
        await crowd[-1].finds(lambda view: crowd[0].me not in ids(view))  # it is first now
        async with members(url, 1, lease=60) as newcomer:
            await crowd[-1].until(lambda view: newcomer.me in ids(view))


@in_time
async def test_whoever_joins_takes_all_with_it_who_are_there(server: Server) -> None:
    url = fresh(server)
    first, second = Member(url), Member(url)
    there, others_are_in = slow_to_join(first)
    joining = asyncio.create_task(first.join())
    await there.wait()
    await second.join()
    others_are_in.set()
    await joining
    assert first.joined.view == second.joined.view
    assert ids(first.joined.view) == [first.me, second.me]
    first.die()
    second.die()


@in_time
async def test_who_does_not_want_to_join_any_more_is_not_in(server: Server) -> None:
    url = fresh(server)
    first, second = Member(url, lease=25), Member(url, lease=25)
    there, _ = slow_to_join(first)
    joining = asyncio.create_task(first.join())
    await there.wait()
    await second.join()
    assert len(second.joined.view.members) == 2
    vars(first.engine._views).pop("change")
    joining.cancel()
    await second.until(alone(second))
    first.die()
    second.die()


def slow_to_join(member: Member) -> tuple[asyncio.Event, asyncio.Event]:
    """When its key is there; and when it may go on to write a view."""
    there, may_go_on = asyncio.Event(), asyncio.Event()
    change = member.engine._views.change

    async def slow_change(*arguments: Any) -> Any:
        there.set()
        await may_go_on.wait()
        return await change(*arguments)

    member.engine._views.change = slow_change  # type: ignore[assignment, method-assign]
    return there, may_go_on


@in_time
async def test_to_look_is_not_to_join(server: Server) -> None:
    url = fresh(server)
    looking = engine_for(url, None)
    assert isinstance(looking, Watching)
    assert await looking.read() == View(0, ())
    assert server.pairs(keys_of(url)) == {}
    async with members(url, 1) as a:
        assert await looking.read() == a.joined.view
        assert looking.cluster == a.engine.cluster
        assert (await a.engine.renew(a.me)).view == a.joined.view
        with pytest.raises(ClusterError, match="a member needs a lease"):
            await looking.join("there")
    looking.close()


@in_time
async def test_somebody_can_be_put_out(server: Server) -> None:
    async with members(fresh(server), 2) as (a, b):
        view = await a.engine.leave(b.me)
        assert ids(view) == [a.me]
        assert await b.until(alone(a)) == view
        assert await b.engine.renew(b.me) == (view, -inf, False, None)


@in_time
async def test_who_comes_back_is_somebody_else_and_its_former_self_is_out(
    server: Server,
) -> None:
    async with members(fresh(server), 1) as a:
        former = a.me
        await a.join(beyond=a.joined.view.number + 100)
        assert ids(a.joined.view) == [a.me]
        assert a.me > former + 100
        assert await renewed(a) > now()


# Numbers


@in_time
async def test_the_first_number_is_the_clock(server: Server) -> None:
    before = origin(time.time())
    async with members(fresh(server), 1) as a:
        assert before <= a.joined.view.number <= origin(time.time())


@pytest.mark.parametrize("wrong", [0.0, 5e9])
@in_time
async def test_a_clock_that_is_wrong_is_not_believed(
    server: Server, monkeypatch: pytest.MonkeyPatch, wrong: float
) -> None:
    url = fresh(server)
    async with members(url, 1) as a:
        monkeypatch.setattr(time, "time", lambda: wrong)
        assert (await see_one_pass(url)).number == a.joined.view.number + 2
        pretend_an_election(server, url)
        assert (await see_one_pass(url)).number == a.joined.view.number + 4
        await refused(fresh(server), "the clock of this machine is wrong")


@in_time
async def test_after_an_election_numbers_move_up_to_the_clock(server: Server) -> None:
    """As etcd may have been restored: a data directory that was copied back begins one."""
    url = fresh(server)
    async with members(url, 1) as a:
        while origin(time.time()) < a.joined.view.number + 20:
            await asyncio.sleep(0.005)
        assert (await see_one_pass(url)).number == a.joined.view.number + 2
        pretend_an_election(server, url)
        assert (await see_one_pass(url)).number >= a.joined.view.number + 20
        assert (await see_one_pass(url)).number <= origin(time.time())


def pretend_an_election(server: Server, url: str) -> None:
    """Since the view was written."""
    key = f"{keys_of(url)}view"
    content = server.pairs(keys_of(url))[key]
    content["etcd"][1] -= 1
    server.put(key, json.dumps(content).encode())


@in_time
async def test_no_number_is_ahead_of_the_clock(server: Server) -> None:
    url = fresh(server)
    async with members(url, 1) as a:
        for _ in range(3):
            limit = await a.engine.reserve()
            assert limit <= origin(time.time())
        server.delete(keys_of(url))
        async with members(url, 1) as late:  # which knows nothing of it
            assert late.joined.view.number > limit


@in_time
async def test_numbers_for_fences_are_taken_without_a_new_view(server: Server) -> None:
    url = fresh(server)
    async with members(url, 2) as (a, b):
        view = await a.until(lambda view: b.me in ids(view))
        limit = await a.engine.reserve()
        assert limit == view.number + BLOCK
        assert await b.engine.reserve() == limit  # it is there for all
        assert await a.engine.reserve() == limit + BLOCK
        assert await b.engine.reserve() == limit + BLOCK
        assert await b.engine.reserve() == limit + 2 * BLOCK
        assert (await a.engine.renew(a.me)).view == view
        newest = await see_one_pass(url)
        assert newest.number > limit + 2 * BLOCK
        await a.until(lambda view: view == newest)
        agree([a, b])
        numbers = [seen.number for seen in a.views]
        assert numbers == [a.me, view.number, newest.number - 1, newest.number]


@in_time
async def test_numbers_of_a_newer_view_are_not_for_the_fences_of_an_older_one(
    server: Server,
) -> None:
    url = fresh(server)
    async with members(url, 1) as a:
        limit = await a.engine.reserve()
        a.engine._end_tasks()
        await asyncio.sleep(0)  # and nobody tells it any more
        async with members(url, 1) as b:
            assert await a.engine.reserve() == limit
            view = (await a.engine.renew(a.me)).view
            assert view == b.joined.view
            assert await a.engine.reserve() == view.number + BLOCK


@in_time
async def test_no_numbers_are_taken_from_an_etcd_that_has_lost_them(server: Server) -> None:
    url = fresh(server)
    async with members(url, 1) as a:
        server.delete(keys_of(url))
        with pytest.raises(Gone, match="removed"):
            await a.engine.reserve()


@in_time
async def test_when_the_numbers_are_used_up_it_says_so(server: Server) -> None:
    one = Member(fresh(server))
    with pytest.raises(ClusterError, match="used up all numbers"):
        await one.join(beyond=MOST - 1)
    one.die()


@in_time
async def test_if_all_keys_are_deleted_numbers_grow_all_the_same(server: Server) -> None:
    url = fresh(server)
    async with members(url, 1) as a:
        before = (await see_one_pass(url)).number
        server.delete(keys_of(url))
        await a.until_told_to_look()
        with pytest.raises(Gone, match="removed"):
            await a.engine.renew(a.me)
        await a.join(before)
        assert a.joined.view.number > before
        assert await renewed(a) > now()


# Leases


@in_time
async def test_leases_are_counted_on_a_clock_that_runs_while_the_machine_sleeps(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if it had slept for a day, and CLOCK_MONOTONIC with it."""
    for module in (etcd, etcd_gateway, etcd_views):
        monkeypatch.setattr(module, "now", lambda: now() + 86_400)
    async with members(fresh(server), 1, lease=20) as a:
        slept = time.monotonic() + 86_400
        assert slept - PATIENCE < a.joined.deadline - 20 <= slept
        assert slept - PATIENCE < await renewed(a) - 20 <= now() + 86_400


@in_time
async def test_a_late_answer_does_not_make_a_lease_longer(server: Server) -> None:
    """The grant's, the keepalive's, and that of the read that confirms it."""
    one = Member(fresh(server), lease=20)
    for late in ("/v3/lease/grant", "/v3/lease/keepalive", "/v3/kv/range"):
        answered = answers_late(one.engine, late)
        deadline = (
            (await one.join()).deadline
            if late == "/v3/lease/grant"
            else (await one.engine.renew(one.me)).deadline
        )
        assert deadline <= answered[late] - LATE + 20
    one.die()


LATE = 0.1  # seconds


def answers_late(engine: EtcdEngine, late: str) -> dict[str, float]:
    """When questions were answered; of those that are late, the first."""
    answered: dict[str, float] = {}
    call = Gateway.call

    async def slow_call(path: str, question: object, patience: float) -> EtcdAnswer:
        answer = await call(engine._gateway, path, question, patience)
        if path == late and path not in answered:
            await asyncio.sleep(LATE)
            answered[path] = now()
        return answer

    engine._gateway.call = slow_call  # type: ignore[method-assign]
    return answered


@in_time
async def test_a_former_self_is_not_renewed(server: Server) -> None:
    async with members(fresh(server), 1) as a:
        former = a.me
        await a.join()
        assert (await a.engine.renew(former)).deadline == -inf
        assert (await a.engine.renew(a.me)).deadline > now()


@in_time
async def test_etcd_so_slow_that_the_lease_ends_before_the_member_is_in(
    server: Server,
) -> None:
    url = fresh(server)
    one = Member(url)
    there, may_go_on = slow_to_join(one)
    joining = asyncio.create_task(one.join())
    await there.wait()
    server.delete(f"{keys_of(url)}members/")
    may_go_on.set()
    with pytest.raises(ClusterError, match="so slow that our lease ran out"):
        await joining
    one.die()


@in_time
async def test_a_lease_is_rounded_up_to_what_etcd_grants(server: Server) -> None:
    async with members(fresh(server), 1, lease=0.3) as a:
        assert a.engine.lease == 2  # etcd's least
        before = now()
        await a.join()
        assert before + 2 <= a.joined.deadline <= now() + 2
    async with members(fresh(server), 1, lease=2.5) as b:
        assert b.engine.lease == 3


@in_time
async def test_a_lease_is_counted_from_before_the_question(server: Server) -> None:
    async with Wire(server.port) as wire, members(fresh(wire), 1, lease=10) as a:
        before = now()
        wire.hold()
        asked = asyncio.create_task(a.engine.renew(a.me))
        await asyncio.sleep(0.3)  # an answer that takes its time: that is the test
        after = now()
        wire.let_go()
        deadline = (await asked).deadline
        assert before + 10 <= deadline < after + 10


@in_time
async def test_a_leader_that_was_deposed_renews_nothing(three: list[Server]) -> None:
    """It was stopped, there is another, it goes on, and may still believe that it leads."""
    old = next(server for server in three if server.leads())
    others = [server for server in three if server is not old]
    async with members(fresh(old), 1, lease=20) as a:
        terms = terms_of_keepalives(a.engine)
        old.pause()
        await elected(others)
        asked = asyncio.create_task(a.engine.renew(a.me))
        await asyncio.sleep(0.1)  # the question must lie there when it goes on
        old.resume()
        assert (await asked).deadline > now() + 10
        status = others[0].ask("maintenance/status", {})
        assert terms[-1] == int(status["header"]["raft_term"])


@in_time
async def test_a_renewal_counts_only_if_nobody_else_was_elected(server: Server) -> None:
    async with members(fresh(server), 1) as a:
        terms = terms_of_keepalives(a.engine, as_if=[-2, -1])
        before = now()
        assert (await a.engine.renew(a.me)).deadline > before + 2
        assert len(terms) == 3
        terms_of_keepalives(a.engine, as_if=[-1] * 100)
        with pytest.raises(ClusterError, match="leader changes all the time"):
            await a.engine.renew(a.me)


def terms_of_keepalives(engine: EtcdEngine, as_if: list[int] | None = None) -> list[int]:
    """In which they were answered; the first ones as if so many elections earlier."""
    terms: list[int] = []
    ask = engine._kept_alive

    async def noted() -> tuple[float, int, int]:
        sent, ttl, term = await ask()
        term += as_if.pop(0) if as_if else 0
        terms.append(term)
        return sent, ttl, term

    engine._kept_alive = noted  # type: ignore[method-assign]
    return terms


async def elected(candidates: list[Server]) -> None:
    while not any([await asyncio.to_thread(server.leads) for server in candidates]):
        await asyncio.sleep(0.05)


# What happens between a look and a change


@in_time
async def test_nobody_is_put_out_whose_key_is_there_again(
    server: Server, trusted: None
) -> None:
    url = fresh(server)
    async with members(url, 2, lease=20) as (a, b):
        key, lease = key_of(url, b), b.engine._lease_id
        card = json.dumps(server.pairs(keys_of(url))[key]).encode()
        tries = before_each_commit(a.engine, lambda: server.put(key, card, lease))
        server.delete(key)
        while not tries:
            await asyncio.sleep(0.01)
        assert ids((await a.engine.renew(a.me)).view) == [a.me, b.me]


@in_time
async def test_nobody_is_let_in_whose_key_has_gone_meanwhile(server: Server) -> None:
    url = fresh(server)
    first, second = Member(url, lease=20), Member(url, lease=20)
    there, may_go_on = slow_to_join(first)
    joining = asyncio.create_task(first.join())
    await there.wait()
    [key] = server.pairs(f"{keys_of(url)}members/")
    before_each_commit(second.engine, lambda: server.delete(key))
    await second.join()
    may_go_on.set()
    with pytest.raises(ClusterError, match="so slow that our lease ran out"):
        await joining
    assert ids(second.joined.view) == [second.me]
    first.die()
    second.die()


def before_each_commit(engine: EtcdEngine, act: Callable[[], None]) -> list[None]:
    """And how often."""
    tries: list[None] = []
    commit = engine._views._commit

    async def late_commit(*arguments: Any) -> Any:
        act()
        done = await commit(*arguments)
        tries.append(None)
        return done

    engine._views._commit = late_commit  # type: ignore[assignment, method-assign]
    return tries


# Watches


@in_time
async def test_what_a_broken_watch_has_missed_is_found_when_it_is_begun_anew(
    server: Server, trusted: None
) -> None:
    async with Wire(server.port) as wire:
        url = fresh(wire)
        async with members(url, 1, lease=20) as a, members(same(url, server), 1, 20) as b:
            await a.until(lambda view: b.me in ids(view))
            wire.hold()
            server.delete(key_of(url, b))
            b.die()
            await wire.hang_up()
            wire.let_go()
            await a.until(alone(a))
            wire.hold()
            server.delete(key_of(url, a))
            await wire.hang_up()
            wire.let_go()
            await a.until_told_to_look()


@in_time
async def test_a_watch_that_breaks_is_begun_anew_though_all_was_compacted(
    server: Server,
) -> None:
    async with Wire(server.port) as wire:
        url = fresh(wire)
        async with members(url, 1) as a:
            wire.hold()
            for _ in range(3):
                newest = await see_one_pass(same(url, server))
            status = server.ask("maintenance/status", {})
            revision = status["header"]["revision"]
            server.ask("kv/compaction", {"revision": revision, "physical": True})
            await wire.hang_up()
            wire.let_go()
            assert await a.until(lambda view: view.number >= newest.number) == newest


@in_time
async def test_a_watch_that_has_gone_silent_is_replaced(server: Server) -> None:
    async with Wire(server.port) as wire:
        url = fresh(wire)
        async with members(url, 1) as a:
            wire.hold()  # for good: what passed through here is lost
            a.engine._gateway.address = parse(same(url, server))
            while a.engine._gateway._idle[0]:
                a.engine._gateway._idle[0].pop().close()
            first = await see_one_pass(same(url, server))
            assert (await a.engine.renew(a.me)).view == first
            await a.engine.renew(a.me)
            second = await see_one_pass(same(url, server))
            assert await a.until(lambda view: view.number >= second.number) == second


@in_time
async def test_a_watch_that_fails_is_begun_anew_at_another_server(server: Server) -> None:
    engine = EtcdEngine(f"etcd://127.0.0.1:1,{server.address}/x", 2.0)
    gateway = engine._gateway
    with pytest.raises(ClusterError, match="no process listens there"):
        await anext(gateway.watch(b"a", b"b", PATIENCE))
    told = gateway.watch(b"a", b"b", PATIENCE)
    assert (await anext(told))["created"]
    await told.aclose()
    engine.close()


# Trouble


@on_each_loop
async def test_a_short_outage_disturbs_nothing(own_server: Server) -> None:
    url = fresh(own_server)
    async with members(url, 1, lease=20) as a:
        own_server.crash()
        with pytest.raises(ClusterError, match="no process listens there"):
            await a.engine.renew(a.me)
        own_server.restart()
        assert await renewed(a) > now()
        assert (await a.engine.renew(a.me)).view == a.joined.view
        async with members(url, 1) as b:
            assert await a.until(lambda view: b.me in ids(view)) == b.joined.view


@in_time
async def test_etcd_that_does_not_answer_is_given_up_in_time(own_server: Server) -> None:
    async with members(fresh(own_server), 1, lease=2) as a:
        own_server.pause()
        before = now()
        with pytest.raises(ClusterError, match="did not answer in time"):
            await a.engine.renew(a.me)
        assert now() - before < 1.9
        own_server.resume()
        assert await renewed(a) > now()


@in_time
async def test_servers_that_do_not_answer_share_the_time_there_is(server: Server) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with Listener(silent) as one, Listener(silent) as two:
        hosts = f"127.0.0.1:{one.port},127.0.0.1:{two.port},{server.address}"
        engine = EtcdEngine(f"etcd://{hosts}/x", 2.0)
        before = now()
        await engine._gateway.call("/version", None, 1.5)
        assert now() - before < 2.5
        engine.close()


@in_time
async def test_one_of_three_servers_may_die_or_fall_silent(three: list[Server]) -> None:
    first, second, third = three
    url = fresh(first, second, third)
    async with members(url, 1, lease=10) as a:
        first.kill()
        assert await renewed(a) > now()
        async with members(same(url, third), 1, lease=10) as b:
            assert await a.until(lambda view: b.me in ids(view)) == b.joined.view
            await asyncio.to_thread(first.restart)
            second.pause()
            assert await renewed(a) > now()
            await elected([first, third])
            left = await b.engine.leave(b.me)
            assert await a.until(alone(a)) == left
            second.resume()


@in_time
async def test_without_a_majority_nothing_is_renewed_until_there_is_one(
    three: list[Server],
) -> None:
    async with members(fresh(*three), 1, lease=20) as a:
        for server in three[1:]:
            server.kill()
        with pytest.raises(ClusterError, match="etcd at"):
            await a.engine.renew(a.me)
        three[1].start()
        assert await renewed(a) > now()
        assert (await a.engine.renew(a.me)).view == a.joined.view


@in_time
async def test_a_full_etcd_keeps_members_in_and_lets_none_in(
    own_server: Server, trusted: None
) -> None:
    alarm = {"memberID": 0, "alarm": "NOSPACE"}
    url = fresh(own_server)
    async with members(url, 2) as (a, b):
        own_server.ask("maintenance/alarm", {**alarm, "action": "ACTIVATE"})
        a.keep_renewing()
        late = Member(url)
        with pytest.raises(ClusterError, match=r"etcd is full .* alarm disarm"):
            await late.join()
        late.die()
        b.die()
        found = await a.engine.renew(a.me)
        while found.trouble is None:  # until b's lease has run out
            await asyncio.sleep(0.05)
            found = await a.engine.renew(a.me)
        assert "etcd is full" in str(found.trouble)
        assert found.deadline > now()
        assert b.me in ids(found.view)
        own_server.ask("maintenance/alarm", {**alarm, "action": "DEACTIVATE"})
        await a.until(alone(a))


@in_time
async def test_passwords(own_server: Server) -> None:
    url = fresh(own_server, user="ann:p%40ss@")
    add_users(own_server, url)
    async with members(url, 1, lease=20) as a:
        assert await renewed(a) > now()
        await refused(
            url.replace("p%40ss", "wrong"), "not take this password of user 'ann'"
        )
        await refused(url.replace("ann:p%40ss@", ""), "etcd wants a password")
        await refused(url.replace("ann", "bob"), "does not let bob read and write")
        own_server.kill()  # and what it gave for the password is forgotten
        own_server.restart()
        assert await renewed(a) > now()
        async with members(url, 1) as b:
            await a.until(lambda view: b.me in ids(view))


@in_time
async def test_a_new_password_is_read_when_the_old_one_is_refused(
    own_server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "password"
    file.write_text("p@ss\n")
    url = fresh(own_server, user="ann@")
    add_users(own_server, url)
    async with members(f"{url}?password-file={file}", 1, lease=20) as a:
        asked = {"name": "root", "password": "r"}
        root = own_server.ask("auth/authenticate", asked)["token"]
        own_server.ask("auth/user/changepw", {"name": "ann", "password": "new"}, root)
        with pytest.raises(ClusterError, match="not take this password of user 'ann'"):
            await a.engine.renew(a.me)
        file.write_text("new\n")
        assert (await a.engine.renew(a.me)).deadline > now()


def add_users(server: Server, url: str) -> None:
    """Ann may use this cluster's keys, Bob has a password and nothing else."""
    name, prefix = url.rpartition("/")[2], keys_of(url)
    coded = {key: encoded(key.encode()) for key in (prefix, prefix[:-1] + "0")}
    for user, password in (("root", "r"), ("ann", "p@ss"), ("bob", "p@ss")):
        server.ask("auth/user/add", {"name": user, "password": password})
    for user, role in (("root", "root"), ("ann", name)):
        server.ask("auth/role/add", {"name": role})
        server.ask("auth/user/grant", {"user": user, "role": role})
    first, end = coded.values()
    right = {"permType": "READWRITE", "key": first, "range_end": end}
    server.ask("auth/role/grant", {"name": name, "perm": right})
    server.ask("auth/enable", {})


async def refused(url: str, text: str) -> None:
    member = Member(url)
    with pytest.raises(ClusterError, match=text) as error:
        await member.join()
    assert len(str(error.value).splitlines()) == 1
    assert "p@ss" not in str(error.value)
    member.die()


@on_each_loop
async def test_tls_in_both_directions(tmp_path: Path) -> None:
    certs, foreign = tmp_path / "certs", tmp_path / "foreign"
    for directory in (certs, foreign):
        new_authority(directory)
        issue(directory, "etcd", ["127.0.0.1"])
    ours = f"?ca={certs}/ca.pem&cert={certs}/etcd.pem&key={certs}/etcd.key"
    with servers(tmp_path, options=mutual_tls(certs), tls=True) as [server]:
        url = fresh(server, options=ours)
        async with members(url, 2) as (a, b):
            await a.until(lambda view: b.me in ids(view))
        await refused(url.replace(f"?ca={certs}", f"?ca={foreign}"), "is not trusted")
        stranger = ours.replace(f"{certs}/etcd", f"{foreign}/etcd")
        await refused(fresh(server, options=stranger), "it requires a client certificate")
        unsigned = f"?ca={certs}/ca.pem"
        await refused(fresh(server, options=unsigned), "it requires a client certificate")
        await refused(fresh(server), "etcds://")


@on_each_loop
async def test_new_connections_show_and_trust_the_newest_certificates(
    tmp_path: Path,
) -> None:
    certs, foreign, ours = (tmp_path / name for name in ("certs", "foreign", "ours"))
    for directory in (certs, foreign):
        new_authority(directory)
        issue(directory, "etcd", ["127.0.0.1"])
    shutil.copytree(foreign, ours)
    with servers(tmp_path, options=mutual_tls(certs), tls=True) as [server]:
        files = f"?ca={ours}/ca.pem&cert={ours}/etcd.pem&key={ours}/etcd.key"
        member = Member(fresh(server, options=files))
        with pytest.raises(ClusterError, match="certificate is not trusted"):
            await member.join()
        shutil.copy(certs / "ca.pem", ours)
        with pytest.raises(ClusterError, match="it requires a client certificate"):
            await member.join()
        for name in ("etcd.pem", "etcd.key"):
            shutil.copy(certs / name, ours)
        await member.join()
        member.die()


def mutual_tls(certs: Path) -> tuple[str, ...]:
    """What etcd is told."""
    own = ("--cert-file", f"{certs}/etcd.pem", "--key-file", f"{certs}/etcd.key")
    return ("--client-cert-auth", "--trusted-ca-file", f"{certs}/ca.pem", *own)


@in_time
async def test_no_etcd_is_one_line(server: Server) -> None:
    await refused("etcd://127.0.0.1:1/x", "etcd at 127.0.0.1:1: no process listens there")
    await refused("etcd://[::1]:1/x", r"etcd at \[::1\]:1: ")
    await refused("etcd://nowhere.invalid/x", "the host name is unknown")
    await refused(f"etcds://{server.address}/x", "does it speak TLS, and trust")


def said(text: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(text), text)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (said(b"hello"), "is not etcd's JSON"),
        (said(b"17"), "is not etcd's JSON"),
        (said(b"{}"), "is not etcd's JSON"),
        (said(b'{"error": null}'), "is not etcd's JSON"),
        (said(b'{"code": []}'), "is not etcd's JSON"),
        (said(b'{"result": 17}'), "is not etcd's JSON"),
        (said(b'{"ID": "x", "TTL": "y"}'), "is not etcd's JSON"),
        (said(b'{"code": 16, "message": "invalid auth token"}'), "invalid auth token"),
        (b"HTTP/1.1 404 Not Found\r\ncontent-length: 1\r\n\r\n?", "no JSON gateway"),
        (b"220 mail.example ESMTP\r\n", "closed the connection"),
        (b"", "closed the connection"),
    ],
)
@in_time
async def test_something_else_that_answers_is_one_line(answer: bytes, text: str) -> None:
    async def answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)

    async with Listener(answering) as other:
        for user in ("", "ann:secret@"):
            await refused(f"etcd://{user}127.0.0.1:{other.port}/x", text)


@pytest.mark.parametrize("theirs", [b"mine", b"", b'{"name": "\xff"}'])
@in_time
async def test_keys_of_others_are_left_alone(server: Server, theirs: bytes) -> None:
    url = fresh(server)
    view = encoded(f"{keys_of(url)}view".encode())
    server.ask("kv/put", {"key": view, "value": encoded(theirs)})
    await refused(url, "was written by another version, or by others")


@in_time
async def test_keys_of_others_among_ours_disturb_nobody(server: Server) -> None:
    url = fresh(server)
    for name in ("members/17", "members/no number", "more"):
        for value in (b"", b"mine", b'{"address": "\xff"}'):
            key = encoded(f"{keys_of(url)}{name}".encode())
            server.ask("kv/put", {"key": key, "value": encoded(value)})
            async with members(url, 1) as a:
                assert await renewed(a) > now()
                assert ids(await a.engine.leave(a.me)) == []


# Addresses


def test_an_address_says_it_all(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("from the file\n")
    found = parse("etcd://a%3Ab:c%40d@h1:1,h2,[::1]:3,[::2]/prod")
    assert found.endpoints == (("h1", 1), ("h2", 2379), ("::1", 3), ("::2", 2379))
    assert (found.user, found.password(), found.cluster) == ("a:b", "c@d", "prod")
    assert parse("etcd://h:,müller.example/a").endpoints == (
        ("h", 2379),
        ("xn--mller-kva.example", 2379),
    )
    assert found.tls is None
    assert "c@d" not in repr(found)
    assert parse("etcds://h/prod").tls is not None
    filed = parse(f"etcd://ann@h/prod?password-file={tmp_path}/p")
    assert (filed.user, filed.password()) == ("ann", "from the file")
    (tmp_path / "p").write_text("from the newer file\n")
    assert filed.password() == "from the newer file"
    (tmp_path / "p").unlink()
    assert filed.password() == "from the newer file"


def test_certificates_are_read_again_when_they_are_whole(tmp_path: Path) -> None:
    new_authority(tmp_path)
    issue(tmp_path, "old", ["127.0.0.1"])
    issue(tmp_path, "new", ["127.0.0.1"])
    for end in ("pem", "key"):
        shutil.copy(tmp_path / f"old.{end}", tmp_path / f"our.{end}")
    tls = parse(f"etcd://h/a?cert={tmp_path}/our.pem&key={tmp_path}/our.key").tls
    assert tls is not None
    old = tls()
    assert tls() is old
    (tmp_path / "new.pem").replace(tmp_path / "our.pem")
    assert tls() is old
    (tmp_path / "new.key").replace(tmp_path / "our.key")
    assert tls() is not old


def test_all_of_etcds_servers_are_near() -> None:
    engine = engine_for("etcd://h1:1,h2,[::1]:3/prod", 1.0)
    assert isinstance(engine, BetweenMachines)
    assert engine.near == (("h1", 1), ("h2", 2379), ("::1", 3))


@pytest.mark.parametrize(
    ("url", "error", "text"),
    [
        ("etcd://h", UsageError, "add the name of the cluster"),
        ("etcd://h/a/b", UsageError, "add the name of the cluster"),
        ("etcd:///a", UsageError, "invalid etcd host and port"),
        ("etcd://h:x/a", UsageError, "invalid etcd host and port 'h:x'"),
        ("etcd://h:1,/a", UsageError, "invalid etcd host and port ''"),
        ("etcd://h/a?cacert=x", UsageError, r"unknown etcd option \?cacert="),
        ("etcd://h/a?ca=/no/where", ClusterError, "cannot read /no/where"),
        ("etcd://h/a?password-file=/no/where", ClusterError, "cannot read /no/where"),
        (f"etcd://h/a?ca={__file__}", ClusterError, "for TLS"),
        ("etcd://h:99999/a", UsageError, "host and port 'h:99999'"),
        ("etcd://h:0/a", UsageError, "host and port 'h:0'"),
        (f"etcd://h:{'9' * 5000}/a", UsageError, "invalid etcd host and port"),
        ("etcd://[::1]22379/a", UsageError, r"host and port '\[::1\]22379'"),
        ("etcd://[::1/a", UsageError, r"host and port '\[::1'"),
        ("etcd://::1/a", UsageError, "host and port '::1'"),
        ("etcd://a..b/a", UsageError, r"host and port 'a\.\.b'"),
        (f"etcd://{'x' * 64}/a", UsageError, "invalid etcd host and port"),
        ("etcd://h h/a", UsageError, "invalid etcd host and port"),
        ("etcd://h/\udcff", UsageError, "use UTF-8"),
        ("etcd://h/a?ca=", UsageError, r"\?ca= needs the name of a file"),
        ("etcd://h/a?ca=%00", UsageError, r"\?ca= needs the name of a file"),
        *[
            (f"etcd://h/a?{name}={UNREADABLE}", ClusterError, f"cannot read {UNREADABLE}")
            for name in ("ca", "cert", "key", "password-file")
        ],
    ],
)
def test_an_address_that_makes_no_sense(
    url: str, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text) as raised:
        engine_for(url, 1.0)
    assert len(str(raised.value).splitlines()) == 1


def test_a_password_that_is_not_utf_8(tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes("pässword".encode("latin-1"))
    with pytest.raises(ClusterError, match=r"cannot read .*/p: it is not UTF-8"):
        engine_for(f"etcd://ann@h/a?password-file={tmp_path}/p", 1.0)


def test_a_lease_that_etcd_cannot_grant() -> None:
    with pytest.raises(UsageError, match="does not grant leases"):
        engine_for("etcd://h/a", 1e30)


def test_without_its_package_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("etcd", "etcd_gateway"):
        monkeypatch.delitem(sys.modules, f"peerlock.membership.{name}")
    monkeypatch.setitem(sys.modules, "h11", None)
    with pytest.raises(ClusterError, match=r"pip install 'peerlock\[etcd\]'"):
        engine_for("etcd://h/a", 1.0)


# Forks

PARENT = """
import asyncio, gc, os, sys
from peerlock.membership.etcd import EtcdEngine

async def main(url):
    engine, other = EtcdEngine(url, 10), EtcdEngine(url, 10)
    told = asyncio.Event()
    joined = await engine.join("here")
    await engine.renew(joined.me)
    await asyncio.sleep(0.2)  # until it watches
    engine.on_change = lambda view: told.set()
    if os.fork() == 0:
        engine.abandon()
        vars(engine).clear()
        gc.collect()
        os._exit(0)
    os.wait()
    await engine.renew(joined.me)
    await other.join("there")
    await told.wait()
    engine.close()
    other.close()
    print("heard")

asyncio.run(asyncio.wait_for(main(sys.argv[1]), 20))
"""


def test_a_forked_child_does_not_disturb_its_parent(server: Server) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PARENT, fresh(server)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.stdout, done.stderr) == ("heard\n", "")


# Whole nodes


@in_time
async def test_locks_of_nodes_that_etcd_keeps_together(server: Server) -> None:
    url = fresh(server)
    fences = []
    reach = Reach(listen="127.0.0.1:0", insecure=True)
    async with (
        peerlock.join(url, lease=2, reach=reach) as a,
        peerlock.join(url, lease=2, reach=reach) as b,
    ):
        for node in (a, b, a):
            async with node.lock("x") as grant:
                fences.append(grant.fence)
        async with a.lock("x"):
            with pytest.raises(peerlock.WouldBlock):
                await b.lock("x").try_acquire()
    assert fences == sorted(set(fences))
    assert fences[0] < 1 << 63


# Mutants


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.breaks)
def test_a_mutant_can_still_be_made(mutant: Mutant) -> None:
    """Whether the tests notice it takes minutes: python -m tests.membership.mutants."""
    source = (PACKAGE / "membership" / mutant.file).read_text()
    assert mutant.apply(source) != source
