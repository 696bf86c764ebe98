"""Virtual time, one seed: runs of bare peers, watched from outside, measured, drawn."""

from peerlock.simulator.judge import Violation
from peerlock.simulator.load import Heavy, Level, Light, Schedule
from peerlock.simulator.network import Crash, Network, Partition
from peerlock.simulator.report import Report, Summary
from peerlock.simulator.simulation import Scenario, empty_trace, simulate

__all__ = [
    "Crash",
    "Heavy",
    "Level",
    "Light",
    "Network",
    "Partition",
    "Report",
    "Scenario",
    "Schedule",
    "Summary",
    "Violation",
    "empty_trace",
    "simulate",
]
