"""The workspace of the command line: a folder with the results of each step on one program."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trimtab.cli.documents import TracedProgram
from trimtab.cli.program_options import NAME, ProgramOptions, held_out_inputs
from trimtab.cli.unfinished import changing, check_finished
from trimtab.cli.workspace_mark import claim
from trimtab.config.fields import MistakeError
from trimtab.config.groups.debloat import Debloat
from trimtab.config.groups.held_out import HeldOut
from trimtab.config.groups.workload import TargetConfig, Workload
from trimtab.config.root import Settle
from trimtab.config.stages import DebloatStage
from trimtab.config.validate import checked
from trimtab.debloating.debloat import Debloating, complete_usages
from trimtab.debloating.gpu.gpu_code import gpu_scope_of
from trimtab.debloating.images.saved_original import use_saved_original
from trimtab.debloating.kept_libraries import left_alone
from trimtab.debloating.libraries.profiled import untraced_libraries
from trimtab.debloating.settling import ORIGINAL, OnTurn, settle, why_not_settled
from trimtab.debloating.slimming import OnProgress, locate_in
from trimtab.debloating.snapshots.installing import remove_snapshots
from trimtab.debloating.snapshots.making import NoSnapshot, Snapshot
from trimtab.debloating.snapshots.starts import save_start as save_start_of
from trimtab.debloating.targets.base import Target
from trimtab.debloating.targets.registry import target_of
from trimtab.debloating.verification.verify import verify_environment
from trimtab.errors import UserError
from trimtab.files import open_regular, remove_tree
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.original import as_it_runs
from trimtab.progress import tell
from trimtab.records.imports.saved_starts import SavedStarts
from trimtab.records.misses.settling import Settling
from trimtab.records.usage import Usage

START = "start.json"
_INTERPRETER = re.compile(r"python(?:\d(?:\.\d+)?)?")  # by name
_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")  # an environment's folder has one of them


def find_interpreter(command: list[str]) -> Path | None:
    """Return the Python interpreter of `command`: itself, or from its `#!` line.

    A script with a long path starts through a shell; its interpreter is then the one beside it, if
    in an environment.
    """
    program = shutil.which(command[0])
    if program is None:
        return None
    if Path(program).name.startswith("python"):
        return _started_by(program)
    with open_regular(Path(program)) as file:
        first = file.readline(4096)
    words = first[2:].decode(errors="replace").split() if first.startswith(b"#!") else []
    for word in words:
        named = shutil.which(word) if Path(word).name.startswith("python") else None
        if named:
            return _started_by(named)
    beside = Path(os.path.abspath(program)).with_name("python")
    is_environment = any((beside.parent.parent / mark).exists() for mark in _ENVIRONMENTS)
    return beside if words and beside.is_file() and is_environment else None


def _started_by(python: str) -> Path:
    """Return the interpreter that a script of its name starts, as in pyenv; else itself."""
    with open_regular(Path(python)) as file:
        is_script = file.read(2) == b"#!"
    if is_script and _INTERPRETER.fullmatch(Path(python).name):  # not the user's own program
        asked = subprocess.run(
            [python, "-c", "import sys; print(sys.executable)"],
            capture_output=True,
            text=True,
            check=False,
        )
        if asked.returncode == 0 and (named := Path(asked.stdout.strip())).is_file():
            return named
    return Path(os.path.abspath(python))


def find_program(name: str, python: Path | None) -> str | None:
    """Return the path of a program as found in a run: first beside `python`."""
    path = os.environ.get("PATH", os.defpath)
    beside = f"{Path(os.path.abspath(python)).parent}:" if python else ""
    return shutil.which(name, path=beside + path)


def no_such_program(name: str) -> str:
    """Return the message that no program, or only a script, has that name."""
    if Path(name).suffix == ".py" and Path(name).is_file():
        return f"{name}: a script, which cannot be run by itself: expected `python {name}`"
    return f"{name}: no such program"


def trace(
    folder: Path,
    command: list[str],
    options: ProgramOptions = ProgramOptions(),  # noqa: B008  it is frozen
    traced_runs: int = 1,
    keep_libraries: Sequence[str] = (),
) -> Usage:
    """Trace `command` and keep its workload and usage in `folder`.

    The program first runs twice without tracing. Its exit code then is the expected one. Unless
    `options` define the comparison of outputs, it is the strictest one that both runs pass.
    Libraries that match the patterns `keep_libraries` are not traced. The usage's notes have the
    findings. Raises UserError when the command is missing or does not end in time or as expected,
    or its interpreter is unknown. Raises it, too, when `folder` is no workspace or inside the
    environment.
    """
    target, python = options.target or TargetConfig(), options.python
    if not target.is_root and not find_program(command[0], python):
        raise UserError(f"{no_such_program(command[0])}; give the command as you run it, after --")
    interpreter = python or (None if target.is_root else find_interpreter(command))
    if interpreter is None and target.location is None:
        raise UserError(
            f"{command[0]} is no Python program by its first line: name the interpreter whose"
            " environment is to be debloated with --python ENV/bin/python, or what else is to be"
            " with --target KIND:LOCATION"
        )
    workload = options.workload(command, interpreter)
    named = left_alone(_prepare(folder, workload), keep_libraries)
    original = as_it_runs(workload, folder / "runs", options.comparison is None)
    usage = original.trace(traced_runs, named.values())
    TracedProgram(workload=original.workload).write(folder / "workload.json")
    usage.write(folder / "usage.json")
    return usage


def list_libraries(folder: Path, options: ProgramOptions) -> Usage:
    """List in `folder` all shared libraries of an environment, without traces.

    Code that a GPU can never load may be removed from them without any run.
    """
    python, target = options.python, options.target or TargetConfig()
    workload = options.workload([str(python or target.location)], python)
    libraries = untraced_libraries(_prepare(folder, workload).root)
    usage = Usage(workload=NAME, command=[], complete=True, libraries=libraries)
    TracedProgram(workload=workload).write(folder / "workload.json")
    usage.write(folder / "usage.json")
    return usage


def _workload(folder: Path) -> Workload:
    return TracedProgram.read(folder / "workload.json").workload


def _target(workload: Workload) -> Target:
    return target_of(NAME, [workload])


def _prepare(folder: Path, workload: Workload) -> Target:
    """Make `folder` a workspace that can hold the slim environment; return the target."""
    target = _target(workload)
    target.check_place(folder / "env")
    claim(folder)
    return target


def locate(folder: Path, options: Debloat, gpus: list[str], on_progress: OnProgress) -> Path:
    """Write the spans of every traced library and return their folder."""
    target = _target(_workload(folder))
    usages = complete_usages([folder / "usage.json"])
    libraries = target.libraries(usages)
    gpu = gpu_scope_of(options, usages, gpus)
    spans = folder / "spans"
    remove_tree(spans)
    spans.mkdir(parents=True)
    for done, library in enumerate(libraries, 1):
        locate_in(library, options, gpu, spans)
        on_progress(library.name, done, len(libraries))
    return spans


def debloat(
    folder: Path,
    options: Debloat,
    gpus: list[str],
    clean_runs: int,
    on_progress: OnProgress,
    on_turn: OnTurn,
) -> Settling:
    """Make the slim environment of the traced program in `folder`/env, and settle it."""
    # Without a traced program there is nothing to run.
    ran = bool(Usage.read(folder / "usage.json").command)
    stage = DebloatStage(
        target=NAME,
        hardware="this_machine",
        gpus=gpus,
        workloads=[_workload(folder)],
        debloat=options,
        settle=Settle(clean_runs=clean_runs if ran else 0),
    )
    environment, settles = folder / "env", not why_not_settled(stage)
    (folder / START).unlink(missing_ok=True)  # of the environment that is replaced
    with (
        changing(folder, "debloat"),
        Debloating(stage, [folder / "usage.json"], folder, settles=settles) as debloating,
    ):
        debloating.write(on_progress)
        debloating.build(environment, ORIGINAL if settles else None)
        if settles:
            tell(f"usable now, settling: {environment}")
        with debloating.beside_runs():
            settling = settle(debloating, environment, on_turn)
        debloating.deliver(environment)
        debloating.weigh(environment)
    return settling


def check_end(folder: Path, usage: Usage) -> None:
    """Raise UserError where the traced program failed unexpectedly."""
    if usage.unasked_end:
        said = usage.unasked_end.rpartition(": ")[0]
        end = _workload(folder).ends_with
        raise UserError(
            f"{folder}: {said}; if that is right, debloat it again with `--ends-with {end}`"
        )


def save_start(folder: Path) -> tuple[Snapshot | NoSnapshot, SavedStarts]:
    """Save the start of the debloated program in `folder`, as a user's shell starts it.

    Returns what was made, and the document that is now in start.json.
    """
    environment, workload = _slim_environment(folder), _workload(folder)
    run_folder = folder / "runs/snapshot"
    made, start = save_start_of(_target(workload), workload, run_folder, environment)
    document = SavedStarts(target=NAME, hardware="this_machine", workloads=[start])
    document.write(folder / START)
    return made, document


def remove_snapshot(folder: Path) -> None:
    """Have the debloated program in `folder` start as before."""
    remove_snapshots(_slim_environment(folder))
    (folder / START).unlink(missing_ok=True)


def _slim_environment(folder: Path) -> Path:
    environment = folder / "env"
    if not environment.is_dir():
        raise UserError(f"{environment}: missing; run `trimtab debloat` first")
    check_finished(folder)
    usage = Usage.read(folder / "usage.json")
    if not usage.command:
        raise UserError(f"{folder}: no program was traced, so there is none to run")
    check_end(folder, usage)
    return environment


def verify(folder: Path, repeats: int, held_out: Sequence[Sequence[str]] = ()) -> Path:
    """Compare the program's output in both environments; returns the path of the verdict.

    The commands `held_out` run too, to record their misses. Raises UserError for one that no
    workload can have.
    """
    environment = _slim_environment(folder)
    workload = _workload(folder)
    use_saved_original(folder, [workload])
    try:
        given = held_out_inputs(held_out, is_server=bool(workload.server.drive))
        inputs = {name: checked(one, HeldOut) for name, one in given.items()}
        workload = replace(workload, held_out={**workload.held_out, **inputs})
    except MistakeError as error:
        raise UserError(f"--held-out: {error}") from None
    verify_environment(
        NAME, [workload], NO_POWER_MODEL, environment, folder / "manifest.json", repeats,
        folder,
    )  # fmt: skip
    return folder / "verify.json"
