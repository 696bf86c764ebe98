"""What tests of real locks share."""

import signal
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from peerlock.membership.memory import CLUSTERS
from peerlock.membership.place import VARIABLE
from tests.slow import LONG, QUICK_CASES, SLOW
from tests.support.commands import peerlock
from tests.support.engines import leases_clock, one, path, two
from tests.support.postgresql_servers import (
    fragile_postgresql,
    own_postgresql,
    postgresql,
    postgresql_data,
)

__all__ = [  # fixtures
    "fragile_postgresql",
    "leases_clock",
    "one",
    "own_postgresql",
    "path",
    "peerlock",
    "postgresql",
    "postgresql_data",
    "two",
]

EVERYTHING = 10_000  # tests, and more

# An example may take long on a busy machine, which is not an error of what is tested.
UNHURRIED = [HealthCheck.too_slow]
settings.register_profile("unhurried", deadline=None, suppress_health_check=UNHURRIED)
settings.load_profile("unhurried")

# A process in the background ignores Ctrl-C, under nohup a hang-up, too; and so would all
# that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
for ignored in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(ignored, signal.SIG_DFL)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="a sample: see tests/slow.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_slow(items)
    if config.getoption("quick"):
        leave_out(config, items)


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes long; and of one test with many parameters all but the first cases."""
    cases: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        cases[test] += 1
        long = test.removeprefix("tests/").startswith(LONG)
        (left if long or cases[test] > QUICK_CASES else kept).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = kept


def mark_slow(items: list[pytest.Item]) -> None:
    slow = {f"tests/{file}::{test}" for file, tests in SLOW.items() for test in tests}
    unused = set(slow)
    for item in items:
        for beginning in slow:
            if item.nodeid.startswith(beginning):
                item.add_marker("slow")
                unused.discard(beginning)
    if len(items) > EVERYTHING and unused:
        raise pytest.UsageError(f"no such tests in tests/slow.py: {sorted(unused)}")


@pytest.fixture(autouse=True)
def no_clusters_in_memory() -> Iterator[None]:
    """That another test has left behind."""
    yield
    CLUSTERS.clear()


@pytest.fixture
def short_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory of the test's own, where sockets go, too: their paths must be short."""
    with tempfile.TemporaryDirectory(prefix="pl", dir="/tmp") as path:
        monkeypatch.setenv("XDG_RUNTIME_DIR", path)
        monkeypatch.delenv(VARIABLE, raising=False)
        yield Path(path)


@pytest.fixture
def cluster(short_path: Path) -> str:
    return f"sqlite://{short_path}/c.db"
