"""`peerlock quorums`: the constructions, with their load, resilience and availability."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from peerlock.cli.compare import FIGURES
from peerlock.cli.output import (
    Finite,
    json_option,
    must_be_writable,
    nodes_option,
    permits_option,
    print_json,
    working,
)
from peerlock.cli.quorum_report import (
    Paired,
    described,
    of_agreement,
    of_bicoterie,
    of_structure,
    show,
    summary,
)
from peerlock.core.demands import DEFAULT_PERMITS
from peerlock.core.errors import UsageError, unknown
from peerlock.lab.plot_quorums import plot_availability
from peerlock.quorums.agreements import KINDS as AGREEMENTS
from peerlock.quorums.availability import Availability, availability
from peerlock.quorums.bicoteries import KINDS as BICOTERIES
from peerlock.quorums.constructions import QuorumSystem
from peerlock.quorums.coterie import k_coterie
from peerlock.quorums.information import KINDS as STRUCTURES
from peerlock.quorums.systems import SYSTEMS, is_known, quorum_system
from peerlock.quorums.weighted import weighted

AGREEMENT, STRUCTURE, BICOTERIE = "agreement:", "sanders:", "bicoterie:"
MOST_NODES = 5_000  # beyond that, measuring a system takes more than a minute or two
KINDS = (
    *SYSTEMS,
    "k-coterie",
    *(AGREEMENT + name for name in AGREEMENTS),
    *(STRUCTURE + name for name in STRUCTURES),
    *(BICOTERIE + name for name in BICOTERIES),
)


@click.command()
@click.argument("kinds", metavar="KIND…", nargs=-1, required=True)
@nodes_option
@permits_option
@click.option("--votes", metavar="V1,V2,…", help="Votes of each node, for weighted.")
@click.option(
    "--p",
    "up",
    type=Finite(0, 1),
    default=0.9,
    show_default=True,
    help="The probability that a node is up.",
)
@click.option(
    "--plot",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the availability of all kinds for every p: .svg, .pdf, .png.",
)
@json_option
def quorums(
    kinds: tuple[str, ...],
    nodes: int,
    permits: int | None,
    votes: str | None,
    up: float,
    path: Path | None,
    as_json: bool,
) -> None:
    """Print quorum systems with their load, resilience and availability.

    \b
    Each KIND is one of
      plane             the projective plane, or Maekawa's Method 1 if there is none
      grid              a row and a column: Maekawa's Method 2
      majority          more than half of the nodes
      triangle          about √(2N); half of the nodes use each of its two schemes,
      triangle-columns  all use the first,
      triangle-rows     all use the second
      tree              a path from the root to a leaf (Agrawal, El Abbadi)
      weighted          more than half of the votes; --votes 3,1,1
      wheel             the hub and a spoke, or the rim (Peleg, Wool)
      wall              a row and one of each row below it (Peleg, Wool)
      hierarchical      two of three groups, and so on in each of them (Kumar)
      cyclic            one set of differences, moved round the ring (Luk, Wong)
      paths             a path across a lattice and one down it (Naor, Wool)
      masking           enough nodes to outvote liars (Malkhi, Reiter)
      masking-grid      rows and columns that do the same (Malkhi, Reiter, Wool)
      OUTER/INNER       a system of systems, such as majority/plane: √N groups
      k-coterie         up to k quorums can be disjoint; --permits K

    \b
    or a quorum agreement: which nodes to ask for the token, and which to tell of having it;
    each set of the first kind meets each of the second (Mizuno, Neilsen, Rao)
      agreement:grid-set       ask a row, tell a column
      agreement:plane          ask and tell a line of the plane
      agreement:tree           ask and tell a path from the root to a leaf
      agreement:suzuki-kasami  ask all others, tell none

    \b
    or an information structure (Sanders): which nodes to ask, which to inform on leaving
      sanders:ricart-agrawala  ask all, inform no other node
      sanders:maekawa          ask and inform a line of the plane

    \b
    or sets to read and sets to write, each of which meets each that is written
      bicoterie:read-one-write-all  read the node itself, write all
      bicoterie:read-few            read a third, write two thirds
      bicoterie:grid                read one of each column, write a column, too
    """
    if path is not None:
        must_be_a_figure(path)
    validate(kinds, permits, votes)
    with working(f"computing quorums of {nodes:,} nodes"):
        made = [chosen(kind, nodes, permits, votes) for kind in kinds]
        measured = [(one, availability(entry_sets(one))) for one in made]
    if path is not None:
        plot_availability([(entry_sets(one), found) for one, found in measured], path)
    tell(measured, up, as_json)


def entry_sets(made: QuorumSystem | Paired) -> QuorumSystem:
    """The sets that a node asks before it enters."""
    return made.entry if isinstance(made, Paired) else made


def tell(
    measured: Sequence[tuple[QuorumSystem | Paired, Availability]], up: float, as_json: bool
) -> None:
    if as_json:
        told = [described(made, found, up) for made, found in measured]
        return print_json(told[0] if len(told) == 1 else told)
    for made, found in measured:
        show(made, summary(made, found, up))


def validate(kinds: tuple[str, ...], permits: int | None, votes: str | None) -> None:
    if votes is not None and "weighted" not in kinds:
        raise UsageError("--votes needs the kind weighted")
    if permits is not None and "k-coterie" not in kinds:
        raise UsageError("--permits needs the kind k-coterie")


def chosen(
    kind: str, nodes: int, permits: int | None, votes: str | None
) -> QuorumSystem | Paired:
    if nodes > MOST_NODES:
        raise UsageError(f"invalid --nodes {nodes}: use at most {MOST_NODES:,}")
    if kind not in KINDS and not is_known(kind):
        raise UsageError(unknown("kind of quorums", kind, list(KINDS)))
    try:
        if kind == "k-coterie":
            return k_coterie(nodes, DEFAULT_PERMITS if permits is None else permits)
        if kind.startswith(AGREEMENT):
            return of_agreement(AGREEMENTS[kind.removeprefix(AGREEMENT)](nodes))
        if kind.startswith(STRUCTURE):
            return of_structure(STRUCTURES[kind.removeprefix(STRUCTURE)](nodes))
        if kind.startswith(BICOTERIE):
            return of_bicoterie(BICOTERIES[kind.removeprefix(BICOTERIE)](nodes))
        if kind == "weighted" and votes is not None:
            return weighted(parsed(votes, nodes))
        return quorum_system(kind, nodes)
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from None


def must_be_a_figure(path: Path) -> None:
    if path.suffix not in FIGURES:
        raise UsageError(f"invalid figure {path.name!r}: use {', '.join(FIGURES)}")
    must_be_writable(path)


def parsed(votes: str, nodes: int) -> tuple[int, ...]:
    parts = votes.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise UsageError(f"invalid votes {votes!r}: use numbers, like 3,1,1")
    if len(parts) != nodes:
        raise UsageError(f"{len(parts)} votes for {nodes} nodes: use -n {len(parts)}")
    return tuple(map(int, parts))
