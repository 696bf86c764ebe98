"""What users see of peerlock: the names of each class and module are pinned here."""

import inspect
import pydoc
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest

import peerlock
import peerlock.sync

COMMON = {"Grant": ["fence", "is_lost", "lost", "name", "release"]}
OF_A_NODE = ["leader", "leader_of", "leave", "lock", "locked", "locks", "semaphore"]
OF_A_NODE += ["statistics", "status"]
SURFACE = {
    peerlock: COMMON
    | {
        "Lock": [
            "acquire",
            "acquire_nowait",
            "holder",
            "locked",
            "name",
            "release",
            "try_acquire",
        ],
        "LockNode": sorted([*OF_A_NODE, "keeps_us_in"]),
    },
    peerlock.sync: COMMON
    | {
        "Lock": ["acquire", "cancel", "holder", "locked", "name", "release"],
        "LockNode": OF_A_NODE,
    },
}
with suppress(ModuleNotFoundError):  # an extra
    import peerlock.contrib.trio

    SURFACE[peerlock.contrib.trio] = COMMON | {
        "Lock": SURFACE[peerlock]["Lock"],
        "LockNode": [n for n in OF_A_NODE if n not in ("leave", "locked", "locks")],
    }
CLASSES = [
    pytest.param(getattr(face, name), names, id=f"{face.__name__}.{name}")
    for face, classes in SURFACE.items()
    for name, names in classes.items()
]


def public(names: list[str]) -> list[str]:
    return [name for name in names if not name.startswith("_")]


@pytest.mark.parametrize(("kind", "names"), CLASSES)
def test_the_names_of_a_class_are_these(kind: type, names: list[str]) -> None:
    assert public(dir(kind)) == names


@pytest.mark.parametrize(("kind", "names"), CLASSES)
def test_help_shows_these_each_with_its_words_and_nothing_else(
    kind: type, names: list[str]
) -> None:
    shown = pydoc.render_doc(kind, renderer=pydoc.plaintext)  # type: ignore[attr-defined]
    for name in names:
        assert inspect.getdoc(getattr(kind, name)), name
        assert name in shown
    for internal in ("Waiter(", "on_granted", "asked_at", "slot"):
        assert internal not in shown


async def of_tasks(cluster: str) -> list[list[str]]:
    async with peerlock.join(cluster) as node, (lock := node.lock("x")) as grant:
        return [public(dir(seen)) for seen in (grant, lock, node)]


def of_threads(cluster: str) -> list[list[str]]:
    with peerlock.sync.join(cluster) as node, (lock := node.lock("x")) as grant:
        return [public(dir(seen)) for seen in (grant, lock, node)]


def test_an_object_shows_what_its_class_has(cluster: str) -> None:
    import asyncio

    assert asyncio.run(of_tasks(cluster)) == list(SURFACE[peerlock].values())
    assert of_threads(cluster) == list(SURFACE[peerlock.sync].values())


def test_an_object_for_trio_shows_what_its_class_has(cluster: str) -> None:
    trio = pytest.importorskip("trio", reason="trio is not installed")
    import peerlock.contrib.trio as face

    async def shown() -> list[list[str]]:
        async with face.join(cluster) as node, (lock := node.lock("x")) as grant:
            return [public(dir(seen)) for seen in (grant, lock, node)]

    assert trio.run(shown) == list(SURFACE[face].values())


@pytest.mark.parametrize("face", [peerlock, peerlock.sync])
def test_what_is_not_exported_but_returned_shows_nothing_internal(face: Any) -> None:
    node = face.LockNode.__new__(face.LockNode)
    assert public(dir(node.locks("b", "a"))) == ["in_order", "names"]


def test_the_module_for_threads_can_be_imported_from() -> None:
    code = "from peerlock.sync import join; import peerlock.sync as s; print(*s.__all__)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("Grant Lock LockNode join\n", "")


ERRORS = {
    "ClusterError": RuntimeError,
    "Cancelled": Exception,
    "Conflict": ValueError,
    "Deadlock": RuntimeError,
    "Lost": RuntimeError,
    "NotHeld": RuntimeError,
    "NotOurs": RuntimeError,
    "Timeout": TimeoutError,
    "UsageError": ValueError,
    "WouldBlock": Exception,
}


def test_every_error_is_exported_documented_and_has_one_base() -> None:
    exported = {name: getattr(peerlock, name) for name in peerlock.__all__}
    errors = {n: e for n, e in exported.items() if isinstance(e, type)}
    errors = {n: e for n, e in errors.items() if issubclass(e, Exception)}
    assert set(errors) == {*ERRORS, "Error"}
    for name, usual in ERRORS.items():
        assert issubclass(errors[name], peerlock.Error)
        assert issubclass(errors[name], usual), name
        assert errors[name].__doc__


def test_what_threading_calls_a_value_error_is_ours_too(cluster: str) -> None:
    with peerlock.sync.join(cluster) as node:
        for arguments in ((False, 1.0), (True, -2.0)):
            with pytest.raises(peerlock.Error) as raised:
                node.lock("x").acquire(*arguments)
            assert isinstance(raised.value, ValueError)
