"""Make the snapshot of a program's start in its slim environment."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from trimtab.debloating.snapshots import choosing
from trimtab.debloating.snapshots.guards import guards
from trimtab.debloating.snapshots.installing import (
    can_have_snapshots,
    install_snapshot,
    remove_snapshot,
    snapshot_name,
    use_snapshots,
)
from trimtab.debloating.snapshots.log import Entry, entries
from trimtab.errors import UserError
from trimtab.native import native_path
from trimtab.processes.program import Program
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.profiling.runs.run import measure_run

_INSIDE = Path(__file__).with_name("inside_program.py")
_PATIENCE_S = 600.0
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


class _NotSavedError(Exception):
    pass


def make_snapshot(environment: Path, program: Program) -> Snapshot | NoSnapshot:
    """Save the start of `program`, of the slim `environment`, for later starts of it.

    The program is run three times, up to its first act that others can see, and then five times to
    its end without and with the snapshot. It stays if output and exit code are equal and the start
    takes less time. Snapshots of other programs stay.
    """
    if not can_have_snapshots(environment):
        return NoSnapshot("the environment has no archive of modules, whose start looks for one")
    name = snapshot_name(program)
    remove_snapshot(environment, name)
    roots = _folders_of_code(environment)
    with TemporaryDirectory(prefix="trimtab-snapshot-") as place:
        try:
            log = _started(program, Path(place, "record"), 0)
            next_act = choosing.why_not_later(log, roots)
            made, text = _saved(name, program, log, roots, Path(place))
            size_bytes = install_snapshot(environment, name, made, text)
            pairs_s = _compare(environment, program, Path(place))
        except BaseException as error:
            remove_snapshot(environment, name)
            if isinstance(error, (_NotSavedError, UserError)):  # such as of a missing output
                return NoSnapshot(str(error))
            raise
    return Snapshot(size_bytes, next_act, pairs_s)


def _folders_of_code(environment: Path) -> list[Path]:
    """Return the folders of the environment and of the interpreter that it is based on."""
    interpreters = [environment, *environment.glob("bin/python*")]
    return list(
        dict.fromkeys(
            path.resolve().parent.parent if path != environment else path for path in interpreters
        )
    )


def _saved(
    name: str, program: Program, log: Sequence[Entry], roots: Sequence[Path], place: Path
) -> tuple[Path, bytes]:
    """Return the image of the program after the best of its imports, and its guards."""
    asked = frozenset(entry.words[1] for entry in log if entry.words[:1] == ("asks",))
    problem = f"no import comes before this: {choosing.why_not_later(log, roots)}"
    for number in choosing.points(log, roots):
        made = place / f"saved-{number}"
        try:
            # What differs in another process was drawn by chance, and is drawn anew.
            other = _started(program, place / f"other-{number}", number)
            states = _states(other)
            saved = _started(program, made, number, states)
            if len(_states(saved)) != len(states):
                raise _NotSavedError("its generators of random numbers differ between runs")
        except _NotSavedError as error:
            problem = str(error)
            continue
        before = saved[: next(i for i, each in enumerate(saved) if _is_end(each, number))]
        text = guards(before, program.command, program.environment, asked, roots, image=name)
        return made / "image", text
    raise _NotSavedError(problem)


def _states(log: Sequence[Entry]) -> list[str]:
    return [entry.words[1] for entry in log if entry.words[:1] == ("generator",)]


def _is_end(entry: Entry, number: int) -> bool:
    return entry.words[:2] == ("end", str(number))


def _started(
    program: Program, folder: Path, number: int, states: Sequence[str] = ()
) -> list[Entry]:
    """Run the program to the import `number`, 0 for its first visible act; return its log."""
    folder.mkdir()
    library = folder / "trimtab_snapshot.abi3.so"
    shutil.copyfile(native_path("libtrimtab-snapshot.so"), library)
    script = folder / "start.py"
    shutil.copyfile(_INSIDE, script)
    environment = {**program.environment, "TRIMTAB_SNAPSHOT": str(script)}
    task = ""
    if not number:  # a library that is loaded first sees which variables are asked for
        before = program.environment.get("LD_PRELOAD")
        environment["LD_PRELOAD"] = f"{library}:{before}" if before else str(library)
        task = "LD_PRELOAD" if before is None else f"LD_PRELOAD={before}"
    (folder / "task").write_text("\n".join((f"{task}\n", str(number), *states)))
    try:
        done = subprocess.run(
            program.command, env=environment, cwd=program.workdir, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=_PATIENCE_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _NotSavedError(str(error)) from None
    if (folder / "why").exists():
        raise _NotSavedError((folder / "why").read_text())
    image = folder / "image"
    if done.returncode or not (folder / "log").exists() or (number and not image.exists()):
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise _NotSavedError(
            f"its start cannot be recorded: {said[-1] if said else done.returncode}"
        )
    return entries(folder / "log")


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
        raise _NotSavedError("output or exit code differ from those without it")
    before_s, after_s = (median(map(_seconds, each)) for each in (before, after))
    if after_s > before_s * _FASTER:
        raise _NotSavedError(f"it saves too little: {before_s:.2f} s become {after_s:.2f} s")
    return tuple(zip(map(_seconds, before), map(_seconds, after), strict=True))


def _end(run: MeasuredRun) -> tuple[object, ...]:
    return run.exit_code, run.failure, run.output_digest


def _seconds(run: MeasuredRun) -> float:
    return run.wall_s if run.start_up_s is None else run.start_up_s
