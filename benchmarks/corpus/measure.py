"""What is measured of one program: runs in its slim environment beside runs in the original one.

Runs of the slim environment put back what they miss, as it is delivered, unless they are said to be
strict. Two runs are equal that ended alike and wrote what counts as equal for the program, which is
every byte unless its YAML says otherwise. Where the time is up, fewer runs are made than are asked
for, and the counts tell how many.
"""

import math
import shutil
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from programs import CorpusProgram
from rows import Row

from trimtab.config.groups.workload import Workload
from trimtab.debloating.fallback import Behaviour, fallback_environment
from trimtab.debloating.targets.registry import target_of
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.runs.compare_outputs import compare_outputs
from trimtab.profiling.runs.conditions import Condition, varied
from trimtab.profiling.runs.run import measure_run
from trimtab.records.misses.removed_calls import read_removed_calls
from trimtab.records.misses.removed_files import read_missed_files

AS_IT_IS = varied(0)
_FIRST = 101  # an odd number that settling does not reach: conditions that nothing was built from
_WITH_CACHES = 4  # as many runs have caches of their own, cold and warm by turns, which takes time
_PAIRS = 3
_LAST_WORDS_BYTES = 300


@dataclass(frozen=True)
class Run:
    """One run: how it ended, a copy of what it wrote, what it cost, and what it missed.

    `problem` is what went wrong with a server before it was stopped, or None. `cpu_s` is of all its
    processes, in user and in kernel mode. `missed` names removed pieces of libraries, and files.
    """

    workload: Workload
    exit_code: int
    timed_out: bool
    problem: str | None
    output: Path
    error: Path
    wall_s: float
    cpu_s: float
    peak_rss_bytes: int
    missed: frozenset[str]

    def equals(self, other: "Run") -> bool:
        """Whether both ended alike, with output that counts as equal."""
        ends = [(each.exit_code, each.timed_out, each.problem) for each in (self, other)]
        if ends[0] != ends[1]:
            return False
        return compare_outputs(self.output, other.output, self.workload.output) is None

    @property
    def lines(self) -> list[str]:
        """What it wrote, by lines."""
        return self.output.read_text(errors="replace").splitlines()

    @property
    def last_error(self) -> str:
        """The last line of its standard error, which another run may have written anew since."""
        lines = self.error.read_text(errors="replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        return last[-_LAST_WORDS_BYTES:] or f"exit code {self.exit_code}"


@dataclass
class Counts:
    """Runs of a slim environment, those whose outcome is the original's, and what was missed."""

    runs: int = 0
    equal: int = 0
    clean: int = 0
    missed: set[str] = field(default_factory=set)
    differing: list[str] = field(default_factory=list)

    def add(self, name: str, run: Run, *, equal: bool) -> None:
        """Count a run; `name` says which it was, where it differs."""
        self.runs += 1
        self.equal += equal
        self.clean += not run.missed
        self.missed |= run.missed
        if not equal:
            self.differing.append(name)


@dataclass
class Pair:
    """A program's environment and the slim one made for it; logs and caches are in `folder`.

    `until` is when, by the monotonic clock, the last run has to have ended.
    """

    slim: Path
    folder: Path
    until: float = math.inf
    _runs: int = 0
    _longest_s: float = 0.0

    def in_time(self) -> bool:
        """Return whether there is time for two more runs, however long."""
        return time.monotonic() + 2 * self._longest_s < self.until

    def original(self, workload: Workload, condition: Condition = AS_IT_IS) -> Run:
        """Run `workload` in the original environment."""
        return self._run(workload, condition, None)

    def restored(self, workload: Workload, condition: Condition = AS_IT_IS) -> Run:
        """Run `workload` in the slim environment, what it misses put back."""
        return self._run(workload, condition, Behaviour.RESTORE)

    def strict(self, workload: Workload, condition: Condition = AS_IT_IS) -> Run:
        """Run `workload` in the slim environment, ended by what it misses."""
        return self._run(workload, condition, Behaviour.STRICT)

    def calls(self, workload: Workload, *, slim: bool) -> int | None:
        """Run `workload` under strace and count the system calls of all its processes.

        Returns None without strace, and where the slim environment misses something.
        """
        strace = shutil.which("strace")
        if strace is None:
            return None
        log = self.folder / f"{'slim' if slim else 'original'}_calls.txt"
        # -D: the program stays the child that is waited for, and that a stop signal goes to.
        by = (strace, "-D", "-f", "-c", "-U", "name,calls", "-o", str(log), "--")
        run = self._run(workload, AS_IT_IS, Behaviour.RESTORE if slim else None, by)
        return None if run.missed else total_calls(log.read_text())

    def _run(
        self,
        workload: Workload,
        condition: Condition,
        behaviour: Behaviour | None,
        by: tuple[str, ...] = (),
    ) -> Run:
        folder, record = self.folder / workload.name, self.folder / "removed_calls.jsonl"
        record.unlink(missing_ok=True)
        target = target_of(workload.name, [workload])
        slim = None if behaviour is None else self.slim
        program = condition.apply(target.program(workload, folder / "output", slim))
        if behaviour is not None:
            environment = fallback_environment(program.environment, behaviour, record)
            program = replace(program, environment=environment)
        program = replace(program, command=by + program.command)
        run = measure_run(
            program, condition=behaviour or "original", repeat=0, hardware=NO_POWER_MODEL,
            log_dir=folder / "logs",
        )  # fmt: skip
        self._runs += 1
        output = folder / "outputs" / str(self._runs)
        output.parent.mkdir(exist_ok=True)
        shutil.copyfile(run.output or run.stdout, output)  # none where it failed
        self._longest_s = max(self._longest_s, run.wall_s)
        return Run(
            workload, run.exit_code, run.timed_out, run.server_problem, output, run.stderr,
            run.wall_s, run.counts["cpu_s"], run.peak_rss_bytes, _missed_in(record),
        )  # fmt: skip

    def keep_logs(self, workload: Workload, name: str) -> None:
        """Keep the logs of the last runs, which differed, for whoever looks into it."""
        kept = self.folder / "differing" / name
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self.folder / workload.name / "logs", kept)


