"""What `peerlock quorums` prints about a quorum system, as text and as JSON.

Quorum agreements and information structures have two sets for each node.  Each half is
reported by itself; resilience and availability are those of an entry, which takes one set
of each half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from peerlock.cli.figures import counted
from peerlock.cli.output import console, plain_table
from peerlock.core.errors import UsageError
from peerlock.lab.least_load import optimal_load
from peerlock.lab.linear import Optimum
from peerlock.quorums.agreements import QuorumAgreement, half
from peerlock.quorums.availability import Availability
from peerlock.quorums.bicoteries import Bicoterie
from peerlock.quorums.constructions import Quorum, QuorumSystem, Sizes
from peerlock.quorums.coterie import most_disjoint
from peerlock.quorums.domination import is_dominated
from peerlock.quorums.information import InformationStructure
from peerlock.quorums.masking import masked

SHOWN = 60  # rows; JSON has all of them


@dataclass(frozen=True)
class Half:
    name: str
    verb: str  # what a node does with such a set
    done: str  # the same, as a participle
    sets: tuple[Quorum, ...]

    @property
    def system(self) -> QuorumSystem:
        return half(self.sets)


@dataclass(frozen=True)
class Paired:
    """Two sets for each node, and what an entry takes."""

    halves: tuple[Half, Half]
    entry: QuorumSystem
    conditions: dict[str, bool]
    sentences: Sequence[str]
    messages: Sizes | None = None  # of an entry without contention, where that is known


def of_agreement(agreement: QuorumAgreement) -> Paired:
    return Paired(
        (
            Half("request", "ask", "asked", agreement.request),
            Half("acquired", "tell", "told", agreement.acquired),
        ),
        agreement.entry,
        {"agreeing": agreement.agreeing},
        [
            said(
                agreement.agreeing,
                "each set that is asked meets each that another node tells",
                "NOT EACH SET THAT IS ASKED MEETS EACH THAT ANOTHER NODE TELLS",
            )
        ],
    )


def of_structure(structure: InformationStructure) -> Paired:
    costs = [structure.messages(i) for i in range(1, structure.nodes + 1)]
    return Paired(
        (
            Half("request", "ask", "asked", structure.request),
            Half("informing", "inform", "informed", structure.informing),
        ),
        structure.entry,
        {
            "asked_first": structure.asked_first,
            "learning": structure.learning,
            "excluding": structure.excluding,
        },
        [
            said(
                structure.asked_first,
                "each node that is informed was asked",
                "NOT ALL THAT ARE INFORMED WERE ASKED",
            ),
            said(
                structure.learning,
                "any two inform a common node, or ask each other and know of themselves",
                "NOT ANY TWO INFORM A COMMON NODE, OR ASK EACH OTHER KNOWING OF THEMSELVES",
            ),
        ],
        Sizes(min(costs), sum(costs) / len(costs), max(costs)),
    )


def of_bicoterie(bicoterie: Bicoterie) -> Paired:
    return Paired(
        (
            Half("read", "read", "read", bicoterie.read),
            Half("written", "write", "written", bicoterie.written),
        ),
        bicoterie.entry,
        {"reading": bicoterie.reading, "writing": bicoterie.writing},
        [
            said(
                bicoterie.reading,
                "each set that is read meets each that is written",
                "NOT EACH SET THAT IS READ MEETS EACH THAT IS WRITTEN",
            ),
            said(
                bicoterie.writing,
                "any two sets that are written meet",
                "NOT ANY TWO SETS THAT ARE WRITTEN MEET",
            ),
        ],
    )


# In words


def show(made: QuorumSystem | Paired, lines: Sequence[str]) -> None:
    """The sets in a table, and the `summary` below it."""
    if isinstance(made, Paired):
        asked, told = made.halves
        show_table([f"{asked.verb}s", f"{told.verb}s"], [asked.sets, told.sets])
    else:
        show_table(["asks"], [made.quorums])
    console().print("\n" + "\n".join(lines))


def summary(made: QuorumSystem | Paired, found: Availability, up: float) -> list[str]:
    if isinstance(made, Paired):
        asked, told = made.halves
        what = f"a set to {asked.verb} and one to {told.verb} are"
        return [*pair_lines(made), *worth_lines(made.entry, found, up, what)]
    first = f"{meeting(made)}, {character(made)}{dominated(made, found)}"
    return [first, *worth_lines(made, found, up, "a quorum is")]


def show_table(headings: Sequence[str], columns: Sequence[Sequence[Quorum]]) -> None:
    out = console()
    table = plain_table("node", *headings, numbers=frozenset({0}))
    rows = list(zip(*columns, strict=True))
    for node, sets in enumerate(rows[:SHOWN], 1):
        table.add_row(str(node), *(" ".join(map(str, some)) for some in sets))
    out.print(table)
    if len(rows) > SHOWN:
        out.print(f"[dim]… and {len(rows) - SHOWN:,} more: --json prints all of them[/]")


def pair_lines(pair: Paired) -> list[str]:
    lines = [*pair.sentences, *map(half_line, pair.halves)]
    if pair.messages is not None:
        fewest, most = pair.messages.min, pair.messages.max
        costs = f"{fewest} to {most}" if fewest < most else fewest
        lines.append(f"an entry without contention costs {costs} messages")
    return [*lines, f"both together, {character(pair.entry)}:"]


def half_line(one: Half) -> str:
    system = one.system
    return (
        f"sets {one.done}, with the node itself: {sized(system.sizes)}, "
        f"{character(system)}, the busiest node is in {system.load:.1%}"
    )


def worth_lines(
    system: QuorumSystem, found: Availability, up: float, what: str
) -> list[str]:
    more = said(system.resilience_exact, "", ", possibly of more: the search was cut short")
    return [
        sized(system.sizes),
        f"the busiest node takes part in {system.load:.1%} of all requests"
        f"{at_best(system)}",
        f"{what} left after any {counted(system.resilience, 'failure')}{more}",
        f"if each node is up with probability {up:g}, {what} left with "
        f"{found.at(up):.6g}{by_trial(found, up)}",
    ]


def meeting(system: QuorumSystem) -> str:
    if system.intersecting:
        return "any two quorums meet"
    if system.kind != "k-coterie":
        return "NOT ANY TWO QUORUMS MEET"
    k = most_disjoint(system)
    return f"{k} quorums can be disjoint, and of any {k + 1} two meet"


def character(system: QuorumSystem) -> str:
    minimal = said(system.minimal, "none contains another", "some contain others")
    return f"{minimal}, {said(system.symmetric, 'all nodes alike', 'not all nodes alike')}"


def dominated(system: QuorumSystem, found: Availability) -> str:
    """Where any two meet: whether the quorums could be more; and the liars masked."""
    if not system.intersecting:
        return ""
    words = {True: ", dominated", False: ", not dominated", None: ""}[is_dominated(found)]
    liars = masked(system)
    return words + (f"\n{liars} nodes that lie are outvoted" if liars else "")


def sized(sizes: Sizes) -> str:
    return f"sizes {sizes.min} to {sizes.max}, mean {sizes.mean:.2f}"


def at_best(system: QuorumSystem) -> str:
    best = optimum(system)
    if best is None:
        return "\n[dim]the optimal load needs SciPy: pip install 'peerlock\\[lab]'[/]"
    load, exactly = f"{best.load:.1%}", f", {best.exact}" if best.exact is not None else ""
    proved = load if best.at_least is None else f"{best.at_least:.1%}"
    if proved != load:
        return (
            f",\nand in at most {load} if quorums are chosen optimally, "
            f"but in at least {proved}: the search was cut short"
        )
    return f", and in {load} if quorums are chosen optimally{exactly}"


def optimum(system: QuorumSystem) -> Optimum | None:
    try:
        return optimal_load(system)
    except UsageError:
        return None


def by_trial(found: Availability, up: float) -> str:
    if found.exact:
        return ""
    return f" ± {found.standard_error(up):.1g}, from {len(found.thresholds):,} trials"


def said(holds: bool, yes: str, no: str) -> str:
    return yes if holds else no


# For programs


def described(
    made: QuorumSystem | Paired, found: Availability, up: float
) -> dict[str, Any]:
    if isinstance(made, Paired):
        return {
            "kind": made.entry.kind,
            "nodes": made.entry.nodes,
            **{one.name: half_described(one) for one in made.halves},
            **made.conditions,
            **({"messages": ranged(made.messages)} if made.messages else {}),
            **worth(made.entry, found, up),
        }
    return {
        "kind": made.kind,
        "nodes": made.nodes,
        "quorums": listed(made.quorums),
        "intersecting": made.intersecting,
        "disjoint": most_disjoint(made),
        "dominated": is_dominated(found) if made.intersecting else None,
        "masked": masked(made),
        **worth(made, found, up),
    }


def half_described(one: Half) -> dict[str, Any]:
    system = one.system
    return {
        "sets": listed(one.sets),
        "intersecting": system.intersecting,
        **shape(system),
    }


def listed(sets: Sequence[Quorum]) -> dict[str, list[int]]:
    return {str(i): list(some) for i, some in enumerate(sets, 1)}


def ranged(sizes: Sizes) -> dict[str, float]:
    return {"min": sizes.min, "mean": sizes.mean, "max": sizes.max}


def shape(system: QuorumSystem) -> dict[str, Any]:
    return {
        "minimal": system.minimal,
        "symmetric": system.symmetric,
        "sizes": ranged(system.sizes),
        "load": system.load,
    }


def worth(system: QuorumSystem, found: Availability, up: float) -> dict[str, Any]:
    best = optimum(system)
    return {
        **shape(system),
        **(best_described(best) if best else dict.fromkeys(BEST)),
        "resilience": system.resilience,
        "resilience_exact": system.resilience_exact,
        "p": up,
        "availability": found.at(up),
        "availability_exact": found.exact,
        "availability_error": found.standard_error(up),
    }


BEST = ("optimal_load", "optimal_load_at_least", "optimal_load_exact")


def best_described(best: Optimum) -> dict[str, Any]:
    at_least = best.load if best.at_least is None else best.at_least
    exact = None if best.exact is None else str(best.exact)
    return dict(zip(BEST, (best.load, at_least, exact), strict=True))
