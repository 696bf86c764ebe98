"""Virtual time, one seed: runs of bare peers, watched from outside, measured, drawn.

`simulate` runs a `Scenario` and gives a `Report`; `compare` runs an `Experiment`, which is
several algorithms, sizes and loads, and gives a `Result` for each.  A run is recorded into
a `Trace`, to be drawn by `peerlock.traces`.
"""

from peerlock.simulator.experiment import Experiment, Result, RunFailed, Spread, compare
from peerlock.simulator.judge import Violation
from peerlock.simulator.load import Heavy, Level, Light, Schedule
from peerlock.simulator.network import Crash, Network, Partition
from peerlock.simulator.report import Report, Summary
from peerlock.simulator.simulation import Scenario, empty_trace, simulate

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
