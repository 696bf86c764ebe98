"""Nothing is imported before it is needed, and the lab needs no event loop."""

import subprocess
import sys
from pathlib import Path

import pytest

import peerlock
from peerlock.algorithms.index import INDEX
from peerlock.node.terms import LOCK

# What a browser's Python lacks, or what takes long to load and only locks need.
WORLDLY = {"asyncio", "socket", "ssl", "sqlite3", "msgspec", "click", "rich"}

# The modules of a package, too, but for those that say themselves what they need.
ALL_OF = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(found.name)
print(*sys.modules)
"""


def loaded_by(*arguments: str) -> set[str]:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "layer", ["core", "quorums", "algorithms", "traces", "simulator", "checker"]
)
def test_the_lab_needs_no_event_loop_no_socket_and_no_other_package(layer: str) -> None:
    assert not loaded_by("-c", ALL_OF, f"peerlock.{layer}") & WORLDLY


def test_importing_peerlock_imports_nothing_else_of_it() -> None:
    loaded = loaded_by("-c", "import sys, peerlock; print(*sys.modules)")
    assert {name for name in loaded if name.startswith("peerlock")} == {"peerlock"}


def algorithms_in(loaded: set[str]) -> set[str]:
    ours = {name.rpartition(".")[2] for name in loaded if "peerlock.algorithms." in name}
    return ours - {"card", "entry", "index", "listed", "lookup", "settings"}


def test_a_lock_imports_the_algorithm_that_it_uses_and_no_other() -> None:
    code = """
import asyncio, sys, peerlock
async def main():
    join = peerlock.join
    async with join("memory://lazy") as one, join("memory://lazy") as other:
        async with one.lock("x"):
            print(*sys.modules)  # a process that is alone with a name needs no algorithm
        async with other.lock("x"):
            pass
asyncio.run(main())
print("then", *sys.modules)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    before, _, after = done.stdout.partition("then")
    assert algorithms_in(set(before.split())) == set()
    assert algorithms_in(set(after.split())) == {INDEX[LOCK].module}


def test_a_list_and_the_version_load_no_algorithm_and_no_library() -> None:
    for answer in ("listing; listing.print_list()", "start; start.answered(['--version'])"):
        code = f"import sys; from peerlock.cli import {answer}; print(*sys.modules)"
        loaded = loaded_by("-c", code)
        assert not loaded & (WORLDLY | {"dataclasses", "inspect", "typing_extensions"})
        assert not algorithms_in(loaded)


def test_a_lock_on_the_command_line_loads_nothing_that_parses_draws_or_checks(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o700)
    line = ["lock", "--cluster", f"sqlite://{tmp_path}/cluster.db", "x", "true"]
    command = [sys.executable, "-X", "importtime", "-m", "peerlock", *line]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "peerlock.cli.session" in loaded
    slow = {"click", "rich", "random", "tempfile", "secrets", "shutil", "gettext", "h11"}
    assert not loaded & slow
    rooms = {".".join(name.split(".")[:2]) for name in loaded}
    drawing = {"traces", "simulator", "checker", "quorums", "lab", "serve"}
    assert not rooms & {f"peerlock.{room}" for room in drawing}
    assert "peerlock.runtime.tls" not in loaded


# The front of the package works as if all were imported


def test_every_name_of_the_front_can_be_had() -> None:
    for name in peerlock.__all__:
        assert getattr(peerlock, name)
    assert set(peerlock.__all__) <= set(dir(peerlock))


def test_a_star_brings_them_all() -> None:
    found: dict[str, object] = {}
    exec("from peerlock import *", found)
    assert set(peerlock.__all__) <= set(found)


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'joined'"):
        peerlock.joined  # type: ignore[attr-defined] # noqa: B018
