"""The corpus: where its programs are, what is made of each, and the rows that tell what was seen.

Of a program that is measured the workspace of `trimtab debloat` is in the data folder, until its
row is complete: a run that was cut off goes on with the slim environment that it had made.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from common import machine
from measure import Counts, Other, Pair, held_out_runs, other_runs, strict_runs, turns, varied_runs
from programs import CorpusProgram, environment_of
from rows import OTHER_KEYS, OTHERS, PROGRAMS, ROW_KEYS, OtherRow, Row, read_rows, write_rows

from trimtab.cli.program_options import NAME
from trimtab.config.groups.workload import Workload
from trimtab.debloating.risk import RunHistory
from trimtab.errors import UserError
from trimtab.files import read_json, write_json
from trimtab.records.misses.settling import Settling
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import LIBRARIES

_OTHERS = 2
_STATE = "corpus.json"  # in a workspace: how long debloat took; whether all has been measured


class Corpus:
    """All programs, and where they are measured.

    `modules` are the folders that Python finds trimtab in, which no program must see.
    """

    def __init__(
        self, given: argparse.Namespace, programs: list[CorpusProgram], modules: list[str]
    ) -> None:
        self.given, self.programs, self.modules = given, programs, modules
        self.data: Path = given.data.resolve()
        self.workdir = self.data / "work" / str(given.slot)
        self.temporary = self.data / "tmp" / str(given.slot)
        if given.job:  # in a process of its own
            for folder in (self.workdir, self.temporary):
                folder.mkdir(parents=True, exist_ok=True)
            os.environ["TMPDIR"] = str(self.temporary)

    def program(self, name: str) -> CorpusProgram:
        """Return the program called `name`."""
        return next(program for program in self.programs if program.name == name)

    def environment(self, program: CorpusProgram) -> str:
        """Return the name of the environment that `program` is measured in."""
        if self.given.environment is None:
            return program.environment
        version = subprocess.run(
            [self._python(program), "-c", "import platform; print(platform.python_version())"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        return f"found, Python {version.stdout.strip()}"

    def is_done(self, program: CorpusProgram) -> bool:
        """Return whether `program` has a row with as many runs as are asked for, and all else."""
        given, rows = self.given, read_rows(self.given.output / PROGRAMS)
        mine = [row for row in rows if row["program"] == program.name]
        state = self._workspace(program) / _STATE
        if state.exists() and not read_json(state)["complete"]:
            return False
        environment = self.environment(program) if mine else ""
        return any(
            row.get("environment") == environment
            and int(row["runs"]) >= given.runs
            and int(row["strict_runs"]) >= given.strict_runs
            for row in mine
        )

    def _workspace(self, program: CorpusProgram) -> Path:
        return self.data / "workspaces" / program.name

    def workload(self, program: CorpusProgram, words: list[str] | None = None) -> Workload:
        """The workload of `program` with its traced input, or with `words` in place of that."""
        traced = program.traced if words is None else words
        return program.workload_in(self._python(program), traced, self.workdir)

    def _python(self, program: CorpusProgram) -> Path:
        if self.given.environment is not None:
            return Path(os.path.abspath(self.given.environment)) / "bin" / "python"
        return environment_of(program, self.data)

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

    def fits(self, program: CorpusProgram) -> bool:
        """Return whether the found environment runs `program`, twice alike; says why where not."""
        why = self._verdict(program)["why_not"]
        if why:
            print(f"{program.name}: skipped: {why}", flush=True)
        return not why

    def _verdict(self, program: CorpusProgram) -> dict[str, Any]:
        path = self.data / "fits" / f"{program.name}.json"
        if not path.exists():
            why_not, exit_code = self._why_not(program)
            write_json(path, {"why_not": why_not, "exit_code": exit_code})
        verdict: dict[str, Any] = read_json(path)
        return verdict

    def _why_not(self, program: CorpusProgram) -> tuple[str, int]:
        """Return why a program does not fit, or "", and how it ended: some tests may fail."""
        pair = Pair(Path(), self.data / "checks" / str(self.given.slot) / program.name)
        try:
            workload = self.workload(program)
            first = pair.original(workload)
            ended_well = first.exit_code in workload.good_exit_codes
            if first.problem:
                return first.problem, first.exit_code
            if not ended_well and not (program.is_tests and first.lines):
                return first.last_error, first.exit_code
            alike = pair.original(workload).equals(first)
        except UserError as error:  # its command is not there
            return str(error), 0
        why_not = "" if alike else "its original does not write the same twice"
        return why_not, 0 if ended_well else first.exit_code

    def measure(self, program: CorpusProgram) -> bool:
        """Debloat `program`, measure all there is time to measure, and write its rows.

        Returns whether it did: the environment, where one was found, may not fit.
        """
        if self.given.environment is not None and not self.fits(program):
            return False
        row = Row(
            program=program.name,
            environment=self.environment(program),
            date=f"{datetime.now(UTC):%Y-%m-%d}",
            machine=machine(),
        )
        try:
            self._measure(program, row)
        except (Exception, KeyboardInterrupt) as error:
            row.differing = f"could not be measured: {type(error).__name__}: {error}"[:600]
            self._write(row)
            raise
        print(
            f"{program.name}: {row.runs_equal} of {row.runs} equal, {row.missed} missed,"
            f" {row.strict_runs_clean} of {row.strict_runs} strict runs clean,"
            f" {row.held_out_equal} of {row.held_out_runs} held-out inputs,"
            f" {row.tests_equal} of {row.tests} tests,"
            f" {row.other_equal} of {row.other_runs} other programs; {row.differing or 'ok'}",
            flush=True,
        )
        return True

    def _write(self, row: Row, others: Sequence[Other] = ()) -> None:
        write_rows(self.given.output / PROGRAMS, Row, ROW_KEYS, [row])
        rows = [_other_row(row, other) for other in others]
        write_rows(self.given.output / OTHERS, OtherRow, OTHER_KEYS, rows)

    def _measure(self, program: CorpusProgram, row: Row) -> None:
        """Fill in `row`, which is written after each step, as the process may be ended then."""
        given, workload = self.given, self.workload(program)
        workspace = self._workspace(program)
        row.debloat_s, row.usable_s = self._debloat(program, workload, workspace)
        settling = Settling.read(workspace / "settling.json")
        # Those before the first slim environment have a log each.
        row.debloat_runs = len(settling.runs) + len([*workspace.glob("runs/*.stderr")])
        risk = RunHistory(settling).risk_of(NAME)
        row.risk_estimate, row.risk_bound = risk.estimate, risk.bound
        libraries = read_table(workspace / "libraries.parquet", LIBRARIES)
        row.libraries = len(libraries)
        row.libraries_before_bytes = int(libraries["disk_before_bytes"].sum())
        row.libraries_after_bytes = int(libraries["disk_after_bytes"].sum())
        row.environment_before_bytes = disk_bytes(Path(workload.python or "").parents[1])
        row.environment_after_bytes = disk_bytes(workspace / "env")

        pair = Pair(workspace / "env", workspace / "runs", given.until)
        varied = varied_runs(pair, workload, given.runs)
        row.runs, row.runs_equal = varied.runs, varied.equal
        row.runs_without_miss, row.missed = varied.clean, len(varied.missed)
        row.differing = differing_of(varied)
        self._write(row)
        strict = strict_runs(pair, workload, given.strict_runs)
        row.strict_runs, row.strict_runs_clean = strict.runs, strict.clean
        row.differing = differing_of(varied, strict)
        self._write(row)
        inputs = [self.workload(program, words) for words in program.held_out]
        held_out = held_out_runs(pair, program, inputs)
        row.held_out_runs, row.held_out_equal = held_out.counts.runs, held_out.counts.equal
        row.held_out_missed = len(held_out.counts.missed)
        row.tests, row.tests_equal = held_out.tests, held_out.tests_equal
        row.differing = differing_of(varied, strict, held_out.counts)
        self._write(row)
        turns(pair, workload, given.pairs, row)
        others: list[Other] = []
        for other in self._others(program):
            if not pair.in_time() or (given.others is None and len(others) == _OTHERS):
                break
            if given.environment is None or self.fits(other):
                others.append(other_runs(pair, self.workload(other)))
        counts = [other.counts for other in others]
        row.other_runs = sum(each.runs for each in counts)
        row.other_equal = sum(each.equal for each in counts)
        row.other_missed = sum(len(each.missed) for each in counts)
        row.differing = differing_of(varied, strict, held_out.counts, *counts)
        self._write(row, [other for other in others if other.counts.runs])
        if pair.in_time():
            state = read_json(workspace / _STATE)
            write_json(workspace / _STATE, {**state, "complete": True})
            if not given.keep:  # the logs of runs that differed stay
                shutil.rmtree(workspace / "env")

    def _debloat(
        self, program: CorpusProgram, workload: Workload, workspace: Path
    ) -> tuple[float, float | None]:
        """Make the slim environment as a user would; return how many seconds it took.

        And after how many it was said to be usable, if it was. One that a run had made which was
        cut off later is still there.
        """
        state = workspace / _STATE
        if state.exists() and not self.given.again and (workspace / "env").exists():
            known = read_json(state)
            return known["debloat_s"], known["usable_s"]
        shutil.rmtree(workspace, ignore_errors=True)
        found = f"import sys; sys.path[:0] = {self.modules!r}"
        code = f"{found}; from trimtab.cli.main import main; main()"
        command = [
            sys.executable, "-c", code, "debloat",
            "--workspace", workspace, "--python", workload.python, *program.options,
            *self._end(program), *self.given.option, "--", *workload.command,
        ]  # fmt: skip
        begun, usable_s, lines = time.perf_counter(), None, []
        with subprocess.Popen(
            command, cwd=workload.workdir, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True,
        ) as done:  # fmt: skip
            assert done.stderr is not None
            for line in done.stderr:
                sys.stderr.write(line)
                lines.append(line)
                if "usable now" in line:
                    usable_s = round(time.perf_counter() - begun, 1)
        if done.returncode:
            said = " ".join("".join(lines).split("error:")[-1].split())
            raise UserError(f"debloat ended with exit code {done.returncode}: {said[-500:]}")
        debloat_s = round(time.perf_counter() - begun, 1)
        write_json(state, {"debloat_s": debloat_s, "usable_s": usable_s, "complete": False})
        return debloat_s, usable_s

    def _end(self, program: CorpusProgram) -> list[str]:
        """Return the option for tests of which some fail in an environment that was found."""
        found = self.given.environment is not None
        code = self._verdict(program)["exit_code"] if found else 0
        return ["--ends-with", str(code)] if code else []

    def _others(self, program: CorpusProgram) -> list[CorpusProgram]:
        """Return others of the same environment: those that were named, or all, in a circle."""
        found, names = self.given.environment is not None, self.given.others
        same = [each for each in self.programs if found or each.environment == program.environment]
        at = same.index(program)
        following = [*same[at + 1 :], *same[:at]]
        return [each for each in following if names is None or each.name in names]


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


def _other_row(row: Row, other: Other) -> OtherRow:
    counts = other.counts
    return OtherRow(
        other.program, row.program, row.environment, counts.runs, counts.equal, len(counts.missed),
        _seconds(other.original_s), _seconds(other.slim_s),
    )  # fmt: skip


def _seconds(times: list[float]) -> str:
    return " ".join(f"{time_s:.3f}" for time_s in times)
