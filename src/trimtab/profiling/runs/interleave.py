"""Interleave runs that are compared, so that a machine's drift affects all of them equally."""

from collections.abc import Callable, Mapping
from pathlib import Path

from trimtab.processes.program import Program
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.profiling.runs.measured import MeasuredRun
from trimtab.profiling.runs.run import measure_run
from trimtab.progress import runs_to_do


def measure_interleaved(
    programs: Mapping[str, Program],
    repeats: int,
    *,
    hardware: HardwareModel,
    log_dir: Path,
    sample_interval_s: float = 1.0,
    on_run: Callable[[MeasuredRun], None] | None = None,
) -> list[MeasuredRun]:
    """Run every program `repeats` times and return the runs in the order they were made.

    `programs` maps conditions to programs. The order alternates (A B, B A, A B), so neither drift
    nor a warmer cache favours one. If a program's end is unknown, the very first run sets it for
    all. `on_run` is called after each run. A failed run ends the series and is the last one
    returned.
    """
    runs: list[MeasuredRun] = []
    conditions = list(programs)
    with runs_to_do(f"compare {' and '.join(conditions)}", repeats * len(conditions)):
        for repeat in range(repeats):
            for condition in conditions if repeat % 2 == 0 else reversed(conditions):
                run = measure_run(
                    programs[condition],
                    condition=condition,
                    repeat=repeat,
                    hardware=hardware,
                    sample_interval_s=sample_interval_s,
                    log_dir=log_dir,
                )
                runs.append(run)
                if on_run is not None:
                    on_run(run)
                if run.failure is not None:
                    return runs
                programs = {name: each.ending_as(run.exit_code) for name, each in programs.items()}
    return runs
