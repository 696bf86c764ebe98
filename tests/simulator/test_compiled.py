"""The simulator can be compiled into a wheel for one machine, and stays the same."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Runs of all kinds, and how they went; it is run with the simulator as it is and compiled.
RUNS = """
import pickle, sys
from peerlock.simulator import simulation
from peerlock.simulator.violation import Violation
from peerlock.simulator.load import Heavy, Level, Light
from peerlock.simulator.network import Crash, Network
from peerlock.simulator.scenario import Scenario
from peerlock.simulator.simulation import empty_trace, simulate

print(simulation.__file__.endswith(".py"), file=sys.stderr)
SCENARIOS = [
    Scenario(name, 4, 25, load, network, shared=shared, seed=seed)
    for seed, (name, shared) in enumerate({
        "ricart-agrawala": 0.0, "naimi-trehel": 0.0, "maekawa": 0.0, "raymond-k": 0.0,
        "ricart-agrawala-readers-writers": 0.5,
        "ricart-agrawala-broadcast-ordered": 0.0, "ricart-agrawala-delaying": 0.0,
    }.items(), 1)
    for load, network in [
        (Heavy(), None),
        (Light(), Network(fifo=True)),
        (Level(0.2), Network(loss=0.02, duplication=0.05, fifo=True)),
        (Heavy(), Network(crashes=(Crash(2, 9.0, 20.0),), fifo=True)),
    ]
]
for scenario in SCENARIOS:
    for trace in (None, empty_trace(scenario)):
        try:
            print(simulate(scenario, trace))
        except Violation as violation:
            again = pickle.loads(pickle.dumps(violation))
            print(violation, again, again.node, list(violation.trace), list(again.trace))
        if trace is not None:
            print(list(trace))
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_compiled_it_does_the_same(tmp_path: Path) -> None:
    compiled = unpacked(tmp_path, HATCH_BUILD_HOOK_ENABLE_CUSTOM="true")
    assert list(compiled.glob("peerlock/simulator/simulation.*.*"))
    was, plainly = runs(ROOT / "src")
    now, compiled_plainly = runs(compiled)
    assert (plainly, compiled_plainly) == ("True\n", "False\n")
    assert "nothing more can happen" in was
    assert now == was


def test_a_wheel_is_pure_unless_it_is_asked_for(tmp_path: Path) -> None:
    wheel = unpacked(tmp_path)
    assert not [path for path in wheel.rglob("*") if path.suffix in (".so", ".pyd")]


def unpacked(folder: Path, **environment: str) -> Path:
    """A wheel that was built with these."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        check=True,
    )
    (wheel,) = folder.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl") is not bool(environment)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "wheel")
    return folder / "wheel"


def runs(source: Path) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", RUNS],
        env=os.environ | {"PYTHONPATH": str(source)},
        capture_output=True,
        check=True,
        text=True,
    )
    return done.stdout, done.stderr
