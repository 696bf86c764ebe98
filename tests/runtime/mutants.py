"""Small errors, put into what carries bytes and counts fences; a test must notice each.

    python -m tests.runtime.mutants [PART OF A NAME] [--jobs 2] [--on local:8]

A mutant is a text that replaces another in one file of a copy of the package.  It is
caught when one of its tests fails.  All of them take minutes (`make mutants`); that each
still fits the source is seen to by tests/node/test_wire.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import click

from peerlock.cli.ending import end_with
from peerlock.cli.places import place_options
from peerlock.lab.executor import Place, in_order

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "peerlock"
LONGEST = 600.0  # seconds: a mutant that makes a test hang is caught


class Mutant(NamedTuple):
    what: str
    file: str
    old: str
    new: str
    tests: str  # that should notice

    def __str__(self) -> str:
        return self.what

    @property
    def fits(self) -> bool:
        return (PACKAGE / self.file).read_text().count(self.old) == 1


CODEC, CONNECTION = "runtime/codec.py", "runtime/connection.py"
LENDING, READING = "runtime/lending.py", "runtime/reading.py"
TRANSPORT, DOOR, LISTENING = (
    "runtime/transport.py",
    "runtime/door.py",
    "runtime/listening.py",
)
LINKS, FENCES, NODE, NUMBERS, MAIL, PRESENCE, TURNSTILE, WIRE = (
    "node/links.py",
    "node/fences.py",
    "node/node.py",
    "node/numbers.py",
    "node/mail.py",
    "node/presence.py",
    "node/turnstile.py",
    "node/wire.py",
)

ON_WIRE = "tests/node/test_wire.py tests/runtime/test_codec.py"
AT_DOOR = "tests/runtime/test_door.py tests/runtime/test_strangers.py"
IN_LINKS, IN_MAIL = "tests/node/test_links.py", "tests/node/test_mail.py"
IN_FENCES, IN_PRESENCE = "tests/node/test_fences.py", "tests/node/test_presence.py"

IN_LENDING = "tests/runtime/test_lending.py"
IN_READING = "tests/runtime/test_reading.py"

MUTANTS = (
    # reading
    Mutant(
        "after an interruption nobody looks for what has come",
        READING,
        "                self._soon(self._readable)\n",
        "                pass\n",
        IN_READING,
    ),
    Mutant(
        "a signal handler that waits does not read",
        READING,
        "mine = self._gate is None or self._thread == me",
        "mine = self._gate is None",
        IN_READING,
    ),
    Mutant(
        "a reader is not woken by another thread",
        READING,
        "        os.eventfd_write(self._event, 1)\n\n    # In both",
        "\n    # In both",
        IN_READING,
    ),
    Mutant(
        "a reader is not woken by its own signal handler",
        READING,
        "self._thread == threading.get_ident() and self._host.is_busy",
        "self._thread == threading.get_ident()",
        IN_READING,
    ),
    Mutant(
        "a reader stays the reader for ever",
        READING,
        "                self._gate = outer\n",
        "",
        IN_READING,
    ),
    Mutant(
        "the node's thread takes the reader's event",
        READING,
        """            for number, _ in self._ours.poll(0):
                self._hear(number)
""",
        """            for number, _ in self._ours.poll(0):
                if number == self._event:
                    os.eventfd_read(number)
                self._hear(number)
""",
        IN_READING,
    ),
    Mutant(
        "a connection that failed is read again",
        READING,
        """                self._soon(connection.end)
                self._forget(connection)
""",
        """                self._forget(connection)
