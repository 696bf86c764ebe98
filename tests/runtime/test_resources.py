"""Requests for sets of resources: the judge, and what all such algorithms do."""

import pytest

from peerlock.core.bits import bits
from peerlock.core.demands import Resources
from peerlock.simulator import Violation
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.judge import Judge

each = pytest.mark.parametrize("name", ["chandy-misra", "bouabdallah-laforest"])


def test_sets_that_have_nothing_in_common_may_be_inside_together() -> None:
    judge = Judge(Resources(3))
    for node, wanted in ((1, (1, 3)), (2, (2,)), (3, (2, 3))):
        judge.requested(node, bits(wanted))
    judge.granted(1, fence=1)
    judge.granted(2, fence=1)
    with pytest.raises(Violation, match="1, 2 and 3 are inside together"):
        judge.granted(3, fence=2)


def test_requests_are_for_every_set_but_the_empty_one() -> None:
    rule = Resources(3)
    assert len(rule.demands) == 7
    assert rule.words(bits((1, 3))) == "1+3"


@each
def test_no_circle_of_those_that_wait(name: str) -> None:
    """Each of three needs two of three resources: a deadlock, if they took one by one."""
    cluster = ByHand(name, 3, resources=3)
    for node, wanted in ((1, (1, 2)), (2, (2, 3)), (3, (3, 1))):
        cluster.request(node, bits(wanted))
    for _ in range(3):
        cluster.settle()
        (inside,) = cluster.judge.inside
        cluster.leave(inside)
    assert not cluster.judge.waiting


@each
def test_those_that_do_not_conflict_do_not_wait_for_each_other(name: str) -> None:
    cluster = ByHand(name, 4, resources=3)
    for node, wanted in ((1, (1,)), (2, (2,)), (4, (3,))):
        cluster.request(node, bits(wanted))
        cluster.settle()
    assert cluster.judge.inside == {1, 2, 4}
