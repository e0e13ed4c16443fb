"""By how much the scale of rooflines misses, where the other machine is at hand after all.

    python benchmarks/tuning/roofline_error.py

The other machine is this one without its wide registers: PyTorch and its libraries are told to use
what every x86-64 processor has (SSE). Its rooflines are measured by the same micro-kernels, and the
project's models run on both for real. So arithmetic is several times slower and memory is not:
which bounds a model is what the scale has to guess. It is another architecture of one machine, and
no edge device: of those nothing is known here.
"""

import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import save

from trimtab.config import Configurations
from trimtab.config.groups.hardware import Hardware, ModelTime, Roofline
from trimtab.execution.rooflines import rooflines
from trimtab.tuning.inference.model_times import WORKLOADS, model_times
from trimtab.tuning.inference.roofline import scale

PROJECT = Path(__file__).resolve().parents[2]
NARROW = {
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "DNNL_MAX_CPU_ISA": "SSE41",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
}


def measured(configurations: Configurations, folder: Path) -> Hardware:
    """This machine, as its environment says."""
    machine = configurations.option("hardware", "this_machine")
    of = rooflines(sorted(os.sched_getaffinity(0))[:1])
    times = model_times(configurations.options("workload", WORKLOADS), folder)
    return replace(
        machine,
        rooflines=[Roofline(**one) for one in of],
        models=[ModelTime(**one) for one in times],
    )


def main() -> None:
    os.chdir(PROJECT)
    configurations = Configurations(PROJECT / "conf")
    load = psutil.cpu_percent(2.0) / 100 * os.cpu_count()
    with tempfile.TemporaryDirectory() as folder:
        whole = measured(configurations, Path(folder) / "whole")
        os.environ.update(NARROW)
        narrow = measured(configurations, Path(folder) / "narrow")
    by_rooflines = scale(replace(whole, models=[]), narrow, 1)
    corrected = scale(whole, narrow, 1)
    rows = [
        {
            "model": one.workload,
            "batch_size": one.batch_size,
            "slower": other.batch_s / one.batch_s,
            "in_interval_of_rooflines": by_rooflines.low
            <= other.batch_s / one.batch_s
            <= by_rooflines.high,
            "in_interval_of_models": corrected.low <= other.batch_s / one.batch_s <= corrected.high,
        }
        for one, other in zip(whole.models, narrow.models, strict=True)
    ]
    figures = {
        "load": load,
        "rooflines": [vars(machine.rooflines[0]) for machine in (whole, narrow)],
        "by_rooflines": vars(by_rooflines),
        "corrected_by_models": vars(corrected),
        "rows": rows,
    }
    for name, figure in figures.items():
        print(name, figure)
    save("tuning_roofline_error", figures)


if __name__ == "__main__":
    main()
