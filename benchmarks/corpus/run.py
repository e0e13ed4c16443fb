"""The corpus: real packages' programs, debloated and run under what nobody traced.

    python benchmarks/corpus/run.py --data FOLDER [--programs NAME ...] [--only-check]

A row a program goes to `corpus.csv` in `benchmarks/results`, and a row to `corpus_others.csv` for
each program that was run, never traced, in the slim environment of another. A program that has its
row is skipped unless `--again` is given, so that a run that was cut off goes on where it was.
Environments and workspaces are in FOLDER: TRIMTAB_CORPUS, or a folder of the user's cache.
"""

import argparse
import csv
import os
import shutil
import subprocess
import sys
import time
import traceback
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from common import RESULTS, machine
from measure import Counts, Other, Pair, held_out_runs, other_runs, strict_runs, varied_runs
from programs import CorpusProgram, environment_of, read_programs

from trimtab.config.groups.workload import Workload
from trimtab.errors import TrimtabError
from trimtab.files import whole_file
from trimtab.records.tables import LIBRARIES, read_table

_OTHERS = 2


@dataclass
class Row:
    """What was measured of one program."""

    program: str
    environment: str
    date: str
    machine: str
    debloat_s: float
    environment_before_bytes: int  # blocks of the file system, of every file once
    environment_after_bytes: int
    libraries: int
    libraries_before_bytes: int
    libraries_after_bytes: int
    runs: int  # traced input, restored, varied conditions
    runs_equal: int
    runs_without_miss: int
    missed: int  # different pieces that these runs asked for
    strict_runs: int
    strict_runs_clean: int
    held_out_runs: int
    held_out_equal: int
    held_out_missed: int
    tests: int
    tests_equal: int
    other_runs: int
    other_equal: int
    other_missed: int
    differing: str  # which runs, and where the program could not be measured, why


@dataclass
class OtherRow:
    """A program in the slim environment of another: medians of its times, in turns."""

    program: str
    slim_environment_of: str
    runs: int
    equal: int
    missed: int
    original_s: float
    slim_s: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    data = Path(os.environ.get("TRIMTAB_CORPUS", cache / "trimtab-corpus"))
    parser.add_argument("--data", type=Path, default=data, help="where environments are made")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where the tables are")
    parser.add_argument("--programs", nargs="*", help="only these")
    parser.add_argument("--again", action="store_true", help="also those that have their row")
    parser.add_argument("--only-check", action="store_true", help="originals twice: no debloating")
    parser.add_argument("--runs", type=int, default=20, help="runs of the traced input")
    parser.add_argument("--strict-runs", type=int, default=20)
    parser.add_argument(
        "--others", nargs="*", metavar="NAME",
        help="programs to run untraced in the slim environments; by default the next two of each",
    )  # fmt: skip
    parser.add_argument("--keep", action="store_true", help="keep the slim environments")
    given = parser.parse_args()
    programs = read_programs()
    named = {*(given.programs or ()), *(given.others or ())}
    unknown = named - {program.name for program in programs}
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: no such file in programs/")
    corpus = Corpus(given, programs)
    done = set() if given.again or given.only_check else _names(given.output / "corpus.csv")
    for program in programs:
        if program.name in (given.programs or [program.name]) and program.name not in done:
            try:
                corpus.check(program) if given.only_check else corpus.measure(program)
            except (TrimtabError, OSError, subprocess.SubprocessError) as error:
                traceback.print_exc()
                print(f"{program.name}: FAILED: {error}", flush=True)


