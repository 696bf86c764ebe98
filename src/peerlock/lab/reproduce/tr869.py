"""Ricart and Agrawala, TR-869, 1980: figures A to J, and what the appendix proves."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations
from statistics import fmean

from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.ricart_agrawala import Request
from peerlock.algorithms.settings import arguments
from peerlock.checker.measures import waits
from peerlock.checker.search import NOWHERE, Limits, Search
from peerlock.checker.sites import MASK, Phase
from peerlock.lab.reproduce import measure
from peerlock.lab.reproduce.expect import (
    AtMost,
    Between,
    Exactly,
    Expectation,
    Near,
    Said,
)
from peerlock.lab.reproduce.item import Because, Item
from peerlock.lab.reproduce.stories import Scene, replayed
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.load import Heavy, Level, Light, Load
from peerlock.simulator.scenario import Scenario
from peerlock.traces.trace import Kind

SOURCE = "Ricart-Agrawala TR-869"

HEADER = "algorithm ricart-agrawala\nnodes 3"
FIGURES = (
    Scene("Fig. A", (("3 requests", "3 sends REQUEST(1) to 1 and 2"),)),
    Scene("Fig. B", (("2 requests", "2 sends REQUEST(1) to 1 and 3"),)),
    Scene(
        "Fig. C",
        (
            ("1 receives REQUEST from 2", "1 sends REPLY to 2"),
            ("3 receives REQUEST from 2", "3 sends REPLY to 2"),
            ("2 receives REQUEST from 3", "2 says nothing"),
        ),
    ),
    Scene(
        "Fig. D",
        (
            ("1 requests", "1 sends REQUEST(2) to 2 and 3"),
            ("2 receives REQUEST from 1", "2 says nothing"),
        ),
    ),
    Scene(
        "Fig. E",
        (
            ("2 receives REPLY from 1", "2 says nothing"),
            ("2 receives REPLY from 3", "2 enters"),
            ("3 receives REQUEST from 1", "3 says nothing"),
        ),
    ),
    Scene("Fig. F", (("2 leaves", "2 sends REPLY to 1 and 3"),)),
    Scene(
        "Fig. G",
        (
            ("1 receives REPLY from 2", "1 says nothing"),
            ("3 receives REPLY from 2", "3 says nothing"),
            ("1 receives REQUEST from 3", "1 sends REPLY to 3"),
        ),
    ),
    Scene("Fig. H", (("3 receives REPLY from 1", "3 enters"),)),
    Scene("Fig. I", (("3 leaves", "3 sends REPLY to 1"),)),
    Scene(
        "Fig. J",
        (
            ("1 receives REPLY from 3", "1 enters"),
            ("1 leaves", "1 says nothing"),
            ("everything is quiet", "3 entries, 12 messages"),
        ),
    ),
)


def items() -> Iterator[Item]:
    for scene in FIGURES:
        yield Item(
            SOURCE,
            scene.name,
            {"n": 3},
            Exactly(scene.told),
            partial(replayed, HEADER, FIGURES, scene.name),
        )
    yield from section_6_4()
    yield from appendix()
    yield from modifications()
    yield from section_2_4()
    yield from section_6_5()
    yield from section_7_2_2()


# Section 6.4 and the appendix


def section_6_4() -> Iterator[Item]:
    for requests in ((4, 4), (2, 2, 2)):
        for fifo in (True, False):
            n = len(requests)
            yield Item(
                SOURCE,
                "§6.4: outstanding numbers are within N−1 of each other",
                {"n": n, "requests": list(requests), "order": order(fifo)},
                Exactly(n - 1),
                partial(numbers_apart, requests, fifo),
                remark="Reached, and never passed in any schedule.",
            )
    for n in (2, 3):
        yield Item(
            SOURCE,
            "§6.4: numbers modulo 2N−1 are enough, with requests without end",
            {"n": n, "M": 2 * n - 1},
            Exactly("holds"),
            partial(measure.verdict, "ricart-agrawala-bounded", n, None),
            remark="One less is too little: see ricart-agrawala-too-small.",
        )


def numbers_apart(requests: tuple[int, ...], fifo: bool) -> int:
    """The most, over all states, between requests whose nodes have not left yet."""
    search = Search(measure.searched("ricart-agrawala", len(requests), requests, fifo))
    search.run(Limits())
    assert search.exhausted and search.breach is None
    by_site = [numbers(search, index) for index in range(len(requests))]
    both = list(zip(by_site, search.sites, strict=True))
    apart = 0
    for state in search.states:
        here = [found[state >> sites.shift & MASK] for found, sites in both]
        known = [number for number in here if number]
        if known:
            apart = max(apart, max(known) - min(known))
    return apart


def numbers(search: Search, index: int) -> list[int]:
    """By site: the number of the node's request, 0 if it has none."""
    sites = search.sites[index]
    locals_ = [sites.local(number) for number in range(len(sites.sites))]
    wants = (Phase.WAITING, Phase.INSIDE)
    return [local.snapshot[0] if local.phase in wants else 0 for local in locals_]


