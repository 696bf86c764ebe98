"""Hosts in trouble, for as long as you like: python -m tests.chaos --seconds 600."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.chaos.hosts import KEEPERS
from tests.chaos.network import why_not
from tests.chaos.play import ALGORITHMS, Play, play
from tests.chaos.report import figure, page
from tests.chaos.summary import summary
from tests.support.postgresql_servers import why_not as no_postgresql


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lease", type=float, default=3)
    parser.add_argument("--engine", choices=sorted(KEEPERS), default="etcd")
    parser.add_argument("--algorithms", default=",".join(ALGORITHMS))
    parser.add_argument("--report", type=Path, default=Path("out/chaos.html"))
    parser.add_argument("--keep", type=Path, help="the histories, in this new folder")
    parser.add_argument("--figure", type=Path, help="a close-up of a cut in halves, as SVG")
    options = parser.parse_args()
    if why := why_not() or (options.engine == "postgresql" and no_postgresql()):
        print(f"chaos: {why}", file=sys.stderr)
        return 2
    wanted = Play(
        seconds=options.seconds,
        seed=options.seed,
        lease=options.lease,
        algorithms=tuple(options.algorithms.split(",")),
        engine=options.engine,
    )
    if options.keep:
        options.keep.mkdir(parents=True)
        return tell(wanted, options.keep, options.report, options.figure)
    with tempfile.TemporaryDirectory(prefix="plchaos", dir="/tmp") as folder:
        return tell(wanted, Path(folder), options.report, options.figure)


def tell(wanted: Play, folder: Path, report: Path, drawn: Path | None) -> int:
    history, verdict = play(wanted, folder)
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(page(wanted, history, verdict))
    if drawn:
        drawn.write_text(figure(history, verdict, "cut in halves"))
    text = summary(wanted, history, verdict)
    report.with_suffix(".md").write_text(text)
    print(text)
    print(f"the report is {report}")
    return 0 if verdict.good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("chaos: interrupted; nothing of it is left")
