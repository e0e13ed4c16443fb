"""LeNet5 on MNIST-5k over epochs x data fraction x cores x hyperparameters: measured, and shipped.

    python benchmarks/tuning/grid.py      # as root, who may give the runs priority

Every run is a trial as the tuner starts it, pinned to its cores, one at a time, in an order drawn
at random, so that what drifts on the machine is not taken for an effect. Each epoch of each run is
a row of `results/tuning_grid.csv`, and what it was measured on is in `results/tuning_grid.json`:
`load()` gives other benchmarks the rows. Training with less data is a run of its own from its first
epoch; nothing here says what a model comes to that has more data from some epoch on.
"""

import argparse
import itertools
import os
import random
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import RESULTS, save
from priority import NICENESS, prefer

from trimtab.config import Configurations
from trimtab.files import atomic_write
from trimtab.tuning.trials.events import EndReason, EpochEnd, TrialEnded
from trimtab.tuning.trials.process import TrialProcess
from trimtab.tuning.trials.settings import SystemSettings

ROOT = Path(__file__).parents[2]
TABLE = RESULTS / "tuning_grid.csv"
EPOCHS = 8
GRID: dict[str, tuple[float, ...]] = {
    "batch_size": (32, 128),
    "learning_rate": (0.0003, 0.001, 0.003, 0.01),
    "dropout": (0.0, 0.4),
    "data_fraction": (0.125, 0.25, 0.5, 1.0),
    "cores": (1, 2),
}
SCHEMA = {
    **dict.fromkeys(GRID, "what the run was made with; a thread of PyTorch a core"),
    "epochs": "how many the run has trained by now, from 1",
    "accuracy": "over the validation split, which tuning sees",
    "test_accuracy": "over the test split, which tuning does not see",
    "loss": "mean cross-entropy of the epoch's training",
    "wall_s": "of this epoch alone: training, both evaluations and its checkpoint",
    "cpu_s": "of all threads and processes of the run, likewise",
    "start_up_s": "of the run, from its start to its first epoch",
    "load": "of the machine when the run began, this benchmark included",
}


def load() -> pd.DataFrame:
    """Return the shipped rows, one an epoch of a run, with the columns of `SCHEMA`."""
    return pd.read_csv(TABLE)


def main() -> None:
    """Measure all runs and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, help="only so many, chosen at random; nothing is saved")
    given = parser.parse_args()
    order = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    random.Random(0).shuffle(order)
    begun, rows = time.perf_counter(), list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as folder:
        for number, run in enumerate(order[: given.runs]):
            rows += measured(run, Path(folder) / str(number))
            print(f"{number + 1}/{len(order)} {run} {rows[-1]}", flush=True)
    table = pd.DataFrame(rows, columns=list(SCHEMA))
    wall_s = time.perf_counter() - begun
    print(f"{len(table)} rows in {wall_s:.0f} s")
    if given.runs is not None:
        return
    with atomic_write(TABLE) as temporary:
        table.to_csv(temporary, index=False)
    save(
        "tuning_grid",
        {
            "workload": "lenet5_train",
            "grid": {name: list(values) for name, values in GRID.items()},
            "runs": len(order),
            "rows": len(table),
            "columns": SCHEMA,
            "niceness": NICENESS,
            "load": statistics.median(table.load),
            "wall_s": wall_s,
        },
    )


def measured(run: dict[str, float], folder: Path) -> list[dict[str, Any]]:
    """Return the rows of one run; raises RuntimeError where it does not end well."""
    workload = Configurations(ROOT / "conf").option("workload", "lenet5_train")
    workload = replace(
        workload,
        python=sys.executable,
        workdir=str(ROOT),
        env={**workload.env, "PYTHONPATH": str(ROOT / "src")},
    )
    parameters = {name: value for name, value in run.items() if name != "cores"}
    cpus = tuple(sorted(os.sched_getaffinity(0))[: int(run["cores"])])
    settings = SystemSettings(cpus=cpus, threads=len(cpus))
    load_average, epochs = os.getloadavg()[0], list[EpochEnd]()
    with TrialProcess.start(
        workload, {**parameters, "epochs": EPOCHS}, folder, settings
    ) as process:
        prefer(process.pid)
        while not isinstance(event := process.next_event(), TrialEnded):
            if isinstance(event, EpochEnd):
                epochs.append(event)
                process.answer(settings)
    if event.reason != EndReason.FINISHED or len(epochs) != EPOCHS:
        raise RuntimeError(f"{run}: {event.message}")
    return [
        {
            **run,
            "epochs": one.epoch + 1,
            **{name: one.metrics[name] for name in ("accuracy", "test_accuracy", "loss")},
            "wall_s": one.wall_s,
            "cpu_s": one.cpu_s,
            "start_up_s": event.start_up_s,
            "load": load_average,
        }
        for one in epochs
    ]


if __name__ == "__main__":
    main()
