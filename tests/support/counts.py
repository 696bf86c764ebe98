"""Messages of each entry under light load."""

from collections.abc import Iterator

from peerlock.simulator.load import Light
from peerlock.simulator.scenario import Scenario
from peerlock.simulator.simulation import empty_trace, simulate
from peerlock.traces.trace import Kind

SIZES = range(2, 51)


def light_entries(
    name: str,
    nodes: int,
    entries: int = 12,
    quorums: str | None = None,
    topology: str | None = None,
) -> Iterator[tuple[int, int, int]]:
    """(who entered before, who enters, messages) of each entry under light load."""
    scenario = Scenario(name, nodes, entries, Light(), quorums=quorums, topology=topology)
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    before, node, messages = 0, 1, 0
    for step in trace:
        if step.kind is Kind.REQUEST:
            if before:
                yield before, node, messages
            before, node, messages = node, step.node, 0
        messages += step.kind is Kind.SEND
    yield before, node, messages
