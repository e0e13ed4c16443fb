"""The chain on a machine with a GPU: one command, and small files to keep.

    python benchmarks/gpu.py --python ENV/bin/python --output FOLDER --experiment gpu_pytorch

profiles, debloats and verifies every target of an experiment, in ENV in place of the environment
that its workloads name; the layout of FOLDER is that of `results/`. `--overhead` compares what
tracing costs, `--cold` start-up from an empty page cache, which needs root. trimtab itself may run
in another environment than ENV.
"""

import argparse
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from common import machine

from trimtab.config import Configurations
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.workload import Workload
from trimtab.config.root import Profiling
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import debloat_target
from trimtab.debloating.fallback import Source
from trimtab.debloating.targets.registry import target_of
from trimtab.debloating.verification.verify import verify_environment
from trimtab.errors import TrimtabError
from trimtab.files import write_json
from trimtab.profiling.profile import model_of, profile_workload
from trimtab.profiling.runs.from_workload import moved, program_of
from trimtab.profiling.runs.interleave import measure_interleaved
from trimtab.profiling.runs.measured import runs_table
from trimtab.profiling.runs.run import measure_run
from trimtab.profiling.tracing.functions import tracing_environment
from trimtab.profiling.tracing.kernels import kernel_tracing_environment
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import RUNS

ACTIVITY = Path(__file__).parent / "native" / "cupti_activity.c"
STAGES = ("profile", "debloat", "verify")


@dataclass(frozen=True)
class Bench:
    """One environment on one machine, and how often it is measured."""

    configurations: Configurations
    hardware: Hardware
    python: Path
    output: Path
    repeats: int
    traced_runs: int

    def workload(self, name: str) -> Workload:
        """The workload `name`, in the environment that is measured."""
        return replace(self.configurations.option("workload", name), python=str(self.python))

    def profile_of(self, name: str) -> Path:
        """Where the profile of a workload is written."""
        return self.output / "profile" / name / self.hardware.name

    def target(self, name: str) -> Path:
        """Where a debloated target is written."""
        return self.output / "debloat" / name / self.hardware.name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, required=True, help="the environment to debloat")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--experiment", default="gpu_pytorch")
    parser.add_argument("--hardware", help="in place of the experiment's first")
    parser.add_argument("--targets", nargs="*", help="only these of the experiment")
    parser.add_argument("--stages", nargs="*", choices=STAGES, default=STAGES)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--traced-runs", type=int, default=3)
    parser.add_argument("--overhead", help="a workload to compare the tracers on")
    parser.add_argument("--cold", nargs="*", default=[], help="targets to start from a cold cache")
    given = parser.parse_args()
    configurations = Configurations(Path("conf"), [f"experiment={given.experiment}"])
    experiment = configurations.root.experiment
    hardware = configurations.option("hardware", given.hardware or experiment.hardware[0])
    bench = Bench(
        configurations, hardware, given.python, given.output, given.repeats, given.traced_runs
    )
    write_json(given.output / f"machine-{given.experiment}.json", describe(given.python))
    targets = experiment.targets if given.targets is None else given.targets
    work = {"profile": profile, "debloat": debloat, "verify": verify}
    for target in targets:
        names = experiment.targets[target]
        for stage in given.stages:
            if not attempt(f"{stage} {target}", work[stage], bench, target, names):
                break
    if given.overhead:
        attempt("overhead", overhead, bench, given.overhead)
    for target in given.cold:
        attempt(f"cold {target}", cold, bench, target)


