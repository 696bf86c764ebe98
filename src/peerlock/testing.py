"""The tests that every membership engine must pass.

    from peerlock.membership import Engine
    from peerlock.testing import EngineSuite

    class TestConsul(EngineSuite):
        def engine(self, cluster: str, lease: float | None) -> Engine:
            return ConsulEngine(f"consul://127.0.0.1:8500/{cluster}", lease)

pytest collects the tests of the subclass; each is a plain method, and needs nothing else.
All engines of a test are in one process, so they share a clock: the suite compares the
moment at which a member is put out with the deadline that it was given.

An engine that passes keeps the rules that locks rely on:

- All members see the same views in the same order.  Numbers only grow, also after
  everything was lost (`peerlock.membership.origin`), and no member's id is given twice.
- A member is put out when its lease has ended, by the engine's clock, and never earlier
  than its own clock says; a member that renews stays.
- A member that is out learns of it at its next renewal.
- Numbers that were reserved are below those of all later views.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
import warnings
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from functools import wraps
from math import inf
from typing import Any, Self

from peerlock.membership import Engine, Gone, MemberId, View, Watching, origin
from peerlock.membership.clock import now

__all__ = ["EngineSuite"]

LONG = 60.0  # seconds of a lease that does not end during a test
CROWD = 8


class EngineUser:
    """An engine, and what the host of a node does with it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.me: MemberId = 0
        self.deadline = -inf
        self.views: list[View] = []
        if isinstance(engine, Watching):
            engine.on_change = self._heard

    async def join(self, address: str = "somewhere", beyond: int = 0) -> Self:
        view, self.me, self.deadline = await self.engine.join(address, beyond)
        self.views.append(view)
        return self

    async def renew(self, *suspects: MemberId) -> View:
        renewed = await self.engine.renew(self.me, suspects)
        self.deadline = renewed.deadline
        self.views.append(renewed.view)
        return renewed.view

    async def is_out(self) -> bool:
        try:
            await self.renew()
        except Gone:
            return True
        return self.deadline == -inf

    def _heard(self, view: View | None) -> None:
        if view is not None:
            self.views.append(view)

    @property
    def view(self) -> View:
        return max(self.views)


