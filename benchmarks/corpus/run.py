"""The corpus: real packages' programs, debloated and run under what nobody traced.

    python benchmarks/corpus/run.py --data FOLDER [--programs NAME ...] [--only-check]
    python benchmarks/corpus/run.py --data FOLDER --environment ENV --jobs 16 --deadline 580

A row a program goes to `corpus.csv` in `benchmarks/results`, and a row to `corpus_others.csv` for
each program that was run, never traced, in the slim environment of another. A program that has its
row is skipped unless `--again` is given, so that a run that was cut off goes on where it was.
Environments and workspaces are in FOLDER: TRIMTAB_CORPUS, or a folder of the user's cache. With
`--environment` all programs run in an environment that is there, as far as it has their packages.
"""

import argparse
import math
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from common import RESULTS
from corpus import Corpus
from jobs import run_side_by_side
from programs import read_programs

_LAST_S = 15.0  # of the time given: to write a row, and to end
_SKIPPED = 3  # exit code of a process that had nothing to measure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    data = Path(os.environ.get("TRIMTAB_CORPUS", cache / "trimtab-corpus"))
    parser.add_argument("--data", type=Path, default=data, help="where environments are made")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where the tables are")
    parser.add_argument("--environment", type=Path, help="one that is there, in place of our own")
    parser.add_argument("--programs", nargs="*", help="only these, in this order")
    parser.add_argument("--again", action="store_true", help="also those that have their row")
    parser.add_argument("--only-check", action="store_true", help="originals twice: no debloating")
    parser.add_argument("--runs", type=int, default=20, help="runs of the traced input")
    parser.add_argument("--strict-runs", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=5, help="runs in turns, for time and memory")
    parser.add_argument("--jobs", type=int, default=1, help="programs side by side")
    parser.add_argument("--deadline", type=float, default=math.inf, metavar="SECONDS",
                        help="end by then; rows have the runs that there was time for")  # fmt: skip
    parser.add_argument("--option", action="append", default=[], metavar="--NAME=VALUE",
                        help="of trimtab debloat, for all programs")  # fmt: skip
    parser.add_argument(
        "--others", nargs="*", metavar="NAME",
        help="programs to run untraced in the slim environments; by default the next two of each",
    )  # fmt: skip
    parser.add_argument("--keep", action="store_true", help="keep the slim environments")
    # What a process of ours is told that measures one program.
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--slot", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, default=math.inf, help=argparse.SUPPRESS)
    given = parser.parse_args()
    # By PYTHONPATH trimtab may be found; no program must find it or what it needs.
    path = os.environ.pop("PYTHONPATH", "")
    corpus = Corpus(given, read_programs(given.slot), [each for each in path.split(":") if each])
    if given.job:
        program = corpus.program(given.job)
        if given.only_check:
            corpus.check(program)
        elif not corpus.measure(program):
            sys.exit(_SKIPPED)
        return
    names = [program.name for program in corpus.programs]
    unknown = {*(given.programs or ()), *(given.others or ())} - set(names)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: no such file in programs/")
    wanted = given.programs or names
    if not given.again and not given.only_check:
        wanted = [name for name in wanted if not corpus.is_done(corpus.program(name))]
    until_s = time.monotonic() + given.deadline

    def command(name: str, slot: int) -> list[str | Path]:
        words = [sys.executable, __file__, *sys.argv[1:], "--job", name, "--slot", str(slot)]
        return [*words, "--until", str(until_s - _LAST_S)]

    if path:
        os.environ["PYTHONPATH"] = path  # for our own processes
    run_side_by_side(wanted, command, corpus.data / "logs", given.jobs, until_s)


if __name__ == "__main__":
    main()
