"""The pages of the site; that Sphinx has nothing to say against them, `make docs` shows."""

import dataclasses
import html
import re
from pathlib import Path
from posixpath import dirname, join, normpath

import click
import pytest
from handbook import (
    algorithms,
    api,
    checked,
    commands,
    compare,
    museum,
    quorums,
    runs,
    texts,
)
from handbook.book import ROOT, Book, inline, trace_style, up
from handbook.demo import NODES, PICTURE
from handbook.markdown import prose, table
from handbook.mathematics import typeset, typeset_pages
from handbook.measures import SIZES, Measured, Room, right_ones, room

import peerlock.checker
import peerlock.simulator
import peerlock.traces
from peerlock import sync
from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.lookup import algorithm
from peerlock.cli.check import model_from
from peerlock.cli.main import COMMANDS, cli
from peerlock.node.terms import LOCK
from peerlock.playground import links
from peerlock.playground.run import run
from peerlock.simulator.experiment import Result, Spread
from peerlock.traces import svg

SOME = Spread(2.0, 0.0, 2.0, 2.0)
LINK = re.compile(r"\]\(([^)\s#]+)(?:#([^)\s]*))?\)")


def as_if_measured() -> Measured:
    """The pages do not depend on what the numbers are."""
    results = {
        (entry.name, n, load): Result(entry.name, n, load, 1, SOME, SOME, SOME, SOME, 3)
        for entry in right_ones()
        for n in SIZES
        for load in ("light", "heavy")
    }
    return Measured(results, {entry.name: Room(10, 2) for entry in right_ones()})


def searched(name: str) -> runs.Wrong:
    if name == "lamport-reordered" or name in runs.SLOW:
        return runs.wrong(name)
    return runs.Wrong("something is wrong", 1, 1, runs.run_of(algorithm("central")))


@pytest.fixture(scope="module")
def book() -> Book:
    """All pages, with numbers made up, and all searches but one left out."""
    made, measured = Book(), as_if_measured()
    texts.write(made)
    commands.write(made)
    api.write(made)
    algorithms.write(made, measured)
    compare.write(made, measured)
    museum.write(made, searched)
    quorums.write(made, sizes=(7,))
    return made


def test_every_algorithm_has_a_button_that_opens_it_in_the_lab(book: Book) -> None:
    for entry in CATALOGUE:
        page = book.pages[algorithms.path_of(entry.name)]
        assert re.search(
            r'<p class="lab"><a href="\.\./lab/index\.html#(run|algorithm)=', page
        )
    link = re.search(r"#run=([\w-]+)", book.pages[algorithms.path_of("lamport-reordered")])
    assert link is not None
    assert run(links.decode(link[1])).broken == "1 and 2 are inside together"


def test_every_entry_of_the_catalogue_has_a_page_with_a_picture(book: Book) -> None:
    for entry in CATALOGUE:
        page = book.pages[algorithms.path_of(entry.name)]
        assert page.startswith(f"# {entry.name}\n")
        assert f"run-{entry.name}.html" in page
        assert "<svg" in book.pictures[f"pictures/run-{entry.name}.html"]


def headings(text: str) -> list[str]:
    """As they are linked to."""
    lines = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return [re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines]


def test_every_link_within_the_site_leads_somewhere(book: Book) -> None:
    there = {*book.pages, *book.files}
    for page, text in book.pages.items():
        links = [*LINK.findall(text), *re.findall(r'(?:href|src)="([^"]+)()"', text)]
        for link, anchor in links:
            place = normpath(join(dirname(page), link))
            if place.startswith("lab/index.html#"):
                continue  # a page of its own, built beside these
            assert "://" in link or place in there, f"{page}: {link}"
            assert not anchor or anchor in headings(book.pages[place]), f"{page}: {anchor}"
        for picture in re.findall(r"^:file: (.*)$", text, re.MULTILINE):
            assert normpath(join(dirname(page), picture)) in book.pictures, page


def test_every_page_is_in_the_table_of_contents(book: Book) -> None:
    listed = {"index.md"}
    for page, text in book.pages.items():
        for part in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL):
            names = [line for line in part.split() if not line.startswith(":")]
            listed |= {join(dirname(page), n.removesuffix(".md") + ".md") for n in names}
    assert set(book.pages) <= listed


def shown_commands(text: str) -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line[2:] for line in lines if line.startswith("$ peerlock ")]


def test_every_command_on_a_page_can_be_given(book: Book) -> None:
    own = "own-algorithm.md"  # its commands are run, one after the other, by its own test
    texts = [text for page, text in book.pages.items() if page != own]
    found = [command for text in texts for command in shown_commands(text)]
    assert len(found) > 4 * len(right_ones())
    for command in found:
        given = runs.parsed(command).params
        if command.startswith("peerlock simulate"):
            runs.scenario_of(command)
        if command.startswith("peerlock check "):
            apart = {"paths", "as_json", "max_seconds", "max_memory", "max_states"}
            apart |= {"everywhere", "reductions"}
            model_from(**{k: v for k, v in given.items() if k not in apart})


