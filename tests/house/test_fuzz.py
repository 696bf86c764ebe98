"""Inputs that a fuzzer found worth keeping, and all that ever broke something, again."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzz import frames, nodes, seeds

KEPT = Path(__file__).parents[2] / "fuzz" / "kept"
HARNESSES: dict[str, Callable[[bytes], None]] = {
    "frames": frames.harness,
    "nodes": nodes.harness,
}


def kept(name: str) -> list[Path]:
    return sorted((KEPT / name).iterdir())


@pytest.mark.parametrize("name", HARNESSES)
def test_what_is_kept_breaks_nothing(name: str) -> None:
    for path in kept(name):
        try:
            HARNESSES[name](path.read_bytes())
        except BaseException as error:
            error.add_note(f"while trying {path}")
            raise


@pytest.mark.parametrize(
    "path",
    [p for name in HARNESSES for p in kept(name) if "found" in p.name],
    ids=lambda p: p.stem,
)
def test_what_once_broke_something_does_so_no_more(path: Path) -> None:
    HARNESSES[path.parent.name](path.read_bytes())


def test_frames_of_every_kind_are_heard_however_they_are_cut() -> None:
    for data in seeds.frames():
        frames.harness(data)
        heard, ended = frames.feed(data[data[0] % 4 + 1 :], [1])
        assert (len(heard), ended) == (1, False)


def test_lives_by_chance_break_nothing() -> None:
    """Without a guide one does not come far; but every life is a new one."""
    for _ in range(50):
        data = random.Random().randbytes(300)
        try:
            nodes.harness(data)
        except BaseException as error:
            error.add_note(f"the input was {data!r}")
            raise


def test_lives_are_eventful() -> None:
    """Otherwise all this would show nothing."""
    grants = refusals = 0
    for data in (*seeds.nodes(), *(path.read_bytes() for path in kept("nodes"))):
        world = nodes.World(data)
        world.run()
        counts = [site.node.statistics for site in world.sites]
        grants += sum(count.grants for count in counts)
        refusals += sum(count.remote_errors for count in counts)
    assert grants > 50
    assert refusals > 50


def test_the_corpus_stays_small() -> None:
    files = [path for name in HARNESSES for path in kept(name)]
    assert len(files) <= 200
    assert sum(path.stat().st_size for path in files) < 300_000
