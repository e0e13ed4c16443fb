"""Small, consistent files of the stages before the evaluation, with numbers to compute by hand."""

from pathlib import Path
from typing import Any

import pandas as pd

from trimtab.evaluation.inputs.measurements import DebloatedTarget, EvaluationInputs, WorkloadFacts
from trimtab.records.built_environment import BuiltEnvironment, CompressedEnvironment
from trimtab.records.manifest import (
    Environment,
    Manifest,
    OtherFiles,
    Timings,
    UnloadedLibrary,
)
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import EPOCHS, FILES, LIBRARIES, RUNS
from trimtab.records.usage import Usage, UsedGpu, UsedLibrary, UsedProcess
from trimtab.records.used import UsedCode, UsedCodeByLibrary
from trimtab.records.verdict import ResidentBytes, Verdict, VerifiedWorkload

HARDWARE = "desk"
# Original and debloated wall time of three interleaved pairs: ratios 0.9, 0.8 and 0.5.
WALL_S = [(10.0, 9.0), (20.0, 16.0), (12.0, 6.0)]


def library(
    name: str,
    disk: tuple[int, int] = (1_000_000, 400_000),
    functions: tuple[int, int] = (100, 10),
    function_bytes: tuple[int, int] = (500_000, 50_000),
    reason: str = "",
    target: str = "lenet5_train",
    gpu_bytes: tuple[int, int] = (0, 0),
    elements: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> dict[str, Any]:
    """A row of LIBRARIES; 4,096 bytes of overhead where the library was rewritten.

    `elements` are those kept, and those removed for Reasons I, II and III.
    """
    before, after = disk
    overhead = 0 if reason else 4096
    return {
        "target": target,
        "hardware": HARDWARE,
        "library": name,
        "build_id": "ab12",
        "debloated": not reason,
        "reason": reason,
        "size_before_bytes": before,
        "size_after_bytes": after,
        "disk_before_bytes": before,
        "disk_after_bytes": after,
        "compressed_before_bytes": before // 2,
        "compressed_after_bytes": after // 4 if not reason else before // 2,
        "functions_before": functions[0],
        "functions_after": functions[1],
        "function_bytes_before": function_bytes[0],
        "function_bytes_after": function_bytes[1],
        "gpu_bytes_before": gpu_bytes[0],
        "gpu_bytes_after": gpu_bytes[1],
        "elements_before": sum(elements),
        "elements_after": elements[0],
        "elements_architecture": elements[1],
        "elements_unused": elements[2],
        "elements_ptx": elements[3],
        "kept_bytes": after - overhead,
        "removed_bytes": before - after + overhead,
        "overhead_bytes": overhead,
    }


LIBRARY_ROWS = [
    library("lib/libbig.so", (8_000_000, 2_000_000), (900, 90), (4_000_000, 400_000)),
    library("lib/libmid.so", (4_000_000, 1_000_000), (90, 9), (1_000_000, 250_000)),
    library(
        "lib/libsmall.so", (1_000_000, 1_000_000), (10, 10), (100_000, 100_000), "no .eh_frame"
    ),
    library("lib/libdata.so", (3_000_000, 2_000_000), (0, 0), (0, 0)),
]

# The same with GPU code in two of five libraries: 10 MB in 100 elements, less 9.3 MB and 96.
GPU_LIBRARY_ROWS = [
    library(
        "lib/libtorch_cuda.so",
        (12_000_000, 3_000_000),
        (400, 20),
        (2_000_000, 100_000),
        gpu_bytes=(8_000_000, 500_000),
        elements=(3, 70, 6, 1),
    ),
    library(
        "lib/libcublas.so.12",
        (13_000_000, 11_000_000),
        (50, 50),
        (1_000_000, 1_000_000),
        gpu_bytes=(2_000_000, 200_000),
        elements=(1, 15, 4, 0),
    ),
    *LIBRARY_ROWS[1:],
]
EAGER, LAZY = ({"CUDA_MODULE_LOADING": mode} for mode in ("EAGER", "LAZY"))
GPUS = [UsedGpu("NVIDIA H200", 90)]


def run(workload: str, condition: str, repeat: int, **changes: Any) -> dict[str, Any]:
    """A row of RUNS."""
    row: dict[str, Any] = dict.fromkeys(RUNS.names, 0)
    row |= {
        "workload": workload,
        "hardware": HARDWARE,
        "condition": condition,
        "repeat": repeat,
        "ended_well": True,
        "wall_s": 10.0,
        "start_up_s": 2.0,
        "peak_rss_bytes": 500_000_000,
        "peak_gpu_memory_bytes": None,
        "gpu_busy_share": None,
        "gpu_energy_j": None,
        "cpu_s": 9.0,
        "energy_j": 100.0,
        "energy_low_j": 80.0,
        "energy_high_j": 120.0,
        "energy_source": "modelled",
        "energy_method": "power model",
        "output_digest": "00" * 32,
    }
    return row | changes


def epoch(workload: str, repeat: int, number: int, **changes: Any) -> dict[str, Any]:
    """A row of EPOCHS without hardware counters."""
    row: dict[str, Any] = dict.fromkeys(EPOCHS.names, 0)
    row |= dict.fromkeys(("cycles", "instructions", "cache_references", "cache_misses"))
    row |= dict.fromkeys(("branches", "branch_misses", "counters_running_share", "scores"))
    row |= {
        "workload": workload,
        "hardware": HARDWARE,
        "condition": "original",
        "repeat": repeat,
        "epoch": number,
        "start_s": float(number),
        "duration_s": 1.0 + repeat,
        "cpu_s": 0.5 + repeat,
        "energy_j": 10.0,
        "energy_low_j": 8.0,
        "energy_high_j": 12.0,
        "energy_source": "modelled",
        "energy_method": "power model",
    }
    return row | changes


def verify_runs(workload: str) -> list[dict[str, Any]]:
    """Three interleaved pairs with the times of WALL_S; each pair's memory falls by a fifth."""
    return [
        run(workload, condition, repeat, wall_s=wall_s, peak_rss_bytes=peak)
        for repeat, (original, debloated) in enumerate(WALL_S)
        for condition, wall_s, peak in (
            ("original", original, 500_000_000),
            ("debloated", debloated, 400_000_000),
        )
    ]


def profile_runs(workload: str) -> list[dict[str, Any]]:
    """Two original and two traced runs."""
    return [
        run(workload, condition, repeat, wall_s=wall_s)
        for repeat in range(2)
        for condition, wall_s in (("original", 10.0), ("traced_functions", 11.0 + repeat))
    ]


def write_profile(
    folder: Path,
    workload: str = "lenet5_train",
    runs: list[dict[str, Any]] | None = None,
    **usage: Any,
) -> Path:
    """Write a profile of these runs, or of two pairs of them, with two epochs each."""
    runs = profile_runs(workload) if runs is None else runs
    epochs = [epoch(workload, repeat, number) for repeat in range(3) for number in range(2)]
    write_table(folder / "runs.parquet", RUNS, pd.DataFrame(runs))
    write_table(folder / "epochs.parquet", EPOCHS, pd.DataFrame(epochs))
    loaded = [used_library(f"/env/{row['library']}") for row in LIBRARY_ROWS]
    document: dict[str, Any] = {
        "workload": workload,
        "command": ["python", "train.py"],
        "complete": True,
        "processes": [UsedProcess(1, 0, "/usr/bin/python", "exit")],
        "libraries": loaded,
    }
    Usage(**document | usage).write(folder / "usage.json")
    return folder


def used_library(path: str, traced: bool = True) -> UsedLibrary:
    """A library that was loaded."""
    return UsedLibrary(path, None, 1_000_000, traced, "" if traced else "too old", 100, 10)


def write_debloat(
    folder: Path,
    target: str = "lenet5_train",
    workloads: tuple[str, ...] = ("lenet5_train",),
    libraries: list[dict[str, Any]] = LIBRARY_ROWS,
    runs: list[dict[str, Any]] | None = None,
    gpus: list[UsedGpu] | None = None,
    used: dict[str, UsedCode] | None = None,
    verified: list[VerifiedWorkload] | None = None,
    files: list[dict[str, Any]] | None = None,
    **verdict: Any,
) -> Path:
    """Write a debloated target whose verification passed, unless `verdict` says otherwise."""
    if runs is None:
        runs = [row for workload in workloads for row in verify_runs(workload)]
    rows = [row | {"target": target} for row in libraries]
    write_table(folder / "libraries.parquet", LIBRARIES, pd.DataFrame(rows))
    write_table(folder / "verify_runs.parquet", RUNS, pd.DataFrame(runs, columns=RUNS.names))
    write_table(folder / "files.parquet", FILES, pd.DataFrame(files or [], columns=FILES.names))
    Manifest(
        target=target,
        hardware=HARDWARE,
        workloads=list(workloads),
        environment=Environment("python", "/env"),
        mode="compact",
        symbols="strip",
        gpus=gpus or [],
        timings=Timings(30.0, 4.0, 5.5),
        files={},
    ).write(folder / "manifest.json")
    UsedCodeByLibrary(libraries=used or {}).write(folder / "used.json")
    passed: dict[str, Any] = {
        "target": target,
        "hardware": HARDWARE,
        "passed": True,
        "workloads": verified
        or [VerifiedWorkload(name, 3, True, 3, "digest_file") for name in workloads],
        "resident_bytes": {name: ResidentBytes(200_000_000, 50_000_000) for name in workloads},
    }
    Verdict(**passed | verdict).write(folder / "verify.json")
    return folder


def weigh(folder: Path, **compressed: int) -> Path:
    """Add to a debloated target what its environment weighs: 40 MB, of which 24 are left.

    16 MB are LIBRARY_ROWS, 2 MB no run loaded, 3 MB of Python were read and 4 not, and of 15 MB of
    data 1 was read.
    """
    BuiltEnvironment(
        target="lenet5_train", before_bytes=40_000_000, after_bytes=24_000_000,
        shared_bytes=5_000_000, linked={},
    ).write(folder / "environment.json")  # fmt: skip
    sizes = {"before_bytes": 20_000_000, "after_bytes": 11_000_000} | compressed
    CompressedEnvironment(target="lenet5_train", compression="zstd", **sizes).write(
        folder / "compressed.json"
    )
    manifest = Manifest.read(folder / "manifest.json")
    more = {
        "unloaded": {"lib/libother.so": UnloadedLibrary(2_000_000, 2_000_000)},
        "other_files": {
            "byte code": OtherFiles(7, 7_000_000, 7_000_000, 4, 4_000_000, 4_000_000),
            "other": OtherFiles(9, 15_000_000, 9_000_000, 8, 14_000_000, 8_000_000),
        },
    }
    manifest.model_copy(update=more).write(folder / "manifest.json")
    return folder


def target_of(rows: list[dict[str, Any]]) -> DebloatedTarget:
    """A target of these libraries that never ran."""
    manifest = Manifest.model_construct(hardware=HARDWARE, workloads=["w"], gpus=[])
    verdict = Verdict.model_construct(passed=True, workloads=[], resident_bytes={})
    return DebloatedTarget("t", manifest, verdict, pd.DataFrame(rows), pd.DataFrame())


# A verdict that did not pass, as changes of one that did.
FAILED: dict[str, Any] = {
    "passed": False,
    "failed_workload": "lenet5_train",
    "problem": "another output, line 3",
}


# The file by which a cell's folder is known among what its stage hands on.
KNOWN_BY = {"tune": "trials.parquet", "schedule": "summary.json"}
STAGES = {*KNOWN_BY, "growth", "fleet", "characterize", "protect"}


def inputs(profiles: list[Path], debloats: list[Path], **changes: Any) -> EvaluationInputs:
    """The inputs of an experiment over these folders, and the files or folders of other stages."""
    handed_on = {
        "profile": [folder / "usage.json" for folder in profiles],
        "debloat": [folder / "manifest.json" for folder in debloats],
    }
    for stage in STAGES & changes.keys():
        handed_on[stage] = [
            path if path.suffix in (".json", ".parquet") else path / KNOWN_BY[stage]
            for path in changes.pop(stage)
        ]
    facts: dict[str, Any] = {
        "experiment": "quickstart",
        "machine": "2 cores, 8 GB",
        "date": "2026-01-31",
        "workloads": {"lenet5_train": WorkloadFacts(data_set="5,000 images of MNIST")},
    }
    return EvaluationInputs(files=handed_on, **facts | changes)


def write_experiment(folder: Path) -> EvaluationInputs:
    """Write one workload and one target, and return the inputs of its evaluation."""
    return inputs([write_profile(folder / "profile")], [write_debloat(folder / "debloat")])


def write_gpu_experiment(folder: Path) -> EvaluationInputs:
    """Write two targets with GPU code, trained and inferring, and a third without."""
    names = ("mobilenet_train", "mobilenet_infer", "lenet5_train")
    uses = ({1, 2, 3, 4}, {"k1", "k2"}), ({2, 3, 4, 5, 6}, {"k2", "k3", "k4"})
    debloats = [
        write_debloat(
            folder / "debloat" / name,
            name,
            (name,),
            GPU_LIBRARY_ROWS,
            gpu_verify_runs(name),
            GPUS,
            {"lib/libtorch_cuda.so": UsedCode(frozenset(f), frozenset(k))},
        )
        for name, (f, k) in zip(names, uses, strict=False)
    ]
    debloats.append(write_debloat(folder / "debloat" / "lenet5_train"))
    profiles = [
        write_profile(folder / "profile" / name, name, kernels_traced=name != "lenet5_train")
        for name in names
    ]
    facts = {
        "mobilenet_train": WorkloadFacts("CIFAR-10", "MobileNetV2", "PyTorch", EAGER),
        "mobilenet_infer": WorkloadFacts("CIFAR-10", "MobileNetV2", "PyTorch", LAZY),
    }
    return inputs(profiles, debloats, workloads=facts)


def gpu_verify_runs(workload: str) -> list[dict[str, Any]]:
    """The runs of verify_runs; each pair's GPU memory falls from 2,000 to 500 MB."""
    return [
        row
        | {
            "peak_gpu_memory_bytes": 2_000_000_000
            if row["condition"] == "original"
            else 500_000_000
        }
        for row in verify_runs(workload)
    ]


def values_in(spec: Any) -> list[dict[str, Any]]:
    """All inline rows anywhere in a Vega-Lite document."""
    if isinstance(spec, dict):
        own = spec["values"] if isinstance(spec.get("values"), list) else []
        own = [row for row in own if isinstance(row, dict)]
        return own + [row for value in spec.values() for row in values_in(value)]
    if isinstance(spec, list):
        return [row for value in spec for row in values_in(value)]
    return []
