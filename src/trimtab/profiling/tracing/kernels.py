"""Trace the GPU code that a run uses: loaded modules, and kernels that were looked up.

Two libraries can record it. The CUDA driver itself loads `libtrimtab-kernels.so`
(CUDA_INJECTION64_PATH), which sees through CUPTI every lookup by name, and the bytes of every
loaded module. CUPTI serves one profiler a process. For programs with their own profiler,
`libtrimtab-driver.so` is preloaded and intercepts the driver's lookups; it sees names only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trimtab.errors import TrimtabError
from trimtab.files import naming
from trimtab.native import native_path, with_preload
from trimtab.profiling.tracing.cupti import NoGpuError, cuda_major, find_cupti
from trimtab.profiling.tracing.handed_regions import HandedRegions
from trimtab.profiling.tracing.kernel_records import KernelRecord, LoadedModule, read_kernel_records
from trimtab.records.usage import UsedGpu, UsedModule
from trimtab.untrusted import new_folder, read_untrusted

_NOT_TRACED = "not_traced.txt"
_MOST_NOTE_BYTES = 4096
_MOST_LIBRARIES = 1000  # that pass regions; cuFFT is the only known one
_ASKS_FOR_GPU = ("cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxCreate", "cuCtxCreate_v2")


@dataclass(frozen=True)
class KernelTrace:
    """The GPU code that traced runs used.

    `modules` are named by digests. One more, with the digest "", holds the looked-up names that no
    loaded module defines, or all names if only names were visible: any code that defines one of
    them may have been used. If `traced` is false, `modules` is not the whole use; if
    `incomplete_because` has an entry, events were lost.
    """

    gpus: list[UsedGpu]
    modules: list[UsedModule]
    traced: bool
    not_traced_because: str
    incomplete_because: list[str]


def kernel_tracing_environment(
    environment: Mapping[str, str], record: Path, python: Path, own_profiler: bool = False
) -> dict[str, str]:
    """Return `environment` with the tracer of GPU code switched on, recording into `record`.

    `record` is emptied. `python` is the workload's interpreter, whose CUPTI is preferred. The
    second library, by names, is used if the workload has an `own_profiler` or sets
    CUDA_INJECTION64_PATH, and without CUPTI. Modules are always loaded lazily, as under eager
    loading all would seem used. Without a GPU the environment is unchanged, and `record` says why.
    """
    try:
        cupti = find_cupti(python, cuda_major())
    except NoGpuError as error:
        trace_no_kernels(record, f"this machine has no NVIDIA GPU: {error}")
        return dict(environment)
    new_folder(record)
    traced = {
        **environment,
        "TRIMTAB_KERNELS": str(record.resolve()),
        "CUDA_MODULE_LOADING": "LAZY",
    }
    if own_profiler or cupti is None or "CUDA_INJECTION64_PATH" in environment:
        return with_preload(traced, native_path("libtrimtab-driver.so"))
    return {
        **traced,
        "CUDA_INJECTION64_PATH": str(native_path("libtrimtab-kernels.so")),
        "TRIMTAB_CUPTI": str(cupti),
    }


def trace_no_kernels(record: Path, why: str) -> None:
    """Empty `record` and note in it that no GPU code is traced, and why."""
    new_folder(record)
    with naming(record / _NOT_TRACED):
        (record / _NOT_TRACED).write_text(f"{why}\n")


def asks_for_gpu(driver_functions: Iterable[str | None]) -> bool:
    """Return whether a program that ran these functions of the driver may have used a GPU.

    Nothing runs without a context, and a context needs a device. A program that finds no GPU, for
    example with an empty CUDA_VISIBLE_DEVICES, only initializes the driver (cuInit).
    """
    return not set(driver_functions).isdisjoint(_ASKS_FOR_GPU)


def read_kernel_trace(*folders: Path) -> KernelTrace:
    """Return the united GPU code of the runs that recorded into `folders`.

    Raises TrimtabError for a file that is no record.
    """
    reasons = [reason for folder in folders if (reason := _not_traced(folder))]
    records = [record for folder in folders for record in read_kernel_records(folder)]
    libraries: dict[str, HandedRegions] = {}
    for record in records:
        _add_handed_regions(record, libraries)
    reasons += [
        f"process {record.pid} ({record.executable}): {reason}"
        for record in records
        for reason in record.failed
    ]
    gpus = {bus: gpu for record in records for bus, gpu in record.gpus.items()}
    return KernelTrace(
        gpus=[gpu for _, gpu in sorted(gpus.items())],
        modules=_unite(records),
        traced=not reasons,
        not_traced_because=reasons[0] if reasons else "",
        incomplete_because=[
            f"process {record.pid} ({record.executable}): GPU code that it used could not be"
            " written down; is the disk full?"
            for record in records
            if record.lost
        ],
    )


def _add_handed_regions(record: KernelRecord, libraries: dict[str, HandedRegions]) -> None:
    """Count modules in passed regions as loaded, and all their kernels as listed."""
    architectures = {gpu.architecture for gpu in record.gpus.values()}
    for path, offset in sorted(record.regions):
        library = libraries.setdefault(path, HandedRegions(Path(path)))
        if len(libraries) > _MOST_LIBRARIES:
            record.failed.append(f"more than {_MOST_LIBRARIES} files are said to hold GPU code")
            return
        try:
            region = library.at(offset, architectures)
        except TrimtabError as error:
            record.failed.append(str(error))
            return  # no GPU code is removed then
        record.modules += region.cubins
        record.listed |= region.kernels


def _not_traced(folder: Path) -> str:
    if not folder.is_dir():
        return f"{folder}: no run was traced into this folder"
    try:
        note = read_untrusted(folder / _NOT_TRACED, _MOST_NOTE_BYTES)
    except FileNotFoundError:
        return ""
    return note.decode(errors="replace").strip() or "no reason is given"


@dataclass
class _Module:
    """A module, united over all processes that loaded it."""

    size_bytes: int
    kernels: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)
    enumerated: bool = False
    processes: set[int] = field(default_factory=set)

    def add(self, record: KernelRecord, kernels: set[str], variables: set[str]) -> None:
        self.kernels |= kernels
        self.globals |= variables
        self.enumerated |= bool(kernels & record.listed)
        self.processes.add(record.pid)


def _unite(records: Sequence[KernelRecord]) -> list[UsedModule]:
    """Assign each looked-up name to the loaded modules that define it; two may, and both keep it.

    A module without look-ups was used too, or it would not be loaded: all its names count as
    listed.
    """
    modules: dict[str, _Module] = {}
    asked = {
        loaded.sha256
        for record in records
        for loaded in record.modules
        if loaded.symbols & (record.kernels | record.listed | record.globals)
    }
    for record in records:
        record.listed.update(*(m.symbols for m in record.modules if m.sha256 not in asked))
        kernels = record.kernels | record.listed
        for loaded in _and_nothing_loaded(record, kernels | record.globals):
            module = modules.setdefault(loaded.sha256, _Module(loaded.size_bytes))
            module.add(record, kernels & loaded.symbols, record.globals & loaded.symbols)
    return [
        UsedModule(
            sha256=sha256,
            size_bytes=module.size_bytes,
            kernels=sorted(module.kernels),
            globals=sorted(module.globals),
            enumerated=module.enumerated,
            processes=sorted(module.processes),
        )
        for sha256, module in sorted(modules.items())
    ]


def _and_nothing_loaded(record: KernelRecord, names: set[str]) -> list[LoadedModule]:
    """Return the loaded modules, and one without a digest for names that none of them defines."""
    missing = names.difference(*(loaded.symbols for loaded in record.modules))
    nameless = [LoadedModule("", 0, frozenset(missing))] if missing else []
    return [*record.modules, *nameless]
