"""Make the snapshot of a program's start in its slim environment."""

from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from trimtab.debloating.snapshots.saving import (
    NotSavedError,
    Saved,
    install,
    mark,
    remove_snapshots,
    save_start,
)
from trimtab.processes.program import Program
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.profiling.runs.run import measure_run

__all__ = ["NoSnapshot", "Snapshot", "make_snapshot", "remove_snapshots"]

_PAIRS = 5
_FASTER = 0.9  # of the start as it was; otherwise a snapshot is not worth its bytes


@dataclass(frozen=True)
class Snapshot:
    """A snapshot in place: its bytes, the median seconds of a start without and with it, and what
    the program does next.
    """

    size_bytes: int
    before_s: float
    after_s: float
    next_act: str


@dataclass(frozen=True)
class NoSnapshot:
    """Why there is no snapshot."""

    why: str


def make_snapshot(environment: Path, program: Program) -> Snapshot | NoSnapshot:
    """Save the start of `program`, of the slim `environment`, for later starts of it.

    The program is run three times, up to its first act that others can see, and then five times to
    its end without and with the snapshot. It stays if output and exit code are equal and the start
    takes less time. A program that reads its arguments before it imports the rest can have two: for
    these arguments, and for all.
    """
    remove_snapshots(environment)
    with TemporaryDirectory(prefix="trimtab-snapshot-") as place:
        try:
            made = _made(environment, program, Path(place))
        except NotSavedError as error:
            made = NoSnapshot(str(error))
    if isinstance(made, NoSnapshot):
        remove_snapshots(environment)
    return made


def _made(environment: Path, program: Program, place: Path) -> Snapshot | NoSnapshot:
    kept, found = list[Saved](), list[Snapshot]()
    all_saved, next_act = save_start(environment, program, place)
    for saved in all_saved:
        install(environment, [saved])
        compared = _compare(environment, program, place, saved.size_bytes, next_act)
        if isinstance(compared, Snapshot):
            kept.append(saved)
            found.append(compared)
    if not found:
        return compared
    install(environment, kept)
    return replace(found[0], size_bytes=sum(each.size_bytes for each in found))


def _compare(
    environment: Path, program: Program, place: Path, size_bytes: int, next_act: str
) -> Snapshot | NoSnapshot:
    runs = dict[bool, list[MeasuredRun]]()
    for repeat in range(_PAIRS):
        for has_snapshot in (False, True):
            mark(environment, has_snapshots=has_snapshot)
            run = measure_run(
                program, condition="snapshot" if has_snapshot else "slim", repeat=repeat,
                hardware=NO_POWER_MODEL, log_dir=place / "logs",
            )  # fmt: skip
            runs.setdefault(has_snapshot, []).append(run)
    before, after = runs[False], runs[True]
    if {_end(run) for run in after} - {_end(run) for run in before}:
        return NoSnapshot("output or exit code differ from those without it")
    before_s, after_s = (median(map(_seconds, each)) for each in (before, after))
    if after_s > before_s * _FASTER:
        return NoSnapshot(f"it saves too little: {before_s:.2f} s become {after_s:.2f} s")
    return Snapshot(size_bytes, before_s, after_s, next_act)


def _end(run: MeasuredRun) -> tuple[object, ...]:
    return run.exit_code, run.failure, run.output_digest


def _seconds(run: MeasuredRun) -> float:
    return run.wall_s if run.start_up_s is None else run.start_up_s
