"""What a simulated event costs, beside two yardsticks that do no protocol work at all.

    python -m bench.simulator [--repeats 7] [--json]
    python -m bench.simulator --parts

All rivals run in turn, again and again, in one process, so that a noisy machine is noisy
for all of them; what counts are the ratios.  The yardsticks: a bare heapq loop that
passes 100 messages round a ring of ten, and SimPy doing the same with its stores.

`--parts` says where an event's time goes.  The signals that it samples by are handled at
calls and at the ends of loops, so short functions take the blame for their callers.

`make bench-compiled` measures the simulator as a compiled wheel has it.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from statistics import median
from types import FrameType
from typing import Any

import simpy

from peerlock.cli.ending import end_with
from peerlock.cli.start import collect_garbage_rarely
from peerlock.simulator import simulation
from peerlock.simulator.load import Heavy
from peerlock.simulator.scenario import Scenario
from peerlock.simulator.simulation import simulate

EVENTS = 300_000
SAMPLE, SAMPLED = 0.001, 3.0  # seconds between two samples, and of all
LEAST = 0.01  # microseconds, of a part that is printed


class RingNode:
    __slots__ = ("me", "received", "size")

    def __init__(self, me: int, size: int) -> None:
        self.me, self.size, self.received = me, size, 0

    def on_message(self, sender: int, message: object) -> list[tuple[int, object]]:
        self.received += 1
        return [((self.me + 1) % self.size, message)]


def heap_ring(flying: int = 100, size: int = 10) -> int:
    """The floor for a simulator in Python."""
    nodes = [RingNode(i, size) for i in range(size)]
    uniform = random.Random(1).random
    heap: list[Any] = [(0.0, k, k % size, 0, ("TOKEN", k)) for k in range(flying)]
    heapq.heapify(heap)
    number = flying
    for _ in range(EVENTS):
        now, _, to, sender, message = heapq.heappop(heap)
        for receiver, answer in nodes[to].on_message(sender, message):
            at = now + 1.0 + uniform()
            heapq.heappush(heap, (at, number, receiver, to, answer))
            number += 1
    return EVENTS


def simpy_ring(size: int = 10) -> int:
    env = simpy.Environment()
    stores = [simpy.Store(env) for _ in range(size)]
    stop = env.event()
    hops = 0

    def node(i: int) -> Any:
        nonlocal hops
        while True:
            message = yield stores[i].get()
            yield env.timeout(1)
            hops += 1
            if 3 * hops >= EVENTS:  # each hop is a get, a timeout and a put
                stop.succeed()
                return
            yield stores[(i + 1) % size].put(message)

    for i in range(size):
        env.process(node(i))
    stores[0].put("TOKEN")
    env.run(until=stop)
    return 3 * hops


def simulated(name: str, nodes: int, entries: int) -> Callable[[], int]:
    return lambda: simulate(Scenario(name, nodes, entries, Heavy())).events


RIVALS: dict[str, Callable[[], int]] = {
    "heapq ring": heap_ring,
    "SimPy ring": simpy_ring,
    "ricart-agrawala, 25 nodes": simulated("ricart-agrawala", 25, 6000),
    "naimi-trehel, 100 nodes": simulated("naimi-trehel", 100, 50_000),
}


def pure() -> bool:
    """Or has it been compiled?  See hatch_build.py."""
    return str(simulation.__file__).endswith(".py")


def rates(repeats: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in RIVALS}
    for _ in range(repeats):
        for name, run in RIVALS.items():
            began = time.process_time()
            events = run()
            found[name].append(events / (time.process_time() - began))
    return found


def parts(run: Callable[[], int]) -> dict[str, float]:
    """The microseconds that an event spends in each function, from samples."""
    samples: Counter[str] = Counter()

    def sample(_: int, frame: FrameType | None) -> None:
        if frame is not None:
            samples[frame.f_code.co_qualname.replace("<locals>.", "")] += 1

    before = signal.signal(signal.SIGPROF, sample)
    signal.setitimer(signal.ITIMER_PROF, SAMPLE, SAMPLE)
    began, events = time.process_time(), 0
    try:
        while time.process_time() - began < SAMPLED:
            events += run()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    total = 1e6 * (time.process_time() - began) / events
    taken = samples.total()
    return {name: total * n / taken for name, n in samples.most_common()}


def print_parts() -> None:
    for name, run in RIVALS.items():
        found = parts(run)
        print(f"{name}: {sum(found.values()):.2f} µs per event")
        for part, microseconds in found.items():
            if microseconds >= LEAST:
                print(f"{microseconds:8.2f}  {part}")


def growth(nodes: int, entries: int = 20_000) -> dict[str, float]:
    """Naimi-Trehel at `nodes`, the median of three, each in a process of its own."""
    sizes = [str(nodes), str(entries)]
    command = [sys.executable, "-m", "bench.simulator", "--grown", *sizes]
    outputs = [subprocess.check_output(command) for _ in range(3)]
    runs: list[dict[str, float]] = [json.loads(output) for output in outputs]
    return sorted(runs, key=lambda run: run["microseconds_per_message"])[1]


def grown(nodes: int, entries: int) -> dict[str, float]:
    collect_garbage_rarely()  # as the command line does
    began = time.process_time()
    report = simulate(Scenario("naimi-trehel", nodes, entries, Heavy()))
    seconds = time.process_time() - began
    return {
        "nodes": nodes,
        "entries": report.entries,
        "messages_per_entry": report.messages_per_entry,
        "microseconds_per_message": 1e6 * seconds / report.messages,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--parts", action="store_true", help="where an event's time goes")
    parser.add_argument(
        "--grown",
        nargs=2,
        type=int,
        metavar=("NODES", "ENTRIES"),
        help="only this, as JSON",
    )
    options = parser.parse_args()
    if options.grown:
        print(json.dumps(grown(*options.grown)))
        return
    if options.parts:
        print_parts()
        return

    found = rates(options.repeats)
    floor, simpys = (median(found[name]) for name in ("heapq ring", "SimPy ring"))
    sizes = [growth(nodes) for nodes in (100, 1000, 10_000, 100_000)]
    if options.json:
        print(json.dumps({"events_per_second": found, "naimi_trehel": sizes}, indent=2))
        return
    print("The simulator is", "pure Python" if pure() else "compiled")
    print(
        f"{'':28}{'events/s, median':>17}{'lowest':>12}{'highest':>12}  of heapq  of SimPy"
    )
    for name, values in found.items():
        middle = median(values)
        print(
            f"{name:28}{middle:17,.0f}{min(values):12,.0f}{max(values):12,.0f}"
            f"{middle / floor:10.2f}{middle / simpys:10.2f}"
        )
    print(f"\n{'naimi-trehel, nodes':28}{'messages/entry':>15}{'µs/message':>12}{'MB':>8}")
    for size in sizes:
        print(
            f"{size['nodes']:28,.0f}{size['messages_per_entry']:15.2f}"
            f"{size['microseconds_per_message']:12.2f}{size['megabytes']:8.0f}"
        )


if __name__ == "__main__":
    end_with(main)
