"""Debloat the shared libraries of an environment for a set of workloads."""

import os
import shutil
import tarfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from trimtab.binaries.compact import RewriteResult, rewrite
from trimtab.config.debloat import Debloat
from trimtab.config.workload import Workload
from trimtab.debloating.elements import Reason
from trimtab.debloating.gpu_code import GpuTarget, gpu_target_of
from trimtab.debloating.libraries import Located, Target, locate_used, size_of, targets_of
from trimtab.debloating.prefix import prefix_of
from trimtab.errors import UserError
from trimtab.files import whole_file, write_json
from trimtab.profiling.programs import absolute
from trimtab.profiling.usage import Usage, read_usage
from trimtab.schemas import LIBRARIES, write_table

# The work is reading and writing; numpy and zstd release the interpreter's lock. Each worker
# holds a few chunks of a library.
_WORKERS = min(8, len(os.sched_getaffinity(0)))


@dataclass(frozen=True)
class _Slim:
    target: Target
    located: Located
    result: RewriteResult
    path: Path


def complete_usages(paths: Sequence[Path]) -> list[Usage]:
    """Return the usages in `paths`; raises UserError when one is not the whole of its run."""
    usages = [read_usage(path) for path in paths]
    for path, usage in zip(paths, usages, strict=True):
        if not usage.complete:
            reasons = "; ".join(usage.incomplete_because)
            raise UserError(f"{path}: incomplete, so nothing is removed: {reasons}")
    return usages


def spans_file(folder: Path, name: str) -> Path:
    """Return where the spans of the library `name` are written: one flat file a library."""
    return folder / f"{name.replace('/', '__')}.json"


def write_spans(folder: Path, target: Target, located: Located) -> None:
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
        rows, entries = _measure(slim, target, hardware)
        with (
            whole_file(destination / "libraries.tar") as temporary,
            tarfile.open(temporary, "w") as archive,
        ):
            for each in slim:
                archive.add(each.path, each.target.name, filter=_anonymous)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    write_table(destination / "libraries.parquet", LIBRARIES, pd.DataFrame(rows))
    write_json(destination / "used.json", {"libraries": _used(slim)})
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
            "gpus": _gpus(gpu, records),
            "gpu_code_kept_because": gpu.why_all,
            "timings": timings,
            "files": entries,
        },
    )


def _slim(
    libraries: list[Target],
    options: Debloat,
    gpu: GpuTarget,
    scratch: Path,
    spans: Path,
    on_progress: Callable[[str, int, int], None],
) -> tuple[list[_Slim], dict[str, float]]:
    """Rewrite all libraries; the timings are wall time, shared out as the threads spent it."""
    locating_s = rewriting_s = 0.0
    begun_s = time.perf_counter()

    def work(target: Target) -> tuple[_Slim, float, float]:
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
            options.mode,  # type: ignore[arg-type]  # OmegaConf knows no Literal
            path,
            minimum_hole_bytes=options.minimum_hole_bytes,
            patches=located.patches,
        )
        return (
            _Slim(target, located, result, path),
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


def _used(slim: list[_Slim]) -> dict[str, Any]:
    """Return the functions, by ELF address, and kernels that were used of each traced library."""
    return {
        each.target.name: {
            "functions": each.target.used.tolist(),
            "kernels": sorted(each.located.gpu.decisions.kernels)
            if each.located.gpu.decisions
            else [],
        }
        for each in slim
        if not each.target.why_not
    }


def _gpus(gpu: GpuTarget, usages: Sequence[Usage]) -> list[dict[str, Any]]:
    names = {each.architecture: each.name for usage in usages for each in usage.gpus}
    return [
        {"name": names.get(architecture, ""), "architecture": architecture}
        for architecture in gpu.gpus
    ]


def _measure(
    slim: list[_Slim], target: str, hardware: str
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    rows, entries = [], {}
    with ThreadPoolExecutor(_WORKERS) as pool:
        sizes = [pool.map(size_of, (each.target.path, each.path)) for each in slim]
    for each, (before, after) in zip(slim, sizes, strict=True):
        whole = each.target.why_not or (each.located.spans.note if each.located.started else "")
        rows.append(
            {
                "target": target,
                "hardware": hardware,
                "library": each.target.name,
                "build_id": each.target.build_id,
                "debloated": not whole,
                "reason": whole,
                "size_before_bytes": before.length_bytes,
                "size_after_bytes": after.length_bytes,
                "disk_before_bytes": before.disk_bytes,
                "disk_after_bytes": after.disk_bytes,
                "compressed_before_bytes": before.compressed_bytes,
                "compressed_after_bytes": after.compressed_bytes,
                "functions_before": each.located.functions_total,
                "functions_after": each.located.functions_used,
                "function_bytes_before": each.located.function_bytes_total,
                "function_bytes_after": each.located.function_bytes_kept,
                "gpu_bytes_before": each.located.gpu.bytes_total,
                "gpu_bytes_after": each.located.gpu.bytes_kept,
                "elements_before": each.located.gpu.elements_total,
                "elements_after": each.located.gpu.elements_kept,
                "elements_architecture": each.located.gpu.removed_because(Reason.ARCHITECTURE),
                "elements_unused": each.located.gpu.removed_because(Reason.UNUSED),
                "elements_ptx": each.located.gpu.removed_because(Reason.PTX),
                "kept_bytes": each.result.kept_bytes,
                "removed_bytes": each.result.removed_bytes,
                "overhead_bytes": each.result.overhead_bytes,
            }
        )
        entries[each.target.name] = {
            "sha256_before": before.sha256,
            "sha256_after": after.sha256,
            "size_before_bytes": before.length_bytes,
            "size_after_bytes": after.length_bytes,
        }
    return rows, entries


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The same libraries give the same archive, whoever made it and when."""
    member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
    return member
