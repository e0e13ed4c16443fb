"""The workspace of the command line: a folder with the results of each step on one program."""

import os
import shutil
from pathlib import Path

import pandas as pd

from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.gpu.fatbin import find_gpu_code
from trimtab.binaries.gpu.wrappers import registered_regions
from trimtab.binaries.rewriting.compact import rewrite
from trimtab.binaries.rewriting.not_started import stop_patches
from trimtab.binaries.rewriting.regions import Patch, rewrite_regions
from trimtab.cli.documents import DebloatOptions, TracedProgram
from trimtab.config.groups.debloat import Debloat, Mode
from trimtab.config.groups.workload import Comparison, Output, TargetConfig, Workload
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import OnProgress, complete_usages, debloat_target, locate_in
from trimtab.debloating.fallback import Source
from trimtab.debloating.gpu.gpu_code import gpu_scope_of
from trimtab.debloating.learning import run_with_restored_code, with_calls
from trimtab.debloating.libraries import untraced_libraries
from trimtab.debloating.span_document import spans_of
from trimtab.debloating.targets.base import Target
from trimtab.debloating.targets.registry import target_of
from trimtab.debloating.verification.verify import verify_environment
from trimtab.errors import TrimtabError, UserError
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.profile import trace_workload
from trimtab.records.library_spans import LibrarySpans
from trimtab.records.manifest import Manifest
from trimtab.records.tables import LIBRARIES, read_table
from trimtab.records.usage import Usage

_NAME = "program"


def find_interpreter(command: list[str]) -> Path | None:
    """Return the Python interpreter that `command` runs in: itself, or that of its `#!` line."""
    program = shutil.which(command[0])
    if program is None:
        return None
    if Path(program).name.startswith("python"):
        return Path(os.path.abspath(program))
    with open(program, "rb") as file:
        first = file.readline(4096)
    words = first[2:].decode(errors="replace").split() if first.startswith(b"#!") else []
    named = [Path(word) for word in words if Path(word).name.startswith("python")]
    return named[0] if named and named[0].is_file() else None


def trace(
    folder: Path,
    command: list[str],
    python: Path | None = None,
    output: Path | None = None,
    traced_runs: int = 3,
    target: TargetConfig = TargetConfig(),  # noqa: B008  it is frozen
) -> Usage:
    """Trace `command` and keep its workload and usage in `folder`.

    `output` is a file that the program writes, compared later instead of its standard output;
    `target` what is debloated, by default the environment of `python` or of the command's own.
    Raises UserError when the command does not exist, fails, or its interpreter is not known.
    """
    if not shutil.which(command[0]):
        raise UserError(f"{command[0]}: no such program; give the command as you run it, after --")
    interpreter = python or find_interpreter(command)
    if interpreter is None and target.location is None:
        raise UserError(
            f"{command[0]} is no Python program by its first line: name the interpreter whose"
            " environment is to be debloated with --python ENV/bin/python, or what else is to be"
            " with --target KIND:LOCATION"
        )
    compared = Output(Comparison.DIGEST_FILE, str(output.absolute())) if output else Output()
    workload = _program(command, interpreter, target, compared)
    _target(workload)
    usage = trace_workload(workload, folder / "runs", traced_runs)
    TracedProgram(workload=workload).write(folder / "workload.json")
    usage.write(folder / "usage.json")
    return usage


def _program(
    command: list[str],
    python: Path | None,
    target: TargetConfig,
    output: Output = Output(),  # noqa: B008  it is frozen
) -> Workload:
    """Return the workload that a command line describes; paths start at the current folder."""
    return Workload(
        name=_NAME,
        command=command,
        python=None if python is None else str(python),
        target=target,
        workdir=str(Path.cwd()),
        output=output,
    )


def list_libraries(folder: Path, python: Path | None, target: TargetConfig) -> Usage:
    """Keep in `folder` all shared libraries of an environment, none of them traced.

    What a GPU can never load may be removed from them without running anything.
    """
    workload = _program([str(python or target.location)], python, target)
    libraries = untraced_libraries(_target(workload).root)
    usage = Usage(workload=_NAME, command=[], complete=True, libraries=libraries)
    TracedProgram(workload=workload).write(folder / "workload.json")
    usage.write(folder / "usage.json")
    return usage


def _workload(folder: Path) -> Workload:
    return TracedProgram.read(folder / "workload.json").workload


def _target(workload: Workload) -> Target:
    return target_of(_NAME, [workload])