LISTING = (
    "The report's listing does not count a node's own request as seen. Until the waiting "
    "node's REQUEST reaches it, another node asks with the same number again and again: "
    "every entry that the others make comes first, and there is no bound."
)
REACHED = "Reached, and never passed in any schedule."


def appendix() -> Iterator[Item]:
    for requests in ((3, 1), (5, 1), (3, 3, 1), (4, 4, 1)):
        for fifo in (True, False):
            n = len(requests)
            yield Item(
                SOURCE,
                f"appendix: entries that overtake a request, {bound_name(fifo)}",
                {"n": n, "requests": list(requests), "order": order(fifo)},
                Exactly(bound(n, fifo)),
                partial(measure.most_overtaken, "ricart-agrawala", n, requests, fifo),
                remark=REACHED,
                slow=requests == (4, 4, 1),
            )
    requests = (3, 3, 1)
    for fifo in (True, False):
        yield Item(
            SOURCE,
            f"appendix: the same, {bound_name(fifo)}, of the report's listing",
            {"n": 3, "requests": list(requests), "order": order(fifo)},
            AtMost(bound(3, fifo)),
            partial(measure.most_overtaken, "ricart-agrawala-listing", 3, requests, fifo),
            None if fifo else Because(LISTING, Exactly(sum(requests) - 1)),
            slow=fifo,
        )


def bound(n: int, fifo: bool) -> int:
    return 2 * (n - 1) if fifo else n * (n + 1) // 2 - 1


def bound_name(fifo: bool) -> str:
    return "2(N−1) in order" if fifo else "N(N+1)/2−1 out of order"


def order(fifo: bool) -> str:
    return "fifo" if fifo else "any order"


# Sections 2 and 6: what an entry costs

SIZES = (3, 5, 10, 25, 50)
DEFERRED = (
    "The report leaves out the REPLY that must follow a DEFERRED. When all compete, each "
    "of the N−1 others is asked, defers, and replies."
)


def modifications() -> Iterator[Item]:
    for name, section in (
        ("ricart-agrawala", "§2"),
        ("ricart-agrawala-bounded", "§6.4"),
        ("ricart-agrawala-priority", "§6.5"),
        ("ricart-agrawala-readers-writers", "§6.6"),
    ):
        for n, load in ((n, load) for load in (Light(), Heavy()) for n in SIZES):
            title = f"{section}: {name}, 2(N−1) messages"
            yield counted(title, name, n, load, Exactly(2 * (n - 1)))
    for n in SIZES:
        implicit = "ricart-agrawala-implicit"
        title = "§6.1: implicit replies, N−1 messages when nobody competes"
        yield counted(title, implicit, n, Light(), Exactly(n - 1))
        yield counted(
            "§6.1: implicit replies, at most 2(N−1) messages",
            implicit,
            n,
            Heavy(),
            AtMost(2 * (n - 1)),
            because=Because(DEFERRED, Near(3 * (n - 1), relative=0.05)),
        )
        title = "§6.2: broadcast, N messages when nobody competes"
        on_medium = "ricart-agrawala-broadcast"
        yield counted(title, on_medium, n, Light(), Exactly(n))
        title = "§6.2.1: broadcast in one order, 2 messages"
        ordered = "ricart-agrawala-broadcast-ordered"
        yield counted(title, ordered, n, Heavy(), Near(2, relative=0.05))
        title = "§6.3: ring, N messages"
        yield counted(title, "ricart-agrawala-ring", n, Light(), Exactly(n))
        yield counted(title, "ricart-agrawala-ring", n, Heavy(), Exactly(n))
        title = "§6.3: ring with notes, close to N with little contention"
        noted, rare = "ricart-agrawala-ring-notes", Level(0.1 / n**2)
        close = Said(f"close to {n}", Between(n, 1.05 * n))
        yield counted(title, noted, n, rare, close)


def counted(
    title: str,
    name: str,
    n: int,
    load: Load,
    expected: Expectation,
    because: Because | None = None,
) -> Item:
    return Item(
        SOURCE,
        title,
        {"n": n, "load": called(load)},
        expected,
        partial(measure.mean, Scenario(name, n, 10 * n, load)),
        because,
        slow=n > 25,
    )


def called(load: Load) -> str:
    return f"{load.p:g}" if isinstance(load, Level) else type(load).__name__.lower()


# Section 2.4: after a REQUEST has been processed by all others


def section_2_4() -> Iterator[Item]:
    for requests in ((4, 3), (2, 2, 1)):
        yield Item(
            SOURCE,
            "§2.4: entries of another node once all have processed a REQUEST",
            {"n": len(requests), "requests": list(requests), "order": order(False)},
            Exactly(1),
            partial(entries_once_processed, requests),
            remark=REACHED,
        )