""",
        IN_READING,
    ),
    Mutant(
        "the end of a connection is not noticed",
        READING,
        "                self._soon(connection.take_back)\n",
        "                pass\n",
        IN_READING,
    ),
    Mutant(
        "a wait is as long as epoll takes",
        READING,
        "min(left, LONGEST)",
        "left",
        IN_READING,
    ),
    Mutant(
        "a turn is taken before everything is heard",
        "runtime/host.py",
        "            self.reading.hear_all()\n",
        "            pass\n",
        "tests/api/test_threads.py",
    ),
    Mutant(
        "after a step nothing follows but messages",
        "runtime/host.py",
        "if node.mail.dirty or turnstile.marked or turnstile.resting:",
        "if node.mail.dirty:",
        "tests/runtime/test_host.py",
    ),
    Mutant(
        "after a step the engine is not asked for fences",
        "runtime/host.py",
        "            return True\n        return self.presence.must_act\n",
        "            return True\n        return False\n",
        "tests/runtime/test_host.py",
    ),
    Mutant(
        "a handler may wait while its thread sends",
        "api/driver.py",
        "                host.is_busy = True\n",
        "                host.is_busy = False\n",
        "tests/api/test_signals.py",
    ),
    # lending
    Mutant(
        "a blocked loop keeps what it was lent",
        LENDING,
        "if self._blocked or self._visits",
        "if self._visits",
        IN_LENDING,
    ),
    Mutant(
        "what has just come is taken back at once",
        LENDING,
        "waiting and self._waiting",
        "waiting",
        IN_LENDING,
    ),
    Mutant(
        "what was taken back from a blocked loop is lent to it again",
        LENDING,
        " or self._blocked or ",
        " or ",
        IN_LENDING,
    ),
    Mutant(
        "a loop that was blocked is lent nothing any more",
        LENDING,
        "        self._blocked = False\n        if loan",
        "        if loan",
        IN_LENDING,
    ),
    Mutant(
        "what is lent stays lent though nothing comes",
        LENDING,
        " or self._visits >= QUIET",
        "",
        IN_LENDING,
    ),
    Mutant(
        "a loop that was blocked reads what was taken back",
        LENDING,
        """            if loan.over:
                return
            self._hearings""",
        """            self._hearings""",
        IN_LENDING,
    ),
    Mutant(
        "what failed in the tasks' loop is forgotten",
        LENDING,
        "                self._soon(self._broken, loan)\n",
        "",
        IN_LENDING,
    ),
    Mutant(
        "Ctrl-C is swallowed",
        LENDING,
        """                if not isinstance(error, RemoteError):
                    raise
