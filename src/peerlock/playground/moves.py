"""The steps of a run by hand as short words, which make up a schedule.

    r3     node 3 requests; r3:1 is for the demand of number 1
    l3     node 3 leaves
    c3     node 3 crashes; s3: it restarts
    t3:x   the timer x of node 3 fires; a space in its name is written as +
    d7     message 7 arrives; x7: it is lost; u7: it is under way once more

Messages are numbered as they are sent.  What is under way and is not a message (the report
of a crash, a broadcast back to its sender on an ordered medium) has a negative number.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from peerlock.checker.sites import Action
from peerlock.core.errors import UsageError
from peerlock.core.peer import NodeId, label, snake
from peerlock.core.under_way import UnderWay
from peerlock.simulator.by_hand import ByHand
from peerlock.traces.trace import Kind, Trace

MOVE = re.compile(r"([rlcs])(\d+)(?::(\d+))?|(t)(\d+):([\w+]+)|([dxu])(-?\d+)")
MOST_MOVES = 2000

# What the checker calls them.
OF_NODES = {"leave": "l", "crash": "c", "restart": "s"}
OF_MESSAGES = {"receive": "d", "lose": "x", "duplicate": "u"}


def parse(move: str) -> tuple[str, int, str]:
    """The kind, the node or the number of the message, and the rest."""
    match = MOVE.fullmatch(move)
    if match is None:
        raise UsageError(
            f"invalid step {move[:20]!r}: use r3, l3, c3, s3, t3:x, d7, x7, u7"
        )
    kind, node, more, fires, at, name, what, number = match.groups()
    if kind:
        return kind, int(node), more or ""
    return (fires, int(at), name.replace("+", " ")) if fires else (what, int(number), "")


def timer(node: NodeId, name: str) -> str:
    return f"t{node}:{name.replace(' ', '+')}"


def make(cluster: ByHand, move: str) -> None:
    """Raises UsageError for a step that is not possible here."""
    kind, number, more = parse(move)
    if kind not in "dxu" and number not in cluster.members:
        raise UsageError(f"there is no node {number}")
    match kind:
        case "r":
            demands = cluster.rule.demands
            which = int(more or 0)
            if which >= len(demands):
                raise UsageError(f"invalid step {move!r}: there are {len(demands)} demands")
            cluster.request(number, demands[which])
        case "l":
            cluster.leave(number)
        case "c":
            cluster.crash(number)
        case "s":
            cluster.restart(number)
        case "t":
            cluster.fire(number, more)
        case "d":
            cluster.land(number)
        case "x":
            cluster.lose(number)
        case "u":
            cluster.duplicate(number)


def words(cluster: ByHand, move: str) -> str:
    """A step that is possible now, in words."""
    kind, number, more = parse(move)
    if kind in "dxu":
        flight = cluster.flight(number)
        what = {"d": "arrives", "x": "is lost", "u": "is duplicated"}[kind]
        return f"{label(flight.message)} {flight.sender} → {flight.receiver} {what}"
    if kind == "r":
        demand = cluster.rule.words(cluster.rule.demands[int(more or 0)])
        return f"{number} requests" + (f" ({demand})" if demand else "")
    verb = {"l": "leaves", "c": "crashes", "s": "restarts", "t": f"timer {more} fires"}
    return f"{number} {verb[kind]}"


# What a message is, whatever its number


class NamedLetter(NamedTuple):
    """The k-th message of its type on its channel."""

    sender: NodeId
    receiver: NodeId
    type: str
    k: int


def letters(cluster: ByHand) -> dict[NamedLetter, int]:
    """The numbers of all messages sent so far, and of what else is under way."""
    count: Counter[tuple[NodeId, NodeId, str]] = Counter()
    found: dict[NamedLetter, int] = {}
    for step in cluster.trace:
        if step.kind is Kind.SEND:
            assert step.peer is not None
            assert step.flight is not None
            channel = step.node, step.peer, snake(type(step.message)).upper()
            found[NamedLetter(*channel, count[channel])] = step.flight
            count[channel] += 1
    for flight in cluster.flying:
        if flight.sender == flight.receiver:
            channel = flight.sender, flight.sender, str(flight.number)
            found[NamedLetter(*channel, 0)] = flight.number
    return found


def letter_of(cluster: ByHand, number: int) -> NamedLetter:
    return next(letter for letter, n in letters(cluster).items() if n == number)


# From the checker's schedules


def of_action(cluster: ByHand, action: Action) -> str:
    """The move that an action of the checker is in this run."""
    node = action.node
    match action.what:
        case "request":
            return f"r{node}:{action.demand}" if action.demand else f"r{node}"
        case "timer":
            return timer(node, action.timer)
        case "leave" | "crash" | "restart":
            return f"{OF_NODES[action.what]}{node}"
    kind = OF_MESSAGES[action.what]
    return f"{kind}{_flight(cluster, action).number}"


def _flight(cluster: ByHand, action: Action) -> UnderWay:
    """The first of these messages that knows as much of the latest grant."""
    wanted = action.sender, action.node, action.message
    found = [f for f in cluster.flying if (f.sender, f.receiver, f.message) == wanted]
    if not found:
        raise UsageError(f"no {label(action.message)} is under way to {action.node}")
    if cluster.algorithm.fifo or cluster.algorithm.medium:
        return found[0]
    latest = max((s.fence or 0 for s in cluster.trace), default=0)
    alike = [f for f in found if (f.fence == latest) == action.knows]
    return (alike or found)[0]


def of_actions(cluster: ByHand, actions: Iterable[Action]) -> list[str]:
    """Played on a fresh cluster until one of them ends the run."""
    found: list[str] = []
    for action in actions:
        move = of_action(cluster, action)
        found.append(move)
        try:
            make(cluster, move)
        except UsageError:
            raise
        except Exception:  # the breach itself
            break
    return found


def actions_in(trace: Trace, cluster: ByHand) -> list[Action]:
    """The actions that a trace shows, without those that leave no step."""
    demands = [cluster.rule.words(demand) for demand in cluster.rule.demands]
    found: list[Action] = []
    for step in trace:
        match step.kind:
            case Kind.REQUEST:
                found.append(Action("request", step.node, demand=demands.index(step.note)))
            case Kind.RECEIVE | Kind.LOSE:
                what = "receive" if step.kind is Kind.RECEIVE else "lose"
                found.append(Action(what, step.node, step.peer or 0, step.message))
            case Kind.TIMER:
                found.append(Action("timer", step.node, timer=step.note))
            case Kind.LEAVE | Kind.CRASH | Kind.RESTART:
                found.append(Action(step.kind.value, step.node))
    return found