def describe(python: Path) -> dict[str, object]:
    """The machine, its driver and the packages of the environment, in words."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    gpus = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    listed = subprocess.run([python, "-m", "pip", "freeze"], capture_output=True, text=True).stdout
    kept = ("torch", "nvidia", "triton", "jax", "cupy", "timm", "transformers", "sentence", "numpy")
    return {
        "machine": machine(),
        "gpus": gpus,
        "packages": [line for line in listed.splitlines() if line.startswith(kept)],
        "command": " ".join(sys.argv).replace(str(python), "ENV/bin/python"),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def attempt(name: str, work: Callable[..., None], *arguments: object) -> bool:
    """Do one part and tell how long it took; a failure is told and does not end the others."""
    begun = time.perf_counter()
    try:
        work(*arguments)
    except (TrimtabError, OSError, ValueError):
        traceback.print_exc()
        print(f"== {name} FAILED after {time.perf_counter() - begun:.1f} s", flush=True)
        return False
    print(f"== {name}: {time.perf_counter() - begun:.1f} s", flush=True)
    return True


def profile(bench: Bench, target: str, names: list[str]) -> None:
    profiling = Profiling(repeats=1, traced_runs=bench.traced_runs)
    for name in names:
        profile_workload(bench.workload(name), bench.hardware, profiling, bench.profile_of(name))


def debloat(bench: Bench, target: str, names: list[str]) -> None:
    folder = bench.target(target)
    stage = DebloatStage(
        target=target,
        hardware=bench.hardware.name,
        gpus=bench.hardware.gpus,
        workloads=[bench.workload(name) for name in names],
        debloat=bench.configurations.root.debloat,
    )
    begun = time.perf_counter()
    debloat_target(stage, [bench.profile_of(name) / "usage.json" for name in names], folder)
    debloated_s = time.perf_counter() - begun
    environment = target_of(target, stage.workloads)
    environment.build(folder, stage.debloat.share, Source.of(stage.debloat), folder / "env")
    seconds = {"debloat_s": debloated_s, "with_environment_s": time.perf_counter() - begun}
    write_json(folder / "seconds.json", seconds)


def verify(bench: Bench, target: str, names: list[str]) -> None:
    folder = bench.target(target)
    verify_environment(
        target, [bench.workload(name) for name in names], model_of(bench.hardware),
        folder / "env", folder / "manifest.json", bench.repeats, folder,
    )  # fmt: skip


def overhead(bench: Bench, name: str) -> None:
    """Plain runs in turns with kernel tracing, all tracing, and full activity tracing."""
    folder, workload = bench.output / "overhead", bench.workload(name)
    program = program_of(workload, folder / "output")
    plain = dict(program.environment)
    both = tracing_environment(plain, folder / "functions")
    environments = {
        "original": plain,
        "traced_kernels": kernel_tracing_environment(plain, folder / "kernels", bench.python),
        "traced": kernel_tracing_environment(both, folder / "functions" / "kernels", bench.python),
    }
    activity = build_activity_tracer(bench.python, folder)
    if activity is not None:
        environments["cupti_activity"] = {**plain, "CUDA_INJECTION64_PATH": str(activity)}
    runs = measure_interleaved(
        {key: replace(program, environment=value) for key, value in environments.items()},
        bench.repeats, hardware=model_of(bench.hardware), log_dir=folder / "logs",
    )  # fmt: skip
    write_table(folder / "runs.parquet", RUNS, runs_table(workload.name, runs))


def build_activity_tracer(python: Path, folder: Path) -> Path | None:
    """Compile the stand-in for a profiler against the environment's CUPTI; None without one."""
    lib = python.parent.parent / "lib"
    patterns = ("nvidia/cu1?/include", "nvidia/cuda_cupti/include")
    for headers in (p for each in patterns for p in lib.glob(f"python3*/site-packages/{each}")):
        libraries = sorted((headers.parent / "lib").glob("libcupti.so.*"))
        if (headers / "cupti.h").is_file() and libraries:
            built = folder.resolve() / "libcupti-activity.so"
            include = [f"-I{headers}", "-I/usr/local/cuda/include"]
            link = [libraries[-1], f"-Wl,-rpath,{libraries[-1].parent}"]
            command = ["gcc", "-O2", "-shared", "-fPIC", *include, "-o", built, ACTIVITY, *link]
            subprocess.run(command, check=True)
            return built
    return None


def cold(bench: Bench, target: str) -> None:
    """Runs in both environments in turns, each from an empty page cache."""
    folder, workload = bench.output / "cold" / target, bench.workload(target)
    slim, root = bench.target(target) / "env", bench.python.parent.parent
    programs = {
        "original": program_of(workload, folder / "original"),
        "debloated": moved(program_of(workload, folder / "debloated"), root, slim),
    }
    runs = []
    for repeat in range(bench.repeats):
        for condition in list(programs) if repeat % 2 == 0 else list(reversed(programs)):
            os.sync()
            Path("/proc/sys/vm/drop_caches").write_text("3")
            run = measure_run(
                programs[condition], condition=condition, repeat=repeat,
                hardware=model_of(bench.hardware), log_dir=folder / "logs",
            )  # fmt: skip
            runs.append(run)
    write_table(folder / "runs.parquet", RUNS, runs_table(workload.name, runs))


if __name__ == "__main__":
    main()