def test_what_is_wrong_is_shown_with_its_shortest_way(book: Book) -> None:
    page = book.pages["literature.md"]
    shortest = "**1 and 2 are inside together.** A shortest counterexample takes 10 steps"
    assert shortest in page
    assert "## Broken on purpose" in page
    assert "All findings of the searches" in page
    drawn = book.pictures["pictures/run-suzuki-kasami-lifo.html"]
    assert runs.SLOW["suzuki-kasami-lifo"].verdict in drawn


def test_runs_that_are_drawn_specially_are_of_something() -> None:
    assert set(runs.SPECIAL) <= {entry.name for entry in right_ones()}


def test_the_drawn_ones_are_in_the_museum() -> None:
    for name in runs.SLOW:
        assert algorithm(name).family == "museum"
        assert (ROOT / "docs" / "museum" / f"{name}.svg").exists()


def test_every_piece_of_the_museum_has_a_group() -> None:
    groups = {museum.group_of(a) for a in CATALOGUE if a.family == "museum"}
    assert museum.SURVEY in groups
    assert "From Chaudhuri and Edward, 2004" in groups


def test_all_commands_and_all_options_are_told(book: Book) -> None:
    sections = re.split(
        r"^#+ (peerlock .*)$", book.pages["commands.md"], flags=re.MULTILINE
    )
    shown = dict(zip(sections[1::2], sections[2::2], strict=True))
    assert {f"peerlock {name}" for name in COMMANDS} <= set(shown)
    found = list(commands.commands(cli, click.Context(cli, info_name="peerlock")))
    assert list(shown) == [context.command_path for _, context in found]
    for command, context in found:
        for option in commands.options(command):
            assert f"`{', '.join(option.opts)}" in shown[context.command_path], option
    nonblock = "| `-n, --nb, --nonblock` | Fail if the lock is not free. |"
    assert nonblock in shown["peerlock lock"]


def test_the_api_is_what_is_exported(book: Book) -> None:
    page = book.pages["api.md"]
    for kind in api.errors():
        assert f"{{py:exception}} {kind.__name__}" in page
    assert page.count("{py:class} LockNode") == 2
    assert "{py:function} join(cluster: str | None = None, *, lease" in page
    assert "- `lease`: seconds" in page
    assert "{py:property} is_lost" in page  # of a base class
    assert api.words(sync.join) in page


def test_each_argument_has_a_line_of_its_own(book: Book) -> None:
    for page in ("api.md", "lab.md", "modules.md"):
        for line in book.pages[page].splitlines():
            if not line.startswith((":", "`", " ")):
                heads = re.findall(r"\b[a-z_]+:(?: |$)", re.sub(r"`[^`]*`", "", line))
                assert len(heads) < 2, line
    assert "- `reentrant`: " in book.pages["api.md"]
    assert "- `hold`: " in book.pages["lab.md"]


def test_every_exported_name_is_in_the_reference(book: Book) -> None:
    for name in set(peerlock.__all__) - {"sync"}:
        assert re.search(rf"{{py:\w+}} {name}\b", book.pages["api.md"]), name
    for page, modules in (("lab.md", api.LAB_MODULES), ("modules.md", api.BESIDE_MODULES)):
        for module in modules:
            _, _, part = book.pages[page].partition(f"currentmodule}} {module.__name__}\n")
            part, _, _ = part.partition("currentmodule}")
            kinds = r"^`+{py:(?:class|function|exception|data)} (\w+)"
            named = set(re.findall(kinds, part, re.MULTILINE))
            assert named == set(module.__all__), module


def test_every_public_module_is_in_the_reference() -> None:
    named = {m.__name__ for m in (peerlock, sync, *api.LAB_MODULES, *api.BESIDE_MODULES)}
    for pattern in ("*.py", "*/__init__.py", "contrib/*.py"):
        for path in (ROOT / "src" / "peerlock").glob(pattern):
            place = path.relative_to(ROOT / "src").with_suffix("")
            name = ".".join(place.parts).removesuffix(".__init__")
            exports = re.search(r"^__all__ = ", path.read_text(), re.MULTILINE)
            assert bool(exports) == (name in named), name


def documented_classes() -> list[type]:
    faces = [getattr(face, name) for face in (peerlock, sync) for name in api.SURFACE]
    exported = [getattr(m, name) for m in api.LAB_MODULES for name in m.__all__]
    return faces + [kind for kind in exported if isinstance(kind, type)]


def test_names_are_public_or_internal_and_exist(book: Book) -> None:
    every = {name for kind in documented_classes() for name in api.own_names(kind)}
    surface = {name for names in api.SURFACE.values() for name in names}
    assert surface | api.INTERNAL <= every
    for kind in (getattr(face, name) for face in (peerlock, sync) for name in api.SURFACE):
        rest = set(api.own_names(kind)) - {*api.SURFACE[kind.__name__]}
        assert not rest, kind
    for page in ("api.md", "lab.md", "modules.md"):
        named = re.findall(r"\{py:(?:method|property)\} (\w+)", book.pages[page])
        assert not api.INTERNAL & set(named)


