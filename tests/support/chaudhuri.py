"""Peers of the algorithms with a home, played by hand."""

from __future__ import annotations

from peerlock.algorithms.chaudhuri_91 import Chaudhuri91
from peerlock.core.peer import NodeId
from peerlock.simulator.by_hand import ByHand


def peers(cluster: ByHand) -> list[Chaudhuri91]:
    found = list(cluster.peers.values())
    return [peer for peer in found if isinstance(peer, Chaudhuri91)]


def the_home(cluster: ByHand) -> Chaudhuri91:
    (home,) = (peer for peer in peers(cluster) if peer.home)
    return home


def enter_and_leave(cluster: ByHand, node: NodeId) -> int:
    before = cluster.sent
    cluster.request(node)
    cluster.settle()
    assert cluster.judge.inside == {node}
    cluster.leave(node)
    cluster.settle()
    return cluster.sent - before
