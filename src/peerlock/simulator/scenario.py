"""What a run depends on, as one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from peerlock.algorithms.lookup import reference
from peerlock.algorithms.settings import Settings
from peerlock.core.peer import Peer
from peerlock.simulator.load import Heavy, Load
from peerlock.simulator.network import Network


@dataclass(frozen=True)
class Scenario(Settings):
    """Everything that a run depends on: the same scenario gives the same run.

    algorithm: a name from the catalogue, a file such as `./mine.py`,
      `package.module:Class`, or a class
    load: which node requests when: Heavy, Light, Level or a Schedule
    network: how messages travel; None is what the algorithm requires
    hold: how long a node stays inside
    shared: the probability that a request is a reader's
    """

    algorithm: str | type[Peer]
    nodes: int
    entries: int = 1000
    load: Load = field(default_factory=Heavy)
    network: Network | None = None
    hold: float = 1.0
    shared: float = 0.0
    seed: int = 1

    @cached_property
    def name(self) -> str:
        """The name of the algorithm in reports and traces."""
        return reference(self.algorithm)