def test_the_fields_of_a_public_dataclass_are_in_the_reference(book: Book) -> None:
    for module in api.LAB_MODULES:
        _, _, rest = book.pages["lab.md"].partition(f"currentmodule}} {module.__name__}\n")
        part, _, _ = rest.partition("currentmodule}")
        found = re.findall(
            r"^`+\{py:class\} (\w+)(.*?)^`````$", part, re.MULTILINE | re.DOTALL
        )
        for name, shown in found:
            kind = getattr(module, name)
            fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
            for field in fields:
                here = f"{{py:attribute}} {field.name}\n" in shown
                assert here != field.name.startswith("_"), field.name


def test_searches_are_read_from_the_table() -> None:
    headings, _ = checked.searches()
    assert headings[:2] == ("algorithm", "nodes")
    assert all(row[4] == "holds" for row in checked.searches_of("central"))
    assert len(checked.findings()) > 20
    assert checked.findings_about({"maekawa-cyclic-round"})


def test_the_picture_of_the_demo_is_what_the_demo_prints_now() -> None:
    drawn = re.sub(r"<style>.*?</style>|<[^>]+>", " ", PICTURE.read_text(), flags=re.DOTALL)
    words = " ".join(html.unescape(drawn).split())
    assert f"by {LOCK}." in words
    assert "holders, in order:" in words
    assert "killed while it held the lock" in words
    fences = [int(number) for number in re.findall(r"\b\d{12,}\b", words)]
    assert len(fences) == NODES
    assert all(fence < 2**53 for fence in fences)
    assert "http" not in drawn  # it loads nothing


def test_the_start_is_the_readmes_beginning(book: Book) -> None:
    start = book.pages["index.md"]
    assert start.startswith("# peerlock")
    assert "## Ten lines" in start
    assert texts.COMPARED not in start
    assert texts.MORE not in start


def test_the_comparison_is_a_page(book: Book) -> None:
    page = book.pages["alternatives.md"]
    assert page.startswith("# Compared with flock, Redis, etcd and PostgreSQL\n")
    assert "| PostgreSQL's advisory locks |" in page


def test_the_glossary_fits_on_a_screen(book: Book) -> None:
    page = book.pages["glossary.md"]
    for term in ("member", "view", "circle", "home", "epoch", "grant", "fence", "lease"):
        assert f"| **{term}** |" in page
    assert len(page.splitlines()) < 25


def test_mathematics_is_typeset() -> None:
    assert typeset("set S_i of `S_i`") == "set <i>S</i><sub><i>i</i></sub> of `S_i`"
    assert typeset("about √(2N)") == 'about √<span class="root">2<i>N</i></span>'
    assert typeset("2(N-1), GF(p^m)") == "2(<i>N</i>−1), GF(<i>p</i><sup>m</sup>)"
    assert typeset("G. Ricart, A. K. Agrawala: a node's 3 s") == (
        "G. Ricart, A. K. Agrawala: a node's 3 s"
    )
    pages = {"compare.md": "# N\n\nN\n\n```text\nN\n```\n", "knobs.md": "N"}
    typeset_pages(pages)
    assert pages == {"compare.md": "# N\n\n<i>N</i>\n\n```text\nN\n```\n", "knobs.md": "N"}


def test_a_class_in_the_same_file_is_not_below_on_the_page() -> None:
    text = "The published form is `Maekawa1985` below."
    assert algorithms.linked(text, "compare.md") == (
        "The published form is [maekawa-1985](algorithms/maekawa-1985.md)."
    )


def test_a_picture_that_is_not_there_is_left_out() -> None:
    text = "One.\n\n![a](docs/no-such.svg)\n\n*Its caption.*\n\nTwo [three](LICENSE).\n"
    assert texts.rehoused(text, "README.md", Book()).split() == ["One.", "Two", "three."]


def test_state_and_messages_are_measured() -> None:
    assert room("token-ring").message == 1
    assert room("suzuki-kasami").state > room("naimi-trehel").state


def test_a_drawing_takes_the_pages_style() -> None:
    drawn = inline(svg.render(runs.run_of(algorithm("central"))))
    assert drawn.startswith("<svg")
    assert "<style>" not in drawn
    assert "clamp(" in drawn
    style = trace_style()
    assert style.count("{") == style.count("}")


def test_pieces_of_markdown() -> None:
    assert prose("S_i, a *star*, `x * y`") == r"S_i, a \*star\*, `x * y`"
    assert table(["a", "b"], [("x|y", 1)], "-r").endswith("| x\\|y | 1 |")
    assert up("algorithms/x.md") == "../"
    assert up("index.md") == ""


def test_a_book_is_written_to_disk(tmp_path: Path) -> None:
    made = Book(pages={"a/b.md": "text"}, files={"c.svg": b"<svg/>"})
    made.write(tmp_path / "pages", tmp_path / "files")
    assert (tmp_path / "pages" / "a" / "b.md").read_text() == "text"
    assert (tmp_path / "files" / "c.svg").read_bytes() == b"<svg/>"
