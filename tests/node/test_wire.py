"""What bytes mean is written down for ever: tags, and the bytes of each version."""

from __future__ import annotations

import importlib.util
import json
import random
from types import ModuleType
from typing import Any

import pytest

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.node import wire
from peerlock.runtime import codec
from peerlock.runtime.codec import LENGTH, VERSION, Foreign, decode, decode_greeting, encode
from tests.runtime.mutants import MUTANTS, Mutant
from tests.support.wire_examples import BY_NAME, GOLDEN, batch, examples, golden, to_peer

KEPT: dict[str, str] = json.loads(golden(VERSION).read_text())


@pytest.mark.parametrize("name", examples())
def test_the_bytes_of_this_version_are_those_that_are_kept(name: str) -> None:
    frame = examples()[name]
    assert encode(frame).hex() == KEPT[name]
    assert decode(bytes.fromhex(KEPT[name])[LENGTH:]) == frame


def test_nothing_that_is_kept_has_been_dropped() -> None:
    assert KEPT.keys() == examples().keys()


def test_each_version_up_to_this_one_is_kept() -> None:
    kept = {int(path.stem.partition("-")[2]) for path in GOLDEN.glob("wire-*.json")}
    assert kept == set(range(1, VERSION + 1))


@pytest.mark.parametrize("version", range(1, VERSION))
def test_older_versions_are_recognised(version: int) -> None:
    old = json.loads(golden(version).read_text())
    for name in ("Hello", "Ask"):
        body = bytes.fromhex(old[name])[LENGTH:]
        assert decode_greeting(body) == Foreign(version)
        assert decode_greeting(body[:3]) == Foreign(version)


def test_no_two_classes_share_a_tag() -> None:
    assert set(wire.TAGS) == set(wire.MESSAGES)
    given = [list(wire.TAGS.values())]
    given += [list(tags.values()) for tags in wire.ALGORITHM_TAGS.values()]
    assert all(len(set(tags)) == len(tags) for tags in given)
    frames = [
        getattr(codec, name) for name in ("Hello", "Seen", "Ask", "StatusTold", "Refusal")
    ]
    tags_of_frames = [kind.__struct_config__.tag for kind in (*frames, codec.Bundle)]
    assert tags_of_frames == [0, 1, 2, 3, 5, 4]


def test_every_message_of_every_algorithm_that_serves_has_a_tag() -> None:
    for name, kinds in BY_NAME.items():
        assert set(wire.ALGORITHM_TAGS[name]) == {kind.__name__ for kind in kinds}, name


def test_an_algorithm_that_is_not_listed_is_told_by_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As one of a user's own."""
    monkeypatch.delitem(wire.ALGORITHM_TAGS, "central")
    fresh = fresh_codec()
    for kind in BY_NAME["central"]:
        frame = batch(to_peer("central", kind))
        assert kind.__name__.encode() in fresh.encode(frame)
        assert fresh.decode(fresh.encode(frame)[LENGTH:]) == frame


@pytest.mark.parametrize("seed", range(3))
def test_another_order_of_classes_changes_no_byte(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sorting the union once made an old Close a new Recall."""
    before = {name: encode(frame) for name, frame in examples().items()}
    shuffle = random.Random(seed).shuffle

    def shuffled(of: Any) -> list[Any]:
        mixed = list(of)
        shuffle(mixed)
        return mixed

    monkeypatch.setattr(wire, "MESSAGES", tuple(shuffled(wire.MESSAGES)))
    monkeypatch.setattr(wire, "TAGS", dict(shuffled(wire.TAGS.items())))
    for entry in CATALOGUE:
        if entry.serves:
            monkeypatch.setattr(
                entry.peer, "messages", tuple(shuffled(entry.peer.messages))
            )
    fresh = fresh_codec()
    for name, frame in examples().items():
        if isinstance(frame, wire.Batch):
            data = fresh.encode(frame)
            assert data == before[name], name
            assert fresh.decode(data[LENGTH:]) == frame


def fresh_codec() -> ModuleType:
    """The same module once more, which reads its tables anew."""
    spec = importlib.util.find_spec(codec.__name__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_still_fits_the_source(mutant: Mutant) -> None:
    """`make mutants` shows that each is caught."""
    assert mutant.fits
    assert mutant.new != mutant.old
