"""One seed of whole nodes, and all that it tells."""

from __future__ import annotations

from peerlock.simulator.cluster import Cluster, ClusterStory, StoryOutcome


def telling(seed: int) -> tuple[StoryOutcome, list[str]]:
    log: list[str] = []
    return Cluster(ClusterStory(seed), log.append).run(), log
