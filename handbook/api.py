"""The page of the Python API, from the signatures and docstrings of what is exported."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

import peerlock
import peerlock.checker
import peerlock.simulator
import peerlock.traces
from handbook.book import Book
from handbook.markdown import code

INTRODUCTION = """\
# The Python API

Everything below is in the module `peerlock`. There are two faces of the same locks: one for
asyncio, and `peerlock.sync` for threads. Programs of either kind, and
[`peerlock lock`](commands.md) in a shell, meet at the same names.

```python
async with peerlock.join() as node:  # join once, lock often
    async with node.lock("invoices", timeout=60) as grant:
        await store.write(data, fence=grant.fence)
```

```python
with peerlock.sync.join() as node:
    with node.lock("invoices") as grant:
        store.write(data, fence=grant.fence)
```

What the arguments are good for is told in [every knob](knobs.md), what you can rely on in
[what is promised](promises.md).
"""

LAB = """\
# The lab in Python

The simulator, the checker and the drawings are modules for programs and notebooks. They
import nothing that talks to a network, so they also run in a browser's Python. An algorithm
is a name of the catalogue, a file, or a class: see [bring your own](own-algorithm.md).

```python
from peerlock.checker import check, counterexample
from peerlock.simulator import Scenario, simulate
from peerlock.traces import write

print(simulate(Scenario("raymond", nodes=7)).messages_per_entry)
write(counterexample(check("maekawa-1985")), "wrong.svg")
```

What the command line prints in JSON, and the lines of a trace, are in
[what programs can read](formats.md).
"""

CLASSES = ("LockNode", "Lock", "Grant")

# Between the parts of peerlock only.
OURS = {
    "abandon",
    "cancels_owner_of",
    "check_lease",
    "checked",
    "expect",
    "over",
    "release_grant",
    "until_settled",
    "wait",
}

# What its code need not say, and a reader may want to know.
WORDS = {
    "fence": "A number that grows from grant to grant: let your store refuse older ones.",
    "name": "Of the lock.",
    "statistics": "What this node has counted so far.",
}


def write(book: Book) -> None:
    parts = [
        INTRODUCTION,
        "## For asyncio",
        within("peerlock"),
        function(peerlock.join),
        *(describe(getattr(peerlock, name)) for name in CLASSES),
        *map(describe, others()),
        "## For threads",
        within("peerlock.sync"),
        function(peerlock.sync.join),
        *(describe(getattr(peerlock.sync, name)) for name in CLASSES),
        "## Errors",
        within("peerlock"),
        *map(error, errors()),
    ]
    book.pages["api.md"] = "\n\n".join(parts) + "\n"
    book.pages["lab.md"] = "\n\n".join(lab()) + "\n"


def lab() -> Iterator[str]:
    """What the modules of the lab export, each under the docstring of its module."""
    yield LAB
    for module in (peerlock.simulator, peerlock.checker, peerlock.traces):
        title, _, rest = inspect.cleandoc(module.__doc__ or "").partition("\n\n")
        yield f"## {module.__name__}\n\n{title}\n\n{rest}"
        yield within(module.__name__)
        for name in module.__all__:
            found = getattr(module, name)
            if isinstance(found, FunctionType):
                yield function(found)
            elif inspect.isclass(found) and issubclass(found, BaseException):
                yield error(found)
            elif inspect.isclass(found):
                yield describe(found)


def within(module: str) -> str:
    """What follows is in it."""
    return f"```{{py:currentmodule}} {module}\n```"


def others() -> list[type]:
    """Classes that users meet, but not as a lock."""
    exported = (getattr(peerlock, name) for name in peerlock.__all__)
    classes = (kind for kind in exported if inspect.isclass(kind))
    return [c for c in classes if c.__name__ not in CLASSES and c not in errors()]


def errors() -> list[type[BaseException]]:
    exported = (getattr(peerlock, name) for name in peerlock.__all__)
    return [e for e in exported if inspect.isclass(e) and issubclass(e, BaseException)]


def directive(
    kind: str, name: str, content: str, fence: str = "```", **options: str
) -> str:
    lines = [f":{option}: {value}".rstrip() for option, value in options.items()]
    return "\n".join([f"{fence}{{py:{kind}}} {name}", *lines, "", content, fence])


def function(found: Any) -> str:
    return directive("function", f"{found.__name__}{signature(found)}", words(found))


def error(kind: type[BaseException]) -> str:
    base = kind.__mro__[1].__name__
    content = f"{words(kind)} It is a `{base}`."
    return directive("exception", kind.__name__, content)


def describe(kind: type) -> str:
    """A class, and what users have of it; they never make one themselves."""
    inside = [words(kind)]
    if dataclasses.is_dataclass(kind):
        hints = {field.name: str(field.type) for field in dataclasses.fields(kind)}
        inside += (directive("attribute", n, "", type=t) for n, t in hints.items())
    else:
        inside += members(kind)
    return directive("class", kind.__name__, "\n\n".join(inside), "`````")


def members(kind: type) -> Iterator[str]:
    if hasattr(kind, "fence"):
        yield directive("attribute", "fence", WORDS["fence"], type="int")
    for name, found in vars(kind).items():
        if name.startswith(("_", "on_")) or name in OURS:
            continue
        if isinstance(found, property):
            returns = inspect.signature(found.fget).return_annotation  # type: ignore[arg-type]
            yield directive("property", name, words(found), type=str(returns))
        elif isinstance(found, FunctionType):
            marks = {"async": ""} if inspect.iscoroutinefunction(found) else {}
            yield directive("method", f"{name}{signature(found)}", words(found), **marks)


def signature(found: Any) -> str:
    """With its annotations as they are written, and defaults that are not too long."""
    shape = inspect.signature(found)
    own = (p for p in shape.parameters.values() if p.name != "self")
    given = shape.return_annotation
    returns = "" if given is shape.empty else f" -> {given}"
    return f"({', '.join(marked(own))}){returns}"


def marked(parameters: Iterable[inspect.Parameter]) -> Iterator[str]:
    """With a lone * before the first that must be given by name."""
    named = False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not named:
            named = True
            yield "*"
        default = "" if p.default is p.empty else f" = {short(p.default)}"
        yield f"{p.name}: {p.annotation}{default}"


def short(value: object) -> str:
    told = repr(value)
    return told if len(told) < 24 else f"{type(value).__name__}(…)"


def words(found: Any) -> str:
    """Its docstring; the lines about single arguments become a list."""
    text = inspect.cleandoc(found.__doc__ or WORDS.get(name_of(found), ""))
    paragraphs = text.split("\n\n")
    return "\n\n".join(map(arguments, paragraphs))


def name_of(found: Any) -> str:
    return str(
        getattr(found.fget if isinstance(found, property) else found, "__name__", "")
    )


def arguments(paragraph: str) -> str:
    """`lease: seconds …`, each from the margin and going on further in."""
    lines = paragraph.splitlines()
    heads = [line.partition(": ") for line in lines if not line.startswith(" ")]
    if not all(about and head.replace(", ", "").isidentifier() for head, about, _ in heads):
        return paragraph if not lines[1:] or "=" not in lines[0] else code(paragraph)
    flowing = "\n".join(lines).replace("\n  ", " ").splitlines()
    told = (line.partition(": ") for line in flowing)
    return "\n".join(f"- `{head}`: {rest}" for head, _, rest in told)
