"""Algorithms from elsewhere: out of a file, a module, an installed package, or a class.

Each must be as complete as ours are: see `rules`.  What a file or module does wrong when
it is imported is the user's, and told in one line.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from types import CodeType, ModuleType, TracebackType

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.index import INDEX
from peerlock.algorithms.rules import validate
from peerlock.core.errors import UsageError, unknown
from peerlock.core.peer import Peer

GROUP = "peerlock.algorithms"  # of entry points: a name = package.module:Class

# By file: when it was last changed as we read it, and what was in it.
_read: dict[Path, tuple[int, ModuleType]] = {}


def find(wanted: str | type[Peer]) -> Algorithm:
    """As `lookup.algorithm` describes it; the entry is complete, or it is an error."""
    if not isinstance(wanted, str):
        return _of_class(wanted)
    place, _, kind = wanted.partition(":")
    if is_file(wanted):
        return _chosen(wanted, _from_file(Path(place)), kind)
    if place and kind:
        with _explained(place):
            module = import_module(place)
        return _chosen(wanted, module, kind)
    return _registered(wanted)


def is_file(wanted: str) -> bool:
    return wanted.partition(":")[0].endswith(".py")


def key(peer: type[Peer]) -> str:
    """`package.module:Class`; a program's main file goes by the name it has elsewhere."""
    module = peer.__module__
    if module == "__main__":
        main = sys.modules["__main__"]
        spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
        module = spec.name if spec else Path(file).stem if file else module
    return f"{module}:{peer.__qualname__}".replace("<locals>.", "")


def _of_class(peer: type[Peer]) -> Algorithm:
    if not (isinstance(peer, type) and issubclass(peer, Peer)):
        raise UsageError(
            f"an algorithm is asked for by its name or its class, not by {peer!r:.50}"
        )
    entries = getattr(sys.modules.get(peer.__module__), "ENTRIES", ())
    for entry in entries:
        if entry.peer is peer:
            return _complete(entry)
    raise UsageError(
        f"{peer.__name__} has no entry: end {peer.__module__} with "
        f"ENTRIES = (Algorithm(name=…, peer={peer.__name__}, …),)"
    )


def _chosen(wanted: str, module: ModuleType, kind: str) -> Algorithm:
    """The entry of that class, or the only one that there is."""
    place = wanted.partition(":")[0]
    entries: tuple[Algorithm, ...] = getattr(module, "ENTRIES", ())
    if not _are_entries(entries):
        raise UsageError(
            f"{place} has no entry: end it with ENTRIES = (Algorithm(name=…, peer=…, …),), "
            "as peerlock new writes it"
        )
    of_kind = [e for e in entries if not kind or e.peer.__qualname__ == kind]
    if len(of_kind) == 1:
        return _complete(of_kind[0])
    kinds = ", ".join(f"{place}:{e.peer.__qualname__}" for e in entries)
    what = f"no entry of a class {kind}" if kind else f"{len(entries)} algorithms"
    raise UsageError(f"{place} has {what}: write one of {kinds}")


def _are_entries(entries: object) -> bool:
    several = isinstance(entries, tuple | list) and not isinstance(entries, Algorithm)
    return several and bool(entries) and all(_is_entry(entry) for entry in entries)  # type: ignore[attr-defined]


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, Algorithm):
        return False
    if not (isinstance(entry.peer, type) and issubclass(entry.peer, Peer)):
        raise UsageError(
            f"{entry.name}: peer must be a subclass of Peer, not {entry.peer!r:.50}"
        )
    return True


def is_ours(entry: Algorithm) -> bool:
    return entry.peer.__module__.startswith("peerlock.algorithms.")


def _complete(entry: Algorithm) -> Algorithm:
    if not is_ours(entry):
        validate(entry)
    return entry


class FromSource(SourceFileLoader):
    """Python's own would take bytecode of the same second for that of an edited file."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _from_file(path: Path) -> ModuleType:
    """Imported anew when it has changed: so an edit counts in a notebook, too."""
    try:
        path.read_bytes()
        path, changed = path.resolve(), path.stat().st_mtime_ns
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    read = _read.get(path)
    if read and read[0] == changed:
        return read[1]
    name = f"{path.stem} of {path.parent}"
    spec = spec_from_file_location(name, path, loader=FromSource(name, str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    sys.path.insert(0, str(path.parent))  # for what it imports from beside it
    try:
        with _explained(path.name):
            spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    _read[path] = changed, module
    return module


def _registered(name: str) -> Algorithm:
    from importlib.metadata import entry_points  # it takes long, and is rarely needed

    points = entry_points(group=GROUP)
    for point in points.select(name=name):
        return find(point.value)
    raise UsageError(unknown("algorithm", name, [*INDEX, *points.names]))


@contextmanager
def _explained(place: str) -> Iterator[None]:
    """Whatever goes wrong while a module is imported, in one line with its place."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from None
    except ModuleNotFoundError as error:
        raise UsageError(f"cannot import {place}: {error}") from None
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""
        raise UsageError(f"{place}{line}: {error.msg}") from None
    except SystemExit as error:
        line = _line(error.__traceback__)
        raise UsageError(f"{place}{line}: it exits when it is imported") from None
    except Exception as error:
        raise UsageError(f"{place}{_line(error.__traceback__)}: {_told(error)}") from None


def blamed(error: Exception) -> str | None:
    """An error while an algorithm out of a file is run, in one line; None if none is.

    That of a worker process has its traceback in words, as its cause.
    """
    if not _read:
        return None
    steps = [(t.filename, t.lineno) for t in extract_tb(error.__traceback__)]
    steps += re.findall(r'File "(.+)", line (\d+)', str(error.__cause__))
    own = [(Path(file).name, line) for file, line in steps if Path(file) in _read]
    names = ", ".join(sorted({path.name for path in _read}))
    where = f"{own[-1][0]}, line {own[-1][1]}" if own else names
    return f"{where}: {_told(error)}"


def _told(error: Exception) -> str:
    if isinstance(error, ValueError) and "mutable default" in str(error):
        return f"{error}; a state field holds immutable values: use a tuple or a frozenset"
    return f"{type(error).__name__}: {error}".replace("\n", " ")


def _line(trace: TracebackType | None) -> str:
    """The last line of the user's own that was under way."""
    found = ""
    while trace is not None:
        if trace.tb_frame.f_code.co_name == "<module>":
            found = f", line {trace.tb_lineno}"
        trace = trace.tb_next
    return found
