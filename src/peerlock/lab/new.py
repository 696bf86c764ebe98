"""A new algorithm and its test: from a skeleton, or a copy from the catalogue."""

from __future__ import annotations

import ast
import re
from inspect import getsource
from io import StringIO
from sys import modules
from token import NAME
from tokenize import generate_tokens

from peerlock.algorithms.entry import Algorithm
from peerlock.core.errors import UsageError
from peerlock.lab import skeleton

SKELETON = skeleton.ENTRIES[0]

TEST = '''\
"""Every schedule of a small cluster of it, and a longer run of a larger one."""

from peerlock.checker import check
from peerlock.simulator import Scenario, simulate

from {module} import {kind}


def test_it_holds_in_every_schedule() -> None:
    verdict = check({kind})
    assert verdict.holds, verdict.violation or verdict.cut


def test_everybody_enters_in_a_longer_run() -> None:
    report = simulate(Scenario({kind}, nodes=5, entries=200))
    assert report.entries == 200
    assert report.max_inside <= {capacity}
'''


def module_name(name: str) -> str:
    """my-lock becomes my_lock."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise UsageError(
            f"invalid name {name!r}: use small letters, digits and hyphens, like my-lock"
        )
    return name.replace("-", "_")


def class_name(name: str) -> str:
    """my-lock becomes MyLock."""
    return "".join(part.capitalize() for part in name.split("-"))


def algorithm_file(name: str, base: Algorithm) -> str:
    """The file of `base`, its class and its entry under another name; no others."""
    text = getsource(modules[base.peer.__module__])
    tree, lines = ast.parse(text), text.splitlines(keepends=True)
    *body, entries = tree.body
    assert isinstance(entries, ast.Assign)
    assert isinstance(entries.value, ast.Tuple)
    others = {_peer_of(call) for call in entries.value.elts} - {base.peer.__name__}
    for call in entries.value.elts:
        if _peer_of(call) in others:
            _blank(lines, call)
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name in others:
            _blank(lines, node)
    text = "".join(lines).replace(f'name="{base.name}"', f'name="{name}"')
    text = _renamed(text, base.peer.__name__, class_name(name))
    return re.sub(r"\n{3,}", "\n\n\n", text)


def _renamed(text: str, old: str, new: str) -> str:
    """As a name in the code; not in what is written about it, where it may be a person."""
    lines = text.splitlines(keepends=True)
    for token in reversed(list(generate_tokens(StringIO(text).readline))):
        if token.type == NAME and token.string == old:
            (row, first), (_, last) = token.start, token.end
            line = lines[row - 1]
            lines[row - 1] = f"{line[:first]}{new}{line[last:]}"
    return "".join(lines)


def _peer_of(call: ast.expr) -> str:
    assert isinstance(call, ast.Call)
    peer = next(k.value for k in call.keywords if k.arg == "peer")
    assert isinstance(peer, ast.Name)
    return peer.id


def _blank(lines: list[str], node: ast.expr | ast.stmt) -> None:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    assert node.end_lineno is not None
    for i in range(first - 1, node.end_lineno):
        lines[i] = ""


def file_of_tests(name: str, base: Algorithm) -> str:
    capacity = "5" if base.shares else str(base.capacity())
    return TEST.format(module=module_name(name), kind=class_name(name), capacity=capacity)