def locate(folder: Path, options: Debloat, gpus: list[str], on_progress: OnProgress) -> Path:
    """Write the spans of every traced library and return their folder."""
    target = _target(_workload(folder))
    usages = complete_usages([folder / "usage.json"])
    libraries = target.libraries(usages)
    gpu = gpu_scope_of(options, usages, gpus)
    spans = folder / "spans"
    shutil.rmtree(spans, ignore_errors=True)
    spans.mkdir(parents=True)
    for done, library in enumerate(libraries, 1):
        locate_in(library, options, gpu, spans)
        on_progress(library.name, done, len(libraries))
    return spans


def debloat(
    folder: Path, options: Debloat, gpus: list[str], on_progress: OnProgress
) -> pd.DataFrame:
    """Write the slim libraries of the traced program; returns a row of LIBRARIES for each."""
    workload = _workload(folder)
    DebloatOptions(options=options).write(folder / "options.json")
    stage = DebloatStage(
        target=_NAME, hardware="this_machine", gpus=gpus, workloads=[workload], debloat=options
    )
    debloat_target(stage, [folder / "usage.json"], folder, on_progress)
    return read_table(folder / "libraries.parquet", LIBRARIES)


def build(folder: Path, options: Debloat) -> Path:
    """Make the slim environment and return its folder."""
    environment = folder / "env"
    _target(_workload(folder)).build(folder, options.share, Source.of(options), environment)
    return environment


def _slim_environment(folder: Path) -> Path:
    environment = folder / "env"
    if not environment.is_dir():
        raise UserError(f"{environment}: missing; run `trimtab debloat` first")
    if not Usage.read(folder / "usage.json").command:
        raise UserError(f"{folder}: no program was traced, so there is none to run")
    return environment


def learn(folder: Path, repeats: int, on_progress: OnProgress) -> int:
    """Run the program in its slim environment and make that again with what was missing.

    Returns how many removed functions the runs called.
    """
    environment, workload = _slim_environment(folder), _workload(folder)
    target = _target(workload)
    calls = run_with_restored_code(target, workload, environment, repeats, folder / "learning")
    if calls:
        usage = Usage.read(folder / "usage.json")
        with_calls(usage, target, calls).write(folder / "usage.json")
        options = DebloatOptions.read(folder / "options.json").options
        gpus = [str(gpu.architecture) for gpu in Manifest.read(folder / "manifest.json").gpus]
        debloat(folder, options, gpus, on_progress)
        build(folder, options)
    return len(calls)


def verify(folder: Path, repeats: int) -> Path:
    """Compare the program's output in both environments; returns the path of the verdict."""
    environment = _slim_environment(folder)
    verify_environment(
        _NAME, [_workload(folder)], NO_POWER_MODEL, environment, folder / "manifest.json", repeats,
        folder,
    )  # fmt: skip
    return folder / "verify.json"


def reconstruct(span_path: Path, output_dir: Path, mode: Mode) -> Path:
    """Rebuild the library of `span_path` in `output_dir` and return its path there.

    Raises UserError when the spans are no spans, or the library is not the one they are about.
    """
    try:
        document = LibrarySpans.read(span_path)
    except TrimtabError as error:
        raise UserError(str(error)) from None  # the file is one that was given
    library, spans = Path(document.library), spans_of(document)
    elf = read_elf(library)
    if (elf.build_id, elf.size_bytes) != (spans.build_id, spans.size_bytes):
        raise UserError(f"{span_path}: {library} is not the library that these spans are about")
    destination = output_dir / library.name
    if destination.resolve() == library.resolve():
        raise UserError(f"{output_dir}: holds the original {library.name}; choose another folder")
    patches: tuple[Patch, ...] = ()
    if document.gpu_code is not None:
        if document.gpu_code.pruned_elements:
            raise UserError(
                f"{span_path}: unused kernels were pruned within modules, which spans do not hold;"
                f" {library.name} without them is in libraries.tar"
            )
        listed = {offset for offset, _ in document.gpu_code.placed} | document.gpu_code.kept
        registered = registered_regions(elf)
        patches = rewrite_regions(
            elf.data, find_gpu_code(elf), listed, registered=registered
        ).patches
    if not document.started:
        patches = stop_patches(elf)
    rewrite(
        elf,
        spans,
        mode,  # type: ignore[arg-type]  # an option of the same words
        destination,
        document.minimum_hole_bytes,
        patches=patches,
    )
    return destination
