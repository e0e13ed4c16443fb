"""Debloat the shared libraries of an environment for a set of workloads."""

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
from trimtab.config.groups.workload import Workload
from trimtab.debloating.gpu_code import GpuTarget, gpu_target_of
from trimtab.debloating.libraries import Located, ProfiledLibrary, locate_used, targets_of
from trimtab.debloating.outcome import (
    SlimLibrary,
    gpus_of,
    measure,
    modules_made_at_run_time,
    used_code,
)
from trimtab.debloating.prefix import prefix_of
from trimtab.errors import UserError
from trimtab.files import whole_file, write_json
from trimtab.profiling.runs.from_workload import absolute
from trimtab.records.tables import LIBRARIES, write_table
from trimtab.records.usage import Usage

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


def spans_file(folder: Path, name: str) -> Path:
    """Return where the spans of the library `name` are written: one flat file a library."""
    return folder / f"{name.replace('/', '__')}.json"


def write_spans(folder: Path, target: ProfiledLibrary, located: Located) -> None:
    """Write what of a library is kept and removed, and why, as `spans/{library}.json`."""
    document = {"library": str(target.path), "name": target.name, **located.spans.to_json()}
    if located.gpu.decisions is not None:
        pruned = {"pruned_elements": located.gpu.pruned}
        document["gpu_code"] = located.gpu.decisions.to_json() | pruned
    write_json(spans_file(folder, target.name), document)


def debloat_target(
    target: str,
    hardware: str,
    usages: Sequence[Path],
    workloads: Sequence[Workload],
    options: Debloat,
    gpus: Sequence[str],
    destination: Path,
    on_progress: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> None:
    """Write the slim libraries of `target` and what was done to each into `destination`.

    `gpus` are the compute capabilities that GPU code is kept for; none: those traced on.
    `libraries.tar` holds the slim libraries by their path in the environment, `libraries.parquet`
    a row of LIBRARIES for each, `spans/` what was kept and why, `used.json` the functions and
    kernels that were used, `manifest.json` sizes and hashes.
    `on_progress` is told each library as it is done. Raises UserError when a usage is incomplete,
    the workloads have different environments, or a library was changed since it was profiled.
    """
    records = complete_usages(usages)
    prefixes = {prefix_of(absolute(Path(workload.python))) for workload in workloads}
    if len(prefixes) != 1:
        names = ", ".join(map(str, sorted(prefixes)))
        raise UserError(f"target {target}: its workloads have several environments: {names}")
    prefix = prefixes.pop()
    libraries = targets_of(records, prefix)
    if not libraries:
        raise UserError(f"target {target}: no shared library of {prefix} was loaded")
    gpu = gpu_target_of(options, records, gpus)
    destination.mkdir(parents=True, exist_ok=True)
    scratch = destination / ".slim"
    shutil.rmtree(scratch, ignore_errors=True)
    spans = destination / "spans"
    shutil.rmtree(spans, ignore_errors=True)
    try:
        slim, timings = _slim(libraries, options, gpu, scratch, spans, on_progress)
        rows, entries = measure(slim, target, hardware, _WORKERS)
        with (
            whole_file(destination / "libraries.tar") as temporary,
            tarfile.open(temporary, "w") as archive,
        ):
            for each in slim:
                archive.add(each.path, each.target.name, filter=_anonymous)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    write_table(destination / "libraries.parquet", LIBRARIES, pd.DataFrame(rows))
    write_json(destination / "used.json", {"libraries": used_code(slim)})
    timings["trace_s"] = sum(usage.trace_s for usage in records)
    write_json(
        destination / "manifest.json",
        {
            "target": target,
            "hardware": hardware,
            "workloads": [workload.name for workload in workloads],
            "prefix": str(prefix),
            "mode": options.mode,
            "symbols": options.symbols,
            "gpus": gpus_of(gpu, records),
            "gpu_code_kept_because": gpu.why_all,
            "modules_made_at_run_time": modules_made_at_run_time(gpu, slim),
            "timings": timings,
            "files": entries,
        },
    )


def _slim(
    libraries: list[ProfiledLibrary],
    options: Debloat,
    gpu: GpuTarget,
    scratch: Path,
    spans: Path,
    on_progress: Callable[[str, int, int], None],
) -> tuple[list[SlimLibrary], dict[str, float]]:
    """Rewrite all libraries; the timings are wall time, shared out as the threads spent it."""
    locating_s = rewriting_s = 0.0
    begun_s = time.perf_counter()

    def work(target: ProfiledLibrary) -> tuple[SlimLibrary, float, float]:
        started_s = time.perf_counter()
        located = locate_used(
            target, options.symbols == "keep", gpu, options.start_up_only == "remove"
        )
        write_spans(spans, target, located)
        located_s = time.perf_counter()
        path = scratch / target.name
        result = rewrite(
            located.elf,
            located.spans,
            options.mode,  # type: ignore[arg-type]  # an option of the same words
            path,
            minimum_hole_bytes=options.minimum_hole_bytes,
            patches=located.patches,
        )
        return (
            SlimLibrary(target, located, result, path),
            located_s - started_s,
            time.perf_counter() - located_s,
        )

    slim = []
    with ThreadPoolExecutor(_WORKERS) as pool:
        # The largest first, so that none is left alone at the end.
        largest_first = sorted(libraries, key=lambda each: -each.size_bytes)
        for each, locate_s, rewrite_s in pool.map(work, largest_first):
            locating_s, rewriting_s = locating_s + locate_s, rewriting_s + rewrite_s
            slim.append(each)
            on_progress(each.target.name, len(slim), len(libraries))
    slim.sort(key=lambda each: each.target.name)
    share = (time.perf_counter() - begun_s) / (locating_s + rewriting_s)
    return slim, {"locate_s": locating_s * share, "rewrite_s": rewriting_s * share}


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The same libraries give the same archive, whoever made it and when."""
    member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
    return member