def _missed_in(record: Path) -> frozenset[str]:
    calls, files = read_removed_calls(record), read_missed_files(record)
    names = [f"{call.library} {call.address:#x}" for call in calls]
    return frozenset([*names, *(file.path for file in files)])


def total_calls(table: str) -> int:
    """Return the number of calls that the table of `strace -c` adds up to."""
    rows = [line.split() for line in table.splitlines()]
    return next(int(row[1]) for row in rows if row[:1] == ["total"])


def varied_runs(pair: Pair, workload: Workload, count: int) -> Counts:
    """Run the traced input `count` times under conditions that no run had before.

    Where one is not equal to the original as it is, the original runs under the same condition too:
    that is what it has to equal.
    """
    counts, usual = Counts(), pair.original(workload)
    for number in range(_FIRST, _FIRST + count):
        if not pair.in_time():
            break
        own = pair.folder / "caches" if number < _FIRST + _WITH_CACHES else None
        run = pair.restored(workload, varied(number, own / "slim" if own else None))
        equal = run.equals(usual)
        if not equal:
            same = pair.original(workload, varied(number, own / "original" if own else None))
            equal = run.equals(same)
        if not equal:
            pair.keep_logs(workload, f"condition-{number}")
        counts.add(f"condition {number}", run, equal=equal)
    shutil.rmtree(pair.folder / "caches", ignore_errors=True)
    return counts


def strict_runs(pair: Pair, workload: Workload, count: int) -> Counts:
    """Run the traced input `count` times under varied conditions, each ended by what it misses.

    A run that misses something has no outcome; one that does not has to equal the original.
    """
    counts, usual = Counts(), pair.original(workload)
    for number in range(_FIRST + count, _FIRST + 2 * count):
        if not pair.in_time():
            break
        run = pair.strict(workload, varied(number))
        equal = bool(run.missed) or run.equals(usual)
        equal = equal or run.equals(pair.original(workload, varied(number)))
        if not equal or run.missed:
            pair.keep_logs(workload, f"strict-condition-{number}")
        counts.add(f"strict condition {number}", run, equal=equal)
    return counts


