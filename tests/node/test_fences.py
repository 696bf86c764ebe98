"""Fences: they grow, they fit into 53 bits, and stores of every kind can compare them."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

import peerlock
from peerlock.core.peer import RemoteError
from peerlock.membership.memory import CLUSTERS, MemoryEngine
from peerlock.node import fences
from peerlock.node.fences import COUNT_BITS, MOST_AHEAD, Fences
from peerlock.node.node import Node
from peerlock.node.numbers import BITS, MOST
from peerlock.node.register import Register
from peerlock.node.terms import demand
from peerlock.node.views import Member, View, is_a_view
from peerlock.node.wire import Batch
from peerlock.simulator.cluster import Cluster, ClusterStory
from tests.support.nodes import User, World

LOCK = demand()
BLOCK = 1 << COUNT_BITS
PROMISES = (Path(__file__).parents[2] / "docs" / "promises.md").read_text()


def entered(number: int) -> Fences:
    made = Fences()
    made.enter(number)
    return made


# The rules, one by one


def test_a_fence_is_a_number_of_41_bits_above_a_count_of_12() -> None:
    assert BITS + COUNT_BITS == 53
    assert entered(7).next() == (7 << 12) + 1
    last = entered(MOST - 1)
    given = [last.next() for _ in range(BLOCK - 1)]
    assert given[-1] == 2**53 - 1
    assert not last.left


def test_a_view_has_a_block_and_gives_no_fence_of_another() -> None:
    ours = entered(7)
    given = []
    while ours.left:
        given.append(ours.next())
    assert given == list(range((7 << 12) + 1, 8 << 12))


def test_the_greater_of_each_is_kept() -> None:
    ours = entered(7)
    ours.hear(7, (7 << 12) + 100, 9 << 12)
    ours.hear(7, (7 << 12) + 50, 8 << 12)
    assert (ours.highest, ours.limit) == ((7 << 12) + 100, 9 << 12)
    assert ours.next() == (7 << 12) + 101


def test_a_higher_fence_of_one_that_knows_less_leaves_the_limit_as_it_is() -> None:
    ours = entered(7)
    ours.reserved(9)
    ours.hear(7, (7 << 12) + 100, 8 << 12)
    assert (ours.highest, ours.limit) == ((7 << 12) + 100, 9 << 12)


def test_fences_belong_to_a_view_and_those_of_the_latest_count() -> None:
    ours = entered(7)
    ours.hear(9, (9 << 12) + 5, 10 << 12)  # of a member that has seen more than we have
    assert (ours.view, ours.next()) == (9, (9 << 12) + 6)
    ours.hear(8, (10 << 12) - 1, 10 << 12)  # made up
    ours.enter(8)
    ours.enter(9)
    assert ours.next() == (9 << 12) + 7
    ours.enter(10)
    assert ours.next() == (10 << 12) + 1


def test_the_next_view_begins_above_all_that_was_reserved() -> None:
    ours = entered(7)
    ours.reserved(20)
    assert ours.number == 19  # a member that joins again asks for a view above that
    ours.hear(7, (20 << 12) - 1, 20 << 12)
    ours.enter(20)
    assert ours.next() == (20 << 12) + 1


def test_a_sixteenth_of_the_first_block_is_a_sign_to_reserve_more() -> None:
    """They may be used up within 20 ms, and the engine may take as long to answer."""
    ours = entered(1)
    assert signs(ours) == (BLOCK // 16, 3 * BLOCK // 4)
    ours.reserved(4)
    assert ours.left and not ours.runs_low
    assert ours.next() == 2 * BLOCK  # what was reserved begins where the block ends


def test_half_of_what_was_reserved_is_the_next_sign() -> None:
    ours = entered(1)
    ours.reserved(5)
    assert signs(ours) == (2 * BLOCK, 3 * BLOCK)


def signs(ours: Fences) -> tuple[int, int]:
    """How many were given when they ran low, and when they were nearly out."""
    states = []
    while ours.left:
        ours.next()
        states.append((ours.runs_low, ours.nearly_out))
    return states.index((True, False)) + 1, states.index((True, True)) + 1


@pytest.mark.parametrize("number", [-1, MOST, 2**60])
def test_views_with_more_than_41_bits_are_refused(number: int) -> None:
    with pytest.raises(RemoteError, match=r"does not fit|no view"):
        entered(number)
    assert not is_a_view(View(number, ()))
    assert is_a_view(View(MOST - 1, ()))


def test_a_view_that_is_refused_changes_nothing() -> None:
    world = World(2)
    before = world[1].view
    with pytest.raises(RemoteError):
        world[1].see(View(MOST, before.members))
    assert world[1].view == before
    assert world.get(1).fence


@pytest.mark.parametrize(
    ("view", "fence", "limit"),
    [
        (7, 8 << 12, 8 << 12),  # not below its limit
        (7, 9 << 12, 8 << 12),
        (7, 9 << 12, 9 << 12),
        (8, (8 << 12) - 1, 9 << 12),  # of an earlier view
        (7, 7 << 12, (7 + MOST_AHEAD + 1) << 12),  # nobody reserves that much
        (7, 2**53, 2**53 + 1),
    ],
)
def test_what_cannot_be_is_refused(view: int, fence: int, limit: int) -> None:
    ours = entered(7)
    with pytest.raises(RemoteError, match="there can be no fence"):
        ours.hear(view, fence, limit)
    assert (ours.view, ours.highest, ours.limit) == (7, 7 << 12, 8 << 12)
    entered(MOST - 1).hear(MOST - 1, 2**53 - 1, 2**53)


# In a node


def with_blocks_of(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fences, "COUNT_BITS", bits)


def use(world: World, member: int, name: str = "x") -> int:
    user = world.get(member, name)
    world[member].release(user)
    world.settle()
    return user.fence


def test_without_fences_grants_wait_and_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with_blocks_of(3, monkeypatch)
    world = World(2)
    given = [use(world, 1) for _ in range(7)]
    waiting = world.ask(2, "x", LOCK), world.ask(1, "y", LOCK)
    world.settle()
    world.pass_time(2)
    assert not any(user.holds for user in waiting)
    world[1].reserved(world.number + 3, world.number)
    world.settle()
    assert all(user.holds for user in waiting)  # the limit has travelled
    assert min(user.fence for user in waiting) > max(given)


def test_grants_that_wait_for_fences_go_on_with_those_of_a_view() -> None:
    """A reservation may come to nothing, because the engine knows a later view."""
    world = World(1)
    world[1].fences.highest = world[1].fences.limit - 1  # all are given
    waiting = world.ask(1)
    world[1].reserved(world.number + 10, world.number + 1)
    world.settle()
    assert waiting.waits
    world.add(2)
    world.next_view(1, 2)
    world.show(1)
    world.settle()
    assert waiting.holds


def test_the_quick_way_ends_with_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    with_blocks_of(3, monkeypatch)
    world = World(1)
    node = world[1]
    first = User(LOCK)
    node.acquire("x", first)
    node.release(first)
    taken = []
    for user in (User(LOCK) for _ in range(20)):
        if not node.take("x", user):
            break
        taken.append(user.fence)
        node.put_back(user)
    assert taken == list(range(first.fence + 1, (world.number + 1) << 3))
    node.reserved(world.number + 2, world.number)
    assert node.take("x", user)
    assert user.fence == taken[-1] + 1


def test_hand_overs_end_with_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    with_blocks_of(3, monkeypatch)
    world = World(1)
    node = world[1]
    users = [world.ask(1, "x", LOCK) for _ in range(10)]
    for user in users:
        if user.holds:
            world.release(user)
    given = [user.fence for user in users if not user.waits]
    assert given == list(range(given[0], (world.number + 1) << 3))
    assert sum(user.waits for user in users) == 3
    node.reserved(world.number + 2, world.number)
    world.settle()
    assert users[7].fence == given[-1] + 1


def test_a_reservation_from_after_the_view_counts_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise a member that was put out could be ahead of those that have put it out."""
    with_blocks_of(3, monkeypatch)
    world = World(2)
    node = world[1]
    limit = node.fences.limit
    node.reserved(world.number + 10, world.number + 1)
    assert node.fences.limit == limit
    later = world.number + 1
    heard = Batch(1, later, 1, 0, later << 3, later + 1 << 3, ())
    node.receive(2, heard)  # of a view that we have not seen
    node.reserved(world.number + 10, world.number)
    assert node.fences.limit == heard.limit
    node.lose_everything()
    node.reserved(world.number + 10, world.number)
    assert node.fences.limit == heard.limit