def entries_once_processed(requests: tuple[int, ...]) -> int:
    """The most of one node, over all schedules, before the node that waits has entered."""
    search = Search(measure.searched("ricart-agrawala", len(requests), requests, False))
    search.run(Limits())
    assert search.exhausted and search.breach is None
    nodes = range(len(requests))
    entered = [entries_of(search, node) for node in nodes]
    most = 0
    for waiting in nodes:
        within = processed(search, waiting)
        most = max(
            most, *(gained(search, within, entered[x]) for x in nodes if x != waiting)
        )
    return most


def entries_of(search: Search, index: int) -> list[int]:
    """By state: how often the node has entered."""
    sites = search.sites[index]
    asked = search.model.requests[index] if search.model.requests else 0
    here = [sites.local(number) for number in range(len(sites.sites))]
    by_site = [asked - local.left - (local.phase is Phase.WAITING) for local in here]
    return [by_site[state >> sites.shift & MASK] for state in search.states]


def processed(search: Search, waiting: int) -> list[bool]:
    """By state: the node waits, and no REQUEST of it is under way."""
    found = [bool(yes) for yes in waits(search, waiting)]
    for sites in search.sites:
        under_way = [
            any(a.sender == waiting + 1 and isinstance(a.message, Request) for a in actions)
            for actions in (sites.actions[site] for site in range(len(sites.sites)))
        ]
        both = zip(found, search.states, strict=True)
        found = [yes and not under_way[state >> sites.shift & MASK] for yes, state in both]
    return found


def gained(search: Search, within: list[bool], entries: list[int]) -> int:
    """The most entries from the first to the last state of a way within these states."""
    most, seen = 0, [False] * len(within)
    for source in sorted(
        (s for s, yes in enumerate(within) if yes), key=entries.__getitem__
    ):
        todo = [] if seen[source] else [source]
        for state in todo:  # which grows meanwhile
            most = max(most, entries[state] - entries[source])
            for target in search.targets(state):
                if target != NOWHERE and within[target] and not seen[target]:
                    seen[target] = True
                    todo.append(target)
    return most


# Section 6.5: steps other than one

AT_RANDOM, ROUNDS = 16, 150
IN_ORDER = (
    "Where messages stay in order, the waiting node's REQUEST has arrived by the second "
    "time, and raises the number of the node with the small steps past it. It is the delay "
    "in acting, which the report proposes next, that makes it s+1."
)


def section_6_5() -> Iterator[Item]:
    for n in (2, 5):
        yield Item(
            SOURCE,
            "§6.5: the lower numbered of two nodes that ask at once goes first",
            {"n": n, "steps": "1"},
            Exactly(1),
            partial(lower_first, n, "1" + ",1" * (n - 1)),
        )
        yield Item(
            SOURCE,
            "§6.5: random increments reduce that favouritism",
            {"n": n, "steps": f"1 to {AT_RANDOM}"},
            Said("less than 1", Near((1 + 1 / AT_RANDOM) / 2, absolute=0.1)),
            partial(lower_first, n, f"random:{AT_RANDOM}"),
            remark="One half, and half of the ties that are left.",
        )
    for step in (2, 3, 5):
        for name, because in (
            ("ricart-agrawala-priority", Because(IN_ORDER, Exactly(2))),
            ("ricart-agrawala-delaying", None),
        ):
            yield Item(
                SOURCE,
                "§6.5: steps of 1 enter s+1 times before a node with steps of s",
                {"n": 2, "s": step, "order": order(True), "by": name},
                Said("until its numbers pass that one", Exactly(step + 1)),
                partial(
                    measure.most_overtaken,
                    name,
                    2,
                    (step + 3, 1),
                    True,
                    increments=f"1,{step}",
                ),
                because,
            )


def lower_first(n: int, increments: str) -> float:
    """Of all pairs of nodes that ask before either hears of the other: how many."""
    name = "ricart-agrawala-priority"
    steps = arguments(algorithm(name), n, increments=increments)
    cluster = ByHand(name, n, **steps)
    for _ in range(ROUNDS):
        for node in cluster.members:
            cluster.request(node)
        cluster.settle()
        while cluster.judge.inside:
            (inside,) = cluster.judge.inside
            cluster.leave(inside)
            cluster.settle()
    entered = [step.node for step in cluster.trace if step.kind is Kind.ENTER]
    rounds = [entered[at : at + n] for at in range(0, len(entered), n)]
    return fmean(a < b for order in rounds for a, b in combinations(order, 2))


# Section 7.2.2: a new node that inserts itself by broadcast

UNHEARD = (
    "The new node may ask, and enter, before another has heard of it, which then asks and "
    "enters without it. See ricart-agrawala-included; with the broadcast acknowledged it "
    "holds: ricart-agrawala-insertion."
)


def section_7_2_2() -> Iterator[Item]:
    yield Item(
        SOURCE,
        "§7.2.2: a new node that inserts itself by broadcast",
        {"n": 3, "order": order(False)},
        Exactly("holds"),
        partial(measure.verdict, "ricart-agrawala-included", 3, 1),
        Because(UNHEARD, Exactly("exclusion")),
    )