""",
        "",
        IN_LENDING,
    ),
    Mutant(
        "a member that hangs up is read for ever",
        LENDING,
        "                self._soon(self._take_back, loan)\n",
        "",
        IN_LENDING,
    ),
    Mutant(
        "what was taken back is not read",
        CONNECTION,
        "            self._transport.resume_reading()\n",
        "            pass\n",
        IN_LENDING,
    ),
    Mutant(
        "both threads read what is lent",
        CONNECTION,
        "        self._transport.pause_reading()\n",
        "",
        IN_LENDING,
    ),
    Mutant(
        "a loan keeps its descriptor",
        LENDING,
        "                os.close(number)\n",
        "                pass\n",
        IN_LENDING,
    ),
    Mutant(
        "a forked child keeps the parent's connections",
        LENDING,
        "            give_up_descriptor(loan.descriptor)\n",
        "            pass\n",
        IN_LENDING,
    ),
    # codec, wire
    Mutant(
        "tags are positions in a union",
        CODEC,
        "STRUCTS = {message",
        "TAGS = {m: i for i, m in enumerate(__import__('peerlock.node.wire').node.wire"
        ".MESSAGES)}\nSTRUCTS = {message",
        ON_WIRE,
    ),
    Mutant(
        "two tags change places",
        WIRE,
        "    Reform: 12,\n    Formed: 13,\n",
        "    Reform: 13,\n    Formed: 12,\n",
        ON_WIRE,
    ),
    Mutant(
        "messages of algorithms are told by their position",
        WIRE,
        "tags = ALGORITHM_TAGS.get(algorithm, {})",
        "tags = {kind.__name__: i for i, kind in enumerate(messages)}",
        ON_WIRE,
    ),
    Mutant(
        "the second half of a large batch is numbered as the first",
        CODEC,
        "first=batch.first + half",
        "first=batch.first",
        ON_WIRE,
    ),
    Mutant(
        "another version is not recognised",
        CODEC,
        "if version is not None and version != VERSION:",
        "if version is None and version != VERSION:",
        f"{ON_WIRE} {AT_DOOR}",
    ),
    Mutant(
        "a stranger may begin with any frame",
        CODEC,
        "Decoder(Hello | Ask | Refusal)",
        "Decoder(Hello | Ask | Refusal | Seen | Told)",
        f"{ON_WIRE} {AT_DOOR}",
    ),
    # connection
    Mutant(
        "a stranger may send as much as a member",
        CONNECTION,
        "        self._most = GREETING\n",
        "        self._most = MOST_BYTES\n",
        f"{ON_WIRE} {AT_DOOR}",
    ),
    Mutant(
        "if it cannot be known who it is, it is let in",
        CONNECTION,
        "        except Exception:\n            return False\n",
        "        except Exception:\n            return True\n",
        f"{ON_WIRE} {AT_DOOR}",
    ),
    Mutant(
        "a member may send no more than a stranger",
        CONNECTION,
        "        self._most = MOST_BYTES\n",
        "        self._most = GREETING\n",
        ON_WIRE,
    ),
    Mutant(
        "after a long frame, a short one waits for as many bytes",
        CONNECTION,
        "            self._incomplete.clear()\n            self._needed = LENGTH\n",
        "            self._incomplete.clear()\n",
        ON_WIRE,
    ),
    Mutant(
        "what comes after the last word is heard",
        CONNECTION,
        "            self._ended = True\n            self._transport.close()\n",
        "            self._transport.close()\n",
        ON_WIRE,
    ),
    Mutant(
        "the largest frame that may be is refused",
        CONNECTION,
        "if length > self._most:",
        "if length >= self._most:",
        ON_WIRE,
    ),
    Mutant(
        "a longer greeting of another version is just cut off",
        CONNECTION,
        "self._decode is decode_greeting and version_of(beginning) is not None",
        "self._decode is not decode_greeting and version_of(beginning) is not None",
        f"{ON_WIRE} {AT_DOOR}",
    ),
    # transport, listening
    Mutant(
        "another user is taken for us",
        TRANSPORT,
        "return user_of(peer) == os.getuid()",
        "return user_of(peer) >= os.getuid()",
        AT_DOOR,
    ),
    Mutant(
        "a failure of getpeereid is not noticed",
        TRANSPORT,
        "ctypes.byref(group)) != 0:",
        "ctypes.byref(group)) > 0:",
        AT_DOOR,
    ),
    Mutant(
        "who we dial on a Unix socket may be another user",
        TRANSPORT,
        "        connection.admits = same_user\n",
        "",
        AT_DOOR,
    ),
    Mutant(
        "without descriptors, the loop spins",
        LISTENING,
        "                self._loop.remove_reader(listening)\n"
        "                self._loop.call_later(PAUSE",
        "                self._loop.call_later(PAUSE",
        AT_DOOR,
    ),
    Mutant(
        "one that is hidden listens again after a while",
        LISTENING,
        "        if not self._hidden:\n            self._loop.add_reader",
        "        if True:\n            self._loop.add_reader",
        AT_DOOR,
    ),
    # door
    Mutant(
        "the oldest is turned away, whatever its prospects",
        DOOR,
        "            return caller.prospects + steps, -number\n",
        "            return 0, 0\n",
        AT_DOOR,
    ),
    Mutant(
        "many connections from one host are as good as few",
        DOOR,
        "            return caller.prospects + steps, -number\n",
        "            return caller.prospects + (caller.host in self._hosts), 0\n",
        AT_DOOR,
    ),
    Mutant(
        "hosts of members are not remembered",
        DOOR,
        "            if member:\n",
        "            if not member:\n",
        AT_DOOR,
    ),
    Mutant(
        "hosts are remembered for ever",
        DOOR,
        "if len(self._hosts) > MOST_HOSTS:",
        "if not self._hosts:",
        AT_DOOR,
    ),
    Mutant(
        "a certificate that was shown counts for nothing",
        DOOR,
        "                caller.prospects = Prospects.PROVEN\n",
        "                caller.prospects = Prospects.SILENT\n",
        AT_DOOR,
    ),
    Mutant(
        "any number of handshakes runs at once",
        DOOR,
        "room = min(AT_ONCE, SHAKING - len(self._shaking))",
        "room = AT_ONCE",
        AT_DOOR,
    ),
    Mutant(
        "slow handshakes do not make room",
        DOOR,
        "now - caller.since <= SLOW:",
        "now - caller.since <= 1e9:",
        AT_DOOR,
    ),
    Mutant(
        "strangers are not counted",
        DOOR,
        "            self.strangers += 1\n",
        "            self.strangers += 0\n",
        AT_DOOR,
    ),
    Mutant(
        "one that is turned away is not told why",
        DOOR,
        "            self._waiting[connection].say_busy()\n",
        "",
        AT_DOOR,
    ),
    Mutant(
        "a silent connection stays for ever",
        DOOR,
        "loop.call_later(PATIENCE, self._turn_away, connection)",
        "loop.call_later(1e6, self._turn_away, connection)",
        AT_DOOR,
    ),
    Mutant(
        "whatever is said begins a handshake",
        DOOR,
        "        return self.first == HANDSHAKE_RECORD\n",
        "        return bool(self.first)\n",
        AT_DOOR,
    ),
    Mutant(
        "trouble with another version never ends",
        DOOR,
        "if self._foreign is None or time.monotonic() >= self._foreign[2]:",
        "if self._foreign is None:",
        AT_DOOR,
    ),
    Mutant(
        "what was accepted and not begun is not closed",
        DOOR,
        "            caller.peer.close()\n",
        "            pass\n",
        AT_DOOR,
    ),
    # links
    Mutant(
        "acknowledgements are not repeated",
        LINKS,
        "self.told = min(self.told, self.received - 1)",
        "self.told = self.received",
        IN_LINKS,
    ),
    Mutant(
        "what comes twice is taken twice",
        LINKS,
        "return messages[known:] if known else messages",
        "return messages",
        IN_LINKS,
    ),
    Mutant(
        "a gap is not noticed",
        LINKS,
        "        if known < 0:\n",
        "        if known < -10:\n",
        IN_LINKS,
    ),
    Mutant(
        "what was never sent may be acknowledged",
        LINKS,
        "if unknown < 0:",
        "if unknown < -10:",
        IN_LINKS,
    ),
    Mutant(
        "one message too many counts as acknowledged",
        LINKS,
        "range(len(kept) - unknown)",
        "range(min(len(kept), len(kept) - unknown + 1))",
        IN_LINKS,
    ),
    Mutant(
        "a new connection begins with what is new",
        LINKS,
        "        self._fresh = list(self._kept)\n",
        "",
        IN_LINKS,
    ),
    Mutant(
        "what is lost on a living connection is never repeated",
        LINKS,
        "            self._fresh.append(self._kept[-1])\n",
        "            pass\n",
        IN_LINKS,
    ),
    Mutant(
        "only the last eight early batches are kept",
        MAIL,
        "        self._early.append(KeptBatch(sender, batch, self._questions))\n",
        "        self._early = [*self._early[-7:], KeptBatch(sender, batch, 0)]\n",
        IN_MAIL,
    ),
    Mutant(
        "any number of early batches is kept",
        MAIL,
        "if len(self._early) >= EARLY:",
        "if len(self._early) < 0:",
        IN_MAIL,
    ),
    Mutant(
        "any number of messages of a view to come is kept",
        MAIL,
        "if self._ahead and len(self._ahead.get(sender, ())) >= AHEAD:",
        "if False:",
        IN_MAIL,
    ),
    Mutant(
        "what came after the question is dropped, too",
        MAIL,
        "return kept.questions < self._questions",
        "return True",
        IN_MAIL,
    ),
    Mutant(
        "what cannot be is kept until its member is out",
        MAIL,
        "return kept.questions < self._questions",
        "return False",
        IN_MAIL,
    ),
    Mutant(
        "what cannot be holds up what follows until the next view",
        MAIL,
        "        dropped = before - self.kept\n        self._hear_kept()\n",
        "        dropped = before - self.kept\n",
        IN_MAIL,
    ),
    Mutant(
        "an answer to a node that is out is taken for the view that it has seen",
        NODE,
        "        if self.member:\n            self.statistics.remote_errors += self.mail",
        "        if True:\n            self.statistics.remote_errors += self.mail",
        IN_MAIL,
    ),
    Mutant(
        "a view is asked for again and again",
        PRESENCE,
        "        self.node.view_asked()\n",
        "",
        IN_PRESENCE,
    ),
    Mutant(
        "an answer of the engine shows nothing",
        PRESENCE,
        "        self.node.view_answered()\n",
        "",
        IN_PRESENCE,
    ),
    Mutant(
        "a lower answer is ignored",
        PRESENCE,
        "        return is_another or answer.number < self._asked_in.number\n",
        "        return is_another\n",
        IN_PRESENCE,
    ),
    Mutant(
        "two views may have one number",
        PRESENCE,
        "        return is_another or answer.number < self._asked_in.number\n",
        "        return answer.number < self._asked_in.number\n",
        IN_PRESENCE,
    ),
    Mutant(
        "an answer is compared with what was heard after the question",
        PRESENCE,
        "answer.number < self._asked_in.number",
        "answer.number < ours.number",
        IN_PRESENCE,
    ),
    Mutant(
        "a view that was heard while out is not compared",
        PRESENCE,
        "self._asked_in = max(self.node.view, self._newest)",
        "self._asked_in = self.node.view",
        IN_PRESENCE,
    ),
    Mutant(
        "an answer to a node that is out is compared with its last view",
        PRESENCE,
        "misled = self._is_about_us(question) and self._contradicts(view)",
        "misled = self._contradicts(view)",
        IN_PRESENCE,
    ),
    Mutant(
        "who was misled keeps what it holds",
        PRESENCE,
        "        self.node.lose_everything()\n        self._reason = MISLED\n",
        "        self._reason = MISLED\n",
        IN_PRESENCE,
    ),
    Mutant(
        "who was misled does not say so",
        PRESENCE,
        "        self.node.lose_everything()\n        self._reason = MISLED\n",
        "        self.node.lose_everything()\n",
        IN_PRESENCE,
    ),
    Mutant(
        "who was misled calls it a fault",
        PRESENCE,
        "        self.node.lose_everything()\n        self._reason = MISLED\n",
        "        self.stumbled(MISLED)\n",
        IN_PRESENCE,
    ),
    Mutant(
        "a number that cannot be is not counted",
        PRESENCE,
        "        self.node.statistics.remote_errors += 1\n        raise RemoteError(",
        "        raise RemoteError(",
        IN_PRESENCE,
    ),
    Mutant(
        "what a member says counts as what the engine has given",
        PRESENCE,
        "is_possible(view.number, self._given, self.wall())",
        "is_possible(view.number, self.node.view.number, self.wall())",
        IN_PRESENCE,
    ),
    Mutant(
        "the engine may not be ahead of our clock",
        NUMBERS,
        "max(given, by_clock) + APART",
        "by_clock + APART",
        IN_PRESENCE,
    ),
    Mutant(
        "the clocks of machines are taken for equal",
        NUMBERS,
        "max(given, by_clock) + APART * PER_SECOND",
        "max(given, by_clock)",
        IN_PRESENCE,
    ),
    Mutant(
        "any view of a member is heard",
        "runtime/host.py",
        "            self.step(self.presence.must_be_possible, frame.view)\n",
        "",
        "tests/runtime/test_strangers.py",
    ),
    Mutant(
        "any wait is taken from a member",
        "node/homes.py",
        "if not isfinite(waited):",
        "if False:",
        "tests/node/test_circles.py tests/node/test_homes.py",
    ),
    # fences
    Mutant(
        "the quick way does not look at the limit",
        TURNSTILE,
        "if now >= slot.until or fence >= fences.limit:",
        "if now >= slot.until or fence > fences.limit:",
        IN_FENCES,
    ),
    Mutant(
        "the highest fence is not heard",
        FENCES,
        "            self.highest = max(self.highest, fence)\n",
        "",
        IN_FENCES,
    ),
    Mutant(
        "the limit is not heard",
        FENCES,
        "            if limit > self.limit:\n                self._raise_limit(limit)\n",
        "",
        IN_FENCES,
    ),
    Mutant(
        "the lower limit is kept",
        FENCES,
        "            if limit > self.limit:\n",
        "            if limit:\n",
        IN_FENCES,
    ),
    Mutant(
        "a reservation counts in whatever view",
        NODE,
        "        if view == self.view.number == self.fences.view and self.member:\n",
        "        if self.member:\n",
        IN_FENCES,
    ),
    Mutant(
        "a reservation counts although a later view was heard of",
        NODE,
        "        if view == self.view.number == self.fences.view and self.member:\n",
        "        if view == self.view.number and self.member:\n",
        IN_FENCES,
    ),
    Mutant(
        "a later view is not heard of",
        FENCES,
        "        if view > self.view:\n",
        "        if view > MOST:\n",
        IN_FENCES,
    ),
    Mutant(
        "a fence of an earlier view counts",
        FENCES,
        "        elif view == self.view:\n",
        "        else:\n",
        IN_FENCES,
    ),
    Mutant(
        "a view that was heard of is entered as if it were new",
        FENCES,
        "        if number > self.view:\n",
        "        if number:\n",
        IN_FENCES,
    ),
    Mutant(
        "fences are reserved when there are none",
        FENCES,
        "return self.highest >= self.low\n",
        "return self.highest + 1 >= self.limit\n",
        IN_FENCES,
    ),
    Mutant(
        "any limit is believed",
        FENCES,
        "if not view << COUNT_BITS <= fence < limit <= self._most:",
        "if not view << COUNT_BITS <= fence < limit:",
        IN_FENCES,
    ),
    Mutant(
        "a member that joins again may get a number that was reserved",
        FENCES,
        "(self.limit >> COUNT_BITS) - 1)",
        "(self.highest >> COUNT_BITS) - 1)",
        IN_FENCES,
    ),
    Mutant(
        "a block reaches into the next",
        FENCES,
        "self._raise_limit(number + 1 << COUNT_BITS)",
        "self._raise_limit(number + 2 << COUNT_BITS)",
        IN_FENCES,
    ),
    Mutant(
        "what waits for fences is forgotten",
        NODE,
        "            self.turnstile.go_on()\n            self.mail.work_off()\n",
        "            self.mail.work_off()\n",
        IN_FENCES,
    ),
    Mutant(
        "others do not hear of a reservation",
        MAIL,
        "        self.dirty.update(dict",
        "        dict().update(dict",
        IN_FENCES,
    ),
    Mutant(
        "everybody reserves as soon as there is little left",
        NODE,
        "return self.view.members[0].id == self.me or self.fences.nearly_out",
        "return True",
        IN_FENCES,
    ),
)


def is_caught(mutant: Mutant) -> bool:
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "src"
        shutil.copytree(ROOT / "src", source)
        path = source / "peerlock" / mutant.file
        path.write_text(path.read_text().replace(mutant.old, mutant.new))
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
        try:
            done = subprocess.run(
                [*command, *mutant.tests.split()],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(source)},
                capture_output=True,
                text=True,
                timeout=LONGEST,
            )
        except subprocess.TimeoutExpired:
            return True
        assert done.returncode in (0, 1), done.stdout[-2000:]
        return done.returncode == 1


@click.command()
@click.argument("part", default="")
@place_options
def main(part: str, place: Place) -> None:
    """Try the mutants with PART in their name, or all."""
    wanted = [m for m in MUTANTS if part in m.what]
    for mutant in wanted:
        assert mutant.fits, f"{mutant.file} has changed: {mutant}"
    survivors = []
    with closing(in_order(is_caught, wanted, place)) as results:
        for mutant, caught in zip(wanted, results, strict=True):
            click.echo(f"{'caught  ' if caught else 'SURVIVES'} {mutant}")
            if not caught:
                survivors.append(mutant)
    click.echo(f"{len(wanted) - len(survivors)} of {len(wanted)} caught")
    sys.exit(bool(survivors))


if __name__ == "__main__":
    end_with(main)
