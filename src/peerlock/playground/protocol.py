"""The protocol between the page and its engine: a request in JSON, an answer in JSON.

The engine is this package: under Pyodide in a worker of the browser, or in a process behind
`peerlock lab`.  It keeps nothing that a request depends on, so the page may end it at any
time (an edit that loops, a search that takes too long) and ask another one.

    {"do": "catalogue"}                           → algorithms, stories, challenges
    {"do": "describe", "algorithm": …}            → card, settings, exhibit, source
    {"do": "play", "run": RUN}                    → the view of a run by hand: see `view`
    {"do": "move", "run": RUN, "at": i, "to": k}  → the same, with move i made as move k
    {"do": "open", "link": …}                     → the run of a link: see `links`
    {"do": "export", "run": RUN, "form": ".svg"}  → a file: see `exports`
    {"do": "check", SETUP, "requests": …, …}      → a verdict: see `checks`; with progress
    {"do": "watch", SETUP, "load": …, …}          → a simulated run: see `watching`
    {"do": "beside", "left": RUN, "right": SETUP} → two runs and their first difference
    {"do": "story", "name": …}                    → a tour: see `tours`
    {"do": "judge", "challenge": …, "run": RUN}   → whether a challenge is solved

RUN and SETUP are described in `run` and `setup`.  A request may have an "id", which its
answer has, too.  An answer is {"id": …, "answer": …} or {"id": …, "error": {"text": …,
"line": …}}: one line for the user, and the line of an edit to which it belongs.  Before the
answer to a check there may be any number of {"id": …, "progress": …}.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from peerlock.algorithms.card import card
from peerlock.algorithms.index import INDEX
from peerlock.algorithms.listed import FAMILIES
from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.settings import SETTINGS, choices, default_for
from peerlock.core.errors import UsageError, unknown
from peerlock.playground import links
from peerlock.playground.checks import checked
from peerlock.playground.edits import EditError, line_of, source_of, told
from peerlock.playground.exports import exported
from peerlock.playground.run import Moved, run
from peerlock.playground.tours import judged, listed, story
from peerlock.playground.view import view
from peerlock.playground.watching import beside, watched

Answer = dict[str, Any]


def answer(text: str, progress: Callable[[str], None] = lambda _: None) -> str:
    """The answer to one request; whatever goes wrong is an answer, too."""
    number = None
    try:
        request = json.loads(text)
        number = request.get("id")
        found = perform(request, lambda p: progress(_line(id=number, progress=p)))
        return _line(id=number, answer=found)
    except EditError as error:
        return _line(id=number, error={"text": str(error), "line": error.line})
    except MemoryError:
        return _line(id=number, error={"text": "there is no memory left: search less"})
    except UsageError as error:
        return _line(id=number, error={"text": str(error)})
    except (Exception, SystemExit) as error:  # an edit may do anything
        return _line(id=number, error={"text": told(error), "line": line_of(error)})


def _line(**values: Any) -> str:
    return json.dumps(values, ensure_ascii=False)


def perform(request: Any, progress: Callable[[Answer], None]) -> Answer:
    do = str(request.get("do"))
    if do == "check":
        return checked(request, progress)
    if do not in PERFORM:
        raise UsageError(unknown("request", do, [*PERFORM, "check"]))
    return PERFORM[do](request)


def catalogue(request: Any) -> Answer:
    return {
        "families": FAMILIES,
        "algorithms": [
            {
                "name": found.name,
                "source": f"{found.source}, {found.year}",
                "family": found.family,
                "verdict": found.verdict,
                "headline": found.headline,
            }
            for found in INDEX.values()
        ],
        **listed(),
    }


def describe(request: Any) -> Answer:
    name = str(request["algorithm"])
    entry = algorithm(name)
    shown, exhibit = card(entry), entry.exhibit
    asked = exhibit.requests
    each = asked if isinstance(asked, tuple) else (asked,)
    return {
        "name": name,
        "title": shown.title,
        "idea": shown.note or shown.idea,
        "messages": entry.messages,
        "network": shown.facts.get("network", ""),
        "fifo": entry.fifo or entry.medium,
        "verdict": entry.verdict,
        "setting": _setting(entry.takes, name),
        "exhibit": {
            "nodes": exhibit.nodes,
            "settings": {"quorums": exhibit.quorums} if exhibit.quorums else {},
            "requests": "endless" if asked is None else ",".join(map(str, each)),
            "losses": exhibit.losses,
            "crashes": exhibit.crashes,
        },
        "class": entry.peer.__name__,
        "source": source_of(name),
    }


def _setting(takes: str, name: str) -> Answer | None:
    if not takes:
        return None
    entry = algorithm(name)
    return {
        "name": takes,
        "form": SETTINGS[takes].form,
        "help": SETTINGS[takes].help,
        "choices": [kind for kind in choices(entry) if ":" not in kind],
        "default": str(default_for(entry, entry.exhibit.nodes)),
    }


def play(request: Any) -> Answer:
    return view(run(request["run"]))


def move(request: Any) -> Answer:
    made = run(request["run"])
    at, to = int(request["at"]), int(request["to"])
    if not (0 <= at < len(made.moves) and 0 <= to < len(made.moves)):
        raise UsageError("there is no such step")
    moved = Moved(made, at, to)
    return view(moved.run) | {"dropped": moved.dropped}


def open_link(request: Any) -> Answer:
    return run(links.decode(str(request["link"]))).as_json()


def export(request: Any) -> Answer:
    name, text = exported(run(request["run"]), str(request["form"]))
    return {"name": name, "text": text}


PERFORM: dict[str, Callable[[Any], Answer]] = {
    "catalogue": catalogue,
    "describe": describe,
    "play": play,
    "move": move,
    "open": open_link,
    "export": export,
    "watch": watched,
    "beside": beside,
    "story": lambda request: story(str(request["name"])),
    "judge": judged,
}
