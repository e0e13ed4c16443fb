"""Make the snapshot of a program's start in its slim environment."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from trimtab.debloating.snapshots.installing import (
    can_have_snapshots,
    install_snapshots,
    remove_snapshot,
    snapshot_name,
    use_snapshots,
)
from trimtab.debloating.snapshots.saving import NotSavedError, Saved, save_start
from trimtab.errors import UserError
from trimtab.processes.program import Program
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.profiling.runs.run import measure_run

_PAIRS = 5
_FASTER = 0.9  # of the start as it was; otherwise a snapshot is not worth its bytes


@dataclass(frozen=True)
class Snapshot:
    """A snapshot in place: its bytes, what the program does next, and the measured starts.

    `pairs_s` are the seconds of starts without it and with it, one after the other.
    """

    size_bytes: int
    next_act: str
    pairs_s: tuple[tuple[float, float], ...]

    @property
    def before_s(self) -> float:
        """The median of the starts without it."""
        return median(before_s for before_s, _ in self.pairs_s)

    @property
    def after_s(self) -> float:
        """The median of the starts with it."""
        return median(after_s for _, after_s in self.pairs_s)


@dataclass(frozen=True)
class NoSnapshot:
    """Why there is no snapshot."""

    why: str


def make_snapshot(
    environment: Path, program: Program, *, for_all_arguments: bool = False
) -> Snapshot | NoSnapshot:
    """Save the start of `program`, of the slim `environment`, for later starts of it.

    The program is run three times, up to its first act that others can see, and then five times to
    its end without and with the snapshot. It stays if output and exit code are equal and the start
    takes less time. A program that reads its arguments before it imports the rest can have two: for
    these arguments, and for all. With `for_all_arguments` there is only the latter. Snapshots of
    other programs stay.
    """
    if not can_have_snapshots(environment):
        return NoSnapshot("the environment has no archive of modules, whose start looks for one")
    name = snapshot_name(program)
    remove_snapshot(environment, name)
    with TemporaryDirectory(prefix="trimtab-snapshot-") as place:
        try:
            found = save_start(environment, program, Path(place), name, for_all_arguments)
            saved, next_act = found
            kept, pairs_s = _worthwhile(environment, name, program, saved, Path(place))
            install_snapshots(environment, name, kept)
        except BaseException as error:
            remove_snapshot(environment, name)
            # Such as of a full disk, or of a run without its output.
            if isinstance(error, (NotSavedError, OSError, UserError)):
                return NoSnapshot(str(error))
            raise
        return Snapshot(sum(each.size_bytes for each in kept), next_act, pairs_s)


def _worthwhile(
    environment: Path, name: str, program: Program, all_saved: Sequence[Saved], place: Path
) -> tuple[list[Saved], tuple[tuple[float, float], ...]]:
    """Return what is worth to be kept, and the pairs of starts of the first.

    Raises NotSavedError if nothing is.
    """
    kept, measured, problem = list[Saved](), [], ""
    for saved in all_saved:
        install_snapshots(environment, name, [saved])
        try:
            measured.append(_compare(environment, program, place))
            kept.append(saved)
        except NotSavedError as error:
            problem = str(error)
    if not kept:
        raise NotSavedError(problem)
    return kept, measured[0]


def _compare(environment: Path, program: Program, place: Path) -> tuple[tuple[float, float], ...]:
    """Return the seconds of each pair of starts, without and with snapshots."""
    runs = dict[bool, list[MeasuredRun]]()
    for repeat in range(_PAIRS):
        for has_snapshot in (False, True):
            use_snapshots(environment, has_snapshot)
            run = measure_run(
                program, condition="snapshot" if has_snapshot else "slim", repeat=repeat,
                hardware=NO_POWER_MODEL, log_dir=place / "logs",
            )  # fmt: skip
            runs.setdefault(has_snapshot, []).append(run)
    before, after = runs[False], runs[True]
    if {_end(run) for run in after} - {_end(run) for run in before}:
        raise NotSavedError("output or exit code differ from those without it")
    before_s, after_s = (median(map(_seconds, each)) for each in (before, after))
    if after_s > before_s * _FASTER:
        raise NotSavedError(f"it saves too little: {before_s:.2f} s become {after_s:.2f} s")
    return tuple(zip(map(_seconds, before), map(_seconds, after), strict=True))


def _end(run: MeasuredRun) -> tuple[object, ...]:
    return run.exit_code, run.failure, run.output_digest


def _seconds(run: MeasuredRun) -> float:
    return run.wall_s if run.start_up_s is None else run.start_up_s