class Corpus:
    """All programs, and where they are measured."""

    def __init__(self, given: argparse.Namespace, programs: list[CorpusProgram]) -> None:
        self.given, self.programs = given, programs
        self.data: Path = given.data.resolve()

    def workload(self, program: CorpusProgram, words: list[str] | None = None) -> Workload:
        """The workload of `program` with its traced input, or with `words` in place of that."""
        python = environment_of(program, self.data)
        workdir = self.data / "work"
        workdir.mkdir(parents=True, exist_ok=True)
        return program.workload_in(python, program.traced if words is None else words, workdir)

    def check(self, program: CorpusProgram) -> None:
        """Run each input twice in the original environment, and say whether outcomes are equal."""
        pair = Pair(Path(), self.data / "checks" / program.name)
        for words in (program.traced, *program.held_out):
            workload = self.workload(program, words)
            first, second = pair.original(workload), pair.original(workload)
            differing = sorted(set(first.lines) ^ set(second.lines))[:4]
            verdict = "ok" if second.equals(first) else f"DIFFERS: {differing}"
            ended = "" if not first.exit_code else f" exit code {first.exit_code}"
            print(
                f"{program.name} {' '.join(words)}: {verdict}{ended},"
                f" {first.wall_s:.1f} and {second.wall_s:.1f} s, {len(first.lines)} lines",
                flush=True,
            )

    def debloat(self, program: CorpusProgram, workload: Workload, workspace: Path) -> float:
        """Make the slim environment as a user would, and return how many seconds it took."""
        shutil.rmtree(workspace, ignore_errors=True)
        command = [
            sys.executable, "-c", "from trimtab.cli.main import main; main()", "debloat",
            "--workspace", workspace, "--python", workload.python, *program.options,
            "--", *workload.command,
        ]  # fmt: skip
        begun = time.perf_counter()
        subprocess.run(command, cwd=workload.workdir, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - begun

    def measure(self, program: CorpusProgram) -> None:
        """Debloat `program`, measure all there is to measure, and write its rows."""
        workload, workspace = self.workload(program), self.data / "workspaces" / program.name
        debloat_s = self.debloat(program, workload, workspace)
        pair = Pair(workspace / "env", workspace / "runs")
        given = self.given
        varied = varied_runs(pair, workload, given.runs)
        strict = strict_runs(pair, workload, given.strict_runs)
        inputs = [self.workload(program, words) for words in program.held_out]
        held_out = held_out_runs(pair, program, inputs)
        others = [other_runs(pair, self.workload(other)) for other in self.others_of(program)]
        libraries = read_table(workspace / "libraries.parquet", LIBRARIES)
        row = Row(
            program=program.name,
            environment=program.environment,
            date=f"{datetime.now(UTC):%Y-%m-%d}",
            machine=machine(),
            debloat_s=round(debloat_s, 1),
            environment_before_bytes=disk_bytes(Path(workload.python or "").parents[1]),
            environment_after_bytes=disk_bytes(workspace / "env"),
            libraries=len(libraries),
            libraries_before_bytes=int(libraries["disk_before_bytes"].sum()),
            libraries_after_bytes=int(libraries["disk_after_bytes"].sum()),
            runs=varied.runs,
            runs_equal=varied.equal,
            runs_without_miss=varied.clean,
            missed=len(varied.missed),
            strict_runs=strict.runs,
            strict_runs_clean=strict.clean,
            held_out_runs=held_out.counts.runs,
            held_out_equal=held_out.counts.equal,
            held_out_missed=len(held_out.counts.missed),
            tests=held_out.tests,
            tests_equal=held_out.tests_equal,
            other_runs=sum(other.counts.runs for other in others),
            other_equal=sum(other.counts.equal for other in others),
            other_missed=sum(len(other.counts.missed) for other in others),
            differing=differing_of(varied, held_out.counts, *(other.counts for other in others)),
        )
        write_rows(given.output / "corpus.csv", Row, ("program",), [row])
        rows = [other_row(program, other) for other in others]
        keys = ("program", "slim_environment_of")
        write_rows(given.output / "corpus_others.csv", OtherRow, keys, rows)
        print(f"{program.name}: {asdict(row)}", flush=True)
        if not given.keep:
            shutil.rmtree(workspace / "env")

    def others_of(self, program: CorpusProgram) -> list[CorpusProgram]:
        """Programs of the same environment: those that were named, or the next two, in a circle."""
        same = [each for each in self.programs if each.environment == program.environment]
        at = same.index(program)
        following = [*same[at + 1 :], *same[:at]]
        if self.given.others is None:
            return following[:_OTHERS]
        return [each for each in following if each.name in self.given.others]


def disk_bytes(folder: Path) -> int:
    """The blocks that the files below `folder` take, each file once."""
    files = {}
    for path in folder.rglob("*"):
        state = path.lstat()
        files[state.st_dev, state.st_ino] = state.st_blocks * 512
    return sum(files.values())


def differing_of(*counts: Counts) -> str:
    """The runs whose outcome was not the original's."""
    return "; ".join(name for each in counts for name in each.differing)


def other_row(program: CorpusProgram, other: Other) -> OtherRow:
    counts = other.counts
    return OtherRow(
        other.program, program.name, counts.runs, counts.equal, len(counts.missed),
        round(other.original_s, 3), round(other.slim_s, 3),
    )  # fmt: skip


def _names(path: Path) -> set[str]:
    return {row["program"] for row in _rows(path)}


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def write_rows(
    path: Path, kind: type, keys: tuple[str, ...], rows: list[Row] | list[OtherRow]
) -> None:
    """Put `rows` into the table at `path`, in place of those that have the same `keys`."""
    table = {tuple(row[key] for key in keys): row for row in _rows(path)}
    for row in rows:
        values = {name: str(value) for name, value in asdict(row).items()}
        table[tuple(values[key] for key in keys)] = values
    with whole_file(path) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(kind)])
        writer.writeheader()
        writer.writerows(table[key] for key in sorted(table))


if __name__ == "__main__":
    main()
