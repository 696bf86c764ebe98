"""The house rules, as tests: who may import whom, and that the README tells the truth."""

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from handbook import index

from peerlock.algorithms.card import card
from peerlock.algorithms.catalogue import CATALOGUE
from tests.slow import LONG

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "peerlock"
README = (ROOT / "README.md").read_text()
TABLES = index.TABLES.read_text()
SOURCES = sorted(PACKAGE.rglob("*.py"))

# Layer: the layers of ours that it may import besides itself.
LAYERS: dict[str, set[str]] = {
    "core": set(),
    "quorums": {"core"},
    "algorithms": {"core", "quorums"},
    "node": {"core", "algorithms"},
    "traces": {"core"},
    "simulator": {"core", "quorums", "algorithms", "node", "traces"},
    "checker": {"core", "algorithms", "node", "traces"},
    "playground": {"core", "quorums", "algorithms", "traces", "simulator", "checker"},
    "membership": {"core", "algorithms", "node"},
    "runtime": {"core", "algorithms", "node", "membership"},
    "api": {"core", "algorithms", "node", "membership", "runtime"},
    "supervision": {"core", "membership", "api"},
    "contrib": {"core", "node", "membership", "runtime", "api"},
    "serve": {"core", "algorithms", "node", "membership", "runtime", "api"},
}
LAYERS["lab"] = {"playground", *LAYERS["playground"]}
LAYERS["cli"] = set(LAYERS)
PURE = {"core", "quorums", "algorithms", "node", "traces", "simulator", "checker"}
PURE |= {"playground"}
ALSO_PURE = {PACKAGE / "serve" / "sessions.py"}
ARRAYS = PACKAGE / "checker" / "arrays"  # the one place there that may need NumPy

# What would make a run depend on more than its seed.
WORLDLY = {"asyncio", "socket", "time", "datetime", "threading", "multiprocessing", "os"}
WORLDLY |= {"subprocess", "select", "secrets", "uuid", "tempfile", "signal"}


def layer_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else ""


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of every import, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            yield from ((node.module or "", alias.name) for alias in node.names)


each_source = pytest.mark.parametrize(
    "path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE))
)


@each_source
def test_a_layer_imports_only_what_is_below_it(path: Path) -> None:
    layer = layer_of(path)
    if not layer:
        return  # the package's own front
    for module, name in imports(path):
        top, _, rest = f"{module}.{name}".partition(".")
        if top == "peerlock":
            imported = rest.split(".")[0]
            if imported in LAYERS:
                assert imported == layer or imported in LAYERS[layer], f"{path}: {module}"


@each_source
def test_pure_layers_know_no_clock_no_network_and_no_third_party(path: Path) -> None:
    if layer_of(path) not in PURE and path not in ALSO_PURE:
        return
    known = {"peerlock", "__future__"} | set(sys.stdlib_module_names)
    known |= {"numpy"} if ARRAYS in path.parents else set()
    for module, name in imports(path):
        top = module.split(".")[0]
        assert top in known, module
        assert top not in WORLDLY, f"{path}: {module}"
        assert top != "random" or name == "Random", f"{path}: random's global state"


def test_the_checker_does_without_numpy_until_a_space_is_large() -> None:
    code = "import sys, peerlock.cli.check; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@each_source
def test_a_file_says_what_it_is_in_its_first_lines(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), path


