"""Algorithms that are not ours: taken wherever ours are, or refused in one line."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

import peerlock
from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.lookup import OUTSIDE, algorithm, is_strange, known
from peerlock.algorithms.rules import validate
from peerlock.checker import check
from peerlock.cli.main import main
from peerlock.core.errors import UsageError
from peerlock.core.peer import Peer, RemoteError
from peerlock.lab.new import SKELETON, algorithm_file, file_of_tests
from peerlock.node import terms
from peerlock.node.terms import Demand, Terms, objection
from peerlock.node.wire import Batch, Epoch, ToPeer
from peerlock.runtime import codec
from peerlock.simulator import Experiment, Scenario, compare, simulate
from peerlock.simulator.by_hand import ByHand

MINE = algorithm_file("mine", SKELETON)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current one, with nothing left behind of what was imported from it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mine.py").write_text(MINE)
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
    OUTSIDE.clear()
    terms._demand.cache_clear()
    codec.KINDS.clear()
    codec.MAKERS.clear()


def run(
    capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0
) -> tuple[str, str]:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    out, err = capsys.readouterr()
    assert (end.value.code or 0) == code, err
    return out, err


WAYS = ["./mine.py", "mine.py:Mine", "mine:Mine"]
in_each_way = pytest.mark.parametrize("name", WAYS)


@in_each_way
def test_it_is_checked(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, "check", name, "--json")[0])
    assert found["algorithm"] == name
    assert found["complete"]
    assert found["violation"] is None


@in_each_way
def test_it_is_simulated_and_drawn(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = run(capsys, "simulate", name, "--entries", "20", "--trace", "run.svg")
    assert "messages per entry" in out
    assert (folder / "run.svg").read_text().endswith("</svg>\n")


@in_each_way
def test_it_is_compared_and_ranked_with_ours(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fewer = ["--entries", "20", "--runs", "1", "--json"]
    out, _ = run(capsys, "compare", name, "central", "-n", "3", *fewer)
    costs = {(r["algorithm"], r["load"]): r["messages_per_entry"] for r in json.loads(out)}
    assert costs[name, "heavy"]["mean"] == costs["central", "heavy"]["mean"]
    out, _ = run(capsys, "advise", name, "--use", "shared lock", "-n", "3", *fewer)
    assert name in {row["algorithm"] for row in json.loads(out)}


@in_each_way
def test_its_card_is_shown(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "one node lends a token" in run(capsys, "show", name)[0]
    assert json.loads(run(capsys, "show", name, "--json")[0])["name"] == "mine"


def test_in_python_a_class_will_do(folder: Path) -> None:
    mine: type[Peer] = import_module("mine").Mine
    assert check(mine, nodes=2).holds
    assert simulate(Scenario(mine, 3, 20)).algorithm == "mine:Mine"
    (result,) = compare(Experiment((mine,), (3,), ("heavy",), runs=1, entries=20))
    assert result.algorithm == "mine:Mine"
    assert ByHand(mine, 3).trace.algorithm == "mine:Mine"


def test_a_class_of_ours_goes_by_its_name() -> None:
    assert check(algorithm("central").peer, nodes=2).model.name == "central"


def test_a_file_that_has_changed_is_read_again(folder: Path) -> None:
    file = folder / "mine.py"
    assert algorithm("./mine.py").year == 2026
    same = algorithm("./mine.py")
    file.write_text(MINE.replace("year=2026", "year=2027"))
    assert algorithm("./mine.py").year == 2027
    assert algorithm("./mine.py") is not same


def test_a_file_imports_what_lies_beside_it(folder: Path) -> None:
    aside = folder / "aside"
    aside.mkdir()
    (aside / "beside.py").write_text("YEAR = 1999")
    text = MINE.replace("year=2026", "year=YEAR")
    imports = "from beside import YEAR\nfrom dataclasses"
    (aside / "other.py").write_text(text.replace("from dataclasses", imports))
    assert algorithm("aside/other.py").year == 1999
    assert str(aside) not in sys.path


def test_packages_register_theirs(folder: Path) -> None:
    info = folder / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[peerlock.algorithms]\nby-hand = mine:Mine\nbad = nowhere:Mine\n"
    )
    assert algorithm("by-hand").name == "mine"
    code = "from peerlock.cli.listing import print_list; print_list()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert any(line.startswith("by-hand ") for line in done.stdout.splitlines())
    assert done.stderr == (
        "peerlock: left out bad: cannot import nowhere: No module named 'nowhere'\n"
    )


# What is wrong with it is said in one line

CARD = '"""' + MINE.split('"""')[1] + '"""'
QUEUE = "queue: tuple[NodeId, ...] = ()"
WRONG: dict[str, tuple[Callable[[str], str], str]] = {
    "no card": (
        lambda text: text.replace(CARD, '"""Mine."""'),
        "mine has no card, or not all of it (no messages, delay, network, failures, "
        "fairness): begin its file with a docstring as `peerlock new` writes it",
    ),
    "half a card": (
        lambda text: text.replace("    fairness  ", "    manners   "),
        "mine has no card, or not all of it (no fairness): begin its file with a docstring "
        "as `peerlock new` writes it",
    ),
    "a list": (
        lambda text: text.replace(QUEUE, "queue: list[int] = ()"),
        "Mine.queue is part of the state and holds what can change: use a tuple, a "
        "frozenset or a number",
    ),
    "a list by default": (
        lambda text: text.replace(QUEUE, "queue: list[int] = []"),
        "mine.py, line N: mutable default <class 'list'> for field queue is not allowed: "
        "use default_factory; a state field holds immutable values: use a tuple or a "
        "frozenset",
    ),
    "a list by and by": (
        lambda text: text.replace("self.inside = True", "self.inside = [True]"),
        "Mine.inside is part of the state and holds what can change: use a tuple, a "
        "frozenset or a number",
    ),
    "no handler": (
        lambda text: text.replace("def receive_token", "def receive_coin"),
        "mine.py: Mine has no handler for its message Token: add a method "
        "receive_token(self, sender, message)",
    ),
    "no release": (
        lambda text: text.replace("def release", "def let_go"),
        "Mine has no method release: add it, as Peer describes it",
    ),
    "no decorator": (
        lambda text: text.replace("@dataclass(eq=False)\n", ""),
        "Mine has fields: write @dataclass(eq=False) above its class",
    ),
    "a message that changes": (
        lambda text: text.replace("@dataclass(frozen=True, slots=True)", "@dataclass"),
        "Request is a message that can change: write @dataclass(frozen=True, slots=True) "
        "above its class",
    ),
    "no such family": (
        lambda text: text.replace('family="token"', 'family="coins"'),
        "mine: family must be one of permission, token, several, museum",
    ),
    "serves nothing known": (
        lambda text: text.replace('serves=("lock",)', 'serves=("mutex",)'),
        "mine: serves must be a tuple of lock, shared lock, semaphore",
    ),
    "no entry": (
        lambda text: text.partition("ENTRIES")[0],
        "./mine.py has no entry: end it with ENTRIES = (Algorithm(name=…, peer=…, …),)",
    ),
    "an entry that is not in a tuple": (
        lambda text: text + "\nENTRIES = ENTRIES[0]\n",
        "./mine.py has no entry: end it with ENTRIES = (Algorithm(name=…, peer=…, …),)",
    ),
    "entries that are none": (
        lambda text: text + "\nENTRIES = (1, None)\n",
        "./mine.py has no entry: end it with ENTRIES = (Algorithm(name=…, peer=…, …),)",
    ),
    "a class that is not a Peer": (
        lambda text: text + "\nENTRIES = (ENTRIES[0]._replace(peer=Token),)\n",
        "mine: peer must be a subclass of Peer, not <class ",
    ),
    "an exit": (
        lambda text: f"{text}\nraise SystemExit(3)\n",
        "mine.py, line N: it exits when it is imported",
    ),
    "no text": (lambda text: "\0", "mine.py: source code string cannot contain null bytes"),
    "a year in words": (
        lambda text: text.replace("year=2026", 'year="now"'),
        "mine: year must be of type int",
    ),
    "a name in two lines": (
        lambda text: text.replace('name="mine"', 'name="mi\\nne"'),
        "'mi\\nne': the name must be printable",
    ),
    "no exhibit": (
        lambda text: re.sub(r"exhibit=Exhibit\(.*\),", "exhibit=None,", text),
        "mine: exhibit must be of type Exhibit",
    ),
    "half an entry": (
        lambda text: text.replace("        year=2026,\n", ""),
        "mine.py, line N: TypeError: Algorithm.__new__() missing 1 required positional "
        "argument: 'year'",
    ),
    "no Python": (
        lambda text: f"{text}\nnow",
        "mine.py, line N: NameError: name",
    ),
    "no syntax": (lambda text: f"{text}\n)", "mine.py, line N: unmatched ')'"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said_in_a_line(
    what: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change, complaint = WRONG[what]
    changed = change(MINE)
    assert changed != MINE
    (folder / "mine.py").write_text(changed)
    _, err = run(capsys, "check", "./mine.py", code=2)
    assert re.sub(r"line \d+", "line N", err).startswith(f"peerlock: {complaint}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["simulate", "compare", "check"])
def test_an_error_while_it_runs_is_said_in_a_line(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = MINE.replace("self.token_here = self.me ==", "self.token_here = 1 / 0 ==")
    (folder / "mine.py").write_text(broken)
    _, err = run(capsys, command, "./mine.py", code=1)
    complaint = re.sub(r"line \d+", "line N", err)
    assert complaint == "peerlock: mine.py, line N: ZeroDivisionError: division by zero\n"


def test_of_several_one_must_be_chosen(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = (
        "class Yours(Mine):\n    pass\n\n\nENTRIES += (ENTRIES[0]._replace(peer=Yours),)\n"
    )
    (folder / "mine.py").write_text(f"{MINE}\n\n{more}")
    _, err = run(capsys, "check", "./mine.py", code=2)
    assert err == (
        "peerlock: ./mine.py has 2 algorithms: "
        "write one of ./mine.py:Mine, ./mine.py:Yours\n"
    )
    run(capsys, "check", "./mine.py:Yours")
    _, err = run(capsys, "check", "./mine.py:Theirs", code=2)
    assert "./mine.py has no entry of a class Theirs: write one of" in err


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("./nowhere.py", "cannot read nowhere.py: No such file or directory"),
        ("nowhere:Mine", "cannot import nowhere: No module named 'nowhere'"),
        ("json:dumps", "json has no entry: end it with ENTRIES = "),
        (":Mine", "unknown algorithm ':Mine': "),
        ("./folder.py", "cannot read folder.py: Is a directory"),
        ("mnie", "unknown algorithm 'mnie': "),
    ],
)
def test_what_is_not_there_is_said_in_a_line(
    name: str, complaint: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "folder.py").mkdir()
    _, err = run(capsys, "simulate", name, code=2)
    assert err.startswith(f"peerlock: {complaint}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda a: a.name)
def test_ours_keep_the_same_rules(entry: Algorithm) -> None:
    validate(entry)


# As a lock


def test_a_class_is_a_lock_between_nodes(folder: Path) -> None:
    mine: type[Peer] = import_module("mine").Mine

    async def together() -> list[int]:
        fences = []

        async def work(node: peerlock.LockNode) -> None:
            for _ in range(5):
                async with node.lock("x", algorithm=mine, timeout=10) as grant:
                    fences.append(grant.fence)

        async with (
            peerlock.join("memory://outside") as a,
            peerlock.join("memory://outside") as b,
        ):
            await asyncio.gather(work(a), work(b))
            with pytest.raises(peerlock.Conflict, match="with mine:Mine: ask for that"):
                async with b.lock("x", timeout=10):
                    pass
        return fences

    fences = asyncio.run(together())
    assert len(fences) == 10
    assert fences == sorted(fences)


def test_a_file_is_not_the_name_of_a_lock(folder: Path) -> None:
    with pytest.raises(UsageError, match="or pass the class"):
        terms.demand("./mine.py")


def test_an_algorithm_from_elsewhere_must_serve_what_is_asked_for(folder: Path) -> None:
    assert terms.demand("mine:Mine") == Demand("mine:Mine")
    with pytest.raises(UsageError, match="mine:Mine cannot serve a semaphore"):
        terms.demand("mine:Mine", 3)


def test_what_a_peer_names_is_not_imported(folder: Path) -> None:
    """It is kept by its home, as those that use it say; no other member takes part."""
    name = "mine:Mine"
    wanted, agreed = Demand(name), Terms(name, 0, True, 0)
    terms.validate_demand(wanted)
    assert objection(wanted, agreed) == ""
    assert "ask for that algorithm" in objection(Demand(), agreed)
    with pytest.raises(RemoteError, match="this process has not asked for mine:Mine"):
        terms.validate_terms(agreed, 3)
    assert is_strange(name)
    assert known(name) is None
    assert "mine" not in sys.modules

    terms.demand(name)  # now the program itself has asked
    terms.validate_terms(agreed, 3)
    assert known(name) is algorithm(name)


def test_a_message_of_what_we_do_not_know_leaves_the_others_alone(folder: Path) -> None:
    token = import_module("mine").Token
    terms.demand("mine:Mine")
    message = ToPeer("x", Epoch(1, 1), "mine:Mine", 1, 2, token())
    batch = Batch(1, 1, 1, 0, 0, 1, (message,))
    sent = codec.encode(batch)[codec.LENGTH :]
    assert codec.decode(sent) == batch

    OUTSIDE.clear()
    codec.MAKERS.clear()
    strange = codec.decode(sent)
    assert isinstance(strange, Batch)
    assert strange.messages == (message._replace(message=None),)


@pytest.mark.parametrize("name", ["no-such", "a b:C", "mine:", ":Mine", "x" * 200 + ":M"])
def test_other_names_are_refused_as_before(name: str) -> None:
    with pytest.raises(RemoteError):
        terms.validate_demand(Demand(name))


# To begin with

RIGHT = [a for a in CATALOGUE if a.verdict == "holds"]


@pytest.mark.parametrize("entry", [SKELETON, *RIGHT], ids=lambda a: a.name)
def test_a_copy_of_each_is_complete(entry: Algorithm, folder: Path) -> None:
    (folder / "my_own.py").write_text(algorithm_file("my-own", entry))
    copy = algorithm("./my_own.py:MyOwn")
    assert copy == entry._replace(name="my-own", peer=copy.peer)
    assert copy.peer.messages
    compile(file_of_tests("my-own", entry), "test_my_own.py", "exec")


@pytest.mark.parametrize(
    "base", [(), ("--from", "ricart-agrawala"), ("--from", "raymond-k")]
)
def test_what_is_new_passes_its_own_test(
    base: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = run(capsys, "new", "my-own", *base)
    assert "peerlock check ./my_own.py" in out
    run(capsys, "check", "./my_own.py")
    code = "import test_my_own as t; [f() for n, f in vars(t).items() if n[:5] == 'test_']"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["My Lock"], "invalid name 'My Lock': use small letters, digits and hyphens"),
        (["mine"], "mine.py exists already: choose another name, or move it"),
        (["x", "--from", "central-lifo"], "central-lifo is known to be wrong: copy"),
        (
            ["x", "--from", "raymnd"],
            "unknown algorithm 'raymnd': did you mean",
        ),
    ],
)
def test_what_cannot_be_begun(
    arguments: list[str], complaint: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, err = run(capsys, "new", *arguments, code=2)
    assert err.startswith(f"peerlock: {complaint}")
    assert sorted(p.name for p in folder.iterdir()) == ["mine.py"]
