"""Convert the results for a target's libraries to the stage's tables and documents."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.binaries.rewriting.compact import RewriteResult
from trimtab.debloating.gpu.elements import ElementReason
from trimtab.debloating.gpu.gpu_code import GpuScope
from trimtab.debloating.libraries.file_size import FileSize
from trimtab.debloating.libraries.located import Located
from trimtab.debloating.libraries.profiled import ProfiledLibrary
from trimtab.profiling.saturation import saturation_of
from trimtab.records.manifest import DebloatedFile, RunTimeModule, UnloadedLibrary
from trimtab.records.misses.saturation import Saturation
from trimtab.records.usage import Usage, UsedGpu
from trimtab.records.used import UsedCode, UsedCodeByLibrary
from trimtab.records.values import escaped


@dataclass(frozen=True)
class SlimLibrary:
    """A library and its slim version at `path`, with the sizes of both files."""

    profiled: ProfiledLibrary
    located: Located
    rewritten: RewriteResult
    path: Path
    before: FileSize
    after: FileSize


def used_code(slim: Sequence[SlimLibrary]) -> UsedCodeByLibrary:
    """Return the used functions, by ELF address, and the used kernels of each traced library."""
    used = {}
    for library in slim:
        if library.profiled.loaded and not library.profiled.why_not:
            decisions = library.located.gpu.decisions
            kernels = frozenset() if decisions is None else decisions.kernels
            functions = frozenset(library.profiled.used.tolist())
            used[library.profiled.name] = UsedCode(functions, kernels)
    return UsedCodeByLibrary(libraries=used)


def modules_made_at_run_time(gpu: GpuScope, slim: Sequence[SlimLibrary]) -> list[RunTimeModule]:
    """Return the used modules that are in no library: compiled or linked at run time."""
    if gpu.use is None:
        return []
    decisions = [library.located.gpu.decisions for library in slim]
    shipped = frozenset[str]().union(*(of.modules for of in decisions if of is not None))
    return [
        RunTimeModule(digest, module.size_bytes, module.kernels)
        for digest, module in sorted(gpu.use.modules.items())
        if digest not in shipped
    ]


def gpus_of(gpu: GpuScope, usages: Sequence[Usage]) -> list[UsedGpu]:
    """Return the GPUs that code is kept for, with the names of the traced ones."""
    names = {traced.architecture: traced.name for usage in usages for traced in usage.gpus}
    return [UsedGpu(names.get(architecture, ""), architecture) for architecture in gpu.gpus]


def rows_of(slim: Sequence[SlimLibrary], target: str, hardware: str) -> list[dict[str, Any]]:
    """Return a row of LIBRARIES for each loaded library."""
    loaded = (library for library in slim if library.profiled.loaded)
    return [{"target": target, "hardware": hardware, **_row(library)} for library in loaded]


def unloaded_of(
    disk_bytes: Mapping[str, int], slim: Sequence[SlimLibrary], goes: Callable[[str], bool]
) -> dict[str, UnloadedLibrary]:
    """Return the manifest's entries for libraries that no run loaded; `disk_bytes` is by name.

    `goes` says which are removed as files.
    """
    after = {library.profiled.name: library.after.disk_bytes for library in slim}
    return {
        name: UnloadedLibrary(before, 0 if goes(name) else after.get(name, before))
        for name, before in disk_bytes.items()
    }


def files_of(slim: Sequence[SlimLibrary]) -> dict[str, DebloatedFile]:
    """Return the manifest's entries for the files of libraries, by name."""
    return {
        library.profiled.name: DebloatedFile(
            sha256_before=library.before.sha256,
            sha256_after=library.after.sha256,
            size_before_bytes=library.before.length_bytes,
            size_after_bytes=library.after.length_bytes,
        )
        for library in slim
    }


def _row(slim: SlimLibrary) -> dict[str, Any]:
    library, located, gpu = slim.profiled, slim.located, slim.located.gpu
    before, after = slim.before, slim.after
    why_whole = library.why_not or (located.spans.note if located.started else "")
    return {
        "library": escaped(library.name),
        "build_id": library.build_id,
        "debloated": not why_whole,
        "reason": why_whole,
        "size_before_bytes": before.length_bytes,
        "size_after_bytes": after.length_bytes,
        "disk_before_bytes": before.disk_bytes,
        "disk_after_bytes": after.disk_bytes,
        "compressed_before_bytes": before.compressed_bytes,
        "compressed_after_bytes": after.compressed_bytes,
        "functions_before": located.functions_total,
        "functions_after": located.functions_used,
        "function_bytes_before": located.function_bytes_total,
        "function_bytes_after": located.function_bytes_kept,
        "gpu_bytes_before": gpu.bytes_total,
        "gpu_bytes_after": gpu.bytes_kept,
        "elements_before": gpu.elements_total,
        "elements_after": gpu.elements_kept,
        "elements_architecture": gpu.removed_because(ElementReason.ARCHITECTURE),
        "elements_unused": gpu.removed_because(ElementReason.UNUSED),
        "elements_ptx": gpu.removed_because(ElementReason.PTX),
        "kept_bytes": slim.rewritten.kept_bytes,
        "removed_bytes": slim.rewritten.removed_bytes,
        "overhead_bytes": slim.rewritten.overhead_bytes,
    }


def saturation_of_workloads(usages: Sequence[Usage]) -> list[Saturation]:
    """Return the saturation of the union of several workloads; empty for a single one."""
    if len(usages) < 2:
        return []
    functions = [
        {(library.path, start) for library in usage.libraries for start in library.used_functions}
        for usage in usages
    ]
    files = [
        {file.path for file in usage.files if file.uses != ["missing"]}
        for usage in usages
        if usage.files_complete
    ]
    found = [saturation_of("functions", "workload", functions)]
    if len(files) == len(usages):
        found.append(saturation_of("files", "workload", files))
    return [each for each in found if each is not None]