@each_source
def test_no_function_outgrows_a_page(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            lines = (node.end_lineno or 0) - node.lineno
            assert lines <= 60, f"{path.name}: {node.name} has {lines} lines"


def test_every_folder_is_a_layer_that_is_known() -> None:
    assert {layer_of(path) for path in SOURCES} - {""} <= set(LAYERS)


# Class names that are defined more than once, and why.  An algorithm's file has the words
# of its paper (REQUEST, TOKEN, a node's state), and no other file imports them; what
# `peerlock new` writes is such a file.
FORMS = {"api/task_locks.py", "api/thread_locks.py", "contrib/trio.py"}
NODES = {"api/tasks.py", "api/threads.py", "contrib/trio.py"}
TWICE = {
    # The public API in its three forms: for tasks, for threads, for trio.
    "Grant": FORMS,
    "Lock": FORMS,
    "LockNode": NODES,
    "User": FORMS,
    # Public names of packages that are used apart.
    "Network": {"checker/model.py", "simulator/network.py"},
    "Violation": {"checker/report.py", "simulator/violation.py"},
}


def has_words_of_its_own(path: Path) -> bool:
    """A paper's words, or those of the skeleton of an algorithm."""
    is_algorithm = layer_of(path) == "algorithms" and "\nENTRIES" in path.read_text()
    return is_algorithm or path == PACKAGE / "lab" / "skeleton.py"


def test_no_class_name_is_defined_twice() -> None:
    places: dict[str, set[str]] = {}
    for path in SOURCES:
        if not has_words_of_its_own(path):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    place = str(path.relative_to(PACKAGE))
                    places.setdefault(node.name, set()).add(place)
    assert {name: found for name, found in places.items() if len(found) > 1} == TWICE


TESTS = ROOT / "tests"
BESIDE_LAYERS = {"chaos", "golden", "house", "support", "transcripts"}


def test_tests_have_rooms_that_mirror_the_layers() -> None:
    rooms = {path.name for path in TESTS.iterdir() if path.is_dir()} - {"__pycache__"}
    assert rooms - BESIDE_LAYERS <= set(LAYERS)
    assert not list(TESTS.glob("test_*.py"))


# As a module; or by its name, in one line or in parentheses.
IMPORTS_A_TEST = re.compile(
    r"^ *(?:from|import) (?:tests|\.)[\w.]*?"
    r"(?:\btest_| import (?:[^\n(]*|\([^)]*)\btest_)",
    re.MULTILINE,
)


def test_no_test_imports_from_another() -> None:
    for path in TESTS.rglob("*.py"):
        assert not IMPORTS_A_TEST.search(path.read_text()), path


@pytest.mark.parametrize("entry", LONG)
def test_what_the_quick_form_leaves_out_exists(entry: str) -> None:
    file, _, test = entry.partition("::")
    texts = [path.read_text() for path in TESTS.glob(f"{file}*")]
    assert any(re.search(rf"(?:def|class) {test}\b", text) or not test for text in texts)


# ARCHITECTURE.md

ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
NAMING = ("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/releasing.md")  # files of the project


def exists(named: str) -> bool:
    """A path from the root or from the package; a file without one is in some layer."""
    if "/" not in named:
        return (ROOT / named).exists() or any(PACKAGE.rglob(named))
    places = (ROOT, ROOT / "src", PACKAGE)
    return any((p / named).exists() or (p / f"{named}.py").exists() for p in places)


@pytest.mark.parametrize("page", NAMING)
def test_the_files_that_a_page_names_exist(page: str) -> None:
    named = re.findall(r"`([\w./-]+\.(?:py|md)|\w+/[\w/]+)`", (ROOT / page).read_text())
    assert len(named) > 5
    missing = [name for name in named if not name.startswith("out/") and not exists(name)]
    assert not missing


def test_the_architecture_names_every_room() -> None:
    for layer in LAYERS:
        assert re.search(rf"^\| `{layer}` \|", ARCHITECTURE, re.MULTILINE), layer
    beside = re.search(r"^Beside `src/peerlock`.*?\n\n", ARCHITECTURE, re.M | re.S)
    assert beside is not None
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    tops = {line.split("/")[0] for line in tracked.stdout.splitlines() if "/" in line}
    tops = {top for top in tops if not top.startswith(".")} - {"src"}
    for room in tops | BESIDE_LAYERS:
        assert f"`{room}`" in beside[0], room


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda a: a.name)
def test_every_algorithm_opens_with_its_card(entry: object) -> None:
    shown = card(entry)  # type: ignore[arg-type]
    assert list(shown.facts) == ["messages", "delay", "network", "failures", "fairness"]
    assert shown.departures
    assert shown.idea
    assert re.search(r"(19|20)\d\d|lecture", shown.citation)


# The README


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_tables_of_algorithms_are_those_of_the_entries() -> None:
    assert index.with_tables(TABLES, list(index.found())) == TABLES, "run: make index"


def test_the_index_is_that_of_the_entries() -> None:
    assert index.index(index.found()) == index.INDEX.read_text(), "run: make index"


def own_cluster(folder: Path) -> dict[str, str]:
    return {**os.environ, "PEERLOCK_CLUSTER": f"sqlite://{folder}/cluster.db"}


@pytest.mark.parametrize("text", [README, TABLES], ids=["README", "algorithms"])
def test_code_on_a_page_prints_what_it_says(text: str, tmp_path: Path) -> None:
    for code, output in zip(blocks("python", text), blocks("text", text), strict=True):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=own_cluster(tmp_path),
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == output


@pytest.mark.parametrize(
    "line", [line for block in blocks("console") for line in block.splitlines()]
)
def test_the_readmes_commands_work(line: str, tmp_path: Path) -> None:
    prompt, program, *arguments = shlex.split(line)
    assert (prompt, program) == ("$", "peerlock")
    done = subprocess.run(
        [sys.executable, "-m", "peerlock", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=own_cluster(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_targets_on_a_page_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_links_on_a_page_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        assert link.startswith("https://") or (page.parent / link).exists(), link


PROMISES = (ROOT / "docs" / "promises.md").read_text()


def test_every_promise_names_the_tests_that_show_it() -> None:
    promised, _, rest = PROMISES.partition("## Not promised")
    promises = re.findall(r"^\*\*(.+?)\*\*", promised, re.MULTILINE | re.DOTALL)
    shown = dict(re.findall(r"^\| (.+?) \| (.*`\w+/test_.*) \|$", rest, re.MULTILINE))
    assert {" ".join(promise.split()) for promise in promises} <= set(shown)


def test_the_tests_that_the_promises_name_exist() -> None:
    named = re.findall(r"`(\w+/test_\w+\.py)(?:::(\w+))?`", PROMISES)
    assert len(named) > 50
    for file, test in named:
        text = (TESTS / file).read_text()
        assert f"def {test}(" in text or f"def {test}[" in text or not test, test
