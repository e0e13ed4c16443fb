"""What became of a target's libraries, as the tables and documents of the stage say it."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.binaries.rewriting.compact import RewriteResult
from trimtab.debloating.elements import ElementReason
from trimtab.debloating.gpu_code import GpuTarget
from trimtab.debloating.libraries import Located, ProfiledLibrary, size_of
from trimtab.records.manifest import DebloatedFile, RunTimeModule
from trimtab.records.usage import Usage, UsedGpu
from trimtab.records.used import UsedCode, UsedCodeByLibrary


@dataclass(frozen=True)
class SlimLibrary:
    """A library that was rewritten to `path`."""

    target: ProfiledLibrary
    located: Located
    result: RewriteResult
    path: Path


def used_code(slim: list[SlimLibrary]) -> UsedCodeByLibrary:
    """Return the functions, by ELF address, and kernels that were used of each traced library."""
    used = {}
    for library in slim:
        if not library.target.why_not:
            decisions = library.located.gpu.decisions
            kernels = frozenset() if decisions is None else decisions.kernels
            used[library.target.name] = UsedCode(frozenset(library.target.used.tolist()), kernels)
    return UsedCodeByLibrary(libraries=used)


def modules_made_at_run_time(gpu: GpuTarget, slim: list[SlimLibrary]) -> list[RunTimeModule]:
    """Return the used modules that are in no library: compiled or linked while the program ran."""
    if gpu.use is None:
        return []
    shipped = {
        digest
        for each in slim
        if each.located.gpu.decisions
        for digest in each.located.gpu.decisions.modules
    }
    return [
        RunTimeModule(digest, module.size_bytes, module.kernels)
        for digest, module in sorted(gpu.use.modules.items())
        if digest not in shipped
    ]


def gpus_of(gpu: GpuTarget, usages: Sequence[Usage]) -> list[UsedGpu]:
    """Return the GPUs that GPU code is kept for, with the names of those traced on."""
    names = {each.architecture: each.name for usage in usages for each in usage.gpus}
    return [UsedGpu(names.get(number, ""), number) for number in gpu.gpus]


def measure(
    slim: list[SlimLibrary], target: str, hardware: str, workers: int
) -> tuple[list[dict[str, Any]], dict[str, DebloatedFile]]:
    """Return a row of LIBRARIES for each library, and what the manifest says of its files.

    Both files of each are read once, by `workers` threads.
    """
    rows, entries = [], {}
    with ThreadPoolExecutor(workers) as pool:
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
                "elements_architecture": each.located.gpu.removed_because(
                    ElementReason.ARCHITECTURE
                ),
                "elements_unused": each.located.gpu.removed_because(ElementReason.UNUSED),
                "elements_ptx": each.located.gpu.removed_because(ElementReason.PTX),
                "kept_bytes": each.result.kept_bytes,
                "removed_bytes": each.result.removed_bytes,
                "overhead_bytes": each.result.overhead_bytes,
            }
        )
        entries[each.target.name] = DebloatedFile(
            sha256_before=before.sha256,
            sha256_after=after.sha256,
            size_before_bytes=before.length_bytes,
            size_after_bytes=after.length_bytes,
        )
    return rows, entries