def in_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run it in an event loop of its own, and close all engines at its end."""

    @wraps(test)
    def run(self: EngineSuite) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(self.patience):
                with ExitStack() as self._open:
                    await test(self)

        asyncio.run(bounded())

    return run


class EngineSuite:
    """The tests; a subclass says how to make the engine.  Times are in seconds."""

    lease = 1.0  # the shortest that the engine keeps
    slack = 1.0  # for how long after the end of a lease its member may still be in
    patience = 30.0  # for one test
    _open: ExitStack

    def engine(self, cluster: str, lease: float | None) -> Engine:
        """A new engine for a cluster of this name, which may be new, too."""
        raise NotImplementedError

    def process(self, cluster: str, lease: float | None = LONG) -> EngineUser:
        engine = self.engine(cluster, lease)
        self._open.callback(engine.close)
        return EngineUser(engine)

    # Members and views

    @in_time
    async def test_a_process_that_joins_is_a_member_until_it_leaves(self) -> None:
        one = await self.process(name := fresh()).join("here")
        [member] = one.view.members
        assert member == (one.me, "here", os.getpid()), (
            "a view lists id, address, process id"
        )
        assert one.deadline > now(), "a lease begins with the join"
        left = await one.engine.leave(one.me)
        assert left.members == (), "a member that has left is in no later view"
        assert left.number > one.view.number, "every change has a higher number"
        assert await self.process(name).engine.read() == left

    @in_time
    async def test_members_are_listed_in_the_order_in_which_they_joined(self) -> None:
        name = fresh()
        three = [await self.process(name).join(f"at {i}") for i in range(3)]
        view = await three[0].renew()
        assert ids(view) == [process.me for process in three]
        assert [member.address for member in view.members] == ["at 0", "at 1", "at 2"]

    @in_time
    async def test_numbers_grow_with_every_change_and_a_view_has_one_number(self) -> None:
        one = await self.process(name := fresh()).join()
        two = await self.process(name).join()
        between = await one.renew()
        assert one.views[0].number < two.view.number == between.number
        assert between == two.view, "a number belongs to one view"
        assert await one.renew() == between, "a renewal alone makes no new view"
        left = await two.engine.leave(two.me)
        assert left.number > between.number
        assert await one.renew() == left

    @in_time
    async def test_no_id_is_given_twice(self) -> None:
        name, given = fresh(), []
        for _ in range(4):
            process = await self.process(name).join()
            given.append(process.me)
            await process.engine.leave(process.me)
        assert sorted(set(given)) == given, "ids grow, also in a cluster that was empty"

    @in_time
    async def test_numbers_begin_with_the_clock(self) -> None:
        """So they grow although everything that kept them was lost."""
        before = origin(time.time() - 1)
        one = await self.process(fresh()).join()
        assert before <= one.view.number <= origin(time.time() + 1)

    @in_time
    async def test_a_process_joins_beyond_the_numbers_that_it_has_seen(self) -> None:
        seen = origin(time.time()) + 5000
        one = await self.process(fresh()).join(beyond=seen)
        assert one.view.number > seen
        assert one.me > seen

    @in_time
    async def test_reserved_numbers_are_below_those_of_later_views(self) -> None:
        one = await self.process(name := fresh()).join()
        first = await one.engine.reserve()
        assert first > one.view.number, "there are numbers to be used"
        assert await one.renew() == one.views[0], "a reservation makes no new view"
        two = await self.process(name).join()
        assert two.view.number >= first, "no later view has a number that was reserved"

    @in_time
    async def test_a_crowd_that_joins_at_once_sees_the_same_views(self) -> None:
        name = fresh()
        crowd = [self.process(name) for _ in range(CROWD)]
        await asyncio.gather(*(process.join() for process in crowd))
        views = {await process.renew() for process in crowd}
        assert len(views) == 1, "all see the same newest view"
        assert sorted(ids(views.pop())) == sorted(process.me for process in crowd)
        by_number: dict[int, View] = {}
        for view in (view for process in crowd for view in process.views):
            assert by_number.setdefault(view.number, view) == view, "a number has one view"

    @in_time
    async def test_a_process_that_joins_again_is_another_member(self) -> None:
        one = await self.process(fresh()).join()
        former = one.me
        await one.join()
        assert one.me > former
        assert ids(await one.renew()) == [one.me], "its former self is out"

    @in_time
    async def test_one_that_has_joined_again_unheard_leaves_as_its_new_self(
        self,
    ) -> None:
        one = await self.process(name := fresh()).join()
        two = await self.process(name).join()
        former = two.me
        await two.join()
        assert ids(await two.engine.leave(former)) == [one.me]

    @in_time
    async def test_to_leave_twice_changes_nothing(self) -> None:
        one = await self.process(name := fresh()).join()
        two = await self.process(name).join()
        left = await two.engine.leave(two.me)
        assert await one.engine.leave(two.me) == left

    # Clusters

    @in_time
    async def test_reading_changes_nothing(self) -> None:
        one = await self.process(name := fresh()).join()
        reader = self.process(name)
        assert await reader.engine.read() == one.view
        assert reader.engine.cluster == one.engine.cluster != "", "they know the cluster"
        assert await one.renew() == one.views[0]
        assert (await self.process(fresh()).engine.read()).members == ()

    @in_time
    async def test_clusters_are_independent(self) -> None:
        one, two = await self.process(fresh()).join(), await self.process(fresh()).join()
        assert ids(await one.renew()) == [one.me]
        assert ids(await two.renew()) == [two.me]
        assert one.engine.cluster != two.engine.cluster, "a cluster has its own identity"

    # Leases

    @in_time
    async def test_a_silent_member_is_out_after_its_lease_and_not_before(self) -> None:
        one = await self.process(name := fresh(), self.lease).join()
        two = await self.process(name, self.lease).join()
        await two.renew()
        await one.renew()
        over = two.deadline
        while two.me in ids(one.view):
            assert now() < over + self.slack, "it is still a member"
            await asyncio.sleep(self.lease / 20)
            await one.renew(two.me)
        assert now() >= over, "it was put out before its lease had ended"
        assert ids(one.view) == [one.me]
        assert await two.is_out(), "a member that is out learns of it at its next renewal"

    @in_time
    async def test_a_member_that_renews_stays(self) -> None:
        one = await self.process(name := fresh(), self.lease).join()
        two = await self.process(name, self.lease).join()
        ends = now() + 1.5 * (one.engine.lease or self.lease)
        while now() < ends:
            await asyncio.sleep(self.lease / 5)
            for process, other in ((one, two), (two, one)):
                asked = now()
                assert ids(await process.renew(other.me)) == [one.me, two.me]
                assert process.deadline > asked, "a renewal makes the lease longer"
                assert process.deadline <= now() + (process.engine.lease or self.lease)

    @in_time
    async def test_a_process_that_ends_without_leaving_is_out_after_its_lease(self) -> None:
        one = await self.process(name := fresh(), self.lease).join()
        engine = self.engine(name, self.lease)
        dead = await EngineUser(engine).join()
        await one.renew()
        engine.close()
        while dead.me in ids(one.view):
            assert now() < dead.deadline + self.slack, "it is still a member"
            await asyncio.sleep(self.lease / 20)
            await one.renew(dead.me)

    @in_time
    async def test_a_member_that_was_removed_is_told(self) -> None:
        one = await self.process(name := fresh()).join()
        two = await self.process(name).join()
        await one.engine.leave(two.me)
        assert await two.is_out()
        await two.join()
        assert ids(await one.renew()) == [one.me, two.me], "and it may come back"

    # Engines

    @in_time
    async def test_an_engine_that_watches_tells_of_changes(self) -> None:
        one = self.process(name := fresh())
        if not isinstance(one.engine, Watching):
            return
        await one.join()
        two = await self.process(name).join()
        while two.me not in ids(one.view):
            await asyncio.sleep(0.01)
        left = await two.engine.leave(two.me)
        while one.view != left:
            await asyncio.sleep(0.01)

    @in_time
    async def test_a_join_that_is_cancelled_leaves_no_member(self) -> None:
        one = await self.process(name := fresh(), self.lease).join()
        two = self.process(name, self.lease)
        for turns in range(4):
            joining = asyncio.ensure_future(two.engine.join("nowhere"))
            for _ in range(turns):
                await asyncio.sleep(0)
            joining.cancel()
            await asyncio.gather(joining, return_exceptions=True)
        await two.join("at last")
        ends = now() + (two.engine.lease or self.lease) + self.slack
        while (view := await one.renew()) and ids(view) != [one.me, two.me]:
            assert now() < ends, "a join that was cancelled has made a member that stays"
            await asyncio.sleep(self.lease / 20)
            await two.renew()

    @in_time
    async def test_a_forked_child_does_not_disturb_its_parent(self) -> None:
        one = await self.process(fresh()).join()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # there may be threads
            child = os.fork()
        if not child:
            try:
                one.engine.abandon()
            finally:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert ids(await one.renew()) == [one.me]
        assert one.deadline > now()


def fresh() -> str:
    """The name of a cluster that was never used."""
    return f"suite-{secrets.token_hex(8)}"


def ids(view: View) -> list[MemberId]:
    return [member.id for member in view.members]