@dataclass
class HeldOut:
    """Inputs that were not traced, and the tests of them where they are a package's tests."""

    counts: Counts = field(default_factory=Counts)
    tests: int = 0
    tests_equal: int = 0


def held_out_runs(pair: Pair, program: CorpusProgram, workloads: Sequence[Workload]) -> HeldOut:
    """Run each of `workloads`, held-out inputs of `program`, in both environments."""
    found = HeldOut()
    for number, workload in enumerate(workloads):
        if not pair.in_time():
            break
        original, slim = pair.original(workload), pair.restored(workload)
        equal = slim.equals(original)
        found.counts.add(f"held out {number}", slim, equal=equal)
        if program.is_tests:
            found.tests += len(original.lines)
            found.tests_equal += len(set(original.lines) & set(slim.lines))
        if not equal:
            pair.keep_logs(workload, f"held-out-{number}")
    return found


@dataclass
class Other:
    """A program that was never traced, in the slim environment of another; times by run."""

    program: str
    counts: Counts = field(default_factory=Counts)
    original_s: list[float] = field(default_factory=list)
    slim_s: list[float] = field(default_factory=list)


def other_runs(pair: Pair, workload: Workload) -> Other:
    """Run `workload`, another program of the same environment, in both in turns."""
    other = Other(workload.name)
    pair.original(workload)  # what caches the files; not counted
    for number in range(_PAIRS):
        if not pair.in_time():
            break
        original, slim = _in_turn(pair, workload, number)
        equal = slim.equals(original)
        other.counts.add(f"{workload.name} {number}", slim, equal=equal)
        other.original_s.append(original.wall_s)
        other.slim_s.append(slim.wall_s)
        if not equal:
            pair.keep_logs(workload, f"{workload.name}-{number}")
    return other


def turns(pair: Pair, workload: Workload, count: int, row: Row) -> None:
    """Run `workload` `count` times in each environment, in turns; put what it costs into `row`.

    Of each pair slim is divided by original, before anything is put together: what else the machine
    does then is in both. System calls are counted in one more run each.
    """
    runs: list[tuple[Run, Run]] = []
    for number in range(count):
        if not pair.in_time():
            break
        original, slim = _in_turn(pair, workload, number)
        if not slim.missed:
            runs.append((original, slim))
    row.pairs = len(runs)
    if not runs:
        return
    originals, slims = zip(*runs, strict=True)
    wall = [slim.wall_s / original.wall_s for original, slim in runs]
    cpu = [slim.cpu_s / original.cpu_s for original, slim in runs]
    row.wall_ratio_low, row.wall_ratio, row.wall_ratio_high = quartiles(wall)
    row.cpu_ratio_low, row.cpu_ratio, row.cpu_ratio_high = quartiles(cpu)
    row.original_s = round(statistics.median(run.wall_s for run in originals), 3)
    row.slim_s = round(statistics.median(run.wall_s for run in slims), 3)
    row.original_cpu_s = round(statistics.median(run.cpu_s for run in originals), 3)
    row.slim_cpu_s = round(statistics.median(run.cpu_s for run in slims), 3)
    row.original_peak_rss_bytes = statistics.median_low(run.peak_rss_bytes for run in originals)
    row.slim_peak_rss_bytes = statistics.median_low(run.peak_rss_bytes for run in slims)
    if pair.in_time():
        row.original_calls = pair.calls(workload, slim=False)
        row.slim_calls = pair.calls(workload, slim=True)


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the first quartile of `values`, their median and the third; of one alone, itself."""
    at_least_two = values if len(values) > 1 else [*values, *values]
    low, middle, high = statistics.quantiles(at_least_two, n=4, method="inclusive")
    return round(low, 4), round(middle, 4), round(high, 4)


def _in_turn(pair: Pair, workload: Workload, number: int) -> tuple[Run, Run]:
    """Run `workload` in the original and in the slim environment, which is first by turns."""
    if number % 2:
        slim = pair.restored(workload)
        return pair.original(workload), slim
    return pair.original(workload), pair.restored(workload)
