"""One seed of whole nodes, and all that it tells."""

from __future__ import annotations

from peerlock.simulator.cluster import Cluster, Outcome, Story


def telling(seed: int) -> tuple[Outcome, list[str]]:
    log: list[str] = []
    return Cluster(Story(seed), log.append).run(), log
