"""What is measured of one program: runs in its slim environment beside runs in the original one.

Runs of the slim environment put back what they miss, as it is delivered, unless they are said to be
strict. Two runs are equal that ended alike and wrote what counts as equal for the program, which is
every byte unless its YAML says otherwise.
"""

import shutil
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from programs import CorpusProgram

from trimtab.config.groups.workload import Workload
from trimtab.debloating.fallback import Behaviour, fallback_environment
from trimtab.debloating.targets.registry import target_of
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.runs.compare import compare_outputs
from trimtab.profiling.runs.conditions import Condition, varied
from trimtab.profiling.runs.run import measure_run
from trimtab.records.removed_calls import RemovedCall, read_removed_calls

AS_IT_IS = varied(0)
_FIRST = 101  # an odd number that settling does not reach: conditions that nothing was built from
_WITH_CACHES = 4  # as many runs have caches of their own, cold and warm by turns, which takes time
_PAIRS = 3


@dataclass(frozen=True)
class Run:
    """One run: how it ended, a copy of what it wrote, how long it took, and what it missed."""

    workload: Workload
    exit_code: int
    timed_out: bool
    output: Path
    wall_s: float
    missed: tuple[RemovedCall, ...]

    def equals(self, other: "Run") -> bool:
        """Whether both ended alike, with output that counts as equal."""
        ends = [(each.exit_code, each.timed_out) for each in (self, other)]
        if ends[0] != ends[1]:
            return False
        return compare_outputs(self.output, other.output, self.workload.output) is None

    @property
    def lines(self) -> list[str]:
        """What it wrote, by lines."""
        return self.output.read_text(errors="replace").splitlines()


@dataclass
class Counts:
    """Runs of a slim environment, those whose outcome is the original's, and what was missed."""

    runs: int = 0
    equal: int = 0
    clean: int = 0
    missed: set[tuple[str, int]] = field(default_factory=set)
    differing: list[str] = field(default_factory=list)

    def add(self, name: str, run: Run, *, equal: bool) -> None:
        """Count a run; `name` says which it was, where it differs."""
        self.runs += 1
        self.equal += equal
        self.clean += not run.missed
        self.missed |= {(call.library, call.address) for call in run.missed}
        if not equal:
            self.differing.append(name)


@dataclass
class Pair:
    """A program's environment and the slim one made for it; logs and caches are in `folder`."""

    slim: Path
    folder: Path
    _runs: int = 0

    def original(self, workload: Workload, condition: Condition = AS_IT_IS) -> Run:
        """Run `workload` in the original environment."""
        return self._run(workload, condition, None)

    def restored(self, workload: Workload, condition: Condition = AS_IT_IS) -> Run:
        """Run `workload` in the slim environment, what it misses put back."""
        return self._run(workload, condition, Behaviour.RESTORE)

    def strict(self, workload: Workload, condition: Condition = AS_IT_IS) -> Run:
        """Run `workload` in the slim environment, ended by what it misses."""
        return self._run(workload, condition, Behaviour.STRICT)

    def _run(self, workload: Workload, condition: Condition, behaviour: Behaviour | None) -> Run:
        folder, record = self.folder / workload.name, self.folder / "removed_calls.jsonl"
        record.unlink(missing_ok=True)
        target = target_of(workload.name, [workload])
        slim = None if behaviour is None else self.slim
        program = condition.apply(target.program(workload, folder / "output", slim))
        if behaviour is not None:
            environment = fallback_environment(program.environment, behaviour, record)
            program = replace(program, environment=environment)
        run = measure_run(
            program, condition=behaviour or "original", repeat=0, hardware=NO_POWER_MODEL,
            log_dir=folder / "logs",
        )  # fmt: skip
        self._runs += 1
        output = folder / "outputs" / str(self._runs)
        output.parent.mkdir(exist_ok=True)
        shutil.copyfile(run.output or run.stdout, output)  # none where it failed
        missed = tuple(read_removed_calls(record))
        return Run(workload, run.exit_code, run.timed_out, output, run.wall_s, missed)

    def keep_logs(self, workload: Workload, name: str) -> None:
        """Keep the logs of the last runs, which differed, for whoever looks into it."""
        kept = self.folder / "differing" / name
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self.folder / workload.name / "logs", kept)


def varied_runs(pair: Pair, workload: Workload, count: int) -> Counts:
    """Run the traced input `count` times under conditions that no run had before.

    Where one is not equal to the original as it is, the original runs under the same condition too:
    that is what it has to equal.
    """
    counts, usual = Counts(), pair.original(workload)
    for number in range(_FIRST, _FIRST + count):
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

    Only misses count here, not outcomes: a run that is ended has none.
    """
    counts = Counts()
    for number in range(_FIRST + count, _FIRST + 2 * count):
        run = pair.strict(workload, varied(number))
        counts.add(f"strict condition {number}", run, equal=True)
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
    """A program that was never traced, in the slim environment of another."""

    program: str
    counts: Counts
    original_s: float
    slim_s: float


def other_runs(pair: Pair, workload: Workload) -> Other:
    """Run `workload`, another program of the same environment, in both in turns."""
    counts, original_s, slim_s = Counts(), [], []
    pair.original(workload)  # what caches the files; not counted
    for number in range(_PAIRS):
        if number % 2:
            slim, original = pair.restored(workload), pair.original(workload)
        else:
            original, slim = pair.original(workload), pair.restored(workload)
        equal = slim.equals(original)
        counts.add(f"{workload.name} {number}", slim, equal=equal)
        original_s.append(original.wall_s)
        slim_s.append(slim.wall_s)
        if not equal:
            pair.keep_logs(workload, f"{workload.name}-{number}")
    return Other(workload.name, counts, statistics.median(original_s), statistics.median(slim_s))
