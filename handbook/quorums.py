"""The page of quorum systems: drawn, with load, resilience and availability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handbook.book import Book, inline
from handbook.figures import COLOURS, figure, finished, legend
from handbook.markdown import console, prose, table
from peerlock.cli.quorums import KINDS as ALL_KINDS
from peerlock.lab.least_load import optimal_load
from peerlock.quorums.agreements import KINDS as AGREEMENTS
from peerlock.quorums.availability import availability
from peerlock.quorums.bicoteries import KINDS as BICOTERIES
from peerlock.quorums.constructions import QuorumSystem
from peerlock.quorums.coterie import k_coterie
from peerlock.quorums.information import KINDS as STRUCTURES
from peerlock.quorums.systems import SYSTEMS

SIZES = (7, 13, 31)
DRAWN = ("plane", "grid", "majority", "triangle", "tree")
DRAWN_SINCE = ("wheel", "wall", "hierarchical", "cyclic", "paths")
DRAWN_SIZE = 13
UP = 0.9
POINTS = 51

INTRODUCTION = """\
# Quorum systems

With some algorithms a node asks only its *quorum*, a set of nodes chosen so that any two
quorums have a node in common. That node cannot agree to both, so two nodes are never
inside together. Smaller quorums need fewer messages; the more quorums there are, and the
more evenly they are spread, the lower is the load of each node, and the more failures
leave a quorum intact.

`maekawa`, `sanders`, `mizuno-neilsen-rao` and their variants take any of these with
`--quorums`; `majority`, `weighted-majority` and `agrawal-el-abbadi` have a quorum system of
their own.
"""

KINDS = {
    "plane": "Nodes are the points of a finite projective plane, quorums its lines: "
    "about √N nodes, the minimum if all nodes are alike. If there is no plane of that "
    "size, a larger one is cut down (Maekawa's Method 1).",
    "grid": "Nodes form a square; a quorum is a row and a column (Maekawa's Method 2).",
    "majority": "Any set of more than half of the nodes.",
    "triangle": "Nodes form a triangle; a quorum has about √(2N), by a mix of two schemes.",
    "triangle-columns": "Only the first of the two schemes.",
    "triangle-rows": "Only the second scheme.",
    "tree": "A path from the root of a tree to a leaf; if a node on it is down, paths from "
    "all of its children (Agrawal and El Abbadi).",
    "weighted": "Any set with more than half of the votes; nodes may have different votes.",
    "wheel": "The hub and one more node; if the hub is down, all others (Peleg and Wool).",
    "wall": "A row of a wall, and a node of each row below it; row i is about log₂ 2i wide "
    "(Peleg and Wool).",
    "hierarchical": "Two of three groups, in each of them two of three, and so on: N^0.63 "
    "nodes (Kumar).",
    "cyclic": "One set of numbers whose differences are all numbers, moved round the ring: "
    "all nodes alike, whichever N (Luk and Wong).",
    "paths": "A path across a lattice and one down; nodes are its edges (Naor and Wool).",
    "masking": "Enough nodes that any two quorums share more honest nodes than there are "
    "liars, up to (N − 1)/4 of these (Malkhi and Reiter).",
    "masking-grid": "Rows and columns of a square that do the same for fewer liars.",
    "majority/plane": "A system of systems: a majority of √N groups, a line of a plane in "
    "each of them. Any two kinds can be put together like this (Neilsen and Mizuno).",
    "k-coterie": "For semaphores: k quorums can be disjoint, but not k + 1.",
}

PAIRED = """\
Some systems have two sets for each node. The table below has the figures of both
together; `peerlock quorums` also prints those of each half.

In a *quorum agreement* (`mizuno-neilsen-rao`) a node asks one set for the token, and
tells another set when it has it. Each set that is asked meets each that is told; two sets
that are asked need not meet.

- **agreement:grid-set**: ask a row, tell a column, in a grid twice as wide as it is high.
- **agreement:plane** and **agreement:tree**: ask and tell the same quorum.
- **agreement:suzuki-kasami**: ask all others, tell none.

In an *information structure* (`sanders`) a node asks one set for permission, and informs
some of them when it has left. Any two nodes inform a common node, or ask each other and
know of themselves.

- **sanders:ricart-agrawala**: ask all, inform no other node.
- **sanders:maekawa**: ask and inform the same quorum, a line of the plane.

A *bicoterie* has sets to read and sets to write. Each set that is read meets each that is
written, and so do any two that are written.

- **bicoterie:read-one-write-all**: read the node itself, write all.
- **bicoterie:read-few**: read a third of the nodes, write two thirds.
- **bicoterie:grid**: read a node of each column, write a column as well."""

COLUMNS = """\
- **quorum size**: the number of nodes, the asking node included; with two sets for each
  node, of both together.
- **load**: the share of all requests in which the busiest node takes part, if all nodes
  request equally often; **optimal load**: the same if quorums are chosen optimally, by
  linear programming.
