"""Debloat the shared libraries of a target for a set of workloads."""

import os
import shutil
import tarfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd

from trimtab.binaries.rewriting.compact import rewrite
from trimtab.config.groups.debloat import Debloat
from trimtab.config.stages import DebloatStage
from trimtab.debloating.gpu.gpu_code import GpuScope, gpu_scope_of
from trimtab.debloating.libraries import Located, ProfiledLibrary, locate_used
from trimtab.debloating.outcome import (
    SlimLibrary,
    gpus_of,
    measure,
    modules_made_at_run_time,
    used_code,
)
from trimtab.debloating.span_document import document_of
from trimtab.debloating.targets.registry import target_of
from trimtab.errors import UserError
from trimtab.files import whole_file
from trimtab.records.library_spans import spans_file
from trimtab.records.manifest import Manifest, Timings
from trimtab.records.tables import LIBRARIES, write_table
from trimtab.records.usage import Usage

OnProgress = Callable[[str, int, int], None]  # the library that is done, how many are, of how many

# The work is reading and writing; numpy and zstd release the interpreter's lock. Each worker
# holds a few chunks of a library.
_WORKERS = min(8, len(os.sched_getaffinity(0)))


def complete_usages(paths: Sequence[Path]) -> list[Usage]:
    """Return the usages in `paths`; raises UserError when one is not the whole of its run."""
    usages = [Usage.read(path) for path in paths]
    for path, usage in zip(paths, usages, strict=True):
        if not usage.complete:
            reasons = "; ".join(usage.incomplete_because)
            raise UserError(f"{path}: incomplete, so nothing is removed: {reasons}")
    return usages


def locate_in(library: ProfiledLibrary, options: Debloat, gpu: GpuScope, spans: Path) -> Located:
    """Return what of a library is kept and removed, and write it to the folder `spans`."""
    located = locate_used(library, options, gpu)
    document_of(
        library.path,
        library.name,
        located.spans,
        options.minimum_hole_bytes,
        started=located.started,
        gpu=located.gpu,
    ).write(spans_file(spans, library.name))
    return located


def debloat_target(
    stage: DebloatStage,
    usages: Sequence[Path],
    destination: Path,
    on_progress: OnProgress = lambda name, done, total: None,
) -> None:
    """Write the slim libraries of a target and what was done to each into `destination`.

    `usages` are the usage.json of the stage's workloads. `libraries.tar` holds the slim libraries
    by their path in the target, `libraries.parquet` a row of LIBRARIES for each, `spans/` what was
    kept and why, `used.json` the functions and kernels that were used, `manifest.json` sizes and
    digests. Raises UserError when a usage is incomplete, the workloads have different environments,
    or a library was changed since it was profiled.
    """
    options, records = stage.debloat, complete_usages(usages)
    target = target_of(stage.target, stage.workloads)
    libraries = target.libraries(records)
    if not libraries:
        raise UserError(f"target {stage.target}: no shared library of {target.root} was loaded")
    gpu = gpu_scope_of(options, records, stage.gpus)
    destination.mkdir(parents=True, exist_ok=True)
    scratch, spans = destination / ".slim", destination / "spans"
    for folder in (scratch, spans):
        shutil.rmtree(folder, ignore_errors=True)
    try:
        slim, locate_s, rewrite_s = _slim(libraries, options, gpu, scratch, spans, on_progress)
        rows, files = measure(slim, stage.target, stage.hardware, _WORKERS)
        _pack(slim, destination / "libraries.tar")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    write_table(destination / "libraries.parquet", LIBRARIES, pd.DataFrame(rows))
    used_code(slim).write(destination / "used.json")
    Manifest(
        target=stage.target,
        hardware=stage.hardware,
        workloads=[workload.name for workload in stage.workloads],
        environment=target.describe(),
        mode=options.mode,
        symbols=options.symbols,
        gpus=gpus_of(gpu, records),
        gpu_code_kept_because=gpu.why_all,
        modules_made_at_run_time=modules_made_at_run_time(gpu, slim),
        timings=Timings(sum(usage.trace_s for usage in records), locate_s, rewrite_s),
        files=files,
    ).write(destination / "manifest.json")


def _slim(
    libraries: list[ProfiledLibrary],
    options: Debloat,
    gpu: GpuScope,
    scratch: Path,
    spans: Path,
    on_progress: OnProgress,
) -> tuple[list[SlimLibrary], float, float]:
    """Rewrite all libraries; the times are wall time, shared out as the threads spent it."""
    locating_s = rewriting_s = 0.0
    begun_s = time.perf_counter()

    def work(library: ProfiledLibrary) -> tuple[SlimLibrary, float, float]:
        started_s = time.perf_counter()
        located = locate_in(library, options, gpu, spans)
        located_s = time.perf_counter()
        path = scratch / library.name
        rewritten = rewrite(
            located.elf,
            located.spans,
            options.mode,  # type: ignore[arg-type]  # an option of the same words
            path,
            minimum_hole_bytes=options.minimum_hole_bytes,
            patches=located.patches,
        )
        return (
            SlimLibrary(library, located, rewritten, path),
            located_s - started_s,
            time.perf_counter() - located_s,
        )

    slim: list[SlimLibrary] = []
    with ThreadPoolExecutor(_WORKERS) as pool:
        # The largest first, so that none is left alone at the end.
        largest_first = sorted(libraries, key=lambda library: -library.size_bytes)
        for library, locate_s, rewrite_s in pool.map(work, largest_first):
            locating_s, rewriting_s = locating_s + locate_s, rewriting_s + rewrite_s
            slim.append(library)
            on_progress(library.profiled.name, len(slim), len(libraries))
    slim.sort(key=lambda library: library.profiled.name)
    share = (time.perf_counter() - begun_s) / (locating_s + rewriting_s)
    return slim, locating_s * share, rewriting_s * share


def _pack(slim: Sequence[SlimLibrary], archive: Path) -> None:
    """The same libraries give the same archive, whoever made it and when."""

    def anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
        return member

    with whole_file(archive) as temporary, tarfile.open(temporary, "w") as tar:
        for library in slim:
            tar.add(library.path, library.profiled.name, filter=anonymous)
