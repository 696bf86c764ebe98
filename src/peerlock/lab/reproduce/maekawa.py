"""Maekawa, 1985: the tables, the figures, the story of thirteen nodes, and the bounds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations
from typing import Any

from peerlock.core.peer import NodeId
from peerlock.lab.reproduce import measure, worst
from peerlock.lab.reproduce.expect import AtMost, Between, Exactly, Near, Of, Said
from peerlock.lab.reproduce.item import Because, Item
from peerlock.lab.reproduce.stories import Scene, replayed
from peerlock.quorums.constructions import Quorum, QuorumSystem, plane
from peerlock.simulator.load import Heavy, Level, Light, Load
from peerlock.simulator.scenario import Scenario
from peerlock.traces.trace import Kind, Step

SOURCE = "Maekawa 1985"

TABLE_1 = ((3, 3, 4), (7, 6, 12), (13, 9, 24), (21, 12, 40), (133, 33, 264), (381, 57, 760))
TABLE_2 = ((5, 4.8, 8), (6, 5.5, 10), (10, 8.1, 18), (18, 11.7, 34))

# By N, then by node: S_1, S_2, … as they are printed.
FIGURE_1: dict[int, str] = {
    3: "1 2/2 3/1 3",
    7: "1 2 3/2 4 6/3 5 6/1 4 5/2 5 7/1 6 7/3 4 7",
    13: "1 2 3 4/2 5 8 11/3 6 8 13/4 6 10 11/1 5 6 7/2 6 9 12/2 7 10 13/1 8 9 10/3 7 9 11/"
    "3 5 10 12/1 11 12 13/4 7 8 12/4 5 9 13",
    21: "1 2 3 4 5/2 6 10 14 18/3 7 10 16 21/4 7 13 14 20/5 7 12 17 18/1 6 7 8 9/"
    "2 7 11 15 19/2 8 12 16 20/2 9 13 17 21/1 10 11 12 13/3 6 11 17 20/3 9 12 14 19/"
    "3 8 13 15 18/1 14 15 16 17/4 6 12 15 21/4 9 11 16 18/4 8 10 17 19/1 18 19 20 21/"
    "5 6 13 16 19/5 9 10 15 20/5 8 11 14 21",
}


def printed(n: int) -> tuple[Quorum, ...]:
    return tuple(tuple(map(int, line.split())) for line in FIGURE_1[n].split("/"))


def items() -> Iterator[Item]:
    yield from table_1()
    yield from table_2()
    yield from figure_1()
    yield from figure_2()
    yield from section_6_3()
    yield from section_8()
    yield from section_10()


def light(name: str, n: int, entries: int, quorums: str | None = None) -> partial[float]:
    return partial(
        measure.mean, Scenario(name, n, entries, Light(), quorums=quorums, seed=1)
    )


# The tables


def table_1() -> Iterator[Item]:
    for n, own, theirs in TABLE_1:
        yield Item(
            SOURCE,
            "Table I: the proposed algorithm",
            {"n": n, "load": "light"},
            Exactly(own),
            light("maekawa", n, 2 * n),
            slow=n > 100,
        )
        yield Item(
            SOURCE,
            "Table I: Ricart and Agrawala's",
            {"n": n, "load": "light"},
            Exactly(theirs),
            light("ricart-agrawala", n, 10),
        )


BETTER = (
    "Our Method 1 puts in the place of a dropped node one that is on a line with it, so "
    "that more sets shrink than with the paper's choice: fewer messages, not more."
)


def table_2() -> Iterator[Item]:
    for n, own, theirs in TABLE_2:
        given = QuorumSystem("given", reduced(n))
        yield Item(
            SOURCE,
            "Table II: the proposed algorithm, the sets made as in section 7",
            {"n": n, "load": "light, each node once"},
            Near(own, absolute=0.05),
            partial(measure.by_hand_mean, "maekawa", n, quorums=given),
        )
        yield Item(
            SOURCE,
            "Table II: the proposed algorithm, the sets as made here",
            {"n": n, "load": "light, each node once"},
            Near(own, absolute=0.05),
            partial(measure.by_hand_mean, "maekawa", n, quorums=plane(n)),
            Because(BETTER, Near(3 * (plane(n).sizes.mean - 1), absolute=0.005)),
        )
        yield Item(
            SOURCE,
            "Table II: Ricart and Agrawala's",
            {"n": n, "load": "light"},
            Exactly(theirs),
            light("ricart-agrawala", n, 10),
        )


def reduced(n: int) -> tuple[Quorum, ...]:
    """As section 7 does for N = 5: 7 and 6 are replaced by 5 and 4, their sets dropped."""
    whole = next(m for m in FIGURE_1 if m >= n)
    return tuple(
        tuple(sorted({j if j <= n else j - (whole - n) for j in line}))
        for line in printed(whole)[:n]
    )


# Figure 1


def figure_1() -> Iterator[Item]:
    for k, n in ((2, 3), (3, 7), (4, 13), (5, 21)):
        properties = {
            "sets": n,
            "sizes": [k],
            "sets that a node is in": [k],
            "nodes common to two sets": [1],
            "own node in its set": True,
        }
        yield Item(
            SOURCE,
            "Fig. 1: the sets as printed",
            {"n": n, "K": k},
            Exactly(properties),
            partial(properties_of, n),
        )
        yield Item(
            SOURCE,
            "Fig. 1: the plane made here is the same, but for the names",
            {"n": n, "K": k},
            Exactly(True),
            partial(same_plane, n),
        )


def properties_of(n: int) -> dict[str, Any]:
    sets = [set(line) for line in printed(n)]
    return {
        "sets": len(sets),
        "sizes": sorted({len(s) for s in sets}),
        "sets that a node is in": sorted(
            {sum(i in s for s in sets) for i in range(1, n + 1)}
        ),
        "nodes common to two sets": sorted({len(a & b) for a, b in combinations(sets, 2)}),
        "own node in its set": all(i in s for i, s in enumerate(sets, start=1)),
    }


def same_plane(n: int) -> bool:
    return renaming(plane(n).quorums, printed(n)) is not None


def renaming(
    ours: tuple[Quorum, ...], theirs: tuple[Quorum, ...]
) -> dict[NodeId, NodeId] | None:
    """Names for our nodes that turn our lines into theirs; found by trying, depth first.

    Three nodes must be on one line exactly if their new names are.
    """
    line_of, line_there = joining(ours), joining(theirs)
    nodes = range(1, len(ours) + 1)

    def fits(names: dict[NodeId, NodeId], node: NodeId, name: NodeId) -> bool:
        return name not in names.values() and all(
            (line_of[a, b] == line_of[a, node])
            == (line_there[names[a], names[b]] == line_there[names[a], name])
            for a, b in combinations(names, 2)
        )

    def extended(names: dict[NodeId, NodeId]) -> dict[NodeId, NodeId] | None:
        if len(names) == len(ours):
            return names
        node = len(names) + 1
        for name in nodes:
            if fits(names, node, name):
                found = extended({**names, node: name})
                if found is not None:
                    return found
        return None

    return extended({})


def joining(lines: tuple[Quorum, ...]) -> dict[tuple[NodeId, NodeId], int]:
    """The line through each two nodes."""
    return {
        (a, b): number
        for number, line in enumerate(lines)
        for a in line
        for b in line
        if a != b
    }


# Figure 2 and node 3's late request

HEADER = "algorithm maekawa\nnodes 13\n" + "\n".join(
    f"S{i} = {{{', '.join(map(str, line))}}}" for i, line in enumerate(printed(13), start=1)
)

CIRCLE = Scene(
    "Fig. 2a: circular locking",
    (
        ("11 requests", "11 sends REQUEST(1) to 1, 12 and 13"),
        ("12 receives REQUEST from 11", "12 sends LOCKED to 11"),
        ("13 receives REQUEST from 11", "13 sends LOCKED to 11"),
        ("7 requests", "7 sends REQUEST(1) to 2, 10 and 13"),
        ("2 receives REQUEST from 7", "2 sends LOCKED to 7"),
        ("10 receives REQUEST from 7", "10 sends LOCKED to 7"),
        ("8 requests", "8 sends REQUEST(1) to 1, 9 and 10"),
        ("1 receives REQUEST from 8", None),
        ("9 receives REQUEST from 8", None),
        ("10 receives REQUEST from 8", "10 sends FAILED to 8"),
        ("1 receives REQUEST from 11", "1 sends FAILED to 11"),
        ("13 receives REQUEST from 7", "13 sends INQUIRE to 11"),
        ("11 receives FAILED from 1", None),
        ("8 receives FAILED from 10", None),
        ("11 receives LOCKED from 13", None),
    ),
)

STORY = (
    CIRCLE,
    Scene(
        "Fig. 2b: relinquishing",
        (
            ("11 receives INQUIRE from 13", "11 sends RELINQUISH to 13"),
            ("13 receives RELINQUISH from 11", "13 sends LOCKED to 7"),
            ("7 receives LOCKED from 2", None),
            ("7 receives LOCKED from 10", None),
            ("7 receives LOCKED from 13", "7 enters"),
        ),
    ),
    Scene(
        "§5: then node 8, and finally node 11",
        (
            ("7 leaves", "7 sends RELEASE to 2, 10 and 13"),
            ("10 receives RELEASE from 7", "10 sends LOCKED to 8"),
            ("13 receives RELEASE from 7", None),
            ("8 receives LOCKED from 1", None),
            ("8 receives LOCKED from 9", None),
            ("8 receives LOCKED from 10", "8 enters"),
            ("8 leaves", None),
            ("1 receives RELEASE from 8", None),
            ("11 receives LOCKED from 12", None),
            ("11 receives LOCKED from 13", None),
            ("11 receives LOCKED from 1", "11 enters"),
        ),
    ),
)

LATE = (
    CIRCLE,
    Scene(
        "§5: node 3's late request",
        (
            ("3 requests", None),
            ("13 receives REQUEST from 3", "13 says nothing"),
            ("6 receives REQUEST from 3", None),
            ("8 receives REQUEST from 3", "8 sends LOCKED to 3"),
            ("11 receives INQUIRE from 13", "11 sends RELINQUISH to 13"),
            ("13 receives RELINQUISH from 11", "13 sends LOCKED to 3"),
            ("3 receives LOCKED from 6", None),
            ("3 receives LOCKED from 8", None),
            ("3 receives LOCKED from 13", "3 enters"),
        ),
    ),
)

CORRECTION = (
    "With Sanders' correction node 13 tells node 7 that it is not the first any more, one "
    "FAILED that the paper does not have; the rest is as told. "
    "As published, all of it is."
)


def figure_2() -> Iterator[Item]:
    for scenes in (STORY, LATE):
        for scene in scenes if scenes is STORY else scenes[1:]:
            corrected = [
                "13 sends FAILED to 7" if told == "13 says nothing" else told
                for told in scene.told
            ]
            for name in ("maekawa", "maekawa-1985"):
                differs = name == "maekawa" and corrected != scene.told
                header = HEADER.replace("algorithm maekawa", f"algorithm {name}")
                how = "as published" if name == "maekawa-1985" else "with the correction"
                yield Item(
                    SOURCE,
                    f"{scene.name}, {how}",
                    {"n": 13},
                    Exactly(scene.told),
                    partial(replayed, header, scenes, scene.name),
                    Because(CORRECTION, Exactly(corrected)) if differs else None,
                )


# Section 6.3

LATER = (
    "The paper takes it that a REQUEST which arrives later has a larger number. A node "
    "learns numbers from the REQUESTs that it gets, so one that has not heard of the "
    "waiting REQUEST asks again with a smaller number, and goes first. Without those that "
    "came later, the bound holds."
)
LOADS: tuple[tuple[str, Load], ...] = (("heavy", Heavy()), ("0.05", Level(0.05)))
SEEDS = 12  # and half of them for larger n


def section_6_3() -> Iterator[Item]:
    for n, name, load in ((n, *load) for n in (3, 7, 13, 21) for load in LOADS):
        k = len(plane(n).of(1))
        yield Item(
            SOURCE,
            "§6.3: a request waits at a member for at most K−1 others",
            {"n": n, "K": k, "load": name},
            Of("waited for", AtMost(k - 1)),
            partial(waiting, n, load),
            Because(LATER, Of("of these, had come before", AtMost(k - 1))),
            slow=n > 13,
        )


def waiting(n: int, load: Load) -> dict[str, int]:
    """The most over some runs, until the member is first locked for the request."""
    found = []
    for seed in range(1, (SEEDS if n < 20 else SEEDS // 2) + 1):
        watch = MemberWatch()
        for step in measure.recorded(Scenario("maekawa", n, 40 * n, load, seed=seed)):
            watch.see(step)
        found.append((watch.most, watch.most_before))
    return {
        "waited for": max(most for most, _ in found),
        "of these, had come before": max(before for _, before in found),
    }


class MemberWatch:
    """Counts the REQUESTs that are done with at a member while another one waits there."""

    def __init__(self) -> None:
        self.most = self.most_before = self._clock = 0
        self._came: dict[tuple[NodeId, NodeId], int] = {}  # at member, from node: when
        self._waits: dict[NodeId, dict[NodeId, list[int]]] = {}

    def see(self, step: Step) -> None:
        self._clock += 1
        name = type(step.message).__name__
        if step.kind is Kind.REQUEST:  # a node is a member of its own set
            self._came[step.node, step.node] = self._clock
        elif step.kind is Kind.LEAVE:
            self._done(step.node, step.node)
        elif step.kind is Kind.RECEIVE and step.peer is not None:
            if name == "Request":
                self._came[step.node, step.peer] = self._clock
                self._waits.setdefault(step.node, {})[step.peer] = []
            elif name == "Release":
                self._done(step.node, step.peer)
        elif step.kind is Kind.SEND and name == "Locked" and step.peer is not None:
            self._locked(step.node, step.peer)

    def _done(self, member: NodeId, node: NodeId) -> None:
        for waited_for in self._waits.get(member, {}).values():
            waited_for.append(self._came[member, node])

    def _locked(self, member: NodeId, node: NodeId) -> None:
        waited_for = self._waits.get(member, {}).pop(node, [])
        came = self._came[member, node]
        self.most = max(self.most, len(waited_for))
        self.most_before = max(self.most_before, sum(other < came for other in waited_for))


# Sections 8 and 10


def section_8() -> Iterator[Item]:
    for n in (3, 7, 13, 21, 31, 57, 133):
        k, slow = len(plane(n).of(1)), n > 25
        yield Item(
            SOURCE,
            "§8.1: 3(K−1) under light demand",
            {"n": n, "K": k, "load": "light"},
            Exactly(3 * (k - 1)),
            light("maekawa", n, 2 * n),
            slow=slow,
        )
        heavy = Scenario("maekawa", n, 20 * n, Heavy())
        yield Item(
            SOURCE,
            "§8.2: 4(K−1) under heavy demand",
            {"n": n, "K": k, "load": "heavy"},
            Near(4 * (k - 1), relative=0.02),
            partial(measure.mean, heavy),
            slow=slow,
        )
    yield from worst_case()


PREEMPTED = (
    "The paper leaves out that a node which relinquished a member is sent LOCKED by it "
    "again, and that each REQUEST which precedes preempts it again: six messages for a "
    "REQUEST at a member, not five. If E nodes ask the same c others, who do not ask, "
    "the most is 6c − (3c+2)/E for each entry."
)
ON_A_PLANE = (
    "The same on a plane whose nodes all ask at once: REQUESTs that arrive later precede. "
    "Six messages at each of the K−1 others are never reached."
)


def worst_case() -> Iterator[Item]:
    """What is asked in common, and by how many; then a plane."""
    title = "§8.2: 5(K−1) is the worst case"
    for members, entries in ((2, 3), (2, 4), (3, 3)):
        yield Item(
            SOURCE,
            f"{title}, in every schedule",
            {"n": members + entries, "K": members + 1, "asking": entries},
            AtMost(5 * members),
            partial(most_in_common, members, entries),
            remark="Just 6c − (3c+2)/E, c = K−1 others that all E nodes ask.",
            slow=members + entries > 5,
        )
    for members, entries in ((2, 5), (3, 4), (4, 6), (4, 10), (7, 40)):
        yield Item(
            SOURCE,
            f"{title}, in one schedule",
            {"n": members + entries, "K": members + 1, "asking": entries},
            AtMost(5 * members),
            partial(worst.common_members, members, entries),
            Because(PREEMPTED, Near(worst.most_for(members, entries))),
        )
    yield Item(
        SOURCE,
        f"{title}, in one schedule on a plane",
        {"n": 307, "K": 18, "load": "each node once, all at once"},
        AtMost(85),
        partial(worst.all_at_once, 307),
        Because(ON_A_PLANE, Between(5 * 17, 6 * 17)),
    )


def most_in_common(members: int, entries: int) -> float | str:
    """Of 2c−2 voters c are a majority; nodes without votes ask, and all ask the same c."""
    votes = 2 * members - 2
    requests = (0,) * votes + (1,) * entries
    text = ",".join(["1"] * votes + ["0"] * entries)
    return measure.most_messages("weighted-majority", len(requests), requests, votes=text)


MIDDLE = (
    "Round its own set and back it would take K, but to begin each at its own node lets "
    "nodes deadlock. In one order for all, a node in the middle of its set takes K+1."
)


def section_10() -> Iterator[Item]:
    for n in (7, 13, 21, 31, 57):
        k = len(plane(n).of(1))
        yield Item(
            SOURCE,
            "§10: members asked one by one, 2(K−1) and K−1 to clear",
            {"n": n, "K": k, "load": "light"},
            Exactly(3 * (k - 1)),
            light("maekawa-sequential", n, 2 * n),
        )
        yield Item(
            SOURCE,
            "§10: a request passed on cyclically, K and K−1 to clear",
            {"n": n, "K": k, "load": "light"},
            Said(2 * k - 1, Exactly([2 * k - 1, 2 * k - 1])),
            partial(measure.span, Scenario("maekawa-cyclic", n, 4 * n, Light())),
            Because(MIDDLE, Exactly([2 * k - 1, 2 * k])),
        )