def test_one_member_reserves_and_the_others_do_if_it_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_blocks_of(4, monkeypatch)
    for member, grants in ((1, 1), (2, 12)):
        world = World(2)
        wanted = []
        for _ in range(15):
            use(world, member)
            wanted.append(world[member].wants_fences)
        assert wanted.index(True) == grants - 1
        world[member].lose_everything()
        assert not world[member].wants_fences


def test_what_a_member_makes_up_about_fences_ends_with_the_view() -> None:
    world = World(2)
    number = world.number
    lie = (number + MOST_AHEAD) << COUNT_BITS
    world[1].receive(2, Batch(1, number, 1, 0, lie - 1, lie, ()))
    assert not world[1].fences.left
    with pytest.raises(RemoteError):
        world[1].receive(2, Batch(1, number, 1, 0, lie, lie + 1, ()))
    world.see(1, 2)
    world.settle()
    assert world.get(1).fence == (world.number << COUNT_BITS) + 1


@pytest.mark.parametrize("bits", [2, 4])
def test_seeds_with_blocks_that_run_out_all_the_time(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_blocks_of(bits, monkeypatch)
    for seed in range(1, 31):
        assert Cluster(ClusterStory(seed)).run().grants > 0


# In a process


def test_a_cluster_in_memory_reserves_and_nobody_is_disturbed() -> None:
    """More grants than a view has fences, in one view."""

    async def work() -> int:
        async with peerlock.join("memory://fences") as a:
            views, last = a.statistics().views, 0
            for _ in range(3 * BLOCK):
                async with a.lock("x", timeout=10) as grant:
                    assert grant.fence > last
                    last = grant.fence
            assert a.statistics().views == views
            return last

    async def join_again() -> int:
        return (await MemoryEngine("fences", None).join("/a")).view.number

    last = asyncio.run(work())
    assert asyncio.run(join_again()) << COUNT_BITS > last


def test_a_member_that_joins_again_is_above_all_that_it_used() -> None:
    async def beyond() -> tuple[int, int]:
        engine = MemoryEngine("lost files", None)
        await engine.join("/a", 500)
        reserved = await engine.reserve()
        CLUSTERS["lost files"].register = Register()
        node = Node(lambda: 0.0)
        node.see(View(501, (Member(1, "/a", 1),)), 1)
        node.reserved(reserved, 501)
        joined = await engine.join("/a", node.fences.number)
        return joined.view.number, reserved

    number, reserved = asyncio.run(beyond())
    assert number >= reserved


# What docs/promises.md shows, with real interpreters

NEIGHBOURS = [2**53 - 2, 2**53 - 1]


def example(language: str) -> str:
    """The first one in the page that is written in this language."""
    found = re.search(rf"```{language}\n(.*?)```", PROMISES, re.S)
    assert found, language
    return found[1]


def test_sql_refuses_a_stale_fence() -> None:
    with sqlite3.connect(":memory:") as store:
        store.execute("CREATE TABLE accounts (id, balance, fence INTEGER)")
        store.execute("INSERT INTO accounts VALUES (1, 0, 0)")
        statement = example("sql").split(";")[0]

        def write(fence: int) -> int:
            values = {"id": 1, "balance": 5, "fence": fence}
            return store.execute(statement, values).rowcount

        older, newer = NEIGHBOURS
        assert [write(older), write(newer), write(older), write(newer)] == [1, 1, 0, 1]
    store.close()


def test_sql_with_a_row_for_each_lock_refuses_a_stale_fence() -> None:
    """The second example: the write is made only if the fence was not lower."""
    [begin, update, *_] = re.findall(r"```sql\n(.*?)```", PROMISES, re.S)[1].split(";")
    assert begin == "BEGIN"
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as store:
        store.execute("CREATE TABLE fences (name, fence INTEGER)")
        store.execute("INSERT INTO fences VALUES ('invoices', 0), ('others', 0)")

        def write(fence: int) -> int:
            store.execute(begin)
            changed = store.execute(update, {"fence": fence}).rowcount
            store.execute("COMMIT" if changed else "ROLLBACK")
            return changed

        older, newer = NEIGHBOURS
        assert [write(older), write(newer), write(older), write(newer)] == [1, 1, 0, 1]
        kept = store.execute("SELECT fence FROM fences ORDER BY name").fetchall()
        assert kept == [(newer,), (0,)]


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
def test_javascript_refuses_a_stale_fence() -> None:
    older, newer = NEIGHBOURS
    sent = [json.dumps({"fence": fence, "balance": 5}) for fence in (older, newer, older)]
    script = (
        f"{example('javascript')}\n"
        f"const account = {{balance: 0, fence: 0}};\n"
        f"console.log(JSON.stringify({json.dumps(sent)}.map("
        "body => write(account, JSON.parse(body)))));\n"
    )
    done = subprocess.run(
        ["node", "-e", script], capture_output=True, text=True, check=True, timeout=30
    )
    assert json.loads(done.stdout) == [True, True, False]


LUA = next(filter(shutil.which, ("luajit", "lua5.1", "lua", "lua5.4")), None)


@pytest.mark.skipif(LUA is None, reason="needs Lua")
def test_a_redis_script_refuses_a_stale_fence() -> None:
    """Redis hands over text, and runs Lua 5.1, whose numbers are doubles."""
    assert LUA is not None
    older, newer = NEIGHBOURS
    script = f"""
        local kept = {{}}
        local function call(command, key, ...)
            if command == "HGET" then return kept[select(1, ...)] or false end
            local fields = {{...}}
            for i = 1, #fields, 2 do kept[fields[i]] = fields[i + 1] end
        end
        redis = {{call = call}}
        KEYS = {{"account"}}
        local write = function(fence)
            ARGV = {{fence, "5"}}
            return (function() {example("lua")} end)()
        end
        print(write("{older}"), write("{newer}"), write("{older}"))
    """
    done = subprocess.run(
        [LUA, "-e", script], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.split() == ["1", "1", "0"]


@pytest.mark.skipif(not shutil.which("redis-server"), reason="needs redis-server")
def test_the_redis_script_in_redis(tmp_path: Path) -> None:
    older, newer = NEIGHBOURS
    socket = tmp_path / "redis.sock"
    options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--dir"]
    server = subprocess.Popen(
        ["redis-server", *options, str(tmp_path)], stdout=subprocess.DEVNULL
    )
    try:
        ask = ["redis-cli", "-s", str(socket), "--no-raw"]
        ready = ["sh", "-c", f"until test -S {socket}; do sleep 0.02; done"]
        subprocess.run(ready, check=True, timeout=20)
        told = [
            subprocess.run(
                [*ask, "EVAL", example("lua"), "1", "account", str(fence), "5"],
                capture_output=True,
                text=True,
                check=True,
                timeout=20,
            ).stdout.strip()
            for fence in (older, newer, older)
        ]
        assert told == ["(integer) 1", "(integer) 1", "(integer) 0"]
    finally:
        server.terminate()
        server.wait()
