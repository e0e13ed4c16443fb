"""Make the snapshot of a program's start in its slim environment."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from trimtab.debloating.snapshots import choosing
from trimtab.debloating.snapshots.guards import guards, is_steering
from trimtab.debloating.snapshots.log import Entry, entries
from trimtab.files import remove_tree
from trimtab.native import native_path
from trimtab.processes.program import Program
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.profiling.runs.run import measure_run

FOLDER = Path("trimtab/snapshots")
_INSIDE = Path(__file__).with_name("inside_program.py")
_HOOK = "lib/python3*/site-packages/00_trimtab_fallback.pth"
_HAS_SNAPSHOTS = 4  # native/file_fallback/python_start.c
_PATIENCE_S = 600.0
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


class _NotSavedError(Exception):
    pass


def make_snapshot(environment: Path, program: Program) -> Snapshot | NoSnapshot:
    """Save the start of `program`, of the slim `environment`, for later starts of it.

    The program is run three times, up to its first act that others can see, and then five times to
    its end without and with the snapshot. It stays if output and exit code are equal and the start
    takes less time.
    """
    remove_snapshots(environment)
    roots = _folders_of_code(environment)
    with TemporaryDirectory(prefix="trimtab-snapshot-") as place:
        try:
            log = _started(program, Path(place, "record"), 0)
            next_act = choosing.why_not_later(log, roots)
            made, text = _saved(program, log, roots, Path(place))
            _install(environment, made, text)
        except _NotSavedError as error:
            return NoSnapshot(str(error))
        compared = _compare(environment, program, Path(place), next_act)
    if isinstance(compared, NoSnapshot):
        remove_snapshots(environment)
    return compared


def _folders_of_code(environment: Path) -> list[Path]:
    """Return the folders of the environment and of the interpreter that it is based on."""
    interpreters = [environment, *environment.glob("bin/python*")]
    return list(dict.fromkeys(path.resolve().parent.parent if path != environment else path for path in interpreters))


def remove_snapshots(environment: Path) -> None:
    """Remove all snapshots of the slim `environment`."""
    _mark(environment, has_snapshots=False)
    remove_tree(environment / FOLDER)


def _saved(
    program: Program, log: Sequence[Entry], roots: Sequence[Path], place: Path
) -> tuple[Path, bytes]:
    """Return the image of the program after the best of its imports, and its guards."""
    asked = frozenset(entry.words[1] for entry in log if entry.words[:1] == ("asks",))
    # No other variable's value, such as a password, comes into the file.
    needed = {
        name: value
        for name, value in program.environment.items()
        if name in asked or is_steering(name) or name == "PATH"
    }
    program = replace(program, environment=needed)
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
        command = program.command
        serves_all = not choosing.reads_arguments(log, number)
        return made / "image", guards(
            before, command, program.environment, asked, roots, serves_all
        )
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
        raise _NotSavedError(f"its start cannot be recorded: {said[-1] if said else done.returncode}")
    return entries(folder / "log")


def _install(environment: Path, image: Path, text: bytes) -> None:
    """Put the image and its guards into the environment, whole or not at all."""
    part = environment / FOLDER.with_suffix(".part")
    remove_tree(part)
    part.mkdir()
    shutil.copyfile(image, part / "image")
    shutil.copyfile(native_path("trimtab-restore"), part / "restore")
    (part / "restore").chmod(0o755)
    (part / "guards").write_bytes(text)
    for name in ("image", "guards"):  # memory, and values of variables
        (part / name).chmod(0o600)
    part.rename(environment / FOLDER)
    _mark(environment, has_snapshots=True)


def _mark(environment: Path, *, has_snapshots: bool) -> None:
    """Have starts of the environment look for snapshots, or not: a digit of its .pth line."""
    for hook in environment.glob(_HOOK):
        text = hook.read_text()
        begin, call, rest = text.rpartition(".start(")
        if not call or not rest[0].isdigit():
            continue
        how = int(rest[0]) & ~_HAS_SNAPSHOTS | (_HAS_SNAPSHOTS if has_snapshots else 0)
        if how != int(rest[0]):
            with hook.open("r+b") as file:  # in place: the folder's time is in the archive
                os.pwrite(file.fileno(), str(how).encode(), len((begin + call).encode()))


def _compare(
    environment: Path, program: Program, place: Path, next_act: str
) -> Snapshot | NoSnapshot:
    runs = dict[bool, list[MeasuredRun]]()
    for repeat in range(_PAIRS):
        for has_snapshot in (False, True):
            _mark(environment, has_snapshots=has_snapshot)
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
    size = (environment / FOLDER / "image").stat().st_size
    return Snapshot(size, before_s, after_s, next_act)


def _end(run: MeasuredRun) -> tuple[object, ...]:
    return run.exit_code, run.failure, run.output_digest


def _seconds(run: MeasuredRun) -> float:
    return run.wall_s if run.start_up_s is None else run.start_up_s
