"""The page of the Python API, from the signatures and docstrings of what is exported."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable, Iterator
from inspect import Parameter
from types import FunctionType, ModuleType
from typing import Any

import peerlock
import peerlock.checker
import peerlock.contrib.asgi
import peerlock.contrib.dogpile
import peerlock.contrib.opentelemetry
import peerlock.contrib.pytest
import peerlock.contrib.tooz
import peerlock.contrib.trio
import peerlock.membership
import peerlock.playground
import peerlock.simulator
import peerlock.testing
import peerlock.traces
from handbook.book import Book
from handbook.markdown import code

INTRODUCTION = """\
# The Python API

Everything below is in the module `peerlock`. There are two interfaces to the same locks:
one for asyncio, and `peerlock.sync` for threads. Programs of either kind, and [`peerlock
lock`](commands.md) in a shell, share locks by name.

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

[Settings](knobs.md) explains the arguments, and [what is promised](promises.md) what you
can rely on. [Which lock do I need?](which-lock.md) leads from a problem to a call.
"""

LAB = """\
# The lab in Python

The simulator, the checker and the drawings are modules for programs and notebooks. They
import no network code, so they also run in a browser's Python. An algorithm is given as a
name from the catalogue, as a file, or as a class: see [bring your own](own-algorithm.md).

```python
from peerlock.checker import check, counterexample
from peerlock.simulator import Scenario, simulate
from peerlock.traces import write

print(simulate(Scenario("raymond", nodes=7)).messages_per_entry)
write(counterexample(check("maekawa-1985")), "wrong.svg")
```

[What programs can read](formats.md) describes the JSON that the commands print, and the
lines of a trace.
"""

BESIDE = """\
# Integrations and engines in Python