- **resilience**: the number of failures, of any nodes, after which a quorum is still left.
- **availability**: the probability that a quorum is left if each node is up with
  probability 0.9. Where it cannot be computed, it is estimated by 2,000 trials (≈)."""


def write(book: Book, sizes: Sequence[int] = SIZES) -> None:
    parts = [INTRODUCTION, "## Which nodes each node asks", drawn(book), "## The kinds"]
    parts.append("\n".join(f"- **{k}**: {prose(text)}" for k, text in KINDS.items()))
    parts += ["## Two sets for each node", PAIRED]
    parts += ["## Load, resilience and availability", COLUMNS, worth(sizes)]
    parts += ["## If nodes fail", failing(book), "## Try it"]
    parts.append(
        console(
            "peerlock quorums plane -n 13",
            "peerlock quorums weighted -n 3 --votes 3,1,1",
            "peerlock quorums agreement:grid-set -n 18",
            "peerlock quorums tree -n 31 --p 0.95 --plot availability.svg",
            "peerlock simulate maekawa -n 13 --quorums grid",
        )
    )
    book.pages["quorums.md"] = "---\nhide-toc: true\n---\n\n" + "\n\n".join(parts) + "\n"


def system(kind: str, nodes: int) -> QuorumSystem:
    """With two sets for each node, what an entry takes: one of each."""
    of, _, name = kind.partition(":")
    if of == "agreement":
        return AGREEMENTS[name](nodes).entry
    if of == "sanders":
        return STRUCTURES[name](nodes).entry
    if of == "bicoterie":
        return BICOTERIES[name](nodes).entry
    return k_coterie(nodes, 2) if kind == "k-coterie" else SYSTEMS[kind](nodes)


def worth(sizes: Sequence[int]) -> str:
    headings = [
        "kind",
        "N",
        "quorum size",
        "load",
        "optimal load",
        "resilience",
        "availability",
    ]
    rows = [row(kind, n) for kind in ALL_KINDS for n in sizes]
    return table(headings, rows, "-rrrrrr")


def row(kind: str, nodes: int) -> tuple[str, ...]:
    made = system(kind, nodes)
    sizes, found = made.sizes, availability(made)
    asked = str(sizes.min) if sizes.min == sizes.max else f"{sizes.min}–{sizes.max}"
    about = "" if found.exact else "≈ "
    return (
        kind if nodes == SIZES[0] else "",
        str(nodes),
        asked,
        f"{made.load:.0%}",
        f"{optimal_load(made).load:.0%}",
        f"{made.resilience}{'' if made.resilience_exact else ' or more'}",
        f"{about}{found.at(UP):.4f}",
    )


def drawn(book: Book) -> str:
    words = f"{DRAWN_SIZE} nodes; a dot: the node of the row asks the node of the column."
    pictures = [
        book.show("quorums.md", f"pictures/{name}.html", inline(squares(kinds)))
        for name, kinds in (("quorums", DRAWN), ("quorums-since", DRAWN_SINCE))
    ]
    return "\n\n".join([*pictures, f"*{words}*"])


def squares(kinds: Sequence[str]) -> str:
    """One for each kind: a row for each node, a dot for each that it asks."""
    plot, axes = figure(9.6, 2.6, columns=len(kinds))
    for i, kind in enumerate(kinds):
        made = system(kind, DRAWN_SIZE)
        dots = list(asked(made))
        at = axes[i]
        at.scatter([j for _, j in dots], [n for n, _ in dots], s=16, color=COLOURS[0])
        at.set_title(kind)
        at.set_aspect("equal")
        at.set_xlim(0.2, DRAWN_SIZE + 0.8)
        at.set_ylim(DRAWN_SIZE + 0.8, 0.2)
        ticks = [1, 5, 9, 13]
        at.set_xticks(ticks)
        at.set_yticks(ticks)
        at.set_xlabel("is asked")
    axes[0].set_ylabel("node")
    return finished(plot)


def asked(made: QuorumSystem) -> Iterator[tuple[int, int]]:
    for node in range(1, made.nodes + 1):
        for other in made.of(node):
            yield node, other


def failing(book: Book) -> str:
    plot, axes = figure(7.2, 3.8)
    steps = [k / (POINTS - 1) for k in range(POINTS)]
    for i, kind in enumerate(DRAWN):
        found = availability(system(kind, DRAWN_SIZE))
        axes[0].plot(steps, [found.at(p) for p in steps], label=kind, color=COLOURS[i])
    axes[0].plot(steps, steps, linestyle="--", color="#888888", label="a single node")
    axes[0].set_xlabel("probability that a node is up")
    axes[0].set_ylabel("probability that a quorum is left")
    axes[0].set_xlim(0, 1)
    axes[0].set_ylim(0, 1.02)
    legend(axes[0], "lower right")
    shown = book.show("quorums.md", "pictures/availability.html", inline(finished(plot)))
    words = f"""\
*{DRAWN_SIZE} nodes.* A majority has the highest availability if nodes are more often up
than down; below one half, a single node is better than any quorum system. Small quorums
reduce the availability."""
    return f"{shown}\n\n{words}"
