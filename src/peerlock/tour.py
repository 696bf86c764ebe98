"""`make tour`: the algorithms in half a minute, with pictures to look at."""

from __future__ import annotations

from pathlib import Path

from peerlock.cli.main import cli

OUT = Path("out")


def main() -> None:
    OUT.mkdir(exist_ok=True)
    say("Five algorithms, four sizes, two loads: what does one entry cost?")
    names = "lamport ricart-agrawala maekawa raymond naimi-trehel"
    figure = OUT / "comparison.svg"
    run(f"compare {names} --entries 300 --runs 5 --plot {figure}")

    say("One run, drawn: five nodes compete, Ricart and Agrawala's algorithm")
    drawn = [OUT / "ricart-agrawala.svg", OUT / "ricart-agrawala.html"]
    files = " ".join(f"--trace {path}" for path in drawn)
    run(f"simulate ricart-agrawala -n 5 --entries 6 --load 0.2 {files}")

    say("Every schedule of three nodes: can anything go wrong?")
    run("check ricart-agrawala -n 3 -r 2")

    say("An algorithm that was published wrong, and the shortest way to its deadlock")
    broken = OUT / "maekawa-1985.html"
    run(f"check maekawa-1985 --trace {broken}")

    say("Look at")
    for path in (figure, *drawn, broken):
        print(f"    {path}")
    print("\nand try: .venv/bin/peerlock list, show NAME, simulate NAME --help, check NAME")


def say(text: str) -> None:
    print(f"\n── {text}\n")


def run(command: str) -> None:
    print(f"$ peerlock {command}\n")
    try:
        cli.main(command.split(), prog_name="peerlock", standalone_mode=False)
    except SystemExit as end:
        print(f"(exit code {end.code})")


if __name__ == "__main__":
    main()