Modules that are imported by name. Those of `peerlock.contrib` need the package that they
are for; the [recipes](recipes.md) show them at work. [Engines for other
services](engines.md) explains the rules that an engine must keep.
"""

LAB_MODULES = (peerlock.simulator, peerlock.checker, peerlock.traces, peerlock.playground)
BESIDE_MODULES = (
    peerlock.contrib.asgi,
    peerlock.contrib.dogpile,
    peerlock.contrib.opentelemetry,
    peerlock.contrib.pytest,
    peerlock.contrib.tooz,
    peerlock.contrib.trio,
    peerlock.membership,
    peerlock.testing,
)

# The classes of both faces, and what users may use of each, in this order.
SURFACE = {
    "LockNode": (
        "lock",
        "locks",
        "semaphore",
        "locked",
        "leader",
        "leader_of",
        "status",
        "statistics",
        "leave",
        "keeps_us_in",
    ),
    "Lock": (
        "name",
        "acquire",
        "try_acquire",
        "acquire_nowait",
        "cancel",
        "release",
        "locked",
        "holder",
    ),
    "Grant": ("name", "fence", "is_lost", "lost", "release"),
}

# Of classes with the interface of another package, or with tests: what users write or set.
OWN = {
    "EngineSuite": ("engine", "lease", "slack", "patience"),
    "PeerlockDriver": (),
    "PeerlockProxy": (),
    "traced": (),
}

# Methods that are public by name only: they connect the parts of peerlock.  A test looks
# for each of them.
INTERNAL = {
    "arrivals",
    "chosen",
    "faultless",
    "idle_time",
    "left",
    "of",
    "quiet",
    "separates",
    "start",
    "validate",
    "wishes",
}

STARS: dict[Any, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}

# For what has no docstring or comment of its own.
WORDS = {
    "MemberId": "The number of a member, an `int`.",
    "FORMATS": "The endings of file names that `draw` and `write` know.",
}


def write(book: Book) -> None:
    parts = [
        INTRODUCTION,
        "## For asyncio",
        within("peerlock"),
        function(peerlock.join),
        *(describe(getattr(peerlock, name)) for name in SURFACE),
        *map(describe, others()),
        "## For threads",
        within("peerlock.sync"),
        function(peerlock.sync.join),
        *(describe(getattr(peerlock.sync, name)) for name in SURFACE),
        "## Errors",
        within("peerlock"),
        *map(error, errors()),
    ]
    book.pages["api.md"] = "\n\n".join(parts) + "\n"
    book.pages["lab.md"] = "\n\n".join([LAB, *modules(LAB_MODULES)]) + "\n"
    book.pages["modules.md"] = "\n\n".join([BESIDE, *modules(BESIDE_MODULES)]) + "\n"


def modules(which: Iterable[ModuleType]) -> Iterator[str]:
    """What they export, each under the docstring of its module."""
    for module in which:
        title, _, rest = inspect.cleandoc(module.__doc__ or "").partition("\n\n")
        yield f"## {module.__name__}\n\n{title}\n\n{rest}"
        yield within(module.__name__)
        for name in module.__all__:
            yield exported(name, getattr(module, name))


def exported(name: str, found: Any) -> str:
    if isinstance(found, FunctionType):
        return function(found)
    if not inspect.isclass(found) or found is int:
        return directive("data", name, WORDS.get(name) or words(found))
    return error(found) if issubclass(found, BaseException) else describe(found)


def within(module: str) -> str:
    """What follows is in it."""
    return f"```{{py:currentmodule}} {module}\n```"


def others() -> list[type]:
    """Classes that users meet, but not as a lock."""
    exported = (getattr(peerlock, name) for name in peerlock.__all__)
    classes = (kind for kind in exported if inspect.isclass(kind))
    return [c for c in classes if c.__name__ not in SURFACE and c not in errors()]


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
    content = f"{words(kind)} Its base is `{base}`."
    return directive("exception", kind.__name__, content)


def describe(kind: type) -> str:
    """A class, and what users may use of it."""
    inside = [words(kind), *(member(kind, name) for name in public(kind))]
    return directive("class", kind.__name__, "\n\n".join(inside), "`````")


def public(kind: type) -> list[str]:
    """What SURFACE or OWN lists; of any other class, all but what is internal."""
    names = own_names(kind)
    chosen = SURFACE | OWN
    if kind.__name__ in chosen:
        return [name for name in chosen[kind.__name__] if name in names]
    return [name for name in names if name not in INTERNAL or name in fields(kind)]


def own_names(kind: type) -> list[str]:
    """In the order of the source, its own first, without those of the standard library."""
    ours = [c for c in kind.__mro__ if c.__module__.startswith("peerlock")]
    names = [*fields(kind), *(n for c in ours for n in (*vars(c), *c.__annotations__))]
    return [name for name in dict.fromkeys(names) if not name.startswith("_")]


def fields(kind: type) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)] if is_data(kind) else []


def is_data(kind: type) -> bool:
    return dataclasses.is_dataclass(kind)


def member(kind: type, name: str) -> str:
    found = inspect.getattr_static(kind, name, None)
    if isinstance(found, property):
        returns = inspect.signature(found.fget).return_annotation  # type: ignore[arg-type]
        return directive("property", name, words(found), type=str(returns))
    if isinstance(found, FunctionType) and name not in fields(kind):
        marks = {"async": ""} if inspect.iscoroutinefunction(found) else {}
        return directive("method", f"{name}{signature(found)}", words(found), **marks)
    told = comment(kind, name) or WORDS.get(name, "")
    types = {"type": str(t)} if (t := annotation(kind, name)) else {}
    return directive("attribute", name, told, **types)


def annotation(kind: type, name: str) -> str | None:
    """As it is written; None for a member of an enumeration."""
    found = (vars(c).get("__annotations__", {}).get(name) for c in kind.__mro__)
    written = next(filter(None, found), None)
    return getattr(written, "__forward_arg__", written)  # a named tuple has wrapped it


def comment(kind: type, name: str) -> str:
    """What stands behind an attribute in the source, as a sentence."""
    for owner in kind.__mro__:
        if owner.__module__.startswith("peerlock"):
            pattern = rf"^    {name}(?::.*?)?(?: = .*?)?  # (.*)$"
            if found := re.search(pattern, inspect.getsource(owner), re.MULTILINE):
                text = found[1].removesuffix(".")
                return f"{text[0].upper()}{text[1:]}."
    return ""


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
        yield f"{STARS.get(p.kind, '')}{p.name}: {p.annotation}{default}"


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
    """`lease: seconds …`, each from the margin, continued further in."""
    lines = paragraph.splitlines()
    heads = [line.partition(": ") for line in lines if not line.startswith(" ")]
    if not all(about and head.replace(", ", "").isidentifier() for head, about, _ in heads):
        return paragraph if not lines[1:] or "=" not in lines[0] else code(paragraph)
    flowing = "\n".join(lines).replace("\n  ", " ").splitlines()
    told = (line.partition(": ") for line in flowing)
    return "\n".join(f"- `{head}`: {rest}" for head, _, rest in told)
