"""Inputs that were not profiled, of shipped workloads: what they miss, and whether it comes back.

Each workload is traced, its environment debloated (files and libraries) and settled, and then the
inputs under `held_out` in its YAML run under each behaviour of the fallback. With `--runs N` its
own input is run N times more in the slim environment, and every output compared.

    python benchmarks/held_out.py lenet5_inference bfs --runs 100
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from common import load, save

from trimtab.config.compose import Configurations
from trimtab.config.groups.debloat import Debloat, Remove
from trimtab.config.groups.workload import Workload
from trimtab.config.root import Settle
from trimtab.config.stages import DebloatStage
from trimtab.debloating.debloat import Debloating
from trimtab.debloating.settling import ORIGINAL, settle
from trimtab.debloating.slim_runs import restoring
from trimtab.debloating.targets.registry import target_of
from trimtab.debloating.verification.verify import verify_environment
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.profile import trace_workload
from trimtab.profiling.runs.compare_outputs import compare_outputs
from trimtab.profiling.runs.run import measure_run
from trimtab.records.misses.removed_calls import read_removed_calls
from trimtab.records.misses.removed_files import read_missed_files
from trimtab.records.verdict import Verdict

ROOT = Path(__file__).parents[1]


def slim_environment(workload: Workload, folder: Path) -> Path:
    """Trace a workload, and return its slim environment in `folder`, settled."""
    trace_workload(workload, folder / "trace", 2).write(folder / "usage.json")
    stage = DebloatStage(
        target=workload.name,
        hardware="here",
        gpus=[],
        workloads=[workload],
        debloat=Debloat(name="held_out", remove=Remove.FILES),
        settle=Settle(clean_runs=2),
    )
    with Debloating(stage, [folder / "usage.json"], folder) as debloating:
        debloating.write()
        debloating.build(folder / "env", ORIGINAL)
        settle(debloating, folder / "env")
    return folder / "env"


def held_out(workload: Workload, environment: Path, folder: Path) -> list[dict[str, Any]]:
    """Return what each behaviour gave for each input that is held out."""
    manifest = folder / "manifest.json"
    verify_environment(
        workload.name, [workload], NO_POWER_MODEL, environment, manifest, 1, folder / "verdict"
    )
    return [
        {
            "input": held.name,
            "behaviour": run.behaviour,
            "missed": run.missed,
            "functions": len(run.calls),
            "without_name": sum(not (call.name or call.behind) for call in run.calls),
            "files": len(run.files),
            "ended": run.ended,
            "equal": run.equal,
        }
        for held in Verdict.read(folder / "verdict/verify.json").held_out
        for run in held.runs
    ]


def repeated(workload: Workload, environment: Path, folder: Path, runs: int) -> dict[str, Any]:
    """Return how many of `runs` in the slim environment ended well, with the original's output."""
    target = target_of(workload.name, [workload])
    first = measure_run(
        target.program(workload, folder / "original"), condition="original", repeat=0,
        hardware=NO_POWER_MODEL, log_dir=folder / "logs",
    )  # fmt: skip
    program = target.program(workload, folder / "slim", environment)
    record = folder / "records/missed.jsonl"
    program = restoring(program.ending_as(first.exit_code), record)
    failed = other = 0
    for repeat in range(runs):
        run = measure_run(
            program, condition="slim", repeat=repeat, hardware=NO_POWER_MODEL,
            log_dir=folder / "logs",
        )  # fmt: skip
        failed += run.failure is not None
        if run.output and first.output:
            other += compare_outputs(first.output, run.output, program.output) is not None
    missed = len(read_removed_calls(record)) + len(read_missed_files(record))
    return {"runs": runs, "failed": failed, "another_output": other, "missed": missed}


def main() -> None:
    """Measure the workloads that are named, and add them to the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workloads", nargs="+")
    parser.add_argument("--runs", type=int, default=0)
    arguments = parser.parse_args()
    figures: dict[str, Any] = dict(load("held_out") or {})
    measured = figures.get("workloads", {})
    configurations = Configurations(ROOT / "conf")
    for name in arguments.workloads:
        workload = configurations.option("workload", name)
        with tempfile.TemporaryDirectory(prefix="trimtab-held-out-") as place:
            begun = time.perf_counter()
            environment = slim_environment(workload, Path(place))
            result: dict[str, Any] = {"inputs": held_out(workload, environment, Path(place))}
            if arguments.runs:
                result["repeated"] = repeated(workload, environment, Path(place), arguments.runs)
            result["wall_s"] = round(time.perf_counter() - begun, 1)
        measured[name] = {**measured.get(name, {}), **result}
        save("held_out", {"workloads": measured})
        print(name, result, flush=True)


if __name__ == "__main__":
    main()
