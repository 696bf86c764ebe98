"""The driver for tooz: by hand, and with tooz's own suite (slow)."""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

tooz = pytest.importorskip("tooz", reason="tooz is not installed")
from tooz import coordination  # noqa: E402


@pytest.fixture
def coordinators(short_path: Path) -> Iterator[list[Any]]:
    """By the entry point."""
    found = [
        coordination.get_coordinator(f"peerlock://{short_path}/c.db", name)
        for name in (b"one", b"two")
    ]
    for coordinator in found:
        coordinator.start()
    yield found
    for coordinator in found:
        coordinator.stop()


def test_locks(coordinators: list[Any]) -> None:
    one, two = (coordinator.get_lock(b"x") for coordinator in coordinators)
    with one:
        assert one.is_still_owner()
        assert not two.acquire(blocking=False)
        assert not one.acquire(timeout=0.01)
    assert not one.release()
    assert one.acquire(shared=True) and one.acquire(shared=True)
    assert two.acquire(shared=True)
    assert one.release() and one.release() and two.release()


def test_groups_and_elections(coordinators: list[Any]) -> None:
    one, two = coordinators
    elected: list[Any] = []
    one.create_group("g").get()
    with pytest.raises(coordination.GroupAlreadyExist):
        two.create_group(b"g").get()
    one.join_group(b"g", {"role": "primary"}).get()
    two.join_group(b"g").get()
    assert two.get_members(b"g").get() == {b"one", b"two"}
    assert two.get_member_capabilities(b"g", b"one").get() == {"role": "primary"}
    for coordinator in coordinators:
        coordinator.watch_elected_as_leader(b"g", elected.append)
        coordinator.run_watchers()
    assert [event.member_id for event in elected] == [b"one"]
    assert two.get_leader(b"g").get() == b"one"
    one.stand_down_group_leader(b"g")
    two.run_watchers()
    assert one.get_leader(b"g").get() == b"two"


KILLED = """
import os, sys
from tooz import coordination
coordinator = coordination.get_coordinator(sys.argv[1], b"killed")
coordinator.start()
coordinator.join_group(b"g").get()
coordinator.watch_elected_as_leader(b"g", print)
coordinator.run_watchers()
assert coordinator.get_leader(b"g").get() == b"killed"
os.kill(os.getpid(), 9)
"""


def test_a_process_that_is_killed_is_out_of_its_groups(
    coordinators: list[Any], short_path: Path
) -> None:
    one, _ = coordinators
    one.create_group(b"g").get()
    one.join_group(b"g").get()
    url = f"peerlock://{short_path}/c.db"
    done = subprocess.run([sys.executable, "-c", KILLED, url])
    assert done.returncode == -9
    with one.get_lock(b"x"):  # which notices
        pass
    for _ in range(2000):
        if one.get_members(b"g").get() == {b"one"}:
            break
    assert one.get_members(b"g").get() == {b"one"}
    assert one.get_leader(b"g").get() is None


def test_what_cannot_be_joined_is_a_connection_error() -> None:
    coordinator = coordination.get_coordinator("peerlock:///no/such/place/c.db", b"me")
    with pytest.raises(coordination.ToozConnectionError):
        coordinator.start()


def test_the_suite_of_tooz(short_path: Path) -> None:
    suite = Path(tooz.__file__).parent / "tests" / "test_coordination.py"
    for needed in ("etcd3gw", "sysv_ipc", "pymemcache", "redis", "testtools", "fixtures"):
        if not importlib.util.find_spec(needed):
            pytest.skip(f"tooz's suite imports {needed}, which is missing")
    command = [sys.executable, "-m", "pytest", "-q", "-c", "/dev/null", str(suite)]
    command += ["-p", "no:cacheprovider", "--rootdir", str(short_path)]
    environment = {**os.environ, "TOOZ_TEST_URL": f"peerlock://{short_path}/c.db"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    counted = re.search(r"(\d+) passed, (\d+) skipped in", done.stdout)
    assert counted, done.stdout
    assert (int(counted[1]), int(counted[2])) == (77, 6)
