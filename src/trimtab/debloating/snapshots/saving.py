"""Save the start of a program in its slim environment, after one of its imports."""

import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trimtab.debloating.snapshots import choosing
from trimtab.debloating.snapshots.guards import ChangedError, guards, is_steering
from trimtab.debloating.snapshots.log import ALL, Entry, asked, entries, made_files
from trimtab.native import native_path
from trimtab.processes.program import Program

_INSIDE = ("inside_program.py", "watching.py", "renewing.py")
_PATIENCE_S = 600.0
_LEAST_PART = 4


class NotSavedError(Exception):
    """There is no snapshot: its text says why."""


@dataclass(frozen=True)
class Saved:
    """The image of a start, and its guards."""

    image: Path
    guards: bytes

    @property
    def size_bytes(self) -> int:
        """The bytes of the image."""
        return self.image.stat().st_size


def save_start(
    environment: Path,
    program: Program,
    place: Path,
    name: str = "image",
    for_all_arguments: bool = False,
) -> tuple[list[Saved], str]:
    """Save the program's start in its slim `environment`, in the empty folder `place`; say in a few
    words what the program does next that can be in no snapshot.

    A start for the same arguments comes before one for all, which is made if that has a good part
    of its bytes; with `for_all_arguments` it is the only one. The images are called `name` and a
    number. Raises NotSavedError.
    """
    roots = _folders_of_code(environment)
    found, problem = list[Saved](), ""
    try:
        log = _started(program, place / "record", 0)
        points = choosing.points(log, roots)
        for turn, numbers in enumerate(points[-1:] if for_all_arguments else points):
            folder = place / str(turn)
            folder.mkdir()
            try:
                saved = _saved(program, log, numbers, roots, folder / name)
            except NotSavedError as error:
                problem = str(error)
                continue
            is_worth_it = not found or saved.size_bytes * _LEAST_PART >= found[0].size_bytes
            if is_worth_it and saved.image.name not in {each.image.name for each in found}:
                found.append(saved)
    except OSError as error:
        raise NotSavedError(str(error)) from None
    if not found:
        raise NotSavedError(problem)
    return found, choosing.why_not_later(log, roots)


def _folders_of_code(environment: Path) -> list[Path]:
    """Return the folders of the environment and of the interpreter that it is based on."""
    interpreters = [path.resolve().parent.parent for path in environment.glob("bin/python*")]
    return list(dict.fromkeys([environment, environment.resolve(), *interpreters]))


def _saved(
    program: Program,
    log: Sequence[Entry],
    numbers: Sequence[int],
    roots: Sequence[Path],
    place: Path,
) -> Saved:
    """Save the program after the first of the imports `numbers` after which it can be.

    The image is beside `place`, whose name it has, with a number.
    """
    problem = f"no import comes before this: {choosing.why_not_later(log, roots)}"
    for number in numbers:
        made, watched = place.with_name(f"saved-{number}"), choosing.before(log, number)
        ready = replace(program, environment=_needed(program, watched))
        try:
            # What differs in another process was drawn by chance, and is drawn anew.
            states = _states(_started(ready, place.with_name(f"other-{number}"), number))
            since_ns = time.time_ns()
            saved = choosing.before(_started(ready, made, number, states), number)
            words = _words(made, saved, choosing.reads_arguments(watched))
            image = (made / "image").rename(place.with_name(f"{place.name}-{number}"))
            variables = ready.environment
            text = guards(image.name, saved, watched, words, variables, roots, since_ns)
            return Saved(image, text)
        except (NotSavedError, ChangedError) as error:
            problem = str(error)
    raise NotSavedError(problem)


def _needed(program: Program, watched: Sequence[Entry]) -> dict[str, str]:
    """Return the variables that it asked for: no other value, such as a password, is saved."""
    names, variables = asked(watched), program.environment.items()
    if ALL in names:
        return dict(variables)
    return {
        name: value
        for name, value in variables
        if name in names or is_steering(name) or name == "PATH"
    }


def _words(made: Path, saved: Sequence[Entry], are_arguments_read: bool) -> list[bytes | None]:
    """Return the words of the command that are compared, and None if there may be no more."""
    words = (made / "words").read_bytes().split(b"\0")[:-1]
    if are_arguments_read:
        return [*words, None]
    before = next(int(entry.words[1]) for entry in saved if entry.words[:1] == ("words",))
    return [*words[:before]]


def _states(log: Sequence[Entry]) -> list[str]:
    return [entry.words[1] for entry in log if entry.words[:1] == ("generator",)]


def _started(
    program: Program, folder: Path, number: int, states: Sequence[str] = ()
) -> list[Entry]:
    """Run the program to the import `number`, 0 for its first visible act; return its log."""
    folder.mkdir()
    library = folder / "trimtab_snapshot.abi3.so"
    shutil.copyfile(native_path("libtrimtab-snapshot.so"), library)
    for name in _INSIDE:
        shutil.copyfile(Path(__file__).with_name(name), folder / name)
    environment = {**program.environment, "TRIMTAB_SNAPSHOT": str(folder / _INSIDE[0])}
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
        raise NotSavedError(str(error)) from None
    log = entries(folder / "log") if (folder / "log").exists() else []
    for file in made_files(log):  # a later start makes them itself
        if not Path(file).is_relative_to(folder):
            (program.workdir / file).unlink(missing_ok=True)
    if (folder / "why").exists():
        raise NotSavedError((folder / "why").read_text())
    image = folder / "image"
    if done.returncode or not log or (number and not image.exists()):
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise NotSavedError(
            f"its start cannot be recorded: {said[-1] if said else done.returncode}"
        )
    return log
