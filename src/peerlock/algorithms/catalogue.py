"""The catalogue as data: what there is, what it costs, what it needs.

The command line, the tests and the README's table all read this list.
"""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from math import inf
from typing import Any

from peerlock.algorithms.agrawal_el_abbadi import AgrawalElAbbadi
from peerlock.algorithms.banerjee_chrysanthis import (
    BanerjeeChrysanthis,
    BanerjeeChrysanthisUncounted,
)
from peerlock.algorithms.carvalho_roucairol import CarvalhoRoucairol
from peerlock.algorithms.central import Central
from peerlock.algorithms.chaudhuri_91 import Chaudhuri91
from peerlock.algorithms.chaudhuri_95 import Chaudhuri95
from peerlock.algorithms.chaudhuri_edward import (
    ChaudhuriEdward,
    ChaudhuriEdwardCalls,
    ChaudhuriEdwardForgetful,
    ChaudhuriEdwardMarkers,
    ChaudhuriEdwardStranded,
    ChaudhuriEdwardTwice,
    ChaudhuriEdwardUncounted,
)
from peerlock.algorithms.chaudhuri_karaata import ChaudhuriKaraata
from peerlock.algorithms.helary_plouzeau_raynal import (
    HelaryPlouzeauRaynal,
    HelaryPlouzeauRaynalBehind,
)
from peerlock.algorithms.kakugawa import Kakugawa
from peerlock.algorithms.lamport import Lamport
from peerlock.algorithms.maekawa import Maekawa, Maekawa1985
from peerlock.algorithms.maekawa_cyclic import MaekawaCyclic, MaekawaCyclicRound
from peerlock.algorithms.maekawa_sequential import MaekawaSequential
from peerlock.algorithms.maekawa_takeover import MaekawaTakeover
from peerlock.algorithms.majority import Majority
from peerlock.algorithms.mishra_srimani import MishraSrimani, MishraSrimaniHasty
from peerlock.algorithms.mishra_srimani_coordinator import (
    MishraSrimaniCoordinator,
    MishraSrimaniLost,
)
from peerlock.algorithms.mizuno_neilsen_rao import (
    MizunoNeilsenRao,
    MizunoNeilsenRaoSurvey,
)
from peerlock.algorithms.museum import (
    CarvalhoRoucairolUnaware,
    CentralLifo,
    LamportAnyRequest,
    LamportReordered,
    MaekawaWithoutInquire,
    RicartAgrawalaDeaf,
    RicartAgrawalaListing,
    RicartAgrawalaTies,
    SuzukiKasamiDivisible,
    SuzukiKasamiLifo,
    TokenRingRegenerated,
)
from peerlock.algorithms.naimi_trehel import NaimiTrehel
from peerlock.algorithms.naimi_trehel_failures import (
    NaimiTrehelFailures,
    NaimiTrehelUnheard,
)
from peerlock.algorithms.neilsen_mizuno import NeilsenMizuno
from peerlock.algorithms.nishio_li_manning import NishioLiManning
from peerlock.algorithms.raymond import Raymond
from peerlock.algorithms.raymond_k import RaymondK
from peerlock.algorithms.raymond_recovery import RaymondRecovery
from peerlock.algorithms.raynal_prime import RaynalPrime, RaynalPrime1989
from peerlock.algorithms.readers_writers import ReadersWriters
from peerlock.algorithms.ricart_agrawala import RicartAgrawala
from peerlock.algorithms.ricart_agrawala_bounded import (
    RicartAgrawalaBounded,
    RicartAgrawalaTooSmall,
)
from peerlock.algorithms.ricart_agrawala_broadcast import (
    RicartAgrawalaBroadcast,
    RicartAgrawalaUnnamed,
)
from peerlock.algorithms.ricart_agrawala_broadcast_ordered import (
    RicartAgrawalaBroadcastOrdered,
)
from peerlock.algorithms.ricart_agrawala_failures import (
    RicartAgrawalaFailures,
    RicartAgrawalaTwice,
    RicartAgrawalaUnannounced,
)
from peerlock.algorithms.ricart_agrawala_implicit import (
    RicartAgrawalaImplicit,
    RicartAgrawalaUntimely,
)
from peerlock.algorithms.ricart_agrawala_priority import RicartAgrawalaPriority
from peerlock.algorithms.ricart_agrawala_ring import RicartAgrawalaRing
from peerlock.algorithms.ricart_agrawala_ring_notes import (
    RicartAgrawalaRingNotes,
    RicartAgrawalaRingNotes1980,
)
from peerlock.algorithms.ricart_agrawala_token import (
    RicartAgrawalaToken,
    RicartAgrawalaTokenSurvey,
)
from peerlock.algorithms.sanders import Sanders, SandersUninformed
from peerlock.algorithms.singhal_dynamic import SinghalDynamic
from peerlock.algorithms.singhal_heuristic import SinghalDiscarding, SinghalHeuristic
from peerlock.algorithms.srimani_reddy import SrimaniReddy
from peerlock.algorithms.suzuki_kasami import SuzukiKasami
from peerlock.algorithms.suzuki_kasami_bounded import SuzukiKasamiBounded
from peerlock.algorithms.token_ring import TokenRing
from peerlock.algorithms.weighted_majority import WeightedMajority
from peerlock.core.errors import UsageError
from peerlock.core.peer import Peer
from peerlock.core.topology import KINDS as TOPOLOGIES
from peerlock.core.topology import Topology, topology
from peerlock.quorums import agreements, information
from peerlock.quorums.constructions import QuorumSystem
from peerlock.quorums.systems import SYSTEMS
from peerlock.quorums.weighted import Votes, untied, weighted


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What can be chosen of algorithms, each as a user writes it; None is the default.

    One more is to be here and in SETTINGS; the command line then has an option for it.
    """

    quorums: str | None = None
    topology: str | None = None
    permits: int | None = None
    votes: str | None = None
    increments: str | None = None
    modulus: int | None = None
    limit: int | None = None
    bound: float | None = None
    way: str | None = None

    @property
    def chosen(self) -> dict[str, Any]:
        values = {f.name: getattr(self, f.name) for f in fields(Settings)}
        return {name: value for name, value in values.items() if value is not None}


Value = str | float  # as a user writes it


@dataclass(frozen=True)
class Setting:
    """How people write one of them, and what it becomes; given how many nodes there are."""

    form: str
    help: str
    type: type = str
    default: Callable[[int], Value] = lambda nodes: ""  # unless an algorithm has its own
    default_in_words: str = ""  # where it is not the same for all sizes
    make: Callable[[Any, int], Any] | None = None  # None: each algorithm has its own way


def _votes(text: str, nodes: int) -> Votes:
    votes = _of_each_node("votes", text, nodes)
    weighted(votes)  # complains
    return votes


def _increments(text: str, nodes: int) -> tuple[int, ...]:
    increments = _of_each_node("increments", text, nodes)
    return tuple(_at_least(1, increment, nodes) for increment in increments)


def _of_each_node(what: str, text: str, nodes: int) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise ValueError(f"{text!r} are no {what}; write numbers, like 3,1,1")
    if len(parts) != nodes:
        raise ValueError(
            f"{len(parts)} numbers of {what}, and {nodes} nodes: -n {len(parts)}"
        )
    return tuple(map(int, parts))


def _at_least(least: int, number: int, nodes: int) -> int:
    if number < least:
        raise ValueError(f"it must be at least {least}, not {number}")
    return number


def _modulus(number: int, nodes: int) -> int:
    return _at_least(2 * nodes - 1, number, nodes)


def _bound(time: float, nodes: int) -> float:
    if not 0 < time < inf:
        raise ValueError(f"a bound on delay is a time above 0, not {time:g}")
    return time


def _way(letter: str, nodes: int) -> str:
    if letter not in WAYS:
        raise ValueError(f"there is no way {letter!r}; there are {', '.join(WAYS)}")
    return letter


DEFAULT_PERMITS = 2
WAYS = "abcde"
SETTINGS: Mapping[str, Setting] = {
    "quorums": Setting(
        "KIND",
        "plane, grid, majority, tree, triangle …: see show NAME.",
        default=lambda nodes: "plane",
    ),
    "topology": Setting(
        "KIND", "ring, line, star, tree, tree:K, edges:1-2,2-3,… or graph:1-2,2-3,3-1,…"
    ),
    "permits": Setting(
        "K",
        "How many may be inside, for semaphores.",
        int,
        lambda nodes: DEFAULT_PERMITS,
        make=partial(_at_least, 1),
    ),
    "votes": Setting(
        "V1,V2,…",
        "How many votes each node has, like 3,1,1.",
        default=lambda nodes: ",".join(map(str, untied(nodes))),
        default_in_words="1 each, and 2 at node 1 if N is even",
        make=_votes,
    ),
    "increments": Setting(
        "I1,I2,…",
        "By how much each node counts up; a larger step is a lower priority.",
        default=lambda nodes: ",".join(map(str, range(1, nodes + 1))),
        default_in_words="1,2,…,N",
        make=_increments,
    ),
    "modulus": Setting(
        "M",
        "Sequence numbers are below M.",
        int,
        lambda nodes: 2 * nodes - 1,
        "2N−1, which is the least",
        _modulus,
    ),
    "limit": Setting(
        "L",
        "Requests between two rounds of acknowledgements.",
        int,
        lambda nodes: 2,
        make=partial(_at_least, 1),
    ),
    "bound": Setting(
        "TIME", "No message takes as long.", float, lambda nodes: 1.5, make=_bound
    ),
    "way": Setting(
        "|".join(WAYS),
        "How a newcomer learns of the highest number; e needs --fifo.",
        default=lambda nodes: "a",
        make=_way,
    ),
}


@dataclass(frozen=True)
class Exhibit:
    """The cluster that a check tries unless told otherwise: one that shows the verdict."""

    nodes: int = 3
    requests: int | tuple[int, ...] | None = 1  # by each node; None is without end
    quorums: str | None = None
    losses: int = 0
    crashes: int = 0
    returns: bool = False  # who crashes comes back


@dataclass(frozen=True)
class Bound:
    field: str  # of a peer's state
    most: int

    def __str__(self) -> str:
        return f"{self.field} up to {self.most}"


@dataclass(frozen=True)
class Algorithm:
    name: str
    peer: type[Peer]
    source: str  # who published it
    year: int
    family: str  # permission, token, several at a time, or museum for what is wrong
    messages: str  # per entry, as the paper counts them
    fifo: bool = False  # needs messages between two nodes to stay in order
    takes: str = ""  # what it is built on: one of SETTINGS, or nothing
    default: str = ""  # … unless told otherwise, where it is not as with most
    topologies: tuple[str, ...] = ()  # the kinds of topology that it can use
    sets: str = ""  # one of SETS, if it can use these as well as quorums
    serves: tuple[str, ...] = ()  # what a lock node can offer with it
    rests: bool = True  # when nobody asks, messages cease
    broadcast: bool = False  # runs on a medium where a message to all is one message
    medium: bool = False  # all hear its broadcasts, the sender too, in one order
    timely: bool = False  # needs a bound on delay; silence tells, and brings no fence
    outlasting: tuple[str, ...] = ()  # its timers that outlast all that is under way
    bound: Bound | None = None  # if it has states without end, how far a search goes
    verdict: str = "holds"  # what a search of all schedules finds
    exhibit: Exhibit = Exhibit()

    @property
    def shares(self) -> bool:
        """Readers may be inside together."""
        return "shared lock" in self.serves

    def capacity(self, permits: int | None = None) -> int:
        """How many may be inside together, other than readers."""
        if self.takes != "permits":
            return 1
        return DEFAULT_PERMITS if permits is None else permits

    def settings(
        self,
        nodes: int,
        quorums: str | None = None,
        topology: str | None = None,
        permits: int | None = None,
        **more: Value | None,
    ) -> dict[str, Any]:
        """Arguments to make the peers with, from what a user has chosen of SETTINGS."""
        if nodes < 1:
            raise UsageError(f"a cluster needs at least 1 node, not {nodes}")
        chosen = {"quorums": quorums, "topology": topology, "permits": permits} | more
        made: dict[str, Any] = {}
        for name, value in chosen.items():
            if value is not None:
                self._must_take(name)
                made |= self._made(name, value, nodes)
        return made

    def used(self, nodes: int, **chosen: Value | None) -> dict[str, Any]:
        """What was chosen, or what is used if nothing was."""
        if not self.takes:
            return {}
        given = chosen.get(self.takes)
        return {self.takes: self.default_for(nodes) if given is None else given}

    def default_for(self, nodes: int) -> Value:
        return self.default or SETTINGS[self.takes].default(nodes)

    @property
    def choices(self) -> tuple[str, ...]:
        """The kinds of what it takes, if that comes in kinds."""
        match self.takes:
            case "quorums":
                return tuple(dict.fromkeys((*self._own_sets, *SYSTEMS)))
            case "topology":
                return tuple(
                    kind for kind in TOPOLOGIES if kind.partition(":")[0] in self.topologies
                )
        return ()

    def _must_take(self, name: str) -> None:
        if self.takes != name:
            raise UsageError(f"{self.name} {NOT_BUILT_ON} {name}; {takers(name)}")

    def _made(self, name: str, value: Any, nodes: int) -> dict[str, Any]:
        if name == "quorums":
            return self._quorums(value, nodes)
        if name == "topology":
            return {name: self._topology(value, nodes)}
        make = SETTINGS[name].make
        assert make is not None
        try:
            return {name: make(value, nodes)}
        except ValueError as error:
            raise UsageError(f"--{name}: {error}") from None

    @property
    def _own_sets(self) -> Mapping[str, Callable[[int], Any]]:
        return SETS[self.sets] if self.sets else {}

    def _quorums(self, kind: str, nodes: int) -> dict[str, Any]:
        if kind in self._own_sets:
            return {self.sets: self._own_sets[kind](nodes)}
        if kind not in SYSTEMS:
            raise UsageError(unknown("kind of quorums", kind, list(self.choices), True))
        return {"quorums": quorum_system(kind, nodes)}

    def _topology(self, spec: str, nodes: int) -> Topology:
        try:
            found = topology(spec, nodes)
        except ValueError as error:
            no_tree = "cycle" in str(error) and "graph" in self.topologies
            hint = "; write graph: for a network that is no tree" if no_tree else ""
            raise UsageError(f"{error}{hint}") from None
        if found.kind not in self.topologies:
            raise UsageError(
                f"{self.name} does not run on a {found.kind}; "
                f"it takes {', '.join(self.topologies)}"
            )
        return found

    @property
    def docstring(self) -> str:
        return inspect.cleandoc(sys.modules[self.peer.__module__].__doc__ or "")


# What is asked, and told, in the place of quorums; by the argument that peers have for it.
SETS: Mapping[str, Mapping[str, Callable[[int], Any]]] = {
    "information": information.KINDS,
    "agreement": agreements.KINDS,
}
TREES = ("line", "star", "tree", "edges")

CATALOGUE: tuple[Algorithm, ...] = (
    Algorithm(
        name="central",
        peer=Central,
        source="textbook",
        year=1978,
        family="permission",
        messages="3, or 0 at the coordinator",
        serves=("lock",),
    ),
    Algorithm(
        name="lamport",
        peer=Lamport,
        source="Lamport",
        year=1978,
        family="permission",
        messages="3(N−1)",
        fifo=True,
        serves=("lock",),
    ),
    Algorithm(
        name="ricart-agrawala",
        peer=RicartAgrawala,
        source="Ricart, Agrawala",
        year=1981,
        family="permission",
        messages="2(N−1)",
        serves=("lock",),
    ),
    Algorithm(
        name="ricart-agrawala-bounded",
        peer=RicartAgrawalaBounded,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="2(N−1)",
        takes="modulus",
        serves=("lock",),
    ),
    Algorithm(
        name="ricart-agrawala-priority",
        peer=RicartAgrawalaPriority,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="2(N−1)",
        takes="increments",
        serves=("lock",),
    ),
    Algorithm(
        name="ricart-agrawala-broadcast",
        peer=RicartAgrawalaBroadcast,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="N light, 2 heavy, on a broadcast medium",
        broadcast=True,
    ),
    Algorithm(
        name="ricart-agrawala-broadcast-ordered",
        peer=RicartAgrawalaBroadcastOrdered,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="2, on a broadcast medium that orders",
        medium=True,
    ),
    Algorithm(
        name="ricart-agrawala-implicit",
        peer=RicartAgrawalaImplicit,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="(N−1) light … 3(N−1) heavy",
        takes="bound",
        timely=True,
        outlasting=("silence",),
    ),
    Algorithm(
        name="ricart-agrawala-ring",
        peer=RicartAgrawalaRing,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="N",
    ),
    Algorithm(
        name="ricart-agrawala-ring-notes",
        peer=RicartAgrawalaRingNotes,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="N light, ≤ 2N−1",
    ),
    Algorithm(
        name="ricart-agrawala-failures",
        peer=RicartAgrawalaFailures,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="2(N−1) when nothing fails",
        takes="way",
        outlasting=("reply", "probe", "restart", "settle"),
        exhibit=Exhibit(crashes=1, returns=True),
    ),
    Algorithm(
        name="carvalho-roucairol",
        peer=CarvalhoRoucairol,
        source="Carvalho, Roucairol",
        year=1983,
        family="permission",
        messages="0 … 2(N−1)",
        serves=("lock",),
    ),
    Algorithm(
        name="raynal-prime",
        peer=RaynalPrime,
        source="Raynal; Velazquez",
        year=1993,
        family="permission",
        messages="(N−1) heavy … (N−1)²",
        rests=False,
    ),
    Algorithm(
        name="singhal-dynamic",
        peer=SinghalDynamic,
        source="Singhal",
        year=1992,
        family="permission",
        messages="(N−1) light … 3(N−1)/2; 2(N−1) saturated",
        fifo=True,
        serves=("lock",),
    ),
    Algorithm(
        name="majority",
        peer=Majority,
        source="Thomas",
        year=1979,
        family="permission",
        messages="3⌈(N−1)/2⌉ light, ≤ 5⌈(N−1)/2⌉",
        fifo=True,
        serves=("lock",),
    ),
    Algorithm(
        name="weighted-majority",
        peer=WeightedMajority,
        source="Gifford",
        year=1979,
        family="permission",
        messages="3(K−1) light, ≤ 5(K−1), K by the votes",
        fifo=True,
        takes="votes",
        serves=("lock",),
    ),
    Algorithm(
        name="maekawa",
        peer=Maekawa,
        source="Maekawa; Sanders",
        year=1987,
        family="permission",
        messages="3(K−1) light, ≤ 5(K−1)",
        fifo=True,
        takes="quorums",
        serves=("lock",),
    ),
    Algorithm(
        name="maekawa-sequential",
        peer=MaekawaSequential,
        source="Maekawa",
        year=1985,
        family="permission",
        messages="3(K−1)",
        fifo=True,
        takes="quorums",
    ),
    Algorithm(
        name="maekawa-cyclic",
        peer=MaekawaCyclic,
        source="Maekawa",
        year=1985,
        family="permission",
        messages="2K−1, or 2K from the middle of its set",
        fifo=True,
        takes="quorums",
    ),
    Algorithm(
        name="maekawa-takeover",
        peer=MaekawaTakeover,
        source="Maekawa",
        year=1985,
        family="permission",
        messages="3(K−1) light, ≤ 5(K−1), when nothing fails",
        fifo=True,
        takes="quorums",
        exhibit=Exhibit(crashes=1),
    ),
    Algorithm(
        name="ricart-agrawala-token",
        peer=RicartAgrawalaToken,
        source="Ricart, Agrawala",
        year=1983,
        family="token",
        messages="0 or N",
        serves=("lock",),
    ),
    Algorithm(
        name="sanders",
        peer=Sanders,
        source="Sanders",
        year=1987,
        family="permission",
        messages="|I−{i}| + 2|R−{i}| light",
        fifo=True,
        takes="quorums",
        sets="information",
        serves=("lock",),
    ),
    Algorithm(
        name="agrawal-el-abbadi",
        peer=AgrawalElAbbadi,
        source="Agrawal, El Abbadi",
        year=1991,
        family="permission",
        messages="3(K−1) light, ≤ 6(K−1), K ≤ log₂ N + 1; N/2 + 1 with failures",
        fifo=True,
        serves=("lock",),
    ),
    Algorithm(
        name="suzuki-kasami",
        peer=SuzukiKasami,
        source="Suzuki, Kasami",
        year=1985,
        family="token",
        messages="0 or N; on a ring ≤ 2N−1",
        takes="topology",
        default="complete",
        topologies=("complete", "ring", *TREES, "graph"),
        serves=("lock",),
    ),
    Algorithm(
        name="suzuki-kasami-bounded",
        peer=SuzukiKasamiBounded,
        source="Suzuki, Kasami",
        year=1985,
        family="token",
        messages="0 or N, and N−1 more every L requests of a node",
        takes="limit",
    ),
    Algorithm(
        name="mizuno-neilsen-rao",
        peer=MizunoNeilsenRao,
        source="Mizuno, Neilsen, Rao",
        year=1991,
        family="token",
        messages="0, or grid set 2√2·√N−2, plane ≤ 3√N, tree O(log N)",
        takes="quorums",
        default="grid-set",
        sets="agreement",
        serves=("lock",),
    ),
    Algorithm(
        name="helary-plouzeau-raynal",
        peer=HelaryPlouzeauRaynal,
        source="Hélary, Plouzeau, Raynal",
        year=1988,
        family="token",
        messages="complete N; ring N … 2N; line N … 2(N−1); tree N … N−1+D",
        takes="topology",
        default="complete",
        topologies=("complete", "ring", *TREES, "graph"),
    ),
    Algorithm(
        name="raymond",
        peer=Raymond,
        source="Raymond",
        year=1989,
        family="token",
        messages="≤ 2D, about log N; about 4 heavy",
        takes="topology",
        default="tree",
        topologies=TREES,
        serves=("lock",),
    ),
    Algorithm(
        name="raymond-recovery",
        peer=RaymondRecovery,
        source="Raymond",
        year=1989,
        family="token",
        messages="≤ 2D, about log N, when nothing fails",
        fifo=True,
        takes="topology",
        default="tree",
        topologies=TREES,
        outlasting=("restart",),
        exhibit=Exhibit(crashes=1, returns=True),
    ),
    Algorithm(
        name="neilsen-mizuno",
        peer=NeilsenMizuno,
        source="Neilsen, Mizuno",
        year=1991,
        family="token",
        messages="≤ D+1: star 3, line N",
        takes="topology",
        default="star",
        topologies=TREES,
        serves=("lock",),
    ),
    Algorithm(
        name="singhal-heuristic",
        peer=SinghalHeuristic,
        source="Singhal",
        year=1989,
        family="token",
        messages="(N+1)/2 light, N heavy",
        serves=("lock",),
    ),
    Algorithm(
        name="naimi-trehel",
        peer=NaimiTrehel,
        source="Naimi, Trehel",
        year=1987,
        family="token",
        messages="about log N; 0 at the holder",
        serves=("lock",),
    ),
    Algorithm(
        name="naimi-trehel-failures",
        peer=NaimiTrehelFailures,
        source="Naimi, Trehel",
        year=1987,
        family="token",
        messages="about log N when nothing fails; 0 at the holder",
        outlasting=("wait", "elec"),
        exhibit=Exhibit(crashes=1),
    ),
    Algorithm(
        name="mishra-srimani",
        peer=MishraSrimani,
        source="Mishra, Srimani",
        year=1990,
        family="token",
        messages="0 or N when nothing fails",
        outlasting=("token", "answers"),
        exhibit=Exhibit(crashes=1),
    ),
    Algorithm(
        name="mishra-srimani-coordinator",
        peer=MishraSrimaniCoordinator,
        source="Mishra, Srimani",
        year=1990,
        family="token",
        messages="0 or 2 … N when nothing fails",
        outlasting=("token", "answers"),
        exhibit=Exhibit(crashes=1),
    ),
    Algorithm(
        name="chaudhuri-91",
        peer=Chaudhuri91,
        source="Chaudhuri",
        year=1991,
        family="token",
        messages="3.5√N light, 4 heavy",
    ),
    Algorithm(
        name="chaudhuri-95",
        peer=Chaudhuri95,
        source="Chaudhuri",
        year=1995,
        family="token",
        messages="3√N light, √N heavy (here about 4)",
    ),
    Algorithm(
        name="chaudhuri-karaata",
        peer=ChaudhuriKaraata,
        source="Chaudhuri, Karaata",
        year=1998,
        family="token",
        messages="≤ 8(∛N−1) light, O(∛N)",
    ),
    Algorithm(
        name="banerjee-chrysanthis",
        peer=BanerjeeChrysanthis,
        source="Banerjee, Chrysanthis",
        year=1996,
        family="token",
        messages="0 or N+1 light, towards 3 heavy",
        serves=("lock",),
    ),
    Algorithm(
        name="chaudhuri-edward",
        peer=ChaudhuriEdward,
        source="Chaudhuri, Edward",
        year=2004,
        family="token",
        messages="≤ 6 + 3(√n−1); heavy 2(1 + 1/√n − 1/n)",
        serves=("lock",),
    ),
    Algorithm(
        name="nishio-li-manning",
        peer=NishioLiManning,
        source="Nishio, Li, Manning",
        year=1990,
        family="token",
        messages="0 or N when nothing fails",
        bound=Bound("age", 2),
        exhibit=Exhibit(losses=1),
    ),
    Algorithm(
        name="token-ring",
        peer=TokenRing,
        source="Le Lann",
        year=1977,
        family="token",
        messages="1 heavy … unbounded when idle",
        rests=False,
    ),
    Algorithm(
        name="ricart-agrawala-readers-writers",
        peer=ReadersWriters,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="2(N−1)",
        serves=("lock", "shared lock"),
    ),
    Algorithm(
        name="raymond-k",
        peer=RaymondK,
        source="Raymond",
        year=1989,
        family="several",
        messages="≤ 2(N−1)",
        takes="permits",
        serves=("semaphore",),
    ),
    Algorithm(
        name="srimani-reddy",
        peer=SrimaniReddy,
        source="Srimani, Reddy",
        year=1992,
        family="several",
        messages="0 or N … N+k−1",
        takes="permits",
        serves=("semaphore",),
    ),
    Algorithm(
        name="kakugawa",
        peer=Kakugawa,
        source="Kakugawa and others",
        year=1993,
        family="several",
        messages="3(s−1) light, ≤ 5(s−1)",
        fifo=True,
        takes="permits",
        serves=("semaphore",),
    ),
    Algorithm(
        name="maekawa-1985",
        peer=Maekawa1985,
        source="Maekawa",
        year=1985,
        family="museum",
        messages="3(K−1) light",
        fifo=True,
        takes="quorums",
        verdict="deadlock",
        exhibit=Exhibit(nodes=4, quorums="grid"),
    ),
    Algorithm(
        name="maekawa-without-inquire",
        peer=MaekawaWithoutInquire,
        source="made from Maekawa",
        year=1985,
        family="museum",
        messages="3(K−1)",
        fifo=True,
        takes="quorums",
        verdict="deadlock",
    ),
    Algorithm(
        name="maekawa-cyclic-round",
        peer=MaekawaCyclicRound,
        source="Maekawa",
        year=1985,
        family="museum",
        messages="2K−1",
        fifo=True,
        takes="quorums",
        verdict="deadlock",
    ),
    Algorithm(
        name="sanders-uninformed",
        peer=SandersUninformed,
        source="Velazquez",
        year=1993,
        family="museum",
        messages="2(N−1)",
        fifo=True,
        verdict="exclusion",
        exhibit=Exhibit(nodes=2),
    ),
    Algorithm(
        name="raynal-prime-1989",
        peer=RaynalPrime1989,
        source="Raynal",
        year=1989,
        family="museum",
        messages="2(N−1) … 2(N−1)²",
        verdict="starvation",
        exhibit=Exhibit(nodes=2, requests=None),
    ),
    Algorithm(
        name="central-lifo",
        peer=CentralLifo,
        source="made from the textbook",
        year=1978,
        family="museum",
        messages="3, or 0 at the coordinator",
        verdict="starvation",
        exhibit=Exhibit(requests=None),
    ),
    Algorithm(
        name="lamport-reordered",
        peer=LamportReordered,
        source="Lamport, out of order",
        year=1978,
        family="museum",
        messages="3(N−1)",
        verdict="exclusion",
    ),
    Algorithm(
        name="lamport-any-request",
        peer=LamportAnyRequest,
        source="Lamport, taken at his word",
        year=1978,
        family="museum",
        messages="3(N−1)",
        fifo=True,
        verdict="exclusion",
    ),
    Algorithm(
        name="ricart-agrawala-ties",
        peer=RicartAgrawalaTies,
        source="made from Ricart, Agrawala",
        year=1981,
        family="museum",
        messages="2(N−1)",
        verdict="exclusion",
        exhibit=Exhibit(nodes=2),
    ),
    Algorithm(
        name="ricart-agrawala-deaf",
        peer=RicartAgrawalaDeaf,
        source="made from Ricart, Agrawala",
        year=1981,
        family="museum",
        messages="2(N−1)",
        verdict="exclusion",
        exhibit=Exhibit(nodes=2, requests=2),
    ),
    Algorithm(
        name="ricart-agrawala-listing",
        peer=RicartAgrawalaListing,
        source="Ricart, Agrawala, TR-869",
        year=1980,
        family="museum",
        messages="2(N−1)",
        verdict="overtaking",
        exhibit=Exhibit(requests=(3, 3, 1)),
    ),
    Algorithm(
        name="ricart-agrawala-too-small",
        peer=RicartAgrawalaTooSmall,
        source="made from Ricart, Agrawala",
        year=1980,
        family="museum",
        messages="2(N−1)",
        verdict="exclusion",
        exhibit=Exhibit(nodes=2),
    ),
    Algorithm(
        name="ricart-agrawala-ring-notes-1980",
        peer=RicartAgrawalaRingNotes1980,
        source="Ricart, Agrawala, TR-869",
        year=1980,
        family="museum",
        messages="N light, ≤ 2N−1",
        verdict="deadlock",
    ),
    Algorithm(
        name="ricart-agrawala-untimely",
        peer=RicartAgrawalaUntimely,
        source="made from Ricart, Agrawala",
        year=1980,
        family="museum",
        messages="(N−1) light … 3(N−1) heavy",
        timely=True,
        verdict="exclusion",
        exhibit=Exhibit(nodes=2),
    ),
    Algorithm(
        name="ricart-agrawala-unnamed",
        peer=RicartAgrawalaUnnamed,
        source="made from Ricart, Agrawala",
        year=1980,
        family="museum",
        messages="N light, 2 heavy, on a broadcast medium",
        broadcast=True,
        verdict="exclusion",
    ),
    Algorithm(
        name="ricart-agrawala-twice",
        peer=RicartAgrawalaTwice,
        source="Ricart, Agrawala, TR-869",
        year=1980,
        family="museum",
        messages="2(N−1) when nothing fails",
        outlasting=("reply", "probe", "restart", "settle"),
        verdict="exclusion",
        exhibit=Exhibit(nodes=2, requests=2),
    ),
    Algorithm(
        name="ricart-agrawala-unannounced",
        peer=RicartAgrawalaUnannounced,
        source="Ricart, Agrawala, TR-869",
        year=1980,
        family="museum",
        messages="2(N−1) when nothing fails",
        outlasting=("reply", "probe", "restart", "settle"),
        verdict="exclusion",
    ),
    Algorithm(
        name="carvalho-roucairol-unaware",
        peer=CarvalhoRoucairolUnaware,
        source="made from Carvalho, Roucairol",
        year=1983,
        family="museum",
        messages="0 … 2(N−1)",
        verdict="exclusion",
        exhibit=Exhibit(nodes=2, requests=2),
    ),
    Algorithm(
        name="ricart-agrawala-token-survey",
        peer=RicartAgrawalaTokenSurvey,
        source="Ricart, Agrawala; Velazquez",
        year=1993,
        family="museum",
        messages="0 or N",
        verdict="starvation",
    ),
    Algorithm(
        name="suzuki-kasami-divisible",
        peer=SuzukiKasamiDivisible,
        source="Suzuki, Kasami; Velazquez",
        year=1993,
        family="museum",
        messages="0 or N",
        verdict="starvation",
        exhibit=Exhibit(nodes=2),
    ),
    Algorithm(
        name="suzuki-kasami-lifo",
        peer=SuzukiKasamiLifo,
        source="made from Suzuki, Kasami",
        year=1985,
        family="museum",
        messages="0 or 2N−1",
        fifo=True,
        verdict="starvation",
        exhibit=Exhibit(requests=None),
    ),
    Algorithm(
        name="naimi-trehel-unheard",
        peer=NaimiTrehelUnheard,
        source="Naimi, Trehel; Velazquez",
        year=1993,
        family="museum",
        messages="about log N when nothing fails",
        outlasting=("wait", "elec"),
        verdict="starvation",
        exhibit=Exhibit(requests=None, crashes=1),
    ),
    Algorithm(
        name="mishra-srimani-hasty",
        peer=MishraSrimaniHasty,
        source="Mishra, Srimani; Velazquez",
        year=1993,
        family="museum",
        messages="0 or N when nothing fails",
        outlasting=("token", "answers"),
        verdict="exclusion",
    ),
    Algorithm(
        name="mishra-srimani-lost",
        peer=MishraSrimaniLost,
        source="made from Mishra, Srimani",
        year=1990,
        family="museum",
        messages="0 or 2 … N when nothing fails",
        outlasting=("token", "answers"),
        verdict="starvation",
        exhibit=Exhibit(requests=None, crashes=1),
    ),
    Algorithm(
        name="mizuno-neilsen-rao-survey",
        peer=MizunoNeilsenRaoSurvey,
        source="Mizuno and others; Velazquez",
        year=1993,
        family="museum",
        messages="2√2·√N−2 on a grid set",
        takes="quorums",
        default="grid-set",
        sets="agreement",
        verdict="starvation",
        exhibit=Exhibit(nodes=4),
    ),
    Algorithm(
        name="helary-plouzeau-raynal-behind",
        peer=HelaryPlouzeauRaynalBehind,
        source="Hélary and others; Velazquez",
        year=1993,
        family="museum",
        messages="N on a complete network",
        verdict="deadlock",
        exhibit=Exhibit(requests=(1, 2, 1)),
    ),
    Algorithm(
        name="singhal-discarding",
        peer=SinghalDiscarding,
        source="Singhal; Velazquez",
        year=1993,
        family="museum",
        messages="(N+1)/2 light, N heavy",
        verdict="starvation",
        exhibit=Exhibit(requests=(1, 1, 2)),
    ),
    Algorithm(
        name="banerjee-chrysanthis-uncounted",
        peer=BanerjeeChrysanthisUncounted,
        source="Banerjee, Chrysanthis",
        year=1996,
        family="museum",
        messages="0 or N+1 light, towards 3 heavy",
        fifo=True,
        verdict="deadlock",
        exhibit=Exhibit(requests=(1, 2, 2)),
    ),
    Algorithm(
        name="chaudhuri-edward-forgetful",
        peer=ChaudhuriEdwardForgetful,
        source="Chaudhuri, Edward",
        year=2004,
        family="museum",
        messages="≤ 6 + 3(√n−1)",
        verdict="deadlock",
        exhibit=Exhibit(nodes=2),
    ),
    Algorithm(
        name="chaudhuri-edward-twice",
        peer=ChaudhuriEdwardTwice,
        source="Chaudhuri, Edward",
        year=2004,
        family="museum",
        messages="≤ 6 + 3(√n−1)",
        verdict="exclusion",
        exhibit=Exhibit(requests=(2, 0, 2)),
    ),
    Algorithm(
        name="chaudhuri-edward-uncounted",
        peer=ChaudhuriEdwardUncounted,
        source="Chaudhuri, Edward",
        year=2004,
        family="museum",
        messages="≤ 6 + 3(√n−1)",
        verdict="deadlock",
        exhibit=Exhibit(requests=(1, 0, 2)),
    ),
    Algorithm(
        name="chaudhuri-edward-stranded",
        peer=ChaudhuriEdwardStranded,
        source="Chaudhuri, Edward",
        year=2004,
        family="museum",
        messages="≤ 6 + 3(√n−1)",
        verdict="starvation",
        exhibit=Exhibit(nodes=7, requests=(0, 1, 0, 2, 0, 0, 1)),
    ),
    Algorithm(
        name="chaudhuri-edward-markers",
        peer=ChaudhuriEdwardMarkers,
        source="Chaudhuri, Edward",
        year=2004,
        family="museum",
        messages="≤ 6 + 3(√n−1)",
        verdict="deadlock",
        exhibit=Exhibit(nodes=5, requests=(2, 1, 1, 0, 0)),
    ),
    Algorithm(
        name="chaudhuri-edward-calls",
        peer=ChaudhuriEdwardCalls,
        source="Chaudhuri, Edward",
        year=2004,
        family="museum",
        messages="≤ 6 + 3(√n−1)",
        verdict="remote error",
        exhibit=Exhibit(nodes=4, requests=(0, 1, 0, 1)),
    ),
    Algorithm(
        name="token-ring-regenerated",
        peer=TokenRingRegenerated,
        source="made from Le Lann",
        year=1977,
        family="museum",
        messages="without bound",
        fifo=True,
        rests=False,
        verdict="exclusion",
        exhibit=Exhibit(nodes=2, losses=1),
    ),
)


def algorithm(name: str) -> Algorithm:
    for entry in CATALOGUE:
        if entry.name == name:
            return entry
    raise UsageError(unknown("algorithm", name, [a.name for a in CATALOGUE]))


NOT_BUILT_ON = "is not built on a choice of"


def takers(setting: str) -> str:
    return f"these are: {', '.join(a.name for a in CATALOGUE if a.takes == setting)}"


def quorum_system(kind: str, nodes: int) -> QuorumSystem:
    if kind not in SYSTEMS:
        raise UsageError(unknown("kind of quorums", kind, list(SYSTEMS)))
    if nodes < 1:
        raise UsageError(f"a quorum system needs at least 1 node, not {nodes}")
    return SYSTEMS[kind](nodes)


def unknown(what: str, name: str, known: list[str], listed: bool = False) -> str:
    """What is near it, or else, or if `listed` as well, all that there are."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hints = [f"did you mean {near[0]}?"] if near else []
    if listed or not near:
        hints.append(f"there are {', '.join(known)}")
    return f"there is no {what} {name!r}; {' '.join(hints)}"


@dataclass(frozen=True)
class Card:
    """The opening of an algorithm's file, taken apart."""

    title: str
    citation: str
    idea: str
    facts: dict[str, str]
    departures: tuple[str, ...]
    note: str  # for what is in the museum: what is wrong with it


def card(entry: Algorithm) -> Card:
    title, citation, *middle, departures = entry.docstring.split("\n\n")
    facts = middle.pop()
    return Card(
        title=title,
        citation=_flow(citation),
        idea="\n\n".join(map(_flow, middle)),
        facts=dict(_facts(facts)),
        departures=tuple(map(_flow, departures.split("\n  * ")[1:])),
        note=_flow(entry.peer.__doc__ or "") if entry.family == "museum" else "",
    )


def _facts(block: str) -> Iterator[tuple[str, str]]:
    """Lines of a word, then what it says, which may go on in deeper indented lines."""
    entries = inspect.cleandoc(block).replace("\n ", " ").splitlines()
    for entry in entries:
        name, _, text = entry.partition(" ")
        yield name, _flow(text)


def _flow(text: str) -> str:
    return " ".join(text.split())
