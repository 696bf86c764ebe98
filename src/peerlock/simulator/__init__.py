"""Runs of algorithms in virtual time, from a seed: judged from outside, measured, drawn.

`simulate` runs a `Scenario` and returns a `Report`; `compare` runs an `Experiment` (several
algorithms, sizes and loads) and returns a `Result` for each combination.  A run can be
recorded into a `Trace`, which `peerlock.traces` draws.
"""

from peerlock.simulator.experiment import Experiment, Result, RunFailed, Spread, compare
from peerlock.simulator.load import Heavy, Level, Light, Schedule
from peerlock.simulator.network import Crash, Network, Partition
from peerlock.simulator.report import Report, Summary
from peerlock.simulator.scenario import Scenario
from peerlock.simulator.simulation import empty_trace, simulate
from peerlock.simulator.violation import Violation

__all__ = [
    "Crash",
    "Experiment",
    "Heavy",
    "Level",
    "Light",
    "Network",
    "Partition",
    "Report",
    "Result",
    "RunFailed",
    "Scenario",
    "Schedule",
    "Spread",
    "Summary",
    "Violation",
    "compare",
    "empty_trace",
    "simulate",
]
